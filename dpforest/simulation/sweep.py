"""Simulate releases of several forests over ε, depth, number of trees, repeats and folds, and tabulate their metrics.

The simulation reads raw rows and draws its noise from known seeds. So its results are not private: they are for the
curator, who may see the rows, and never for publication.
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
from dpforest.simulation.hold_out import person_folds
from dpforest.simulation.metrics import METRICS
from dpforest.simulation.pieces import Cell, Row, Simulation
from dpforest.simulation.random import RandomSimulation
from dpforest.simulation.splits import Split, persons_of, split_of, split_table
from dpforest.tables.domain import Domain
from dpforest.tables.rows import read_rows

KEYS: Final = ("forest", "epsilon", "depth", "trees", "repeat", "fold")  # columns that identify a row of a result
Progress = Callable[[int, int], bool | None]


@dataclass(frozen=True)
class Task:
    """One repeat of one forest on one fold: the smallest piece of work that `surface` computes or reuses."""

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
    groups: Any = None,
    done: pd.DataFrame | None = None,
    on_progress: Progress | None = None,
) -> pd.DataFrame:
    """Simulate releases at every ε, depth and number of trees, and the forests without privacy (ε = ∞).

    A cell is a pair of a depth and a number of trees. Each repeat draws new trees, a new assignment of rows to trees,
    and new noise. The seeds of a repeat are ``structure_seed = seed + repeat`` and
    ``random_state = structure_seed + NOISE_SEED``. The release at an ε and a cell equals a separate fit with these
    seeds.

    Forests with random structure grow their trees without the rows. So a repeat counts the rows in the leaves once,
    and uses the counts at every ε and cell with these trees. Other forests are fitted anew at every ε and cell, and
    only the encoding of the rows is shared.

    Parameters
    ----------
    forests : dict of str to estimator, or sequence of estimators
        Forests to simulate. The name of a forest is its key or, in a sequence, the name of its class. Epsilon, seeds
        and domain of the estimators are not used.
    data : object with X, y and domain
        Table, as from `load_dataset`.
    epsilons : iterable of float
        Budgets to simulate, each above 0.
    depths, trees : iterable of int, optional
        Values of `max_depth` and `n_estimators`; by default each forest keeps its parameters. A forest that lacks one
        of these parameters ignores the values for it.
    repeats : int
        Number of simulated releases at each ε and cell on each fold.
    folds : int
        1: one split, with three tenths of the rows held out. More: cross-validation.
    seed : int
        Seed of the splits and of the first repeat.
    n_jobs : int, optional
        As in joblib. None takes the setting of ``joblib.parallel_config``, so that a sweep can run on a cluster.
    plan_for : {"table", "split"}
        Number of rows from which a fit plans the depth, the number of trees, and the budget that is spent before trees
        grow. "table": the number of all rows, because a release holds no rows out. The simulated forest then has the
        plan of the release, but is fitted on fewer rows. "split": the number of rows to fit on.
    groups : array of shape (n,), optional
        Identifier of each row's person, if persons have several rows. Then whole persons are held out, as by
        `hold_out`, and no split is stratified.
    done : DataFrame, optional
        Result of an earlier call. This call copies the tasks of the earlier call instead of computing them again. A
        task is one repeat of one forest on one fold.
    on_progress : function, optional
        Called after each task with the number of finished tasks and the number of all tasks (forests x repeats x
        folds). If the function returns True, the simulation stops.

    Returns
    -------
    DataFrame
        One row for each forest, ε, cell, repeat and fold, with the columns `KEYS` and the `METRICS` on held-out rows.
        Further columns are ``flips`` (share of fitted rows in leaves whose class was changed by noise, as in
        `metrics.flipped_share`), ``empty`` (share of leaves without rows), ``certified`` (whether a release would have
        a certificate), ``true_epsilon`` (the privacy loss in this certificate; ∞ if no bound is known), ``n_train`` and
        ``n_test`` (numbers of fitted and held-out rows; with a unit in the domain, of persons). If `on_progress` has
        stopped the call, the table holds only finished tasks.

    Raises
    ------
    ValueError
        If a parameter is out of range for one of the forests, or two forests have the same name.
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
    forest_by_name = dict(forests) if isinstance(forests, dict) else {type(f).__name__: f for f in forests}
    if len(forest_by_name) < len(forests):
        raise ValueError("two forests have the same name; give a dict with a name for each")
    check_choice("plan_for", plan_for, ("table", "split"))
    grid = sorted({float(e) for e in epsilons})
    reading_domains = {name: forest.reading_domain(data.domain) for name, forest in forest_by_name.items()}
    parts = {domain: splits(data, folds, seed, domain, groups) for domain in set(reading_domains.values())}
    tasks = [Task(name, r, f) for r in range(repeats) for f in range(folds) for name in forest_by_name]
    finished_tasks = _finished_tasks(done, set(tasks))
    open_tasks = [task for task in tasks if task not in finished_tasks]
    cells = {name: cells_of(forest, depths, trees) for name, forest in forest_by_name.items()}
    rows_of = {
        name: [_rows_of_plan(forest, split, len(data.y), plan_for) for split in parts[reading_domains[name]]]
        for name, forest in forest_by_name.items()
    }
    promises = {
        n: promises_of(f, data.domain, grid, cells[n], rows_of[n][0]) for n, f in forest_by_name.items() if open_tasks
    }
    work = (
        delayed(run_task)(
            forest_by_name[t.forest],
            reading_domains[t.forest],
            parts[reading_domains[t.forest]][t.fold],
            t,
            grid,
            cells[t.forest],
            seed + t.repeat,
            promises[t.forest],
            n_rows=rows_of[t.forest][t.fold],
        )
        for t in open_tasks
    )
    finished = (
        []
        if done is None or not finished_tasks
        else [done[[_task_of(row) in finished_tasks for row in done.itertuples()]]]
    )
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
    """Run `surface` at the depth and number of trees of the estimators.

    Parameters
    ----------
    forests : dict of str to estimator, or sequence of estimators
        As in `surface`.
    data : object with X, y and domain
        As in `surface`.
    epsilons : iterable of float
        As in `surface`.
    **settings
        Other parameters of `surface`.

    Returns
    -------
    DataFrame
        As in `surface`.
    """
    return surface(forests, data, epsilons=epsilons, **settings)


def summary(table: pd.DataFrame, quantiles: tuple[float, float] = (0.1, 0.9)) -> pd.DataFrame:
    """Return mean, spread and quantiles of every metric over repeats and folds.

    Parameters
    ----------
    table : DataFrame
        Result of `surface`. It may have a further column ``worst_group``, the accuracy of a release in the group of
        rows where its accuracy is lowest.
    quantiles : (float, float)
        Orders of the quantiles "low" and "high", from 0 to 1.

    Returns
    -------
    DataFrame
        One row for each forest, ε, depth and number of trees. If a forest chooses its depth or number of trees in each
        fit (by a rule, or because it has no limit), the row states the median over the fits. Columns are (metric,
        statistic). The statistics are "mean", "noise" (standard deviation over repeats of the mean over folds),
        "splits" (standard deviation over folds of the mean over repeats; NaN for one fold), "low" and "high"
        (quantiles over repeats and folds). The last two columns are the numbers of "repeats" and of "folds".
    """
    group = ["forest", "epsilon", "depth", "trees"]
    table = _with_one_shape(table)
    values = [name for name in (*METRICS, "worst_group", "flips", "empty") if name in table]
    by_cell = table.groupby(group, dropna=False)
    statistics = {
        "mean": by_cell[values].mean(),
        "noise": table.groupby([*group, "repeat"], dropna=False)[values].mean().groupby(group, dropna=False).std(),
        "splits": table.groupby([*group, "fold"], dropna=False)[values].mean().groupby(group, dropna=False).std(),
        "low": by_cell[values].quantile(quantiles[0]),
        "high": by_cell[values].quantile(quantiles[1]),
    }
    wide = pd.concat(statistics, axis=1).swaplevel(axis=1).sort_index(axis=1)
    wide[("repeats", "")] = by_cell["repeat"].nunique()
    wide[("folds", "")] = by_cell["fold"].nunique()
    return wide


def _with_one_shape(table: pd.DataFrame) -> pd.DataFrame:
    """Give all fits of a forest at one ε their median depth, and their median number of trees.

    The function replaces only the depths, or numbers of trees, of a forest that was simulated at a single value of
    `max_depth`, or of `n_estimators`. Otherwise the table would have a separate row for each depth that a rule has
    chosen.
    """
    table = table.copy()
    for axis in ("depth", "trees"):
        n_shapes = table.groupby(["forest", "epsilon", "repeat", "fold"])[axis].nunique()
        has_one_shape = table["forest"].isin([name for name, n in n_shapes.groupby("forest").max().items() if n == 1])
        median = table.groupby(["forest", "epsilon"])[axis].transform("median")
        table[axis] = table[axis].where(~has_one_shape, median.round()).astype(table[axis].dtype)
    return table


# ---------------------------------------------------------------- one task


def simulation_for(forest: ForestClassifier, domain: Domain, split: Split, **settings) -> Simulation:
    """Return the simulation for a forest.

    Parameters
    ----------
    forest : ForestClassifier
        Forest to simulate. Its class decides how releases are simulated.
    domain : Domain
        Public schema with which the rows of `split` are encoded.
    split : Split
        Rows to fit on and held-out rows.
    **settings
        Other parameters of `Simulation`.

    Returns
    -------
    Simulation
        A `RandomSimulation` or a `FittedSimulation`.

    Raises
    ------
    TypeError
        If no simulation exists for the class of the forest.
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
    """Return all rows of `Simulation.pieces` as one list.

    `surface` can run this function in another process, because a module-level function can be pickled.

    Parameters
    ----------
    forest : ForestClassifier
        Estimator whose releases are simulated; its ε and seeds are not used.
    domain : Domain
        Public schema with which the rows of `split` are encoded.
    split : Split
        Rows to fit on and held-out rows.
    epsilons : sequence of float
        Budgets to simulate; ∞ means no noise.
    cells : sequence of (int or None, int or None)
        Depths and numbers of trees, as from `cells_of`.
    seed : int
        Structure seed of the repeat.
    n_rows : int, optional
        Number of rows from which a fit plans its depth and number of trees, as in `Simulation`.

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
    """Simulate the releases of one task at every ε and cell.

    Parameters
    ----------
    forest : ForestClassifier
        Estimator whose releases are simulated; its ε and seeds are not used.
    domain : Domain
        Public schema with which the rows of `split` are encoded.
    split : Split
        Rows of the fold.
    task : Task
        Name of the forest, repeat and fold, which are written into the result.
    epsilons : list of float
        Budgets to simulate; ∞ means no noise.
    cells : list of (int or None, int or None)
        Result of `cells_of`.
    seed : int
        Structure seed of the repeat.
    promises : dict
        Result of `promises_of`: whether each ε and cell would be certified, and its privacy loss.
    n_rows : int, optional
        As in `Simulation`.

    Returns
    -------
    DataFrame
        One row for each ε and cell, with the columns of `surface`.
    """
    rows = one_repeat(forest, domain, split, [*epsilons, math.inf], cells, seed, n_rows)
    frame = pd.DataFrame(sorted(rows, key=lambda row: (row["cell"], row["epsilon"]))).drop(columns="right")
    loss_of_row = [
        promises.get((epsilon, *cells[cell]), (False, math.inf))
        for epsilon, cell in zip(frame["epsilon"], frame.pop("cell"), strict=True)
    ]
    frame["certified"], frame["true_epsilon"] = zip(*loss_of_row, strict=True)
    frame["forest"], frame["repeat"], frame["fold"] = task.forest, task.repeat, task.fold
    frame["n_train"], frame["n_test"] = split.n_train, len(split.y_test)
    other_columns = [c for c in frame if c not in KEYS]
    return frame[[*KEYS, *other_columns]]


# ---------------------------------------------------------------- splits and finished tasks


def splits(data: Any, folds: int, seed: int, domain: Domain | None = None, groups: Any = None) -> list[Split]:
    """Return one split with three tenths of the rows held out, or a split for each of several folds.

    Splits are stratified by class if every class has enough rows. But if the domain declares a unit (a column that
    identifies persons), each split holds out persons with all of their rows, and is not stratified.

    Parameters
    ----------
    data : object with X, y and domain
        Table, as from `load_dataset`.
    folds : int
        Number of folds; 1 for one split.
    seed : int
        Seed of the shuffle.
    domain : Domain, optional
        Domain that encodes the rows (`ForestClassifier.reading_domain`); by default the domain of `data`.
    groups : array of shape (n,), optional
        Identifier of each row's person. If given, persons are held out, and splits are not stratified.

    Returns
    -------
    list of Split
        Encoded rows to fit on and held-out rows, one split for each fold.
    """
    domain = data.domain if domain is None else domain
    if folds == 1:
        return [split_table(domain, data.X, data.y, seed=seed, groups=groups)]
    unit_groups = None if domain.unit is None else groups
    rows = read_rows(domain, data.X, data.y, np.arange(len(data.y)), groups=unit_groups)
    if (persons := persons_of(rows, groups, len(data.y))) is not None:
        fold = person_folds(persons, folds, seed=seed)
        return [split_of(rows, np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds)]
    counts = np.bincount(rows.y)
    kind = StratifiedKFold if counts[counts > 0].min() >= folds else KFold
    parts = kind(folds, shuffle=True, random_state=seed).split(rows.codes, rows.y)
    return [split_of(rows, train, test) for train, test in parts]


def _rows_of_plan(forest: ForestClassifier, split: Split, n_given: int, plan_for: str) -> int:
    n_train = split.n_train
    return planned_rows(forest, n_train + len(split.y_test), n_given) if plan_for == "table" else n_train


def _task_of(row: Any) -> Task:
    return Task(row.forest, int(row.repeat), int(row.fold))


def _finished_tasks(done: pd.DataFrame | None, wanted: set[Task]) -> set[Task]:
    return set() if done is None or done.empty else {_task_of(row) for row in done.itertuples()} & wanted
