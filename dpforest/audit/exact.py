"""Exact audit: the largest privacy loss and δ(ε) of a mechanism, by enumeration of all small neighboring inputs.

The law of a mechanism is a function that maps an input to the logarithms of the probabilities of all outputs. An input
is the class counts of a leaf. The function returns logarithms, because the smallest probabilities determine the loss,
but would underflow in floating point.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import log_ndtr

from dpforest.privacy import laws
from dpforest.privacy.laws import NOISY_COUNTS
from dpforest.privacy.ledger import rows_changed
from dpforest.privacy.noisy_counts import noisy_argmax_pmf

LogPmf = Callable[[np.ndarray], np.ndarray]  # counts (n_leaves, n_classes) -> log-probabilities (n_leaves, n_outputs)
_MOST_CHANGES = (
    300  # under replace-one, the largest number of changes of one leaf that `delta_curve` combines into pairs
)
_ROUNDING = 1e-9  # relative tolerance for errors of floats


@dataclass(frozen=True, eq=False)
class Change:
    """The class counts that one row changes, and the probabilities of outputs before and after the change.

    Parameters
    ----------
    before, after : int array (n_leaves, n_classes)
        Counts of one leaf. There are two leaves if one row replaces another row that lies in a different leaf.
    log_before, log_after : float array (n_leaves, n_outputs)
        Logarithms of the probabilities of each leaf's outputs.
    """

    before: np.ndarray
    after: np.ndarray
    log_before: np.ndarray
    log_after: np.ndarray

    @property
    def outputs(self) -> tuple[int, ...]:
        """Return, for each leaf, the output whose probabilities before and after the change yield `loss`."""
        ratio, sign = self._ratio(), self._sign()
        return tuple(int(i) for i in (sign * ratio).argmax(axis=1))

    @property
    def loss(self) -> float:
        """Return the largest |ln P(outputs | before) - ln P(outputs | after)|."""
        ratio = self._ratio()
        return float(max(ratio.max(axis=1).sum(), (-ratio).max(axis=1).sum()))

    def _ratio(self) -> np.ndarray:
        return _ratios(self.log_before, self.log_after)

    def _sign(self) -> int:
        ratio = self._ratio()
        return 1 if ratio.max(axis=1).sum() >= (-ratio).max(axis=1).sum() else -1


def leaf_log_pmf(mechanism: str, rate: float, *, negative: str = "clamp") -> LogPmf:
    """Return the law of a leaf's label under a mechanism of `dpforest.privacy.laws` at this rate.

    For noisy counts, `negative` is the rule of `noisy_argmax_pmf` for negative counts. Other mechanisms ignore it.
    """
    if mechanism == NOISY_COUNTS:
        return lambda counts: np.log(noisy_argmax_pmf(counts, 1 / rate, negative))
    return partial(laws.log_pmf, mechanism, rate=rate)


def neighboring_leaves(
    n_classes: int, most: int, *, moved: bool = False, symmetric: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of leaves that differ in one row, sorted by the number of rows before the change.

    Parameters
    ----------
    n_classes : int
        Number of counts in a leaf.
    most : int
        Largest count in a leaf before the change.
    moved : bool
        True: the row changes its class within the leaf. False: the row is added (or removed, in the other direction).
    symmetric : bool
        True: of several leaves that differ only in the order of their classes, the function includes one. One leaf is
        enough if the law treats all classes alike.

    Returns
    -------
    before, after : int array (n_pairs, n_classes)
        Counts of each leaf before and after the change.

    Examples
    --------
    >>> before, after = neighboring_leaves(2, 1, symmetric=True)
    >>> before.tolist(), after.tolist()
    ([[0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [1, 1]], [[1, 0], [0, 1], [2, 0], [1, 1], [2, 1], [1, 2]])
    """
    values = range(most, -1, -1)
    combinations = itertools.combinations_with_replacement if symmetric else _product
    leaves = np.array(list(combinations(values, n_classes)))
    steps = np.eye(n_classes, dtype=int)
    if moved:
        steps = np.array([a - b for a in steps for b in steps if (a != b).any()])
    before = np.repeat(leaves, len(steps), axis=0)
    after = before + np.tile(steps, (len(leaves), 1))
    possible = after.min(axis=1) >= 0
    before, after = before[possible], after[possible]
    order = np.argsort(before.sum(axis=1), kind="stable")
    return before[order], after[order]


def _product(values: range, n: int):
    return itertools.product(values, repeat=n)


def worst_change(
    pmf: LogPmf, n_classes: int, *, most: int, neighbors: str = "add-remove", symmetric: bool = False
) -> Change:
    """Return the neighboring leaves with the largest loss under a law.

    Parameters
    ----------
    pmf : function from int array (n_leaves, n_classes) to float array (n_leaves, n_outputs)
        The law: logarithms of the probabilities of all outputs of each leaf.
    n_classes : int
        Number of classes. Up to 10 classes are fast if `symmetric` is True.
    most : int
        Largest count in a leaf before the change.
    neighbors : {"add-remove", "replace-one"}
        Under replace-one, a row changes its class in a leaf, or leaves one leaf and enters another.
    symmetric : bool
        Whether the law treats all classes alike; see `neighboring_leaves`.

    Returns
    -------
    Change
        The neighboring leaves with the largest loss: one leaf, or two leaves if a row moves between leaves.

    Examples
    --------
    >>> change = worst_change(leaf_log_pmf("smooth-sensitivity", 1.0), 2, most=3)
    >>> change.before.tolist(), change.after.tolist(), round(change.loss, 1)
    ([[3, 0]], [[4, 0]], 17.3)
    """
    changes = list(_changes(pmf, n_classes, most, neighbors, symmetric, at_once=True))
    return max(changes, key=lambda change: change.loss)


def first_violation(
    pmf: LogPmf, epsilon: float, n_classes: int, *, most: int, neighbors: str = "add-remove", symmetric: bool = False
) -> Change | None:
    """Return the neighboring leaves with the fewest rows whose loss is above ε; None if no loss is above ε.

    Parameters are as for `worst_change`.

    Examples
    --------
    >>> first_violation(leaf_log_pmf("smooth-sensitivity", 1.0), 1.0, 2, most=3).before.tolist()
    [[1, 0]]
    >>> first_violation(leaf_log_pmf("permute-and-flip", 1.0), 1.0, 2, most=3) is None
    True
    """
    changes = _changes(pmf, n_classes, most, neighbors, symmetric, at_once=False)
    violations = (change for change in changes if change.loss > epsilon * (1 + _ROUNDING))
    return min(violations, key=lambda change: change.before.sum(), default=None)


def _changes(pmf: LogPmf, n_classes: int, most: int, neighbors: str, symmetric: bool, *, at_once: bool):
    """Yield candidates for the change with the largest loss.

    If `at_once` is True, one of the candidates has the largest loss of all changes. If `at_once` is False, the function
    searches separately among leaves with each number of rows, and yields the candidates of every search.
    """
    before, after = neighboring_leaves(n_classes, most, symmetric=symmetric)
    p, q = pmf(before), pmf(after)
    ratio = _ratios(p, q)
    rows = np.zeros(len(before), int) if at_once else before.sum(axis=1)
    falls = _best_of_each(rows, ratio.max(axis=1))  # an added row makes an output less likely
    rises = _best_of_each(rows, (-ratio).max(axis=1))  # an added row makes an output more likely
    if rows_changed(neighbors) == 1:
        for i in {*falls, *rises}:
            yield Change(before[[i]], after[[i]], p[[i]], q[[i]])
        return
    for i in falls:
        for j in rises:  # a row leaves the leaf of pair j, and enters the leaf of pair i
            yield Change(
                np.array([before[i], after[j]]),
                np.array([after[i], before[j]]),
                np.array([p[i], q[j]]),
                np.array([q[i], p[j]]),
            )
    before, after = neighboring_leaves(n_classes, most, moved=True, symmetric=symmetric)
    p, q = pmf(before), pmf(after)
    rows = np.zeros(len(before), int) if at_once else before.sum(axis=1)
    for i in _best_of_each(rows, np.abs(_ratios(p, q)).max(axis=1)):
        yield Change(before[[i]], after[[i]], p[[i]], q[[i]])


def _best_of_each(group: np.ndarray, value: np.ndarray) -> list[int]:
    """Return the index of the largest value of each group."""
    order = np.lexsort((-np.arange(len(value)), value, group))
    last = np.flatnonzero(np.diff(group[order], append=group.max() + 1))
    return [int(i) for i in order[last]]


def delta_curve(
    pmf: LogPmf,
    epsilons: np.ndarray,
    n_classes: int,
    *,
    most: int,
    neighbors: str = "add-remove",
    symmetric: bool = False,
) -> np.ndarray:
    """Return for each ε the least δ for which a law is (ε, δ)-private on the enumerated leaves.

    `epsilons` is an array (n,) of nonnegative numbers. The other parameters are as for `worst_change`.

    Returns
    -------
    float array (n,)
        Largest hockey-stick divergence Σ max(0, P - exp(ε) Q), where P and Q are the probabilities of an output on two
        neighboring inputs. Under replace-one, a row may leave one leaf while another row enters a second leaf, so the
        function combines changes of one leaf into pairs. If there are more than 300 changes, the function combines only
        the 300 changes with the largest loss, and the result is a lower bound.
    """
    epsilons = np.atleast_1d(np.asarray(epsilons, float))
    before, after = neighboring_leaves(n_classes, most, symmetric=symmetric)
    p, q = pmf(before), pmf(after)
    if rows_changed(neighbors) == 1:
        return np.maximum(*_delta_both(p, q, epsilons))
    before, after = neighboring_leaves(n_classes, most, moved=True, symmetric=symmetric)
    within = np.maximum(*_delta_both(pmf(before), pmf(after), epsilons))
    pairs = np.unique(np.concatenate([p, q], axis=1).round(12), axis=0)
    ratio = np.abs(_ratios(*np.split(pairs, 2, axis=1))).max(axis=1)
    p, q = np.split(pairs[np.argsort(-ratio)[:_MOST_CHANGES]], 2, axis=1)
    across = np.zeros(len(epsilons))
    for i in range(len(p)):  # joint outputs of two leaves
        first = (p[i, :, None] + q[:, None, :]).reshape(len(p), -1)
        second = (q[i, :, None] + p[:, None, :]).reshape(len(p), -1)
        across = np.maximum(across, np.maximum(*_delta_both(first, second, epsilons)))
    return np.maximum(within, across)


def loss_between(log_p: np.ndarray, log_q: np.ndarray) -> float:
    """Return the largest |ln P - ln Q| over all outputs; infinite if an output is possible under only one law."""
    return float(np.abs(_ratios(np.asarray(log_p, float), np.asarray(log_q, float))).max(initial=0.0))


def delta_between(log_p: np.ndarray, log_q: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """Return for each ε the least δ with P <= exp(ε) Q + δ and Q <= exp(ε) P + δ, float array (n_epsilons,).

    P and Q are the probabilities of any event under the two distributions with the log-probabilities `log_p`, `log_q`.
    """
    return np.maximum(*_delta_both(np.atleast_2d(log_p), np.atleast_2d(log_q), np.atleast_1d(epsilons)))


def most_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ for which μ-Gaussian differential privacy implies (ε, δ), by bisection in floating point.

    The computation is independent of `dpforest.privacy.loss`. It uses Corollary 2.13 of Dong, Roth and Su 2022,
    "Gaussian differential privacy": δ = Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2).

    >>> round(most_mu(1.0, 1e-6), 5)
    0.2367
    """
    low, high = 0.0, 100.0
    for _ in range(200):
        mu = (low + high) / 2
        a, b = log_ndtr(-epsilon / mu + mu / 2), epsilon + log_ndtr(-epsilon / mu - mu / 2)
        low, high = (mu, high) if math.exp(a) * -math.expm1(b - a) <= delta else (low, mu)
    return low


def _ratios(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where(log_p == log_q, 0.0, log_p - log_q)  # 0 for equal probabilities, even if both are 0


def _delta_both(log_p: np.ndarray, log_q: np.ndarray, epsilons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p, q = np.exp(log_p), np.exp(log_q)
    return _delta(p, q, epsilons), _delta(q, p, epsilons)


def _delta(p: np.ndarray, q: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    each = [np.maximum(0.0, p - np.exp(min(e, 700.0)) * q).sum(axis=1).max(initial=0.0) for e in epsilons]
    return np.array(each)
