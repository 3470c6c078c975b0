"""The privacy loss of a leaf mechanism, computed from its law.

The loss of a published mechanism is a maximum over all pairs of neighboring leaves. The law of a leaf depends only on
the top labels and their lead, so each leaf is in one of these states: one top label with lead j >= 1, or T tied top
labels. A *change* is a pair of states that differ by one row, which is added, removed, or moved to another class within
the leaf. Labels with the same probability before and the same probability after have the same *role*. A `Change` lists
for each role the number of its labels, and the log-probability of such a label before and after. The loss and the δ of
a leaf are maxima over all changes (docs/PAPERS.md).
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from dpforest.privacy.laws import CERTIFIED, NOISY_COUNTS, PUBLISHED, published_exponent
from dpforest.privacy.ledger import ADD_REMOVE, rows_changed

Change = list[tuple[int, np.ndarray, np.ndarray]]  # (number of labels in this role, log P before, log P after)

_MOST_LEADS: Final = 200_000  # if there are more leads than this number, the code tries only a grid of leads
CONTINUOUS: Final = "continuous-laplace"


def smooth_sensitivity_published(gap: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the published smooth sensitivity exp(-jε) at the lead j = `gap`.

    The formula is theorem 1 of Fletcher & Islam 2017 (docs/PAPERS.md).
    """
    return np.exp(-epsilon * np.asarray(gap, float))


def smooth_sensitivity(gap: np.ndarray, epsilon: float, neighbors: str = ADD_REMOVE) -> np.ndarray:
    """Return the correct smooth sensitivity at the lead j = `gap` (docs/PAPERS.md).

    The result is exp(-max(j-1, 0) ε) under add-remove, and exp(-max(⌈j/2⌉-1, 0) ε) under replace-one.
    """
    j = np.asarray(gap, float)
    steps = j if rows_changed(neighbors) == 1 else np.ceil(j / 2)
    return np.exp(-epsilon * np.maximum(steps - 1, 0))


def true_loss(
    mechanism: str,
    rate: float | Fraction,
    *,
    n_classes: int = 2,
    neighbors: str = ADD_REMOVE,
    partition: str = "independent",
    n_trees: int = 1,
    one_leaf: bool = False,
) -> float | Fraction:
    """Return the privacy loss that a forest would have if its noise were drawn in ideal real numbers.

    Parameters
    ----------
    mechanism : str
        A published mechanism, continuous Laplace noise, or a certified mechanism.
    rate : float or Fraction
        κ of a certified mechanism; the ε of each tree for a published mechanism.
    n_classes : int
        Number of classes. It affects only the mechanism "smooth-sensitivity-clamped".
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation: one row is added or removed, or one row is replaced.
    partition : {"independent", "shared", "blocks"}
        How rows are assigned to trees. "independent": each row is drawn into one tree. "shared": each row is in every
        tree. "blocks": the rows are divided into equal blocks, one for each tree.
    n_trees : int
        Number of trees. It matters only for the partitions "shared" and "blocks".
    one_leaf : bool
        Whether to ignore replacements in which a row leaves one leaf and enters another leaf, which cost twice as much
        as an added row. It matters only for the mechanism "smooth-sensitivity-clamped".

    Returns
    -------
    float or Fraction
        Infinity for "smooth-sensitivity". For "smooth-sensitivity-clamped", the largest loss over all leaves; the lead
        needs to rise only until the exponent reaches its cap of 50. For "blocks" under add-remove, the result is an
        upper bound, which is attained if all leaves are equal. The result is an exact Fraction if `rate` is a Fraction
        and the loss is a multiple of `rate`.

    Raises
    ------
    ValueError
        If the mechanism is unknown.

    Examples
    --------
    >>> round(true_loss("smooth-sensitivity-clamped", 1.0), 1)
    22.7
    """
    added: float | Fraction
    if mechanism == "smooth-sensitivity":
        return math.inf
    if mechanism in (*CERTIFIED, NOISY_COUNTS, CONTINUOUS):
        added, replaced = rate, 2 * rate
    elif mechanism == "smooth-sensitivity-clamped":
        added = max(_largest_loss(c) for c in _changes(float(rate), n_classes, clamped=True, replaced=False))
        replaced = max(_largest_loss(c) for c in _changes(float(rate), n_classes, clamped=True, replaced=True))
        if not one_leaf:
            replaced = max(replaced, 2 * added)
    else:
        raise ValueError(f"No true loss is known for {mechanism!r}.")
    if partition == "shared":
        added, replaced = added * n_trees, replaced * n_trees
    if rows_changed(neighbors) == 2:
        return replaced
    # With blocks, an added row changes every block, but a replaced row changes only one block.
    if partition == "blocks" and n_trees > 1:
        return max(n_trees * added, replaced)
    return added


def delta_lower_bound(
    mechanism: str,
    epsilon: float,
    *,
    target: float | None = None,
    n_classes: int = 2,
    neighbors: str = ADD_REMOVE,
    contenders: int | None = None,
) -> float:
    """Return a lower bound on every δ for which one leaf of a published mechanism is (target, δ)-private.

    Parameters
    ----------
    mechanism : {"smooth-sensitivity", "smooth-sensitivity-clamped"}
        Published mechanism, without or with the cap of the exponent.
    epsilon : float
        Nominal ε.
    target : float, optional
        The ε of the claim; by default the nominal ε.
    n_classes : int
        Number of classes.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation. Under replace-one, the row changes its class within the leaf.
    contenders : int, optional
        Largest number of tied labels, by default `n_classes`. The function ignores leaves with more tied labels.

    Returns
    -------
    float
        The largest hockey-stick divergence Σ max(0, P - exp(target) Q) between two neighboring states of a leaf.

    Raises
    ------
    ValueError
        If the mechanism is not published.
    """
    if mechanism not in PUBLISHED:
        raise ValueError(f"{mechanism!r} is not a published mechanism; its delta is 0.")
    target = epsilon if target is None else target
    clamped = mechanism == "smooth-sensitivity-clamped"
    replaced = rows_changed(neighbors) == 2
    changes = _changes(epsilon, n_classes, clamped=clamped, replaced=replaced, contenders=contenders)
    return max(_hockey_stick(change, target) for change in changes)


def first_violation(epsilon: float, n_classes: int = 2) -> int:
    """Return the least lead at which one more row of the top label costs more than ε.

    The mechanism is "smooth-sensitivity", without a cap of the exponent. A lead of 0 means two tied labels; leaves
    with more tied labels are ignored.
    """
    changes = _changes(epsilon, n_classes, clamped=False, replaced=False, contenders=2)
    lead, tie = next(changes), next(changes)
    if _largest_loss(tie) > epsilon:
        return 0
    return int(np.argmax(np.max([np.abs(p - q) for _, p, q in lead], axis=0) > epsilon)) + 1


def _changes(
    epsilon: float, n_classes: int, *, clamped: bool, replaced: bool, contenders: int | None = None
) -> Iterator[Change]:
    """Yield all changes of one leaf: a row added or removed or, if `replaced`, a row moved from one class to another.

    The arrays of the first change have one entry for each lead j = 1, 2, ... If ε is tiny, there are too many leads.
    The arrays then hold only a grid of leads, and all leads near the one at which the exponent a_j reaches its cap.
    With these leads, δ is only a lower bound, but the loss is exact. This is because a_j is convex in j up to the cap,
    and so is -ln P of a label that is not on top. So -ln P grows most at the last step before the cap.
    """
    k = n_classes
    last = math.ceil(max(0.0, math.log(1600 / epsilon)) / epsilon) + 3  # exp(-a) is 0 in floats from a = 745
    leads = np.arange(1, last + 1)
    if last > _MOST_LEADS:
        at_cap = math.ceil(math.log(100 / epsilon) / epsilon)
        leads = np.unique(np.r_[np.linspace(1, last, _MOST_LEADS).astype(np.int64), at_cap - 4 : at_cap + 4])

    def single(j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log P of the top label, and of any other label, in leaves with one top label and lead j."""
        a = np.minimum(published_exponent(j, epsilon, clamped=clamped), 1e300)  # finite, to compute differences
        best = -np.log1p((k - 1) * np.exp(-a))
        return best, best - a

    def tied(t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return log P of a top label, and of any other label, in a leaf with t tied top labels."""
        a = published_exponent(np.zeros(1), epsilon, clamped=clamped)
        best = -np.log(t + (k - t) * np.exp(-a))
        return best, best - a

    top, other = single(leads)
    top_1, other_1 = single(np.ones(1))
    most = k if contenders is None else min(k, contenders)
    outsiders = k >= 3  # a row that moves between the top class and a third class changes the lead as an added row does
    if not replaced or outsiders:
        top_next, other_next = single(leads + 1)
        yield [(1, top, top_next), (k - 1, other, other_next)]
        for t in range(2, most + 1):
            best, lower = tied(t)
            yield [(1, best, top_1), (t - 1, best, other_1), (k - t, lower, other_1)]
            if t < most:
                best_next, lower_next = tied(t + 1)
                yield [(t, best, best_next), (1, lower, best_next), (k - t - 1, lower, lower_next)]
    if replaced:
        top_next, other_next = single(leads + 2)
        yield [(1, top, top_next), (k - 1, other, other_next)]
        yield [(1, top_1, other_1), (1, other_1, top_1), (k - 2, other_1, other_1)]
        best, lower = tied(2)
        top_2, other_2 = single(np.full(1, 2))
        yield [(1, best, top_2), (1, best, other_2), (k - 2, lower, other_2)]
        for t in range(2, min(most, k - 1) + 1):
            best, lower = tied(t)
            yield [(1, best, lower), (1, lower, best)]


def _largest_loss(change: Change) -> float:
    """Return the largest absolute log-ratio of a label's probabilities before and after the change."""
    return max(float(np.abs(p - q).max()) for labels, p, q in change if labels > 0)


def _hockey_stick(change: Change, target: float) -> float:
    """Return the largest δ at ε = `target` over all states in the change, for either order of the two tables."""

    def one_way(swap: bool) -> np.ndarray:
        total = np.zeros(1)
        for labels, p, q in change:
            p, q = (q, p) if swap else (p, q)
            total = total + labels * np.maximum(0.0, np.exp(p) - np.exp(np.minimum(target + q, 700.0)))
        return total

    return float(max(one_way(False).max(), one_way(True).max()))
