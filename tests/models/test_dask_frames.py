"""Fits on a Dask DataFrame: the forest of the whole table, persons in one partition, and a fit that loses a worker."""

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from dpforest import FriedmanSchusterClassifier, MajorityLabelForestClassifier, RandomTreeBoosterClassifier
from dpforest.audit.replay.variants import domain_of, random_rows
from dpforest.models.boosting.rows_on_workers import FitStoppedError
from dpforest.trees import forest_file

distributed = pytest.importorskip("distributed", reason="needs the extra 'cluster' (docs/CONTRIBUTING.md)")
dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'cluster' (docs/CONTRIBUTING.md)")

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns of large graphs, and when the cluster closes
DOMAIN = domain_of(2)
IN_THREADS = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(**IN_THREADS) as where, distributed.Client(where) as client:
        yield client


def partitioned(X, y, n=5):
    frame = dd.from_pandas(X.assign(label=y), npartitions=n)
    return frame.drop(columns="label"), frame["label"]


@pytest.mark.parametrize("kind", [RandomTreeBoosterClassifier, MajorityLabelForestClassifier])
def test_partitions_give_the_forest_of_the_whole_table(cluster, kind):
    X, y = random_rows(400, 2, 1)
    model = kind(domain=DOMAIN, random_state=4, epsilon=3)
    whole = forest_file.written(clone(model).fit(X, y).forest_)
    assert forest_file.written(clone(model).fit(*partitioned(X, y)).forest_) == whole
    released = kind(domain=DOMAIN, epsilon=3).fit(*partitioned(X, y))
    assert (
        released.certificate_.certified
        and released.certificate_ == kind(domain=DOMAIN, epsilon=3).fit(X, y).certificate_
    )


@pytest.mark.parametrize("kind", [RandomTreeBoosterClassifier, MajorityLabelForestClassifier])
def test_all_rows_of_a_person_are_counted_as_one_person(cluster, kind):
    """Identifiers are compared as texts, so 7 and "7" are one person, in whichever partitions they are."""
    X, y = random_rows(300, 2, 2)
    person = np.random.default_rng(0).integers(0, 40, 300)
    X["id"] = [str(n) if i % 2 else n for i, n in enumerate(person.tolist())]
    model = kind(domain=replace(DOMAIN, unit="id"), random_state=4, epsilon=3)
    whole = forest_file.written(clone(model).fit(X, y).forest_)
    frame = dd.from_delayed(
        [distributed.get_client().submit(lambda a=a: X.assign(label=y).iloc[a : a + 60]) for a in range(0, 300, 60)]
    )
    assert forest_file.written(clone(model).fit(frame.drop(columns="label"), frame["label"]).forest_) == whole


def test_what_cannot_be_fitted_on_partitions_says_why(cluster):
    X, y = random_rows(60, 2, 0)
    frame, labels = partitioned(X, y)
    with pytest.raises(ValueError, match="FriedmanSchusterClassifier reads all rows at once"):
        FriedmanSchusterClassifier(domain=DOMAIN).fit(frame, labels)
    model = RandomTreeBoosterClassifier(domain=DOMAIN)
    for wrong in (y, labels.repartition(npartitions=2)):
        with pytest.raises(ValueError, match="y must be a Dask Series with the same partitions"):
            model.fit(frame, wrong)
    with pytest.raises(ValueError, match="Identifiers must be a column"):
        model.fit(frame, labels, np.arange(60))
    with pytest.raises(ValueError, match="only with a public domain"):
        RandomTreeBoosterClassifier().fit(frame, labels)


def test_without_a_cluster_the_error_says_how_to_start_one():
    frame, labels = partitioned(*random_rows(60, 2, 0))
    if not distributed.client._global_clients:
        with pytest.raises(RuntimeError, match=r"start one with distributed.Client"):
            RandomTreeBoosterClassifier(domain=DOMAIN).fit(frame, labels)


@pytest.mark.slow
def test_a_worker_that_is_killed_stops_the_fit_and_nothing_is_released():
    X, y = random_rows(400, 2, 1)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as where,
        distributed.Client(where) as client,
    ):
        worker = next(iter(client.run(os.getpid).values()))
        model = RandomTreeBoosterClassifier(domain=DOMAIN, n_estimators=1_000, max_depth=8, epsilon=3)

        class Account:
            """An account that kills a worker when the fit books its budget: after the rows were read."""

            def book(self, ledger, delta, title):
                threading.Timer(1.0, lambda: os.kill(worker, signal.SIGKILL)).start()

        with pytest.raises(FitStoppedError, match="a worker was lost") as stopped:
            model.fit(*partitioned(X, y), account=Account())
    assert not hasattr(model, "forest_") and not hasattr(model, "certificate_")
    assert stopped.value.ledger.entries[-1].times == 1_000
