"""Work in worker processes gives the same figures, and ends correctly if a worker dies."""

import os
import queue
import signal
import sys
import threading
import time
from functools import partial
from multiprocessing import get_context
from types import ModuleType

import pandas as pd
import pytest

from dpforest import (
    FriedmanSchusterClassifier,
    load_dataset,
)
from dpforest.evaluation.nonprivate import NonprivateModels, metrics_of
from dpforest.simulation.pieces import ONE_CELL
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import one_repeat
from dpforest.trees.routing import pack
from ui.forest.forests import as_it_comes
from ui.jobs import job
from ui.jobs.baselines import Baselines
from ui.jobs.results import gathered
from ui.jobs.sweep_job import Line, Releases, SweepJob
from ui.jobs.workers import Workers

GRID = (0.1, 1.0, 10.0)


@pytest.fixture(scope="module")
def worker():
    processes = Workers(1, 1)
    assert processes.work(os.getpid) is None  # the workers have not started yet
    processes.start()
    assert [one.result(120) for one in processes._started]
    return processes


def split_of(name: str):
    data = load_dataset(name)
    return data.domain, split_table(data.domain, data.X, data.y)


def test_work_runs_in_another_process(worker):
    assert worker.is_ready and worker.work(os.getpid) not in (None, os.getpid())


def test_an_error_in_a_worker_is_raised_in_the_caller(worker):
    with pytest.raises(ZeroDivisionError):
        worker.work(divmod, 1, 0)
    assert worker.work(divmod, 7, 2) == (3, 1)


@pytest.mark.parametrize("kind", ["majority labels", "multinomial"])
def test_repeats_of_a_worker_equal_those_of_this_process(worker, monkeypatch, kind):
    here, there = job_of_zoo(kind), job_of_zoo(kind)
    for _ in here.work(2):
        pass
    monkeypatch.setattr(job, "BACKGROUND", worker)
    monkeypatch.setattr(job, "INTERACTIVE", worker)
    for _ in there.work(2):
        pass
    pd.testing.assert_frame_equal(gathered([there]).pieces, gathered([here]).pieces)


def test_models_without_privacy_of_a_worker_equal_those_of_this_process(worker, monkeypatch):
    domain, split = split_of("zoo")
    monkeypatch.setattr(job, "BACKGROUND", worker)
    monkeypatch.setattr(job, "INTERACTIVE", worker)
    level = Baselines(domain, split.y_train, split.y_test, lambda: split)
    assert not level.done and level.step() and level.done and not level.step()
    here = NonprivateModels(domain, split)
    while not here.done:
        here.step()
    assert level.metrics == here.metrics == metrics_of(domain, split)


def job_of_zoo(kind: str) -> SweepJob:
    """Return a separate job that no other test extends."""
    domain, split = split_of("zoo")
    line = Line(as_it_comes(kind, "certified", 1.0, "add-remove"), GRID)
    return Releases(line, domain, lambda: [split], 1, len(load_dataset("zoo").y)).job(line)


def cells_of_zoo() -> list[SweepJob]:
    return [job_of_zoo(kind) for kind in ("one greedy tree", "RF-E")]


def computed_piece(line: SweepJob, n: int) -> list:
    function, arguments = line.task(n)
    return function(*arguments)


class NoBar:
    """A progress bar that shows nothing."""

    def progress(self, share: float, text: str) -> "NoBar":
        return self

    def empty(self) -> None:
        pass


def test_pieces_of_a_sweep_of_a_worker_equal_those_of_this_process(worker, monkeypatch):
    here, there = cells_of_zoo(), cells_of_zoo()
    for line in here:
        for n in range(6):
            line.add(n, computed_piece(line, n))
    monkeypatch.setattr(job, "BACKGROUND", worker)
    assert list(job.run(there, 6, NoBar()))[-1] == 6
    # The worker did the work, and it stores no trees between two pieces of work.
    assert worker.work(_trees_kept) == "0"
    for one, other in zip(here, there, strict=True):
        pd.testing.assert_frame_equal(gathered([one]).pieces, gathered([other]).pieces)


def test_the_computing_time_of_threads_and_workers_counts(worker, monkeypatch):
    """A job adds up the processor time of its pieces, in threads of this process and in worker processes."""
    here, there = job_of_zoo("one greedy tree"), job_of_zoo("one greedy tree")
    start = time.process_time()
    list(here.work(20))
    assert 0.5 < here.seconds / (time.process_time() - start) <= 1
    monkeypatch.setattr(job, "BACKGROUND", worker)
    monkeypatch.setattr(job, "INTERACTIVE", worker)
    start = worker.work(time.process_time)
    list(there.work(20))
    assert 0.5 < there.seconds / (worker.work(time.process_time) - start) <= 1


def test_a_piece_that_a_worker_has_begun_is_kept_after_all_sessions_leave(worker, monkeypatch):
    monkeypatch.setattr(job, "BACKGROUND", worker)
    (line, _), done = cells_of_zoo(), threading.Event()
    assert line.claim(3)
    add = line.add
    monkeypatch.setattr(line, "add", lambda n, piece: (add(n, piece), done.set()))
    line.hand_over(3)
    assert not line.claim(3) and done.wait(60)
    assert not line.claim(3) and line.n_done == 0
    here = cells_of_zoo()[0]
    here.add(3, computed_piece(here, 3))
    assert line.pieces[3] == here.pieces[3]


def test_rows_of_a_worker_are_kept_by_a_thread_that_may_not_read_the_table(worker, monkeypatch):
    """A callback in another thread adds the rows of a worker.

    The callback must not use the session's cache, which Streamlit refuses to other threads.
    """
    domain, split = split_of("zoo")
    asked = []

    def splits():
        asked.append(threading.current_thread())
        return [split]

    settings = Line(as_it_comes("one greedy tree", "certified", 1.0, "add-remove"), GRID)
    line, done = Releases(settings, domain, splits, 1, len(load_dataset("zoo").y)).job(settings), threading.Event()
    add = line.add
    monkeypatch.setattr(line, "add", lambda n, piece: (add(n, piece), done.set()))
    monkeypatch.setattr(job, "BACKGROUND", worker)
    assert line.claim(0)
    line.hand_over(0)
    assert done.wait(60)
    assert set(asked) == {threading.current_thread()}
    assert set(gathered([line]).pieces["n_test"]) == {len(split.y_test)}


def test_a_piece_that_no_other_process_computes_is_computed_here(monkeypatch):
    monkeypatch.setattr(job, "TOO_LONG", 0.0)
    lines = cells_of_zoo()
    assert all(line.claim(1) for line in lines)  # as if a background process had claimed all pieces
    assert list(job.run(lines, 3, NoBar()))[-1] == 3


@pytest.mark.slow
def test_one_bar_shows_the_progress_of_a_long_sweep(monkeypatch):
    """A sweep updates the same progress bar again and again.

    Each update returns a bar that refers to the bar before. A chain of a thousand bars would be too long for Python.
    """
    monkeypatch.setattr(job, "BAR_EVERY", 0.0)
    bars = []

    class Bar(NoBar):
        def progress(self, share: float, text: str) -> "Bar":
            bars.append(self)
            return Bar()

    place = Bar()
    list(job.run(cells_of_zoo(), 60, place))
    assert len({id(bar) for bar in bars}) == 2 < len(bars) and bars[0] is place


def test_pieces_computed_by_other_sessions_are_drawn():
    lines = cells_of_zoo()
    page = job.run(lines, 3, NoBar(), drawn=1)
    assert list(job.run(lines, 3, NoBar())) == [3]
    assert list(page) == [3]
    assert list(job.run(lines, 3, NoBar(), drawn=3)) == []


def test_the_first_piece_is_not_for_a_process_of_low_priority():
    lines = cells_of_zoo()
    claimed = job._claimed(lines, 3, is_busy=True)
    assert claimed is not None and claimed[1] == 1
    assert job._claimed(lines, 1, is_busy=True) is None
    claimed = job._claimed(lines, 3)
    assert claimed is not None and claimed[1] == 0


def test_a_sweep_ends_although_its_worker_dies(monkeypatch):
    processes = Workers(1, 1)
    processes.start()
    number = processes._started[0].result(120)
    monkeypatch.setattr(job, "BACKGROUND", processes)
    lines = cells_of_zoo()
    os.kill(number, signal.SIGKILL)
    assert list(job.run(lines, 5, NoBar()))[-1] == 5
    assert all(line.n_done == 5 for line in lines) and not processes.is_ready


def test_a_piece_is_computed_once_and_an_abandoned_piece_again():
    line = cells_of_zoo()[0]
    assert line.claim(0) and not line.claim(0) and line.claim(1)
    line.add(1, computed_piece(line, 1))
    assert line.n_done == 0 and not line.claim(1)  # the second piece is done, but the first piece is not
    line.drop(0)
    assert line.claim(0)
    line.add(0, computed_piece(line, 0))
    assert line.n_done == 2 and list(gathered([line]).pieces["repeat"].unique()) == [0, 1]


def test_two_sweeps_of_the_same_lines_share_the_work(monkeypatch):
    monkeypatch.setattr(job, "BACKGROUND", Workers(1, 1))  # no worker has started
    lines = cells_of_zoo()
    first = job._steps(lines, 3)
    # Let the first sweep compute one piece.
    assert next(has_turn for *_, has_turn in first if not has_turn) is False
    assert sum(line.n_done for line in lines) == 1
    assert list(job.run(lines, 3, NoBar()))[-1] == 3
    assert not list(first)


def test_a_session_that_leaves_a_sweep_leaves_its_pieces_to_others(worker, monkeypatch):
    monkeypatch.setattr(job, "BACKGROUND", worker)
    lines = cells_of_zoo()
    leaving = job._steps(lines, 4)
    next(leaving)
    leaving.close()
    # The second sweep would wait for ever if a piece were still claimed.
    assert list(job.run(lines, 4, NoBar()))[-1] == 4


def test_a_process_that_has_died_is_replaced_and_its_work_is_done_here():
    """A worker process may die within a call or between two calls. New workers replace it, and work goes on."""
    processes = Workers(1, 1)
    processes.start()
    number = processes._started[0].result(120)
    results = queue.Queue[bool | None]()
    assert processes.hand_over(_stand, (), results.put)
    os.kill(number, signal.SIGKILL)
    assert results.get(timeout=60) is None
    processes.start()
    other = processes._started[0].result(120)
    assert other != number and processes.is_ready
    assert processes.hand_over(divmod, (1, 0), results.put) and results.get(timeout=60) is None
    assert processes.is_ready and processes.work(divmod, 7, 2) == (3, 1)
    os.kill(other, signal.SIGKILL)
    killed = [processes.work(partial(os.getpid)) for _ in range(2)]
    assert killed == [None, None] and not processes.is_ready


@pytest.mark.slow
def test_the_pool_is_ready_when_each_process_is():
    processes = Workers(2, 1)
    processes.start()
    assert processes._started[0].result(120) and processes._pool is not None
    # Both processes have started, whichever answered first.
    assert len(processes._pool._processes) == 2


def _stand() -> bool:
    return threading.Event().wait(600)


def test_a_worker_keeps_nothing_and_runs_no_page(worker):
    domain, split = split_of("zoo")
    worker.work(one_repeat, FriedmanSchusterClassifier(), domain, split, GRID, ONE_CELL, 0)
    assert worker.work(_trees_kept) == "0"
    assert worker.work(_script) == "none"


@pytest.mark.slow
def test_a_page_of_another_session_is_not_run_by_a_new_process(monkeypatch, tmp_path):
    """A new worker runs no page, although a thread of another session may set `__main__` while the worker starts."""
    page, ran = tmp_path / "page.py", tmp_path / "ran"
    page.write_text(f"open({str(ran)!r}, 'w').close()\n")
    other = ModuleType("__main__")
    other.__file__ = str(page)
    context = get_context("spawn")
    make = type(context).Barrier

    def barrier(self, n: int):
        # As if another thread set `__main__` while the worker starts.
        monkeypatch.setitem(sys.modules, "__main__", other)
        return make(self, n)

    monkeypatch.setattr(type(context), "Barrier", barrier)
    processes = Workers(1, 1)
    processes.start(_script)
    assert processes._started[0].result(120) == "none" and not ran.exists()


def _trees_kept() -> str:
    return str(pack.cache_info().currsize)


def _script() -> str:
    return getattr(sys.modules["__mp_main__"], "__file__", "none")


class Counted(job.Job[int]):
    """A job with three steps in each piece; `made` lists the completed steps as (piece, step)."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[int, int]] = []

    def steps(self, n: int):
        for step in range(3):
            self.made.append((n, step))
            yield (step + 1) / 3
        return 10 * n


def test_the_next_session_continues_within_a_piece():
    counted = Counted()
    assert counted.step(2) and counted.step(2) and counted.n_done == 0 and 0 < counted.progress < 1
    assert list(counted.work(2))[-1] == 2 == counted.n_done
    assert counted.made == [(n, step) for n in range(2) for step in range(3)] and counted.pieces == {0: 0, 1: 10}
    assert not counted.step(2)


def test_a_piece_that_failed_is_computed_from_its_start():
    class Failing(Counted):
        def steps(self, n: int):
            yield 0.5
            if len(self.made) < 1:
                self.made.append((n, 0))
                raise ZeroDivisionError
            return n

    failing = Failing()
    with pytest.raises(ZeroDivisionError):
        list(failing.work())
    list(failing.work())
    assert failing.pieces == {0: 0}


def test_the_bar_shows_the_share_of_a_piece(monkeypatch):
    monkeypatch.setattr(job, "BAR_AFTER", -1.0)
    monkeypatch.setattr(job, "BAR_EVERY", -1.0)
    monkeypatch.setattr(job, "BACKGROUND", Workers(1, 1))  # no worker has started
    shares = []

    class Bar(NoBar):
        def progress(self, share: float, text: str) -> "Bar":
            shares.append((share, text))
            return self

    assert list(job.run([Counted()], 1, Bar(), "Piece {n} of {total}")) == [1]
    assert [share for share, _ in shares[:3]] == pytest.approx([1 / 3, 2 / 3, 1]) and shares[0][1] == "Piece 1 of 1"
