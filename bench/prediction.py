"""Time of our predictions and those of LightGBM, ONNX Runtime and Treelite: `python bench/prediction.py [--quick]`.

Each program predicts 300,000 rows of 14 numbers by 100 trees of depth 10, on one thread. LightGBM, ONNX Runtime and
Treelite predict with the same model, which LightGBM trained (`prediction_worker.py`). All programs get a float32 array,
and take turns in each round. This program is not part of the tests.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from measure import Results, interleave, seconds
from processes import ROOT, Peer

sys.path.insert(0, str(ROOT))
from dpforest import Domain, Feature, MajorityLabelForestClassifier, RandomTreeBoosterClassifier

N_FEATURES, N_TREES, DEPTH = 14, 100, 10
PEERS = ("LightGBM", "ONNX Runtime", "Treelite (GTIL)")


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return uniform numbers, and labels that depend on three of them and on noise."""
    rng = np.random.default_rng(0)
    X = rng.random((n, N_FEATURES), dtype=np.float32)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(0, 0.3, n) > 0.8).astype(int)


def our_forests(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return for each of our forests a function that predicts."""
    features = tuple(
        Feature(f"x{i}", "numeric", 0.0, 1.0, source="documented", source_note="uniform on [0, 1]")
        for i in range(N_FEATURES)
    )
    domain = Domain(features, (0, 1), "y", "documented", "two classes")
    shape = {"n_estimators": N_TREES, "max_depth": DEPTH, "domain": domain, "random_state": 0, "n_jobs": 1}
    labels = MajorityLabelForestClassifier(**shape).fit(X, y)
    booster = RandomTreeBoosterClassifier(**shape).fit(X, y)
    return {
        "majority labels, predict": labels.predict,
        "majority labels, predict_proba": labels.predict_proba,
        "random-tree booster, predict_proba": booster.predict_proba,
    }


def main() -> None:
    n, rounds = (30_000, 3) if "--quick" in sys.argv else (300_000, 7)
    X, y = rows(n)
    peers = Peer("LightGBM", "prediction_worker.py")
    leaves = peers.ask("fit", X=X, y=y, n_trees=N_TREES, depth=DEPTH)

    def timed(predict: Callable[[np.ndarray], np.ndarray]) -> float:
        start = time.perf_counter()
        predict(X)
        return time.perf_counter() - start

    runs: dict[str, Callable[[], float]] = {name: lambda f=f: timed(f) for name, f in our_forests(X, y).items()}
    runs |= {
        contender: lambda contender=contender: peers.ask("predict", contender=contender, X=X) for contender in PEERS
    }
    for run in runs.values():
        run()  # compiles kernels and fills caches
    results = Results()
    interleave(results, runs, rounds)
    print(f"{n:,} × {N_FEATURES}, {N_TREES} trees of depth {DEPTH}, one thread; medians of {rounds} rounds; LightGBM's")
    print(f"trees have {leaves:.0f} leaves on average, ours {2**DEPTH:,}.")
    for name in runs:
        samples = sorted(results.samples[name])
        print(f"{name:36} {seconds(results.median(name)):>9}   ({seconds(samples[0])} to {seconds(samples[-1])})")


if __name__ == "__main__":
    main()
