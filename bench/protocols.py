"""Tables and folds of two published comparisons: `python bench/protocols.py [--repetitions 10]`.

The comparison of S-BDT reports AUC and accuracy on Adult at δ = 5e-8. The comparison of PrivaTree reports accuracy on
breast-w and vote at δ = 0. Both papers use stratified five-fold cross-validation, on the rows without missing cells.
Neither publishes its folds, so our folds differ. Our bounds come from the documentation of the tables, while PrivaTree
reads its bounds from its training rows. Our forests do not assume that the number of rows is public.

Each fit is a row of bench/protocols.csv.gz; `bench/accuracy_report.py` puts the results next to the published figures.
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from accuracy import FORESTS, ROOT, Table, save, tables_of
from sklearn.model_selection import StratifiedKFold

import dpforest
from dpforest.simulation.metrics import from_shares

FOLDS = 5
METRICS = ("accuracy", "auc", "log_loss", "calibration")
_OURS = ("one greedy tree", "noisy counts", "majority labels")


@dataclass(frozen=True)
class Protocol:
    """A published comparison: its tables, its values of ε, and the forests of this project that we add to it."""

    name: str
    tables: tuple[str, ...]
    epsilons: tuple[float, ...]
    forests: dict


PROTOCOLS = (
    Protocol(
        "PrivaTree",
        ("breast_wisconsin", "congressional_voting"),
        (0.01, 0.1, 1.0),
        {"booster, δ = 0": partial(dpforest.RandomTreeBoosterClassifier, delta=0)} | {f: FORESTS[f] for f in _OURS},
    ),
    Protocol(
        "S-BDT",
        ("adult",),
        (0.01, 0.02, 0.03, 0.1, 0.5),
        {"booster, δ = 5e-8": partial(dpforest.RandomTreeBoosterClassifier, delta=5e-8)},
    ),
)


def measure(protocol: Protocol, table: Table, forest: str, repetition: int) -> list[dict]:
    """Return a row of measures for every fold and ε. Each repetition has separate folds, trees and noise."""
    name, X, y, domain = table
    is_complete = X.notna().all(axis=1).to_numpy()
    X, y = X[is_complete], y[is_complete]
    index = {str(c): i for i, c in enumerate(domain.classes)}
    rows = []
    for fold, (train, test) in enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=repetition).split(X, y)):
        y_true = np.array([index[str(c)] for c in y[test]])
        for epsilon in protocol.epsilons:
            seed = FOLDS * repetition + fold
            model = protocol.forests[forest](epsilon=epsilon, domain=domain, random_state=1_000 * seed + 7)
            if "structure_seed" in model.get_params():
                model.set_params(structure_seed=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X.iloc[train], y[train])
                shares = model.predict_proba(X.iloc[test])
                predicted = np.array([index[str(c)] for c in model.predict(X.iloc[test])])
            measures = from_shares(shares, y_true, predicted, step=1e-3)
            rows.append(
                {
                    "protocol": protocol.name,
                    "table": name,
                    "forest": forest,
                    "repetition": repetition,
                    "fold": fold,
                    "epsilon": epsilon,
                    "rows": len(y),
                    **{m: measures[m] for m in METRICS},
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=10, help="number of repetitions of the folds")
    parser.add_argument("--only", nargs="+", default=[p.name for p in PROTOCOLS], help="names of protocols")
    arguments = parser.parse_args()
    path = ROOT / "bench" / "protocols.csv.gz"
    earlier = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["protocol"])
    rows = earlier[~earlier["protocol"].isin(arguments.only)].to_dict("records")
    tables = {table[0]: table for table in tables_of(ROOT / "data")}
    for protocol in PROTOCOLS:
        if protocol.name not in arguments.only:
            continue
        for repetition in range(arguments.repetitions):
            start = time.perf_counter()
            for name in protocol.tables:
                for forest in protocol.forests:
                    rows += measure(protocol, tables[name], forest, repetition)
            save(rows, path)
            print(f"{protocol.name}, {repetition}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
