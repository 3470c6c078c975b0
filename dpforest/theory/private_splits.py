"""Private splits of boosted trees: the odds of a good split, and how many rows make good splits likely.

R. Nock, W. Henecka, *Boosted and differentially private ensembles of decision trees* (arXiv 2001.09384). Bounds on the
training error are in `boosting_bounds.py`.

A test sends a share of each of the two classes of a leaf to the left. The test has the edge γ if these two shares
differ by at least γ (Definition 9).
"""

import math

from scipy.special import lambertw

from dpforest.theory.ranges import check_above, check_between


def odds_of_a_good_split(
    good_per_bad: float,
    edge: float,
    alpha: float,
    epsilon: float,
    weight: float,
    potential: float,
    sensitivity: float,
    bad_split_factor: float = 0.5,
) -> float:
    """Return the least odds that a private split has the edge: ρ exp((1 - δ²) γ² α ε w L / (32 Δ)).

    If the odds are r, the probability is at least r / (1 + r). The paper has δ² in its appendix, but δ in its text;
    this function follows the appendix. The bound assumes that a test with the edge lowers the potential by at least γ²
    α w L / 16. It also assumes that a test without the edge lowers the potential by at most δ² times this amount.

    Parameters
    ----------
    good_per_bad : float
        ρ, number of tests with the edge divided by number of tests without the edge, at least 0.
    edge, alpha : float
        γ, and α of the Mα-loss, in [0, 1].
    epsilon : float
        Budget for the choice of this split, at least 0.
    weight : float
        w, share of the tree's weight in the leaf, in [0, 1].
    potential : float
        L, potential of the whole tree, in rows.
    sensitivity : float
        Δ, largest change of the potential by one row, above 0.
    bad_split_factor : float
        δ of the second assumption above, in [0, 1].

    Examples
    --------
    >>> round(odds_of_a_good_split(0.1, 0.5, 1.0, 1.0, 1.0, 30_162, 350), 3)
    0.166
    """
    for name, value in {"edge": edge, "alpha": alpha, "weight": weight, "bad_split_factor": bad_split_factor}.items():
        check_between(name, value, 0, 1)
    for name, value in {"good_per_bad": good_per_bad, "epsilon": epsilon, "potential": potential}.items():
        check_between(name, value, 0, math.inf)
    if not sensitivity > 0:
        raise ValueError(f"sensitivity={sensitivity!r} is not a number above 0")
    gain = (1 - bad_split_factor**2) * edge**2 * alpha * weight * potential
    return good_per_bad * math.exp(min(gain * epsilon / (32 * sensitivity), 700.0))


def tree_efficiency(share: float, error: float, depth: int) -> float:
    """Return the efficiency of a node, from 0 to 2: J = 8 share error² / 2^depth (equation 20).

    `share` is the node's share of the weight, and `error` is the error of the tree.

    >>> tree_efficiency(1.0, 0.5, 0)
    2.0
    """
    return 8 * share * error**2 / 2**depth


def calibration_constant(
    edge: float = 0.5,
    bad_split_factor: float = 0.5,
    split_share: float = 0.5,
    mean_weight: float = 0.5,
    n_splits: int = 1,
    failure: float = 0.1,
) -> float:
    """Return ln(|L| / ξ) / Q' of Theorem 13: for n rows, `efficiency_needed` is this constant times ln n / (ε √n).

    Parameters
    ----------
    edge, bad_split_factor : float
        γ in (0, 1] and δ in [0, 1). A test without the edge lowers the potential by at most δ² times the amount that
        the theorem assumes for a test with the edge.
    split_share : float
        Share of ε for the splits, in (0, 1].
    mean_weight : float
        Mean weight of a row, in (0, 1].
    n_splits : int
        |L|, number of splits that must all have the edge.
    failure : float
        ξ, probability that at least one of these splits lacks the edge, in (0, 1/2].
    """
    for name, value in {"edge": edge, "split_share": split_share, "mean_weight": mean_weight}.items():
        check_above(name, value, 0, 1)
    check_above("failure", failure, 0, 0.5)
    if not 0 <= bad_split_factor < 1:
        raise ValueError(f"bad_split_factor={bad_split_factor!r} is not a number from 0 to below 1")
    return 256 * math.log(n_splits / failure) / (split_share * mean_weight * (1 - bad_split_factor**2) * edge**2)


def efficiency_needed(n: float, epsilon: float, constant: float) -> float:
    """Return the `tree_efficiency` that Theorem 13 requires of every node that is split (equation 207).

    The theorem also requires that trees × levels ≤ ln n. And at this efficiency, a share failure / (failure + n_splits)
    of the candidates must have the edge; `calibration_constant` takes `failure` and `n_splits`. Like Theorem 10, the
    theorem assumes that a split lowers the potential in proportion to the leaf's weight.

    Parameters
    ----------
    n : float
        Number of rows, at least 3.
    epsilon : float
        Budget, above 0.
    constant : float
        Result of `calibration_constant`.

    >>> round(efficiency_needed(1372, 1.0, calibration_constant()))
    2453
    """
    if not n >= 3:
        raise ValueError(f"n={n!r} is not a number of rows from 3")
    check_above("epsilon", epsilon, 0, math.inf)
    return constant * math.log(n) / (epsilon * math.sqrt(n))


def rows_for_efficiency(epsilon: float, constant: float, efficiency: float = 2.0) -> float:
    """Return the least number of rows for which `efficiency_needed` is at most `efficiency`.

    No node has an efficiency above 2.

    >>> f"{rows_for_efficiency(1.0, calibration_constant()):.1e}"
    '2.2e+10'
    """
    check_above("epsilon", epsilon, 0, math.inf)
    check_above("efficiency", efficiency, 0, 2)
    half = efficiency * epsilon / constant / 2
    if half >= 1 / math.e:  # ln n / √n is at most 2 / e
        return 3.0
    return (float(lambertw(-half, -1).real) / half) ** 2
