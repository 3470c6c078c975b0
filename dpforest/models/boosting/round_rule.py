"""How many rounds, how deep their trees are, and how far they go: a public rule from rows, classes and budget.

The noise on a score F, after T rounds of trees with L leaves and a total step τ, has about the standard deviation
k τ L / s with the signal s of the rule, whatever T is where noise is Gaussian, and grows with the root of T where it
is Laplace. So the rule has τ L follow s; what it was fitted on is in docs/ACCURACY.md.
"""

import math
from typing import Final, NamedTuple

from dpforest.models.boosting.clip_bound import ClipBound

MOST_ROUNDS: Final = 1_000
MOST_DEPTH: Final = 8
MOST_STEP: Final = 100.0
_FEW_ROUNDS: Final = 300
_ROW_ROUNDS: Final = 3e8  # rows times rounds, beyond which time decides


class Rounds(NamedTuple):
    """Number of trees, depth of each, and what their steps sum to."""

    n_trees: int
    depth: int
    total_step: float


def rounds_by_rule(clip: ClipBound, n_rows: int, budget: float) -> Rounds:
    """The rule.

    Parameters
    ----------
    clip : ClipBound
        Bound on the gradient of a row; it knows the classes and the noise.
    n_rows : int
        As released, or as everybody knows it.
    budget : float
        Left for gradients, for one row added or removed: μ² or ε; infinite without privacy.

    Returns
    -------
    Rounds

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
