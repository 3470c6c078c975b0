"""Send a sweep over ε, depth and trees to a Dask cluster. The call is the same as on the cores of your machine.

    python examples/dask_sweep.py

`dpforest.simulation.sweep` runs its tasks through joblib, so the configuration of joblib names the cluster. For Ray:
`pip install ray`, then `from ray.util.joblib import register_ray`, `register_ray()`, and "ray" for "dask" below.
"""

import joblib
from distributed import Client, LocalCluster

from dpforest import MajorityLabelForestClassifier, RandomDecisionForestClassifier, load_dataset
from dpforest.simulation.sweep import summary, surface


def main(name: str = "magic", repeats: int = 4) -> None:
    data = load_dataset(name)
    forests = [MajorityLabelForestClassifier(), RandomDecisionForestClassifier()]
    grid = {"epsilons": [0.1, 1, 10], "depths": [2, 4, 8], "trees": [10, 50]}

    # Two threads of this process. For another cluster, Client("tcp://scheduler:8786") is enough, if its workers have
    # dpforest and may see the rows.
    cluster = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**cluster) as where, Client(where), joblib.parallel_config(backend="dask"):
        table = surface(forests, data, **grid, repeats=repeats)
    print(f"Accuracy over {repeats} simulated releases in each cell; ε = inf is without privacy:")
    print(summary(table)["accuracy"].to_string())


if __name__ == "__main__":
    main()
