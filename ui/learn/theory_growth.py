"""Theorems about deeper trees and more trees: boosting, and splits that are chosen with noise (private splits).

The edge γ of a test is the difference between the shares of the two classes that the test sends to one side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.losses import MATSUSHITA
from dpforest.plotting.theory import Axis, Chart, FormulaCurve, theory_chart
from dpforest.theory.boosting_bounds import (
    RULES,
    best_error_after_trees,
    levels_for_error,
    splits_for_error,
    tree_error_bound,
    trees_for_error,
)
from dpforest.theory.private_splits import (
    calibration_constant,
    efficiency_needed,
    odds_of_a_good_split,
    rows_for_efficiency,
    tree_efficiency,
)
from ui.learn.theorem import (
    BoundStatus,
    Picture,
    Theorem,
    TheoremView,
    at_least,
    at_most,
    choose,
    dots_of,
    error_chart,
    pick,
    present_table,
    share,
    size_text,
    thousands,
)
from ui.learn.theory_numbers import of_table
from ui.shared.epsilon import choose_epsilon
from ui.shared.wording import epsilon_text, plain

# Values on the sliders: edge, α, number of levels, number of trees, and number of rows.
EDGES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
ALPHAS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
DEEP = 60  # largest number of levels on the slider
BOOSTED = [1, 2, 5, 9, 10, 11, 13, 17, 19, 20, 30, 50, 100, 200, 300, 400, 500, 1000, 3000, 10_000, 100_000]
ROWS = sorted([*(m * 10**p for p in range(3, 12) for m in (1, 3)), 10**12, 32_561])
MOST = tree_efficiency(1.0, 0.5, 0)  # largest possible efficiency of a node


def tree() -> TheoremView:
    """Draw the controls and return the charts for Theorem 10 of Nock and Henecka.

    If every leaf has a test with an edge γ, the error of a tree falls exponentially with its levels.
    """
    table = present_table(two_classes=True)
    if isinstance(table, TheoremView):
        return table
    measures, table_name = of_table("boosted", table), plain(table.short_title, 40)
    root = of_table("root_edge", table)["edge"]
    rule, edge, alpha = _boosting()
    n_levels = pick("Levels", list(range(1, DEEP + 1)), 6, "levels", "All leaves of a level are split.")
    guessing, x = measures["guessing"], list(range(DEEP + 1))
    curves = {name: [tree_error_bound(edge, [alpha] * n, name) for n in x] for name in RULES}
    bound = curves[rule][n_levels]
    errors = {int(n): v for n, v in measures["tree"].items()}
    measured_trees = dots_of(errors, "one tree, α = 1", lambda n, v: f"{n} levels: {share(v)} wrong")
    yours = (n_levels, bound, f"{n_levels} levels: {at_most(bound)}")
    figure = error_chart(
        Axis("levels", 0, DEEP), "training error", _bounds(x, curves, rule), measured_trees, yours, guessing
    )
    nearest = min(n_levels, max(errors))
    truth = f"Measured with {nearest} level{'s' * (nearest > 1)} on {table_name}: {share(errors[nearest])}."
    truth += _above_bound(errors[nearest], curves[rule][nearest])
    why = f"with an edge of {edge:g} the error after {n_levels} levels is {at_most(bound)}"
    guesses = f"guessing gets {share(guessing)} of {table_name} wrong"
    if bound < guessing:
        why = f"{why}; {guesses}. {truth}"
    else:
        needed = levels_for_error(edge, alpha, guessing, rule) if alpha else 0
        when = f"From {needed:,} levels on the bound is below that." if alpha else "At α = 0 it never is below that."
        why = f"{why}, and {guesses}. {when} {truth}"
    note = (
        f"At the root, where all rows of {table_name} are, the best question has an edge of {root:.2g}. The edge has "
        "to be there in every leaf, and nobody knows beforehand whether it is. A dot in the gray area shows that some "
        "leaf lacks it. The proof of the derived bound is right for every leaf. One step of the published proof is "
        "false for nearly pure leaves."
    )
    if alpha and rule == "published":
        splits = splits_for_error(edge, alpha, guessing)
        count = size_text(splits) if math.isfinite(splits) else "more than 10³⁰⁰"
        note += (
            f" If only the heaviest leaf is split each time, equation 13 asks for {count} splits to get below guessing."
        )
    alt = f"Bound on the error of a tree: {at_most(bound)} after {n_levels} levels ({rule}); "
    alt += f"measured {share(errors[nearest])}."
    status = BoundStatus(bound < guessing, why)
    return TheoremView(status, [Picture("What a deeper tree gets wrong", "Do not share", figure, alt)], note)


def added() -> TheoremView:
    """Draw the controls and return the charts for Theorem 12 of Nock and Henecka.

    If every tree keeps an edge γ, the training error of trees added up becomes arbitrarily small.
    """
    table = present_table(two_classes=True)
    if isinstance(table, TheoremView):
        return table
    measures, table_name = of_table("boosted", table), plain(table.short_title, 40)
    rule, edge, alpha = _boosting()
    k = pick(
        "Trees",
        BOOSTED,
        500,
        "added",
        "How many trees are added up. Each is fitted to the errors of the trees before it.",
        thousands,
    )
    help_text = "The bound holds for every w̄. With a smaller w̄ it ends lower, but takes more trees to get there."
    weight = pick("Mean weight w̄", [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5], 0.1, "weight", help_text)
    guessing, x = measures["guessing"], np.unique(np.logspace(0, 5, 201).round())
    curves = {name: [best_error_after_trees(edge, alpha, int(n), name, weight) for n in x] for name in RULES}
    bound = best_error_after_trees(edge, alpha, k, rule, weight)
    errors = {int(n): v for n, v in measures["boosted"].items()}
    measured_trees = dots_of(errors, "boosted trees of depth 3", lambda n, v: f"{n} trees: {share(v)} wrong")
    yours, axis = (k, bound, f"{k:,} trees: {at_most(bound)}"), Axis("trees", 1, 100_000, log=True)
    figure = error_chart(axis, "training error", _bounds(x, curves, rule), measured_trees, yours, guessing)
    nearest = min(errors, key=lambda n: abs(math.log(n / k)))
    least = min(v for n, v in errors.items() if n <= nearest)
    nearest_bound = best_error_after_trees(edge, alpha, nearest, rule, weight)
    truth = f"Measured with {nearest} on {table_name}: {share(errors[nearest])}.{_above_bound(least, nearest_bound)}"
    trees, guesses = f"{k:,} tree{'s' * (k > 1)}", share(guessing)
    if bound < guessing:
        why = f"the best forest of up to {trees} is wrong on {at_most(bound)}, and guessing on {guesses}. {truth}"
    else:
        when = f"With w̄ = {weight:g} the bound never is below {share(2 * weight)}. Choose a smaller w̄."
        if not alpha:
            when = "At α = 0 the bound never is below that."
        elif 2 * weight < guessing:
            needed = trees_for_error(edge, alpha, guessing, rule, mean_weight=weight)
            when = f"From {needed:,} trees on the bound is below that."
        why = f"for {trees} the bound says {at_most(bound)}, and guessing gets {guesses} wrong. {when} {truth}"
    note = (
        "Each tree lowers the bound by the same amount while the mean weight of the rows is at least w̄. Later the "
        "mean is less, because correctly classified rows lose weight. But each misclassified row weighs at least ½, so "
        "a small mean leaves room for few of them. The measured forest adds each tree with factor 1, not with the "
        "theorem’s factor."
    )
    alt = f"Bound on the error of trees added up: {at_most(bound)} with {k:,} trees ({rule}); "
    alt += f"measured {share(errors[nearest])}."
    status = BoundStatus(bound < guessing, why)
    return TheoremView(status, [Picture("What trees added up get wrong", "Do not share", figure, alt)], note)


def splits() -> TheoremView:
    """Draw the controls and return the charts for Theorem 13 of Nock and Henecka.

    With enough rows, splits that are chosen with noise are as good as the edge promises. The second chart shows the
    odds of a good split, which are in the proof of the theorem.
    """
    table = present_table(two_classes=True)
    if isinstance(table, TheoremView):
        return table
    epsilon = choose_epsilon(others=False)
    n = pick("Rows", ROWS, 10**11, "split_rows", "How many rows a table has. Adult has 32,561.", size_text)
    edge = pick("Edge γ", EDGES, 0.5, "split_edge", "The edge that the best questions of each node have.")
    constant, rows = calibration_constant(edge), len(table.frame)
    x = np.logspace(3, 12, 181)
    needed, enough = efficiency_needed(n, epsilon, constant), rows_for_efficiency(epsilon, constant)
    most, least = (efficiency_needed(v, epsilon, constant) for v in (1e3, 1e12))
    figure = theory_chart(
        Chart(
            Axis("rows", 1e3, 1e12, log=True),
            Axis("efficiency that a node must have", min(0.1, least), max(10.0, most), log=True),
            [
                FormulaCurve(x, np.full(len(x), MOST), "2, the most there is"),
                FormulaCurve(x, [efficiency_needed(v, epsilon, constant) for v in x], "what the theorem asks for", 1),
            ],
            "above",
            yours=(n, needed, f"{size_text(n)} rows: {size_text(needed)}"),
            excluded_name="no node has so much",
        )
    )
    demand = f"at {size_text(n)} rows and ε = {epsilon_text(epsilon)} a node needs an efficiency (see below) of "
    demand += size_text(needed)
    table_text = f"{plain(table.short_title, 40)} has {rows:,} rows."
    met_text = f"and 2 is the most possible. It can be met from {size_text(enough)} rows on; {table_text}"
    unmet_text = f"but 2 is the most possible. From {size_text(enough)} rows on it can be met; {table_text}"
    status = BoundStatus(needed <= MOST, f"{demand}, {met_text if needed <= MOST else unmet_text}")
    note = (
        "A node’s efficiency is the paper’s measure of its weight and of the tree’s error. It is at most 2, at the "
        "root of a tree that is wrong half of the time, and halves with every level below. The theorem also needs "
        "trees × levels to be at most ln n. One split at the root needs less. If one question in eleven has the edge "
        f"and the two classes are equally frequent, then on the {rows:,} rows of this table it has the edge with a "
        f"probability of {at_least(_good_root(rows, edge, epsilon))}. Where one class is rare, the probability is "
        "lower. Nothing is measured here."
    )
    alt = f"Efficiency asked for: {size_text(needed)} at {size_text(n)} rows; 2 at {size_text(enough)} rows."
    at_root = (
        f"Probability of a good split at the root: {at_least(_good_root(n, edge, epsilon))} at {size_text(n)} rows."
    )
    return TheoremView(
        status,
        [
            Picture("What the theorem asks of private splits", "From a formula", figure, alt),
            Picture("How often the root’s split is good", "From a formula", _root_chart(n, edge, epsilon), at_root),
        ],
        note,
        names_rows=True,
    )


def _good_root(n: float, edge: float, epsilon: float) -> float:
    """Return a lower bound on the probability that a private split of the root, chosen with ε / 2, has this edge.

    The two classes are equally frequent, so the potential of the root before the split is n.
    """
    sensitivity = float(MATSUSHITA.sensitivity(n))
    odds = odds_of_a_good_split(1 / 10, edge, 1.0, epsilon / 2, 1.0, n, sensitivity)
    return odds / (1 + odds)


def _root_chart(n: int, edge: float, epsilon: float) -> go.Figure:
    x = np.logspace(2, 12, 201)
    probability = _good_root(n, edge, epsilon)
    return theory_chart(
        Chart(
            Axis("rows", 100, 1e12, log=True),
            Axis("probability of the edge, at least", 0, 1, percent=True),
            [FormulaCurve(x, [_good_root(v, edge, epsilon) for v in x], "one tree, its first split")],
            "below",
            yours=(n, probability, f"{size_text(n)} rows: {at_least(probability)}"),
            height=380,
        )
    )


def _bounds(x: Sequence[float] | np.ndarray, curves: dict[str, list[float]], rule: str) -> list[FormulaCurve]:
    """Return the curve of the bound by each rule: as printed, and as derived here. The chosen rule comes first."""
    rules = sorted(curves, key=lambda name: name != rule)
    return [FormulaCurve(x, curves[name], f"bound, {name}", dash) for dash, name in enumerate(rules)]


def _above_bound(measured_error: float, bound: float) -> str:
    """Return a sentence if the measured error is above the bound, because the theorem's assumption does not hold."""
    return (
        " That is above the bound, so the theorem’s assumption does not hold there." if measured_error > bound else ""
    )


def _boosting() -> tuple[str, float, float]:
    help_text = (
        "Published: as the paper prints it. Derived: our formula, which needs fewer levels or trees for the same error."
    )
    rule = choose("Bound", RULES[::-1], "rule", help_text)
    help_text = "The difference between the shares of the two classes that a question sends to one side."
    edge = pick("Edge γ", EDGES, 0.5, "edge", help_text)
    alpha = pick("α", ALPHAS, 1.0, "boosting_alpha", "1: Matsushita’s loss. 0: the 0/1 loss.")
    return rule, edge, alpha


PANELS = {
    "Boosting a tree": Theorem(
        "If in every leaf some question separates the classes by at least γ (its edge), the error of a tree falls "
        "exponentially with its levels.",
        r"\begin{aligned} \text{published: } & e^{-\gamma^2 q\alpha/16} \\ "
        r"\text{derived: } & \tfrac12\left(1 - \alpha(1 - \sqrt{1-\gamma^2})\right)^{q} \end{aligned}",
        "The derived bound holds. The published one is weaker, so where all leaves of a level are split it holds as "
        "well, although a step of its proof fails for nearly pure leaves.",
        [
            "Two classes, no privacy, training error.",
            "Every leaf has a question with the edge.",
            "All leaves of a level are split.",
            "α is the same on all levels.",
        ],
        "Nock and Henecka 2020, Theorem 10; the derived bound is ours.",
        tree,
    ),
    "Trees added up": Theorem(
        "If every tree keeps an edge γ, the training error of trees added up becomes arbitrarily small.",
        r"\begin{aligned} & \max\left(2\bar w,\ 1 - c\,T\,\bar w^2\gamma^2\alpha\right) \\ "
        r"& \text{published: } c = \tfrac12 \qquad \text{derived: } c = \tfrac78 \end{aligned}",
        "The bound holds for the best of the first T forests. The paper concludes that 8/(γ²α) trees are enough for "
        "any error, with a mean weight that stays at ½: but it falls as rows are classified correctly, so we add 2w̄.",
        [
            "Two classes, no privacy, training error.",
            "Every tree has the edge on the weighted rows.",
            "The steps are those of the theorem.",
        ],
        "Nock and Henecka 2020, Theorem 12; 2w̄ is ours. The derived rule is the same proof with the right curvature.",
        added,
    ),
    "Private splits": Theorem(
        "With enough rows, splits that are chosen with noise are as good as the edge promises.",
        r"J \ge \frac{256\,\ln(1/\xi)}{\beta\,\bar w\,(1-\delta^2)\,\gamma^2}\cdot\frac{\ln n}{\varepsilon\sqrt n}",
        "Like Theorem 10, its proof takes the potential to fall in proportion to a leaf’s weight.",
        [
            "One split; half of ε for splits (β = ½); mean weight ½; gap δ = ½.",
            "It may fail with probability ξ = 0.1.",
            "Two classes; in the second picture they are equally frequent.",
            "First picture: nearly every question has the edge. Second picture: one question in eleven has it.",
        ],
        "Nock and Henecka 2020, Theorem 13 and equation 207, and the odds in its proof.",
        splits,
    ),
}
