"""The bound to which gradients are clipped. The ledger, the rule for the number of rounds, and the kernel use it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpforest.privacy.loss import GAUSSIAN, NOISE, PrivacyLoss
from dpforest.privacy.rationals import LIMIT, sqrt_up

UNIT: Final = 1_024  # integer that stands for a gradient of 1
UNIT_GRID: Final = 16  # with weights, steps are finer by this factor, so few weighted gradients round to 0


@dataclass(frozen=True)
class ClipBound:
    """Bound on the norm of one row's gradient: the norm that the gradient has at score 0.

    At score 0, every class has the share 1/k, so the gradient is 1 - 1/k for the class of the row and -1/k for every
    other class. Gaussian noise requires a bound on the L2 norm, Laplace noise a bound on the L1 norm. If there are two
    classes, only the second class has a score. Then the gradient is one number, and both its norms are at most 1/2.

    Parameters
    ----------
    n_classes : int
        Number k of classes, at least 2.
    kind : {"pure", "gaussian"}
        Kind of privacy loss that is charged for the sums of gradients. The kind decides the norm and the noise.
    grid : {1, 16}
        Number of steps into which 1/1024 of a sum is divided. The number is 16 if a person may have several rows,
        because rows then have weights. A row's gradient times its weight is rounded toward 0, and the weights of a
        person's rows sum to at most 1. So by the triangle inequality, the norm of the sum over a person's rows is at
        most the bound.

    Examples
    --------
    >>> ClipBound(3, "pure").sensitivity, ClipBound(3, "gaussian").noise, ClipBound(2, "gaussian").norm
    (Fraction(1365, 1), 'rounded-gaussian', 0.5)
    """

    n_classes: int
    kind: str
    grid: int = 1

    @property
    def is_l2(self) -> bool:
        """Whether the L2 norm of a gradient is clipped (for Gaussian noise); otherwise its L1 norm is clipped."""
        return self.kind == GAUSSIAN

    @property
    def noise(self) -> str:
        """Name, in the ledger, of the mechanism that adds the noise."""
        return NOISE[self.kind]

    @property
    def n_scores(self) -> int:
        """Length of a gradient: 1 for two classes, otherwise the number of classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def norm(self) -> float:
        """The bound as a float, for the rule that chooses the number of rounds.

        The bits of this float must never change, because the check of an older file repeats the rule of its fit.
        """
        if self.n_classes == 2:
            return 0.5
        return math.sqrt(1 - 1 / self.n_classes) if self.is_l2 else 2 * (1 - 1 / self.n_classes)

    @property
    def times_classes(self) -> int:
        """k times the bound on the squared L2 norm (in 1/1024²) or on the L1 norm (in 1/1024); a whole number."""
        of_all_classes = (UNIT**2 if self.is_l2 else 2 * UNIT) * (self.n_classes - 1)
        return of_all_classes // 2 if self.n_classes == 2 else of_all_classes  # two classes have one score

    @property
    def sensitivity(self) -> Fraction:
        """Largest change of a round's sums, in L2 or L1 norm and in steps, if one row or person is added or removed.

        A step is 1/1024, divided by `grid`. The L2 norm is rounded up. A replacement is one removal and one addition,
        and the ledger counts both.
        """
        bound = Fraction(self.times_classes, self.n_classes)
        return self.grid * (sqrt_up(bound) if self.is_l2 else Fraction(math.floor(bound)))

    def noise_scale(self, each: PrivacyLoss) -> float:
        """Return the standard deviation (Gaussian) or scale (Laplace) of the noise on a sum, in steps.

        `each` is the loss of one round.
        """
        if self.is_l2:
            return float(self.sensitivity) / float(each.mu_squared) ** 0.5
        return float(self.sensitivity / each.pure_epsilon)

    def most_rounds(self, loss: PrivacyLoss) -> int:
        """Return the largest number of rounds among which `loss` may be divided so that samplers can draw the noise.

        The result is at least 1, even if the samplers cannot draw the noise of a single round.
        """
        if self.is_l2:
            most = (LIMIT - 1) ** 2 * loss.amount * self.n_classes / self.times_classes
            return max(1, int(most / self.grid**2))
        return max(1, int((LIMIT - 1) * loss.amount / self.sensitivity))
