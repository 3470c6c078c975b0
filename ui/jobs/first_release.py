"""The first simulated releases that a page shows, and further releases that refine the figures of an open page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from dpforest.plotting.style import percent
from ui.forest.forests import FORESTS
from ui.jobs.job import n_of_all, run
from ui.jobs.priority import SCHEDULER
from ui.jobs.results import SweepResult, gathered
from ui.jobs.sweep_job import SweepJob, sweep_job
from ui.jobs.workers import INTERACTIVE
from ui.shared.tables import Table

# A page draws its figures after `FIRST` releases if releases are quick, otherwise after one. It stops after `LAST`.
FIRST, LAST = 2, 20
QUICK: Final = 0.4  # if the first release takes fewer seconds, a page waits for a second release
MOST_SECONDS: Final = 30  # after this time the refinement ends; the page states how many releases its figures rest on
MANY_CELLS: Final = 700_000  # if the table has more cells, a release at all ε takes a noticeable time
SOME_ROWS: Final = 5_000  # with more rows, the first release has only a few ε while other threads compute


def first_releases(table: Table, jobs: Sequence[SweepJob], few: tuple[float, ...], place: Any) -> SweepResult:
    """Return the result of the available releases. If there are none, simulate the first release of each job.

    Usually the first release covers all ε of its job. It covers only a few ε if all ε take too long: if the table is
    large, if other threads compute, or if worker processes have started because several users wait.

    Parameters
    ----------
    few : tuple of float
        Values of ε to simulate if all ε would take too long.
    place : container of Streamlit
        Where the progress bar is drawn.
    """
    if n_of_all(jobs):
        return gathered(jobs)
    n_rows, start = len(table.frame), time.monotonic()
    is_large = n_rows * table.domain.n_features * len(jobs) > MANY_CELLS
    if is_large or INTERACTIVE.is_ready or (n_rows > SOME_ROWS and SCHEDULER.is_busy):
        jobs = [sweep_job(table, replace(job.line, epsilons=few), job.releases.folds) for job in jobs]
    if len(jobs) > 1:
        for _ in run(jobs, 1, place):
            pass
        return gathered(jobs)
    (job,) = jobs
    is_slow = is_large or FORESTS[job.line.settings.kind].is_fitted_anew
    bar = place.progress(0.0, f"Sending {n_rows:,} rows through the trees …") if is_slow else None
    for share in job.work(1, interactive=True):
        if bar is not None:
            bar.progress(min(share, 1.0), _words(job, n_rows))
    if bar is not None:
        bar.empty()
    if time.monotonic() - start < QUICK and len(job.line.epsilons) > len(few):
        for _ in job.work(FIRST, interactive=True):
            pass
    return gathered([job])


def _words(job: SweepJob, n_rows: int) -> str:
    """Return the text of the progress bar, which states the accuracy at the chosen ε as soon as it is known."""
    epsilon, so_far = job.line.settings.epsilon, job.so_far()
    if epsilon not in so_far:
        return f"Sending {n_rows:,} rows through the trees …"
    done = f"{len(so_far)} of {len(job.epsilons)} values of ε …"
    return f"At ε = {epsilon:g} one simulated release is right in {percent(so_far[epsilon])}; {done}"


def refined(
    job: SweepJob, result: SweepResult, n_pieces: int, place: Any, other_work: Callable[[], bool] = lambda: False
) -> Iterator[SweepResult]:
    """Simulate further releases one by one, and yield results that rest on more releases.

    The generator yields a new result about once a second, if this or another session has added releases. It also
    yields a result when the other work is finished. If the user moves a control, the work ends.

    Parameters
    ----------
    job : SweepJob
        Job that simulates the releases.
    result : SweepResult
        The result that the page shows now.
    n_pieces : int
        Number of releases to reach.
    place : container of Streamlit
        Where a progress bar is drawn if the releases take long.
    other_work : callable
        Does one step of other work, such as a fit of a model, and returns False if no step is left. It is called after
        each release. After the last release, it is called until it returns False.
    """
    bar, start = None, time.monotonic()
    drawn_at, must_draw, has_other_work, did_other_work = start, False, True, False
    if FORESTS[job.line.settings.kind].is_fitted_anew and job.n_done < n_pieces:
        bar = place.progress(0.0, f"Simulated release {job.n_done + 1} of {n_pieces} …")

    def has_new_releases() -> bool:
        return job.n_done > result.n or len(job.line.epsilons) > len(result.epsilons)

    for piece in range(job.n_done + 1, n_pieces + 1):
        for _ in job.work(piece):
            pass
        now = time.monotonic()
        has_other_work = has_other_work and other_work()
        start += time.monotonic() - now  # the seconds of refinement do not include other work
        must_draw = must_draw or (did_other_work and not has_other_work)
        did_other_work = did_other_work or has_other_work
        now = time.monotonic()
        if now - start > MOST_SECONDS:
            break
        if bar is not None or now - start > 0.5:
            text = f"Simulated release {piece} of {n_pieces}; no need to wait"
            bar = bar or place.progress(piece / n_pieces, text)
            bar.progress(piece / n_pieces, text)
        if now - drawn_at > 1.0 and (must_draw or has_new_releases()):
            result, must_draw = gathered([job]), False
            yield result
            drawn_at = time.monotonic()
    if must_draw or has_new_releases():
        result, must_draw = gathered([job]), False
        yield result
    while has_other_work and other_work():
        must_draw = True
    if must_draw:
        yield result
    if bar is not None:
        bar.empty()
