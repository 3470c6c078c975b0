"""Greedy trees from class counts: how their splits are drawn, and which rows each tree reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpforest.checks import is_number
from dpforest.models.trace import TreeTrace
from dpforest.privacy import selection
from dpforest.privacy.ledger import QueryBudget
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.rationals import printed_decimal
from dpforest.privacy.release import assign_rows
from dpforest.tables.units import Units
from dpforest.trees.candidates import Candidates
from dpforest.trees.split_scores import (
    UNIT,
    node_potentials,
    node_tables,
    nodes_of_unit,
    score_splits,
    sensitivity,
    unit_sensitivity,
)

NORMAL = 65_536  # grid steps from the worst normalized score to the best
MOST_PARTS = 64  # largest ratio of structure rows to estimation rows, and of estimation rows to structure rows


@dataclass
class SplitSelector:
    """Callable that draws the splits of one tree from its counts, for `grow_tree`.

    Parameters
    ----------
    candidates : Candidates
        The tests to choose from.
    criterion : str
        Score of a split (`split_scores`).
    n_bound : int
        Public bound on the number of rows (or of persons, see `Domain.unit`), on which the sensitivity of scores
        depends (`split_scores`).
    stages : sequence of QueryBudget
        Budgets of the draws. With one budget, the split is drawn among all candidates. With two budgets (the
        multinomial forest), first a feature is drawn, by the score of its best candidate, and then one of this
        feature's candidates. With no budget, the best candidate is taken, without privacy.
    source : SecretSource or DemoSource
        Fresh entropy selects the exact sampler; a seed selects the fast simulator.
    key : int
        First key of the draws in a demonstration (a fit with a seed).
    normalized : bool
        Whether to stretch the scores of each node to the range from 0 to 1, as the paper of the multinomial forest
        does. One row can then change any score from 0 to 1, so more rows do not make the draw more accurate.
    trace : TreeTrace or None
        Record of the probabilities of the drawn splits, for figures of the curator (the data holder).
    count_unit : {1, 1024}
        Largest amount that a row (1) or a person (1024, see `Domain.unit`) adds to a histogram.
    n_classes : int
        Number of classes.
    """

    candidates: Candidates
    criterion: str
    n_bound: int
    stages: Sequence[QueryBudget]
    source: SecretSource | DemoSource
    key: int = 0
    normalized: bool = False
    trace: TreeTrace | None = None
    count_unit: int = field(kw_only=True)
    n_classes: int = field(kw_only=True)

    @property
    def _grid(self) -> int:
        """Number of grid steps of a score for each unit of a histogram (`score_splits`)."""
        return UNIT // self.count_unit

    def __call__(self, level: int, histogram: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        scores = score_splits(histogram, self.candidates, self.criterion, grid=self._grid)
        if not self.stages:
            best = np.where(allowed, scores, np.iinfo(np.int64).min).argmax(axis=1)
            pure = (node_tables(histogram, self.candidates) > 0).sum(axis=1) <= 1
            return np.where(pure, -1, best)
        probability, chance = np.ones(len(scores)), np.ones(len(scores))
        stage_allowed = allowed
        if len(self.stages) == 2:
            by_feature, possible = best_by_feature(scores, allowed, self.candidates)
            feature, probability = self._draw(by_feature, possible, 0, level)
            chance = chance / possible.sum(axis=1)
            stage_allowed = allowed & (self.candidates.feature == feature[:, None])
        chosen, stage_probability = self._draw(scores, stage_allowed, len(self.stages) - 1, level)
        if self.trace is not None:
            tables = node_tables(histogram, self.candidates)
            self.trace.note_level(
                probability * stage_probability,
                chance / stage_allowed.sum(axis=1),
                scores[np.arange(len(chosen)), chosen],
                node_potentials(tables, self.criterion, grid=self._grid),
            )
        return chosen

    def _draw(self, scores: np.ndarray, allowed: np.ndarray, stage: int, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw a choice for each node. Return the choices and their probabilities (1 instead if there is no trace)."""
        query_budget, nodes, key = self.stages[stage], 1, self.key + 2 * level + stage
        if self.normalized:  # one row may change any score by NORMAL, up or down
            scores, width = stretched(scores, allowed), 2 * NORMAL
        elif self.count_unit == 1:
            width = sensitivity(self.criterion, self.n_bound)
        else:
            n_classes = self.n_classes
            width, nodes = unit_sensitivity(self.criterion, self.n_bound, level, n_classes), nodes_of_unit(level)
        chosen = selection.choose(scores, allowed, width, query_budget, self.source, key=key, nodes=nodes)
        if self.trace is None:
            return chosen, np.ones(len(chosen))
        each = query_budget.epsilon_each
        return chosen, selection.chosen_probability(scores, allowed, width, each, chosen, nodes=nodes)


def best_by_feature(scores: np.ndarray, allowed: np.ndarray, candidates: Candidates) -> tuple[np.ndarray, np.ndarray]:
    """Return each feature's best allowed score, and whether it has an allowed candidate, both (n_nodes, n_features).

    If one row changes every score by an amount in an interval, it changes the maxima by amounts in the same interval.
    So draws among scores and draws among maxima need the same noise.
    """
    first = candidates.first
    nonempty = np.flatnonzero(np.diff(first))
    lowest = scores.min(axis=1, keepdims=True)
    best, possible = np.tile(lowest, len(first) - 1), np.zeros((len(scores), len(first) - 1), bool)
    best[:, nonempty] = np.maximum.reduceat(np.where(allowed, scores, lowest), first[nonempty], axis=1)
    possible[:, nonempty] = np.logical_or.reduceat(allowed, first[nonempty], axis=1)
    return best, possible


def stretched(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Stretch the scores of each node to integers from 0 (worst allowed score) to `NORMAL` (best).

    The result is 0 for candidates that are not allowed, and for all candidates if all allowed scores are equal.
    """
    low = np.where(allowed, scores, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    high = np.where(allowed, scores, np.iinfo(np.int64).min).max(axis=1, keepdims=True)
    return np.where(allowed, (scores - low) * NORMAL // np.maximum(high - low, 1), 0)


@dataclass(frozen=True, eq=False)
class Shares:
    """Indices of the rows that grow each tree (`structure`) and of the rows that decide its leaves (`estimation`)."""

    structure: list[np.ndarray]
    estimation: list[np.ndarray]


def structure_share(partition_rate: float) -> Fraction:
    """Return r/(1+r) for r = `partition_rate`: the probability that a row grows a tree and does not decide its leaves.

    The probability is rounded to a fraction with a denominator of at most 64.

    Raises
    ------
    ValueError
        If the rate is not a number from 1/64 to 64.
    """
    if not is_number(partition_rate, 1 / MOST_PARTS, MOST_PARTS):
        raise ValueError(f"partition_rate={partition_rate!r} is not a number from 1/{MOST_PARTS} to {MOST_PARTS}")
    rate = printed_decimal(partition_rate)
    return (rate / (1 + rate)).limit_denominator(MOST_PARTS)


def share_out(
    row_ids: np.ndarray,
    n_trees: int,
    share: Fraction,
    partition: str,
    source: SecretSource | DemoSource,
    units: Units | None = None,
) -> Shares:
    """Return the rows that grow each tree and the rows that decide its leaves, by a random draw for each row.

    If `partition` is "independent", the tree of each row is also drawn; otherwise, each row is in every tree. With
    `units`, all rows of a person have the same draw.
    """
    shares = Shares([], [])
    if partition == "independent":
        draws = assign_rows(row_ids, n_trees * share.denominator, source, units=units)
        tree_of_row, part = draws // share.denominator, draws % share.denominator
        order = np.argsort(tree_of_row, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(tree_of_row, minlength=n_trees))[:-1]):
            grows = part[rows] < share.numerator
            shares.structure.append(rows[grows])
            shares.estimation.append(rows[~grows])
        return shares
    for tree in range(n_trees):
        grows = assign_rows(row_ids, share.denominator, source, key=1 + tree, units=units) < share.numerator
        shares.structure.append(np.flatnonzero(grows))
        shares.estimation.append(np.flatnonzero(~grows))
    return shares
