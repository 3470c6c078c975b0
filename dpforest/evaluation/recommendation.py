"""A public rule that recommends a forest from the number of persons, the classes, ε and δ, and never from the rows.

The rule compares one number, ε × persons / classes, with two limits. The smaller this number is, the larger is the
noise in relation to the counts of a leaf. The limits were fitted on twelve public tables and tried on thirty others
(docs/ACCURACY.md).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dpforest.checks import check_count, plain
from dpforest.limits import MAX_BOUND, MAX_SUMMED_ROWS
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier
from dpforest.privacy.ledger import unit_noun
from dpforest.tables.domain import Domain

# Limits of ε × persons / classes. Between them, one greedy tree was the most accurate forest at δ = 0.
FEW: Final = 12
MANY: Final = 2_000


class Recommendation(NamedTuple):
    """Estimator that `recommend` returns, with the reason for it.

    Parameters
    ----------
    estimator : ForestClassifier
        Recommended estimator with domain, ε and δ; it is not fitted.
    reason : str
        Sentence that says why the rule recommends this forest.
    """

    estimator: ForestClassifier
    reason: str


def recommend(domain: Domain, epsilon: float, delta: float = 0, *, size: int) -> Recommendation:
    """Recommend the estimator that was the most accurate one on public tables of about this size.

    The rule reads only public inputs, so it costs no ε. `size` must be public too: a number that everybody may know, or
    a rounded number that the person responsible for the table has approved for publication.

    Parameters
    ----------
    domain : Domain
        Public domain of the table. The rule reads its number of classes.
    epsilon : float
        Privacy loss of the release, above 0.
    delta : float, default 0
        Largest allowed δ, from 0 to below 1. The recommended estimator may have δ = 0 even if a larger δ is allowed.
    size : int
        Approximate number of rows that the estimator will be fitted on; with `Domain.unit`, number of persons.

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
    The rule was evaluated at δ = 0 on the thirty tables that had no part in fitting the limits. At each ε from 0.03 to
    10, its mean accuracy over these tables is at least that of the best single forest. AUC was not measured.

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> domain = load_dataset("adult").domain
    >>> estimator, reason = recommend(domain, 0.1, size=30_000)
    >>> type(estimator).__name__, reason
    ('FriedmanSchusterClassifier', 'ε × rows / classes is about 1,500. Where this number is between 12 and 2,000, \
one greedy tree was on average the most accurate forest on public tables.')
    >>> type(recommend(domain, 1, size=30_000).estimator).__name__
    'RandomTreeBoosterClassifier'
    """
    check_count("size", size, 1, MAX_SUMMED_ROWS)
    if not domain.classes:
        raise ValueError("the domain has no classes; list them in Domain(classes=...)")
    if epsilon is None:
        raise ValueError("epsilon is None, a fit without privacy; give a number above 0")
    RandomTreeBoosterClassifier(epsilon=epsilon, delta=delta, domain=domain).check(domain, size)
    if size > MAX_BOUND:
        estimator, reason = _recommend_for_large_table(delta)
    else:
        estimator, reason = _recommend_by_limits(
            plain(epsilon) * size / len(domain.classes), delta, unit_noun(domain.unit)
        )
    estimator.set_params(domain=domain, epsilon=epsilon).check(domain, size)
    return Recommendation(estimator, reason)


def _recommend_for_large_table(delta: float) -> tuple[ForestClassifier, str]:
    """Return the estimator and the reason for a table of more than `MAX_BOUND` rows."""
    return RandomTreeBoosterClassifier(delta=delta), (
        f"The table has more than {MAX_BOUND:,} rows, and one greedy tree accepts no more."
    )


def _recommend_by_limits(amount: float, delta: float, noun: str) -> tuple[ForestClassifier, str]:
    """Return the estimator and the reason, from ε × rows (or persons) / classes and the largest allowed δ."""
    start = f"ε × {noun}s / classes is about {float(f'{amount:.2g}'):,.10g}"
    booster = "the random-tree booster"
    if amount < FEW:
        return RandomTreeBoosterClassifier(delta=0), (
            f"{start}. Where this number is below {FEW}, every forest often guesses, and {booster} with δ = 0 was the "
            "most accurate one on average over public tables."
        )
    if delta > 0:
        return RandomTreeBoosterClassifier(delta=delta), (
            f"{start}. Where it is {FEW} or more, {booster} with δ above 0 was on average the most accurate forest on "
            "public tables."
        )
    if amount < MANY:
        return FriedmanSchusterClassifier(), (
            f"{start}. Where this number is between {FEW} and {MANY:,}, one greedy tree was on average the most "
            "accurate forest on public tables."
        )
    return RandomTreeBoosterClassifier(delta=0), (
        f"{start}. Where it is {MANY:,} or more, {booster} was on average the most accurate forest with δ = 0 on "
        "public tables."
    )
