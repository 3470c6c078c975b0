"""Train on the partitions of a Dask DataFrame: rows are counted where they are, only counts travel.

    python examples/dask_dataframe.py

Counts of all partitions are added up, and all is released once, from the sums: how many rows there are and where they
lie, and then the forest. They are exact, so the cluster must be one that may see the rows. Here it is two threads of
this process, and the rows are those of a bundled table; elsewhere they would come from `dask.dataframe.read_parquet`.
"""

import dask.dataframe as dd
from dask import delayed
from distributed import Client, LocalCluster

from dpforest import MajorityLabelForestClassifier, load_dataset
from dpforest.models.random.random_structure import RandomStructureClassifier


def train(forest: RandomStructureClassifier, frame: dd.DataFrame, label: str) -> RandomStructureClassifier:
    """Fit on all partitions, wherever they are: first where the rows lie, and then, with that released, the leaves."""

    @delayed
    def count(how, rows):
        return how(rows.drop(columns=label), rows[label])

    def count_all(how):
        parts = [count(how, rows) for rows in frame.to_delayed()]
        while len(parts) > 1:  # by fours, so that no worker holds the counts of all
            parts = [delayed(sum)(parts[i : i + 4]) for i in range(0, len(parts), 4)]
        return parts[0].compute()

    forest.fit_scale(count_all(forest.partial_scale))
    return forest.fit_counts(count_all(forest.partial_counts))


def main(name: str = "pendigits", n_partitions: int = 8) -> None:
    data = load_dataset(name)
    frame = dd.from_pandas(data.table, npartitions=n_partitions)
    cluster = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**cluster) as where, Client(where):
        forest = train(MajorityLabelForestClassifier(epsilon=1.0, domain=data.domain), frame, data.label)
        # With a seed, which is not certified, to compare: what is drawn for a row belongs to its number in the index.
        demo = MajorityLabelForestClassifier(epsilon=1.0, domain=data.domain, random_state=0)
        there = train(demo, frame, data.label).released_.to_json(uncertified=True)
    print(forest.released_, forest.ledger_, sep="\n")
    print(f"Accuracy on its own rows, for the curator only: {forest.score(data.X, data.y):.3f}")
    assert there == demo.fit(data.X, data.y).released_.to_json(uncertified=True)
    print("With the same seeds, the forest is that of a fit in memory, bit for bit.")


if __name__ == "__main__":
    main()
