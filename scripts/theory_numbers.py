"""Write data/theory.json, the measured numbers of the page Theory: `.venv/bin/python scripts/theory_numbers.py`.

Every setting is said here, so that the numbers do not move with a default. It takes a minute or two.
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpforest import (
    BoostedForestClassifier,
    Domain,
    Feature,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    load_dataset,
)
from dpforest.evaluation.simulation import Split, split_table
from dpforest.evaluation.theorems import empty_share, even_vote_right
from dpforest.models.random.fit import count_kept_rows, rows_to_trees, simulate_values
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import true_labels
from dpforest.privacy.randomness import DemoSource
from dpforest.trees import routing

PATH = Path(__file__).parents[1] / "data" / "theory.json"
TABLES = {"mushroom": 8, "adult": 8, "breast_wisconsin": 5}  # depth of their random trees
MANY = 400  # random trees that stand for all
VOTES = [1, 3, 11, 31, 101, 301]
EMPTY = {"nursery": [1, 2, 3, 4, 5, 6], "adult": [1, 2, 3, 4], "breast_wisconsin": [1, 2, 3, 4, 5]}
SHARED_BY = [10, 30, 100, 300]
TEMPERATURES, ROWS = [0.0, 1.0, 10.0], [300, 1000, 3000, 10_000]
DEPTHS, BOOSTED = [1, 2, 3, 4, 5, 6], [1, 2, 5, 10, 20]
NOISE, RELEASES = Fraction(1), 20  # ε of the noisy votes
PINNED: dict[str, Any] = {"max_leaves": 4096, "neighbours": "add-remove", "mode": "certified", "scale_share": "public"}


def table(name: str) -> tuple[Domain, Split]:
    """A bundled table, numbers on the linear scale, and the same rows held out each time."""
    data = load_dataset(name)
    domain = data.domain.on_scale("linear")
    return domain, split_table(domain, data.X, data.y, test_share=0.3, seed=0)


def labels_forest(n_trees: int, depth: int) -> MajorityLabelForestClassifier:
    """Random trees that publish labels, each row in one of them."""
    return MajorityLabelForestClassifier(
        n_estimators=n_trees, max_depth=depth, leaf_mechanism="permute-and-flip", partition="independent",
        categorical="multiway", **PINNED,
    )  # fmt: skip


def leaves(trees, domain: Domain, codes: np.ndarray, n_trees: int) -> np.ndarray:
    """Number of the leaf of each row (columns) in each tree (rows)."""
    found = np.asarray(routing.leaves_of_rows(trees, domain, codes))
    return found if found.shape[0] == n_trees else found.T


def right_of_trees(name: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each of many random trees (rows) is right on each training row, without privacy; and the labels."""
    domain, split = table(name)
    forest = RandomDecisionForestClassifier(
        epsilon=None, n_estimators=MANY, max_depth=depth, voting="majority", partition="shared",
        categorical="ordered", **PINNED,
    )  # fmt: skip
    trees = _spec(forest, domain, len(split.y_train)).grow(domain, 0)
    counts = count_kept_rows(trees, domain, split.X_train, split.y_train, None, n_jobs=1)
    says = true_labels(counts, 0)[leaves(trees, domain, split.X_train, MANY)]
    return says == split.y_train[None, :], split.y_train


def vote_error(right: np.ndarray, n_trees: int, repeats: int = 20) -> float:
    """Error of a majority of some of the trees, a tie by a coin; mean over draws of the trees."""
    rng, found = np.random.default_rng(0), []
    for _ in range(repeats):
        votes = right[rng.choice(len(right), n_trees, replace=False)].mean(axis=0)
        found.append((votes < 0.5).mean() + (votes == 0.5).mean() / 2)
    return float(np.mean(found))


def goodness(name: str) -> dict[str, Any]:
    """How many rows have how many trees right (0 to all), and the error of votes."""
    right, labels = right_of_trees(name, TABLES[name])
    return {
        "depth": TABLES[name],
        "rows": int(right.shape[1]),
        "guessing": float(1 - np.bincount(labels).max() / len(labels)),
        "rows_by_trees_right": np.bincount(right.sum(axis=0), minlength=MANY + 1).tolist(),
        "vote_error": {k: vote_error(right, k) for k in VOTES},
    }


def noisy_votes(name: str, n_trees: int) -> dict[str, float]:
    """Accuracy of noisy trees and of their vote on rows held out; and what the formula gives, row by row."""
    domain, split = table(name)
    spec = _spec(labels_forest(n_trees, TABLES[name]), domain, len(split.y_train))
    of_rows, votes = np.zeros(len(split.y_test)), []
    for seed in range(RELEASES):
        trees, counts = _counted(spec, domain, split, seed)
        says = simulate_values(spec, counts, NOISE, 1000 + seed)
        right = says[leaves(trees, domain, split.X_test, n_trees)] == split.y_test[None, :]
        of_rows += right.sum(axis=0)
        share = right.mean(axis=0)
        votes.append((share > 0.5).mean() + (share == 0.5).mean() / 2)
    of_rows /= RELEASES * n_trees
    return {
        "tree": float(of_rows.mean()),
        "vote": float(np.mean(votes)),
        "row_by_row": float(even_vote_right(of_rows, n_trees).mean()),
    }


def empty_leaves(name: str, depth: int, n_trees: int) -> dict[str, float]:
    """Share of empty leaves where rows are shared out among trees: expected, and counted once."""
    domain, split = table(name)
    n = len(split.y_train)
    spec = _spec(labels_forest(n_trees, depth), domain, n)
    trees = spec.grow(domain, 0)
    everybody = count_kept_rows(trees, domain, split.X_train, split.y_train, None, n_jobs=1).sum(axis=1)
    mine = rows_to_trees(spec, np.arange(n), DemoSource(1))
    counts = count_kept_rows(trees, domain, split.X_train, split.y_train, mine, n_jobs=1)
    return {
        "expected": empty_share(everybody / n / n_trees, n),
        "counted": float((counts.sum(axis=1) == 0).mean()),
        "leaves": int(len(everybody)),
    }


def made_up(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a made-up table in which nobody can be right about more than 90 %."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 6))
    true = ((X[:, 0] + X[:, 1] > 1) ^ (X[:, 2] > 0.7)).astype(int)
    return X, np.where(rng.random(n) < 0.1, 1 - true, true)


def consistency(temperature: float, n: int) -> float:
    """Error of the multinomial forest on the made-up table, on 10,000 other rows; mean of three."""
    unit = [
        Feature(f"x{i}", "numeric", low=0, high=1, source="asserted", source_note="drawn", scale="linear")
        for i in range(6)
    ]
    domain = Domain(tuple(unit), (0, 1), "y", "asserted", "a bit")
    X, y = made_up(10_000, 999)
    errors = []
    for seed in range(3):
        forest = MultinomialForestClassifier(
            mode="as_published", n_estimators=30, feature_temperature=temperature, value_temperature=temperature,
            label_temperature=math.inf, domain=domain, random_state=seed,
        )  # fmt: skip
        errors.append((forest.fit(*made_up(n, seed)).predict(X) != y).mean())
    return float(np.mean(errors))


def boosted(depth: int, n_trees: int) -> float:
    """Training error on Adult of boosted trees without privacy, α = 1."""
    data = load_dataset("adult")
    forest = BoostedForestClassifier(
        epsilon=None, n_estimators=n_trees, alpha=1.0, max_depth=depth, n_bins=10, beta="one", max_leaf=2.0,
        domain=data.domain.on_scale("linear"), random_state=0,
    )  # fmt: skip
    return float((forest.fit(data.X, data.y).predict(data.X) != np.asarray(data.y)).mean())


def adult_guessing() -> float:
    """Error of always naming the more frequent class."""
    return float(1 - np.unique(load_dataset("adult").y, return_counts=True)[1].max() / len(load_dataset("adult").y))


def rounded(value: Any) -> Any:
    """With six digits."""
    if isinstance(value, dict):
        return {str(key): rounded(own) for key, own in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def _spec(forest: RandomStructureClassifier, domain: Domain, n: int):
    return forest._plan(domain, n)


def _counted(spec, domain: Domain, split: Split, seed: int):
    trees = spec.grow(domain, seed)
    mine = rows_to_trees(spec, np.arange(len(split.y_train)), DemoSource(seed + 1))
    return trees, count_kept_rows(trees, domain, split.X_train, split.y_train, mine, n_jobs=1)


def main() -> None:
    found = {
        "goodness": {name: goodness(name) for name in TABLES},
        "noisy_votes": {name: {k: noisy_votes(name, k) for k in VOTES} for name in TABLES},
        "empty": {n: {d: {k: empty_leaves(n, d, k) for k in SHARED_BY} for d in EMPTY[n]} for n in EMPTY},
        "consistency": {f"{b:g}": {n: consistency(b, n) for n in ROWS} for b in TEMPERATURES},
        "tree": {d: boosted(d, 1) for d in DEPTHS},
        "boosted": {k: boosted(3, k) for k in BOOSTED},
        "adult_guessing": adult_guessing(),
    }
    PATH.write_text(json.dumps(rounded(found), allow_nan=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{PATH}: {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
