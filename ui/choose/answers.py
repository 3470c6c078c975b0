"""The answers of the Choose ε page: the smallest ε of each forest at which enough releases reach the needed value.

The first `N_FIRST` simulated releases choose an ε, and further releases check it. All pages share these releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dpforest.evaluation.smallest_epsilon import N_FIRST, Answer, Reach, least_n, smallest_epsilon
from ui.choose.wish_controls import Wish
from ui.forest.forests import EPSILONS, WITH_DELTA
from ui.jobs.job import run
from ui.jobs.results import SweepResult
from ui.jobs.sweep_job import Line, SweepJob

CHECKING: Final = "Checking {name}: simulated release {n} of {total}"


@dataclass(frozen=True, eq=False)
class Answers:
    """The smallest ε of each forest at which enough releases reach the needed value.

    Parameters
    ----------
    lines : dict of str to SweepJob
        The simulated releases of each forest, by its name.
    result : SweepResult
        Measures of all releases in `lines` that are finished.
    needed : float
        The needed value of the measure, from 0 to 1.
    wish : Wish
        Measure, share of releases, mode and margin that the user has chosen.
    labels : array of int
        Class indices of the held-out rows.
    """

    lines: dict[str, SweepJob]
    result: SweepResult
    needed: float
    wish: Wish
    labels: np.ndarray

    @property
    def is_partial(self) -> bool:
        """Whether some ε has no simulated release yet. The smallest ε is then not even roughly known."""
        return len(self.result.epsilons) < len(EPSILONS)

    @property
    def is_first_look(self) -> bool:
        """Whether some of the first `N_FIRST` releases, which choose the smallest ε, are not simulated yet."""
        return self.result.n < N_FIRST or self.is_partial

    @property
    def margin_rows(self) -> float | None:
        """Number of held-out rows for which the margin is computed (`least_n`), or None if the user wants no margin."""
        return least_n(self.wish.column, self.labels) if self.wish.margin else None

    def reach(self, forest: str) -> Reach:
        """Return the values that nearly all releases of a forest reach, according to its first `N_FIRST` releases."""
        values = self.result.private(self.wish.column, forest)[:N_FIRST]
        return Reach.of(self.result.epsilons, values, self.wish.share, self.margin_rows, len(self.lines))

    def means(self, forest: str) -> np.ndarray:
        """Return the mean of all finished releases of a forest at each ε. Every page shows this mean."""
        return self.result.private(self.wish.column, forest).mean(axis=0)

    def sorted(self) -> list[Answer]:
        """Return the answer of each forest, the smallest ε first. At equal ε, forests with δ = 0 come first.

        Forests without an answer come last, ordered by their mean at the largest ε, the highest first.
        """
        answers = [self._answer(name) for name in self.lines]

        def sort_key(answer: Answer) -> tuple:
            if answer.epsilon is None:
                return math.inf, False, -float(self.reach(answer.forest).mean[-1])
            return answer.epsilon, answer.forest.endswith(WITH_DELTA), -(answer.value or 0.0)

        answers.sort(key=sort_key)
        return [
            a if a.epsilon is None else replace(a, value=float(self.means(a.forest)[self._index(a.epsilon)]))
            for a in answers
        ]

    def _answer(self, name: str) -> Answer:
        """Return the answer of one forest. It is unchecked until all of the first `N_FIRST` releases are simulated."""
        wish, line = self.wish, self.lines[name]
        return smallest_epsilon(
            name,
            self.reach(name),
            self.needed,
            wish.share,
            self.margin_rows,
            lambda epsilon: np.zeros(0) if self.is_first_look else _check_values(line, epsilon, wish.column),
            len(self.lines),
        )

    def _index(self, epsilon: float) -> int:
        return int(np.flatnonzero(self.result.epsilons == epsilon)[0])

    def check(self, forests: Sequence[str], place: Any) -> Iterator[None]:
        """Simulate releases until the answers of the best forest and of `forests` are checked.

        The generator yields from time to time, so that the page can draw the answers.

        Parameters
        ----------
        forests : sequence of str
            Names of forests to check besides the best one.
        place : container of Streamlit
            Place of the progress bar.
        """
        while unchecked := [a for a in self._answers_to_check(forests) if a.is_open]:
            answer = unchecked[0]
            assert answer.epsilon is not None and answer.check is not None
            job = _check_job(self.lines[answer.forest], answer.epsilon)
            until = N_FIRST + answer.check.until
            for _ in run([job], until, place, CHECKING, drawn=job.n_done):
                yield
                if self._answer(answer.forest).epsilon != answer.epsilon:  # the check failed: another ε is tried
                    break

    def _answers_to_check(self, forests: Sequence[str]) -> list[Answer]:
        best, *others = self.sorted()
        return [best, *(other for other in others if other.forest in forests)]


def _check_job(line: SweepJob, epsilon: float) -> SweepJob:
    """Return a job that continues the releases of a forest at this ε only."""
    return line.releases.job(Line(line.line.settings, (epsilon,), title=line.name, without_noise=False))


def _check_values(line: SweepJob, epsilon: float, column: str) -> np.ndarray:
    """Return the values of the finished releases at one ε.

    The first `N_FIRST` are left out, because they chose this ε and so cannot check it.
    """
    job = _check_job(line, epsilon)
    return np.array([row[column] for row in job.rows(job.n_done) if row["repeat"] >= N_FIRST], float)
