"""Forests with which the papers compare their own forests.

These are the forests without privacy of the multinomial paper, and the forest of Rana, Gupta and Venkatesh (RGV).
"""

from functools import partial
from typing import Final

from reproduce.comparators.breiman import BreimanForest
from reproduce.comparators.comparison import ComparisonForest
from reproduce.comparators.consistent import BernoulliForest, DenilForest
from reproduce.comparators.rana import RanaForest

COMPARATORS: Final = {
    "Denil14": DenilForest,
    "BRF": BernoulliForest,
    "CompRF-C": partial(ComparisonForest, supervised=False),
    "CompRF-I": partial(ComparisonForest, supervised=True),
    "Breiman": BreimanForest,
}

__all__ = ["COMPARATORS", "BernoulliForest", "BreimanForest", "ComparisonForest", "DenilForest", "RanaForest"]
