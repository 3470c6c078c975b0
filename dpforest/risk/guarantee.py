"""The guarantee of a release for one person, and the questions that it covers.

There are two questions. *membership*: is this person's row in the table? Only add-remove covers it: under replace-one
the number of rows is public and both tables have a row for the person. *value*: which of two values does a person in
the table have?
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
        ε, at least 0; infinity if there is no bound. A fraction is shown exactly, a float as its shortest decimal.
    delta : float
        δ, from 0 to 1; 0 is pure differential privacy.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation of the guarantee.
    mu_squared : Fraction or None
        μ² if the whole Gaussian trade-off curve holds, which is a stronger guarantee than its (ε, δ).

    Raises
    ------
    ValueError
        If a value is out of range, or (ε, δ) does not follow from μ².

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
        """Return the guarantee of a loss. A Gaussian loss needs the δ at which its ε is reported.

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
            The guarantee at this δ.

        Examples
        --------
        >>> Guarantee.of_loss(PrivacyLoss.gaussian(1), delta=1e-6).kind
        'approximate'
        """
        return cls(loss.epsilon(delta), delta, neighbors, loss.mu_squared if loss.kind == GAUSSIAN else None)

    @property
    def gaussian(self) -> PrivacyLoss | None:
        """Return the Gaussian loss of the guarantee, or None."""
        return None if self.mu_squared is None else PrivacyLoss.gaussian(self.mu_squared)

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
        Its ε is infinite if the certificate has no bound.

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
