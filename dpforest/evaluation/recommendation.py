"""A public rule that recommends a forest from the number of persons, the classes, ε and δ, and never from the rows.

The rule compares one number, ε × persons / classes, with two limits. The smaller this number is, the larger is the
noise beside the counts of a leaf. The limits were fitted on twelve public tables and tried on thirty others
(docs/ACCURACY.md).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dpforest.checks import check_count, plain
from dpforest.limits import MAX_BOUND
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier
from dpforest.tables.domain import Domain

# Limits of ε times the persons for each class. Between them, one greedy tree was the most accurate forest at δ = 0.
FEW: Final = 12
MANY: Final = 2_000


class Recommendation(NamedTuple):
    """What `recommend` returns.

    Parameters
    ----------
    estimator : ForestClassifier
        Not fitted. Its domain, ε and δ are set.
    reason : str
        Sentence that says why the rule recommends this forest.
    """

    estimator: ForestClassifier
    reason: str


def recommend(domain: Domain, epsilon: float, delta: float = 0, *, size: int) -> Recommendation:
    """Recommend the estimator that was the most accurate one on public tables of about this size.

    The rule reads public inputs alone, so it costs no ε. `size` has to be public too: a number that everybody may know,
    or one that was rounded and approved by somebody who is responsible for the table.

    Parameters
    ----------
    domain : Domain
        Public domain of the table. The rule reads its number of classes.
    epsilon : float
        Privacy loss of the release, above 0.
    delta : float, default 0
        Largest allowed δ, from 0 to below 1. An estimator with δ = 0 may be recommended even if δ is allowed.
    size : int
        Approximate number of rows that the estimator will be fitted on; with `Domain.unit`, of persons.

    Returns
    -------
    Recommendation
        The estimator, with the domain, ε and δ set and all other parameters at their defaults, and the reason.

    Raises
    ------
    ValueError
        If `epsilon`, `delta` or `size` is out of range, or the domain has no classes.

    Notes
    -----
    On the thirty tables that had no part in the fit of the limits, the rule is at δ = 0 at least as accurate as the
    best single forest at each ε from 0.03 to 10 (mean over the tables). The rule was measured on accuracy, not on AUC.

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> domain = load_dataset("adult").domain
    >>> estimator, reason = recommend(domain, 0.1, size=30_000)
    >>> type(estimator).__name__, reason
    ('FriedmanSchusterClassifier', 'ε × persons / classes is about 1,500, and between 12 and 2,000 one greedy tree was \
the most accurate forest on public tables.')
    >>> type(recommend(domain, 1, size=30_000).estimator).__name__
    'RandomTreeBoosterClassifier'
    """
    check_count("size", size, 1, MAX_BOUND)
    if not domain.classes:
        raise ValueError("the domain has no classes; list them in Domain(classes=...)")
    if epsilon is None:
        raise ValueError("epsilon is None, a fit without privacy; give a number above 0")
    RandomTreeBoosterClassifier(epsilon=epsilon, delta=delta, domain=domain).check(domain, size)
    estimator, reason = _rule(plain(epsilon) * size / len(domain.classes), delta)
    estimator.set_params(domain=domain, epsilon=epsilon).check(domain, size)
    return Recommendation(estimator, reason)


def _rule(amount: float, delta: float) -> tuple[ForestClassifier, str]:
    """Return the estimator for an amount of ε × persons / classes and the largest allowed δ, and the reason."""
    is_about = f"ε × persons / classes is about {float(f'{amount:.2g}'):,.10g}"
    booster = "the random-tree booster"
    if amount < FEW:
        return RandomTreeBoosterClassifier(delta=0), (
            f"{is_about}. Below {FEW} every forest often guesses, and {booster} with δ = 0 was the most accurate one "
            "on public tables."
        )
    if delta > 0:
        return RandomTreeBoosterClassifier(delta=delta), (
            f"{is_about}, and from {FEW} on {booster} with δ above 0 was the most accurate forest on public tables."
        )
    if amount < MANY:
        return FriedmanSchusterClassifier(), (
            f"{is_about}, and between {FEW} and {MANY:,} one greedy tree was the most accurate forest on public tables."
        )
    return RandomTreeBoosterClassifier(delta=0), (
        f"{is_about}, and from {MANY:,} on {booster} was the most accurate forest with δ = 0 on public tables."
    )
