"""Draw random settings of certified forests. A fit refuses settings that contradict each other."""

from typing import Any, Final

import numpy as np

from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier
from dpforest.models.greedy.multinomial import MultinomialForestClassifier
from dpforest.models.random.baselines import (
    JagannathanForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.models.random.majority_label import MajorityLabelForestClassifier
from dpforest.models.random.random_decision import RandomDecisionForestClassifier
from dpforest.privacy.laws import CERTIFIED

_PARTITIONS: Final = ("independent", "shared")
_BINS: Final = (2, 3, 7, 16)
_SHARES: Final = (0.2, 0.5, 0.8)
_BOOSTED_LEAVES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"leaf": "range", "beta": "laplace"},
    {"leaf": "range", "beta": "folded"},
    {"beta": "one"},
    {"beta": "post"},
)
CHOICES: Final[dict[type[ForestClassifier], dict[str, tuple[Any, ...]]]] = {
    MajorityLabelForestClassifier: {
        "leaf_mechanism": (None, *CERTIFIED), "partition": (None, *_PARTITIONS),
        "categorical": (None, "ordered", "multiway"), "structure_seed": (0, 1, 2),
    },
    RandomDecisionForestClassifier: {"partition": _PARTITIONS, "structure_seed": (0, 1, 2)},
    JagannathanForestClassifier: {"structure_seed": (0, 1, 2)},
    RandomForestLaplaceClassifier: {"budget": (None, "fair", "paper")},
    RandomForestExponentialClassifier: {"budget": (None, "fair", "paper")},
    MultinomialForestClassifier: {
        "split_score": ("counts", "normalized"), "partition": _PARTITIONS, "partition_rate": (0.5, 1.0, 4.0),
        "n_bins": _BINS,
    },
    FriedmanSchusterClassifier: {"criterion": ("max", "gini", "entropy"), "tree_share": _SHARES, "n_bins": _BINS},
    BoostedForestClassifier: {
        "alpha": (None, "carried", "noisy", "schedule", 1.0, 0.3), "tree_share": _SHARES, "n_bins": _BINS,
        "calibration_share": (0.05, 0.3), "max_leaf": (None, 0.5, 3.0),
    },
    RandomTreeBoosterClassifier: {"delta": (0, 1e-6, 1e-3), "total_step": ("auto", 1e-6, 1.0, 100.0, 1e4)},
}  # fmt: skip
FORESTS: Final = tuple(CHOICES)
_THREADED: Final = (MajorityLabelForestClassifier, RandomTreeBoosterClassifier)
_CHEAP: Final = 3_000  # a fit with more rows than this grows few trees


def settings_of(rng: np.random.Generator, kind: type[ForestClassifier], n: int, n_classes: int) -> dict[str, Any]:
    """Draw parameters for a table of n rows. A number drawn for `n_bound` is above n.

    The estimator may lack some of the parameters. The caller must remove such parameters.
    """
    settings: dict[str, Any] = {name: _one(rng, options) for name, options in CHOICES[kind].items()}
    settings["n_estimators"] = _one(rng, (1, 2, 3, 7) if n <= _CHEAP else (1, 2))
    if n <= 100 and n_classes <= 5 and rng.random() < 0.2:
        settings["n_estimators"] = "auto"
    settings["max_depth"] = _one(rng, (1, 2, 4, "auto") if n <= _CHEAP else (1, 2))
    settings["scale_share"] = _one(rng, ("auto", "public", 0.1, 0.5))
    settings["size"] = _one(rng, (None, 1, 40, n, 100 * n)) if rng.random() < 0.5 else None
    if settings["size"] is not None:
        settings["size"] = min(settings["size"], 1_000_000)
    # Greedy trees get one thread, because several threads would ask the questions of different trees in any order. The
    # other random forests get one thread, because they count rows with the code of `MajorityLabelForestClassifier`. Two
    # threads are rare, because they run lines in any order, so a replay compares only which lines run.
    settings["n_jobs"] = 2 if kind in _THREADED and rng.random() < 0.05 else None
    if kind is BoostedForestClassifier:
        settings |= _one(rng, _BOOSTED_LEAVES)
        settings["n_bound"] = n + int(rng.integers(1, 50)) if rng.random() < 0.7 else None
    if kind is JagannathanForestClassifier or kind is FriedmanSchusterClassifier and rng.random() < 0.7:
        settings["n_bound"] = n + int(rng.integers(1, 50))
    return settings


def _one(rng: np.random.Generator, options: tuple[Any, ...]) -> Any:
    return options[int(rng.integers(len(options)))]
