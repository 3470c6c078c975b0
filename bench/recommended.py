"""The section of docs/ACCURACY.md that compares the choice of `dpforest.recommend` with always using the same forest.

This module computes it from the files that bench/accuracy_report.py reads.
"""

import pandas as pd

from dpforest import Domain, Feature, FriedmanSchusterClassifier, recommend

DEVELOPMENT = (
    *("adult", "banknote", "breast_wisconsin", "car", "cardiotocography", "cmc", "credit_default", "mushroom"),
    *("pendigits", "phishing_websites", "qsar_biodeg", "wine_white"),
)
DELTA = 1e-6
GREEDY, PURE, GAUSSIAN = "one greedy tree", "booster, δ = 0", "booster, δ = 1e-6"


def section(after: pd.DataFrame, booster: pd.DataFrame) -> list[str]:
    """Return the lines of the section."""
    certified = after[(after["mode"] == "certified") & ~after["wide"]]
    all_rows = pd.concat([certified, booster])
    sizes = all_rows.groupby("table")[["rows", "classes"]].first()
    means = all_rows.groupby(["table", "epsilon", "forest"])["accuracy"].mean().unstack("forest")
    means["rule, δ = 0"] = [_accuracy_of_rule(row, *key, 0, sizes) for key, row in means.iterrows()]
    means["rule, δ = 1e-6"] = [_accuracy_of_rule(row, *key, DELTA, sizes) for key, row in means.iterrows()]
    lines = [
        "## The public rule that recommends a forest",
        "",
        "`dpforest.recommend` reads ε, δ, the number of persons and the number of classes, and no row. Its two limits "
        "were fitted on the twelve development tables. It counts persons for each class, not for each attribute; this "
        "was decided after a look at all 42 tables: by attribute, a rule fits the twelve a little better and the "
        "thirty worse. Accuracy, documented bounds, mean over the tables. The best single "
        "forest was chosen afterwards, by its mean at that ε; the best forest of each table as well.",
        "",
    ]
    is_development = means.index.get_level_values("table").isin(DEVELOPMENT)
    for title, selected in (("Thirty other tables", ~is_development), ("Twelve development tables", is_development)):
        lines += _table(title, means[selected])
    return lines


def _accuracy_of_rule(row: pd.Series, table: str, epsilon: float, delta: float, sizes: pd.DataFrame) -> float:
    n_rows, n_classes = (int(n) for n in sizes.loc[table])
    attribute = Feature("x", "numeric", 0, 1, source="documented", source_note="placeholder")
    domain = Domain((attribute,), tuple(range(n_classes)), "y", "documented", "placeholder")
    estimator = recommend(domain, epsilon, delta, size=n_rows).estimator
    if isinstance(estimator, FriedmanSchusterClassifier):
        return float(row[GREEDY])
    return float(row[GAUSSIAN if estimator.delta > 0 else PURE])


def _table(title: str, means: pd.DataFrame) -> list[str]:
    epsilons = sorted(means.index.get_level_values("epsilon").unique())
    by_epsilon = means.groupby("epsilon").mean()
    pure = [name for name in means if "rule" not in name and name != GAUSSIAN]
    best = by_epsilon[pure].idxmax(axis=1)
    rows = {
        "rule, δ = 0": [f"**{_number(by_epsilon.loc[e, 'rule, δ = 0'])}**" for e in epsilons],
        "best single forest, δ = 0": [f"{_number(by_epsilon.loc[e, best[e]])} ({best[e]})" for e in epsilons],
        GREEDY: [_number(by_epsilon.loc[e, GREEDY]) for e in epsilons],
        PURE: [_number(by_epsilon.loc[e, PURE]) for e in epsilons],
        "best forest of each table, δ = 0": [
            _number(means.xs(e, level="epsilon")[pure].max(axis=1).mean()) for e in epsilons
        ],
        "rule, δ = 1e-6": [f"**{_number(by_epsilon.loc[e, 'rule, δ = 1e-6'])}**" for e in epsilons],
        GAUSSIAN: [_number(by_epsilon.loc[e, GAUSSIAN]) for e in epsilons],
    }
    lines = [f"| {title} | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |", "| --- " * (1 + len(epsilons)) + "|"]
    return [*lines, *(f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()), ""]


def _number(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".")
