"""Rows for `bench/scale.py`: uniform numbers in parts of a million rows, and the memory of this process.

Only numpy is needed, because the peers' environment imports this file too.
"""

import threading
import time
from collections.abc import Iterator

import numpy as np

N_FEATURES, PART = 14, 1_000_000


def rows_of_part(part: int, n: int, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of one part, and labels that depend on three columns and on noise."""
    rng = np.random.default_rng(part)
    X = rng.random((n, N_FEATURES), dtype=np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(0, 0.3, n) > 0.8).astype(np.int32)
    return X.astype(dtype, copy=False), y


class Parts:
    """All rows, part by part. `seconds` is the time spent on making the rows, which is not part of a fit."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.seconds = n_rows, 0.0

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part, first in enumerate(range(0, self.n_rows, PART)):
            start = time.perf_counter()
            rows = rows_of_part(part, min(PART, self.n_rows - first))
            self.seconds += time.perf_counter() - start
            yield rows


class Memory:
    """Watches the largest resident memory of this process, in MB: its private pages, and pages of mapped files."""

    def __init__(self) -> None:
        self.private = self.with_files = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            private, with_files = resident()
            self.private, self.with_files = max(self.private, private), max(self.with_files, with_files)


def resident(pid: str = "self") -> tuple[float, float]:
    """Return the resident memory of a process in MB: private pages, and all pages."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in status if line.startswith(("RssA", "VmRSS"))}
    return kilobytes["RssAnon"] / 1024, kilobytes["VmRSS"] / 1024
