"""Write data/theory.json, the measured numbers of the page Theory: `.venv/bin/python scripts/theory_numbers.py`.

This script measures every table that comes with the project, which takes some minutes. The page Theory measures other
tables when a user opens them.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpforest import Domain, Feature, MultinomialForestClassifier
from dpforest.tables.datasets import list_datasets
from ui.learn.theory_numbers import MEASURES, PATH, rounded
from ui.shared import tables

TEMPERATURES, ROWS = [0.0, 1.0, 10.0], [300, 1000, 3000, 10_000]


def of_table(name: str) -> dict[str, Any]:
    """Return all measurements of a bundled table."""
    data = tables.bundled(name)
    table = tables.bundled_table(data, data.label)
    measurements: dict[str, Any] = {"domain": tables.fingerprint(table.domain)}
    for measure, (function, two_classes) in MEASURES.items():
        if table.domain.n_classes == 2 or not two_classes:
            measurements[measure] = function(table)
    return rounded(measurements)


def made_up(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a made-up table. The best possible classifier is right on about 90 % of them."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 6))
    label = ((X[:, 0] + X[:, 1] > 1) ^ (X[:, 2] > 0.7)).astype(int)
    return X, np.where(rng.random(n) < 0.1, 1 - label, label)


def consistency(temperature: float, n: int) -> float:
    """Fit three multinomial forests on n made-up rows each, and return their mean error on 10,000 new rows."""
    features = [
        Feature(f"x{i}", "numeric", low=0, high=1, source="asserted", source_note="drawn", scale="linear")
        for i in range(6)
    ]
    domain = Domain(tuple(features), (0, 1), "y", "asserted", "a bit")
    X, y = made_up(10_000, 999)
    errors = []
    for seed in range(3):
        forest = MultinomialForestClassifier(
            mode="as_published",
            n_estimators=30,
            feature_temperature=temperature,
            value_temperature=temperature,
            label_temperature=math.inf,
            domain=domain,
            random_state=seed,
        )
        errors.append((forest.fit(*made_up(n, seed)).predict(X) != y).mean())
    return float(np.mean(errors))


def main() -> None:
    content: dict[str, Any] = {"tables": {}}
    for name in list_datasets():
        print(name, flush=True)
        content["tables"][name] = of_table(name)
    content["consistency"] = rounded({f"{b:g}": {n: consistency(b, n) for n in ROWS} for b in TEMPERATURES})
    PATH.write_text(json.dumps(content, allow_nan=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{PATH}: {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
