"""The tab More data: how many more rows a smaller ε needs for the same accuracy."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from dpforest.evaluation.headroom import Headroom, headroom
from dpforest.evaluation.learning_curve import (
    MOST_TIMES,
    Learning,
    Needed,
    accuracy_on_parts,
    part_sizes,
    rows_needed,
)
from dpforest.evaluation.rows_for_epsilon import Exchange, exchange, three_epsilons
from dpforest.models.base import ForestClassifier
from dpforest.plotting.learning import learning_chart
from dpforest.plotting.rows_for_epsilon import exchange_chart
from dpforest.plotting.style import percent
from dpforest.simulation.splits import Split
from dpforest.tables.domain import Domain
from dpforest.tables.features import plural
from ui.forest.forests import EPSILONS, FORESTS, ForestSettings
from ui.jobs.job import Job, run
from ui.shared import cache
from ui.shared.headroom_words import points
from ui.shared.page import drawn, titled
from ui.shared.tables import Table, fingerprint, read_by, split

REPEATS = 8
DIVISORS = (2, 5)  # the tab also shows the chosen ε divided by these numbers


class LearningJob(Job[list[np.ndarray]]):
    """A job for learning curves (accuracy against rows). A piece is one repeat on random parts of the table."""

    def __init__(self, estimator: ForestClassifier, domain: Domain, split: Split, epsilons: Sequence[float]) -> None:
        super().__init__()
        self._arguments, self._split, self._epsilons = (estimator, domain, split, epsilons), split, epsilons

    def task(self, n: int) -> tuple:
        return _repeat, (*self._arguments, n)

    def steps(self, n: int) -> Generator[float, None, list[np.ndarray]]:
        accuracies, shares = [], np.cumsum(part_sizes(self._split)) / part_sizes(self._split).sum()
        for accuracy, share in zip(accuracy_on_parts(*self._arguments, n), shares, strict=True):
            accuracies.append(accuracy)
            yield float(share)
        return accuracies

    @property
    def learning(self) -> Learning | None:
        """The learning curves of the finished repeats, or None if there are none."""
        repeats = [self.pieces[n] for n in range(self.n_done)]
        return Learning.of(self._split, self._epsilons, repeats) if repeats else None


def _repeat(*arguments: Any) -> list[np.ndarray]:
    """Compute one repeat, in a worker process."""
    return list(accuracy_on_parts(*arguments))


@cache.by_table(everybody=8, session=4)
def _make(key: tuple, _table: Table, _settings: ForestSettings) -> LearningJob:
    """Return a new job. The last element of the key is the grid of ε."""
    return LearningJob(_settings.estimator(_table.domain), _table.domain, split(_table), key[-1])


def show(table: Table, settings: ForestSettings, wanted: float, guessing: float) -> None:
    """Draw learning curves at the chosen ε and at smaller ε, and the number of rows for the accuracy `wanted`.

    `guessing` is the accuracy of guessing the most frequent class.
    """
    titled(f"Accuracy with more rows: {settings.name}", "Simulated", "Do not share")
    st.markdown(
        "**With more rows, each of them matters less. So if a forest beats guessing, a smaller ε is often enough for "
        "the same accuracy.** We simulate releases from random parts of this table and see how accuracy changes with "
        "the number of rows."
    )
    epsilon = min(max(settings.epsilon, EPSILONS[0]), EPSILONS[-1])
    if epsilon != settings.epsilon:
        st.caption(
            f"Only ε from {EPSILONS[0]:g} to {EPSILONS[-1]:g} are simulated here, so these figures are for ε = "
            f"{epsilon:g} instead of {settings.epsilon:g}."
        )
        settings = replace(settings, epsilon=epsilon)
    epsilons = [settings.epsilon, *smaller(settings.epsilon)]
    job = _job(table, settings, epsilons)
    learning = job.learning
    # Each run fills all of these places, so that no text or chart of a previous forest or ε remains.
    button, words, place, note, progress, below = (st.empty() for _ in range(6))
    if learning is None and not button.button("Work it out", type="primary", key="more_data"):
        words.caption(
            f"The simulation is repeated {REPEATS} times on random parts of the table; each repeat makes "
            "the chart more exact."
        )
        return
    with below.container():
        titled("Rows in exchange for ε", "Simulated", "Do not share")
        trade = st.empty(), st.empty()

    def draw(learning: Learning) -> None:
        _draw(learning, epsilons, settings, wanted, words, place, note)
        n_test = len(split(table).y_test)
        forest_headroom = headroom(learning.accuracy[:, -1], learning.ceiling[:, -1], guessing, n_test)
        _draw_exchange(learning, settings, forest_headroom, *trade)

    n_drawn = learning.n_repeats if learning else 0
    if learning:
        draw(learning)
    for _ in run([job], REPEATS, progress, "Repeat {n} of {total}; no need to wait", drawn=n_drawn):
        if learning := job.learning:
            draw(learning)


def smaller(epsilon: float) -> list[float]:
    """Return the ε of the grid that are about a half and a fifth of this ε.

    >>> smaller(1.0), smaller(0.02), smaller(0.01)
    ([0.5, 0.2], [0.01], [])
    """
    nearest = [max((e for e in EPSILONS if e <= 1.02 * epsilon / divisor), default=0.0) for divisor in DIVISORS]
    return [e for e in dict.fromkeys(nearest) if e > 0]


def _job(table: Table, settings: ForestSettings, epsilons: list[float]) -> LearningJob:
    """Return the cached job. All sessions share it, unless the table is an upload.

    A forest with random structure counts the rows once for all ε. Other forests are fitted anew at every ε, so their
    grid has only those ε that the answer needs.
    """
    grid: tuple[float, ...] = EPSILONS
    if FORESTS[settings.kind].is_fitted_anew:
        second = epsilons[min(1, len(epsilons) - 1)]
        least = max(e for e in EPSILONS if e <= epsilons[-1])
        grid = tuple(e for e in EPSILONS if least <= e <= MOST_TIMES * second)
    table = read_by(table, settings)
    key = (table.schema_key, fingerprint(table.domain), settings.without_epsilon(), grid)
    return _make(key, table, settings)


def _draw(
    learning: Learning,
    epsilons: list[float],
    settings: ForestSettings,
    wanted: float,
    words: Any,
    place: Any,
    note: Any,
) -> None:
    """Draw the needed numbers of rows as sentences, the learning curves, and a note on the method."""
    accuracy_of_all = float(learning.by_rows(settings.epsilon)[-1])
    needed = [rows_needed(learning, e, wanted) for e in epsilons]
    answers = list(zip(epsilons, needed, strict=True))
    if wanted <= accuracy_of_all + 1e-9 and len(epsilons) > 1:
        answers = answers[1:]  # this table already has enough rows at the chosen ε
    goal = f"an average accuracy of {percent(wanted)}"
    words.markdown("\n".join(f"- {sentence(e, rows, goal)}" for e, rows in answers))
    drawn(
        learning_chart(learning, epsilons, wanted, needed, certified=settings.certified),
        f"Accuracy against rows at ε = {', '.join(f'{e:g}' for e in epsilons)}: measured up to {learning.n_rows:,} "
        f"rows, extrapolated up to {MOST_TIMES:g} times as many. "
        + " ".join(sentence(e, rows, goal) for e, rows in answers),
        place,
        title="Accuracy against rows",
    )
    note.caption(_method_text(learning, settings))


def _draw_exchange(
    learning: Learning, settings: ForestSettings, forest_headroom: Headroom, words: Any, place: Any
) -> None:
    """Draw accuracy against rows at a tenth of ε, at ε and at ten times ε, as in figure 9 of Fletcher and Islam."""
    epsilon, epsilons = settings.epsilon, three_epsilons(learning, settings.epsilon)
    compensation = (
        exchange(learning, epsilon, epsilons[0], forest_headroom.floor + forest_headroom.noise)
        if epsilons[0] < epsilon
        else None
    )
    text = exchange_words(learning, epsilon, epsilons[0], compensation, forest_headroom)
    words.markdown(text)
    drawn(
        exchange_chart(learning, epsilon, epsilons, compensation, certified=settings.certified),
        f"Accuracy against rows at ε = {', '.join(f'{e:g}' for e in epsilons)}. {text.replace('**', '')}",
        place,
        title="Rows in exchange for ε",
    )


def exchange_words(
    learning: Learning, epsilon: float, smaller: float, compensation: Exchange | None, forest_headroom: Headroom
) -> str:
    """State how many times as many rows make up for a smaller ε on this table, and the factor that the paper reports.

    >>> learning = Learning(np.array([100, 1600]), np.array([0.1, 1.0]), np.ones((1, 2, 2)), np.ones((1, 2)))
    >>> compensation = Exchange(1.0, 0.1, 100, 0.8, Needed("observed", 1100.0, times=0.6875))
    >>> forest_headroom = Headroom(floor=0.5, nonprivate=1.0, private=1.0, best=None, noise=0.01)
    >>> exchange_words(learning, 1.0, 0.1, compensation, forest_headroom).split(": ")[0]
    '**At ε = 0.1 it takes 11 times the rows to be as accurate as at ε = 1**'
    """
    if smaller >= epsilon:
        return f"ε = {epsilon:g} is the smallest that we simulate. Choose a larger ε to see what more rows buy."
    if compensation is None:
        better = np.flatnonzero(learning.by_rows(epsilon) > forest_headroom.floor + forest_headroom.noise)
        if not len(better):
            return (
                f"**No number of rows can be given.** At ε = {epsilon:g} this forest does not beat guessing the most "
                f"frequent class ({percent(forest_headroom.floor)}) by more than luck "
                f"({points(forest_headroom.noise)}) at any measured number of rows, so there is no accuracy to keep."
            )
        return (
            f"**Here the forest is as accurate at ε = {smaller:g} as at ε = {epsilon:g}**, to within a point, at every "
            f"measured number of rows from {learning.rows[better[0]]:,} on. There is little for more rows "
            "to make up for."
        )
    if compensation.times is not None and compensation.needed.rows is not None:
        how = "measured" if compensation.needed.how == "observed" else "extrapolated"
        result = (
            f"**At ε = {smaller:g} it takes {compensation.times:.2g} times the rows to be as accurate as at ε = "
            f"{epsilon:g}**: {compensation.needed.rows:,.0f} instead of {compensation.rows:,.0f} for "
            f"{percent(compensation.accuracy)} ({how})."
        )
    else:
        most = MOST_TIMES * learning.n_rows / compensation.rows
        result = (
            f"**At ε = {smaller:g} it takes more than {most:.0f} times the rows to be as accurate as at ε = "
            f"{epsilon:g}** with {compensation.rows:,.0f} rows ({percent(compensation.accuracy)})."
            if compensation.needed.how == "beyond"
            else f"**This table does not show how many rows it takes at ε = {smaller:g} to be as accurate as at "
            f"ε = {epsilon:g}** with {compensation.rows:,.0f} rows ({percent(compensation.accuracy)})."
        )
    return (
        f"{result} If only noise mattered, it would be {epsilon / smaller:.2g} times. Fletcher and Islam report 100 "
        "times the rows for a tenth of ε (figure 9)."
    )


def sentence(epsilon: float, needed: Needed, goal: str) -> str:
    """State how many rows are needed, and whether this number is measured or extrapolated.

    >>> sentence(0.5, Needed("extrapolated", 3100, 2500, 4000, 3.1), "an accuracy of 80 %")
    'At ε = 0.5 you would need about **3.1 times** the rows (extrapolated; 2.5 to 4.0 times) for an accuracy of 80 %.'
    """
    start = f"At ε = {epsilon:g}"
    if needed.how == "observed":
        assert needed.rows is not None and needed.times is not None
        if needed.at_most:
            return f"{start} **{needed.rows:,.0f} rows or fewer** are enough for {goal} (measured)."
        if needed.times > 0.99:
            return f"{start} it takes **all the rows that there are** for {goal} (measured)."
        return f"{start} **{percent(needed.times, 0)} of the rows** are enough for {goal} (measured)."
    if needed.how == "extrapolated":
        assert needed.rows is not None and needed.times is not None
        per_row = needed.times / needed.rows
        low = 1.0 if needed.low is None else needed.low * per_row
        if needed.high is not None:
            interval = f"{low:.1f} to {needed.high * per_row:.1f} times"
        else:
            interval = f"{low:.1f} times or more" if low >= 1.1 else "but the curve is so flat that this is a guess"
        return (
            f"{start} you would need about **{needed.times:.1f} times** the rows (extrapolated; {interval}) for {goal}."
        )
    if needed.how == "beyond":
        return f"{start} you would need **more than {MOST_TIMES:g} times** the rows for {goal}; how many is unknown."
    if needed.how == "above":
        return (
            f"{start} **no number of rows can be given** for {goal}: on these rows the forest does not get there "
            "without noise either. Another forest, or more depth, may."
        )
    return f"{start} **this table does not show** how many rows it would take for {goal}."


def _method_text(learning: Learning, settings: ForestSettings) -> str:
    bound = ""
    if settings.option("n_bound") is not None:
        bound = " The public bound on the rows would have to be raised with them, which costs a little accuracy."
    return (
        f"Means over {plural(learning.n_repeats, 'simulated release')} from random parts of {learning.n_rows:,} rows "
        "to learn from; the other rows are held out to test on. **Solid: measured. Dashed: extrapolated**, with an "
        "interval of 80 %. Twice the rows double every count, so at half of ε the noise hides as much as before. So "
        "for more rows we take the accuracy of all rows at a larger ε. We measure the error of this step from half the "
        "rows to all, and the interval includes it. The interval leaves out that more rows also teach the forest more, "
        f"which would help, and that new rows may differ from these.{bound}"
    )
