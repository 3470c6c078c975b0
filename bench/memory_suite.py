"""Data larger than memory: a forest fitted on up to a hundred million rows, with one part in memory at a time."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from contenders import DEPTH, TREES, public_domain
from measure import AT_MOST, Effort, Results, seconds
from processes import HERE, ask, python_of
from worker import measured

SIZES = (10**6, 10**7, 10**8)
FEATURES, CHUNK_ROWS = 10, 2**17
ITEM = "15 larger than memory"
ONE_SIZE = (
    "import sys, json; sys.path.insert(0, {here!r}); import memory_suite; print(json.dumps(memory_suite.fit({n})))"
)


def chunked(results: Results, folder: Path, effort: Effort) -> None:
    """Fit 100 trees of depth 10, each row in one tree, with a separate process for each size."""
    sizes = SIZES if effort.large >= SIZES[0] else SIZES[:-1]
    extra = {}
    for n in sizes:
        answer = ask(python_of("dpforest"), ONE_SIZE.format(here=str(HERE), n=n))
        took, extra[n] = answer["seconds"] - answer["making"], answer["extra_mb"]
        results.add(f"chunked n={n}", took)
        results.add(f"extra MB chunked n={n}", extra[n])
        detail = (
            f"{seconds(took)}, and {seconds(answer['making'])} more to make the rows; accuracy {answer['accuracy']:.3f}"
        )
        results.figure(ITEM, f"fit on {n:,} rows", n / took / 1e6, "million rows/s", None, detail)
        chunk_mb = 8e-6 * CHUNK_ROWS * FEATURES
        detail = f"at peak, above a warm process; a chunk of {CHUNK_ROWS:,} rows takes {chunk_mb:.1f} MB"
        results.figure(ITEM, f"memory, {n:,} rows", extra[n], "MB", None, detail)
    few, many = sizes[0], sizes[-1]
    title, detail = f"memory, {many:,} rows against {few:,}", f"{extra[many]:.1f} MB against {extra[few]:.1f} MB"
    results.figure(ITEM, title, extra[many] / extra[few], "x", (AT_MOST, 1.2), detail)


def fit(n: int) -> dict[str, float]:
    """Fit a forest on n rows, and return four measurements.

    The measurements are the seconds of the fit, the part of these seconds that went into generating rows ("making"),
    the peak memory above the memory before the fit, and the accuracy.
    """
    from dpforest import MajorityLabelForestClassifier

    domain = public_domain((np.zeros(FEATURES), np.ones(FEATURES)))
    forest = MajorityLabelForestClassifier(n_estimators=TREES, max_depth=DEPTH, domain=domain, random_state=0)
    forest.fit_chunks(chunks(2_000, []))  # compiles the kernels
    making: list[float] = []
    measurement = measured(lambda: forest.fit_chunks(chunks(n, making)), memory=True)
    X, y = next(chunks(CHUNK_ROWS, []))
    return {**measurement, "making": sum(making), "accuracy": forest.score(X, y)}


def chunks(n: int, making: list[float]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows in chunks, and append to `making` the seconds that it took to generate each chunk.

    Row i does not depend on n. The generator (Philox, Salmon et al. 2011) computes each number from its position.
    """
    for start in range(0, n, CHUNK_ROWS):
        began = time.perf_counter()
        draws = np.random.Philox(key=0).advance(start * FEATURES // 4)  # each counter value yields four numbers
        X = np.random.Generator(draws).random((min(CHUNK_ROWS, n - start), FEATURES))
        y = ((X[:, 0] + X[:, 1] > 1) ^ (X[:, 2] < 0.1)).astype(np.int32)
        making.append(time.perf_counter() - began)
        yield X, y


MEMORY_SUITES = {"chunked": chunked}
