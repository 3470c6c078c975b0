"""The booster on tables of a million to a hundred million rows: `python bench/scale.py [largest number of rows]`.

Each fit runs in its own process: `fit_chunks` with one and two threads, a fit on a Dask cluster with one and two local
workers (up to ten million rows), and XGBoost and LightGBM without privacy, with as many trees of the same depth (above
ten million rows, with a tenth of them). The program prints a table for docs/SCALE.md. It is not part of the
tests. Run it on an idle machine.
"""

import json
import os
import subprocess
import sys
import time

from processes import HERE, ROOT, make_peer, python_of
from scale_rows import N_FEATURES, PART, Memory, Parts, resident, rows_of_part

SIZES = (1_000_000, 10_000_000, 100_000_000)
MOST_OF_DASK = 10_000_000
TREES, DEPTH = 300, 8  # values that the public rule chooses for a million rows or more


def booster(n_threads: int):
    """Return the unfitted booster with the domain of the rows."""
    from dpforest import Domain, Feature, RandomTreeBoosterClassifier

    note = {"source": "documented", "source_note": "uniform on [0, 1]"}
    features = tuple(Feature(f"x{i}", "numeric", 0.0, 1.0, **note) for i in range(N_FEATURES))
    domain = Domain(features, (0, 1), "y", "documented", "two classes")
    return RandomTreeBoosterClassifier(domain=domain, epsilon=1.0, n_jobs=n_threads)


def accuracy_of(model) -> float:
    """Return the accuracy of a fitted booster on 200,000 new rows."""
    X, y = rows_of_part(10**6, 200_000)
    return float((model.predict(X) == y).mean())


def in_parts(n_rows: int, n_threads: int) -> dict[str, float]:
    """Fit the booster with `fit_chunks`. Return the seconds, the memory in MB, and the accuracy."""
    model, parts = booster(n_threads), Parts(n_rows)
    model.fit_chunks([rows_of_part(0, 10_000)])  # compiles the kernels
    with Memory() as memory:
        start = time.perf_counter()
        model.fit_chunks(parts)
        seconds = time.perf_counter() - start - parts.seconds
    assert (model.forest_.trees.n_trees, model.forest_.trees.depth) == (TREES, DEPTH)
    about = {"private": memory.private, "with_files": memory.with_files, "accuracy": accuracy_of(model)}
    return {"seconds": seconds, **about}


def on_workers(n_rows: int, n_workers: int) -> dict[str, float]:
    """Fit the booster on a local Dask cluster. Return the seconds, the largest memory of a worker, and the accuracy."""
    import dask.dataframe as dd
    import pandas as pd
    from dask import delayed
    from distributed import Client, LocalCluster, wait

    def part(i: int) -> pd.DataFrame:
        X, y = rows_of_part(i, PART)
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)]).assign(y=y)

    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        frame = dd.from_delayed([delayed(part)(i) for i in range(n_rows // PART)], meta=part(0)[:0]).persist()
        wait(frame)
        model = booster(1)
        start = time.perf_counter()
        model.fit(frame.drop(columns="y"), frame["y"])
        seconds = time.perf_counter() - start
        workers = [resident(pid) for pid in client.run(lambda: __import__("os").getpid()).values()]
    return {
        "seconds": seconds,
        "private": max(p for p, _ in workers),
        "with_files": 0.0,
        "accuracy": accuracy_of(model),
    }


def case(*arguments: str) -> dict[str, float]:
    """Run one fit in a separate process, and return what it printed."""
    run = subprocess.run(
        [*arguments], capture_output=True, text=True, cwd=HERE, env={**os.environ, "PYTHONPATH": f"{ROOT}:{HERE}"}
    )
    if run.returncode:
        return {"error": run.returncode}
    return json.loads(run.stdout.splitlines()[-1])


def main(largest: int) -> None:
    make_peer("LightGBM")
    peers = python_of("LightGBM")
    print("| rows | fit | seconds | ns a row and round | private memory | accuracy |")
    print("| --- | --- | --- | --- | --- | --- |")
    for n in (size for size in SIZES if size <= largest):
        fits = {
            f"`fit_chunks`, {t} thread{'s' * (t > 1)}": (sys.executable, __file__, "parts", str(n), str(t))
            for t in (1, 2)
        }
        if n <= MOST_OF_DASK:
            for w in (1, 2):
                fits[f"Dask, {w} worker{'s' * (w > 1)}"] = (sys.executable, __file__, "dask", str(n), str(w))
        n_trees = dict.fromkeys(fits, TREES)
        for contender in ("XGBoost", "LightGBM"):
            trees = TREES if n <= MOST_OF_DASK else TREES // 10
            name = f"{contender}, 2 threads, no privacy, {trees} trees"
            fits[name] = (peers, "scale_peers.py", contender, str(n), str(trees), str(DEPTH), "2")
            n_trees[name] = trees
        for name, arguments in fits.items():
            figures = case(*arguments)
            if "error" in figures:
                print(f"| {n:,} | {name} | ended with exit code {figures['error']} | | | |", flush=True)
                continue
            nanoseconds = figures["seconds"] / n / n_trees[name] * 1e9
            print(
                f"| {n:,} | {name} | {figures['seconds']:.1f} | {nanoseconds:.1f} | {figures['private']:,.0f} MB | "
                f"{figures['accuracy']:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["parts"]:
        print(json.dumps(in_parts(int(sys.argv[2]), int(sys.argv[3]))))
    elif sys.argv[1:2] == ["dask"]:
        print(json.dumps(on_workers(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else max(SIZES))
