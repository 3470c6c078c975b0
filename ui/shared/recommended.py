"""One line: which forest the public rule recommends here, and a button that shows this forest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from dpforest.evaluation.recommendation import recommend
from dpforest.limits import MAX_BOUND
from dpforest.privacy.ledger import unit_noun
from dpforest.tables.features import plural
from ui import state
from ui.shared import tables
from ui.shared.forests import FORESTS, ForestSettings, as_it_comes
from ui.shared.loss_words import at_delta
from ui.shared.page import badge
from ui.shared.tables import Table

_HELP: Final = (
    "{reason} The rule looks at no row of this table, so you may publish this reason. Compare shows how all forests do "
    "on held-out rows of this table."
)


def rounded(number: int) -> int:
    """Return a number with one significant digit.

    >>> [rounded(n) for n in (7, 96, 4_712, 32_561)]
    [7, 100, 5000, 30000]
    """
    return int(float(f"{number:.0e}"))


def recommendation(table: Table, settings: ForestSettings) -> tuple[ForestSettings, str]:
    """Return the recommended forest at the ε of some settings, with at most their δ, and the reason."""
    size = min(size_of(table), MAX_BOUND)
    estimator, reason = recommend(table.domain, settings.epsilon, settings.delta, size=size)
    kind = next(name for name, forest in FORESTS.items() if forest.estimator is type(estimator))
    delta = getattr(estimator, "delta", 0.0)
    return as_it_comes(kind, "certified", settings.epsilon, settings.neighbors, delta=delta), reason


def line(
    table: Table, settings: ForestSettings, switch: Callable[[ForestSettings], None] | None = None, button: str = ""
) -> None:
    """Draw the line. A click on the button calls `switch` with the recommended forest; without `switch`, there is none.

    Only the ε, the δ and the neighbor relation of the settings count, except that the line says so if they are already
    those of the recommended forest.
    """
    forest, reason = recommendation(table, settings)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="recommended"):
        st.markdown(f"**Recommended** at ε = {settings.epsilon:g}{at_delta(settings.delta)} for", width="content")
        _size(table)
        is_shown = switch is not None and (forest.kind, forest.delta) == (settings.kind, settings.delta)
        named = "this forest" if is_shown else FORESTS[forest.kind].title.split(" (")[0].lower()
        at = at_delta(forest.delta) if forest.delta != settings.delta else ""
        st.markdown(f"**{named}**{at}", width="content", help=_HELP.format(reason=reason))
        if switch is not None and not is_shown:
            st.button(button, key="to_recommended", on_click=switch, args=(forest,))


def size_of(table: Table) -> int:
    """Return the number of persons that the rule reads: the number that the curator confirmed, or a rounded one."""
    return state.PUBLIC_SIZES.value.get(table.key) or max(rounded(tables.n_persons(table)), 1)


def _size(table: Table) -> None:
    """Show the number of persons. For a file that is not public, ask for a number that everybody may know."""
    noun, size = unit_noun(table.unit), size_of(table)
    about = f"about {plural(size, noun)}"
    if table.is_public:
        st.markdown(about, width="content")
        return
    is_confirmed = table.key in state.PUBLIC_SIZES.value
    with st.popover(about, width="content"):
        st.markdown(
            f"The rule reads how many {noun}s are in the table. The app rounded their number. Confirm a number that "
            "everybody may know; then the recommendation reveals nothing about the rows."
        )
        typed = st.number_input(f"About how many {noun}s?", 1, MAX_BOUND, min(size, MAX_BOUND), key=state.TYPED_SIZE)
        st.button("Everybody may know this number", on_click=_confirm, args=(table, int(typed)))
    if not is_confirmed:
        badge("Curator only")


def _confirm(table: Table, size: int) -> None:
    state.PUBLIC_SIZES.value[table.key] = size
