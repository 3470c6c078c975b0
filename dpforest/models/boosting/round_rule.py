"""Public rule that chooses the number of rounds, the depth of trees and the total step from rows, classes and budget.

Let there be n rows and T rounds, and let σ be the standard deviation of the noise on a gradient sum. The rule uses the
signal s = n √T / σ, or 0.6 n √T / σ if there are more than two classes. Let each tree have L leaves, and let τ be the
total step, which is the sum of the steps of all rounds. After all rounds, the standard deviation of the noise on a
score is proportional to τ L / s. So the rule makes τ L proportional to s. With Gaussian noise, σ grows as √T, so s does
not depend on T. With Laplace noise, σ grows as T, so s falls as 1/√T. docs/ACCURACY.md names the tables on which the
rule was fitted.
"""

import math
from typing import Final, NamedTuple

from dpforest.models.boosting.clip_bound import ClipBound

MOST_ROUNDS: Final = 1_000
MOST_DEPTH: Final = 8
MOST_STEP: Final = 100.0
_FEW_ROUNDS: Final = 300  # smallest number of rounds with Gaussian noise, and largest with Laplace noise
_ROW_ROUNDS: Final = 3e8  # largest product of rows and rounds if there are over 300 rounds; limits the time of a fit


class Rounds(NamedTuple):
    """Number of trees, depth of each tree, and sum of the steps of all trees."""

    n_trees: int
    depth: int
    total_step: float


def rounds_by_rule(clip: ClipBound, n_rows: int, budget: float) -> Rounds:
    """Return the number of trees, their depth and the total step.

    Parameters
    ----------
    clip : ClipBound
        Bound on the gradient of a row. This bound also states the number of classes and the kind of noise.
    n_rows : int
        Released or public number of rows.
    budget : float
        Budget that remains for gradients, as μ² or ε for one row added or removed; infinite without privacy.

    Returns
    -------
    Rounds
        Number of trees, depth and total step.

    Examples
    --------
    >>> rounds_by_rule(ClipBound(2, "gaussian"), 26_048, 2 * 0.0263336)
    Rounds(n_trees=1000, depth=6, total_step=100.0)
    >>> rounds_by_rule(ClipBound(2, "pure"), 455, 0.095)[:2]
    (4, 3)
    """
    signal = (1.0 if clip.n_classes == 2 else 0.6) * max(n_rows, 1)
    if clip.is_l2:
        s = signal * math.sqrt(budget) / clip.norm
        n_trees = _FEW_ROUNDS
        if s >= 1_500:
            n_trees = int(min(MOST_ROUNDS, max(_FEW_ROUNDS, _ROW_ROUNDS / max(n_rows, 1))))
    else:
        x = max(1.0, signal * budget / (2 * clip.norm))
        n_trees = _FEW_ROUNDS if math.isinf(x) else min(max(min(round(x / 12), round(0.8 * math.sqrt(x))), 1), 300)
        s = 2 * x / math.sqrt(2 * n_trees)
    s = max(s, 2.0)
    depth = MOST_DEPTH if math.isinf(s) else min(max(round(1.45 + 0.36 * math.log2(s)), 1), MOST_DEPTH)
    return Rounds(n_trees, depth, min(max(s / 2**depth, 1.0), MOST_STEP))
