"""The budget of a fit, and the shares that the fit spends before trees grow: on the number of rows, and on the scale.

The scale is a noisy distribution of each numeric attribute (`dpforest.models.preparation`).
"""

from fractions import Fraction
from typing import Any, ClassVar

from dpforest.models.predictions import PredictingClassifier
from dpforest.models.preparation import (
    LEAST_SIZE,
    SIZE_SHARE,
    Preparation,
    ScaleRule,
    most_noise,
    release_size,
    size_sentence,
)
from dpforest.privacy.ledger import ADD_REMOVE, Ledger, rows_changed
from dpforest.privacy.loss import PrivacyLoss
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.rationals import MOST_DIGITS, printed_decimal
from dpforest.tables.domain import Domain
from dpforest.trees.released_scale import LEVELS

AUTO = "auto"
SPARE_DIGITS = 40  # a division of the budget by shares, rounds and neighbor relations may add this many digits


class BudgetedClassifier(PredictingClassifier):
    """Base class of all forests: the budget and the preparation of a fit. Only its subclasses can be fitted."""

    n_estimators: Any
    max_depth: Any
    neighbors: str
    mode: str
    scale_share: float | str
    size: int | None
    scale_rule: ClassVar[ScaleRule]

    @property
    def _budget(self) -> Fraction | None:
        """The budget as the exact decimal number that the user typed: 0.1 is 1/10."""
        return None if self.epsilon is None else printed_decimal(self.epsilon)

    @property
    def _loss(self) -> PrivacyLoss | None:
        """The budget as a loss that is divided among the questions: ε, or the μ² of an (ε, δ) budget."""
        return None if self._budget is None else PrivacyLoss.pure(self._budget)

    def _ledger(self, domain: Domain) -> Ledger:
        """Return a ledger with the budget; without a budget if `epsilon` is None or `mode` is "as_published"."""
        return Ledger(self._loss if self.mode == "certified" else None, self.neighbors, unit=domain.unit)

    @property
    def _size_share(self) -> Fraction:
        """Share of the budget for the question about the number of rows."""
        return SIZE_SHARE

    @property
    def _prepares(self) -> bool:
        """Whether the fit may ask questions before trees grow: only if the fit is private and in certified mode."""
        return self.epsilon is not None and self.mode == "certified"

    def _asks_size(self, domain: Domain) -> bool:
        """Return whether a fit asks for the number of rows. It asks if a rule needs a number that is not public."""
        rule_needs_size = self.scale_share == AUTO and any(f.kind == "numeric" for f in domain.features)
        rule_needs_size |= AUTO in (self.n_estimators, self.max_depth)
        return self._prepares and rule_needs_size and self.size is None and self.neighbors == ADD_REMOVE

    def _known_size(
        self, domain: Domain, n_rows: int, n_given: int, ledger: Ledger, source: SecretSource | DemoSource
    ) -> int:
        """Return the number of rows that the rules use: noisy, given as `size`, or public; 0 if it is unknown.

        Without privacy or as published, the result is the exact number `n_given`, also if this number is private.
        """
        if not self._prepares or self.neighbors != ADD_REMOVE:
            return n_given
        if self._asks_size(domain):
            assert self._loss is not None
            return release_size(n_rows, self._loss, ledger, source, self._size_share)
        return self.size or 0

    def _size_sentence(self, domain: Domain) -> tuple[str, ...]:
        """Return a tuple with the certificate's sentence about a given `size`, or an empty tuple."""
        if not self._prepares or self.neighbors != ADD_REMOVE or self.size is None:
            return ()
        return (size_sentence(self.size, domain.unit),)

    def _preparation(self, domain: Domain, n_rows: int) -> Preparation:
        """Return the shares of the budget for questions before trees grow. `n_rows` is the result of `_known_size`."""
        n_numeric = sum(f.kind == "numeric" for f in domain.features)
        if not self._prepares or self._budget is None:
            return Preparation()
        public_size = self.size if self.neighbors == ADD_REMOVE else None
        n_rows = n_rows if public_size is None else public_size
        size_share = self._size_share if self._asks_size(domain) else Fraction(0)
        # A released number of rows is at least LEAST_SIZE, so a preview must not plan with a smaller number.
        n_rows = max(n_rows, LEAST_SIZE) if size_share else n_rows
        asks_scale = self.scale_share != "public" and n_numeric
        share = self._scale_part(self._budget, n_rows, n_numeric, domain) if asks_scale else Fraction(0)
        n_known = n_rows if size_share or public_size or self.neighbors != ADD_REMOVE else 0
        return Preparation(n_known, size_share, share, self.scale_rule.public_weight)

    def _scale_part(self, budget: Fraction, n_rows: int, n_numeric: int, domain: Domain) -> Fraction:
        """Return the share of the budget for the question about the scale of `n_numeric` attributes.

        Raise ValueError if the user's `scale_share` is so small that the samplers cannot draw the noise.
        """
        sensitivity, most = LEVELS * n_numeric * rows_changed(self.neighbors), most_noise(domain.count_unit)
        if self.scale_share == AUTO:
            share = self.scale_rule.share(n_rows, budget, n_numeric)
            is_drawable = domain.unit is None or not share or sensitivity / (share * budget) <= most
            return share if is_drawable else Fraction(0)
        share = printed_decimal(self.scale_share)
        if sensitivity / (share * budget) > most:
            raise ValueError(
                f"scale_share={self.scale_share!r} of epsilon={self.epsilon!r} is too little for {n_numeric:,} "
                "numeric attributes; use a larger share, 'auto' or 'public'"
            )
        return share

    def _check_digits(self, *amounts: Fraction) -> None:
        """Raise ValueError, before the fit spends its budget, if these amounts have too many digits for a file."""
        if not isinstance(self.scale_share, str):
            amounts = (*amounts, printed_decimal(self.scale_share))
        digits = sum(len(str(max(amount.numerator, amount.denominator))) for amount in amounts)
        if digits > MOST_DIGITS - SPARE_DIGITS:
            raise ValueError(f"epsilon={self.epsilon!r} or scale_share has too many digits for a file; round it")
