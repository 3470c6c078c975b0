"""The contenders of the benchmark: our forests, and the classifiers of other packages (the peers).

The constants hold the settings that several contenders share. Each function imports the packages that it needs, because
no single environment has all packages.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

TREES = 100
DEPTH = 10
EPSILON = 1.0

# Settings of gradient boosting: number of trees, depth of each tree, and number of bins of each feature.
ROUNDS = 20
ROUND_DEPTH = 6
BINS = 50

Bounds = tuple[np.ndarray, np.ndarray]


def public_domain(bounds: Bounds) -> Any:
    """Return the domain of our forests: numeric features with public bounds, and the classes 0 and 1.

    The peers get the same bounds.
    """
    from dpforest import Domain, Feature

    source = {"source": "documented", "source_note": "synthetic"}
    features = [Feature(f"x{j}", "numeric", *pair, **source) for j, pair in enumerate(zip(*bounds, strict=True))]
    return Domain(tuple(features), (0, 1), "y", "documented", "synthetic")


def _labels(partition: str, random_state: int | None) -> Callable:
    def make(bounds: Bounds, n_jobs: int) -> Any:
        from dpforest import MajorityLabelForestClassifier

        return MajorityLabelForestClassifier(
            epsilon=EPSILON,
            n_estimators=TREES,
            max_depth=DEPTH,
            partition=partition,
            domain=public_domain(bounds),
            random_state=random_state,
            n_jobs=n_jobs,
        )

    return make


def _counts(bounds: Bounds, n_jobs: int) -> Any:
    from dpforest import RandomDecisionForestClassifier

    return RandomDecisionForestClassifier(
        epsilon=EPSILON, n_estimators=TREES, max_depth=DEPTH, domain=public_domain(bounds), n_jobs=n_jobs
    )


def _boosted(random_state: int | None, **parameters: Any) -> Callable:
    def make(bounds: Bounds, n_jobs: int) -> Any:
        from dpforest import BoostedForestClassifier

        return BoostedForestClassifier(
            epsilon=EPSILON,
            n_estimators=ROUNDS,
            max_depth=ROUND_DEPTH,
            n_bins=BINS,
            neighbors="replace-one",
            domain=public_domain(bounds),
            random_state=random_state,
            n_jobs=n_jobs,
            **parameters,
        )

    return make


def _booster(delta: float) -> Callable:
    def make(bounds: Bounds, n_jobs: int) -> Any:
        from dpforest import RandomTreeBoosterClassifier

        return RandomTreeBoosterClassifier(epsilon=EPSILON, delta=delta, domain=public_domain(bounds), n_jobs=n_jobs)

    return make


def _multinomial(random_state: int | None, **parameters: Any) -> Callable:
    def make(bounds: Bounds, n_jobs: int) -> Any:
        from dpforest import MultinomialForestClassifier

        common = {"n_estimators": TREES, "domain": public_domain(bounds), "random_state": random_state}
        return MultinomialForestClassifier(n_jobs=n_jobs, **{"epsilon": EPSILON, **common, **parameters})

    return make


def _hist_gradient_boosting(bounds: Bounds, n_jobs: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(  # reads its number of threads from OMP_NUM_THREADS, not from n_jobs
        max_iter=ROUNDS, max_depth=ROUND_DEPTH, max_leaf_nodes=None, max_bins=BINS, early_stopping=False
    )


def _hist_with_defaults() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier()


def _explainable_boosting(bounds: Bounds, n_jobs: int) -> Any:
    from interpret.privacy import DPExplainableBoostingClassifier

    pairs = dict(enumerate(zip(*(bound.tolist() for bound in bounds), strict=True)))
    return DPExplainableBoostingClassifier(
        epsilon=EPSILON, feature_types=["continuous"] * len(pairs), privacy_bounds=pairs, n_jobs=n_jobs
    )


def _random_forest(max_depth: int | None) -> Callable:
    def make(bounds: Bounds, n_jobs: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_estimators=TREES, max_depth=max_depth, n_jobs=n_jobs)

    return make


def _diffprivlib(bounds: Bounds, n_jobs: int) -> Any:
    from diffprivlib import BudgetAccountant
    from diffprivlib.models import RandomForestClassifier

    return RandomForestClassifier(
        n_estimators=TREES,
        max_depth=DEPTH,
        epsilon=EPSILON,
        bounds=bounds,
        classes=[0, 1],
        accountant=BudgetAccountant(),
        n_jobs=n_jobs,
    )


def _extra_trees(bounds: Bounds, n_jobs: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=TREES, max_depth=DEPTH, max_features=1, bootstrap=False, n_jobs=n_jobs)


# Each name of a contender has a function that takes (bounds, n_jobs) and returns an unfitted estimator.
CONTENDERS: dict[str, Callable] = {
    "labels": _labels("independent", None),  # MajorityLabelForestClassifier, each row in one tree, as in diffprivlib
    "labels demo": _labels("independent", 0),
    "labels shared": _labels("shared", None),  # the same with every row in every tree, as in ExtraTrees
    "counts": _counts,  # RandomDecisionForestClassifier, every row in every tree
    "diffprivlib": _diffprivlib,
    "ExtraTrees": _extra_trees,
    "boosted": _boosted(None),
    "boosted demo": _boosted(0),
    "boosted calibrated": _boosted(0, alpha="noisy"),
    "booster, δ = 0": _booster(0),
    "booster, δ = 1e-6": _booster(1e-6),
    "HistGradientBoosting": _hist_gradient_boosting,
    "HistGradientBoosting as it comes": lambda bounds, n_jobs: _hist_with_defaults(),
    "DPExplainableBoosting": _explainable_boosting,
    "multinomial": _multinomial(None),
    "multinomial demo": _multinomial(0),
    "multinomial shared": _multinomial(None, partition="shared"),
    "multinomial shared demo": _multinomial(0, partition="shared"),
    "multinomial published": _multinomial(0, mode="as_published", epsilon=None),
    "RandomForest": _random_forest(None),
    "RandomForest of depth 4": _random_forest(4),
}
