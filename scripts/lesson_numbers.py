"""Write data/lesson.json, the measured numbers of the lesson: `.venv/bin/python scripts/lesson_numbers.py` (a minute).

This script passes every setting explicitly, so that a new default of a forest does not change the lesson.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpforest import FriedmanSchusterClassifier, MajorityLabelForestClassifier, load_dataset
from dpforest.evaluation.group_rates import of_releases, rates
from dpforest.evaluation.groups import groups_of
from dpforest.privacy.simulators import simulate_labels
from dpforest.risk import classroom
from dpforest.simulation.splits import Split
from dpforest.simulation.sweep import simulation_for, splits, surface
from dpforest.simulation.views import ForestView
from dpforest.trees.routing import leaves_of_rows

PATH = Path(__file__).parents[1] / "data" / "lesson.json"
TREES = [1, 3, 11, 31, 100, 300]
DEPTHS = [1, 2, 3, 4, 5, 6, 8]
EPSILONS = [0.1, 1.0, 10.0]
ALL_EPSILONS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
CLASS_TREES = [1, 2, 3, 5, 7, 10]
CLASS_EPSILONS = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]
TABLES = {"school": "nursery", "hospital": "breast_wisconsin", "bank": "adult", "clinic": "hepatitis"}
DEGREES = ["Masters", "Bachelors", "HS-grad"]
DIGITS = 6
BALLOT_ROW = 7  # held-out application on which the trees vote in step 3: one tree is wrong, 31 trees are right


def labels(**settings) -> MajorityLabelForestClassifier:
    """Return the forest of steps 3 to 5."""
    pinned = {
        "n_estimators": 100,
        "max_depth": 4,
        "leaf_mechanism": "permute-and-flip",
        "partition": "independent",
        "categorical": "multiway",
        "max_leaves": 4096,
        "neighbors": "add-remove",
        "mode": "certified",
        "scale_share": "public",
    }
    return MajorityLabelForestClassifier(**{**pinned, **settings})


def greedy() -> FriedmanSchusterClassifier:
    """Return the tree of step 8."""
    return FriedmanSchusterClassifier(
        max_depth=5,
        criterion="max",
        n_bins=10,
        tree_share=0.5,
        neighbors="add-remove",
        mode="certified",
        scale_share="public",
    )


def table(name: str) -> SimpleNamespace:
    """Return a bundled table whose numbers are read on the linear scale."""
    data = load_dataset(name)
    return SimpleNamespace(X=data.X, y=data.y, domain=data.domain.on_scale("linear"))


def mean(cells: pd.DataFrame, column: str, **where: float) -> float:
    """Return the mean of a column over the repeats of one cell. `where` names the cell by its ε, trees or depth."""
    for key, value in where.items():
        cells = cells[cells[key] == value]
    return round(float(cells[column].mean()), DIGITS)


def votes(trees: list[int] = TREES) -> dict:
    """Measure step 3: the vote of more and more trees, each of which gets fewer rows."""
    cells = surface([labels()], table("nursery"), epsilons=[1.0], trees=trees, repeats=20, plan_for="split")
    measures = {
        "accuracy": [mean(cells, "accuracy", epsilon=1.0, trees=t) for t in trees],
        "without_noise": [mean(cells, "accuracy", epsilon=np.inf, trees=t) for t in trees],
        "lies": [mean(cells, "flips", epsilon=1.0, trees=t) for t in trees],
        "empty": [mean(cells, "empty", epsilon=1.0, trees=t) for t in trees],
    }
    return {"trees": trees, **measures}


def plan(partition: str, epsilons: list[float]) -> dict:
    """Measure step 4: the ledger of one division of the rows among trees (`partition`), and its accuracy."""
    data = table("nursery")
    forest = labels(partition=partition, domain=data.domain, random_state=0).fit(data.X, data.y)
    (entry,) = forest.ledger_.entries
    cells = surface([labels(partition=partition)], data, epsilons=epsilons, repeats=20, plan_for="split")
    return {
        "times": entry.times,
        "each": str(entry.epsilon_each),
        "composition": entry.composition,
        "spent": str(forest.ledger_.spent),
        "epsilon": epsilons,
        "accuracy": [mean(cells, "accuracy", epsilon=e) for e in epsilons],
    }


def depths(depth: list[int] = DEPTHS, epsilons: list[float] = EPSILONS, categorical: str = "multiway") -> dict:
    """Measure step 5: accuracy of deeper trees, and their share of empty leaves."""
    forest = labels(categorical=categorical)
    cells = surface([forest], table("nursery"), epsilons=epsilons, depths=depth, repeats=20, plan_for="split")
    return {
        "depth": depth,
        "accuracy": {f"{e:g}": [mean(cells, "accuracy", epsilon=e, depth=d) for d in depth] for e in epsilons},
        "without_noise": [mean(cells, "accuracy", epsilon=np.inf, depth=d) for d in depth],
        "empty": [mean(cells, "empty", epsilon=1.0, depth=d) for d in depth] if 1.0 in epsilons else [],
        "guessing": guessing("nursery"),
    }


def guessing(name: str) -> float:
    """Return the share of the most frequent class."""
    return round(float(pd.Series(load_dataset(name).y).value_counts(normalize=True).max()), DIGITS)


def release_of(settings: dict) -> tuple[ForestView, Split]:
    """Return the first simulated release of the forest of steps 3 to 5 at ε = 1, and the split of its rows."""
    data = table("nursery")
    (split,) = splits(data, 1, 0)
    simulation = simulation_for(labels(**settings), data.domain, split, n_rows=len(split.y_train))
    return simulation.view(1.0, 0), split


def ballots(trees: list[int] = TREES) -> dict:
    """Return the vote of each tree on one held-out application, in one release, for more and more trees.

    A vote is the digit of a class. Its kind is "r" for the true label of the row's leaf, "l" for a lie, and "e" for a
    label from an empty leaf.
    """
    votes_cast, kinds, truth = {}, {}, -1
    for n in trees:
        view, split = release_of({"n_estimators": n})
        leaves = leaves_of_rows(view.trees, view.domain, split.X_test[[BALLOT_ROW]])[:, 0]
        evidence, label = view.noise.evidence[leaves], view.labels[leaves]
        is_lie = evidence[np.arange(n), label] < evidence.max(axis=1)
        kinds[str(n)] = "".join(np.where(view.n_rows[leaves] == 0, "e", np.where(is_lie, "l", "r")).tolist())
        votes_cast[str(n)] = "".join(str(each) for each in label.tolist())
        truth = int(split.y_test[BALLOT_ROW])
    return {"row": BALLOT_ROW, "truth": truth, "votes": votes_cast, "kinds": kinds}


def one_tree(deepest: int = 6) -> dict:
    """Return where the rows of the first tree of step 5 are at each depth, and which leaves publish a lie.

    At each depth, ``filled`` lists the leaves with rows as "leaf:rows", and ``lies`` has a digit for each of these
    leaves and each ε: 1 for a lie.
    """
    view, _ = release_of({"max_depth": deepest})
    nodes = view.nodes(0)
    order, levels = np.zeros(1, int), []
    for depth in range(1, deepest + 1):
        below = np.where(nodes.trees.level == depth, nodes.trees.parent, -1)
        order = np.concatenate([np.flatnonzero(below == parent) for parent in order.tolist()])
        counts = nodes.counts[order]
        filled_leaves = np.flatnonzero(counts.sum(axis=1))
        top, lies = counts[filled_leaves].max(axis=1), {}
        for epsilon in EPSILONS:
            label = simulate_labels(counts[filled_leaves], "permute-and-flip", epsilon, depth)
            is_lie = counts[filled_leaves, label] < top
            lies[f"{epsilon:g}"] = "".join(str(int(lie)) for lie in is_lie)
        filled = " ".join(f"{leaf}:{counts[leaf].sum()}" for leaf in filled_leaves.tolist())
        levels.append({"depth": depth, "leaves": len(order), "filled": filled, "lies": lies})
    return {"rows": int(nodes.counts[0].sum()), "levels": levels}


def tree_of(name: str, epsilons: list[float] = ALL_EPSILONS) -> dict:
    """Measure step 8: wrong predictions of one tree."""
    cells = surface([greedy()], table(name), epsilons=epsilons, repeats=40, plan_for="split")
    spread = [round(float(cells[cells.epsilon == e].accuracy.std()), DIGITS) for e in epsilons]
    return {
        "data": name,
        "rows": len(load_dataset(name).y),
        "wrong": [round(1 - mean(cells, "accuracy", epsilon=e), DIGITS) for e in epsilons],
        "spread": spread,
        "without_noise": round(1 - mean(cells, "accuracy", epsilon=np.inf), DIGITS),
        "guessing": round(1 - guessing(name), DIGITS),
    }


def by_education(epsilons: list[float] = ALL_EPSILONS) -> dict:
    """Measure step 8: wrong predictions of the tree on the bank's table, for customers of each level of education."""
    data, forest = table("adult"), greedy()
    (split,) = splits(data, 1, 0)
    place, budgets = data.domain.names.index("education"), [*epsilons, np.inf]
    groups = groups_of(data.domain.features[place], split.X_test[:, place])
    simulation = simulation_for(forest, data.domain, split, n_rows=len(split.y_train))
    rows = [row for repeat in range(40) for piece in simulation.pieces(budgets, seed=repeat) for row in piece]
    accuracy = rates(split.y_test, data.domain.classes, 1)["accuracy"]
    wrong = [
        1 - of_releases([row["right"] for row in rows if row["epsilon"] == epsilon], accuracy, groups).mean(axis=0)
        for epsilon in budgets
    ]
    return {
        degree: {
            "held_out": int(groups.n_persons[groups.names.index(degree)]),
            "wrong": [round(float(share[groups.names.index(degree)]), DIGITS) for share in wrong],
        }
        for degree in DEGREES
    }


def reconstruction(trees: int, epsilon: float | None) -> dict:
    """Measure steps 0 and 7: reconstruction of thirty students, in many made-up school classes.

    Return the mean number of reconstructed students, and the share of school classes that are reconstructed completely.
    """
    right = classroom.n_right_by_class(trees, epsilon)
    return {
        "right": round(float(right.mean()), DIGITS),
        "all_thirty": round(float((right == classroom.N_STUDENTS).mean()), DIGITS),
    }


def other_seeds(trees: int, seeds: int = 60) -> float:
    """Return how many of thirty students are reconstructed from exact counts, as the mean over public seeds."""
    failed = [classroom.secrets(seed) for seed in range(seeds)]
    right = [
        classroom.marks_of(
            classroom.reconstruct(classroom.members(trees, s), classroom.published_counts(f, trees, None, 0, s)), f
        ).sum()
        for s, f in enumerate(failed)
    ]
    return round(float(np.mean(right)), DIGITS)


def in_explore() -> dict:
    """Measure the trees of Explore, at the settings to which the lesson links. Each test has two branches."""
    binary = labels(categorical="ordered")
    cells = surface([binary], table("nursery"), epsilons=[1.0], trees=[31], repeats=20, plan_for="split")
    deep = depths([2, 6], [0.1], "ordered")["accuracy"]["0.1"]
    return {"31 trees": mean(cells, "accuracy", epsilon=1.0), "depth 2": deep[0], "depth 6": deep[1]}


def main() -> None:
    numbers = {
        "class": {
            "trees": CLASS_TREES,
            "exact": [reconstruction(t, None) for t in CLASS_TREES],
            "epsilon": CLASS_EPSILONS,
            "noisy": [reconstruction(10, e) for e in CLASS_EPSILONS],
            "other_seeds": {"10": other_seeds(10), "20": other_seeds(20)},
        },
        "votes": votes(),
        "plans": {p: plan(p, [1.0, 10.0]) for p in ("shared", "independent")},
        "depth": depths(),
        "choose": {"epsilon": ALL_EPSILONS, **{who: tree_of(name) for who, name in TABLES.items()}},
        "degrees": by_education(),
        "explore": in_explore(),
        "ballots": ballots(),
        "one_tree": one_tree(),
    }
    PATH.write_text(json.dumps(numbers, indent=1) + "\n")
    print(PATH)


if __name__ == "__main__":
    main()
