"""How much more data would buy the same accuracy at a smaller ε."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import streamlit as st

from dpforest.evaluation.learning_curve import MOST_TIMES, Learning, Needed, learning_curves, rows_needed
from dpforest.plotting.learning import learning_chart
from dpforest.plotting.style import percent
from dpforest.tables.features import plural
from ui.shared import cache
from ui.shared.forests import EPSILONS, FORESTS, Settings
from ui.shared.page import badge, drawn
from ui.shared.tables import Table, fingerprint, read_by, split

REPEATS = 8
SMALLER = (2, 5)  # parts of the chosen ε that are looked at


class Growing:
    """Learning curves that several sessions may let grow: one step at a time, kept when somebody goes away."""

    def __init__(self, work: Iterator[tuple[float, Learning | None]]) -> None:
        self._work, self._lock = work, threading.Lock()
        self.done = 0.0
        self.learning: Learning | None = None

    def step(self) -> bool:
        """One part of a repeat more; False when there are no more."""
        with self._lock:
            try:
                self.done, learned = next(self._work)
            except StopIteration:
                self.done = 1.0
                return False
            self.learning = learned or self.learning
            return True


@cache.by_table(everybody=8, own=4)
def _make(key: tuple, _table: Table, _settings: Settings) -> Growing:
    estimator = _settings.estimator(_table.domain)
    return Growing(learning_curves(estimator, _table.domain, split(_table), epsilons=key[-1], repeats=REPEATS))


def show(table: Table, settings: Settings, target: float | None = None) -> None:
    """Learning curves at the chosen ε and at smaller ones, and the rows that reach an accuracy.

    Parameters
    ----------
    target : float or None
        The accuracy that is wanted; None for the one that the present forest has.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("##### What more data would buy", width="content", anchors=False)
        badge("Simulated")
        badge("Curator only")
    st.markdown(
        "**With more rows, each of them matters less, so a forest that learns something often gets the same accuracy "
        "at a smaller ε.** We simulate releases from random parts of this table and see how accuracy changes with the "
        "number of rows."
    )
    shown = [settings.epsilon, *smaller(settings.epsilon)]
    growing = _growing(table, settings, shown)
    if growing.learning is None and not st.button("Work it out", type="primary", key="more_data"):
        st.caption(f"Takes {plural(REPEATS, 'repeat')} on parts of the table; no need to wait for all of them.")
        return
    words, place, under = st.empty(), st.empty(), st.empty()
    bar = st.empty()
    if growing.learning is not None:
        _draw(growing.learning, shown, settings, target, words, place, under)
    while growing.done < 1:
        before = growing.learning
        if not growing.step():
            break
        bar.progress(min(growing.done, 1.0), f"Part {round(100 * growing.done)} of 100; no need to wait")
        if growing.learning is not None and growing.learning is not before:
            _draw(growing.learning, shown, settings, target, words, place, under)
    bar.empty()


def smaller(epsilon: float) -> list[float]:
    """The ε of the grid that are about a half and a fifth of this one.

    >>> smaller(1.0), smaller(0.02), smaller(0.01)
    ([0.5, 0.2], [0.01], [])
    """
    found = [max((e for e in EPSILONS if e <= 1.02 * epsilon / part), default=0.0) for part in SMALLER]
    return [e for e in dict.fromkeys(found) if e > 0]


def _growing(table: Table, settings: Settings, shown: list[float]) -> Growing:
    """Shared by all sessions; of an upload for this session only.

    Forests with random structure are counted once for all ε; others are fitted at every ε, so only at those that the
    question needs.
    """
    grid: tuple[float, ...] = EPSILONS
    if FORESTS[settings.kind].is_fitted_anew:
        second = shown[min(1, len(shown) - 1)]
        grid = tuple(e for e in EPSILONS if shown[-1] <= e <= MOST_TIMES * second)
    table = read_by(table, settings)
    key = (table.schema_key, fingerprint(table.domain), settings.without_epsilon(), grid)
    return _make(key, table, settings)


def _draw(
    learning: Learning, shown: list[float], settings: Settings, target: float | None, words, place, under
) -> None:
    now = float(learning.by_rows(settings.epsilon)[-1])
    wanted = now if target is None else target
    needed = [rows_needed(learning, e, wanted) for e in shown]
    if target is None:
        needed[0] = Needed("observed", learning.n_rows, times=1.0)  # the present forest, whatever fewer rows may do
    asked = list(zip(shown, needed, strict=True))
    if wanted <= now + 1e-9 and len(shown) > 1:
        asked = asked[1:]  # at the chosen ε all rows are enough
    what = (
        f"the accuracy that you have at ε = {settings.epsilon:g} ({percent(wanted)})"
        if target is None
        else f"an average accuracy of {percent(wanted)}"
    )
    words.markdown("\n".join(f"- {sentence(e, own, what)}" for e, own in asked))
    drawn(
        learning_chart(learning, shown, wanted, needed, certified=settings.certified),
        f"Accuracy against rows at ε = {', '.join(f'{e:g}' for e in shown)}: measured up to {learning.n_rows:,} rows, "
        f"extrapolated up to {MOST_TIMES:g} times as many. " + " ".join(sentence(e, own, what) for e, own in asked),
        place,
        title="Accuracy against rows",
    )
    under.caption(_how(learning, settings, target))


def sentence(epsilon: float, needed: Needed, what: str) -> str:
    """How many rows, and whether that was seen or is reckoned.

    >>> sentence(0.5, Needed("extrapolated", 3100, 2500, 4000, 3.1), "an accuracy of 80 %")
    'At ε = 0.5 you would need about **3.1 times** the rows (extrapolated; 2.5 to 4.0 times) for an accuracy of 80 %.'
    """
    at = f"At ε = {epsilon:g}"
    if needed.how == "observed":
        assert needed.rows is not None and needed.times is not None
        if needed.at_most:
            return f"{at} **{needed.rows:,.0f} rows or fewer** are enough for {what} (measured)."
        if needed.times > 0.99:
            return f"{at} it takes **all the rows that there are** for {what} (measured)."
        return f"{at} **{percent(needed.times, 0)} of the rows** are enough for {what} (measured)."
    if needed.how == "extrapolated":
        assert needed.rows is not None and needed.times is not None
        per_row = needed.times / needed.rows
        low = 1.0 if needed.low is None else needed.low * per_row
        if needed.high is not None:
            between = f"{low:.1f} to {needed.high * per_row:.1f} times"
        else:
            between = f"{low:.1f} times or more" if low >= 1.1 else "but the curve is so flat that this is a guess"
        return f"{at} you would need about **{needed.times:.1f} times** the rows (extrapolated; {between}) for {what}."
    if needed.how == "beyond":
        return f"{at} you would need **more than {MOST_TIMES:g} times** the rows for {what}; how many cannot be told."
    if needed.how == "above":
        return (
            f"{at} **no number of rows can be given** for {what}: on these rows the forest does not get there without "
            "noise either. Another forest, or more depth, may."
        )
    return f"{at} **it cannot be told** from this table how many rows it would take for {what}."


def _how(learning: Learning, settings: Settings, target: float | None) -> str:
    bound = ""
    if settings.option("n_bound") is not None:
        bound = " The public bound on the rows would have to be raised with them, which costs a little accuracy."
    return (
        f"Means over {plural(learning.n_repeats, 'simulated release')} from random parts of {learning.n_rows:,} rows "
        "to learn from; the other rows are held out to test on. **Solid: measured. Dashed: extrapolated**, with an "
        "interval of 80 %. Twice the rows double every count, so at half of ε the noise hides as much as before: we "
        "take the accuracy of all rows at a larger ε. How far off that is was measured from half the rows to all, and "
        "is in the interval. Not in it: what more rows teach the forest beyond drowning the noise, which would help, "
        f"and whether new rows would be like these.{bound}"
    )
