"""Theorems about votes that need many rows or trees: the coin rule, votes on other rows, the best number of trees.

The coin rule draws the predicted class of a row at random. The probability of a class is its share in the row's leaf,
averaged over the trees.
"""

from __future__ import annotations

import math

import numpy as np

from dpforest.plotting.style import PRIVATE
from dpforest.plotting.theory import Axis, Chart, FormulaCurve, theory_chart
from dpforest.tables.features import plural
from dpforest.theory.votes import vote_slack
from dpforest.theory.votes_printed import (
    DirectBound,
    coin_bound,
    direct_bound,
    held_out_probability,
    mean_weight_bound,
    rows_for_direct_bound,
    rows_to_hold_out,
    share_of_sure_rows,
    trees_required,
)
from ui.learn.theorem import (
    BoundStatus,
    Picture,
    Theorem,
    TheoremView,
    at_most,
    choose,
    dots_of,
    pick,
    present_table,
    share,
    size_text,
    thousands,
)
from ui.learn.theory_numbers import of_table
from ui.learn.theory_votes import TREES, percent_text, proved, tree_error
from ui.shared import cache
from ui.shared.epsilon import choose_epsilon
from ui.shared.wording import epsilon_text, plain

RULES = ("average", "coin")
VOTE_RULES = ("majority", "average")
MANY_ROWS = [10**p for p in range(3, 27)]
OTHER_ROWS = [10**p for p in range(3, 15)]
CONFIDENCE = 0.95
LEAF_SHARE = 40  # the constant K of Theorem 5.8, which gives up leaves with fewer rows than 1/K of the average leaf


def coin() -> TheoremView:
    """Draw the controls and return the charts for Theorems 5.2, 5.5 and 5.8 of Bojarski and others.

    They bound the error of the coin rule on the training rows.
    """
    table = present_table(two_classes=True)
    if isinstance(table, TheoremView):
        return table
    measures, name = of_table("goodness", table), plain(table.short_title, 40)
    k = pick("Trees", TREES, 1001, "coin_trees", "How many random trees give the coin its chance.", thousands)
    e, guessing, rows = tree_error(measures), measures["guessing"], measures["rows"]
    limit = 1 - mean_weight_bound(e)
    x = np.unique(np.logspace(0, 4, 241).round().astype(int)).tolist()
    bound, tossed = _coin_bound(e, k, rows), 1 - measures["label_share"]
    votes = {int(n): v for n, v in measures["vote_error"].items()}
    figure = theory_chart(
        Chart(
            Axis("trees", 1, 10_000, log=True),
            Axis("training error", 0, 1, percent=True),
            [
                FormulaCurve(x, [_coin_bound(e, n, rows) for n in x], "Theorem 5.5"),
                FormulaCurve(x, [limit] * len(x), "2e − 2e²: its limit", 1),
            ],
            "above",
            dots=[
                dots_of(dict.fromkeys(votes, tossed), "measured coin", lambda n, v: f"{n} trees: {share(v)} wrong"),
                dots_of(votes, "measured majority vote", lambda n, v: f"{n} trees: {share(v)} wrong", 1),
            ],
            yours=(k, bound, f"{k:,} trees: {at_most(bound)}"),
            comparison=(guessing, f"guessing: {share(guessing)}"),
        )
    )
    trees = plural(k, "tree")
    truth = f"Measured on {rows:,} rows of {name}: coin {share(tossed)}, majority vote {share(votes[max(votes)])}."
    if bound < guessing:
        why = (
            f"with {trees} a coin errs on {at_most(bound)} of the rows with {percent_text(CONFIDENCE)} confidence, and "
            f"guessing errs on {share(guessing)}. {truth}"
        )
    else:
        first = next((n for n in x if _coin_bound(e, n, rows) < guessing), None)
        when = f"No number of trees helps, because the bound stays above {share(limit)}."
        if first:
            when = f"From {first:,} trees on the bound is below guessing."
        why = f"the bound with {trees} is {at_most(bound)}, and guessing errs on {share(guessing)}. {when} {truth}"
    noisy = coin_bound(min(e + 1 / LEAF_SHARE, 0.5) - 1 / LEAF_SHARE, 0.0, 0.0, LEAF_SHARE)
    note = (
        "The coin errs as often on average with 1 tree as with 300: more trees only make its error vary less. A "
        "majority vote mostly gets better with more trees, so no forest here tosses a coin unless you choose “coin "
        f"with the mean share” as its voting. With noise on the counts the limit is {share(noisy)} (Theorem 5.8, "
        f"K = {LEAF_SHARE}), and the theorem needs as many rows as “… with privacy”."
    )
    alt = f"Error of a coin: {at_most(bound)} with {trees}; measured {share(tossed)}; guessing {share(guessing)}."
    status = BoundStatus(bound < guessing, why)
    return TheoremView(status, [Picture("What a coin gets wrong", "Do not share", figure, alt)], note)


def _coin_bound(e: float, n_trees: int, n_rows: int) -> float:
    """Return the bound of Theorem 5.5 on the error of the coin rule.

    The bound may fail with probability 1 - `CONFIDENCE`: half of it is for the draw of the trees, and half for the
    tosses.
    """
    error_probability = (1 - CONFIDENCE) / 2
    toss_slack = min(math.sqrt(math.log(1 / error_probability) / (2 * n_rows)), 1.0)
    return coin_bound(e, min(vote_slack(n_trees, n_rows, 1 - error_probability), 1.0), toss_slack)


def other_rows() -> TheoremView:
    """Draw the controls and return the charts for Theorems 5.3 and 5.4 of Bojarski and others, on held-out rows.

    With enough training rows, a vote errs on held-out rows hardly more often than the bound for training rows allows.
    """
    table = present_table(two_classes=True)
    if isinstance(table, TheoremView):
        return table
    measures, name = of_table("goodness", table), plain(table.short_title, 40)
    rule = choose(
        "Vote",
        VOTE_RULES,
        "other_rule",
        "Majority: each tree has one vote. Average: the class with the largest share, averaged over the trees, wins.",
    )
    n = pick("Rows", OTHER_ROWS, 10**12, "other_rows", "Rows to learn from, and as many other rows.", size_text)
    help_text = "How far votes may be off. More slack: fewer trees and rows, and a weaker bound."
    d = pick("Slack d", [0.05, 0.1, 0.15, 0.2, 0.25, 0.3], 0.1, "other_slack", help_text)
    help_text = (
        "Rows that are given up count as wrong. A larger K gives up fewer rows. But then even smaller leaves must have "
        "about the same shares of classes in training rows and in other rows."
    )
    parts = pick(
        "K: leaves with fewer rows than 1/K of the average leaf are given up",
        [20, 40, 80, 160],
        20,
        "other_leaf_share",
        help_text,
    )
    e, guessing, depth = tree_error(measures), measures["guessing"], measures["depth"]
    limit, trained = 1 - share_of_sure_rows(e, d, rule, parts), 1 - share_of_sure_rows(e, d, rule)
    x = np.logspace(3, 14, 221).tolist()
    chance, first = held_out_probability(n, depth, d, parts), rows_to_hold_out(depth, d, parts)
    figure = theory_chart(
        Chart(
            Axis("rows", 1e3, 1e14, log=True),
            Axis("the bound holds at least with probability", 0, 1, percent=True),
            [
                FormulaCurve(x, [held_out_probability(v, depth, d, parts) for v in x], "on other rows"),
                FormulaCurve(x, [1 - 1 / v for v in x], "on the training rows", 1),
            ],
            "below",
            yours=(
                n,
                chance,
                f"{size_text(n)} rows: {size_text(chance) if chance <= 0 else proved(chance)}",
            ),
            comparison=None,
        )
    )
    wants = f"{name} has {measures['rows']:,} rows; for trees of depth {depth} the theorem says nothing "
    wants += f"below {size_text(first)} rows." if first else "at any number of rows."
    k = math.ceil(trees_required(n, d, held_out=True))
    if limit >= min(guessing, 0.5):
        why = (
            f"it would promise an error of {at_most(limit)}, and guessing errs on {share(guessing)}. More rows do not "
            "help; a smaller slack or a larger K may."
        )
    elif chance > 0:
        why = (
            f"with a probability of {proved(chance)}, {at_most(limit)} of {size_text(n)} other rows are predicted "
            f"wrong. {wants}"
        )
    else:
        why = f"at {size_text(n)} rows its lower limit on the probability is below 0, which is no information. {wants}"
    if rule == "majority" and chance > 0:
        why += (
            " But for majority votes this is a conjecture: the paper’s bound with one correction, which nobody has "
            "proved. These figures hold only if it is true."
        )
    halved = 1 - share_of_sure_rows(e, d, rule, parts / 2)
    note = (
        f"This theorem needs {k:,} trees, four times as many as the theorem for training rows. That one allows an "
        f"error of {at_most(trained)}. If the counts have noise, K/2 takes the place of K, and the error is "
        f"{at_most(halved)}. The theorem holds only if the classes have about the same shares in a leaf for training "
        "rows and for other rows. The held-out accuracy in Explore does not need this condition."
    )
    alt = f"Probability that the bound on other rows holds: {size_text(chance)} at {size_text(n)} rows."
    status = BoundStatus(chance > 0 and limit < min(guessing, 0.5), why)
    return TheoremView(status, [Picture("When the bound holds on other rows", "Do not share", figure, alt)], note)


def best_number() -> TheoremView:
    """Draw the controls and return the charts for Theorems 5.7 and 5.9 of Bojarski and others.

    They state the best number of trees if all trees share ε.
    """
    table = present_table(two_classes=False)
    if isinstance(table, TheoremView):
        return table
    epsilon = choose_epsilon(others=False)
    help_text = (
        "Average: the class with the largest share, averaged over the trees, wins (5.7). Coin: each class wins with a "
        "probability equal to its average share (5.9)."
    )
    rule = choose("Vote", RULES, "optimal_rule", help_text)
    n = pick("Rows", MANY_ROWS, 10**22, "optimal_rows", "How many rows the table has.", size_text)
    depth = pick("Depth", list(range(1, 11)), 1, "optimal_depth", "Questions on a path.")
    help_text = "On average over all random trees, without noise."
    e = pick("Error of a tree", [0.0, 0.01, 0.02, 0.05, 0.1, 0.2], 0.02, "tree_error", help_text, percent_text)
    bound, (x, curve, first) = direct_bound(e, n, depth, epsilon, rule), _best_numbers(depth, epsilon, rule)
    proved_curve = [trees if first and rows >= first else math.nan for rows, trees in zip(x, curve, strict=True)]
    figure = theory_chart(
        Chart(
            Axis("rows", 1e3, 1e26, log=True),
            Axis("best number of trees, k_opt", 1, max(10.0, 1.1 * max(curve)), log=True),
            [
                FormulaCurve(x, curve, "the formula, nothing proved", 2),
                FormulaCurve(x, proved_curve, "where the bound holds", 0, PRIVATE),
            ],
            yours=(n, bound.trees, f"{size_text(n)} rows: {bound.trees:,} trees"),
        )
    )
    rows, name = len(table.frame), plain(table.short_title, 40)
    wants = f"{name} has {rows:,} rows; the bound means something "
    wants += f"from {size_text(first)} rows on." if first else "for no number of rows."
    status = _number_status(bound, n, epsilon, wants)
    note = (
        f"As printed, the bound gives {at_most(bound.printed)}; the algebra of its proof gives "
        f"{at_most(bound.derived)}. The paper remarks that the best number grows like the logarithm of the number of "
        "rows. In fact it grows like the fourth root. To choose the number of trees for a table, see “Trees” on "
        "Compare, which simulates it."
    )
    alt = f"Best number of trees by rows: {bound.trees:,} at {size_text(n)} rows; it means something from "
    alt += f"{size_text(first)} rows on." if first else "no number of rows on."
    return TheoremView(
        status, [Picture("The best number of trees", "From a formula", figure, alt)], note, names_rows=True
    )


def _number_status(bound: DirectBound, n: int, epsilon: float, wants: str) -> BoundStatus:
    trees = f"{bound.trees:,} tree{'s' * (bound.trees > 1)}"
    if bound.derived >= 0.5:
        none = f"it would promise an error of {at_most(bound.derived)}, no better than a coin."
        return BoundStatus(False, f"{none} More rows do not help; better trees do.")
    if bound.probability > 0:
        right = f"with {trees}, {at_most(bound.derived)} of {size_text(n)} training rows are wrong"
        return BoundStatus(True, f"{right}, with a probability of {proved(bound.probability)}. {wants}")
    none = f"at {size_text(n)} rows and ε = {epsilon_text(epsilon)} the formula names {trees}, and proves nothing."
    return BoundStatus(False, f"{none} {wants}")


@cache.for_everybody(data=True, max_entries=64)
def _best_numbers(depth: int, epsilon: float, rule: str) -> tuple[list[float], list[int], float | None]:
    """Return numbers of rows, the best number of trees for each, and the least number of rows with a proved bound."""
    x = np.logspace(3, 26, 116).tolist()
    return x, [direct_bound(0.0, n, depth, epsilon, rule).trees for n in x], rows_for_direct_bound(depth, epsilon, rule)


PANELS = {
    "The coin rule": Theorem(
        "If a forest draws each class with its mean share over the trees, which err on a share e of the training "
        "rows, it errs on hardly more than 2e − 2e² of them. More trees do not help.",
        r"\begin{aligned} \text{error} & \le 2e - 2e^2 + d + c \\ d & = \sqrt{\frac{\ln(2n/\beta)}{2k}},\quad "
        r"c = \sqrt{\frac{\ln(2/\beta)}{2n}} \end{aligned}",
        "True. The paper does not print how many trees it takes; the number is from its proof.",
        [
            "Two classes, no privacy, error on the rows that label the leaves.",
            "Trees do not look at the data.",
            "β = 5 %, half for the draw of the trees and half for the tosses.",
        ],
        "Bojarski and others, Theorems 5.2, 5.5 and 5.8.",
        coin,
    ),
    "Votes on other rows": Theorem(
        "With enough rows, the error on other rows is at most the bound for the training rows plus a margin. K sets "
        "the margin.",
        r"\begin{aligned} \text{error} & \le \frac{e + \frac1K}{\frac12 - d} \\ P & \ge 1 - \tfrac1n - "
        r"2^{h+3}k\,\exp(-2n\varphi^2) \\ \varphi & = \frac{d}{2(4+d)2^hK} \end{aligned}",
        "The paper subtracts 1/K in the denominator. That is false where the rows that are given up are wrong, so the "
        "formula here adds it to the error. For majority votes there is no proof, and a leaf near a tie may vote "
        "differently on other rows.",
        [
            "Two classes, no privacy; there are as many other rows as training rows.",
            "Leaves with less than a K-th of the mean number of rows are given up.",
            "k = 4 ln n / d² trees; with averaged shares, 2e − 2e² takes the place of e.",
            "e is the share of training rows that a tree gets wrong on average, n the number of rows, h the depth.",
        ],
        "Bojarski and others, Theorems 5.3, 5.4 and 5.6.",
        other_rows,
    ),
    "Best number of trees": Theorem(
        "If all trees share ε, there is a best number of trees: the vote of fewer trees depends on luck, and each of "
        "more trees gets too little of ε.",
        r"\begin{aligned} k_{\text{opt}} & = \arg\min_k\; e^{-k/200} + 2k\,e^{-\gamma\sqrt n\,\varepsilon/k} \\ "
        r"\gamma & = \frac{1}{9600\cdot 2^h} \end{aligned}",
        "True in the form that its proof gives. At depth 1 and ε = 1 it needs 10²⁰ rows.",
        [
            "Two classes; negative counts are set to 0; K = 40 and d = 1/10.",
            "Add-remove; ε is shared evenly by k trees.",
            "The coin (5.9) lacks a pair of brackets in print; they are added here.",
        ],
        "Bojarski and others, Theorems 5.7 and 5.9.",
        best_number,
    ),
}
