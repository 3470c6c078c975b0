"""Work in processes beside the server: the same figures, and what happens where such a process is gone."""

import os
import signal
import sys
from functools import partial

import numpy as np
import pytest

from dpforest import (
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    load_dataset,
)
from dpforest.evaluation.greedy_simulation import one_repeat, simulation_for
from dpforest.evaluation.nonprivate import NonprivateModels, metrics_of
from dpforest.evaluation.splits import split_table
from dpforest.trees.routing import pack
from ui.shared import simulate, without_privacy
from ui.shared.side_process import SideProcesses
from ui.shared.simulate import Shared
from ui.shared.without_privacy import Level

SEED_OF_SECOND = 1
GRID = (0.1, 1.0, 10.0)


@pytest.fixture(scope="module")
def beside():
    processes = SideProcesses(1, 1)
    assert processes.work(os.getpid) is None  # not before it is started
    processes.start()
    assert [one.result(120) for one in processes._started]
    return processes


def split_of(name: str):
    data = load_dataset(name)
    return data.domain, split_table(data.domain, data.X, data.y)


def test_it_is_another_process(beside):
    assert beside.is_ready and beside.work(os.getpid) not in (None, os.getpid())


def test_a_mistake_is_the_caller_s(beside):
    with pytest.raises(ZeroDivisionError):
        beside.work(divmod, 1, 0)
    assert beside.work(divmod, 7, 2) == (3, 1)


@pytest.mark.parametrize("forest", [MajorityLabelForestClassifier(n_estimators=5), MultinomialForestClassifier()])
def test_repeats_from_elsewhere_are_those_from_here(beside, monkeypatch, forest):
    domain, split = split_of("zoo")
    here = simulation_for(forest, domain, split, epsilons=GRID)
    for _ in range(2):
        here.add_repeat()
    monkeypatch.setattr(simulate, "REFINED", beside)
    shared = Shared(forest, domain, split, GRID)
    shared.refine(2)
    for name in ("accuracy", "balanced", "flips", "ceiling", "ceiling_balanced"):
        np.testing.assert_array_equal(getattr(shared.curve(), name), getattr(here.curve(), name), err_msg=name)
    second = beside.work(one_repeat, forest, domain, split, GRID, None, SEED_OF_SECOND)
    np.testing.assert_array_equal(second.accuracy[0], here.curve().accuracy[1])


def test_models_without_privacy_from_elsewhere_are_those_from_here(beside, monkeypatch):
    domain, split = split_of("zoo")
    monkeypatch.setattr(without_privacy, "REFINED", beside)
    level = Level(domain, split.y_train, split.y_test, lambda: split)
    assert not level.done and level.step() and level.done and not level.step()
    here = NonprivateModels(domain, split)
    while not here.done:
        here.step()
    assert level.metrics == here.metrics == metrics_of(domain, split)


def test_where_it_has_died_work_is_done_here_and_another_may_be_started():
    processes = SideProcesses(1, 1)
    processes.start()
    number = processes._started[0].result(120)
    os.kill(number, signal.SIGKILL)
    killed = [processes.work(partial(os.getpid)) for _ in range(2)]
    assert killed == [None, None] and not processes.is_ready
    processes.start()
    assert processes._started[0].result(120) != number and processes.work(os.getpid)


def test_nothing_is_kept_there_and_no_page_is_run(beside):
    domain, split = split_of("zoo")
    beside.work(one_repeat, FriedmanSchusterClassifier(), domain, split, GRID, None, 0)
    assert beside.work(_trees_kept) == "0"
    assert beside.work(_script) == "none"


def _trees_kept() -> str:
    return str(pack.cache_info().currsize)


def _script() -> str:
    return getattr(sys.modules["__mp_main__"], "__file__", "none")
