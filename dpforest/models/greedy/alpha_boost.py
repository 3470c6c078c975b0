"""Boosting: compute the row weights of each tree. A `BoostMechanism` chooses splits, leaves and coefficient."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from dpforest.losses import m_alpha
from dpforest.models.greedy.boost_spec import LEAST_SHARE, BoostSpec
from dpforest.models.trace import TreeTrace
from dpforest.trees import split_scores
from dpforest.trees.candidates import Candidates
from dpforest.trees.greedy_trees import grow_tree, leaf_table

UNIT = split_scores.UNIT


class BoostMechanism(Protocol):
    """The part of a booster that chooses splits and leaves: certified, as in the paper, or exact (without privacy)."""

    def start_tree(self, number: int, weight_bound: int) -> None:
        """Start a new tree, in which no row weighs more than `weight_bound` / 1024."""

    def split(
        self, level: int, histogram: np.ndarray, allowed: np.ndarray, candidates: Candidates, trace: TreeTrace | None
    ) -> np.ndarray:
        """Return the candidate that splits each node of a level, or -1 if a node is not split."""

    def leaves(self, table: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the amount that each leaf adds to the score (β times the leaf's value), and the tree's coefficient β.

        `table` holds the true class weights of the leaves, in 1/1024.
        """

    @property
    def alphas(self) -> list[float]:
        """α of each level of the last tree."""


@dataclass(frozen=True)
class BoostedTrees:
    """The trees that add to one score, with what `boost` computed for each tree.

    Each list has one element for each tree. If `boost` gets ``trace=False``, `traces` is empty.

    Attributes
    ----------
    chosen : list of lists of int arrays
        Candidate at each node, level by level; -1 if the node is not split.
    values : list of float arrays
        Amount that each leaf adds to the score: the leaf's value times β.
    betas : list of float
        Coefficient β.
    bounds : list of float
        Public bound on the row weights, from 0 to 1.
    nodes : list of int arrays
        Leaf of each row.
    tables : list of int64 arrays of shape (n_leaves, 2)
        True class weights of the leaves, in 1/1024.
    traces : list of TreeTrace
        Record of the draws of splits.
    """

    chosen: list[list[np.ndarray]]
    values: list[np.ndarray]
    betas: list[float]
    bounds: list[float]
    nodes: list[np.ndarray]
    tables: list[np.ndarray]
    traces: list[TreeTrace]


def boost(
    spec: BoostSpec,
    candidates: Candidates,
    bins: np.ndarray,
    positive: np.ndarray,
    mechanism: BoostMechanism,
    *,
    trace: bool,
    row_weight: np.ndarray | None = None,
) -> BoostedTrees:
    """Run the algorithm "Mα-boost" (Nock and Henecka 2020). The weight of a row is computed from the row's score.

    Parameters
    ----------
    spec : BoostSpec
        Every choice of the forest.
    candidates : Candidates
        The tests that the mechanism chooses from.
    bins : array of shape (n, n_features)
        Bin of each cell (`bin_codes`).
    positive : int32 array of shape (n,)
        1 for rows of the class that is scored, 0 for other rows.
    mechanism : BoostMechanism
        Mechanism that chooses splits and leaves.
    trace : bool
        Whether to record how every split is drawn.
    row_weight : int64 array of shape (n,), optional
        Weight of each row in 1/1024, if the unit of privacy is a person.

    Returns
    -------
    BoostedTrees
        The trees, in the order in which they were grown.
    """
    link = m_alpha(spec.alpha_link)
    sign = np.where(positive == 1, 1.0, -1.0)
    score, score_bound = np.zeros(len(bins)), 0.0
    result = BoostedTrees([], [], [], [], [], [], [])
    for tree in range(spec.n_trees):
        # The trees that are released so far bound every score, and so every weight. This bound is public, because these
        # trees are public.
        bound = min(UNIT, math.ceil(UNIT * float(link.inverse_link(score_bound))))
        weight = np.minimum(np.rint(UNIT * link.inverse_link(-sign * score)).astype(np.int64), bound)
        if row_weight is not None:  # rounded down, so the rows of a person weigh at most `bound` together
            weight = weight * row_weight // UNIT
        tree_trace = TreeTrace() if trace else None
        mechanism.start_tree(tree, bound)
        choose = partial(mechanism.split, candidates=candidates, trace=tree_trace)
        chosen, node = grow_tree(candidates, bins, positive, weight, n_classes=2, depth=spec.depth, choose=choose)
        table = np.zeros((2**spec.depth, 2), np.int64)
        leaf_table(node, positive, weight, table)
        values, beta = mechanism.leaves(table)
        score += values[node]
        score_bound += float(np.abs(values).max())
        result.chosen.append(chosen)
        result.values.append(values)
        result.betas.append(beta)
        result.bounds.append(bound / UNIT)
        result.nodes.append(node)
        result.tables.append(table)
        if tree_trace is not None:
            tree_trace.alpha, tree_trace.bound = list(mechanism.alphas), bound / UNIT
            tree_trace.weights = np.quantile(weight, [0, 0.25, 0.5, 0.75, 1]) / UNIT
            result.traces.append(tree_trace)
    return result


def leaf_link(table: np.ndarray, alpha: float, *, shrink: float = 0.0) -> np.ndarray:
    """Return each leaf's value: the link of the positive class's share of the weight, or 0 if the leaf has no weight.

    Parameters
    ----------
    table : array of shape (n_leaves, 2)
        Weights of the negative and the positive class. If noise made a weight negative, it counts as 0.
    alpha : float
        α of the loss that the link belongs to.
    shrink : float
        Weight that is added to each leaf, half of it to each class.
    """
    table = np.maximum(table, 0)
    total = table.sum(axis=1) + shrink
    share = 0.5 + 0.5 * (table[:, 1] - table[:, 0]) / np.where(total > 0, total, 1)
    return np.asarray(m_alpha(alpha).link(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)))


def tree_error(table: np.ndarray) -> int:
    """Return the weight of the rows that the majority votes of these nodes misclassify, in 1/1024."""
    return int(table.min(axis=1).sum())
