"""The law of noisy class counts, and of the label that is computed from these counts.

The share of class c in a leaf is the noisy count of c divided by the sum of the leaf's noisy counts. The leaf's label
is the class with the largest share; if shares are equal, the class with the lower index wins. There are two rules for
negative noisy counts (Bojarski et al., docs/PAPERS.md). They use only the released counts, so they cost no privacy:

- ``"clamp"``: negative counts become 0. If all counts are then 0, the label is drawn uniformly.
- ``"paper"``: if any count is negative, or if all counts are 0, the counts are discarded, and the label is drawn
  uniformly.

A release has discrete Laplace noise. Let κ = 1/scale and q = exp(-κ). Then the noise is z with probability P(z) =
(1-q)/(1+q) q^|z|. One row added or removed changes one count of a tree by one, and P(z)/P(z ± 1) is at most 1/q, with
equality for some z. So a row costs exactly κ per tree. The laws of continuous noise are from Bojarski et al., and are
only for simulations.
"""

from typing import Final

import numpy as np
from numba import njit

NEGATIVE_RULES: Final = ("clamp", "paper")
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def discrete_laplace_pmf(z: np.ndarray, scale: float) -> np.ndarray:
    """Return P(Z = z) for discrete Laplace noise Z of this scale, as a float array of the shape of `z`."""
    q = np.exp(-1.0 / scale)
    return -np.expm1(-1.0 / scale) / (1 + q) * q ** np.abs(z)


def noisy_argmax_pmf(counts: np.ndarray, scale: float, negative: str = "clamp") -> np.ndarray:
    """Return the probability of each label of a leaf whose counts have discrete Laplace noise.

    Parameters
    ----------
    counts : int array of shape (n_leaves, n_classes)
        Number of rows of each class in each leaf, before noise.
    scale : float
        Scale of the noise, 1/κ.
    negative : {"clamp", "paper"}
        Rule for negative noisy counts (see the module).

    Returns
    -------
    float array of shape (n_leaves, n_classes)
        Probability of each label. With two classes, it has a closed form. With more classes, it is a sum over the noisy
        count of the winning class, with an error of about 1e-10.

    Notes
    -----
    Let classes 0 and 1 have the counts u and v; class 0 wins ties. Let q = exp(-1/scale) and m = u - v + 1, and let W
    be the noise of class 1 minus the noise of class 0. So class 1 has the larger noisy count if W >= m. If m >= 1, then

        T(m) = P(W >= m) = q^m (m (1 - q) + (1 + q + 2q²)/(1 + q)) / (1 + q)²

    If m < 1, then P(W >= m) = 1 - T(1 - m). Both noisy counts are at most 0 with probability q^(u+v)/(1+q)². Both are
    at most 0, and the count of class 1 is larger, with probability q^(u+v+1)/(1+q)³. So the probability P(1) of class 1
    is, under "clamp",

        P(1) = P(W >= m) + q^(u+v) (1-q) / (2 (1+q)³),

    and under "paper"

        P(1) = P(W >= m) - q^(u+1)/(1+q) + q^(u+v+2)/(1+q)³ + P(counts are discarded)/2.
    """
    counts = np.ascontiguousarray(np.atleast_2d(counts), np.int64)
    n, k = counts.shape
    _check_negative_rule(negative)
    if k == 2:
        return _two_classes(counts, 1.0 / scale, negative)
    out = np.zeros((n, k))
    filled = counts.any(axis=1)
    _sum_over_winner(counts[filled], float(scale), negative == "paper", _NODES, _WEIGHTS, part := out[filled])
    out[filled] = part
    if not filled.all():
        empty = np.zeros((1, k))
        _sum_over_winner(np.zeros((1, k), np.int64), float(scale), negative == "paper", _NODES, _WEIGHTS, empty)
        out[~filled] = empty
    return out


def continuous_argmax_pmf(counts: np.ndarray, scale: float, negative: str = "clamp") -> np.ndarray:
    """Return the probabilities of `noisy_argmax_pmf` for continuous Laplace noise (Bojarski et al., docs/PAPERS.md).

    The counts may be any numbers of at least 0, such as weights; the result has the shape (n_leaves, n_classes) of the
    counts. With two classes there is a closed form. Let the counts be u >= v, let Δ = u - v, and let s be the scale.
    Then P(true label) = 1 - (1/2 + Δ/4s) exp(-Δ/s) under "clamp". Under "paper", this probability is lower by
    (exp(-v/s) - exp(-u/s))/4. With more classes, the function integrates over the noisy count of the winning class,
    with an error of about 1e-10.
    """
    counts = np.ascontiguousarray(np.atleast_2d(counts), float)
    _check_negative_rule(negative)
    if counts.shape[1] != 2:
        out = np.zeros_like(counts)
        _integrate_over_winner(counts / scale, negative == "paper", _NODES, _WEIGHTS, out)
        return out
    high, low = counts.max(axis=1) / scale, counts.min(axis=1) / scale
    wrong = (0.5 + (high - low) / 4) * np.exp(low - high)
    if negative == "paper":
        wrong += (np.exp(-low) - np.exp(-high)) / 4
    first = counts[:, 0] >= counts[:, 1]
    return np.stack([np.where(first, 1 - wrong, wrong), np.where(first, wrong, 1 - wrong)], axis=1)


def discard_probability(counts: np.ndarray, scale: float) -> np.ndarray:
    """Return the probability that the rule "paper" discards the noisy counts, for each leaf (row of `counts`).

    The counts have discrete Laplace noise of this scale.
    """
    counts = np.atleast_2d(np.asarray(counts, float))
    q = np.exp(-1.0 / scale)
    # `expm1` and `log1p` keep the digits of a tiny result.
    any_negative = -np.expm1(np.log1p(-(q ** (counts + 1)) / (1 + q)).sum(axis=1))
    return any_negative + discrete_laplace_pmf(counts, scale).prod(axis=1)


def _check_negative_rule(negative: str) -> None:
    if negative not in NEGATIVE_RULES:
        raise ValueError(f"negative must be one of {NEGATIVE_RULES}, not {negative!r}.")


def _two_classes(counts: np.ndarray, rate: float, negative: str) -> np.ndarray:
    """Return the result of `noisy_argmax_pmf` for two classes, by its closed form."""
    u, v = counts[:, 0].astype(float), counts[:, 1].astype(float)
    q = np.exp(-rate)
    one_less_q = -np.expm1(-rate)

    def power(k: np.ndarray) -> np.ndarray:
        return np.exp(-rate * k)

    def tail(m: np.ndarray) -> np.ndarray:  # T(m) of `noisy_argmax_pmf`; np.where discards the values for m < 1
        m = np.maximum(m, 1.0)
        return power(m) * (m * one_less_q + (1 + q + 2 * q * q) / (1 + q)) / (1 + q) ** 2

    second = np.where(u >= v, tail(u - v + 1), 1 - tail(v - u))  # P(noisy v > noisy u)
    first = np.where(u >= v, 1 - tail(u - v + 1), tail(v - u))  # P(noisy u >= noisy v)
    if negative == "clamp":
        half = power(u + v) * one_less_q / (2 * (1 + q) ** 3)
        return np.stack([first - half, second + half], axis=1)
    half = discard_probability(counts, 1 / rate) / 2
    both_zero = one_less_q**2 / (1 + q) ** 2 * power(u + v)
    second = second - power(u + 1) / (1 + q) + power(u + v + 2) / (1 + q) ** 3
    first = first - power(v + 1) / (1 + q) + power(u + v + 3) / (1 + q) ** 3 - both_zero
    return np.stack([first + half, second + half], axis=1)


@njit(nogil=True, cache=True)
def _sum_over_winner(counts, scale, paper, nodes, weights, out):
    """Add the probability P(c) of each label to `out`, by a sum over the noisy count x of the winning class.

    Let N_i be the noisy count of class i, of K classes. Then P(c) = Σ_{x>=1} P(N_c = x) Π_{i<c} P(N_i < x) Π_{i>c}
    P(N_i <= x) + P(uniform draw)/K. If `paper` is true, the events of this formula also require that no N_i is
    negative.

    Between two true counts, the term of the sum is a smooth function of x. So the kernel divides the sum into intervals
    of at most scale/2 points, or of at most 16 points if scale/2 is smaller. It adds the terms of an interval of up to
    16 points one by one. For a longer interval of m points, it evaluates the term only at 8 nodes. Their weights are
    those of the Gauss-Legendre rule for an integral, with corrections in 1/m² for a sum over m equidistant points. The
    result is exact for polynomials of degree 7.
    """
    n_leaves, k = counts.shape
    q = np.exp(-1.0 / scale)
    peak = -np.expm1(-1.0 / scale) / (1.0 + q)
    widest = max(2 * len(nodes), int(scale / 2))
    reach = int(35 * scale) + 2  # this far above the largest count, terms have fallen by a factor of exp(35)
    work = np.empty((3, k + 1))
    for leaf in range(n_leaves):
        n = counts[leaf]
        borders = np.sort(n)
        start = 1
        for s in range(k + 1):
            stop = borders[s] if s < k else borders[k - 1] + reach
            while start <= stop:
                m = min(widest, stop - start + 1)
                if m <= 2 * len(nodes):
                    for x in range(start, start + m):
                        _add_terms(float(x), 1.0, start, n, scale, q, peak, paper, work, out[leaf])
                else:
                    h = 1.0 / (m * m)
                    # Means of x², x⁴ and x⁶ over m equidistant points in (-1, 1). From these follow the means m2, m4
                    # and m6 of the Legendre polynomials of degree 2, 4 and 6.
                    x2, x4, x6 = (1 - h) / 3, (3 - 10 * h + 7 * h * h) / 15, (3 - 21 * h + 49 * h**2 - 31 * h**3) / 21
                    m2, m4 = (3 * x2 - 1) / 2, (35 * x4 - 30 * x2 + 3) / 8
                    m6 = (231 * x6 - 315 * x4 + 105 * x2 - 5) / 16
                    for i in range(len(nodes)):
                        t = nodes[i] ** 2
                        p2, p4 = (3 * t - 1) / 2, (35 * t * t - 30 * t + 3) / 8
                        p6 = (231 * t**3 - 315 * t * t + 105 * t - 5) / 16
                        weight = m * weights[i] / 2 * (1 + 5 * m2 * p2 + 9 * m4 * p4 + 13 * m6 * p6)
                        x = start + (m - 1) / 2 + nodes[i] * m / 2
                        _add_terms(x, weight, start, n, scale, q, peak, paper, work, out[leaf])
                start += m
        any_negative, all_zero, none_positive = 0.0, 1.0, 1.0
        for c in range(k):
            low = np.exp(-n[c] / scale)
            any_negative += (1.0 - any_negative) * low * q / (1.0 + q)
            all_zero *= peak * low
            none_positive *= low / (1.0 + q)
        for c in range(k):
            out[leaf, c] += (any_negative + all_zero if paper else none_positive) / k


@njit(nogil=True, cache=True)
def _add_terms(x, weight, start, n, scale, q, peak, paper, work, out):
    """Add `weight` times the term of every class at x, which lies in an interval that begins at `start`.

    An interval ends at the next true count or before it. So if `start` is above a count n, then every x is above n;
    otherwise, no x is above n. In either case, one power of q determines P(N = x), P(N < x) and P(N <= x) for the noisy
    count N.
    """
    k = len(n)
    equal, less, at_most = work[0], work[1], work[2]
    for i in range(k):
        floor = np.exp(-n[i] / scale) * q / (1.0 + q) if paper else 0.0  # P(N < 0)
        if start > n[i]:
            power = np.exp((n[i] - x) / scale)
            less[i], at_most[i] = 1.0 - power / (1.0 + q) - floor, 1.0 - power * q / (1.0 + q) - floor
        else:
            power = np.exp((x - n[i]) / scale)
            less[i], at_most[i] = power * q / (1.0 + q) - floor, power / (1.0 + q) - floor
        equal[i] = peak * power
    after = 1.0
    for i in range(k - 1, -1, -1):
        equal[i] *= after
        after *= at_most[i]
    before = weight
    for i in range(k):
        out[i] += equal[i] * before
        before *= less[i]


@njit(nogil=True, cache=True)
def _integrate_over_winner(counts, paper, nodes, weights, out):
    """Add the probability P(c) of each label to `out`, by an integral over the noisy count x of the winning class.

    P(c) = ∫_{x>0} f(x - n_c) Π_{i≠c} F(x - n_i) dx + P(uniform draw)/K, for K classes with the counts n_i. Here f and F
    are the density and the distribution function of the noise. If `paper` is true, F excludes noisy counts below 0.

    Counts are in units of the noise scale. Between two counts, the integrand is smooth. It falls by a factor e with
    each unit of distance below the next higher count, and with each unit of distance above the largest count. So the
    kernel integrates only over 40 units below each count and above the largest count, in intervals of half a unit with
    8 Gauss-Legendre nodes each.
    """
    n_leaves, k = counts.shape
    reach = 40.0
    work = np.empty((2, k))
    for leaf in range(n_leaves):
        n = counts[leaf]
        borders = np.sort(n)
        for s in range(k + 1):
            start = borders[s - 1] if s > 0 else 0.0
            stop = borders[s] if s < k else start + reach
            start = max(start, stop - reach)
            pieces = int(np.ceil(2 * (stop - start)))
            for piece in range(pieces):
                half = (stop - start) / pieces / 2
                middle = start + (2 * piece + 1) * half
                for i in range(len(nodes)):
                    _add_densities(middle + half * nodes[i], half * weights[i], n, paper, work, out[leaf])
        any_negative, none_positive = 0.0, 1.0
        for c in range(k):
            low = 0.5 * np.exp(-n[c])
            any_negative += (1.0 - any_negative) * low
            none_positive *= low
        for c in range(k):
            out[leaf, c] += (any_negative if paper else none_positive) / k


@njit(nogil=True, cache=True)
def _add_densities(x, weight, n, paper, work, out):
    """Add `weight` times the density of the winning count at x to `out`, for each class as the winner."""
    k = len(n)
    density, below = work[0], work[1]
    for i in range(k):
        density[i] = 0.5 * np.exp(-np.abs(x - n[i]))
        floor = 0.5 * np.exp(-n[i]) if paper else 0.0  # P(N < 0)
        below[i] = (1.0 - density[i] if x > n[i] else density[i]) - floor
    after = 1.0
    for i in range(k - 1, -1, -1):
        density[i] *= after
        after *= below[i]
    before = weight
    for i in range(k):
        out[i] += density[i] * before
        before *= below[i]
