"""Time of a surface on Adult: the accuracy of a forest at every ε, depth and number of trees.

For comparison, a loop fits some cells (combinations of ε, depth and number of trees) one by one.
"""

import time
from pathlib import Path

import numpy as np
from measure import AT_LEAST, AT_MOST, Effort, Results, interleave, seconds

GRID = {"epsilons": np.geomspace(0.01, 10, 12).tolist(), "depths": range(1, 11), "trees": (10, 30, 60, 100)}
SMALL = {"epsilons": np.geomspace(0.01, 10, 12).tolist(), "depths": (2, 4, 6, 8, 10), "trees": (5, 10, 20, 50, 100)}
REPEATS, SAMPLE = 20, 24


def whole_surface(results: Results, folder: Path, effort: Effort) -> None:
    """Compute 12 ε x 10 depths x 4 numbers of trees x 20 repeats in two processes. Fit a sample of cells in a loop."""
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
    from sklearn.model_selection import train_test_split

    from dpforest import MajorityLabelForestClassifier, load_dataset
    from dpforest.simulation.sweep import surface

    data, with_defaults = load_dataset("adult"), MajorityLabelForestClassifier()
    shared = MajorityLabelForestClassifier(scale_share="public")  # has the same trees at every ε, for a fixed seed
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    rng = np.random.default_rng(0)

    def whole_grid(forest: MajorityLabelForestClassifier) -> float:
        start = time.perf_counter()
        table = surface([forest], data, **GRID, repeats=REPEATS, n_jobs=2)
        took = time.perf_counter() - start
        assert len(table) == 13 * 10 * 4 * REPEATS
        return took

    def small() -> float:
        start = time.perf_counter()
        table = surface([shared], data, **SMALL, repeats=5, n_jobs=2)
        took = time.perf_counter() - start
        assert len(table) == 1_500 + 5 * 25
        return took

    def one_by_one() -> float:
        """Return the seconds of `SAMPLE` cells in a plain loop: fit, predict, score."""
        start = time.perf_counter()
        for _ in range(SAMPLE):
            epsilon, depth, trees = (rng.choice(list(values)) for values in GRID.values())
            seed = int(rng.integers(REPEATS))
            model = MajorityLabelForestClassifier(
                epsilon=float(epsilon),
                max_depth=int(depth),
                n_estimators=int(trees),
                domain=data.domain,
                structure_seed=seed,
                random_state=seed,
            ).fit(X, y)
            share = model.predict_proba(X_test)[:, 1]
            predicted = model.classes_[(share > 0.5).astype(int)]
            accuracy_score(y_test, predicted)
            balanced_accuracy_score(y_test, predicted)
            roc_auc_score(y_test, share)
        return time.perf_counter() - start

    surface(
        [with_defaults], data, epsilons=[1.0], repeats=2, n_jobs=2
    )  # compiles the kernels, and starts the processes
    one_by_one()
    work = {
        "surface": lambda: whole_grid(shared),
        "surface, scale asked for": lambda: whole_grid(with_defaults),
        "grid of 1,500": small,
        "cells one by one": one_by_one,
    }
    interleave(results, work, effort.rounds)
    seconds_of_cell, cells = results.median("cells one by one") / SAMPLE, 12 * 10 * 4 * REPEATS
    for name, title, n, most, least in (
        ("surface", "one structure for all ε", cells, 15, 100),
        ("surface, scale asked for", "a structure for each ε", cells, 20, 0),
        ("grid of 1,500", "a small grid, one structure", 1_500, 15, 100),
    ):
        took = results.median(name)
        detail = f"{n:,} cells in {seconds(took)}; one cell by itself {seconds(seconds_of_cell)}"
        results.figure("14 surfaces", f"on Adult, two processes: {title}", took, "s", (AT_MOST, most), detail)
        results.figure(
            "14 surfaces",
            f"against a loop of fits: {title}",
            seconds_of_cell * n / took,
            "x",
            (AT_LEAST, least),
            detail,
        )


SURFACE_SUITES = {"surface": whole_surface}
