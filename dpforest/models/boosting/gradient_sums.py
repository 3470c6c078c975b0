"""The curator's side of boosting: rows with their scores, and the gradient sums of each round.

A machine that holds a part of a table has one object of this module. In each round, this object takes the moves of the
last round, which are public, and returns the gradient sums in the leaves of the next tree. These sums are integers, so
the sums of all parts add up exactly to the sums of the whole table, however the table is cut.
"""

from typing import Any, Final

import numpy as np

from dpforest.limits import MAX_TREES
from dpforest.models.boosting.clip_bound import ClipBound
from dpforest.models.boosting.gradients import TABLES, GradientTables, next_sums
from dpforest.models.data_dependent import EncodedRows
from dpforest.tables.domain import Domain
from dpforest.trees.layout import Trees
from dpforest.trees.routing import leaves_in

# Largest number of leaf indices (one for each row and tree) in memory at a time, unless one tree alone needs more.
_MOST_ROUTED: Final = 2**23
# With fewer rows for each thread, starting threads in each round takes more time than they save.
_ROWS_OF_A_THREAD: Final = 100_000


def bytes_of_scores(n_rows: int, clip: ClipBound) -> int:
    """Return the largest number of bytes that the scores and leaf indices of `GradientSums` take."""
    n_routed = min(max(n_rows, _MOST_ROUTED), n_rows * MAX_TREES)
    return 8 * clip.n_scores * n_rows + 2 * n_routed + 2 * n_rows


class GradientSums:
    """Rows, their scores, and their leaves in the next trees. Only the curator (the data holder) may see them.

    Parameters
    ----------
    domain : Domain
        Domain that encoded the rows.
    trees : Trees
        Public trees of all rounds.
    clip : ClipBound
        Bound on the gradient of a row.
    rows : EncodedRows
        Rows of the table, or of one of its parts.
    n_jobs : int
        Number of threads; the sums do not depend on it.
    map_parts : callable
        ``map``, or the ``map`` of a thread pool. It calls the function that sums the gradients of a slice of the rows.
    tables : GradientTables
        Exponentials, which must be the same for all parts of a table.
    """

    def __init__(
        self,
        domain: Domain,
        trees: Trees,
        clip: ClipBound,
        rows: EncodedRows,
        *,
        n_jobs: int = 1,
        map_parts: Any = map,
        tables: GradientTables = TABLES,
    ):
        n = len(rows.y)
        self._domain, self._trees, self._clip, self._rows, self._tables = domain, trees, clip, rows, tables
        self._n_jobs, self._map = n_jobs, map_parts
        n_parts = max(1, min(n_jobs, n // _ROWS_OF_A_THREAD))
        self._slices = [slice(n * i // n_parts, n * (i + 1) // n_parts) for i in range(n_parts)]
        # Trees do not depend on earlier rounds, so one pass over the rows can route them through many trees.
        self._n_routed = min(max(1, _MOST_ROUTED // max(n, 1)), trees.n_trees)
        self._scores = rows.zeros((n, clip.n_scores), np.int64)
        self._leaves = rows.zeros((self._n_routed, n), np.uint16)  # in the trees that are routed together
        self._last_leaves = rows.zeros((n,), np.uint16)  # leaf of each row in the tree of the last round
        self._round, self._sums = -1, np.zeros(0, np.int64)

    @property
    def leaf(self) -> np.ndarray:
        """Leaf of each row in the tree of the round that `of_round` computed last, uint16 (n,)."""
        return self._leaves[self._round % self._n_routed]

    def of_round(self, t: int, moves: np.ndarray) -> np.ndarray:
        """Add the moves of round t - 1 to the rows' scores, and return the gradient sums of round t.

        Parameters
        ----------
        t : int
            Number of the round, from 0.
        moves : int64 array of shape (n_leaves, n_scores)
            Moves of round t - 1; zeros in round 0.

        Returns
        -------
        int64 array of shape (n_leaves, n_scores)
            Gradient sums in the leaves of tree t. A second call for the same round returns the same sums, because a
            message may arrive twice.

        Raises
        ------
        RuntimeError
            If the scores of these rows are not those after round t - 2, so that the sums would be wrong.
        """
        if t == self._round:
            return self._sums
        if t != self._round + 1:
            raise RuntimeError(f"round {t} was asked for after round {self._round}")
        if t:
            self._last_leaves[:] = self.leaf
        self._round = t
        if t % self._n_routed == 0:
            self._route(t)
        self._sums = np.sum(list(self._map(lambda part: self._sums_of(part, moves), self._slices)), axis=0)
        return self._sums

    def _route(self, t: int) -> None:
        """Route the rows through tree t and the trees after it, as many as `_n_routed` allows."""
        trees = self._trees.between(t, min(t + self._n_routed, self._trees.n_trees))
        leaves_in(trees, self._domain, self._rows.codes, self._leaves, n_jobs=self._n_jobs)

    def _sums_of(self, part: slice, moves: np.ndarray) -> np.ndarray:
        """Update the scores of a slice of the rows, and return the gradient sums of this slice."""
        rows = self._rows
        weight = None if rows.weight is None else rows.weight[part]
        scores, last_leaf, leaf = self._scores[part], self._last_leaves[part], self.leaf[part]
        return next_sums(scores, last_leaf, moves, leaf, rows.y[part], self._clip, weight, self._tables)
