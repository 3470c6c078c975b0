"""Who is measured: ours and the peers, all with the same trees, depth, bounds and classes.

Imports happen in the functions, because no single environment has all of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

TREES = 100
DEPTH = 10
EPSILON = 1.0

Bounds = tuple[np.ndarray, np.ndarray]


def public_domain(bounds: Bounds) -> Any:
    """Numeric features between public bounds, classes 0 and 1: what the peers are told, for ours."""
    from dpforest import Domain, Feature

    known = {"source": "documented", "source_note": "synthetic"}
    features = [Feature(f"x{j}", "numeric", *pair, **known) for j, pair in enumerate(zip(*bounds, strict=True))]
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


# name -> (bounds, n_jobs) -> an estimator that has not seen data
CONTENDERS: dict[str, Callable] = {
    "labels": _labels("independent", None),  # MajorityLabelForestClassifier, each row in one tree, as diffprivlib does
    "labels demo": _labels("independent", 0),
    "labels shared": _labels("shared", None),  # the same, every row in every tree, as ExtraTrees does
    "counts": _counts,  # RandomDecisionForestClassifier, every row in every tree
    "diffprivlib": _diffprivlib,
    "ExtraTrees": _extra_trees,
}
