"""The exact law of the released label of a leaf: the probability of each label, for many leaves at once.

There are three certified mechanisms. The rate κ of a mechanism is the cost of one row added or removed;
`release.rate_for` computes κ from ε.

- permute-and-flip on counts (McKenna & Sheldon 2020; docs/PAPERS.md),
- exponential mechanism on counts (addendum of 2021; docs/PAPERS.md),
- exponential mechanism on a score that is 1 for a top label and 0 for any other label (docs/PAPERS.md, figure 4).

A fourth mechanism, published in 2017, uses smooth sensitivity in the exponential mechanism. Its privacy loss exceeds
the ε that it claims (see `published.py`).
"""

from typing import Final

import numpy as np

# Every release of leaves uses noisy counts or one of the mechanisms in `CERTIFIED`. The privacy of all these mechanisms
# is proved, and the audit checks the proofs by enumeration.
NOISY_COUNTS: Final = "discrete-laplace"
CERTIFIED: Final = ("permute-and-flip", "exponential", "global-01")
PUBLISHED: Final = ("smooth-sensitivity", "smooth-sensitivity-clamped")
MOST_EXPONENT: Final = 50.0  # cap of the exponent in the author's code for the paper of 2017


def pmf(mechanism: str, counts: np.ndarray, rate: float) -> np.ndarray:
    """Return the probability of each label of each leaf.

    Parameters
    ----------
    mechanism : str
        One of ``CERTIFIED`` or ``PUBLISHED``.
    counts : int array of shape (n_leaves, n_classes)
        Number of rows of each class in each leaf.
    rate : float
        κ for a certified mechanism; the ε of each tree for a published mechanism.

    Returns
    -------
    float array of shape (n_leaves, n_classes)
        Probability of each label of each leaf. The probabilities of a leaf sum to 1.

    Raises
    ------
    ValueError
        If the mechanism has no known law.

    Examples
    --------
    >>> pmf("permute-and-flip", [[5, 3, 0]], 0.5).round(6)
    array([[0.785084, 0.178907, 0.03601 ]])
    """
    return np.exp(log_pmf(mechanism, counts, rate))


def log_pmf(mechanism: str, counts: np.ndarray, rate: float) -> np.ndarray:
    """Return the logarithm of `pmf`. Privacy losses are computed from logarithms, because probabilities underflow."""
    counts = np.atleast_2d(np.asarray(counts))
    gaps = (counts.max(axis=1, keepdims=True) - counts).astype(float)
    if mechanism == "permute-and-flip":
        return _permute_and_flip(-rate * gaps)
    if mechanism == "exponential":
        return _softmax(-rate * gaps)
    top = gaps == 0
    if mechanism == "global-01":
        return _softmax(np.where(top, 0.0, -rate))
    if mechanism in PUBLISHED:
        tied = top.sum(axis=1) > 1
        lead = np.where(tied, 0.0, np.where(top, np.inf, gaps).min(axis=1, initial=np.inf))
        a = published_exponent(lead, rate, clamped=mechanism == "smooth-sensitivity-clamped")
        return _softmax(np.where(top, 0.0, -a[:, None]))
    raise ValueError(f"No law of a label is known for {mechanism!r}.")


def published_exponent(gap: np.ndarray, epsilon: float, *, clamped: bool) -> np.ndarray:
    """Return a_j = (ε/2) exp(jε), the published exponent of a top label with lead j = `gap` (docs/PAPERS.md).

    The code of the paper's author caps the exponent at 50. It also sets the exponent to 50 if the smooth sensitivity
    S* = exp(-jε) is below 1e-10. For ε > 1e-8, the exponent is then above 50 anyway, so `clamped` applies only the cap.
    """
    with np.errstate(over="ignore"):
        a = 0.5 * epsilon * np.exp(np.asarray(gap, float) * epsilon)
    return np.minimum(a, MOST_EXPONENT) if clamped else a


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Return the logarithm of the softmax of each row of `scores`, whose largest score must be 0."""
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def _permute_and_flip(log_p: np.ndarray) -> np.ndarray:
    """Return log P(c) for P(c) = p_c ∫_0^1 Π_{i≠c} (1 - p_i t) dt, where p = exp(`log_p`) (docs/PAPERS.md).

    **Proof that permute-and-flip costs κ per row** (docs/PAPERS.md). Let n_i be the count of class i, and let E_i be
    independent exponential noise of rate κ. Permute-and-flip has the law of argmax n_i + E_i. Add a row of class c. A
    label r ≠ c can only become less likely. If r wins before with noise E_r, then r wins after with noise E_r + 1,
    whose density is exp(-κ) times as large. So P_after(r) >= exp(-κ) P_before(r). Label c can only become more likely.
    If c wins after with noise E_c, then c wins before with noise E_c + 1. So P_before(c) >= exp(-κ) P_after(c). With
    two classes, no mechanism of the same cost has a lower probability of a wrong label (`mechanisms.flip_floor`).

    For K classes, the integrand is a polynomial of degree K - 1, so Gauss-Legendre quadrature with ceil(K/2) nodes is
    exact. All terms of its sum are positive, so nothing cancels. In a sum over the coefficients of the polynomial,
    terms would cancel, and no digit would be correct from about 40 classes on.
    """
    p = np.exp(log_p)
    nodes, weights = np.polynomial.legendre.leggauss((p.shape[1] + 1) // 2)
    integral = np.zeros_like(p)
    for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
        factors = 1 - p * t
        integral += w * factors.prod(axis=1, keepdims=True) / factors
    return log_p + np.log(integral)
