"""A process that draws synthetic rows with AIM or MST of dpmm, for `bench/accuracy_peers.py`.

It runs in the environment that `peers.sh dpmm` makes, reads a pickled command on stdin, and answers on stdout:

    {"do": "draw", "columns": columns, "sizes": sizes, ...}    -> (list of bin edges or None, int array of rows)

A column is an array of numbers, or of codes 0, 1, ... Its size is (low, high, integer) for numbers, and the number of
codes otherwise. dpmm gets codes only, with their public sizes. So it reads nothing else from the rows than it should,
except the number of rows. (Its `TableBinner` would also read which columns are constant.) dpmm draws its noise from the
operating system: a second run has other figures.

With dpmm's defaults, a fit of AIM can take hours. So AIM measures fewer marginals (`ROUNDS`), each with less
noise, and the model is adapted to the noisy marginals in fewer steps (`STEPS`). The guarantee stays the same.
"""

import numpy as np
import pandas as pd
from dpmm.models import aim, mst
from dpmm.models.base.mbi import FactoredInference
from dpmm.models.base.mechanisms import mechanism as mechanisms
from dpmm.pipelines import AIMPipeline, MSTPipeline
from dpmm.processing.binners import PrivTreeBinner
from peer_worker import serve

PIPELINES = {"AIM": AIMPipeline, "MST": MSTPipeline}
BINS = 0.1  # share of ε that pays for bins that depend on the rows
STEPS = {"AIM": 100, "MST": 300}  # of each adaptation; dpmm has 1,000 for AIM, and 2,500 and 5,000 for MST
ROUNDS = 4  # rounds of AIM by column; dpmm has 16


def uniform_edges(low, high, integer, n_bins):
    """Return the edges of bins of equal widths; at most one bin for each whole number if there are no others."""
    high = high + 1 if integer else high
    return np.linspace(low, high, 1 + (int(min(n_bins, high - low)) if integer else n_bins))


def private_edges(numbers, low, high, integer, n_bins, epsilon, random_state):
    """Return the edges of the bins that dpmm's PrivTree makes with ε."""
    high = high + 1 if integer else high
    binner = PrivTreeBinner(n_bins=n_bins, epsilon=epsilon, lower=low, upper=high, rnd=random_state)
    binner.fit(numbers)
    return np.array(binner.bins, dtype=float)


def _with_steps(steps):
    """Return a function that makes a FactoredInference with this number of steps."""
    return lambda *arguments, **parameters: FactoredInference(*arguments, **{**parameters, "iters": steps})


class Worker:
    def draw(self, columns, sizes, mechanism, epsilon, delta, n_bins, private_bins, max_model_size, random_state):
        """Return as many synthetic rows as there are rows; numbers as codes of bins, and the edges of these bins."""
        rng = np.random.RandomState(random_state)
        n_numeric = sum(isinstance(size, tuple) for size in sizes)
        epsilon_of_bins = BINS * epsilon if private_bins and n_numeric else 0
        table, domain, edges = {}, {}, []
        for j, (column, size) in enumerate(zip(columns, sizes, strict=True)):
            edges.append(None)
            if isinstance(size, tuple):
                if private_bins:
                    edges[j] = private_edges(column, *size, n_bins, epsilon_of_bins / n_numeric, rng)
                else:
                    edges[j] = uniform_edges(*size, n_bins)
                column, size = np.searchsorted(edges[j][1:-1], column, side="right"), len(edges[j]) - 1
            table[f"x{j}"], domain[f"x{j}"] = column, size
        for module in (aim, mst, mechanisms):
            module.FactoredInference = _with_steps(STEPS[mechanism])
        pipeline = PIPELINES[mechanism](
            epsilon=epsilon - epsilon_of_bins,
            delta=delta,
            max_model_size=max_model_size,
            n_jobs=1,
            gen_kwargs={"rounds": ROUNDS * len(columns)} if mechanism == "AIM" else {},
            disable_processing=True,
        )
        pipeline.fit(pd.DataFrame(table), domain=domain, random_state=rng)
        rows = pipeline.generate(n_records=len(columns[0]), random_state=rng)
        return edges, rows[list(table)].to_numpy(dtype=np.int64)


if __name__ == "__main__":
    serve(Worker())
