"""Rare answers that replace the drawn answers in a fit: no noise, extreme noise, equal answers, unlikely answers.

Some mistakes of a fit show only after a rare answer of a sampler: a released zero, a leaf whose counts are all
negative, or a very unlikely split. The fit of a table and its replay on a neighboring table get the same answers; see
`replay`.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dpforest.audit.replay.tape import Forced, Question

_FAR: Final = 1_000  # size of extreme noise, in units of the noise scale


def _answers(
    rows: Callable[[np.ndarray, int], np.ndarray],
    noise: Callable[[Question], np.ndarray],
    pick: Callable[[np.ndarray], np.ndarray],
) -> Forced:
    """Return a function that answers any question of a fit.

    `rows` maps row ids and the number of trees to the tree of each row. `noise` maps a question about counts to a noisy
    table. `pick` maps log-probabilities (n_draws, n_answers) to the index of the answer of each draw.
    """

    def answer(question: Question, drawn: Any) -> Any:
        if question.what == "assignment":
            ids = np.fromiter(drawn, np.int64, len(drawn))
            return dict(zip(drawn, rows(ids, question.public[0]).tolist(), strict=True))
        if question.log_pmf is None:
            return noise(question).astype(drawn.dtype).reshape(drawn.shape)
        return pick(question.log_pmf(question.private)).astype(drawn.dtype)

    return answer


def _far(question: Question, sign: Any) -> np.ndarray:
    """Return the counts of a question plus noise of extreme size. `sign` is 1, -1 or an array of both."""
    return question.private + np.rint(sign * _FAR / question.rate).astype(np.int64)


def _least(pmf: np.ndarray) -> np.ndarray:
    """Return for each draw the index of the least likely of the possible answers."""
    return np.where(np.isfinite(pmf), pmf, np.inf).argmin(axis=1)


def _last(pmf: np.ndarray) -> np.ndarray:
    """Return for each draw the index of the last possible answer."""
    return pmf.shape[1] - 1 - np.isfinite(pmf)[:, ::-1].argmax(axis=1)


def _alternating(question: Question) -> np.ndarray:
    """Return -1 and 1 in turn, in the shape of the counts of a question."""
    return np.where(np.arange(question.private.size).reshape(question.private.shape) % 2, 1, -1)


RARE: Final[dict[str, Forced]] = {
    "no noise, the likeliest": _answers(lambda ids, n: ids % n, lambda q: q.private, lambda pmf: pmf.argmax(axis=1)),
    "all zero, the first": _answers(
        lambda ids, n: 0 * ids, lambda q: 0 * q.private, lambda pmf: np.isfinite(pmf).argmax(axis=1)
    ),
    "all alike, the last": _answers(lambda ids, n: 0 * ids + n - 1, lambda q: 0 * q.private + 7, _last),
    "far up, the least likely": _answers(lambda ids, n: ids % n, lambda q: _far(q, 1), _least),
    "far down, the least likely": _answers(lambda ids, n: 0 * ids, lambda q: _far(q, -1), _least),
    "far apart, the last": _answers(lambda ids, n: (ids // 2) % n, lambda q: _far(q, _alternating(q)), _last),
}
