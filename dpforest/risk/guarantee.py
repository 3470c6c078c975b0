"""The guarantee of a release for one person, and the questions that it covers.

An attacker may ask two questions. *membership*: is this person's row in the table? Only add-remove covers this
question. Under replace-one, the number of rows (or persons, with a unit) is public, and the person is in both
neighboring tables. *value*: which of two values does a person in the table have?
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, rows_changed
from dpforest.privacy.loss import GAUSSIAN, PrivacyLoss
from dpforest.privacy.tradeoff_curve import Steps, TradeoffCurve

MEMBERSHIP: Final = "membership"
VALUE: Final = "value"


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy under a neighbor relation.

    Attributes
    ----------
    epsilon : float or Fraction
        ε, at least 0; infinity if there is no bound. A float means the decimal number that Python prints for it.
    delta : float
        δ, from 0 to 1; 0 is pure differential privacy.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation of the guarantee.
    mu_squared : Fraction or None
        μ² if the release is μ-Gaussian differentially private, which is a stronger guarantee than (ε, δ). If there are
        also `steps`, μ² is the loss of all queries that are not in the steps.
    steps : tuple of (Fraction, int)
        Pairs (κ, times) if ε is the sum of the losses of several queries, with `times` queries of loss κ each. The
        steps are a stronger guarantee than ε alone (`TradeoffCurve`).
    unit : str or None
        Column of identifiers if the guarantee is for a person with all of their rows (`Domain.unit`); None if it is for
        a single row.

    Raises
    ------
    ValueError
        If a value is out of range, (ε, δ) does not follow from μ² without steps, or ε is below the sum of the steps.

    Examples
    --------
    >>> Guarantee(1.0).kind, Guarantee(1.0, 1e-6).kind, Guarantee(math.inf).kind
    ('pure', 'approximate', 'none')
    """

    epsilon: float | Fraction
    delta: float = 0.0
    neighbors: str = ADD_REMOVE
    mu_squared: Fraction | None = None
    steps: Steps = ()
    unit: str | None = None

    def __post_init__(self) -> None:
        rows_changed(self.neighbors)
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon={self.epsilon!r} must be at least 0")
        if not 0 <= self.delta <= 1:
            raise ValueError(f"delta={self.delta!r} is not a number from 0 to 1")
        if self.gaussian is not None and not (self.kind == "none" or self.gaussian.holds(self.epsilon, self.delta)):
            raise ValueError(f"ε = {self.epsilon} at δ = {self.delta} does not follow from {self.gaussian}")
        if float(TradeoffCurve(self.steps).total) > float(self.epsilon):
            raise ValueError(f"ε = {self.epsilon} does not follow from steps of {TradeoffCurve(self.steps).total}")

    @classmethod
    def of_loss(
        cls,
        loss: PrivacyLoss,
        neighbors: str = ADD_REMOVE,
        *,
        delta: float = 0.0,
        steps: Steps = (),
        unit: str | None = None,
    ) -> "Guarantee":
        """Return the guarantee of a loss. A Gaussian loss needs the δ at which its ε is reported.

        Parameters
        ----------
        loss : PrivacyLoss
            Total loss in a ledger, pure or Gaussian.
        neighbors : {"add-remove", "replace-one"}
            The relation under which the loss holds.
        delta : float
            Above 0 and below 1 for a Gaussian loss; 0 for a pure loss.
        steps : tuple of (Fraction, int)
            Steps of the ledger, if the loss is pure (`steps_of`).
        unit : str, optional
            As in `Guarantee`.

        Returns
        -------
        Guarantee
            The guarantee at this δ.

        Examples
        --------
        >>> Guarantee.of_loss(PrivacyLoss.gaussian(1), delta=1e-6).kind
        'approximate'
        """
        mu_squared = loss.mu_squared if loss.kind == GAUSSIAN else None
        return cls(loss.epsilon(delta), delta, neighbors, mu_squared, steps, unit)

    @property
    def gaussian(self) -> PrivacyLoss | None:
        """Return the Gaussian loss if the release has only Gaussian noise, otherwise None."""
        return None if self.mu_squared is None or self.steps else PrivacyLoss.gaussian(self.mu_squared)

    @property
    def curve(self) -> TradeoffCurve | None:
        """Return the trade-off curve that follows from the steps and μ²; None if the guarantee has neither."""
        if self.mu_squared is None and not self.steps:
            return None
        return TradeoffCurve(self.steps, self.mu_squared or Fraction(0))

    @property
    def kind(self) -> str:
        """Return "pure", "approximate", or "none" if there is no bound."""
        if math.isinf(self.epsilon) or self.delta == 1:
            return "none"
        return "approximate" if self.delta else "pure"

    @property
    def questions(self) -> tuple[str, ...]:
        """Return the questions that the guarantee covers."""
        return (MEMBERSHIP, VALUE) if self.neighbors == ADD_REMOVE else (VALUE,)


def guarantee_of(certificate: Certificate) -> Guarantee:
    """Return the guarantee of a certificate.

    Parameters
    ----------
    certificate : Certificate
        Certificate of a forest, or of the preview of a forest.

    Returns
    -------
    Guarantee
        A guarantee with the bounds of the certificate. If the certificate has no finite bound, ε is infinite.

    Examples
    --------
    >>> from dpforest.privacy.certificate import certify
    >>> from dpforest.privacy.ledger import Ledger
    >>> guarantee_of(certify(Ledger(None), mechanism="exact counts")).kind
    'none'
    """
    if certificate.loss is None:
        return Guarantee(math.inf, certificate.delta, certificate.neighbors, unit=certificate.unit)
    delta_and_neighbors = certificate.delta, certificate.neighbors
    return Guarantee(
        certificate.loss, *delta_and_neighbors, certificate.mu_squared, certificate.steps, certificate.unit
    )
