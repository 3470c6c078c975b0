"""What a certified fit asks before it grows trees: how many rows there are, and where they lie on the public scale.

Both read the whole table, so their costs and that of the trees add up. What follows from the answers (whether the
scale is asked for at all, its share of the budget) is public post-processing: on every answer the ledger is charged for
just what is asked then, and the charges sum to ε.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dpforest.privacy.ledger import NUMBER_OF_ROWS, SCALE_OF_ATTRIBUTES, Ledger, QueryBudget, rows_changed
from dpforest.privacy.loss import GAUSSIAN, NOISE, PrivacyLoss
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.rationals import sqrt_up
from dpforest.privacy.release import noisy_table
from dpforest.tables.domain import Domain
from dpforest.trees.released_scale import LEVELS, ReleasedScale, nested, scale_from

SIZE_SHARE: Final = Fraction(1, 50)  # of ε, for the number of rows
LEAST_SIZE: Final = 50
MOST_NOISE: Final = 2**31  # scale of it: samplers know no larger
_SIZE_KEY, _SCALE_KEY = 1, 2  # of their draws in a demonstration


@dataclass(frozen=True)
class ScaleRule:
    """When a scale is asked for, and what it may cost: v is the signal of an attribute, rows times ε.

    Parameters
    ----------
    least : int
        Declined where v is less.
    most : Fraction
        Largest share of ε.
    public_weight : Fraction
        Of the public scale in the mixture that is used.
    """

    least: int
    most: Fraction
    public_weight: Fraction

    def share(self, n_rows: int, epsilon: Fraction, n_numeric: int) -> Fraction:
        """Share of ε; 0 where it is declined."""
        signal = n_rows * epsilon / n_numeric if n_numeric else Fraction(0)
        return Fraction(0) if signal < self.least else min(self.most, 150 / signal)


RANDOM_STRUCTURE: Final = ScaleRule(60, Fraction(3, 20), Fraction(0))
GREEDY: Final = ScaleRule(150, Fraction(7, 100), Fraction(3, 10))


@dataclass(frozen=True)
class Preparation:
    """Parts of ε that are spent before trees are grown, and what the rules go by.

    Parameters
    ----------
    n_rows : int
        As released, or as everybody knows it; 0 where no rule asks.
    size, scale : Fraction
        Shares of ε, 0 where nothing is asked.
    public_weight : Fraction
        See `ScaleRule`.
    """

    n_rows: int = 0
    size: Fraction = Fraction(0)
    scale: Fraction = Fraction(0)
    public_weight: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """Share of ε for trees and leaves."""
        return 1 - self.size - self.scale


def charge_size(budget: Fraction | PrivacyLoss, ledger: Ledger, share: Fraction = SIZE_SHARE) -> QueryBudget:
    """Pay for the noisy number of rows. Parameters as for `release_size`."""
    each = _loss_of(budget).part(share, rows_changed(ledger.neighbors))
    paid = ledger.charge(NUMBER_OF_ROWS, NOISE[each.kind], 1, each, 1, "sequential")
    assert paid is not None
    return paid


def charge_scale(
    n_numeric: int, share: Fraction, budget: Fraction | PrivacyLoss, ledger: Ledger
) -> tuple[QueryBudget, Fraction]:
    """Pay for the histograms of all numeric attributes.

    Parameters
    ----------
    n_numeric : int
    share : Fraction
        Of the budget.
    budget, ledger
        As for `release_scale`.

    Returns
    -------
    paid : QueryBudget
    sensitivity : Fraction
        The most that one row changes all histograms together: as a sum, or as a length for a Gaussian budget.
    """
    sensitivity = Fraction(LEVELS * n_numeric)
    each = _loss_of(budget).part(share, rows_changed(ledger.neighbors))
    if each.kind == GAUSSIAN:
        sensitivity = sqrt_up(sensitivity)
    paid = ledger.charge(
        f"{SCALE_OF_ATTRIBUTES} ({LEVELS} histograms of each of {n_numeric:,})",
        NOISE[each.kind],
        sensitivity,
        each,
        1,
        "sequential",
    )
    assert paid is not None
    return paid, sensitivity


def charge_preparation(domain: Domain, preparation: Preparation, ledger: Ledger) -> None:
    """Pay for all that a fit asks before trees grow, and ask nothing: for previews, and for checks of files.

    Parameters
    ----------
    domain : Domain
    preparation : Preparation
        Shares of the ledger's budget.
    ledger : Ledger
        Without a budget nothing is charged.
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
    """The number of rows with noise, at least 50.

    Parameters
    ----------
    n_rows : int
        Exact.
    budget : Fraction or PrivacyLoss
        Of the whole fit; a fraction is an ε.
    share : Fraction
        Of it, for this.
    ledger : Ledger
    source : SecretSource or DemoSource

    Returns
    -------
    int
    """
    paid = charge_size(budget, ledger, share)
    noisy = noisy_table(np.array([[n_rows]], np.int64), 1, paid, source, key=_SIZE_KEY)
    return max(int(noisy[0, 0]), LEAST_SIZE)


def release_scale(
    cells: np.ndarray,
    preparation: Preparation,
    budget: Fraction | PrivacyLoss,
    ledger: Ledger,
    source: SecretSource | DemoSource,
) -> ReleasedScale | None:
    """Where rows lie on the scale of each numeric attribute; None where the preparation says not to ask.

    A row more adds 1 to one cell at most in each of three histograms of each attribute, so the L1 sensitivity of all of
    them is three times the number of attributes, and it is attained; their L2 sensitivity is the root of that.

    Parameters
    ----------
    cells : int64 array of shape (n_numeric, 64)
        Exact (`scale_histograms`).
    preparation : Preparation
    budget : Fraction or PrivacyLoss
        Of the whole fit; a fraction is an ε.
    ledger : Ledger
    source : SecretSource or DemoSource

    Returns
    -------
    ReleasedScale or None
    """
    if not preparation.scale:
        return None
    paid, sensitivity = charge_scale(len(cells), preparation.scale, budget, ledger)
    each = paid.each
    noise_scale = sensitivity / each.amount
    if each.kind == GAUSSIAN:
        noise_scale = sqrt_up(sensitivity**2 / each.mu_squared / 2)  # of Laplace noise with this standard deviation
    noisy = noisy_table(nested(cells), sensitivity, paid, source, key=_SCALE_KEY)
    return scale_from(noisy, noise_scale).mixed(preparation.public_weight)


def _loss_of(budget: Fraction | PrivacyLoss) -> PrivacyLoss:
    return budget if isinstance(budget, PrivacyLoss) else PrivacyLoss.pure(budget)
