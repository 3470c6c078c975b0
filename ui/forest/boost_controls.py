"""Controls that only data-dependent forests have: the α strategy with its drawing, and the bound on the row count.

α mixes the two losses by which splits are scored: the 0/1 loss (α = 0) and Matsushita's loss (α = 1). A strategy sets α
at each level of a tree.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpforest import plotting
from dpforest.limits import MAX_BOUND
from dpforest.models.greedy.boost_spec import DECAY
from ui import state
from ui.shared.controls import LINKED, drop_out_of_bounds, drop_unknown, follow, select
from ui.shared.page import chart
from ui.shared.tables import Table

ALPHAS = {
    "certified": {
        "fixed": "fixed",
        "falls level by level": "schedule",
        "drawn by hand": "hand",
        "follows the error, with noise": "noisy",
        "follows the error of the tree before": "carried",
    },
    "as_published": {
        "follows the exact error (paper)": "published",
        "fixed": "fixed",
        "falls level by level": "schedule",
        "drawn by hand": "hand",
    },
}
# Mean accuracy in percent over six tables with two classes at ε = 0.1, 1 and 10, measured by bench/alpha.py.
MEASURED = {"α = 0": (77.0, 90.0, 93.1), "α = 1": (70.6, 78.9, 86.6), "α that follows the error": (73.7, 83.6, 88.4)}
BOUNDS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, MAX_BOUND)


def strategy(mode: str) -> str:
    """Ask for an α strategy. Return "fixed", "hand" (drawn by hand), or a strategy as the estimator names it."""
    name = select(
        "α: how questions are judged",
        list(ALPHAS[mode]),
        state.ALPHAS,
        "α mixes two ways to judge a question. At 0 it counts correctly classified records, which one record "
        "changes little, so it needs little noise. At 1 it also values questions that help deeper levels, but needs "
        "far more noise.",
    )
    return ALPHAS[mode][name]


def alpha(how: str, depth: int) -> Any:
    """Draw the controls of the strategy `how`, and α by level. Return the value of the parameter `alpha`."""
    if how == "fixed":
        drop_out_of_bounds(state.ALPHA, 0.0, 1.0)
        value = st.slider("α", 0.0, 1.0, 0.0, 0.1, key=state.ALPHA, bind=LINKED)
        _draw([value] * depth, exact=True)
        return round(float(value), 1)
    if how == "hand":
        columns = st.columns(2)
        for k in range(depth):
            drop_out_of_bounds(state.ALPHA_AT(k), 0.0, 1.0)
        levels = [
            columns[k % 2].slider(f"Level {k}", 0.0, 1.0, round(DECAY**k, 1), 0.1, key=state.ALPHA_AT(k), bind=LINKED)
            for k in range(depth)
        ]
        _draw(levels, exact=True)
        return tuple(round(float(level), 1) for level in levels)
    _draw([DECAY**k for k in range(depth)], exact=how == "schedule")
    if how != "schedule":
        st.caption("This drawing is an example. The Tree tab shows the α of the first trees.")
    return how


def stops(mode: str) -> tuple[str, ...]:
    """Return the positions of a slider that covers the strategies: fixed α from 0 to 1, then names of strategies.

    The strategy "drawn by hand" is left out, because it has one value for each level.

    >>> stops("certified")[-4:]
    ('1', 'falls level by level', 'follows the error, with noise', 'follows the error of the tree before')
    """
    names = [name for name, how in ALPHAS[mode].items() if how not in ("fixed", "hand")]
    return *(f"{value / 10:g}" for value in range(11)), *names


def stop_of(alpha: Any, mode: str) -> str:
    """Return the position of the slider (`stops`) for a value of the parameter `alpha`, or "drawn by hand"."""
    if isinstance(alpha, tuple):
        return "drawn by hand"
    return f"{alpha:g}" if isinstance(alpha, float) else next(n for n, how in ALPHAS[mode].items() if how == alpha)


def alpha_of(stop: str, mode: str) -> Any:
    """Return the value of the parameter `alpha` for a position of the slider (`stops`).

    >>> alpha_of("0.3", "certified"), alpha_of("falls level by level", "certified")
    (0.3, 'schedule')
    """
    return ALPHAS[mode].get(stop) or float(stop)


def take_stop(stop: str, mode: str) -> None:
    """Set the strategy on a page that is not drawn yet, as if the user had moved the slider to this position."""
    if stop in ALPHAS[mode]:
        state.ALPHAS.value = stop
    else:
        state.ALPHAS.value, state.ALPHA.value = "fixed", float(stop)


def what_measurements_say() -> str:
    """Return a sentence with the measured accuracy of each α strategy."""
    figures = "; ".join(f"{a:.1f}, {b:.1f} and {c:.1f} % with {name}" for name, (a, b, c) in MEASURED.items())
    return (
        f"Mean accuracy on six tables at ε = 0.1, 1 and 10, in this order: {figures}. Without noise, a higher α lowers "
        "the error in fewer steps. But it lets one record change a question’s score more, so scores need more noise. "
        "On average, α = 0 was the most accurate at each ε."
    )


def _draw(levels: list[float], *, exact: bool) -> None:
    """Draw α by level. If `exact` is False, the drawing is only an example."""
    chart(
        plotting.alpha_drawing(levels, exact=exact),
        "α by level: " + ", ".join(f"{level:.2g}" for level in levels),
        title="α by level",
        public=True,
        key="alpha_drawing",
    )


def default_bound(table: Table | None) -> int:
    """Return the lowest bound that a public table's row count does not exceed. Other tables get the highest bound."""
    n = len(table.frame) if table is not None and table.is_public else MAX_BOUND
    return next(bound for bound in BOUNDS if bound >= min(n, MAX_BOUND))


def row_bound(table: Table | None) -> int:
    """Draw the control of the public bound on the number of rows, and return the bound."""
    default = default_bound(table)
    drop_unknown(state.BOUND, BOUNDS)
    follow(state.BOUND, default)
    bound = st.select_slider(
        "Public upper bound on the number of rows",
        BOUNDS,
        default,
        format_func=lambda n: f"{n:,}",
        key=state.BOUND,
        bind=LINKED,
        help="How much one row can change a question's score depends on the number of rows. The exact number is "
        "private, so the forest uses a public bound. The smaller this upper bound, the less noise is needed; but no "
        "table may have more rows than it states.",
    )
    return bound if bound in BOUNDS else default
