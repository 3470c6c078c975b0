"""Forests that the papers compare theirs with: those of the multinomial paper, none of them private, and RGV."""

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
