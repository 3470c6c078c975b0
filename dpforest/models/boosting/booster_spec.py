"""Every choice of a fit of the random-tree booster, and what one row may change in a round."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpforest.models.boosting.clip_bound import UNIT, ClipBound
from dpforest.models.boosting.gradients import POINT
from dpforest.models.preparation import Preparation
from dpforest.privacy.loss import GAUSSIAN, PURE

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
    clip : ClipBound
        Bound on the gradient of a row.
    preparation : Preparation
    """

    n_trees: int
    depth: int
    total_step: float
    n_rows: int
    clip: ClipBound
    preparation: Preparation

    @property
    def step(self) -> float:
        """Move of a score, in 1/2**20, for a sum of one 1/1024 in a leaf."""
        return self.total_step / self.n_trees * 2**self.depth / self.n_rows / UNIT * 2**POINT
