"""Suites for items 1 to 8 of the benchmark's results.

Each suite is a function that takes the results, a folder for tables, and the effort (numbers of rows and rounds).
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import numpy as np
from contenders import DEPTH, TREES, public_domain
from measure import AT_LEAST, AT_MOST, CPU, Effort, Results, interleave, seconds
from processes import ROOT, Worker, ask, python_of

PEERS = ("diffprivlib", "ExtraTrees")
OURS = ("labels", "labels demo", "labels shared", "counts")


def write_table(folder: Path, n: int) -> tuple[Path, Path]:
    """Write a synthetic table of n rows, once for each folder: 14 float64 features, and integer labels."""
    from sklearn.datasets import make_classification

    X_path, y_path = folder / f"X{n}.npy", folder / f"y{n}.npy"
    if not X_path.exists():
        X, y = make_classification(n, n_features=14, n_informative=8, random_state=0)
        np.save(X_path, X)
        np.save(y_path, y)
    return X_path, y_path


def routing(results: Results, folder: Path, effort: Effort) -> None:
    """Measure how many nodes the rows pass per second on one core. This work dominates fits and predictions."""
    from dpforest.trees.random_trees import grow_random_trees
    from dpforest.trees.routing import count_rows, leaves_of_rows, scorer

    n = effort.routing_rows
    X, y = (np.load(path) for path in write_table(folder, n))
    domain = public_domain((X.min(axis=0), X.max(axis=0)))
    codes, y = domain.encode(X), domain.encode_labels(y)
    trees = grow_random_trees(domain, n_trees=TREES, depth=DEPTH, seed=0)
    votes = scorer(trees, domain, np.random.default_rng(0).integers(0, 2, trees.n_leaves).astype(np.uint8))
    work = {
        "leaves": lambda: leaves_of_rows(trees, domain, codes),
        "votes": lambda: votes(codes),
        "counts": lambda: count_rows(trees, domain, codes, y, n_classes=2),
    }
    for run in work.values():
        run()
    runs = {f"routing {kind} n={n}": lambda run=run: timed(run) for kind, run in work.items()}
    interleave(results, runs, effort.rounds)
    for kind in work:
        took = results.median(f"routing {kind} n={n}")
        rate = n * TREES * DEPTH / took / 1e6
        detail = f"{n:,} rows, {TREES} trees of depth {DEPTH}: {seconds(took)}"
        results.figure("1 routing", f"routing, {kind}", rate, "million steps/s", (AT_LEAST, 600), detail)


def against_peers(results: Results, folder: Path, effort: Effort) -> None:
    """Compare our fits (releases included) and predictions with diffprivlib and ExtraTrees, on both tables."""
    for n in (effort.small, effort.large):
        rounds = effort.rounds if n == effort.small else effort.slow_rounds
        with ExitStack() as stack:
            tables = write_table(folder, n)
            processes = {
                contender: stack.enter_context(Worker(python_of(contender), *tables))
                for contender in (*PEERS, "labels")
            }
            workers = {contender: processes.get(contender, processes["labels"]) for contender in (*PEERS, *OURS)}
            for contender, worker in workers.items():
                worker("warm", contender=contender)
            for do in ("fit", "predict"):
                names = {contender: f"{do} {contender} n={n}" for contender in workers}
                interleave(
                    results,
                    {name: asks(results, name, workers[contender], do, contender) for contender, name in names.items()},
                    rounds,
                )
        _compare(results, n, with_extra_trees=n == effort.large)


def _compare(results: Results, n: int, *, with_extra_trees: bool) -> None:
    def ratio(item: str, do: str, peer: str, us: str, least: float) -> None:
        title = f"{do}, {us}, against {peer}, {n:,} rows"
        results.ratio(item, title, f"{do} {peer} n={n}", f"{do} {us} n={n}", least)

    ratio("2 rows shared out", "fit", "diffprivlib", "labels", 20)
    ratio("2 rows shared out", "fit", "diffprivlib", "labels demo", 20)
    if with_extra_trees:
        ratio("3 every row in every tree", "fit", "ExtraTrees", "counts", 10)
        ratio("3 every row in every tree", "fit", "ExtraTrees", "labels shared", 10)
    for us in ("labels", "counts"):
        ratio("4 prediction", "predict", "diffprivlib", us, 3)
        ratio("4 prediction", "predict", "ExtraTrees", us, 3)


def threads(results: Results, folder: Path, effort: Effort) -> None:
    """Compare two threads with one, on the large table."""
    n = effort.large
    with Worker(python_of("labels"), *write_table(folder, n)) as worker:
        for contender in ("labels", "labels shared"):
            for jobs in (1, 2):
                worker("warm", contender=contender, n_jobs=jobs)
            for do in ("fit", "predict"):
                names = {jobs: f"{do} {contender} n={n} n_jobs={jobs}" for jobs in (1, 2)}
                runs = {name: asks(results, name, worker, do, contender, n_jobs=jobs) for jobs, name in names.items()}
                interleave(results, runs, effort.rounds)
    for do, contender, least in (
        ("fit", "labels shared", 1.7),
        ("predict", "labels shared", 1.7),
        ("fit", "labels", None),
    ):
        one, two = (f"{do} {contender} n={n} n_jobs={jobs}" for jobs in (1, 2))
        results.ratio(
            "5 two threads", f"{do}, {contender}, 2 threads against 1, {n:,} rows", one, two, least, one_thread=False
        )


def memory(results: Results, folder: Path, effort: Effort) -> None:
    """Measure how much memory a fit and a prediction need, in a warm process that has already loaded the table."""
    n = effort.large
    for contender in ("labels", "labels shared", "counts", *PEERS):
        with Worker(python_of(contender), *write_table(folder, n)) as worker:
            worker("warm", contender=contender)
            for do in ("fit", "predict"):
                extra = worker(do, contender=contender, memory=True)["extra_mb"]
                results.add(f"extra MB {do} {contender} n={n}", extra)
                goal = (AT_MOST, 40) if contender in OURS else None
                title, detail = f"{do}, {contender}, {n:,} rows", "at peak, above the loaded table"
                results.figure("6 memory", title, extra, "MB", goal, detail)


def exact_noise(results: Results, folder: Path, effort: Effort) -> None:
    """Measure the exact samplers alone, on the leaves of 100 trees: 4,096 leaves each, two classes."""
    from dpforest.trees.random_trees import grow_random_trees
    from dpforest.trees.routing import count_rows

    X, y = (np.load(path) for path in write_table(folder, effort.small))
    domain = public_domain((X.min(axis=0), X.max(axis=0)))
    trees = grow_random_trees(domain, n_trees=TREES, depth=12, seed=0)
    counts = count_rows(trees, domain, X, domain.encode_labels(y), n_classes=2)
    runs = {}
    for epsilon in (Fraction(1, 10), Fraction(1, 7), Fraction(1)):
        for partition in ("independent", "shared"):
            for mechanism in ("permute-and-flip", "discrete-laplace"):
                runs[f"noise {mechanism}, {partition}, ε={epsilon}"] = _release(counts, mechanism, partition, epsilon)
    for run in runs.values():
        run()
    interleave(results, runs, effort.rounds)
    for name in runs:
        title, detail = name.removeprefix("noise "), "100 trees, 4,096 leaves, 2 classes"
        results.figure("7 exact noise", title, results.median(name), "s", (AT_MOST, 0.5), detail)


def _release(counts: np.ndarray, mechanism: str, partition: str, epsilon: Fraction) -> Callable[[], float]:
    from dpforest.privacy import release
    from dpforest.privacy.ledger import Ledger
    from dpforest.privacy.randomness import SecretSource

    def run() -> float:
        arguments = {"epsilon": epsilon, "n_trees": TREES, "partition": partition, "neighbors": "add-remove"}
        arguments |= {"ledger": Ledger(epsilon, "add-remove"), "source": SecretSource()}
        if mechanism == "discrete-laplace":
            return timed(lambda: release.release_counts(counts, **arguments))
        return timed(lambda: release.release_labels(counts, mechanism=mechanism, **arguments))

    return run


def compile_time(results: Results, folder: Path, effort: Effort) -> None:
    """Measure the compile time of the first forest, on the small table."""
    starts(results, "8 compile time", "labels", write_table(folder, effort.small), effort)


def starts(results: Results, item: str, contender: str, tables: tuple[Path, Path], effort: Effort) -> None:
    """Measure import, first fit and first prediction in a new process, without and then with cached code."""
    program = f"""
import json, sys, time
sys.path.insert(0, {str(ROOT / "bench")!r})
start = time.perf_counter()
import numpy as np, dpforest
from contenders import CONTENDERS
imported = time.perf_counter()
X, y = np.load({str(tables[0])!r}), np.load({str(tables[1])!r})
bounds = X.min(axis=0), X.max(axis=0)
ready = time.perf_counter()
model = CONTENDERS[{contender!r}](bounds, 1).fit(X, y)
fitted = time.perf_counter()
model.predict(X)
print(json.dumps([imported - start, fitted - ready, time.perf_counter() - fitted]))
"""
    for _ in range(max(1, effort.slow_rounds // 2)):
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                took = ask(python_of(contender), program, NUMBA_CACHE_DIR=cache)
                for phase, value in zip(("import", "first fit", "first prediction"), took, strict=True):
                    results.add(f"{state} {phase}, {contender}", value)
    for state in ("cold", "warm"):
        steps = {
            phase: results.median(f"{state} {phase}, {contender}")
            for phase in ("import", "first fit", "first prediction")
        }
        detail = ", ".join(f"{phase} {seconds(value)}" for phase, value in steps.items())
        total = sum(steps.values())
        results.figure(item, f"{state} start", total, "s", None, detail)


def asks(results: Results, name: str, worker: Worker, do: str, contender: str, n_jobs: int = 1) -> Callable[[], float]:
    """Return a function that sends one request, records its processor time, and returns its wall time."""

    def run() -> float:
        answer = worker(do, contender=contender, n_jobs=n_jobs)
        results.add(f"{CPU}{name}", answer["cpu_seconds"])
        return answer["seconds"]

    return run


def timed(work: Callable[[], object]) -> float:
    """Return the wall time of a function call, in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


SUITES = {
    "routing": routing,
    "peers": against_peers,
    "threads": threads,
    "memory": memory,
    "noise": exact_noise,
    "compile": compile_time,
}
