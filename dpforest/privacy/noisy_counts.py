"""The law of noisy class counts, and of the label that is read from them.

A leaf's share of class c is theta_c = counts_c / sum; its label is the first class with the largest share. What happens
to negative counts is a rule of papers/01 section 2.5 (both are post-processing and cost nothing):

- ``"clamp"``: negative counts become 0; where all are 0 the share is uniform at random, so the label is a fair draw;
- ``"paper"``: where any count is negative, or all are 0, the share is thrown away for a uniform one: a fair draw.

A release has discrete Laplace noise, P(z) = (1-q)/(1+q) q^|z| with q = exp(-κ), κ = 1/scale. One row added or removed
changes one count of a tree by one, and P(z)/P(z ± 1) <= 1/q: it costs exactly κ per tree. Equal counts are possible;
the lower class wins. The continuous laws are the paper's and serve simulations.
"""

from typing import Final

import numpy as np
from numba import njit

NEGATIVE_RULES: Final = ("clamp", "paper")


def discrete_laplace_pmf(z: np.ndarray, scale: float) -> np.ndarray:
    """P(Z = z) for discrete Laplace noise."""
    q = np.exp(-1.0 / scale)
    return -np.expm1(-1.0 / scale) / (1 + q) * q ** np.abs(z)


def noisy_argmax_law(counts: np.ndarray, scale: float, negative: str = "clamp") -> np.ndarray:
    """Probability of each label of a leaf whose counts got discrete Laplace noise.

    Parameters
    ----------
    counts : int array (L, K)
    scale : float
        1/κ.
    negative : {"clamp", "paper"}

    Returns
    -------
    float array (L, K)
        Two classes in closed form; more by summation over the winner's count, exact to rounding.

    Notes
    -----
    Two classes with counts u, v (class 0 wins ties). With m = u - v + 1 and W the difference of two noises, for m >= 1

        T(m) = P(W >= m) = q^m (m (1 - q) + (1 + q + 2q²)/(1 + q)) / (1 + q)²

    and P(W >= m) = 1 - T(1 - m) otherwise. Both counts are at most 0 with probability q^(u+v)/(1+q)², then the second
    is the larger in q^(u+v+1)/(1+q)³ of all cases. So, clamped, P(1) = P(W >= m) + q^(u+v) (1-q) / (2 (1+q)³). Under
    the paper's rule P(1) = P(W >= m) - q^(u+1)/(1+q) + q^(u+v+2)/(1+q)³ + P(thrown away)/2.
    """
    counts = np.ascontiguousarray(np.atleast_2d(counts), np.int64)
    n, k = counts.shape
    _check(negative)
    if k == 2:
        return _two_classes(counts, 1.0 / scale, negative)
    out = np.empty((n, k))
    reach = int(np.ceil(45 * scale)) + 2  # what is left out is below exp(-45) of what is kept
    powers = np.exp(-np.arange(counts.max(initial=0) + reach + 2) / scale)
    filled = counts.any(axis=1)
    _sum_over_winner(counts[filled], powers, reach, negative == "paper", part := np.empty((int(filled.sum()), k)))
    out[filled] = part
    if not filled.all():
        empty = np.empty((1, k))
        _sum_over_winner(np.zeros((1, k), np.int64), powers, reach, negative == "paper", empty)
        out[~filled] = empty
    return out


def continuous_argmax_law(counts: np.ndarray, scale: float, negative: str = "clamp") -> np.ndarray:
    """The same for two classes and continuous Laplace noise (papers/01 section 2.5), float array (L, 2).

    P(true label) = 1 - (1/2 + Δ/4s) exp(-Δ/s) when clamped, and (exp(-v/s) - exp(-u/s))/4 less under the paper's rule.
    """
    counts = np.atleast_2d(np.asarray(counts, float))
    _check(negative)
    if counts.shape[1] != 2:
        raise ValueError("The continuous law is known for two classes only.")
    high, low = counts.max(axis=1) / scale, counts.min(axis=1) / scale
    wrong = (0.5 + (high - low) / 4) * np.exp(low - high)
    if negative == "paper":
        wrong += (np.exp(-low) - np.exp(-high)) / 4
    first = counts[:, 0] >= counts[:, 1]
    return np.stack([np.where(first, 1 - wrong, wrong), np.where(first, wrong, 1 - wrong)], axis=1)


def thrown_away(counts: np.ndarray, scale: float) -> np.ndarray:
    """Probability that the paper's rule throws a leaf's counts away (discrete noise), float array (L,)."""
    counts = np.atleast_2d(np.asarray(counts, float))
    q = np.exp(-1.0 / scale)
    any_negative = -np.expm1(np.log1p(-(q ** (counts + 1)) / (1 + q)).sum(axis=1))  # keeps the digits of a tiny one
    return any_negative + discrete_laplace_pmf(counts, scale).prod(axis=1)


def _check(negative: str) -> None:
    if negative not in NEGATIVE_RULES:
        raise ValueError(f"negative must be one of {NEGATIVE_RULES}, not {negative!r}.")


def _two_classes(counts: np.ndarray, rate: float, negative: str) -> np.ndarray:
    u, v = counts[:, 0].astype(float), counts[:, 1].astype(float)
    q = np.exp(-rate)
    one_less_q = -np.expm1(-rate)

    def power(k: np.ndarray) -> np.ndarray:
        return np.exp(-rate * k)

    def tail(m: np.ndarray) -> np.ndarray:  # T of the notes; the other branch of np.where makes m < 1 harmless
        m = np.maximum(m, 1.0)
        return power(m) * (m * one_less_q + (1 + q + 2 * q * q) / (1 + q)) / (1 + q) ** 2

    second = np.where(u >= v, tail(u - v + 1), 1 - tail(v - u))  # P(noisy v > noisy u)
    first = np.where(u >= v, 1 - tail(u - v + 1), tail(v - u))  # P(noisy u >= noisy v)
    if negative == "clamp":
        half = power(u + v) * one_less_q / (2 * (1 + q) ** 3)
        return np.stack([first - half, second + half], axis=1)
    half = thrown_away(counts, 1 / rate) / 2
    both_zero = one_less_q**2 / (1 + q) ** 2 * power(u + v)
    second = second - power(u + 1) / (1 + q) + power(u + v + 2) / (1 + q) ** 3
    first = first - power(v + 1) / (1 + q) + power(u + v + 3) / (1 + q) ** 3 - both_zero
    return np.stack([first + half, second + half], axis=1)


@njit(nogil=True, cache=True)
def _at_most(d, powers, q):
    """P(Z <= d)."""
    return 1.0 - powers[d + 1] / (1.0 + q) if d >= 0 else powers[-d] / (1.0 + q)


@njit(nogil=True, cache=True)
def _sum_over_winner(counts, powers, reach, paper, out):
    """P(c) = Σ_{x>=1} P(N_c = x) Π_{i<c} P(N_i < x) Π_{i>c} P(N_i <= x) + P(fair draw)/K, all N_i >= 0 under `paper`.

    powers[d] = q^d.
    """
    q, k = powers[1], counts.shape[1]
    peak = (1.0 - q) / (1.0 + q)
    before, after = np.empty(k + 1), np.empty(k + 1)
    for leaf in range(counts.shape[0]):
        n = counts[leaf]
        out[leaf, :] = 0.0
        for x in range(1, n.max() + reach):
            before[0], after[k] = 1.0, 1.0
            for i in range(k):
                j = k - 1 - i
                floor_i = powers[n[i] + 1] / (1.0 + q) if paper else 0.0
                floor_j = powers[n[j] + 1] / (1.0 + q) if paper else 0.0
                before[i + 1] = before[i] * (_at_most(x - 1 - n[i], powers, q) - floor_i)
                after[j] = after[j + 1] * (_at_most(x - n[j], powers, q) - floor_j)
            for c in range(k):
                out[leaf, c] += peak * powers[abs(x - n[c])] * before[c] * after[c + 1]
        if paper:
            any_negative, all_zero = 0.0, 1.0
            for c in range(k):
                any_negative += (1.0 - any_negative) * powers[n[c] + 1] / (1.0 + q)
                all_zero *= peak * powers[n[c]]
            fair = any_negative + all_zero
        else:
            fair = 1.0
            for c in range(k):
                fair *= powers[n[c]] / (1.0 + q)
        for c in range(k):
            out[leaf, c] += fair / k
