"""Every choice of a fit of the random-tree booster, and what one row may change in a round."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpforest.models.boosting.gradients import POINT, UNIT, sensitivity_of
from dpforest.models.preparation import Preparation
from dpforest.privacy.loss import GAUSSIAN, PURE, PrivacyLoss
from dpforest.privacy.rationals import sqrt_up

SIZE_SHARE: Final = {GAUSSIAN: Fraction(1, 100), PURE: Fraction(1, 20)}
SCALE_SHARE: Final = Fraction(1, 20)
LEAST_ROWS: Final = 4  # for each standard deviation of noise on a cell of the scale; with fewer it is not asked for


@dataclass(frozen=True)
class BoosterSpec:
    """Every choice of a fit, from parameters and public knowledge.

    Parameters
    ----------
    n_trees, depth : int
    total_step : float
        Of all rounds together, in scores for a leaf whose rows all have gradient 1.
    n_rows : int
        By which sums are divided.
    n_classes : int
    kind : {"pure", "gaussian"}
    preparation : Preparation
    """

    n_trees: int
    depth: int
    total_step: float
    n_rows: int
    n_classes: int
    kind: str
    preparation: Preparation

    @property
    def n_scores(self) -> int:
        """1 for two classes, else one for each."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def step(self) -> float:
        """Move of a score, in 1/2**20, for a sum of one 1/1024 in a leaf."""
        return self.total_step / self.n_trees * 2**self.depth / self.n_rows / UNIT * 2**POINT

    @property
    def sensitivity(self) -> Fraction:
        """Most that one row changes the sums of a round, in 1/1024: of their length, or of the sum of their sizes."""
        bound, is_square = sensitivity_of(self.n_classes, self.kind)
        return sqrt_up(bound) if is_square else bound

    def noise_scale(self, each: PrivacyLoss) -> float:
        """Standard deviation (Gaussian) or scale (Laplace) of the noise on a sum, in 1/1024."""
        if self.kind == GAUSSIAN:
            return float(self.sensitivity) / float(each.mu_squared) ** 0.5
        return float(self.sensitivity / each.pure_epsilon)
