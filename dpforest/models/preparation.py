"""The questions of a certified fit before trees grow: the number of rows, and where rows lie on the public scale.

The public scale of a numeric attribute is the grid of its codes. The answer to the second question, a noisy
distribution of the rows on this grid, is called the scale.

Both questions read the whole table, so their costs and the cost of the trees add up. The noisy number of rows decides
whether the fit asks for the scale, and which share of the budget it spends on the answer. This decision is public
post-processing. Whatever the decision, the ledger is charged for exactly the questions that follow, and the charges sum
to the budget.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dpforest.privacy.ledger import SCALE_OF_ATTRIBUTES, Ledger, QueryBudget, rows_changed, unit_noun
from dpforest.privacy.loss import GAUSSIAN, NOISE, PrivacyLoss
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.rationals import LIMIT, sqrt_up
from dpforest.privacy.release import noisy_table
from dpforest.tables.domain import Domain
from dpforest.trees.released_scale import LEVELS, ReleasedScale, nested_counts, scale_from

SIZE_SHARE: Final = Fraction(1, 50)  # share of ε for the number of rows
LEAST_SIZE: Final = 50  # smallest number that `release_size` returns
_SIZE_KEY, _SCALE_KEY = 1, 2  # keys of the draws in a demonstration (a fit with a seed)


def most_noise(count_unit: int) -> int:
    """Return the largest scale of noise that the samplers draw, in rows or, with a unit of privacy, in persons."""
    return 2**31 if count_unit == 1 else LIMIT // count_unit


def size_sentence(size: int, unit: str | None) -> str:
    """Return the certificate's sentence about a number of rows or persons that the curator states as public."""
    return (
        f"That the table has about {size:,} {unit_noun(unit)}s is public knowledge: the curator states it, and the fit "
        "did not count them."
    )


@dataclass(frozen=True)
class ScaleRule:
    """Rule that decides whether a fit asks for the scale, and at what cost.

    The rule uses the signal v: the number of rows times ε, divided by the number of numeric attributes.

    Parameters
    ----------
    least_signal : int
        Smallest v at which a fit asks for the scale.
    most_share : Fraction
        Largest share of ε that a fit spends on the scale.
    public_weight : Fraction
        Weight of the public scale in its mixture with the released scale.
    """

    least_signal: int
    most_share: Fraction
    public_weight: Fraction

    def share(self, n_rows: int, epsilon: Fraction, n_numeric: int) -> Fraction:
        """Return the share of ε that the fit spends on the scale; 0 if it does not ask for the scale."""
        signal = n_rows * epsilon / n_numeric if n_numeric else Fraction(0)
        return Fraction(0) if signal < self.least_signal else min(self.most_share, 150 / signal)


RANDOM_STRUCTURE: Final = ScaleRule(60, Fraction(3, 20), Fraction(0))
GREEDY: Final = ScaleRule(150, Fraction(7, 100), Fraction(3, 10))


@dataclass(frozen=True)
class Preparation:
    """Shares of the budget that a fit spends before trees grow, and the number of rows that its rules use.

    Parameters
    ----------
    n_rows : int
        Released or public number of rows; 0 if it is neither.
    size, scale : Fraction
        Shares of the budget for the number of rows and for the scale; 0 if the fit does not ask the question. The
        budget is ε or, for (ε, δ)-privacy, μ².
    public_weight : Fraction
        See `ScaleRule`.
    """

    n_rows: int = 0
    size: Fraction = Fraction(0)
    scale: Fraction = Fraction(0)
    public_weight: Fraction = Fraction(0)

    @property
    def remaining_share(self) -> Fraction:
        """Share of the budget for trees and leaves."""
        return 1 - self.size - self.scale


def charge_size(budget: Fraction | PrivacyLoss, ledger: Ledger, share: Fraction = SIZE_SHARE) -> QueryBudget:
    """Charge the question about the number of rows. `release_size` describes the parameters."""
    each = _loss_of(budget).part(share, rows_changed(ledger.neighbors))
    query_budget = ledger.charge(ledger.number_of_units, NOISE[each.kind], 1, each, 1, "sequential")
    assert query_budget is not None
    return query_budget


def charge_scale(
    n_numeric: int, share: Fraction, budget: Fraction | PrivacyLoss, ledger: Ledger
) -> tuple[QueryBudget, Fraction]:
    """Charge the histograms of all numeric attributes.

    Parameters
    ----------
    n_numeric : int
        Number of numeric attributes.
    share : Fraction
        Share of the budget that the histograms cost.
    budget, ledger
        As in `release_scale`.

    Returns
    -------
    query_budget : QueryBudget
        The right to ask for all histograms once.
    sensitivity : Fraction
        Largest change of the vector of all counts by one row, in L1 norm or, for a Gaussian budget, in L2 norm.
    """
    sensitivity = Fraction(LEVELS * n_numeric)
    each = _loss_of(budget).part(share, rows_changed(ledger.neighbors))
    if each.kind == GAUSSIAN:
        sensitivity = sqrt_up(sensitivity)
    query_budget = ledger.charge(
        f"{SCALE_OF_ATTRIBUTES} ({LEVELS} histograms of each of {n_numeric:,})",
        NOISE[each.kind],
        sensitivity,
        each,
        1,
        "sequential",
    )
    assert query_budget is not None
    return query_budget, sensitivity


def charge_preparation(domain: Domain, preparation: Preparation, ledger: Ledger) -> None:
    """Charge the questions that come before trees grow, but do not ask them: for previews, and for checks of files.

    Parameters
    ----------
    domain : Domain
        Public schema, whose number of numeric attributes affects the charge.
    preparation : Preparation
        Shares of the ledger's budget.
    ledger : Ledger
        The ledger to charge. If it has no budget, nothing is charged.
    """
    if ledger.budget is None:
        return
    n_numeric = sum(f.kind == "numeric" for f in domain.features)
    if preparation.size:
        charge_size(ledger.budget, ledger, preparation.size)
    if preparation.scale:
        charge_scale(n_numeric, preparation.scale, ledger.budget, ledger)


def release_size(
    n_rows: int,
    budget: Fraction | PrivacyLoss,
    ledger: Ledger,
    source: SecretSource | DemoSource,
    share: Fraction = SIZE_SHARE,
) -> int:
    """Return the noisy number of rows or, with a unit of privacy, of persons; at least 50.

    Parameters
    ----------
    n_rows : int
        Exact number of rows or persons.
    budget : Fraction or PrivacyLoss
        Budget of the whole fit; a fraction is an ε.
    ledger : Ledger
        Ledger to which the question is charged.
    source : SecretSource or DemoSource
        Source of the noise.
    share : Fraction
        Share of the budget for this question.

    Returns
    -------
    int
        Noisy number; 50 if the noisy number is below 50.
    """
    query_budget = charge_size(budget, ledger, share)
    noisy = noisy_table(np.array([[n_rows]], np.int64), 1, query_budget, source, key=_SIZE_KEY)
    return max(int(noisy[0, 0]), LEAST_SIZE)


def release_scale(
    cells: np.ndarray,
    preparation: Preparation,
    budget: Fraction | PrivacyLoss,
    ledger: Ledger,
    source: SecretSource | DemoSource,
    count_unit: int,
) -> ReleasedScale | None:
    """Return the noisy distribution of rows of each numeric attribute on the public scale.

    An added row adds 1 to at most one cell in each of the three histograms of an attribute. So the L1 sensitivity of
    all histograms together is three times the number of numeric attributes, and the L2 sensitivity is the square root
    of this number. If the domain declares a unit of privacy (`Domain.unit`), a person adds at most 1024 to each
    histogram, so both sensitivities are 1024 times as large.

    Parameters
    ----------
    cells : int64 array of shape (n_numeric, 64)
        Exact counts, or weights in 1/1024 (`scale_histograms`).
    preparation : Preparation
        Shares of the budget. The field `scale` is the share for this question.
    budget : Fraction or PrivacyLoss
        Budget of the whole fit; a fraction is an ε.
    ledger : Ledger
        Ledger to which the question is charged.
    source : SecretSource or DemoSource
        Source of the noise.
    count_unit : {1, 1024}
        Largest amount that a row (1) or a person (1024, see `Domain.unit`) adds to a histogram.

    Returns
    -------
    ReleasedScale or None
        Released distribution functions; None if `preparation` has no share for this question.
    """
    if not preparation.scale:
        return None
    query_budget, sensitivity = charge_scale(len(cells), preparation.scale, budget, ledger)
    sensitivity *= count_unit
    each = query_budget.each
    noise_scale = sensitivity / each.amount
    if each.kind == GAUSSIAN:
        noise_scale = sqrt_up(sensitivity**2 / each.mu_squared / 2)  # Laplace scale with the same variance
    noisy = noisy_table(nested_counts(cells), sensitivity, query_budget, source, key=_SCALE_KEY)
    return scale_from(noisy, noise_scale).mixed(preparation.public_weight)


def _loss_of(budget: Fraction | PrivacyLoss) -> PrivacyLoss:
    return budget if isinstance(budget, PrivacyLoss) else PrivacyLoss.pure(budget)
