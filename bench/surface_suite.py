"""A whole surface on Adult, beside the loop of separate fits that gives the same cells."""

import time
from pathlib import Path

import numpy as np
from measure import AT_LEAST, AT_MOST, Effort, Results, interleave, seconds

GRID = {"epsilons": np.geomspace(0.01, 10, 12).tolist(), "depths": range(1, 11), "trees": (10, 30, 60, 100)}
REPEATS, SAMPLE = 20, 24


def whole_surface(results: Results, folder: Path, effort: Effort) -> None:
    """12 ε x 10 depths x 4 numbers of trees x 20 repeats, two processes; a sample of its cells fitted one by one."""
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
    from sklearn.model_selection import train_test_split

    from dpforest import MajorityLabelForestClassifier, load_dataset
    from dpforest.evaluation.sweep import surface

    data, forest = load_dataset("adult"), MajorityLabelForestClassifier()
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    rng = np.random.default_rng(0)

    def at_once() -> float:
        start = time.perf_counter()
        table = surface([forest], data, **GRID, repeats=REPEATS, n_jobs=2)
        took = time.perf_counter() - start
        assert len(table) == 13 * 10 * 4 * REPEATS
        return took

    def one_by_one() -> float:
        """Seconds of `SAMPLE` cells, as one would write the loop: fit, predict, score."""
        start = time.perf_counter()
        for _ in range(SAMPLE):
            epsilon, depth, trees = (rng.choice(list(values)) for values in GRID.values())
            seed = int(rng.integers(REPEATS))
            model = MajorityLabelForestClassifier(
                epsilon=float(epsilon), max_depth=int(depth), n_estimators=int(trees), domain=data.domain,
                structure_seed=seed, random_state=seed,
            ).fit(X, y)  # fmt: skip
            share = model.predict_proba(X_test)[:, 1]
            predicted = model.classes_[(share > 0.5).astype(int)]
            accuracy_score(y_test, predicted)
            balanced_accuracy_score(y_test, predicted)
            roc_auc_score(y_test, share)
        return time.perf_counter() - start

    surface([forest], data, epsilons=[1.0], repeats=2, n_jobs=2)  # compile, and start the processes
    one_by_one()
    interleave(results, {"surface": at_once, "cells one by one": one_by_one}, effort.rounds)
    took, each = results.median("surface"), results.median("cells one by one") / SAMPLE
    cells = 12 * 10 * 4 * REPEATS
    detail = f"{cells:,} cells in {seconds(took)}; one cell by itself {seconds(each)}"
    results.figure("14 surfaces", "whole surface on Adult, two processes", took, "s", (AT_MOST, 15), detail)
    results.figure("14 surfaces", "against a loop of fits", each * cells / took, "x", (AT_LEAST, 50), detail)


SURFACE_SUITES = {"surface": whole_surface}
