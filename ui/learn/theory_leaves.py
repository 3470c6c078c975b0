"""Theorems about leaves and paths: untested features, empty leaves, and the least flip rate of a leaf's label."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context

import numpy as np

from dpforest.models.depth_rules import fletcher_islam_depth, untested_features
from dpforest.plotting.audit import chance
from dpforest.plotting.style import NOT_HELD, PRIVATE
from dpforest.plotting.theory import Axis, Chart, FormulaCurve, theory_chart
from dpforest.privacy.mechanisms import flip_by_gap, flip_floor
from dpforest.privacy.simulators import simulate_labels
from dpforest.theory.brute_force import drawn_untested
from ui.learn.theorem import BoundStatus, Picture, Theorem, TheoremView, dots_of, pick, present_table, share
from ui.learn.theory_numbers import of_table
from ui.shared import cache
from ui.shared.epsilon import choose_epsilon
from ui.shared.wording import epsilon_text

PATHS = 20_000  # number of simulated paths
DEEPEST = 20  # largest depth of a path
DRAWS = 100_000  # number of simulated labels of a leaf
CERTIFIED, PAPER = "permute-and-flip", "smooth-sensitivity"


def untested() -> TheoremView:
    """Draw the controls and return the charts for Theorem 2 of Fletcher and Islam.

    The theorem states how many numeric features a path of random questions never tests, on average.
    """
    s = pick("Numeric features", list(range(1, 31)), 10, "features", "How many the table has.")
    depth = pick("Depth", list(range(DEEPEST + 1)), 7, "path_depth", "Questions on a path from root to leaf.")
    x = list(range(DEEPEST + 1))
    expected, drawn_means = [untested_features(s, d) for d in x], _drawn_untested(s)
    rule = fletcher_islam_depth(s, 0, "theorem", most=None)
    figure = theory_chart(
        Chart(
            Axis("depth", 0, DEEPEST),
            Axis("features not tested on a path", 0, s),
            [FormulaCurve(x, expected, "the formula")],
            dots=[
                dots_of(
                    dict(enumerate(drawn_means)), f"{PATHS:,} drawn paths", lambda d, v: f"depth {d}: {v:.3f} of {s}"
                )
            ],
            yours=(depth, expected[depth], f"depth {depth}: {expected[depth]:.3f} of {s}"),
            comparison=(s / 2, "half of the features"),
        )
    )
    result = f"of {s} features a path of depth {depth} leaves {expected[depth]:.3f} untested on average"
    why = "a path without questions tests nothing. From depth 1 on the formula is exact."
    if depth:
        why = f"{result}, exactly. In {PATHS:,} drawn paths it was {drawn_means[depth]:.3f}."
    status = BoundStatus(depth > 0, why)
    note = (
        "The paper’s rule adds two numbers: the least depth at which fewer than half of the numeric features are "
        f"untested ({rule} for {s}), and half the number of categorical ones. The theorem says nothing about accuracy: "
        "on nursery (eight categorical features) the rule gives 4, and at ε = 1 the most accurate of 100-tree forests "
        "has depth 3."
    )
    alt = f"Untested of {s} features by depth: {expected[depth]:.3f} at depth {depth}, drawn {drawn_means[depth]:.3f}."
    return TheoremView(status, [Picture("Features that a path does not test", "From a formula", figure, alt)], note)


@cache.for_everybody(data=True, max_entries=64)
def _drawn_untested(n_features: int) -> list[float]:
    """Return the mean number of features that simulated paths do not test, for each depth from 0 to `DEEPEST`."""
    return [drawn_untested(n_features, d, PATHS) for d in range(DEEPEST + 1)]


def empty() -> TheoremView:
    """Draw the controls and return the chart of the share of empty leaves: expected, and counted in one forest."""
    table = present_table(two_classes=False)
    if isinstance(table, TheoremView):
        return table
    measures = of_table("empty", table)
    depths = [int(d) for d in measures]
    sizes, help_text = [int(k) for k in measures[str(depths[0])]], "Each row goes to one tree, drawn for it alone."
    n_trees = pick("Trees that share the rows", sizes, 100, "sharing", help_text)
    depth = pick("Depth", depths, depths[len(depths) // 2], "leaf_depth", "Questions on a path.")
    cells = {d: measures[str(d)][str(n_trees)] for d in depths}
    expected, cell = [c["expected"] for c in cells.values()], cells[depth]
    counted = {d: c["counted"] for d, c in cells.items()}
    figure = theory_chart(
        Chart(
            Axis("depth", depths[0], depths[-1]),
            Axis("leaves that are empty", 0, 1, percent=True),
            [FormulaCurve(depths, expected, "expected, by the formula")],
            dots=[
                dots_of(
                    counted,
                    "counted in one forest",
                    lambda d, v: f"depth {d}: {share(v)} of {cells[d]['leaves']:,} leaves",
                )
            ],
            yours=(depth, cell["expected"], f"depth {depth}, {n_trees} trees: {share(cell['expected'])} expected"),
        )
    )
    is_informative = cell["expected"] >= 0.0005
    if is_informative:
        why = (
            f"{share(cell['expected'])} of {cell['leaves']:,} leaves are expected to be empty; in one forest "
            f"{share(cell['counted'])} were. An empty leaf publishes a label drawn at random."
        )
    else:
        first = next((d for d, e in zip(depths, expected, strict=True) if e >= 0.0005), None)
        more = f"From depth {first} on it is at least 0.05 %." if first else "Take more trees."
        why = f"at depth {depth} hardly any leaf is expected to be empty. {more}"
    status = BoundStatus(is_informative, why)
    note = (
        "The probability that a row lands in a given leaf of a given tree is the leaf’s share of all rows, divided by "
        "the number of trees. The formula averages over tables drawn like this one; the dots are one draw of which "
        "row goes where. A tree ends at 4,096 leaves."
    )
    alt = (
        f"Empty leaves, {n_trees} trees, by depth: at {depth} {share(cell['expected'])} expected, "
        f"{share(cell['counted'])} counted."
    )
    return TheoremView(status, [Picture("Leaves without rows", "Do not share", figure, alt)], note)


def chance_down(p: float) -> str:
    """Return a lower bound on a probability as text. It has the form that `chance` writes, but is rounded down.

    >>> chance_down(0.02519), chance_down(2.79e-22), chance_down(1.0)
    ('2.51 %', '2.7 in 10²²', '100 %')
    """
    digits = Context(prec=3 if p >= 1e-4 else 2, rounding=ROUND_FLOOR)
    return chance(float(digits.create_decimal(f"{p:.9g}")))


def floor() -> TheoremView:
    """Draw the controls and return the chart of flip rates: the least rate that ε allows, and the rates of two rules.

    A flip rate is the probability that a leaf publishes another label than its most frequent one.
    """
    epsilon = choose_epsilon(others=False)
    classes = pick("Classes", list(range(2, 11)), 2, "classes", "How many labels there are.")
    lead = pick(
        "Lead, in rows", list(range(31)), 3, "lead", "Number of rows of the leaf, which all have the same class."
    )
    leads = np.arange(31)
    floor_rates, certified, paper = floor_and_rules(epsilon, classes, leads)
    drawn = _drawn_flip_rates(epsilon, classes)
    right = int(min(30, max(8, np.ceil(12 / epsilon), lead + 2)))
    bottom = max(float(floor_rates[right]) / 3, 1e-12)
    drawn_rates = {i: v for i, v in enumerate(drawn) if v > 0 and i <= right}
    figure = theory_chart(
        Chart(
            Axis("lead of the top class, in rows", 0, right),
            Axis("how often the label flips", bottom, 1, log=True, percent=True),
            [
                FormulaCurve(leads, floor_rates, "the floor"),
                FormulaCurve(leads, certified, "permute-and-flip", 1, PRIVATE),
                FormulaCurve(leads, paper, "rule of 2017, as published", 0, NOT_HELD),
            ],
            "below",
            dots=[
                dots_of(
                    drawn_rates,
                    f"permute-and-flip, {DRAWS:,} draws",
                    lambda i, v: f"lead {i}: {chance(v)} of {DRAWS:,} draws",
                )
            ],
            yours=(lead, floor_rates[lead], f"lead {lead}: at least {chance_down(floor_rates[lead])}"),
        )
    )
    below = np.flatnonzero(paper < floor_rates * (1 - 1e-9))
    paper_text = "Up to a lead of 30 rows the rule of 2017 stays above it, but not at larger leads."
    if len(below):
        paper_text = f"The rule of 2017 falls below it from a lead of {below[0]} on, so it does not keep ε."
    rule_text = f"flips in {chance(certified[lead])}"
    if np.isclose(certified[lead], floor_rates[lead], rtol=1e-9):
        rule_text = "reaches this bound exactly"
    status = BoundStatus(
        True,
        f"with ε = {epsilon_text(epsilon)} and a lead of {lead} any such rule flips in at least "
        f"{chance_down(floor_rates[lead])} of releases (rounded down); permute-and-flip {rule_text}. {paper_text}",
    )
    note = (
        "This bound is informative at every setting. For two classes permute-and-flip reaches it: no rule that "
        "keeps ε and treats classes alike can flip less."
    )
    alt = (
        f"Flip rates by lead. At lead {lead}: floor {chance_down(floor_rates[lead])}, permute-and-flip "
        f"{chance(certified[lead])}, rule of 2017 {chance(paper[lead])}."
    )
    return TheoremView(status, [Picture("How often a label must flip, at least", "From a formula", figure, alt)], note)


def floor_and_rules(epsilon: float, classes: int, leads: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return flip rates by lead: the least possible, permute-and-flip, and the rule of 2017 (smooth sensitivity).

    All rows of a leaf have the same class here, so the lead of this class over the others is the number of rows. A leaf
    with a lead of 0 is empty. It publishes every label equally often, and one of them counts as right.
    """
    low = flip_floor(leads, epsilon, classes)
    certified, paper = (flip_by_gap(rule, leads, classes, epsilon) for rule in (CERTIFIED, PAPER))
    certified[leads == 0] = paper[leads == 0] = (classes - 1) / classes
    return low, certified, paper


@cache.for_everybody(data=True, max_entries=64)
def _drawn_flip_rates(epsilon: float, classes: int) -> list[float]:
    """Return the simulated flip rates of permute-and-flip, for each lead from 0 to 30 rows."""
    flip_rates = []
    for lead in range(31):
        leaf = np.zeros((DRAWS, classes), np.int64)
        leaf[:, 0] = lead
        flip_rates.append(float((simulate_labels(leaf, CERTIFIED, epsilon, lead) != 0).mean()))
    return flip_rates


PANELS = {
    "Depth rule": Theorem(
        "The mean number of numeric features that a path of random questions never asks about is known exactly.",
        r"E[X \mid d] = s \left(\frac{s-1}{s}\right)^{d}",
        "Exact. The depths printed in the paper’s tables are one more than this theorem gives.",
        ["Each question draws its feature evenly and with replacement.", "Numeric features only."],
        "Fletcher and Islam 2017, Theorem 2.",
        untested,
    ),
    "Empty leaves": Theorem(
        "The more leaves and trees share the rows, the more leaves are empty. Their mean number is known.",
        r"E[\text{empty}] = \frac{1}{L}\sum_{\ell=1}^{L} \left(1 - \frac{q_\ell}{k}\right)^{n}",
        "Exact on average over tables that are drawn alike.",
        ["Rows are drawn independently.", "Each row is put into one of k trees, by a separate draw."],
        "After Fletcher and Islam 2017, Example 1; the general form is ours.",
        empty,
    ),
    "Floor of a leaf": Theorem(
        "A rule that keeps ε and treats classes alike must publish a wrong label now and then; this is the least rate.",
        r"P(\text{flip}) \ge \frac{K-1}{K}\, e^{-j\varepsilon}",
        "Exact for two classes, where permute-and-flip attains it. It contradicts the privacy claimed in 2017.",
        [
            "Add-remove: one row is added or removed.",
            "All rows of the leaf have the same class.",
            "Classes are treated alike.",
        ],
        "Ours; it contradicts the leaf rule of Fletcher and Islam 2017, which its first author withdrew in 2021.",
        floor,
    ),
}
