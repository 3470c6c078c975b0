"""The exponential mechanism over candidate splits: one choice for every node of a level.

Scores are integers, and higher is better. If a row is added or removed, each score of the row's node changes by an
amount in an interval ``[a, a + sensitivity]``. Other nodes hold other rows, so their scores do not change. Candidate c
has the weight exp(rate * score_c), where rate = epsilon_each / sensitivity, and its probability is its weight divided
by the sum of all weights. Each weight, and so the sum of all weights, changes by a factor between exp(rate * a) and
exp(rate * (a + sensitivity)). So a probability changes by a factor of at most exp(epsilon_each).

The general bound of the exponential mechanism is 2 * rate * Δ, if a score changes by at most Δ in either direction. If
one more row can only lower scores, the interval has the width Δ, so a choice costs half of the general bound
(docs/PRIVACY.md).

The candidates of a node are public: all tests except those whose outcome follows from the released tests on the path to
this node.
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
_MOST_RATE: Final = Fraction(1, 8)  # largest rate: the factor of a score in the exponent
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
    nodes: int = 1,
) -> np.ndarray:
    """Draw one candidate for each node of a level, by the exponential mechanism.

    Parameters
    ----------
    scores : int64 array of shape (n_nodes, n_candidates)
        Private score of each candidate at each node; higher is better.
    allowed : bool array of shape (n_nodes, n_candidates)
        Whether each candidate may be drawn at each node; public. Each node has at least one allowed candidate.
    sensitivity : int
        Width of the interval in which the change of a score lies (see the module), in units of the scores. If a person
        may have several rows, the sum of the widths over all nodes with rows of the person.
    query_budget : QueryBudget
        Queries that a ledger was charged for. The call uses up one of them, whatever the number of nodes.
    source : SecretSource or DemoSource
        Fresh entropy selects the exact sampler; a seed selects the fast simulator.
    key : int
        Number of the level in a demonstration, whose draws depend only on (seed, key, node).
    nodes : int
        Largest number of nodes of the level that can hold a row of the same person; 1 if each row is a person.

    Returns
    -------
    int64 array of shape (n_nodes,)
        Index of the chosen candidate of each node.

    Raises
    ------
    BudgetError
        If all queries of the budget are used up. The function then draws nothing.
    """
    scores, width = coarsened(scores, sensitivity, nodes)
    rate = rate_of(query_budget.use().pure_epsilon, width)
    if isinstance(source, DemoSource):
        return simulate_choices(scores, allowed, float(rate), source.seed, key=key)
    return draw_choices(scores, allowed, rate, source)


def coarsened(scores: np.ndarray, sensitivity: int, nodes: int = 1) -> tuple[np.ndarray, int]:
    """Return scores divided by a public power of 2 and rounded down, and the sensitivity of the result.

    The smaller scores keep the products of the exact sampler below 2**63. A row or a person changes the scores of at
    most `nodes` nodes. At each of these nodes, rounding widens the interval of the changes by less than 1 at either
    end.
    """
    shift = max(0, int(sensitivity).bit_length() - _GRID_BITS)
    if shift == 0:
        return scores, int(sensitivity)
    return scores >> shift, (int(sensitivity) >> shift) + 2 * nodes


def rate_of(epsilon_each: Fraction, sensitivity: int) -> Fraction:
    """Return the rate, at most `_MOST_RATE`, rounded down so that the privacy loss is at most the charge."""
    return round_down(min(epsilon_each / sensitivity, _MOST_RATE))


def choice_pmf(scores: np.ndarray, allowed: np.ndarray, rate: float) -> np.ndarray:
    """Return the probability of each candidate at each node. At an infinite rate, only best candidates are drawn."""
    gap = np.where(allowed, scores - np.where(allowed, scores, np.iinfo(np.int64).min).max(axis=1, keepdims=True), 0)
    if np.isinf(rate):
        weight = np.where(allowed & (gap == 0), 1.0, 0.0)
    else:
        weight = np.where(allowed, np.exp(np.maximum(rate * gap.astype(float), -745.0)), 0.0)
    return weight / weight.sum(axis=1, keepdims=True)


def chosen_probability(
    scores: np.ndarray,
    allowed: np.ndarray,
    sensitivity: int,
    epsilon_each: Fraction,
    chosen: np.ndarray,
    *,
    nodes: int = 1,
) -> np.ndarray:
    """Return for each node the probability that `choose` draws the candidate in `chosen`.

    Only the curator (the data holder) may see the result, because it depends on the private scores.
    """
    scores, width = coarsened(scores, sensitivity, nodes)
    return choice_pmf(scores, allowed, float(rate_of(epsilon_each, width)))[np.arange(len(chosen)), chosen]


def simulate_choices(scores: np.ndarray, allowed: np.ndarray, rate: float, seed: int, *, key: int = 0) -> np.ndarray:
    """Draw a candidate for each node in floating point, at any finite rate, for demonstrations and never for a release.

    A draw depends only on (seed, key, node), so that a node's scores do not affect another node's draw.
    """
    out = np.empty(len(scores), np.int64)
    with np.errstate(over="ignore"):
        _inverse(scores, allowed, rate, stream_state(seed, SPLITS + (key << 8)), out)
    return out


@njit(nogil=True, cache=True)
def _inverse(scores, allowed, rate, state, out):
    """Write a draw for each node to `out`: the inverse of the distribution function at a uniform number."""
    n_nodes, n_candidates = scores.shape
    weight = np.empty(n_candidates)
    for node in range(n_nodes):
        best = np.int64(-(2**62))
        for c in range(n_candidates):
            if allowed[node, c] and scores[node, c] > best:
                best = scores[node, c]
        total, last, power = 0.0, best, 1.0
        for c in range(n_candidates):
            if allowed[node, c] and scores[node, c] != last:  # adjacent candidates often have the same score
                last = scores[node, c]
                power = np.exp(rate * (last - best))
            weight[c] = power if allowed[node, c] else 0.0
            total += weight[c]
        remainder = np.float64(word_at(state, _U(node)) >> _S11) * _UNIT * total
        chosen = -1
        for c in range(n_candidates):
            if weight[c] > 0.0:
                chosen = c
                remainder -= weight[c]
                if remainder < 0.0:
                    break
        out[node] = chosen


def draw_choices(scores: np.ndarray, allowed: np.ndarray, rate: Fraction, source: SecretSource) -> np.ndarray:
    """Draw an allowed candidate c for each node, with a probability exactly proportional to exp(rate * score_c)."""
    scores, allowed = np.ascontiguousarray(scores, np.int64), np.ascontiguousarray(allowed, np.bool_)
    if scores.shape != allowed.shape or not allowed.any(axis=1).all():
        raise ValueError("`scores` and `allowed` need the same shape, and each node needs an allowed candidate.")
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
    """Propose allowed candidates uniformly, and accept a candidate with probability exp(-rate (best - score))."""
    at = 0
    n, k = scores.shape
    while row < n:
        n_allowed, best = 0, scores[row, 0]
        for c in range(k):
            if allowed[row, c]:
                candidates[n_allowed] = c
                if n_allowed == 0 or scores[row, c] > best:
                    best = scores[row, c]
                n_allowed += 1
        end, chosen = at, candidates[0]
        while end < tape.size:
            i, end = uniform(tape, end, n_allowed)
            chosen = candidates[i]
            accepted, end = bernoulli_exp(tape, end, (best - scores[row, chosen]) * num, den)
            if accepted:
                break
        if end >= tape.size:
            break
        out[row] = chosen
        row, at = row + 1, end
    return row, at
