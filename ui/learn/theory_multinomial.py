"""Theorems about the multinomial forest: its consistency, and the chances of a feature and of a middle cut."""

from __future__ import annotations

import numpy as np

from dpforest.plotting.theory import Axis, Chart, Dots, FormulaCurve, theory_chart
from dpforest.theory.brute_force import least_drawn_share
from dpforest.theory.multinomial import (
    feature_probability,
    levels_to_halve,
    middle_probability,
    published_epsilon,
    side_left,
)
from ui.learn.theorem import (
    BoundStatus,
    Picture,
    Theorem,
    TheoremView,
    at_least,
    at_most,
    dots_of,
    pick,
    present_table,
    share,
    size_text,
    thousands,
)
from ui.learn.theory_numbers import stored_measurements
from ui.learn.theory_votes import percent_text
from ui.shared import cache
from ui.shared.wording import plain

TEMPERATURES = [0, 0.5, 1, 2, 3, 5, 7, 10, 15, 20]
FEATURES = [1, 2, 5, 6, 10, 20, 50, 100]
MIDDLES = [0.05, 0.1, 0.2, 0.33, 0.5]
LEVELS = [1, 2, 5, 10, 15, 20, 30, 63, 100, 142, 300, 1000, 3000, 10_000, 100_000, 1_000_000]
BEST = 0.1  # error of the best possible classifier on the made-up table


def consistency() -> TheoremView:
    """Draw the controls and return the charts for Theorem 1 of Bai and others.

    As the number of rows grows, the error of the forest approaches that of the best possible classifier.
    """
    b, d = _temperature_and_features()
    q = pick("Levels", LEVELS, 142, "cell_levels", "Splits on the way to a cell.", thousands)
    x = np.unique(np.logspace(0, 6, 121).round())
    side, halves = side_left(q, d, b, b), levels_to_halve(d, b, b)
    bound = theory_chart(
        Chart(
            Axis("levels", 1, 1e6, log=True),
            Axis("mean side of a cell", 0, 1, percent=True),
            [
                FormulaCurve(x, [side_left(int(v), d, b, b) for v in x], f"B₁ = B₂ = {b:g}"),
                FormulaCurve(x, [side_left(int(v), d, 0, 0) for v in x], "B₁ = B₂ = 0", 1),
            ],
            "above",
            yours=(q, side, f"{q:,} levels: {at_most(side)}"),
            height=400,
        )
    )
    errors = {t: {int(n): v for n, v in by_rows.items()} for t, by_rows in stored_measurements()["consistency"].items()}
    truth = theory_chart(
        Chart(
            Axis("rows", 300, 10_000, log=True),
            Axis("error on other rows", 0, 0.4, percent=True),
            [],
            dots=[_error_dots(t, by_rows, i) for i, (t, by_rows) in enumerate(errors.items())],
            comparison=(BEST, "no classifier is below"),
            comparison_below=True,
            height=400,
        )
    )
    why = (
        f"after {q:,} levels a cell (the region of a leaf) spans on average {at_most(side)} of the range of a feature."
    )
    if side > 0.5:
        why = (
            f"after {q:,} levels a cell (the region of a leaf) spans on average {at_most(side)} of the range of a "
            f"feature. The bound is half or less from {halves:,} levels on."
        )
    ends = " and ".join(f"{share(errors[t][10_000])} at B₁ = B₂ = {t}" for t in ("0", "10"))
    note = (
        "The proof needs cells that shrink to nothing, and its bound is smallest where B₁ = B₂ = 0. The measured "
        f"errors do not follow it: with 10,000 rows they are {ends}. "
        "Labels are taken without noise (B₃ = ∞), so there is no privacy."
    )
    alt = f"Bound on the side of a cell: {at_most(side)} after {q:,} levels; {halves:,} levels to halve it."
    other = f"Error on a made-up table by rows, of which {share(BEST)} cannot be avoided: {ends} with 10,000 rows."
    return TheoremView(
        BoundStatus(side <= 0.5, why),
        [
            Picture("How fast cells must shrink", "From a formula", bound, alt),
            Picture("How fast the forest learns", "Made-up tables", truth, other),
        ],
        note,
    )


def _error_dots(t: str, by_rows: dict[int, float], symbol: int) -> Dots:
    return dots_of(by_rows, f"B₁ = B₂ = {t}", lambda n, v: f"B₁ = B₂ = {t}, {n:,} rows: {share(v)} wrong", symbol)


def chances() -> TheoremView:
    """Draw the controls and return the charts for Lemmas 3 and 4 of Bai and others.

    At every node, each feature and a cut in the middle are drawn with a probability above 0, whatever the scores are.
    """
    table = present_table(two_classes=False)
    if isinstance(table, TheoremView):
        return table
    rows, name = len(table.frame), plain(table.short_title, 40)
    b, d = _temperature_and_features()
    help_text = "Share of a node’s candidate cuts that lie neither in the first nor in the last part of the feature."
    f = pick("Share of cuts in the middle", MIDDLES, 0.33, "middle", help_text, percent_text)
    (least, most), cut = feature_probability(d, b), middle_probability(f, b)
    x = np.linspace(0, 20, 81).tolist()
    low, high = zip(*(feature_probability(d, t) for t in x), strict=True)
    feature = theory_chart(
        Chart(
            Axis("B₁", 0, 20),
            Axis("probability of a feature", min(0.01, low[-1] / 2), 1, log=True, percent=True),
            [FormulaCurve(x, low, "least"), FormulaCurve(x, high, "greatest", 1)],
            "below",
            dots=[dots_of(_least_drawn_shares(d), "least of 300 drawn scores", lambda t, v: f"B₁ = {t:g}: {share(v)}")],
            yours=(b, least, f"B₁ = {b:g}: {at_least(least)}"),
            comparison=(1 / d, f"evenly: {share(1 / d)}"),
            height=400,
        )
    )
    middle = theory_chart(
        Chart(
            Axis("B₂", 0, 20),
            Axis("least probability of a middle cut", 1e-6, 1, log=True, percent=True),
            [FormulaCurve(x, [middle_probability(f, t) for t in x], f"{percent_text(f)} of cuts in the middle")],
            "below",
            yours=(b, cut, f"B₂ = {b:g}: {at_least(cut)}"),
            height=380,
        )
    )
    start = f"at B₁ = {b:g} a node tests each of {d} feature{'s' * (d > 1)} with a probability of {at_least(least)}"
    if rows * least >= 1:
        why = (
            f"{start} (one node in {size_text(1 / least)}) and {at_most(most)}. A tree on the "
            f"{rows:,} rows of {name} may have up to {rows - 1:,} nodes."
        )
    else:
        why = (
            f"{start}, one node in {size_text(1 / least)}. A tree on the {rows:,} rows of {name} has fewer nodes, so "
            f"it may never test a feature. From {size_text(1 / least)} rows on the lemma means something."
        )
    note = (
        f"A middle cut has a probability of {at_least(cut)} at B₂ = {b:g}, if {percent_text(f)} of the candidates are "
        "there. The paper states only that it is above 0. Because both probabilities are above 0, cells shrink in "
        "“Consistency”. By the paper’s Theorem 2 such splits of 100 trees of depth 10 have ε = "
        f"{published_epsilon(100, 10, b, b, 0):,.6g}. Even this is not guaranteed, because the paper’s splits depend "
        "on exact values of rows."
    )
    alt = f"Probability of a feature by B₁: {at_least(least)} and {at_most(most)} at B₁ = {b:g} with {d} features."
    other = f"Least probability of a middle cut by B₂: {at_least(cut)} at B₂ = {b:g}."
    return TheoremView(
        BoundStatus(rows * least >= 1, why),
        [
            Picture("The chance of a feature", "From a formula", feature, alt),
            Picture("The chance of a middle cut", "From a formula", middle, other),
        ],
        note,
        names_rows=True,
    )


@cache.for_everybody(data=True, max_entries=16)
def _least_drawn_shares(n_features: int) -> dict[float, float]:
    """Return the least probability of a feature over drawn scores, for each temperature B₁."""
    return {b: least_drawn_share(n_features, b) for b in TEMPERATURES}


def _temperature_and_features() -> tuple[float, int]:
    """Ask for the temperature B₁ = B₂ and for the number of features."""
    help_text = "At 0, all splits are equally likely. At a large value, the best split is nearly always drawn."
    b = pick("B₁ = B₂", TEMPERATURES, 1, "temperature", help_text)
    return b, pick("Features", FEATURES, 10, "dimensions", "How many features there are to choose from.")


PANELS = {
    "Chance of a split": Theorem(
        "Whatever the scores are, every feature and a middle cut have a probability above 0 at every node.",
        r"\begin{aligned} P(\text{feature}) & \ge \frac{1}{1 + (D-1)e^{B_1/2}} \\ "
        r"P(\text{feature}) & \le \frac{e^{B_1/2}}{e^{B_1/2} + D - 1} \\ "
        r"P(\text{middle}) & \ge \frac{f}{f + (1-f)e^{B_2/2}} \end{aligned}",
        "Exact: some scores attain each bound. The paper has only the lower bound for a feature, and no number for a "
        "cut.",
        [
            "Decreases of impurity are scaled to [0, 1] at every node.",
            "D features that the branch can still test.",
            "A share f of the node’s candidate cuts lies in the middle, which the paper does not prove.",
        ],
        "Bai and others 2019, Lemmas 3 and 4; the numbers for the middle are ours.",
        chances,
    ),
    "Consistency": Theorem(
        "As the number of rows grows, with labels without noise, the multinomial forest becomes as good as the best "
        "classifier.",
        r"E[\text{side}] \le \left(1 - \frac{P_1 P_2}{3}\right)^{q}",
        "True if a fixed part of the candidates lies in the middle of every node, which the paper does not prove.",
        [
            "Features on [0, 1], with a density.",
            "B₁ and B₂ are fixed, B₃ = ∞: no privacy.",
            "The number of rows of each leaf grows, but its share of all rows shrinks.",
            "Here a third of the candidates lies in the middle.",
        ],
        "Bai and others 2019, Lemmas 3 and 4, Theorem 1.",
        consistency,
    ),
}
