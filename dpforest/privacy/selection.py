"""The exponential mechanism over candidate splits: one choice for every node of a level.

Scores are integers, and higher is better. A row added to or removed from one node moves all scores of that node within
an interval ``[a, a + sensitivity]`` and does not affect the other nodes (they hold other rows). So with
P(c) proportional to exp(rate * score_c), rate = epsilon_each / sensitivity, numerators change by a factor of at most
exp(rate * (a + sensitivity)) and their sum by a factor of at least exp(rate * a): the loss is epsilon_each. This is why
scores that can only fall when a row is added cost half of the mechanism's general cost (docs/PRIVACY.md).

The candidates of a node are public: the tests that the node's released path has not yet decided.
"""

from fractions import Fraction
from typing import Final

import numpy as np
from numba import njit

from dpforest.privacy.hashing import word_at
from dpforest.privacy.ledger import QueryBudget
from dpforest.privacy.randomness import SPLITS, DemoSource, SecretSource, stream_state
from dpforest.privacy.rationals import round_down
from dpforest.privacy.samplers import bernoulli_exp, run_tape, uniform

_GRID_BITS: Final = 13  # largest number of bits of a sensitivity after scores are coarsened
_MOST_RATE: Final = Fraction(1, 8)
_U = np.uint64
_S11 = np.uint64(11)
_UNIT: Final = 2.0**-53


def choose(
    scores: np.ndarray,
    allowed: np.ndarray,
    sensitivity: int,
    query_budget: QueryBudget,
    source: SecretSource | DemoSource,
    *,
    key: int = 0,
) -> np.ndarray:
    """Draw one candidate for each node of a level, by the exponential mechanism.

    Parameters
    ----------
    scores : int64 array of shape (n_nodes, n_candidates)
        Higher is better.
    allowed : bool array of shape (n_nodes, n_candidates)
        Public. It allows at least one candidate of each node.
    sensitivity : int
        Width of the interval in which one row moves the scores of its node (see the module), in units of the scores.
    query_budget : QueryBudget
        The call takes one use of it, whatever the number of nodes.
    source : SecretSource or DemoSource
    key : int
        Number of the level in a demonstration: draws depend on (seed, key, node) only.

    Returns
    -------
    int64 array of shape (n_nodes,)
        The chosen candidates.
    """
    scores, width = coarsened(scores, sensitivity)
    rate = rate_of(query_budget.use().pure_epsilon, width)
    if isinstance(source, DemoSource):
        return simulate_choices(scores, allowed, float(rate), source.seed, key=key)
    return draw_choices(scores, allowed, rate, source)


def coarsened(scores: np.ndarray, sensitivity: int) -> tuple[np.ndarray, int]:
    """Return scores on a coarser public grid, so that products fit into 64 bits, and their sensitivity there.

    Rounding down adds less than one step to the change by a row.
    """
    shift = max(0, int(sensitivity).bit_length() - _GRID_BITS)
    if shift == 0:
        return scores, int(sensitivity)
    return scores >> shift, (int(sensitivity) >> shift) + 2


def rate_of(epsilon_each: Fraction, sensitivity: int) -> Fraction:
    """Return the exponent per unit of the score, which never exceeds what was paid for."""
    return round_down(min(epsilon_each / sensitivity, _MOST_RATE))


def choice_pmf(scores: np.ndarray, allowed: np.ndarray, rate: float) -> np.ndarray:
    """Return P of each candidate of each node, float (n_nodes, n_candidates); an infinite rate takes the best."""
    gap = np.where(allowed, scores - np.where(allowed, scores, np.iinfo(np.int64).min).max(axis=1, keepdims=True), 0)
    if np.isinf(rate):
        weight = np.where(allowed & (gap == 0), 1.0, 0.0)
    else:
        weight = np.where(allowed, np.exp(np.maximum(rate * gap.astype(float), -745.0)), 0.0)
    return weight / weight.sum(axis=1, keepdims=True)


def chosen_probability(
    scores: np.ndarray, allowed: np.ndarray, sensitivity: int, epsilon_each: Fraction, chosen: np.ndarray
) -> np.ndarray:
    """Return the probability that `choose` takes these candidates, float (n_nodes,). Curator only, as scores are."""
    scores, width = coarsened(scores, sensitivity)
    return choice_pmf(scores, allowed, float(rate_of(epsilon_each, width)))[np.arange(len(chosen)), chosen]


def simulate_choices(scores: np.ndarray, allowed: np.ndarray, rate: float, seed: int, *, key: int = 0) -> np.ndarray:
    """Draw a choice in floating point at any finite rate, for demonstrations and never for a release.

    Draws are keyed by (seed, key, node), so that a node's scores do not affect another node's draw.
    """
    out = np.empty(len(scores), np.int64)
    with np.errstate(over="ignore"):
        _inverse(scores, allowed, rate, stream_state(seed, SPLITS + (key << 8)), out)
    return out


@njit(nogil=True, cache=True)
def _inverse(scores, allowed, rate, state, out):
    """Invert the distribution function, with one uniform number per node."""
    n_nodes, n_candidates = scores.shape
    weight = np.empty(n_candidates)
    for node in range(n_nodes):
        best = np.int64(-(2**62))
        for c in range(n_candidates):
            if allowed[node, c] and scores[node, c] > best:
                best = scores[node, c]
        total, last, power = 0.0, best, 1.0
        for c in range(n_candidates):
            if allowed[node, c] and scores[node, c] != last:  # neighbors often have the same score
                last = scores[node, c]
                power = np.exp(rate * (last - best))
            weight[c] = power if allowed[node, c] else 0.0
            total += weight[c]
        left = np.float64(word_at(state, _U(node)) >> _S11) * _UNIT * total
        chosen = -1
        for c in range(n_candidates):
            if weight[c] > 0.0:
                chosen = c
                left -= weight[c]
                if left < 0.0:
                    break
        out[node] = chosen


def draw_choices(scores: np.ndarray, allowed: np.ndarray, rate: Fraction, source: SecretSource) -> np.ndarray:
    """Draw exactly from P(c) proportional to exp(rate * score_c) among the allowed candidates, int64 (n_nodes,)."""
    scores, allowed = np.ascontiguousarray(scores, np.int64), np.ascontiguousarray(allowed, np.bool_)
    if scores.shape != allowed.shape or not allowed.any(axis=1).all():
        raise ValueError("every node needs a candidate, and an entry for each that says whether it is allowed.")
    num, den = rate.numerator, rate.denominator
    spread = int(scores.max(initial=0)) - int(scores.min(initial=0))
    if not 0 <= num < 2**32 or den >= 2**32 or spread * num >= 2**63:
        raise ValueError("these scores are too far apart for exact draws.")
    out = np.empty(len(scores), np.int64)
    candidates = np.empty(scores.shape[1], np.int64)
    run_tape(_choose_kernel, len(scores), source, scores, allowed, num, den, candidates, out)
    return out


@njit(nogil=True, cache=True)
def _choose_kernel(tape, row, scores, allowed, num, den, candidates, out):
    """Propose an allowed candidate uniformly; accept it with probability exp(-rate (best - score)), else repeat."""
    at = 0
    n, k = scores.shape
    while row < n:
        size, best = 0, scores[row, 0]
        for c in range(k):
            if allowed[row, c]:
                candidates[size] = c
                if size == 0 or scores[row, c] > best:
                    best = scores[row, c]
                size += 1
        end, chosen = at, candidates[0]
        while end < tape.size:
            i, end = uniform(tape, end, size)
            chosen = candidates[i]
            accepted, end = bernoulli_exp(tape, end, (best - scores[row, chosen]) * num, den)
            if accepted:
                break
        if end >= tape.size:
            break
        out[row] = chosen
        row, at = row + 1, end
    return row, at
