"""Tests that a sweep on joblib's Dask backend returns the same table as a local one."""

import joblib
import pandas as pd
import pytest

from dpforest import FriedmanSchusterClassifier, MajorityLabelForestClassifier, load_dataset
from dpforest.simulation.sweep import surface

distributed = pytest.importorskip("distributed", reason="needs the extra 'cluster' (docs/CONTRIBUTING.md)")


@pytest.mark.filterwarnings("ignore")  # Dask warns when the cluster closes
def test_a_local_dask_cluster_gives_the_same_table():
    data = load_dataset("zoo")
    forests = [MajorityLabelForestClassifier(n_estimators=3), FriedmanSchusterClassifier(max_depth=2)]
    alone = surface(forests, data, epsilons=[0.5, 2], repeats=3)
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with (
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        on_cluster = surface(forests, data, epsilons=[0.5, 2], repeats=3)
    pd.testing.assert_frame_equal(on_cluster, alone)
