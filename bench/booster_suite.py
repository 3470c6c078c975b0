"""Times of fit and predict on two threads: the random-tree booster, and gradient boosting with and without privacy."""

from contextlib import ExitStack
from pathlib import Path

from measure import AT_MOST, Effort, Results, interleave, seconds
from processes import Worker, make_peer, python_of
from suites import asks, write_table

BOOSTERS = ("booster, δ = 0", "booster, δ = 1e-6")
BY_HIST, BY_EXPLAINABLE = "HistGradientBoosting as it comes", "DPExplainableBoosting"
MIDDLE = 45_000
THREADS = {"OMP_NUM_THREADS": "2"}  # scikit-learn's boosting reads its number of threads here


def booster(results: Results, folder: Path, effort: Effort) -> None:
    """Compare the booster with its peers on 45,000 rows, then fit the booster on a million rows (fewer if quick).

    The tables have 14 features, the noise comes from the exact samplers, and ε is 1.
    """
    for n, most, peers in ((MIDDLE, 1, True), (effort.large, 10, False)):
        contenders = [*BOOSTERS, *([BY_HIST] if peers else [])]
        if peers and make_peer(BY_EXPLAINABLE):
            contenders.append(BY_EXPLAINABLE)
        _measure(results, write_table(folder, n), contenders, n, effort.slow_rounds)
        for contender in BOOSTERS:
            fit, predict = (results.median(_name(do, contender, n)) for do in ("fit", "predict"))
            results.figure(
                "18 random-tree booster",
                f"fit and predict, {contender}, {n:,} rows, two threads",
                fit + predict,
                "s",
                (AT_MOST, most),
                f"fit {seconds(fit)}, predict {seconds(predict)}",
            )
        for peer in contenders[len(BOOSTERS) :]:
            for contender in BOOSTERS:
                slow, fast = _name("fit", peer, n), _name("fit", contender, n)
                title = f"fit, {contender}, against {peer}, {n:,} rows"
                results.ratio("18 random-tree booster", title, slow, fast, None, one_thread=False)


def _measure(results: Results, tables: tuple[Path, Path], contenders: list[str], n: int, rounds: int) -> None:
    with ExitStack() as stack:
        runs, processes = {}, dict[str, Worker]()
        for contender in contenders:
            python = python_of(contender)
            if python not in processes:
                processes[python] = stack.enter_context(Worker(python, *tables, **THREADS))
            processes[python]("warm", contender=contender, n_jobs=2)
            for do in ("fit", "predict"):
                runs[_name(do, contender, n)] = asks(
                    results, _name(do, contender, n), processes[python], do, contender, 2
                )
        interleave(results, runs, rounds)


def _name(do: str, contender: str, n: int) -> str:
    return f"{do} {contender} n={n}"


BOOSTER_SUITES = {"booster": booster}
