"""A process that measures one contender. It reads commands from stdin, one JSON object a line, and answers on stdout.

This program runs in our environment and in the environments of other packages. So it needs only numpy, scikit-learn and
the measured package.

{"do": "load", "X": "X.npy", "y": "y.npy"}                 -> {"loaded": true}
{"do": "fit", "contender": "labels", "n_jobs": 1}          -> {"seconds": 0.07, "cpu_seconds": 0.07}
{"do": "predict", "contender": "labels", "memory": true}   -> {"seconds": 0.64, "cpu_seconds": 0.64, "extra_mb": 31.5}
"""

import ctypes
import gc
import json
import sys
import time
import warnings

import numpy as np
from contenders import CONTENDERS


class Worker:
    def __init__(self):
        self.fitted = {}

    def load(self, X, y):
        self.X, self.y = np.load(X), np.load(y)
        self.bounds = self.X.min(axis=0), self.X.max(axis=0)
        return {"loaded": True}

    def warm(self, contender, n_jobs=1):
        """Fit a few rows, to compile the kernels and to do all other work of a first call."""
        model = CONTENDERS[contender](self.bounds, n_jobs).fit(self.X[:2000], self.y[:2000])
        model.predict(self.X[:2000])
        return {"warm": True}

    def fit(self, contender, n_jobs=1, memory=False):
        model = CONTENDERS[contender](self.bounds, n_jobs)
        answer = measured(lambda: model.fit(self.X, self.y), memory)
        self.fitted[contender, n_jobs] = model
        return answer

    def predict(self, contender, n_jobs=1, memory=False):
        model = self.fitted[contender, n_jobs]
        answer = measured(lambda: model.predict(self.X), memory)
        answer["accuracy"] = float(np.mean(model.predict(self.X[:20_000]) == self.y[:20_000]))
        return answer


def measured(work, memory):
    """Return wall time, processor time and, with `memory`, the peak growth of the process during the work (Linux)."""
    before = forget_peak() if memory else 0.0
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    answer = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    del result
    return {**answer, "extra_mb": memory_mb("VmHWM") - before} if memory else answer


def forget_peak():
    """Return free memory to the system, reset the peak, and return the current size in MB."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return memory_mb("VmRSS")


def memory_mb(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) * 1024 / 1e6


def main():
    warnings.simplefilter("ignore")
    worker = Worker()
    for line in sys.stdin:
        command = json.loads(line)
        answer = getattr(worker, command.pop("do"))(**command)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
