"""The bound to which gradients are clipped: one object for the ledger entry, the rule of rounds and the kernel."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpforest.privacy.loss import GAUSSIAN, NOISE, PrivacyLoss
from dpforest.privacy.rationals import LIMIT, sqrt_up

UNIT: Final = 1_024  # of a gradient


@dataclass(frozen=True)
class ClipBound:
    """Largest gradient of one row: as large as a gradient is at score 0.

    At score 0 every class has the share 1/k, so the gradient is 1 - 1/k at the class of the row and -1/k at the others.
    Gaussian noise covers the L2 norm of a gradient, Laplace noise the L1 norm. Of two classes only the second has a
    score, so the gradient is one number of at most 1/2 in both norms.

    Parameters
    ----------
    n_classes : int
        k, at least 2.
    kind : {"pure", "gaussian"}
        Kind of loss that the sums of gradients are paid in; it decides the norm and the noise.

    Examples
    --------
    >>> ClipBound(3, "pure").sensitivity, ClipBound(3, "gaussian").noise, ClipBound(2, "gaussian").norm
    (Fraction(1365, 1), 'rounded-gaussian', 0.5)
    """

    n_classes: int
    kind: str

    @property
    def is_l2(self) -> bool:
        """Whether the L2 norm of a gradient is clipped, else the L1 norm."""
        return self.kind == GAUSSIAN

    @property
    def noise(self) -> str:
        """Mechanism that covers this norm, as the ledger names it."""
        return NOISE[self.kind]

    @property
    def n_scores(self) -> int:
        """Numbers in a gradient: 1 for two classes, else one for each class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def norm(self) -> float:
        """The bound in floats, as the rule of rounds computes with it: the rule of older files used these very bits."""
        if self.n_classes == 2:
            return 0.5
        return math.sqrt(1 - 1 / self.n_classes) if self.is_l2 else 2 * (1 - 1 / self.n_classes)

    @property
    def times_classes(self) -> int:
        """k times the bound, which is a whole number: of the squared norm in 1/1024² (L2), or of the norm in 1/1024."""
        of_all_classes = (UNIT**2 if self.is_l2 else 2 * UNIT) * (self.n_classes - 1)
        return of_all_classes // 2 if self.n_classes == 2 else of_all_classes  # of two equal numbers one is kept

    @property
    def sensitivity(self) -> Fraction:
        """Most that one row, added or removed, changes the sums of a round, in 1/1024: L2 norm rounded up, or L1 norm.

        Replacing a row is one removal and one addition; the ledger counts each.
        """
        bound = Fraction(self.times_classes, self.n_classes)
        return sqrt_up(bound) if self.is_l2 else Fraction(math.floor(bound))

    def noise_scale(self, each: PrivacyLoss) -> float:
        """Standard deviation (Gaussian) or scale (Laplace) of the noise on a sum, in 1/1024, at the cost of a round."""
        if self.is_l2:
            return float(self.sensitivity) / float(each.mu_squared) ** 0.5
        return float(self.sensitivity / each.pure_epsilon)

    def most_rounds(self, loss: PrivacyLoss) -> int:
        """Most rounds that can share a loss, at least 1: with more, noise would be larger than samplers can draw."""
        if self.is_l2:
            return max(1, int((LIMIT - 1) ** 2 * loss.amount * self.n_classes / self.times_classes))
        return max(1, int((LIMIT - 1) * loss.amount / self.sensitivity))
