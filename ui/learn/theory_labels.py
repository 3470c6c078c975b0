"""Theorems about forests that release labels: dividing rows or ε among trees, and rows in the rarest leaf."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from dpforest.plotting.style import NOT_HELD, PRIVATE
from dpforest.plotting.theory import Axis, Chart, FormulaCurve, theory_chart
from dpforest.privacy.simulators import simulate_labels
from dpforest.theory.label_forest import exponents, leaves_without_rarest, rows_for_rarest_leaf
from ui.learn.theorem import BoundStatus, Picture, Theorem, TheoremView, dots_of, pick, present_table, share, size_text
from ui.learn.theory_votes import percent_text
from ui.shared import cache
from ui.shared.epsilon import choose_epsilon
from ui.shared.wording import epsilon_text, plain

# Values on the sliders: number of trees, and lead in rows.
TREES = [1, 3, 10, 30, 100, 300, 1000]
LEADS = [1, 3, 10, 30, 100, 300, 1000]
DEEPEST = 10  # largest depth on the slider
DRAWS = 20_000  # number of labels that are drawn for each measured flip rate


def divided() -> TheoremView:
    """Draw the controls and return the charts for equation 14 and Example 1 of Fletcher and Islam.

    The first chart compares trees that divide the rows with trees that divide ε. The second chart shows how many rows a
    table needs for one row in the rarest leaf.
    """
    table = present_table(two_classes=False)
    if isinstance(table, TheoremView):
        return table
    rows, title = len(table.frame), table.short_title
    name = plain(title, 40)
    epsilon = choose_epsilon(others=False)
    help_text = "Number of rows by which the most frequent label leads in a leaf of a tree with all rows."
    lead = pick("Lead, in rows", LEADS, 100, "divided_lead", help_text)
    n_trees = pick("Trees", TREES, 100, "divided_trees", "They divide the rows, or ε.")
    help_text = "Share of the rows that have the rarest value of an attribute; 5 % in the paper’s example."
    rarest = pick("Rarest value", [0.01, 0.05, 0.1, 0.2, 0.3], 0.05, "rarest", help_text, percent_text)
    depth = pick("Depth", list(range(1, DEEPEST + 1)), 5, "rarest_depth", "Questions on the way to the rarest leaf.")
    published, counts = exponents(lead, epsilon, n_trees), exponents(lead, epsilon, n_trees, "counts").disjoint
    if n_trees == 1:
        why = "one tree divides neither rows nor ε. From two trees on, the formula differs between the two ways."
    else:
        why = (
            f"with ε = {epsilon_text(epsilon)}, a lead of {lead:,} rows and {n_trees:,} trees, the published rule "
            f"flips a label in {share(_flip(published.disjoint))} of releases if trees divide the rows, and in "
            f"{share(_flip(published.shared))} if they divide ε. That rule does not keep ε. The exponential mechanism "
            f"on counts keeps it, and flips the label in {share(_flip(counts))} either way, so dividing the rows gains "
            "nothing."
        )
    needed = rows_for_rarest_leaf(rarest, depth)
    empty = next((d for d in range(DEEPEST + 1) if rows_for_rarest_leaf(rarest, d) > rows), None)
    reach = f"with this share its rarest leaf would have a row on average at every depth up to {DEEPEST}"
    if empty:
        reach = f"with this share its rarest leaf would have less than one row on average from depth {empty} on"
    n_others = leaves_without_rarest(depth)
    note = (
        f"Dividing the rows has a price, too: a table needs {size_text(needed)} rows so that the rarest leaf of "
        f"depth {depth} has one on average, and {size_text(needed * n_trees)} if {n_trees:,} trees divide them. "
        f"{name} has {rows:,} rows; {reach}. In the paper’s Example 1, each attribute has three values, so a tree of "
        f"this depth has {3**depth:,} leaves. Besides the fullest leaf, {n_others:,} "
        f"{'leaf has' if n_others == 1 else 'leaves have'} no rare value on the path. For this number, the paper’s "
        f"formula gives {max(leaves_without_rarest(depth, 'published'), 0)}."
    )
    flips = f"Flipped labels by trees: at {n_trees:,} {share(_flip(published.disjoint))} with divided rows and "
    flips += f"{share(_flip(published.shared))} with divided ε as published, {share(_flip(counts))} by counts."
    leaf = f"Rows for one row in the rarest leaf: {size_text(needed)} at depth {depth}; the table has {rows:,}."
    return TheoremView(
        BoundStatus(n_trees > 1, why),
        [
            Picture("Rows divided, or ε", "From a formula", _flips(lead, epsilon, n_trees, counts), flips),
            Picture("Rows for the rarest leaf", "Do not share", _rarest(rarest, depth, n_trees, rows, title), leaf),
        ],
        note,
    )


def _flip(exponent: float) -> float:
    """Return the probability of the second of two labels, if the first label has odds e to the power of `exponent`."""
    return float(1 / (1 + np.exp(min(exponent, 700.0))))


def _flips(lead: int, epsilon: float, n_trees: int, counts: float) -> go.Figure:
    x = np.unique(np.logspace(0, 3, 121).round()).astype(int).tolist()
    published = [exponents(lead, epsilon, k) for k in x]
    drawn_rates = _drawn_flip_rates(lead, epsilon)
    return theory_chart(
        Chart(
            Axis("trees", 1, 1000, log=True),
            Axis("how often the label flips", 0, 0.5, percent=True),
            [
                FormulaCurve(x, [_flip(each.disjoint) for each in published], "published, rows divided", 0, NOT_HELD),
                FormulaCurve(x, [_flip(each.shared) for each in published], "published, ε divided", 1, NOT_HELD),
                FormulaCurve(
                    x, [_flip(exponents(lead, epsilon, k, "counts").disjoint) for k in x], "by counts", 0, PRIVATE
                ),
            ],
            dots=[
                dots_of(drawn_rates[0], "by counts, rows divided, drawn", lambda k, v: f"{k} trees: {share(v)}"),
                dots_of(drawn_rates[1], "by counts, ε divided, drawn", lambda k, v: f"{k} trees: {share(v)}", 1),
            ],
            yours=(n_trees, _flip(counts), f"{n_trees:,} trees: {share(_flip(counts))}"),
            height=420,
        )
    )


def _rarest(rarest: float, depth: int, n_trees: int, rows: int, title: str) -> go.Figure:
    x = list(range(DEEPEST + 1))
    needed = [rows_for_rarest_leaf(rarest, d) for d in x]
    name = title if len(title) <= 40 else f"{title[:39]}…"  # `theory_chart` escapes special characters
    return theory_chart(
        Chart(
            Axis("depth", 0, DEEPEST),
            Axis("rows for one row in the rarest leaf", 1, max(1e6, needed[-1] * n_trees), log=True),
            [
                FormulaCurve(x, needed, "each tree has all rows"),
                FormulaCurve(x, [n_trees * v for v in needed], f"{n_trees:,} trees divide the rows", 1),
            ],
            yours=(depth, needed[depth], f"depth {depth}: {size_text(needed[depth])} rows"),
            comparison=(rows, f"{name}: {rows:,} rows"),
            height=380,
        )
    )


@cache.for_everybody(data=True, max_entries=64)
def _drawn_flip_rates(lead: int, epsilon: float) -> tuple[dict[int, float], dict[int, float]]:
    """Draw labels by the exponential mechanism on counts, and return the share of flipped labels by number of trees.

    The first result is for trees that divide the rows, and the second for trees that divide ε. The lead is how many
    more rows the most frequent label has. Numbers of trees that do not divide the lead are left out, because the lead
    in each tree must be a whole number.
    """
    rates: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for k in (k for k in TREES if lead % k == 0):
        for rate_of, count, budget in zip(rates, (lead // k, lead), (epsilon, epsilon / k), strict=True):
            leaves = np.tile(np.array([[count, 0]], np.int64), (DRAWS, 1))
            rate_of[k] = float((simulate_labels(leaves, "exponential", budget, k) != 0).mean())
    return rates


PANELS = {
    "Rows or ε divided": Theorem(
        "Fletcher and Islam (2017) let trees divide the rows and not ε, because their rule then flips labels less "
        "often. The exponential mechanism on counts, which keeps ε, flips them as often either way.",
        r"\begin{aligned} \text{published: } & "
        r"\underbrace{\tfrac{\varepsilon}{2}\, e^{j\varepsilon/k}}_{\text{rows divided}}"
        r" > \underbrace{\tfrac{\varepsilon}{2k}\, e^{j\varepsilon/k}}_{\varepsilon\text{ divided}} \\ "
        r"\text{by counts: } & \varepsilon\tfrac{j}{k} = \tfrac{\varepsilon}{k}\,j \end{aligned}",
        "True of the published rule, which does not keep ε. It does not hold for the exponential mechanism on counts.",
        [
            "Two classes; the leaf’s lead j shrinks in proportion to the rows, which holds only on average.",
            "By counts: the exponential mechanism with the counts as scores, add-remove.",
            "Rarest leaf: attributes are independent, and the rarest value of each has the share that you choose.",
        ],
        "Fletcher and Islam 2017, equation 14 and Example 1.",
        divided,
    ),
}
