"""Theorems about more data and more trees: consistency, boosting, private splits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpforest.plotting.theory import Axis, Chart, Dots, FormulaCurve, theory_chart
from dpforest.theory.boosting_bounds import (
    RULES,
    error_after_trees,
    levels_for_error,
    tree_error_bound,
    trees_for_error,
)
from dpforest.theory.multinomial import levels_to_halve, side_left
from dpforest.theory.private_splits import calibration_constant, efficiency_needed, rows_for_efficiency
from ui.learn.theorem import (
    BoundStatus,
    Picture,
    Shown,
    Theorem,
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
from ui.learn.theory_numbers import measured, of_table
from ui.shared.epsilon import choose_epsilon
from ui.shared.wording import epsilon_text, plain

EDGES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
ALPHAS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
LEVELS = [1, 2, 5, 10, 15, 20, 30, 63, 100, 142, 300, 1000, 3000, 10_000, 100_000, 1_000_000]
DEEP = 60
BOOSTED = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000, 10_000, 100_000]
ROWS = sorted([*(m * 10**p for p in range(3, 12) for m in (1, 3)), 10**12, 32_561])
BEST = 0.1  # error of the best classifier on the made-up table
MOST = 2.0  # highest efficiency of a node


def consistency() -> Shown:
    """Show Theorem 1 of Bai and others."""
    b = pick("B₁ = B₂", [0, 0.5, 1, 2, 3, 5, 7, 10, 15, 20], 1, "temperature",
             "Temperature: at 0 splits are drawn evenly, at large ones the best is nearly always drawn.")  # fmt: skip
    d = pick("Features", [1, 2, 5, 6, 10, 20, 50, 100], 10, "dimensions", "How many the table has.")
    q = pick("Levels", LEVELS, 15, "cell_levels", "Splits on the way to a cell.", thousands)
    x = np.unique(np.logspace(0, 6, 121).round())
    here, halves = side_left(q, d, b, b), levels_to_halve(d, b, b)
    bound = theory_chart(
        Chart(
            Axis("levels", 1, 1e6, log=True),
            Axis("mean side of a cell", 0, 1, percent=True),
            [
                FormulaCurve(x, [side_left(int(v), d, b, b) for v in x], f"B₁ = B₂ = {b:g}"),
                FormulaCurve(x, [side_left(int(v), d, 0, 0) for v in x], "B₁ = B₂ = 0", 1),
            ],
            "above",
            yours=(q, here, f"{q:,} levels: {at_most(here)}"),
            height=400,
        )
    )
    errors = {t: {int(n): v for n, v in by_rows.items()} for t, by_rows in measured()["consistency"].items()}
    truth = theory_chart(
        Chart(
            Axis("rows", 300, 10_000, log=True),
            Axis("error on other rows", 0, 0.4, percent=True),
            [],
            dots=[_errors(t, by_rows, i) for i, (t, by_rows) in enumerate(errors.items())],
            level=(BEST, "nobody can be below"),
            level_below=True,
            height=400,
        )
    )
    why = f"after {q:,} levels the mean side of a cell is {at_most(here)} of the whole."
    if here > 0.5:
        why = (
            f"after {q:,} levels a cell may still have {at_most(here)} of the whole side on average. It takes "
            f"{halves:,} levels to be sure of half."
        )
    ends = " and ".join(f"{share(errors[t][10_000])} at B = {t}" for t in ("0", "10"))
    note = (
        "The proof needs cells that shrink to nothing, and its bound is best where B is 0. Measured it is the "
        f"other way round: with 10,000 rows the error is {ends}. "
        "Labels are taken without noise (B₃ = ∞), so there is no privacy."
    )
    alt = f"Bound on the side of a cell: {at_most(here)} after {q:,} levels; {halves:,} levels to halve it."
    other = f"Error on a made-up table by rows, of which {share(BEST)} cannot be avoided: {ends} with 10,000 rows."
    return Shown(
        BoundStatus(here <= 0.5, why),
        [
            Picture("How fast cells must shrink", "From a formula", bound, alt),
            Picture("How fast the forest learns", "Made-up tables", truth, other),
        ],
        note,
    )


def _errors(t: str, by_rows: dict[int, float], symbol: int) -> Dots:
    return dots_of(by_rows, f"B₁ = B₂ = {t}", lambda n, v: f"B = {t}, {n:,} rows: {share(v)} wrong", symbol)


def tree() -> Shown:
    """Show Theorem 10 of Nock and Henecka."""
    table = present_table(two_classes=True)
    if isinstance(table, Shown):
        return table
    measures, on = of_table("boosted", table), plain(table.short_title, 40)
    rule, edge, alpha = _boosting()
    q = pick("Levels", list(range(1, DEEP + 1)), 6, "levels", "All leaves of a level are split.")
    guessing, x = measures["guessing"], list(range(DEEP + 1))
    curves = {name: [tree_error_bound(edge, [alpha] * n, name) for n in x] for name in RULES}
    here = curves[rule][q]
    seen = {int(n): v for n, v in measures["tree"].items()}
    measured_trees = dots_of(seen, "one tree, α = 1", lambda n, v: f"{n} levels: {share(v)} wrong")
    yours = (q, here, f"{q} levels: {at_most(here)}")
    figure = error_chart(
        Axis("levels", 0, DEEP), "training error", _bounds(x, curves, rule), measured_trees, yours, guessing
    )
    near = min(q, max(seen))
    truth = f"Measured with {near} level{'s' * (near > 1)} on {on}: {share(seen[near])}."
    truth += _without(seen[near], curves[rule][near])
    why = f"with an edge of {edge:g} the error after {q} levels is {at_most(here)}"
    guesses = f"guessing gets {share(guessing)} on {on}"
    if here < guessing:
        why = f"{why}; {guesses}. {truth}"
    else:
        needed = levels_for_error(edge, alpha, guessing, rule) if alpha else 0
        when = f"From {needed:,} levels on it does." if alpha else "At α = 0 it never does."
        why = f"{why}, and {guesses}. {when} {truth}"
    note = (
        "The edge has to be there in every leaf, and nobody knows it beforehand: where a dot is in the gray, the "
        "table has no such edge. The derived bound asks for less and holds whatever the leaf; the "
        "published proof has a step that does not."
    )
    alt = f"Bound on the error of a tree: {at_most(here)} after {q} levels ({rule}); measured {share(seen[near])}."
    status = BoundStatus(here < guessing, why)
    return Shown(status, [Picture("What a deeper tree gets wrong", "Curator only", figure, alt)], note)


def added() -> Shown:
    """Show Theorem 12 of Nock and Henecka."""
    table = present_table(two_classes=True)
    if isinstance(table, Shown):
        return table
    measures, on = of_table("boosted", table), plain(table.short_title, 40)
    rule, edge, alpha = _boosting()
    k = pick("Trees", BOOSTED, 20, "added", "Added up, each one fitted to what the others got wrong.", thousands)
    about = "½ at the start. It falls as rows are classified correctly, and the bound with it."
    weight = pick("Mean weight of a row", [0.05, 0.1, 0.2, 0.3, 0.4, 0.5], 0.5, "weight", about)
    guessing, x = measures["guessing"], np.unique(np.logspace(0, 5, 201).round())
    curves = {name: [error_after_trees(edge, alpha, int(n), name, weight) for n in x] for name in RULES}
    here = error_after_trees(edge, alpha, k, rule, weight)
    seen = {int(n): v for n, v in measures["boosted"].items()}
    measured_trees = dots_of(seen, "boosted trees of depth 3", lambda n, v: f"{n} trees: {share(v)} wrong")
    yours, axis = (k, here, f"{k:,} trees: {at_most(here)}"), Axis("trees", 1, 100_000, log=True)
    figure = error_chart(axis, "training error", _bounds(x, curves, rule), measured_trees, yours, guessing)
    near = min(seen, key=lambda n: abs(math.log(n / k)))
    at_near = error_after_trees(edge, alpha, near, rule, weight)
    truth = f"Measured with {near} on {on}: {share(seen[near])}.{_without(seen[near], at_near)}"
    trees, guesses = f"{k:,} tree{'s' * (k > 1)}", share(guessing)
    if here < guessing:
        why = f"{trees} that keep an edge of {edge:g} are wrong on {at_most(here)}; guessing on {guesses}. {truth}"
    else:
        needed = trees_for_error(edge, alpha, guessing, rule, mean_weight=weight) if alpha else 0
        when = f"From {needed:,} trees on it is below." if alpha else "At α = 0 it never is below."
        why = f"for {trees} the bound says {at_most(here)}, and guessing gets {guesses} wrong. {when} {truth}"
    note = (
        "The bound falls evenly down to 0, and only as long as the mean weight stays where it is: but "
        "correctly classified rows weigh less and less. So 0 is never reached this way on a table where classes "
        "overlap. The measured forest takes steps of one, not the theorem’s own."
    )
    alt = f"Bound on the error of trees added up: {at_most(here)} with {k:,} trees ({rule}); "
    alt += f"measured {share(seen[near])}."
    status = BoundStatus(here < guessing, why)
    return Shown(status, [Picture("What trees added up get wrong", "Curator only", figure, alt)], note)


def splits() -> Shown:
    """Show Theorem 13 of Nock and Henecka."""
    epsilon = choose_epsilon(others=False)
    n = pick("Rows", ROWS, 32_561, "split_rows", "How many the table has. Adult has 32,561.", size_text)
    edge = pick("Edge γ", EDGES, 0.5, "split_edge", "What the best tests of each node have.")
    constant = calibration_constant(edge)
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
            band="no node has so much",
        )
    )
    here = f"at {size_text(n)} rows and ε = {epsilon_text(epsilon)} it asks for an efficiency of {size_text(needed)}"
    met = "and a node may have up to 2."
    unmet = f"where 2 is the most there is. From {size_text(enough)} rows on it can be met."
    status = BoundStatus(needed <= MOST, f"{here}, {met if needed <= MOST else unmet}")
    note = (
        "Efficiency is at its most, 2, at the root of a tree that is wrong half of the time, and halves with every "
        "level below. The theorem also wants trees × levels to be at most ln n (10.4 for adult). "
        "Nothing is measured here: "
        "private splits are often good where it is silent."
    )
    alt = f"Efficiency asked for: {size_text(needed)} at {size_text(n)} rows; 2 at {size_text(enough)} rows."
    return Shown(status, [Picture("When private splits are surely good", "From a formula", figure, alt)], note)


def _bounds(x: Sequence[float] | np.ndarray, curves: dict[str, list[float]], rule: str) -> list[FormulaCurve]:
    """Return the curve of the chosen rule first, and that of the other rule second."""
    rules = sorted(curves, key=lambda name: name != rule)
    return [FormulaCurve(x, curves[name], f"bound, {name}", dash) for dash, name in enumerate(rules)]


def _without(measured_error: float, bound: float) -> str:
    """Return a sentence if the measured error breaks a bound, because then the theorem's assumption does not hold."""
    return " That is above its bound: what the theorem assumes does not hold there." if measured_error > bound else ""


def _boosting() -> tuple[str, float, float]:
    rule = choose("Bound", RULES, "rule", "As the paper has it; or derived by us, from less.")
    about = "By how much the shares of the two classes that a test sends one way differ."
    edge = pick("Edge γ", EDGES, 0.5, "edge", about)
    alpha = pick("α", ALPHAS, 1.0, "boosting_alpha", "1: Matsushita’s loss. 0: the 0/1 loss.")
    return rule, edge, alpha


PANELS = {
    "Consistency": Theorem(
        "With ever more rows, and labels without noise, the multinomial forest becomes as good as anything can be.",
        r"E[\text{side}] \le \left(1 - \frac{P_1 P_2}{3}\right)^{q}",
        "True if a fixed part of the candidates lies in the middle of every node, which the paper does not prove.",
        [
            "Features on [0, 1], with a density.",
            "B₁ and B₂ are fixed, B₃ = ∞: no privacy.",
            "Leaves get ever more rows, and ever smaller a share of all.",
            "Here a third of the candidates lies in the middle.",
        ],
        "Bai and others 2019, Lemmas 3 and 4, Theorem 1.",
        consistency,
    ),
    "Boosting a tree": Theorem(
        "If every leaf has a test with an edge γ, the error of a tree falls exponentially with its levels.",
        r"\begin{aligned} \text{published: } & e^{-\gamma^2 q\alpha/16} \\ "
        r"\text{derived: } & \tfrac12\left(1 - \alpha(1 - \sqrt{1-\gamma^2})\right)^{q} \end{aligned}",
        "The derived bound holds. The published one is weaker, so where all leaves of a level are split it holds as "
        "well, although a step of its proof fails for nearly pure leaves.",
        [
            "Two classes, no privacy, training error.",
            "The edge is there in every leaf.",
            "All leaves of a level are split.",
            "α is the same on all levels.",
        ],
        "Nock and Henecka 2020, Theorem 10; the derived bound is ours.",
        tree,
    ),
    "Trees added up": Theorem(
        "If every tree keeps an edge γ, about 8/(γ²α) trees are enough for any training error.",
        r"T \ge \frac{2(1-\xi)}{\bar w^2\gamma^2\alpha} \qquad \left(\bar w = \tfrac12\right)",
        "True as long as the mean weight does not fall, which it does. The derived rule has 7/4 times the gain a tree.",
        [
            "Two classes, no privacy, training error.",
            "Every tree has the edge on the weighted rows.",
            "The mean weight of a row stays at least where the slider is.",
        ],
        "Nock and Henecka 2020, Theorem 12; the derived rule is the same proof with the right curvature.",
        added,
    ),
    "Private splits": Theorem(
        "With rows enough, splits that are chosen with noise are as good as the edge promises.",
        r"J \ge \frac{256\,\ln(1/\xi)}{\beta\,\bar w\,(1-\delta^2)\,\gamma^2}\cdot\frac{\ln n}{\varepsilon\sqrt n}",
        "Like Theorem 10, its proof takes the potential to fall in proportion to a leaf’s weight.",
        [
            "One split; half of ε for splits (β = ½); mean weight ½; gap δ = ½.",
            "It may fail with probability ξ = 0.1.",
            "Nearly no tests may be without the edge.",
        ],
        "Nock and Henecka 2020, Theorem 13 and equation 207.",
        splits,
    ),
}
