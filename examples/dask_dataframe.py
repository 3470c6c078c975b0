"""Train on a Dask DataFrame: the rows stay on the workers, and only exact counts or sums of gradients travel.

    python examples/dask_dataframe.py

The counts and sums are exact, so the cluster must be allowed to see the rows. In this example, the cluster is two
threads of this process, and the rows are a bundled table. Other rows would come from `dask.dataframe.read_parquet`.
"""

import dask.dataframe as dd
from distributed import Client, LocalCluster

from dpforest import MajorityLabelForestClassifier, RandomTreeBoosterClassifier, load_dataset


def main(name: str = "pendigits", n_partitions: int = 8) -> None:
    data = load_dataset(name)
    frame = dd.from_pandas(data.table, npartitions=n_partitions)
    X, y = frame.drop(columns=data.label), frame[data.label]
    cluster = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**cluster) as where, Client(where):
        for kind in (MajorityLabelForestClassifier, RandomTreeBoosterClassifier):
            forest = kind(epsilon=1.0, domain=data.domain).fit(X, y)
            print(forest.released_, forest.ledger_, sep="\n")
            print(f"Accuracy on the fitted rows, for the curator only: {forest.score(data.X, data.y):.3f}")
            # To compare, fit with a seed, which is not certified. The draws for a row depend on the number of the row
            # in the index.
            demo = kind(epsilon=1.0, domain=data.domain, random_state=0)
            there = demo.fit(X, y).released_.to_json(uncertified=True)
            assert there == demo.fit(data.X, data.y).released_.to_json(uncertified=True)
    print("With the same seeds, each forest is that of a fit in memory, bit for bit.")


if __name__ == "__main__":
    main()
