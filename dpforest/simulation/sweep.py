"""Whole surfaces: accuracy and more over ε, depth, trees, repeats and folds, of any list of forests, as one tidy table.

Everything here is simulated from seeds and computed from raw rows. It is for looking at, never for publishing.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import KFold, StratifiedKFold

from dpforest.checks import check_choice
from dpforest.models.base import ForestClassifier
from dpforest.models.data_dependent import DataDependentClassifier
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.simulation.cells import cells_of, planned_rows, promises_of
from dpforest.simulation.fitted import FittedSimulation
from dpforest.simulation.metrics import METRICS
from dpforest.simulation.pieces import Cell, Row, Simulation
from dpforest.simulation.random import RandomSimulation
from dpforest.simulation.splits import Split, split_table
from dpforest.tables.domain import Domain
from dpforest.tables.rows import read_rows

KEYS: Final = ("forest", "epsilon", "depth", "trees", "repeat", "fold")
Progress = Callable[[int, int], bool | None]


@dataclass(frozen=True)
class Task:
    """One repeat of one forest on one fold: what is computed, kept and resumed as a whole."""

    forest: str
    repeat: int
    fold: int


def surface(
    forests: dict[str, ForestClassifier] | Sequence[ForestClassifier],
    data: Any,
    *,
    epsilons: Iterable[float],
    depths: Iterable[int] | None = None,
    trees: Iterable[int] | None = None,
    repeats: int = 20,
    folds: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    plan_for: str = "table",
    done: pd.DataFrame | None = None,
    on_progress: Progress | None = None,
) -> pd.DataFrame:
    """Simulated releases at every ε, depth and number of trees, and the same trees without privacy (ε = ∞).

    A repeat draws structure, assignment and noise anew; within it, cells share what separate fits with its seeds would
    share (structure_seed = seed + repeat, random_state = that + `pieces.NOISE_SEED`), so each cell is what such a
    fit gives. Forests with random structure are counted once a repeat; the others are fitted for every cell, on rows
    that are binned once.

    Parameters
    ----------
    forests : dict of str to estimator, or sequence of estimators
        Named by their keys, or their classes. Their own epsilon, seeds and domain are not used.
    data : object with X, y and domain
        As `load_dataset` returns.
    epsilons : iterable of float
        Budgets to simulate, each above 0.
    depths, trees : iterable of int, optional
        The estimators' own where not given. Left out for forests that do not have the parameter.
    repeats : int
        Simulated releases of each cell on each fold.
    folds : int
        1: one split, three tenths of the rows held out. More: cross-validation.
    seed : int
        Of the splits and of the first repeat.
    n_jobs : int, optional
        As in joblib. None takes what ``joblib.parallel_config`` says, so that a sweep can go to a cluster.
    plan_for : {"table", "split"}
        The number of rows from which rules plan depth, number of trees, and what they spend before trees grow. "table":
        all rows of the data, as in a release, which holds none out; what is simulated is the forest that would be
        released, from fewer rows. "split": the rows fitted on, as in a fit on these alone.
    done : DataFrame, optional
        What an earlier call returned: repeats that are in it are taken from it.
    on_progress : function, optional
        Called with the number of tasks (forests x repeats x folds) that are done and of all; return True to stop.

    Returns
    -------
    DataFrame
        One row a cell: the columns `KEYS`, the `METRICS` on held-out rows, ``flips`` (share of rows whose leaf says
        something else than it would without noise), ``empty`` (share of leaves without rows), ``certified``,
        ``true_epsilon``, ``n_train`` and ``n_test``. What a stopped call returns holds whole tasks only.

    Raises
    ------
    ValueError
        If a parameter is out of range for one of the forests.
    TypeError
        If the data have no X, y and domain.

    Examples
    --------
    >>> from dpforest import MajorityLabelForestClassifier, load_dataset
    >>> forest = MajorityLabelForestClassifier(n_estimators=10)
    >>> table = surface([forest], load_dataset("zoo"), epsilons=[0.1, 10], depths=[2, 4], repeats=2)
    >>> len(table), bool(table.query("epsilon == 10").accuracy.mean() > table.query("epsilon == 0.1").accuracy.mean())
    (12, True)
    """
    if not all(hasattr(data, part) for part in ("X", "y", "domain")):
        raise TypeError(
            f"data is a {type(data).__name__}, and has no X, y and domain; hand over load_dataset(...), or "
            "types.SimpleNamespace(X=rows, y=labels, domain=domain)"
        )
    named = dict(forests) if isinstance(forests, dict) else {type(f).__name__: f for f in forests}
    if len(named) < len(forests):
        raise ValueError("two forests have the same name; give a dict with a name for each")
    check_choice("plan_for", plan_for, ("table", "split"))
    grid = sorted({float(e) for e in epsilons})
    reading = {name: forest.reading_domain(data.domain) for name, forest in named.items()}
    parts = {domain: splits(data, folds, seed, domain) for domain in set(reading.values())}
    tasks = [Task(name, r, f) for r in range(repeats) for f in range(folds) for name in named]
    kept = _kept(done, set(tasks))
    open_tasks = [task for task in tasks if task not in kept]
    cells = {name: cells_of(forest, depths, trees) for name, forest in named.items()}
    rows_of = {
        name: [_rows_of_plan(forest, split, len(data.y), plan_for) for split in parts[reading[name]]]
        for name, forest in named.items()
    }
    promises = {n: promises_of(f, data.domain, grid, cells[n], rows_of[n][0]) for n, f in named.items() if open_tasks}
    work = (
        delayed(run_task)(
            named[t.forest],
            reading[t.forest],
            parts[reading[t.forest]][t.fold],
            t,
            grid,
            cells[t.forest],
            seed + t.repeat,
            promises[t.forest],
            n_rows=rows_of[t.forest][t.fold],
        )
        for t in open_tasks
    )
    finished = [] if done is None or not kept else [done[[_task_of(row) in kept for row in done.itertuples()]]]
    n_done = len(tasks) - len(open_tasks)
    for frame in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(work):
        finished.append(frame)
        n_done += 1
        if on_progress is not None and on_progress(n_done, len(tasks)):
            break
    if not finished:
        return pd.DataFrame(columns=[*KEYS, *METRICS])
    return pd.concat(finished).sort_values(list(KEYS), ignore_index=True)


def curve(forests, data: Any, *, epsilons: Iterable[float], **settings) -> pd.DataFrame:
    """`surface` at the estimators' own depth and number of trees.

    Parameters
    ----------
    forests : dict of str to estimator, or sequence of estimators
        As of `surface`.
    data : object with X, y and domain
        As of `surface`.
    epsilons : iterable of float
        As of `surface`.
    **settings
        What else `surface` takes.

    Returns
    -------
    DataFrame
        As of `surface`.
    """
    return surface(forests, data, epsilons=epsilons, **settings)


def summary(table: pd.DataFrame, quantiles: tuple[float, float] = (0.1, 0.9)) -> pd.DataFrame:
    """Mean, spread and quantiles over repeats and folds of every metric.

    Parameters
    ----------
    table : DataFrame
        As `surface` returns.
    quantiles : (float, float)
        Which ones "low" and "high" are.

    Returns
    -------
    DataFrame
        One row for each forest, ε, depth and number of trees, or their median over fits where a fit finds its own (by
        a rule, or without limit); columns (metric, statistic), with statistics "mean",
        "noise" (standard deviation over repeats, of means over folds), "splits" (over folds, of means over repeats; NaN
        for one fold), "low" and "high" (quantiles over both); and "repeats" and "folds" behind them.
    """
    group = ["forest", "epsilon", "depth", "trees"]
    table = _with_one_shape(table)
    values = [*METRICS, "flips", "empty"]
    by_cell = table.groupby(group, dropna=False)
    over = {
        "mean": by_cell[values].mean(),
        "noise": table.groupby([*group, "repeat"], dropna=False)[values].mean().groupby(group, dropna=False).std(),
        "splits": table.groupby([*group, "fold"], dropna=False)[values].mean().groupby(group, dropna=False).std(),
        "low": by_cell[values].quantile(quantiles[0]),
        "high": by_cell[values].quantile(quantiles[1]),
    }
    wide = pd.concat(over, axis=1).swaplevel(axis=1).sort_index(axis=1)
    wide[("repeats", "")] = by_cell["repeat"].nunique()
    wide[("folds", "")] = by_cell["fold"].nunique()
    return wide


def _with_one_shape(table: pd.DataFrame) -> pd.DataFrame:
    """Depth and number of trees that are no axis of a forest's grid, as their median over fits at the same ε."""
    table = table.copy()
    for axis in ("depth", "trees"):
        of_fit = table.groupby(["forest", "epsilon", "repeat", "fold"])[axis].nunique()
        has_one_shape = table["forest"].isin([name for name, n in of_fit.groupby("forest").max().items() if n == 1])
        median = table.groupby(["forest", "epsilon"])[axis].transform("median")
        table[axis] = table[axis].where(~has_one_shape, median.round()).astype(table[axis].dtype)
    return table


# ---------------------------------------------------------------- one task


def simulation_for(forest: ForestClassifier, domain: Domain, split: Split, **settings) -> Simulation:
    """The simulation that suits a forest.

    Parameters
    ----------
    forest : ForestClassifier
        Its class decides how releases are simulated.
    domain : Domain
        Public schema that the rows of `split` are encoded by.
    split : Split
        Rows to fit on and rows held out.
    **settings
        What else `Simulation` takes.

    Returns
    -------
    Simulation
        A `RandomSimulation` or a `FittedSimulation`.

    Raises
    ------
    TypeError
        If the forest is of no class that can be simulated.
    """
    if isinstance(forest, DataDependentClassifier):
        return FittedSimulation(forest, domain, split, **settings)
    if isinstance(forest, RandomStructureClassifier):
        return RandomSimulation(forest, domain, split, **settings)
    raise TypeError(f"{type(forest).__name__} cannot be simulated")


def one_repeat(
    forest: ForestClassifier,
    domain: Domain,
    split: Split,
    epsilons: Sequence[float],
    cells: Sequence[Cell],
    seed: int,
    n_rows: int | None = None,
) -> list[Row]:
    """All rows of `Simulation.pieces`, also in another process.

    Parameters
    ----------
    forest : ForestClassifier
        Estimator whose releases are simulated; its own ε and seeds are not used.
    domain : Domain
        Public schema that the rows of `split` are encoded by.
    split : Split
        Rows to fit on and rows held out.
    epsilons : sequence of float
        Budgets to simulate; ∞ stands for the same trees without noise.
    cells : sequence of (int or None, int or None)
        Depths and numbers of trees, as of `cells_of`.
    seed : int
        Structure seed of the repeat.
    n_rows : int, optional
        Rows that depth and number of trees follow from, as of `Simulation`.

    Returns
    -------
    list of dict
        One row for each ε and cell, with its metrics.
    """
    simulation = simulation_for(forest, domain, split, n_rows=n_rows)
    return [row for piece in simulation.pieces(epsilons, cells, seed) for row in piece]


def run_task(
    forest: ForestClassifier,
    domain: Domain,
    split: Split,
    task: Task,
    epsilons: list[float],
    cells: list[Cell],
    seed: int,
    promises: dict[tuple, tuple[bool, float]],
    *,
    n_rows: int | None = None,
) -> pd.DataFrame:
    """All cells of one repeat on one fold.

    Parameters
    ----------
    forest : ForestClassifier
        Estimator whose releases are simulated; its own ε and seeds are not used.
    domain : Domain
        Public schema that the rows of `split` are encoded by.
    split : Split
        The fold's rows.
    task : Task
        Which forest, repeat and fold this is, for the rows of the result.
    epsilons : list of float
        Budgets to simulate; ∞ stands for the same trees without noise.
    cells : list of (int or None, int or None)
        As of `cells_of`.
    seed : int
        Structure seed of the repeat.
    promises : dict
        As of `promises_of`.
    n_rows : int, optional
        As of `Simulation`.

    Returns
    -------
    DataFrame
        One row a cell, as `surface` describes.
    """
    rows = one_repeat(forest, domain, split, [*epsilons, math.inf], cells, seed, n_rows)
    frame = pd.DataFrame(sorted(rows, key=lambda row: (row["cell"], row["epsilon"])))
    promised = [
        promises.get((epsilon, *cells[cell]), (False, math.inf))
        for epsilon, cell in zip(frame["epsilon"], frame.pop("cell"), strict=True)
    ]
    frame["certified"], frame["true_epsilon"] = zip(*promised, strict=True)
    frame["forest"], frame["repeat"], frame["fold"] = task.forest, task.repeat, task.fold
    frame["n_train"], frame["n_test"] = len(split.y_train), len(split.y_test)
    rest = [c for c in frame if c not in KEYS]
    return frame[[*KEYS, *rest]]


# ---------------------------------------------------------------- splits, and what is done already


def splits(data: Any, folds: int, seed: int, domain: Domain | None = None) -> list[Split]:
    """One split, three tenths of the rows held out, or one for each of several folds.

    Class by class where every class has enough rows.

    Parameters
    ----------
    data : object with X, y and domain
        As `load_dataset` returns.
    folds : int
        1 for one split.
    seed : int
        Of the shuffle.
    domain : Domain, optional
        What rows are read by (`ForestClassifier.reading_domain`), by default the data's own.

    Returns
    -------
    list of Split
        Encoded rows to learn from and to test on, one for each fold.
    """
    domain = data.domain if domain is None else domain
    if folds == 1:
        return [split_table(domain, data.X, data.y, seed=seed)]
    rows = read_rows(domain, data.X, data.y)
    codes, labels = rows.codes, rows.y
    counts = np.bincount(labels)
    kind = StratifiedKFold if counts[counts > 0].min() >= folds else KFold
    parts = kind(folds, shuffle=True, random_state=seed).split(codes, labels)
    return [Split(codes[a], labels[a], codes[b], labels[b]) for a, b in parts]


def _rows_of_plan(forest: ForestClassifier, split: Split, n_given: int, plan_for: str) -> int:
    n_train = len(split.y_train)
    return planned_rows(forest, n_train + len(split.y_test), n_given) if plan_for == "table" else n_train


def _task_of(row: Any) -> Task:
    return Task(row.forest, int(row.repeat), int(row.fold))


def _kept(done: pd.DataFrame | None, wanted: set[Task]) -> set[Task]:
    return set() if done is None or done.empty else {_task_of(row) for row in done.itertuples()} & wanted
