"""Train on the partitions of a Dask DataFrame: each worker counts its rows, and only counts travel.

    python examples/dask_dataframe.py

Counts of all partitions are added up, and each release is made once, from the sums: first the number of rows and the
scale of the attributes, and then the forest. The counts are exact, so the cluster must be allowed to see the rows. In
this example, the cluster is two threads of this process, and the rows are a bundled table. Other rows would come from
`dask.dataframe.read_parquet`.
"""

import dask.dataframe as dd
from dask import delayed
from distributed import Client, LocalCluster

from dpforest import MajorityLabelForestClassifier, load_dataset
from dpforest.models.random.random_structure import RandomStructureClassifier


def train(forest: RandomStructureClassifier, frame: dd.DataFrame, label: str) -> RandomStructureClassifier:
    """Fit on all partitions: first release the scale of the attributes, and then, on this scale, the leaves.

    If the domain declares a unit of privacy, a person's rows are first brought to one partition, by a hash.
    """
    if forest.domain is not None and forest.domain.unit is not None:
        frame = frame.shuffle(forest.domain.unit)

    @delayed
    def count(how, rows):
        return how(rows.drop(columns=label), rows[label])

    def count_all(how):
        parts = [count(how, rows) for rows in frame.to_delayed()]
        while len(parts) > 1:  # counts are added in groups of four, so that no worker holds all counts
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
        # To compare, fit with a seed, which is not certified. The draws for a row depend on the number of the row in
        # the index.
        demo = MajorityLabelForestClassifier(epsilon=1.0, domain=data.domain, random_state=0)
        there = train(demo, frame, data.label).released_.to_json(uncertified=True)
    print(forest.released_, forest.ledger_, sep="\n")
    print(f"Accuracy on its own rows, for the curator only: {forest.score(data.X, data.y):.3f}")
    assert there == demo.fit(data.X, data.y).released_.to_json(uncertified=True)
    print("With the same seeds, the forest is that of a fit in memory, bit for bit.")


if __name__ == "__main__":
    main()
