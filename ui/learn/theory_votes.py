"""Theorems about votes: of random trees, of random trees with noise, and of trees whose errors are independent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpforest.plotting.theory import Axis, Chart, FormulaCurve, theory_chart
from dpforest.tables.features import plural
from dpforest.theory.votes import (
    average_bound,
    even_vote_right,
    majority_bound,
    private_error_bound,
    proof_probability,
    rows_to_prove,
    trees_to_beat,
    vote_slack,
)
from dpforest.theory.votes_printed import printed_probability
from ui.learn.theorem import (
    BoundStatus,
    Picture,
    Theorem,
    TheoremView,
    at_least,
    at_most,
    dots_of,
    error_chart,
    pick,
    present_table,
    share,
    size_text,
    thousands,
)
from ui.learn.theory_numbers import of_table
from ui.shared import cache
from ui.shared.epsilon import choose_epsilon
from ui.shared.wording import epsilon_text, plain

TREES = [1, 3, 9, 11, 13, 17, 19, 20, 21, 30, 31, 51, 101, 201, 301, 501, 1001, 2001, 5001, 10_001]
PROOF_TREES = [9, 11, 13, 17, 19, 20, 21, 30, 31, 51, 101, 201, 301, 401, 521, 801, 1201, 2001, 5001, 10_001]
ROWS = [m * 10**p for p in range(3, 11) for m in (1, 3)] + [10**11]
CHANCES = [0.4, 0.45, 0.5, 0.51, 0.52, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95, 0.99]


def votes() -> TheoremView:
    """Draw the controls and return the charts for Theorems 5.3 and 5.4 of Bojarski and others.

    They bound the error of a vote of many random trees by the mean error of a tree.
    """
    table = present_table(two_classes=True)
    if isinstance(table, TheoremView):
        return table
    measures, name = of_table("goodness", table), plain(table.short_title, 40)
    k = pick("Trees", TREES, 101, "votes", "How many random trees vote.", thousands)
    help_text = "Probability that the theorem’s bound holds. It may fail for an unlucky draw of the trees."
    confidence = pick("Confidence", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999], 0.95, "confidence", help_text, percent_text)
    e, guessing, rows = tree_error(measures), measures["guessing"], measures["rows"]
    x = np.unique(np.logspace(0, 4, 241).round().astype(int)).tolist()
    bounds, sharper = bounds_at(measures, x, confidence)
    (bound,), (better,) = bounds_at(measures, [k], confidence)
    errors = {int(n): v for n, v in measures["vote_error"].items()}
    figure = error_chart(
        Axis("trees", 1, 10_000, log=True),
        "training error of the vote",
        [FormulaCurve(x, bounds, "Theorem 5.4"), FormulaCurve(x, sharper, "Theorem 5.3, sharper", 1)],
        dots_of(errors, "measured", lambda n, v: f"{n} trees: {share(v)} wrong"),
        (k, bound, f"{k:,} trees: {at_most(bound)}"),
        guessing,
    )
    nearest = min(errors, key=lambda n: abs(math.log(n / k)))
    truth = f"Measured with {nearest} tree{'s' * (nearest > 1)}: {share(errors[nearest])}."
    first = trees_to_beat(guessing, e, rows, confidence)
    if bound < guessing:
        why = (
            f"with {plural(k, 'tree')} {at_most(bound)} of the rows are wrong; guessing gets {share(guessing)}. {truth}"
        )
    else:
        why = f"with {plural(k, 'tree')} there is no bound, as the slack is ½ or more"
        if math.isfinite(bound):
            why = f"the bound says {at_most(bound)}, and guessing gets {share(guessing)} wrong"
        when = f"No number of trees helps, because the bound stays above twice a tree’s error, {share(2 * e)}."
        if first:
            when = f"The bound is informative from {first:,} trees on."
        why = f"{why}. {when} {truth}"
    averaged = average_bound(e, vote_slack(k, rows, confidence))
    known = (
        "Theorem 5.4 gives the bound above. Theorem 5.3, which needs to know how many trees are right about each row, "
        f"gives {at_most(better)}. "
    )
    note = (
        f"A tree of depth {measures['depth']} gets {share(e)} of the {rows:,} rows of {name} wrong. "
        f"{known if math.isfinite(better) else ''}If shares are averaged over the trees instead of voting, Theorem 5.4 "
        f"gives {at_most(averaged)}. These figures are without privacy, and on the rows that the trees were trained on."
    )
    alt = (
        f"Error of votes on this table: bound {at_most(bound)} with {k} trees, measured {share(errors[nearest])} with "
        f"{nearest}, guessing {share(guessing)}."
    )
    status = BoundStatus(bound < guessing, why)
    return TheoremView(status, [Picture("What a vote gets wrong", "Do not share", figure, alt)], note)


def percent_text(share_of_one: float) -> str:
    """Return a share as a percentage, with up to six significant digits."""
    return f"{100 * share_of_one:g} %"


def proved(probability: float) -> str:
    """Return a proved lower bound on a probability as text. The text is never 100 %."""
    return at_least(min(probability, 0.9999))


def tree_error(measures: dict[str, Any]) -> float:
    """Return the mean error of a tree, as a share of the rows.

    For each j, the measurements hold the number of rows that exactly j trees classify correctly.
    """
    counts = np.array(measures["rows_by_trees_right"], float)
    return float(1 - (counts * np.arange(len(counts))).sum() / counts.sum() / (len(counts) - 1))


def bounds_at(measures: dict[str, Any], trees: list[int], confidence: float) -> tuple[list[float], list[float]]:
    """Return the bounds of Theorems 5.4 and 5.3 for each number of trees. A bound that does not exist is infinite."""
    counts, e = np.array(measures["rows_by_trees_right"], float), tree_error(measures)
    goodness = np.arange(len(counts)) / (len(counts) - 1)
    slacks = [vote_slack(k, measures["rows"], confidence) for k in trees]
    sharper = [float(counts[goodness < 0.5 + d].sum() / counts.sum()) if d < 0.5 else math.inf for d in slacks]
    return [majority_bound(e, d) for d in slacks], sharper


def private() -> TheoremView:
    """Draw the controls and return the charts for Theorem 5.6 of Bojarski and others.

    With enough rows and the right number of trees, noise on the leaves' counts hardly harms an averaged vote.
    """
    epsilon = choose_epsilon(others=False)
    n = pick("Rows", ROWS, 10**8, "rows", "How many rows the table has.", size_text)
    k = pick("Trees", PROOF_TREES, 521, "proof_trees", "They share ε.", thousands)
    depth = pick("Depth", list(range(1, 11)), 3, "proof_depth", "Questions on a path.")
    d = pick("Slack d", [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45], 0.3, "slack",
             "How far votes may be off. With more slack, the bound holds more often but is weaker.")  # fmt: skip
    help_text = (
        "Rows that are given up count as wrong. Larger: fewer such rows, but smaller leaves have to withstand the "
        "noise."
    )
    parts = pick(
        "K: leaves with fewer rows than 1/K of the average leaf are given up",
        [5, 10, 20, 40, 80, 160],
        20,
        "leaf_share",
        help_text,
    )
    help_text = "On average over all random trees, without noise."
    e = pick("Error of a tree", [0.0, 0.01, 0.02, 0.05, 0.1, 0.2], 0.02, "tree_error", help_text, percent_text)
    x, probabilities, best, printed = _proof_probabilities(k, depth, d, parts, epsilon)
    probability, limit = proof_probability(n, k, depth, d, parts, epsilon), private_error_bound(e, d, parts)
    figure = theory_chart(
        Chart(
            Axis("rows", 1e3, 1e11, log=True),
            Axis("the bound holds at least with probability", 0, 1, percent=True),
            [
                FormulaCurve(x, probabilities, f"{k:,} trees"),
                FormulaCurve(x, best, "the best number of trees", 1),
                FormulaCurve(x, printed, f"{k:,} trees, as printed", 2),
            ],
            "below",
            yours=(
                n,
                probability,
                f"{size_text(n)} rows: {size_text(probability) if probability <= 0 else proved(probability)}",
            ),
        )
    )
    status = _proof_status(n, k, probability, limit, depth, d, parts, epsilon)
    note = (
        f"Where the bound holds, {at_most(limit)} of the training rows are wrong. With too few trees the vote is luck; "
        "with too many, each tree gets too small a share of ε. Nothing is measured here, as no bundled table has so "
        "many rows."
    )
    alt = f"Probability that the bound holds by rows: {size_text(probability)} at {size_text(n)} rows."
    return TheoremView(status, [Picture("When the proof is informative", "From a formula", figure, alt)], note)


def _proof_status(
    n: float, k: int, probability: float, limit: float, depth: int, d: float, parts: int, epsilon: float
) -> BoundStatus:
    first, least = (rows_to_prove(ks, depth, d, parts, epsilon) for ks in ([k], PROOF_TREES))
    if limit >= 0.5:
        even = private_error_bound(0.0, d, parts)
        fewest = next((p for p in range(1, 10_000) if private_error_bound(0.0, d, p) < 0.5), 0)
        more = "It needs better trees, a larger K or another slack."
        if even >= 0.5:
            more = f"Even perfect trees would not help below K = {fewest}."
        return BoundStatus(False, f"it would promise an error of {at_most(limit)}, no better than a coin. {more}")
    if probability > 0:
        why = (
            f"with a probability of {proved(probability)}, {at_most(limit)} of {size_text(n)} training rows are wrong."
        )
        return BoundStatus(True, f"{why} It means something from {size_text(first or n)} rows on.")
    best = "No number of trees up to 10,001 makes it say something."
    if least:
        best = f"With the best number of trees it takes {size_text(least)} rows."
    enough = f"With {k:,} trees it is informative {f'from {size_text(first)} rows on' if first else 'for no rows'}."
    return BoundStatus(
        False,
        f"at {size_text(n)} rows and ε = {epsilon_text(epsilon)} it holds with a probability of at least "
        f"{size_text(probability)}, and a probability below 0 is no information. {enough} {best}",
    )


@cache.for_everybody(data=True, max_entries=64)
def _proof_probabilities(k: int, depth: int, d: float, parts: int, epsilon: float) -> tuple[list[float], ...]:
    """Return numbers of rows, and for each number three probabilities that the bound holds.

    The first is for k trees, and the second for the best number of trees. The third is for k trees, by the formula that
    the paper prints.
    """
    x = np.logspace(3, 11, 161).tolist()
    probabilities = [[proof_probability(n, each, depth, d, parts, epsilon) for each in PROOF_TREES] for n in x]
    printed = [printed_probability(n, k, depth, d, parts, epsilon) for n in x]
    return x, [row[PROOF_TREES.index(k)] for row in probabilities], [max(row) for row in probabilities], printed


def noisy() -> TheoremView:
    """Draw the controls and return the chart of how often votes of independent trees and of noisy trees are right."""
    table = present_table(two_classes=True)
    if isinstance(table, TheoremView):
        return table
    measures, name = of_table("noisy_votes", table), plain(table.short_title, 40)
    sizes = [int(k) for k in measures]
    k = pick("Trees", sizes, 101, "noisy_trees", "How many vote.")
    p = pick("Each is right with probability", CHANCES, 0.6, "chance", "On any row, by itself.", percent_text)
    cells = {n: measures[str(n)] for n in sizes}
    cell, x = cells[k], list(range(1, 302, 2))
    yours = [float(even_vote_right(p, n)) for n in x]
    independent = {n: float(even_vote_right(c["tree"], n)) for n, c in cells.items()}
    vote_share, measured = float(even_vote_right(p, k)), {n: c["vote"] for n, c in cells.items()}
    by_row = [c["row_by_row"] for c in cells.values()]
    figure = theory_chart(
        Chart(
            Axis("trees", 1, 301, log=True),
            Axis("votes that are right", 0.3, 1, percent=True),
            [
                FormulaCurve(x, yours, f"independent, each right in {100 * p:g} %"),
                FormulaCurve(sizes, list(independent.values()), "independent, as good as the measured trees", 1),
                FormulaCurve(sizes, by_row, "row by row, with each row’s own chance", 2),
            ],
            dots=[dots_of(measured, "measured vote", lambda n, v: f"{n} trees: {share(v)}")],
            yours=(k, vote_share, f"{k} trees: {share(vote_share)}"),
        )
    )
    why = f"of {k} independent votes, each right in {percent_text(p)}, the majority is right in {share(vote_share)}"
    why += "." if p > 0.5 else ", no better than a coin. Above 50 % for each, more votes help."
    note = (
        f"On {name} a noisy tree of {k} (ε = 1 for all) is right on {share(cell['tree'])} of the held-out rows. If "
        f"that held for every row alike, their vote would be right in {share(independent[k])}; in fact it is right in "
        f"{share(cell['vote'])}. Trees share their mistakes: some rows are hard for all of them. Taken row by row, "
        f"with each row’s own chance, the same formula gives {share(cell['row_by_row'])}."
    )
    alt = f"Right votes: formula {share(vote_share)} for {k} trees at {100 * p:g} %, measured {share(cell['vote'])}."
    return TheoremView(
        BoundStatus(p > 0.5, why), [Picture("What a vote gets right", "Do not share", figure, alt)], note
    )


PANELS = {
    "Votes of random trees": Theorem(
        "If random trees get a share e of the training rows wrong, on average, then a vote of many such trees gets "
        "at most little more than 2e of them wrong.",
        r"\text{error} \le \frac{e}{\frac12 - d}, \qquad d = \sqrt{\frac{\ln(n/\beta)}{2k}}",
        "True, and mostly too weak to choose settings by.",
        [
            "Two classes, no privacy.",
            "Error on the rows that label the leaves.",
            "Trees do not look at the data.",
            "β is one minus the confidence. Trees are drawn from all those of the same depth (here 400 stand for all).",
        ],
        "Bojarski, Choromanska, Choromanski, LeCun, Theorems 5.1 to 5.4.",
        votes,
    ),
    "… with privacy": Theorem(
        "With enough rows and the right number of trees, noise on the leaves’ counts hardly harms an averaged vote.",
        r"\begin{aligned} P & \ge 1 - n\left(e^{-kd^2/2} + 2k\,e^{-\lambda n\varepsilon/k}\right) \\ "
        r"\lambda & = \frac{d}{2(1+d)K2^h} \end{aligned}",
        "As printed it lacks a factor of 2 that its proof has. This is the form that the proof gives, with a better λ.",
        [
            "Two classes; shares averaged; negative counts are set to 0.",
            "Add-remove; ε is shared evenly by k trees.",
            "Leaves with less than a K-th of the mean number of rows are given up.",
        ],
        "Bojarski and others, Theorem 5.6; the clean form is ours.",
        private,
    ),
    "Votes of noisy trees": Theorem(
        "A majority of many independent votes, each a little better than a coin, is almost always right.",
        r"P\left(\sum_t B_t > \tfrac{k}{2}\right), \quad B_t \sim \text{Bernoulli}(p_t)",
        "Exact for independent votes. Over the rows of a table votes are not independent.",
        ["Two classes, a tie is decided by a coin.", "Trees err independently of each other."],
        "Condorcet 1785; Poisson’s binomial law.",
        noisy,
    ),
}
