"""Compare the flip rates and losses of all rules for the label of a leaf, as functions of the leaf's lead.

The lead of a leaf is the number of rows by which its most frequent class is ahead of each other class. The flip rate of
a rule is the probability that the rule releases another label than the most frequent class.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.audit.exact import leaf_log_pmf, worst_change
from dpforest.audit.leaf_attack import rate_of
from dpforest.privacy.laws import CERTIFIED, NOISY_COUNTS, PUBLISHED, log_pmf
from dpforest.privacy.mechanisms import flip_by_gap, flip_floor, privacy_loss
from dpforest.privacy.true_loss import delta_lower_bound, true_loss

RULES: Final = (*CERTIFIED, NOISY_COUNTS, *PUBLISHED)
_POINTS: Final = 240  # number of evenly spaced points of a curve


@dataclass(frozen=True, eq=False)
class LeafCurves:
    """Flip rates and losses of all rules in a leaf, as functions of the lead of its most frequent class.

    Parameters
    ----------
    epsilon : float
        Claimed ε of each rule.
    n_classes : int
        Number of classes.
    lead : int array of shape (n_leads,)
        Lead of the top class over all other classes, in rows.
    flip : dict of float array of shape (n_leads,)
        For each rule, the probability that another label is released; at lead 0, the value (K - 1)/K of an empty leaf
        with K classes.
    floor : float array of shape (n_leads,)
        Least flip rate of any rule that is ε-private under add-remove and treats all classes alike.
    loss : dict of float array of shape (n_leads,)
        For each rule, the privacy loss of one added (or replaced) row at this lead.
    crossing : int
        First lead at which the flip rate of the published rule "smooth-sensitivity" is below `floor`.
    first_over : dict of int or None
        For each rule, the first lead at which the loss exceeds ε; None if there is no such lead.
    """

    epsilon: float
    n_classes: int
    lead: np.ndarray
    flip: dict[str, np.ndarray]
    floor: np.ndarray
    loss: dict[str, np.ndarray]
    crossing: int
    first_over: dict[str, int | None]


@dataclass(frozen=True)
class Verdict:
    """Claimed ε of a rule and its true loss.

    Parameters
    ----------
    epsilon : float
        Claimed ε.
    loss : float
        Least ε for which the rule is ε-private; infinite if there is no such ε.
    delta : float
        Lower bound on δ: the rule is not (ε, δ)-private for any smaller δ.
    """

    epsilon: float
    loss: float
    delta: float

    @property
    def holds(self) -> bool:
        return self.loss <= self.epsilon * (1 + 1e-9)


def verdict(rule: str, epsilon: float, n_classes: int, neighbors: str) -> Verdict:
    """Return the claimed ε and the true loss of a rule in a single leaf.

    Examples
    --------
    >>> verdict("smooth-sensitivity", 1.0, 2, "add-remove").loss
    inf
    >>> round(verdict("global-01", 1.0, 2, "add-remove").loss, 3)
    0.281
    """
    rate = float(rate_of(rule, epsilon, neighbors))
    if rule == "global-01":  # this rule depends only on the top classes of a leaf, so small leaves cover all cases
        pmf = leaf_log_pmf(rule, rate)
        return Verdict(epsilon, worst_change(pmf, n_classes, most=2, neighbors=neighbors, symmetric=True).loss, 0.0)
    loss = float(true_loss(rule, rate, n_classes=n_classes, neighbors=neighbors))
    if rule not in PUBLISHED:
        return Verdict(epsilon, loss, 0.0)
    return Verdict(epsilon, loss, delta_lower_bound(rule, epsilon, n_classes=n_classes, neighbors=neighbors))


def crossing(epsilon: float, n_classes: int = 2) -> int:
    """Return the first lead at which the published rule "smooth-sensitivity" flips less often than ε-privacy allows.

    Examples
    --------
    >>> [crossing(e) for e in (0.01, 0.1, 1, 10)]
    [739, 47, 2, 1]
    """
    lead = np.arange(1, math.ceil(max(math.log(1600 / epsilon), 1) / epsilon) + 3)
    leaf = lead[:, None] * np.eye(1, n_classes, dtype=int)
    flip = log_pmf("smooth-sensitivity", leaf, epsilon)[:, -1] + math.log(n_classes - 1)
    floor = math.log((n_classes - 1) / n_classes) - epsilon * lead
    return int(lead[np.argmax(flip < floor)])


def leaf_curves(epsilon: float, n_classes: int, neighbors: str) -> LeafCurves:
    """Return flip rates and losses of all rules, for leads from 0 to well above `crossing`."""
    crossing_lead = crossing(epsilon, n_classes)
    leads = np.arange(max(math.ceil(1.35 * crossing_lead), math.ceil(8 / epsilon), 4) + 1)
    rates = {rule: float(rate_of(rule, epsilon, neighbors)) for rule in RULES}
    losses = {rule: privacy_loss(rule, leads, n_classes, rate, neighbors) for rule, rate in rates.items()}
    above = {rule: np.flatnonzero(loss > epsilon * (1 + 1e-9)) for rule, loss in losses.items()}
    first_over = {rule: int(places[0]) if len(places) else None for rule, places in above.items()}
    peaks = [int(loss.argmax()) for loss in losses.values()]
    evenly = np.linspace(0, leads[-1], min(len(leads), _POINTS)).round().astype(int)
    lead = np.unique(
        [*evenly, crossing_lead - 1, crossing_lead, *peaks, *(f for f in first_over.values() if f is not None)]
    )
    flip = {rule: flip_by_gap(rule, lead, n_classes, rate) for rule, rate in rates.items()}
    for rate in flip.values():
        rate[0] = (n_classes - 1) / n_classes
    return LeafCurves(
        epsilon,
        n_classes,
        lead,
        flip,
        flip_floor(lead, epsilon, n_classes),
        {rule: loss[lead] for rule, loss in losses.items()},
        crossing_lead,
        first_over,
    )
