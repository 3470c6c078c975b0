"""Simulated releases: counted once, redrawn at will, refined while somebody looks."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence

from dpforest.evaluation.greedy_simulation import GreedySimulation, one_repeat, simulation_for
from dpforest.evaluation.repeats import Curve
from dpforest.models.base import ForestClassifier
from dpforest.plotting.style import percent
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.simulation.splits import Split
from dpforest.simulation.views import ForestView
from dpforest.tables.domain import Domain
from ui.jobs.priority import SCHEDULER, Scheduler, held
from ui.jobs.workers import BACKGROUND, INTERACTIVE, N_CORES, load
from ui.shared import cache
from ui.shared.epsilon import grid_with
from ui.shared.forests import Settings
from ui.shared.tables import Table, fingerprint, read_by, split

FIRST, LAST = 2, 20
MOST_SECONDS = 30  # of refining; what is drawn by then says how many releases it rests on
MANY_CELLS = 700_000  # of a table; more take a noticeable time at all ε
SOME_ROWS = 5_000  # more are first sent through the trees at a few ε only, while others compute
N_JOBS = min(N_CORES, 4)
LOOKS = Scheduler(1)  # short ones at one forest, which do not wait for a simulation
Tell = Callable[[dict[float, float]], None]  # of the accuracy at the ε that are done of a repeat


def _silent(so_far: dict[float, float]) -> None:
    pass


class Shared:
    """A simulation that several sessions may refine: one at a time. What is known of it can be read at any time."""

    def __init__(self, estimator: ForestClassifier, domain: Domain, split: Split, epsilons: tuple[float, ...]) -> None:
        self._given = estimator, domain, split, epsilons
        self._simulation = simulation_for(estimator, domain, split, epsilons=epsilons, n_jobs=N_JOBS)
        self._refining, self._viewing = threading.Lock(), threading.Lock()
        self._views: dict[float, ForestView] = {}

    @property
    def n_repeats(self) -> int:
        return self._simulation.n_repeats

    def is_surer(self, curve: Curve) -> bool:
        """Than a curve that was drawn: more repeats, or at more ε."""
        drawn = len(curve.accuracy) if len(curve.epsilons) == len(self._simulation.epsilons) else 0
        return self.n_repeats > drawn

    @property
    def is_fitted_anew(self) -> bool:
        """Whether trees are grown anew at every ε, which takes longer."""
        return isinstance(self._simulation, GreedySimulation)

    def refine(
        self,
        n_repeats: int,
        *,
        awaited: bool = False,
        first: float | None = None,
        tell: Tell = _silent,
    ) -> None:
        """At least so many repeats; `awaited` if there is nothing to look at before.

        Parameters
        ----------
        first : float, optional
            The ε that is looked at.
        tell : callable
            Given the accuracy at each ε that is done of the present repeat, now and then, where they come one by one.
        """
        while self.n_repeats < n_repeats:
            with held(self._refining):
                if self.n_repeats >= n_repeats or (not awaited and self._was_added_beside()):
                    continue
                with SCHEDULER.turn(awaited=awaited) as pause:

                    def between(pause: Callable[[], None] = pause) -> None:
                        tell(self._simulation.so_far)
                        pause()

                    self._simulation.add_repeat(between, first=first)
                if self.n_repeats == 1:
                    RECENT.add(self)

    def _was_added_beside(self) -> bool:
        """Whether the next repeat came from another process, as it does where many people are at work."""
        if not INTERACTIVE.is_ready:  # for one person this thread does it as well, and does not stand back
            return False
        found = BACKGROUND.work(one_repeat, *self._given, None, self._simulation.seed + self.n_repeats)
        if found is not None:
            self._simulation.take_repeat(found)
        return found is not None

    def curve(self) -> Curve:
        """Over the whole ε grid, so that moving ε moves a marker only."""
        return self._simulation.curve()

    def view(self, epsilon: float) -> ForestView:
        """One simulated release in full; the last two are kept, with what was computed on them."""
        with held(self._viewing):
            view = self._views.get(epsilon)
            if view is None:
                with LOOKS.turn(awaited=True):
                    view = self._simulation.view(epsilon)
                self._views = {**dict(list(self._views.items())[-1:]), epsilon: view}
        RECENT.add(self)
        return view

    @property
    def n_bytes(self) -> int:
        """Of the forests kept, about."""
        return self._simulation.n_bytes + sum(40 * len(view.counts) for view in self._views.values())

    def forget(self) -> None:
        """Keep the figures only."""
        self._views = {}
        self._simulation.forget()


class Recent:
    """The simulations that hold forests, the last at the end: forests are large, figures are not.

    Parameters
    ----------
    most_bytes : int
        That they may hold together; the last one stays however large it is.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most, self._lock = most_bytes, threading.Lock()
        self._kept: list[weakref.ref[Shared]] = []  # weak, so that a session's end or "Clear my data" frees them

    def add(self, shared: Shared) -> None:
        """One more; others drop their forests for it."""
        with self._lock:
            others = [old for ref in self._kept if (old := ref()) is not None and old is not shared]
            left = self._most - shared.n_bytes
            kept = []
            for old in reversed(others):
                left -= old.n_bytes
                if left < 0:
                    old.forget()
                else:
                    kept.append(old)
            self._kept = [weakref.ref(old) for old in (*reversed(kept), shared)]


RECENT = Recent(400_000_000)


@cache.by_table(everybody=256, session=4)
def _make(key: tuple, _table: Table, _settings: Settings) -> Shared:
    return Shared(_settings.estimator(_table.domain), _table.domain, split(_table), key[-1])


def simulation(table: Table, settings: Settings) -> Shared:
    """The simulation of these settings; of an upload for this session only."""
    table = read_by(table, settings)
    key = (table.schema_key, fingerprint(table.domain), settings.without_epsilon(), grid_with(settings.epsilon))
    return _make(key, table, settings)


class _Look:
    """One simulated release at a few ε: a place for its curve, once somebody has worked it out."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.curve: Curve | None = None


@cache.by_table(everybody=256, session=64)
def _look(key: tuple, _table: Table) -> _Look:
    return _Look()


def one_release(
    table: Table, settings: Settings, epsilons: tuple[float, ...], *, awaited: bool = False, tell: Tell = _silent
) -> Curve:
    """One simulated release at each of these ε, of which nothing else is kept; for the others see `Shared.refine`."""
    table = read_by(table, settings)
    look = _look((table.schema_key, fingerprint(table.domain), settings.without_epsilon(), epsilons), table)
    with held(look.lock):
        if look.curve is None:
            look.curve = _released_once(table, settings, epsilons, awaited, tell)
    return look.curve


def _released_once(table: Table, settings: Settings, epsilons: tuple[float, ...], awaited: bool, tell: Tell) -> Curve:
    given = settings.estimator(table.domain), table.domain, split(table)
    if SCHEDULER.is_crowded:
        INTERACTIVE.start(load)
        BACKGROUND.start(load)
    beside = INTERACTIVE if awaited else BACKGROUND
    curve = beside.work(one_repeat, *given, epsilons, settings.epsilon, 0)
    if curve is not None:
        return curve
    simulated = simulation_for(*given, epsilons=epsilons, n_jobs=N_JOBS)
    with SCHEDULER.turn(awaited=awaited) as pause:

        def between() -> None:
            tell(simulated.so_far)
            pause()

        simulated.add_repeat(between, first=settings.epsilon)
    return simulated.curve()


@cache.for_session(max_entries=64)
def promise(fingerprint: str, settings: Settings, n_rows: int, _domain: Domain) -> tuple[Certificate, Ledger]:
    """Certificate and ledger that a release would carry, from public knowledge."""
    return settings.estimator(_domain).preview(_domain, n_rows)


def first_curve(shared: Shared, table: Table, settings: Settings, place) -> Curve:
    """The first repeats, fewer where one takes long, so that there is something to look at soon.

    On a large table, while others compute, or once there are processes beside the server, it is one release at a few ε,
    with the draws of the first repeat.
    """
    if shared.n_repeats:
        return shared.curve()
    n_rows, epsilon = len(table.frame), settings.epsilon
    is_large = n_rows * table.domain.n_features > MANY_CELLS
    is_sketch = is_large or INTERACTIVE.is_ready or (n_rows > SOME_ROWS and SCHEDULER.is_busy)
    grid = _some_of(grid_with(epsilon), epsilon) if is_sketch else grid_with(epsilon)
    slow = is_large or shared.is_fitted_anew
    bar = place.progress(0.0, f"Sending {n_rows:,} rows through the trees …") if slow else None

    def tell(so_far: dict[float, float]) -> None:
        if bar is not None and epsilon in so_far:
            said = f"At ε = {epsilon:g} one simulated release is right in {percent(so_far[epsilon])}"
            bar.progress(len(so_far) / len(grid), f"{said}; {len(so_far)} of {len(grid)} values of ε …")

    start, curve = time.monotonic(), None
    if is_sketch:
        curve = one_release(table, settings, grid, awaited=True, tell=tell)
    else:
        shared.refine(1, awaited=True, first=epsilon, tell=tell)
        if time.monotonic() - start < 0.4:
            shared.refine(FIRST, awaited=True)
    if bar is not None:
        bar.empty()
    return curve or shared.curve()


def _some_of(grid: Sequence[float], epsilon: float) -> tuple[float, ...]:
    """Both ends, the middle, and the one that is looked at."""
    return tuple(sorted({grid[0], grid[len(grid) // 2], grid[-1], epsilon}))


def refined(
    shared: Shared, curve: Curve, n_repeats: int, place, beside: Callable[[], bool] = lambda: False
) -> Iterator[Curve]:
    """Add repeats one by one, with a counted bar once it takes long; moving a control ends this within one of them.

    Gives the curve now and then, when it is worth drawing again: it rests on more repeats than the one given before,
    whoever added them, or the other work is done.

    Parameters
    ----------
    beside : callable
        A step of other work, done after each repeat and to its end; False when there is nothing left to do.
    """
    bar, start = None, time.monotonic()
    drawn, is_new, others, worked = start, False, True, False
    if shared.is_fitted_anew and shared.n_repeats < n_repeats:
        bar = place.progress(0.0, f"Simulated release {shared.n_repeats + 1} of {n_repeats} …")
    for repeat in range(shared.n_repeats + 1, n_repeats + 1):
        shared.refine(repeat)
        now = time.monotonic()
        others = others and beside()
        start += time.monotonic() - now  # it has its own time
        worked, is_new = worked or others, is_new or (worked and not others)
        now = time.monotonic()
        if now - start > MOST_SECONDS:
            break
        if bar is not None or now - start > 0.5:
            text = f"Simulated release {repeat} of {n_repeats}; no need to wait"
            if bar is None:
                bar = place.progress(repeat / n_repeats, text)
            else:
                bar.progress(repeat / n_repeats, text)
        if now - drawn > 1.0 and (is_new or shared.is_surer(curve)):
            curve, is_new = shared.curve(), False
            yield curve
            drawn = time.monotonic()
    if is_new or shared.is_surer(curve):
        curve, is_new = shared.curve(), False
        yield curve
    while others and beside():
        is_new = True
    if is_new:
        yield curve
    if bar is not None:
        bar.empty()
