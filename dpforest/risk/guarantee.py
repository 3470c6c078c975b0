"""What a release promises about one person, and the questions that the promise speaks about.

Two questions are asked. *membership*: is this person's row in the table? Only add-remove speaks about it; under
replace-one the number of rows is public and the row is there anyway. *value*: which of two values does somebody in the
table have?
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, rows_changed
from dpforest.privacy.loss import GAUSSIAN, PrivacyLoss

MEMBERSHIP: Final = "membership"
VALUE: Final = "value"


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy under a neighbor relation.

    Attributes
    ----------
    epsilon : float or Fraction
        From 0; infinity where there is no bound. A fraction is shown as what it is, a float as its shortest decimal.
    delta : float
        From 0 to 1; 0 is pure differential privacy.
    neighbors : {"add-remove", "replace-one"}
    mu_squared : Fraction or None
        μ² where it is known that all of a Gaussian trade-off curve holds, which says more than its (ε, δ) do.

    Raises
    ------
    ValueError
        If one of them is out of range, or (ε, δ) do not follow from μ².

    Examples
    --------
    >>> Guarantee(1.0).kind, Guarantee(1.0, 1e-6).kind, Guarantee(math.inf).kind
    ('pure', 'approximate', 'none')
    """

    epsilon: float | Fraction
    delta: float = 0.0
    neighbors: str = ADD_REMOVE
    mu_squared: Fraction | None = None

    def __post_init__(self) -> None:
        rows_changed(self.neighbors)
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon={self.epsilon!r} is not a number from 0")
        if not 0 <= self.delta <= 1:
            raise ValueError(f"delta={self.delta!r} is not a number from 0 to 1")
        if self.gaussian is not None and not (self.kind == "none" or self.gaussian.holds(self.epsilon, self.delta)):
            raise ValueError(f"ε = {self.epsilon} at δ = {self.delta} does not follow from {self.gaussian}")

    @classmethod
    def of_loss(cls, loss: PrivacyLoss, neighbors: str = ADD_REMOVE, *, delta: float = 0.0) -> "Guarantee":
        """What a loss guarantees; a Gaussian one needs the δ at which its ε is reported.

        Parameters
        ----------
        loss : PrivacyLoss
            Total of a ledger: an ε, or the μ of a Gaussian mechanism.
        neighbors : {"add-remove", "replace-one"}
            The relation under which the loss holds.
        delta : float
            Above 0 and below 1 for a Gaussian loss; 0 for a pure one.

        Returns
        -------
        Guarantee
            At this δ.

        Examples
        --------
        >>> Guarantee.of_loss(PrivacyLoss.gaussian(1), delta=1e-6).kind
        'approximate'
        """
        return cls(loss.epsilon(delta), delta, neighbors, loss.mu_squared if loss.kind == GAUSSIAN else None)

    @property
    def gaussian(self) -> PrivacyLoss | None:
        """The Gaussian loss behind it, where there is one."""
        return None if self.mu_squared is None else PrivacyLoss.gaussian(self.mu_squared)

    @property
    def kind(self) -> str:
        """ "pure", "approximate", or "none" where nothing is bounded."""
        if math.isinf(self.epsilon) or self.delta == 1:
            return "none"
        return "approximate" if self.delta else "pure"

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions that it says something about."""
        return (MEMBERSHIP, VALUE) if self.neighbors == ADD_REMOVE else (VALUE,)


def guarantee_of(certificate: Certificate) -> Guarantee:
    """What a certificate guarantees. Without certification nothing.

    Parameters
    ----------
    certificate : Certificate
        Of a forest, or of the preview of one.

    Returns
    -------
    Guarantee
        Its epsilon is infinite where the certificate knows no bound.

    Examples
    --------
    >>> from dpforest.privacy.certificate import certify
    >>> from dpforest.privacy.ledger import Ledger
    >>> guarantee_of(certify(Ledger(None), mechanism="exact counts")).kind
    'none'
    """
    if certificate.loss is None:
        return Guarantee(math.inf, certificate.delta, certificate.neighbors)
    return Guarantee(certificate.loss, certificate.delta, certificate.neighbors, certificate.mu_squared)
