"""Accuracy where persons have several rows: `python bench/persons.py` measures it, `--report` prints the table.

In the bundled tables, each person has one row. Here, each training person gets an identifier, and several noisy copies
replace the person's row. Few persons get many copies. Each test person has one row, without noise. The program compares
three ways to fit:

- *rows taken for persons*: each row is protected with ε. So a person with k rows is protected only with kε;
- *weights*: the unit of privacy is the person (`Domain.unit`), and each person counts once;
- *at most k rows*: at most k rows of each person are used, and each row is protected with ε/k. So each person is
  protected with ε, without a unit of privacy.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from dpforest import (  # noqa: E402
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    RandomTreeBoosterClassifier,
    load_dataset,
)

TABLES = ("adult", "nursery", "magic")
FORESTS = {
    "majority labels": MajorityLabelForestClassifier(),
    "noisy counts": RandomDecisionForestClassifier(),
    "one greedy tree": FriedmanSchusterClassifier(),
    "booster, δ = 0": RandomTreeBoosterClassifier(delta=0),
}
EPSILONS = (0.1, 1.0, 3.0)
CAPS = (1, 2, 5)
SEEDS = 3
PERSONS = 8_000  # largest number of training persons of each table
MOST = 64  # largest number of rows of a person
NOISE = 0.2  # share of cells that are replaced by the cell of a random person
UNIT = "person"
RESULTS = ROOT / "bench" / "persons.csv"


def with_repeats(X: pd.DataFrame, y: pd.Series, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series]:
    """Replace each person's row by noisy copies of it.

    The number of copies is lognormal with median 2 and mean about 5, and at most `MOST`.
    """
    n_rows = np.clip(np.rint(2 * np.exp(1.3 * rng.standard_normal(len(X)))), 1, MOST).astype(int)
    person = np.repeat(np.arange(len(X)), n_rows)
    rows = X.iloc[person].reset_index(drop=True)
    for name in X.columns:
        changed = rng.random(len(person)) < NOISE
        rows.loc[changed, name] = X[name].to_numpy()[rng.integers(0, len(X), changed.sum())]
    rows[UNIT] = person
    order = rng.permutation(len(rows))
    return rows.iloc[order].reset_index(drop=True), y.iloc[person[order]].reset_index(drop=True)


def ways(rows: pd.DataFrame, domain, epsilon: float):
    """Yield the name of each way to fit, its rows, its domain and its ε."""
    yield "rows taken for persons (wrong)", rows, domain, epsilon
    yield "weights", rows, replace(domain, unit=UNIT), epsilon
    rank = rows.groupby(UNIT).cumcount()
    for k in CAPS:
        yield f"at most {k} row{'s' * (k > 1)} at ε/{k}", rows[rank < k], domain, epsilon / k


def main() -> None:
    """Measure everything, and write `RESULTS`."""
    measured_rows = []
    for name in TABLES:
        data = load_dataset(name)
        labels = np.asarray(data.y).astype(str)
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            sampled_rows = rng.permutation(len(labels))[: PERSONS * 10 // 7]
            train, test = train_test_split(sampled_rows, test_size=0.3, random_state=seed)
            rows, y = with_repeats(data.X.iloc[train], data.y.iloc[train], rng)
            for epsilon in EPSILONS:
                for way, fit_rows, domain, fit_epsilon in ways(rows, data.domain, epsilon):
                    for forest, model in FORESTS.items():
                        fitted = model.set_params(epsilon=fit_epsilon, domain=domain, random_state=seed)
                        fitted.fit(fit_rows, y.loc[fit_rows.index])
                        accuracy = np.mean(fitted.predict(data.X.iloc[test]).astype(str) == labels[test])
                        cell = {"table": name, "seed": seed, "epsilon": epsilon, "way": way, "forest": forest}
                        most = int(rows[UNIT].value_counts().max())
                        measured_rows.append({**cell, "accuracy": accuracy, "rows": len(rows), "most": most})
            print(name, seed, flush=True)
    pd.DataFrame(measured_rows).to_csv(RESULTS, index=False)
    print("\n".join(section()))


def section() -> list[str]:
    """Return the lines of a section of docs/ACCURACY.md; the list is empty if there are no results."""
    if not RESULTS.exists():
        return []
    results = pd.read_csv(RESULTS)
    order = list(dict.fromkeys(results["way"]))
    mean = results.groupby(["forest", "way", "epsilon"])["accuracy"].mean()
    lines = [
        "## Persons with several rows",
        "",
        f"Each person of {', '.join(TABLES)} gets a skewed number of noisy copies of their row (mean "
        f"{results['rows'].mean() / (PERSONS * 1.0):.1f}, largest {results['most'].max()}; `bench/persons.py`). "
        f"Accuracy on held-out persons, mean over {results['table'].nunique()} tables and "
        f"{results['seed'].nunique()} seeds. *Rows taken for persons* is wrong: the person with the most rows has up "
        f"to {results['most'].max()} times the ε of the column. *Weights* is `Domain(unit=...)`.",
        "",
    ]
    for forest in FORESTS:
        head = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS)
        lines += [f"| {forest} | {head} |", f"| --- |{' --- |' * len(EPSILONS)}"]
        for way in order:
            cells = " | ".join(f"{mean[forest, way, epsilon]:.3f}".lstrip("0") for epsilon in EPSILONS)
            lines.append(f"| {way} | {cells} |")
        lines.append("")
    return lines


if __name__ == "__main__":
    if "--report" in sys.argv:
        print("\n".join(section()))
    else:
        main()
