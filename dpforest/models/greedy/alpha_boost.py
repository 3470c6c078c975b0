"""Boosted trees, round by round: weights, splits, leaves, coefficient. Who draws is handed in (`boost_mechanisms`)."""

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
    """What answers a booster's questions about rows: certified mechanisms, a paper's, or exact data (no privacy)."""

    def start_tree(self, number: int, weight_bound: int) -> None:
        """A new tree begins; no weight is above `weight_bound` / 1024."""

    def split(
        self, level: int, histogram: np.ndarray, allowed: np.ndarray, candidates: Candidates, trace: TreeTrace | None
    ) -> np.ndarray:
        """A candidate for each node of a level; -1 for none."""

    def leaves(self, table: np.ndarray) -> tuple[np.ndarray, float]:
        """From true class weights of the leaves, in 1/1024, what they add to the score, and β, which is part of it."""

    @property
    def alphas(self) -> list[float]:
        """α of each level of the tree that was grown last."""


@dataclass(frozen=True)
class Boosted:
    """Trees of one score: candidates chosen, what leaves add, β, bounds on weights, and where rows ended up.

    `tables` are the leaves' true class weights; `traces` is empty unless asked for.
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
) -> Boosted:
    """Algorithm "Mα-boost" (Nock and Henecka 2020), with margins stored instead of weights.

    Parameters
    ----------
    bins : array of shape (n, n_features)
    positive : int32 array of shape (n,)
        1 for the rows of the class that is scored, 0 for the others.
    mechanism : BoostMechanism
    trace : bool
        Write down how every split was drawn.
    """
    link = m_alpha(spec.alpha_link)
    sign = np.where(positive == 1, 1.0, -1.0)
    score, reach = np.zeros(len(bins)), 0.0
    grown = Boosted([], [], [], [], [], [], [])
    for number in range(spec.n_trees):
        # No weight is above what the released trees so far can make of it: public, as they are.
        bound = min(UNIT, math.ceil(UNIT * float(link.inverse_link(reach))))
        weight = np.minimum(np.rint(UNIT * link.inverse_link(-sign * score)).astype(np.int64), bound)
        tree_trace = TreeTrace() if trace else None
        mechanism.start_tree(number, bound)
        choose = partial(mechanism.split, candidates=candidates, trace=tree_trace)
        chosen, node = grow_tree(candidates, bins, positive, weight, n_classes=2, depth=spec.depth, choose=choose)
        table = np.zeros((2**spec.depth, 2), np.int64)
        leaf_table(node, positive, weight, table)
        values, beta = mechanism.leaves(table)
        score += values[node]
        reach += float(np.abs(values).max())
        grown.chosen.append(chosen)
        grown.values.append(values)
        grown.betas.append(beta)
        grown.bounds.append(bound / UNIT)
        grown.nodes.append(node)
        grown.tables.append(table)
        if tree_trace is not None:
            tree_trace.alpha, tree_trace.bound = list(mechanism.alphas), bound / UNIT
            tree_trace.weights = np.quantile(weight, [0, 0.25, 0.5, 0.75, 1]) / UNIT
            grown.traces.append(tree_trace)
    return grown


def leaf_link(table: np.ndarray, alpha: float, *, shrink: float = 0.0) -> np.ndarray:
    """Values of leaves from their class weights: the link of the share of the positive class, 0 where there is none.

    Parameters
    ----------
    table : array of shape (n_leaves, 2)
        Weights of the negative and the positive class; negative ones (after noise) count as 0.
    alpha : float
    shrink : float
        Weight that is added to a leaf as if its classes were balanced.
    """
    table = np.maximum(table, 0)
    total = table.sum(axis=1) + shrink
    share = 0.5 + 0.5 * (table[:, 1] - table[:, 0]) / np.where(total > 0, total, 1)
    return np.asarray(m_alpha(alpha).link(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)))


def tree_error(table: np.ndarray) -> int:
    """Weight of the rows that majority votes of these nodes get wrong, in 1/1024."""
    return int(table.min(axis=1).sum())
