"""Accuracy of every forest: `python bench/accuracy.py [--data DIR ...] [--name after]`.

The program fits every estimator with default settings, in its certified and its published mode, on every table and at
every ε. All estimators get the same training and test rows. The program writes one row for each fit into
bench/accuracy-NAME.csv.gz, and `bench/accuracy_report.py` writes docs/ACCURACY.md from these files. A full run takes
about an hour on two cores. Boosters and other people's classifiers (`accuracy_peers.py`) are fitted only if `--forests`
names them. This program is not part of the tests.

`--data` names the folders of the tables (default: data/). Each folder has a catalog.json like that of data/. With
`--wide`, the program repeats each fit with every numeric range a hundred times as wide.
"""

import argparse
import itertools
import sys
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from accuracy_peers import NOT_PRIVATE, PEERS, RIVALS  # noqa: E402

import dpforest  # noqa: E402
from dpforest.simulation.metrics import from_shares  # noqa: E402
from dpforest.tables.datasets import catalog  # noqa: E402
from dpforest.tables.domain import Domain  # noqa: E402

FORESTS = {
    "majority labels": dpforest.MajorityLabelForestClassifier,
    "noisy counts": dpforest.RandomDecisionForestClassifier,
    "JPW": dpforest.JagannathanForestClassifier,
    "boosted": dpforest.BoostedForestClassifier,
    "multinomial": dpforest.MultinomialForestClassifier,
    "one greedy tree": dpforest.FriedmanSchusterClassifier,
    "RF-L": dpforest.RandomForestLaplaceClassifier,
    "RF-E": dpforest.RandomForestExponentialClassifier,
}
BOOSTERS = {
    "booster, δ = 0": partial(dpforest.RandomTreeBoosterClassifier, delta=0),
    "booster, δ = 1e-6": dpforest.RandomTreeBoosterClassifier,
}
EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MODES = ("certified", "as_published")
METRICS = ("accuracy", "balanced_accuracy", "auc", "log_loss", "calibration")
SEEDS = 5
WIDER = 100
PAUSE = 10  # seconds between two writes of a file
MOST_PUBLISHED = 15_000  # largest number of rows for fits of published mechanisms
_KEY = ("table", "wide", "forest", "mode", "seed")
Table = tuple[str, pd.DataFrame, np.ndarray, Domain]


def tables_of(folder: Path) -> list[Table]:
    """Return name, attributes, labels and public domain of every table in a folder."""
    tables = []
    for name, entry in catalog(folder).items():
        domain = Domain.from_catalog(entry)
        texts = [f.name for f in domain.features if f.kind == "categorical"]
        types = dict.fromkeys([*texts, entry["label"]], "str")
        rows = pd.read_csv(folder / entry["file"], dtype=types, keep_default_na=False, na_values=[""])
        rows = rows[rows[entry["label"]].notna()]
        tables.append((name, rows.drop(columns=entry["label"]), rows[entry["label"]].to_numpy(), domain))
    return tables


def widened(domain: Domain) -> Domain:
    """Return a domain with every numeric range a hundred times as wide, as if the curator knew less about it."""
    features = tuple(
        replace(f, high=f.low + WIDER * (f.high - f.low)) if f.kind == "numeric" else f for f in domain.features
    )
    return replace(domain, features=features)


def measure(table: Table, wide: bool, forest: str, mode: str, seed: int, epsilons: tuple[float, ...]) -> list[dict]:
    """Fit a forest at every ε, and return a row of measures for each."""
    name, X, y, domain = table
    domain = widened(domain) if wide else domain
    classes, counts = np.unique(y, return_counts=True)
    stratify = y if counts.min() > 1 else None  # a class with one row cannot be in both parts
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=stratify)
    if mode == "as_published":
        train = np.random.default_rng(seed).permutation(train)[:MOST_PUBLISHED]
    index = {str(c): i for i, c in enumerate(domain.classes)}
    y_true = np.array([index[str(c)] for c in y[test]])
    rows = []
    for epsilon in epsilons:
        settings = {"epsilon": epsilon, "domain": domain, "random_state": 1_000 * seed + 7}
        model = (FORESTS | BOOSTERS | PEERS | RIVALS)[forest](**settings)
        if "mode" in model.get_params():
            model.set_params(mode=mode)
        if "structure_seed" in model.get_params():
            model.set_params(structure_seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            model.fit(X.iloc[train], y[train])
            seconds = time.perf_counter() - start
            shares = model.predict_proba(X.iloc[test])
            predicted = np.array([index[str(c)] for c in model.predict(X.iloc[test])])
        measures = from_shares(shares, y_true, predicted, step=1e-3)
        rows.append(
            {
                "table": name,
                "wide": wide,
                "forest": forest,
                "mode": mode,
                "seed": seed,
                "epsilon": epsilon,
                "rows": len(train),
                "classes": len(classes),
                **{m: measures[m] for m in METRICS},
                "seconds": seconds,
            }
        )
    return rows


def run(
    folders: list[Path],
    name: str,
    wide: bool,
    only: list[str],
    modes: list[str],
    seeds: int,
    n_jobs: int,
    forests: list[str],
    epsilons: tuple[float, ...] = EPSILONS,
    go_on: bool = False,
) -> pd.DataFrame:
    """Make all fits: all tables with the first seed, then with the next seed.

    The rows are saved every `PAUSE` seconds, so that a stopped run can continue.
    """
    path = ROOT / "bench" / f"accuracy-{name}.csv.gz"
    earlier = pd.read_csv(path) if go_on and path.exists() else pd.DataFrame(columns=[*_KEY, "epsilon"])
    done = set(earlier[[*_KEY, "epsilon"]].itertuples(index=False, name=None))
    tables = [t for folder in folders for t in tables_of(folder) if not only or t[0] in only]
    jobs = []
    for seed, table, forest in itertools.product(range(seeds), tables, forests):
        forest_epsilons = (np.inf,) if forest in NOT_PRIVATE else epsilons
        has_numbers = any(f.kind == "numeric" for f in table[3].features)
        for is_wide, mode in itertools.product((False, True) if wide and has_numbers else (False,), modes):
            if mode == "certified" or forest in FORESTS:
                missing = tuple(e for e in forest_epsilons if (table[0], is_wide, forest, mode, seed, e) not in done)
                jobs += [(table, is_wide, forest, mode, seed, missing)] if missing else []
    rows, written = earlier.to_dict("records"), time.perf_counter()
    for job_rows in Parallel(n_jobs, return_as="generator")(delayed(measure)(*job) for job in jobs):
        rows += job_rows
        if time.perf_counter() - written > PAUSE:
            written = time.perf_counter()
            save(rows, path)
            print(f"seed {job_rows[-1]['seed']}, {job_rows[-1]['table']}: {len(rows):,} fits", flush=True)
    save(rows, path)
    return pd.DataFrame(rows)


def save(rows: list[dict], path: Path) -> None:
    """Write the rows to a new file that then replaces the old file. A stopped run thus leaves one complete file."""
    new = path.with_suffix(".new")
    pd.DataFrame(rows).to_csv(new, index=False, float_format="%.5g", compression={"method": "gzip", "mtime": 0})
    new.replace(path)


def summary(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Average a metric over seeds, then over tables. Return this mean, and its standard error due to the seeds."""
    tables = frame.groupby(["wide", "mode", "forest", "epsilon", "table"])[metric].agg(["mean", "var", "count"])
    tables["error"] = tables["var"] / tables["count"]
    groups = tables.groupby(["wide", "mode", "forest", "epsilon"])
    return pd.DataFrame({"mean": groups["mean"].mean(), "se": np.sqrt(groups["error"].sum()) / groups["mean"].count()})


def auc_drops(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each pair of ε between which the AUC of a certified forest drops, although the larger ε adds less noise.

    A drop counts if it exceeds .02 plus three standard errors. Only tables with two classes and at least 800 training
    rows (1,000 rows in all) are considered.
    """
    binary = frame[(frame["mode"] == "certified") & (frame["classes"] == 2) & (frame["rows"] >= 800) & ~frame["wide"]]
    means = binary.groupby(["forest", "table", "epsilon"])["auc"].agg(["mean", "sem"]).reset_index()
    drops = []
    for (forest, table), by_epsilon in means.groupby(["forest", "table"]):
        for i, low in by_epsilon.reset_index(drop=True).iterrows():
            for _, high in by_epsilon.iloc[i + 1 :].iterrows():
                drop, se = low["mean"] - high["mean"], float(np.hypot(low["sem"], high["sem"]))
                if drop > 0.02 + 3 * se:
                    drops.append(
                        {
                            "forest": forest,
                            "table": table,
                            "from": low["epsilon"],
                            "to": high["epsilon"],
                            "drop": drop,
                            "se": se,
                        }
                    )
    return pd.DataFrame(drops)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", default=[ROOT / "data"], help="folders with a catalog.json")
    parser.add_argument("--name", default="after", help="NAME of the file with the results")
    parser.add_argument("--wide", action="store_true", help="also fit with ranges 100 times as wide")
    parser.add_argument("--only", nargs="+", default=[], help="names of tables; all by default")
    parser.add_argument("--forests", nargs="+", default=list(FORESTS), choices=[*FORESTS, *BOOSTERS, *PEERS, *RIVALS])
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--go-on", action="store_true", help="keep the rows that the file already has")
    parser.add_argument("--n-jobs", type=int, default=-1)
    arguments = parser.parse_args()
    frame = run(
        arguments.data,
        arguments.name,
        arguments.wide,
        arguments.only,
        arguments.modes,
        arguments.seeds,
        arguments.n_jobs,
        arguments.forests,
        tuple(arguments.epsilons),
        arguments.go_on,
    )
    for metric in ("accuracy", "auc"):
        table = summary(frame, metric)["mean"].unstack("epsilon")
        print(f"\n{metric}\n{table.to_string(float_format='{:.3f}'.format)}")
    drops = auc_drops(frame)
    print(f"\nAUC falls as ε grows: {len(drops)} times\n{drops.to_string(index=False) if len(drops) else ''}")


if __name__ == "__main__":
    main()
