"""Work in processes beside the server: the same figures, and what happens where such a process is gone."""

import os
import signal
import sys
from functools import partial

import numpy as np
import pandas as pd
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
from dpforest.evaluation.sweep import run_task
from dpforest.trees.routing import pack
from ui.shared import simulate, sweep, without_privacy
from ui.shared.forests import as_it_comes
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


def cells_of_zoo() -> list[sweep.Cells]:
    domain, split = split_of("zoo")
    return [
        sweep.Cells(sweep.Line(as_it_comes(kind, "certified", 1.0, "add-remove"), GRID), domain, [split])
        for kind in ("one greedy tree", "RF-E")
    ]


class NoBar:
    """Where nobody looks at how far a sweep is."""

    def progress(self, share: float, text: str) -> "NoBar":
        return self

    def empty(self) -> None:
        pass


def test_pieces_of_a_sweep_from_elsewhere_are_those_from_here(beside, monkeypatch):
    here, there = cells_of_zoo(), cells_of_zoo()
    for line in here:
        for n in range(6):
            line.add(n, run_task(*line.task(n)))
    handed = []
    monkeypatch.setattr(sweep, "REFINED", beside)
    monkeypatch.setattr(beside, "submit", lambda *given: handed.append(given) or SideProcesses.submit(beside, *given))
    assert list(sweep.work(there, 6, NoBar()))[-1] == 6
    assert 1 <= len(handed) < 12
    for one, other in zip(here, there, strict=True):
        pd.testing.assert_frame_equal(one.frame(6), other.frame(6))


def test_a_sweep_ends_though_the_process_beside_it_dies(monkeypatch):
    processes = SideProcesses(1, 1)
    processes.start()
    number = processes._started[0].result(120)
    monkeypatch.setattr(sweep, "REFINED", processes)
    lines = cells_of_zoo()
    os.kill(number, signal.SIGKILL)
    assert list(sweep.work(lines, 5, NoBar()))[-1] == 5
    assert all(line.n_done == 5 for line in lines) and not processes.is_ready


def test_a_piece_is_made_once_and_one_that_was_given_up_again():
    line = cells_of_zoo()[0]
    assert line.claim(0) and not line.claim(0) and line.claim(1)
    line.add(1, run_task(*line.task(1)))
    assert line.n_done == 0 and not line.claim(1)  # the second is there, the first is not
    line.drop(0)
    assert line.claim(0)
    line.add(0, run_task(*line.task(0)))
    assert line.n_done == 2 and list(line.frame(2)["repeat"].unique()) == [0, 1]


def test_two_sweeps_of_the_same_lines_share_the_work(monkeypatch):
    monkeypatch.setattr(sweep, "REFINED", SideProcesses(1, 1))  # as what it is at, the first sweep would never take in
    lines = cells_of_zoo()
    first = sweep._steps(lines, 3)
    next(first)  # at work, and has made one piece
    assert list(sweep.work(lines, 3, NoBar()))[-1] == 3
    assert not list(first)


def test_who_leaves_a_sweep_leaves_its_pieces_to_others(beside, monkeypatch):
    monkeypatch.setattr(sweep, "REFINED", beside)
    lines = cells_of_zoo()
    leaving = sweep._steps(lines, 4)
    next(leaving)
    leaving.close()
    assert list(sweep.work(lines, 4, NoBar()))[-1] == 4  # which would wait for ever for a piece that is somebody's


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
