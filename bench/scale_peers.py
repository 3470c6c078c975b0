"""XGBoost and LightGBM without privacy, in the environment of `peers.sh lightgbm`, for `bench/scale.py`.

    python scale_peers.py XGBoost 1000000 300 6 2

trains 300 trees of depth 6 in two threads, and prints its seconds, memory and accuracy as JSON. Both programs hold all
rows in memory.
"""

import json
import sys
import time

import numpy as np
from scale_rows import N_FEATURES, PART, Memory, Parts, rows_of_part


def main(program: str, n_rows: int, n_trees: int, depth: int, n_threads: int) -> dict[str, float]:
    parts = Parts(n_rows)
    X, y = np.empty((n_rows, N_FEATURES), np.float32), np.empty(n_rows, np.float32)
    for i, (rows, labels) in enumerate(parts):
        X[i * PART : (i + 1) * PART], y[i * PART : (i + 1) * PART] = rows, labels
    held_out, truth = rows_of_part(10**6, 200_000, np.float32)
    with Memory() as memory:
        start = time.perf_counter()
        if program == "XGBoost":
            import xgboost

            options = {"max_depth": depth, "nthread": n_threads, "objective": "binary:logistic", "tree_method": "hist"}
            model = xgboost.train(options, xgboost.QuantileDMatrix(X, y), n_trees)
            seconds = time.perf_counter() - start
            shares = model.predict(xgboost.DMatrix(held_out))
        else:
            import lightgbm

            options = {"max_depth": depth, "num_leaves": 2**depth, "objective": "binary", "num_threads": n_threads}
            model = lightgbm.train({**options, "verbose": -1}, lightgbm.Dataset(X, y), n_trees)
            seconds = time.perf_counter() - start
            shares = model.predict(held_out)
    accuracy = float(((shares > 0.5) == truth).mean())
    return {"seconds": seconds, "private": memory.private, "with_files": memory.with_files, "accuracy": accuracy}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
