"""Suites of data-dependent forests: boosted trees and the multinomial forest against peers, and time against rows."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
from measure import AT_MOST, Effort, Results, interleave, seconds
from processes import Worker, make_peer, python_of
from suites import asks, starts

BOOSTED = ("boosted", "boosted demo", "boosted calibrated")
MULTINOMIAL = ("multinomial demo", "multinomial shared demo", "multinomial published")
EXACT = ("multinomial", "multinomial shared")
FEATURES = 10
BY_HIST, BY_EXPLAINABLE, BY_FOREST = "HistGradientBoosting", "DPExplainableBoosting", "RandomForest"


def write_magic(folder: Path) -> tuple[Path, Path]:
    """Write the bundled table "magic", 19,020 rows and 10 features, in random order, once for each folder."""
    from dpforest import load_dataset

    X_path, y_path = folder / "X-magic.npy", folder / "y-magic.npy"
    if not X_path.exists():
        data = load_dataset("magic")
        order = np.random.default_rng(0).permutation(len(data.y))
        np.save(X_path, np.asarray(data.X, np.float64)[order])
        np.save(y_path, data.domain.encode_labels(data.y)[order])
    return X_path, y_path


def write_rows(folder: Path, n: int) -> tuple[Path, Path]:
    """Write uniform rows, whose class follows a noisy linear rule, once for each folder."""
    X_path, y_path = folder / f"X-rows{n}.npy", folder / f"y-rows{n}.npy"
    if not X_path.exists():
        generator = np.random.default_rng(0)
        X = generator.random((n, FEATURES))
        np.save(X_path, X)
        np.save(y_path, ((X - 0.5) @ np.arange(FEATURES) + generator.normal(size=n) > 0).astype(np.int32))
    return X_path, y_path


def boosted_trees(results: Results, folder: Path, effort: Effort) -> None:
    """Compare boosted trees (with seeded and with exact noise) to gradient boosting, private and not private."""
    contenders = [*BOOSTED, BY_HIST]
    if make_peer(BY_EXPLAINABLE):
        contenders.append(BY_EXPLAINABLE)
    else:
        print(f"  interpret-core could not be installed, so {BY_EXPLAINABLE} is left out", flush=True)
    _fits(results, write_magic(folder), contenders, effort)

    def ratio(peer: str, us: str, least: float | None) -> None:
        results.ratio("10 boosted trees", f"fit, {us}, against {peer}", _fit(peer), _fit(us), least)

    ratio(BY_HIST, "boosted demo", 1)
    ratio(BY_HIST, "boosted calibrated", 1)
    ratio(BY_HIST, "boosted", 1 / 1.5)
    if BY_EXPLAINABLE in contenders:
        ratio(BY_EXPLAINABLE, "boosted demo", 1)
        ratio(BY_EXPLAINABLE, "boosted", 1)
    _exact_noise(results, "10 boosted trees", "boosted", "boosted demo")
    starts(results, "13 compile time of boosted trees", "boosted demo", write_magic(folder), effort)


def multinomial_forest(results: Results, folder: Path, effort: Effort) -> None:
    """Compare the multinomial forest with a forest of random trees; both have 100 trees.

    The multinomial forest is measured with seeded noise, with exact noise, and in its published mode.
    """
    shallow = f"{BY_FOREST} of depth 4"
    _fits(results, write_magic(folder), [*MULTINOMIAL, *EXACT, BY_FOREST, shallow], effort)
    for us in (*MULTINOMIAL, *EXACT):
        least = 0.5 if us in MULTINOMIAL else None
        results.ratio("11 multinomial forest", f"fit, {us}, against {BY_FOREST}", _fit(BY_FOREST), _fit(us), least)
    for us in MULTINOMIAL[:2]:  # trees of our default settings are shallow, so compare them with shallow trees, too
        results.ratio("11 multinomial forest", f"fit, {us}, against {shallow}", _fit(shallow), _fit(us), None)
    for us in EXACT:
        _exact_noise(results, "11 multinomial forest", us, f"{us} demo")


def time_per_row(results: Results, folder: Path, effort: Effort) -> None:
    """Measure whether the time of a fit of boosted trees grows in proportion to the rows."""
    contender, sizes = "boosted demo", (10_000, 100_000, effort.large)
    names = {n: f"fit {contender} n={n}" for n in sizes}
    with ExitStack() as stack:
        runs = {}
        for n, name in names.items():
            worker = stack.enter_context(Worker(python_of(contender), *write_rows(folder, n)))
            worker("warm", contender=contender)
            runs[name] = asks(results, name, worker, "fit", contender)
        interleave(results, runs, effort.rounds)
    times = [results.median(name) for name in names.values()]
    for n, value in zip(sizes, times, strict=True):
        title = f"fit, {contender}, {n:,} rows"
        results.figure("12 time per row", title, value / n * 1e6, "µs a row", None, seconds(value))
    slopes = np.diff(np.log(times)) / np.diff(np.log(sizes))
    slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    detail = "slope of log time over log rows; from one size to the next " + ", ".join(f"{s:.2f}" for s in slopes)
    results.figure(
        "12 time per row", f"fit, {contender}: time grows as a power of rows", slope, "(power)", (AT_MOST, 1.1), detail
    )


def _fits(results: Results, tables: tuple[Path, Path], contenders: list[str], effort: Effort) -> None:
    with ExitStack() as stack:
        runs = {}
        processes: dict[str, Worker] = {}
        for contender in contenders:
            python = python_of(contender)
            if python not in processes:
                processes[python] = stack.enter_context(Worker(python, *tables))
            processes[python]("warm", contender=contender)
            runs[_fit(contender)] = asks(results, _fit(contender), processes[python], "fit", contender)
        interleave(results, runs, effort.rounds)


def _fit(contender: str) -> str:
    return f"fit {contender}, magic"


def _exact_noise(results: Results, item: str, exact: str, demo: str) -> None:
    extra = results.median(_fit(exact)) - results.median(_fit(demo))
    detail = f"{seconds(results.median(_fit(exact)))} less {seconds(results.median(_fit(demo)))} with a seed's noise"
    results.figure(item, f"exact draws of {exact}", extra, "s", None, detail)


GREEDY_SUITES = {"boosted": boosted_trees, "multinomial": multinomial_forest, "rows": time_per_row}
