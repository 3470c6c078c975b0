"""The plan (spec) of the random-tree booster: the choices of a fit before its first round."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpforest.models.boosting.clip_bound import UNIT, ClipBound
from dpforest.models.boosting.gradients import POINT
from dpforest.models.preparation import Preparation
from dpforest.privacy.loss import GAUSSIAN, PURE

SIZE_SHARE: Final = {GAUSSIAN: Fraction(1, 100), PURE: Fraction(1, 20)}  # share of the budget for the number of rows
# Share of the budget for the scale, a noisy distribution of the rows for each numeric attribute (`preparation.py`).
SCALE_SHARE: Final = Fraction(1, 20)
# With scale_share="auto", a fit asks for this distribution only if the number of rows is at least `LEAST_ROWS` times
# the standard deviation of the noise on one of its counts.
LEAST_ROWS: Final = 4


@dataclass(frozen=True)
class BoosterSpec:
    """The choices that a fit makes before its first round.

    They depend only on the parameters, the schema, and a released or public number of rows.

    Parameters
    ----------
    n_trees, depth : int
        Number of rounds, with one tree each, and depth of the trees.
    total_step : float
        Sum of the steps of all rounds. The step of a round is the score that a leaf would get if it had 1/2**depth of
        the rows, all with gradient 1.
    n_rows : int
        Number of rows (or of persons, see `Domain.unit`) by which gradient sums are divided.
    clip : ClipBound
        Bound on the gradient of a row.
    preparation : Preparation
        Shares of the budget that are spent before the first round.
    """

    n_trees: int
    depth: int
    total_step: float
    n_rows: int
    clip: ClipBound
    preparation: Preparation

    @property
    def step(self) -> float:
        """Change of a leaf's score, in units of 1/2**20, if its gradient sum grows by one unit of 1/(1024 * grid)."""
        return self.total_step / self.n_trees * 2**self.depth / self.n_rows / (UNIT * self.clip.grid) * 2**POINT
