"""Theorems about the Mα-loss: how much one row changes it, the speed of boosting at each α, its link and its surrogate.

The Mα-loss mixes the 0/1 loss (α = 0) and Matsushita's loss (α = 1).
"""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from dpforest.limits import MAX_DEPTH
from dpforest.losses import m_alpha
from dpforest.plotting.style import PRIVATE, QUIET
from dpforest.plotting.theory import Axis, Chart, FormulaCurve, theory_chart
from dpforest.theory.boosting_bounds import levels_for_error
from dpforest.theory.brute_force import largest_move
from ui.learn.theorem import BoundStatus, Picture, Theorem, TheoremView, dots_of, pick, present_table, size_text
from ui.shared import cache
from ui.shared.wording import plain

ALPHAS = [round(0.05 * i, 2) for i in range(21)]
TRIED = ALPHAS[::2]  # values of α for which the change by one row is computed for all possible leaves
ROWS = [2, 3, 5, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 1_000_000]
MOST_TRIED = 1000  # largest number of rows for which all possible leaves are tried
TARGET = 0.1  # error that boosting must reach


def moves() -> TheoremView:
    """Draw the controls and return the charts for Theorem 3, Lemma 5 and Corollary 7 of Nock and Henecka.

    They bound how much one row changes a split's score. The chart also has the exact largest change, which the paper
    does not state.
    """
    alpha = _alpha()
    n = pick("Rows", ROWS, 1000, "loss_rows", "Number of rows, including the added row.", size_text)
    exact = [float(m_alpha(a).sensitivity(n)) for a in ALPHAS]
    printed = [float(m_alpha(a).published_sensitivity(n)) for a in ALPHAS]
    bound = exact[ALPHAS.index(alpha)]
    tried = dict(zip(TRIED, _largest_changes(n), strict=True)) if n <= MOST_TRIED else {}
    dots = dots_of(tried, "largest found by trying all leaves", lambda a, v: f"α = {a:g}: {v:.3f}")
    figure = theory_chart(
        Chart(
            Axis("α", 0, 1),
            Axis("most that one row moves the score", 0, 1.05 * max(printed)),
            [FormulaCurve(ALPHAS, exact, "exact"), FormulaCurve(ALPHAS, printed, "as published", 1)],
            "above",
            dots=[dots] if tried else [],
            yours=(alpha, bound, f"α = {alpha:g}: {bound:.3f}"),
        )
    )
    part = f"with α = {alpha:g} and {n:,} rows, one row moves the score of a split by at most {bound:,.1f}"
    why = f"{part}. The score is at most {n:,}."
    if bound >= n:
        first = next(rows for rows in range(2, 100) if m_alpha(alpha).sensitivity(rows) < rows)
        why = f"{part}, and the score is at most {n:,}. From {first} rows on it is informative."
    status = BoundStatus(bound < n, why)
    note = (
        "Noise is in proportion to this number, so a small α needs less of it. The bound is reached if a leaf holds "
        "all other rows, and this row is the first of its class. With many rows, the published bound is larger by 1."
    )
    alt = (
        f"Sensitivity by α for {n:,} rows: {bound:.3f} at α = {alpha:g}; published {printed[ALPHAS.index(alpha)]:.3f}."
    )
    return TheoremView(status, [Picture("What one row moves", "From a formula", figure, alt)], note)


def mixture() -> TheoremView:
    """Draw the controls and return the charts of the Mα-loss: its curve, and what a change of α gains and costs.

    With a larger α, boosting needs fewer levels, but one row changes a split's score more.
    """
    alpha = _alpha()
    n = pick("Rows", ROWS, 1000, "loss_rows", "How many rows there are.", size_text)
    edge = pick("Edge γ", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], 0.7, "edge",
                "The difference between the classes’ shares that a test sends to one side, in every leaf.")  # fmt: skip
    levels = [levels_for_error(edge, a, TARGET, "derived") for a in ALPHAS[1:]]
    changes = [float(m_alpha(a).sensitivity(n)) for a in ALPHAS]
    trade = theory_chart(
        Chart(
            Axis("most that one row moves the score", 0, max(changes)),
            Axis("levels until the bound is 10 %", 1, max(levels), log=True),
            [FormulaCurve(changes[1:], levels, "α from 0.05 (left) to 1 (right)")],
            yours=(
                changes[ALPHAS.index(alpha)],
                levels[ALPHAS.index(alpha) - 1] if alpha else max(levels),
                f"α = {alpha:g}",
            ),
            comparison=(MAX_DEPTH, "as deep as trees get here"),
            comparison_below=True,
            height=380,
        )
    )
    change = changes[ALPHAS.index(alpha)]
    if alpha == 0:
        needs, enough, only = "never", False, f"one row moves the score by {change:.0f} only"
        why = f"at α = 0 no number of levels is enough, though {only}. {_least_alpha(levels)}"
    else:
        needed = levels[ALPHAS.index(alpha) - 1]
        needs, enough = f"{needed:,} levels", needed <= MAX_DEPTH
        why = f"α = {alpha:g} takes {needs} to bring the bound to 10 %, and one row moves the score by {change:,.1f}"
        why += "." if enough else f"; trees here have at most {MAX_DEPTH}. {_least_alpha(levels)}"
    note = (
        "α mixes two losses: at 1 trees boost fastest and one row moves the score most, at 0 it is the other way "
        "round. So a larger α needs fewer levels and more noise. The edge must hold in every leaf, and it is not "
        "known beforehand."
    )
    alt = f"Levels to a bound of 10 % against what one row moves: α = {alpha:g}, {needs}, {change:.1f}."
    return TheoremView(
        BoundStatus(enough, why),
        [
            Picture("The loss of a leaf", "From a formula", _losses(alpha), _loss_alt(alpha)),
            Picture("What α trades", "From a formula", trade, alt),
        ],
        note,
    )


def link() -> TheoremView:
    """Draw the controls and return the charts for figure 1 of Nock and Henecka: the inverse link and the surrogate.

    The link turns a leaf's share of a class into a score. The surrogate is the convex loss that boosting lowers.
    """
    table = present_table(two_classes=False)
    if isinstance(table, TheoremView):
        return table
    alpha, rows, name = _alpha(), len(table.frame), plain(table.short_title, 40)
    if alpha == 0:
        why = "at α = 0 a leaf only votes, and the published steps have length 0. From α = 0.05 on there are steps."
    elif alpha == 1:
        why = (
            "at α = 1 a row’s weight follows its score at once: from the second tree on misclassified rows weigh more."
        )
    else:
        why = (
            f"at α = {alpha:g} a row keeps its weight of ½ until its score is beyond ±{2 * (1 - alpha):.3g}. The "
            f"published steps take more than {math.floor(4 * (1 - alpha) / alpha + 1e-9):,} trees to get there. Up to "
            "then no tree learns from the errors of the others."
        )
    loss, largest = m_alpha(alpha), float(m_alpha(alpha).link(1 - 1 / max(rows, 3)))
    note = (
        f"A leaf that holds all {rows:,} rows of {name}, all but one of them in one class, has the value "
        f"{largest:.3g}. A pure leaf has {'an infinite one' if alpha else 'the same'}, so forests here limit the "
        "values of leaves. The surrogate is at least 1 where the prediction is wrong, and never below 0, so its mean "
        "is at least the training error."
    )
    at_2, lost = (f"{float(value(2.0)):.3f}" for value in (loss.inverse_link, loss.surrogate))
    means = f"Probability of the positive class by score for several α: {at_2} at a score of 2 and α = {alpha:g}."
    lowers = f"Surrogate by score for several α: 1 at a score of 0; {lost} at a score of 2 and α = {alpha:g}."
    return TheoremView(
        BoundStatus(alpha > 0, why),
        [
            Picture("What a score means", "From a formula", _meaning(alpha), means),
            Picture("What boosting lowers", "From a formula", _surrogates(alpha), lowers),
        ],
        note,
        names_rows=True,
    )


def _named_alphas(others: tuple[float, ...], alpha: float) -> list[tuple[str, float, int]]:
    """Return the name, the α and the number of the dash style of each curve.

    The chosen α comes last, so that its curve is on top.
    """
    listed = [(f"α = {a:g}", a, dash) for dash, a in enumerate(others, 1) if a != alpha]
    return [*listed, (f"your α = {alpha:g}", alpha, 0)]


def _meaning(alpha: float) -> go.Figure:
    z = np.linspace(-4, 4, 321)
    named = _named_alphas((0.1, 0.5, 1.0), alpha)
    return theory_chart(
        Chart(
            Axis("score of a row", -4, 4),
            Axis("probability of the positive class", 0, 1, percent=True),
            [
                FormulaCurve(z, np.asarray(m_alpha(a).inverse_link(z)), name, dash, QUIET if dash else PRIVATE)
                for name, a, dash in named
            ],
            height=380,
        )
    )


def _surrogates(alpha: float) -> go.Figure:
    z = np.linspace(-4, 4, 321)
    named = _named_alphas((0.0, 0.5, 1.0), alpha)
    return theory_chart(
        Chart(
            Axis("score of a row of the positive class", -4, 4),
            Axis("surrogate loss", 0, 4),
            [
                FormulaCurve([-4, 0, 0, 4], [1, 1, 0, 0], "the error itself"),
                *(
                    FormulaCurve(z, np.asarray(m_alpha(a).surrogate(z)), name, dash, QUIET if dash else PRIVATE)
                    for name, a, dash in named
                ),
            ],
            "below",
            height=380,
            excluded_name="below the error",
        )
    )


def _least_alpha(levels: list[int]) -> str:
    """Return a sentence that names the least α at which `MAX_DEPTH` levels are enough, if there is one."""
    first = next((a for a, level in zip(ALPHAS[1:], levels, strict=True) if level <= MAX_DEPTH), None)
    return (
        f"From α = {first:g} on {MAX_DEPTH} levels are enough." if first else "With this edge no α is enough for that."
    )


def _losses(alpha: float) -> go.Figure:
    u = np.linspace(0, 1, 201)
    return theory_chart(
        Chart(
            Axis("share of the positive class in a leaf", 0, 1, percent=True),
            Axis("loss", 0, 1.05),
            [
                FormulaCurve(u, _loss(0.0, u), "α = 0: errors (0/1)", 1),
                FormulaCurve(u, _loss(1.0, u), "α = 1: Matsushita", 2),
                FormulaCurve(u, _loss(alpha, u), f"α = {alpha:g}", 0, PRIVATE),
            ],
            height=380,
        )
    )


def _loss(alpha: float, u: np.ndarray) -> np.ndarray:
    return np.asarray(m_alpha(alpha).bayes_risk(u))


def _loss_alt(alpha: float) -> str:
    at_alpha, at_0, at_1 = (f"{float(m_alpha(a).bayes_risk(0.1)):.3f} for α = {a:g}" for a in (alpha, 0.0, 1.0))
    return f"Loss of a leaf by its share of the positive class: at 10 % it is {at_alpha}, {at_0} and {at_1}."


def _alpha() -> float:
    return pick("α", ALPHAS, 0.5, "alpha", "0: the 0/1 loss. 1: Matsushita’s loss.", lambda v: f"{v:g}")


@cache.for_everybody(data=True, max_entries=16)
def _largest_changes(n: int) -> list[float]:
    """Return the largest change that one row makes in any leaf of at most n rows, for each α in `TRIED`."""
    return [largest_move(a, n) for a in TRIED]


PANELS = {
    "What a row moves": Theorem(
        "The largest change of a split’s score by one row is known exactly, for every α and number of rows.",
        r"\Delta = 2\alpha\sqrt{n-1} + 2(1-\alpha)",
        "Exact. The published bound is true, and 1 larger for many rows.",
        [
            "Weights of rows are 1 at most.",
            "The score is the sum of the children’s potentials.",
            "Both relations: a row added or removed, or one exchanged.",
        ],
        "Nock and Henecka 2020, Theorem 3, Lemma 5, Corollary 7; the exact value is ours.",
        moves,
    ),
    "The Mα-loss": Theorem(
        "α mixes the 0/1 loss, which one row changes least, with Matsushita’s loss, which boosts trees fastest.",
        r"\begin{aligned} L_\alpha(u) = {} & 2\alpha\sqrt{u(1-u)} \\ & + 2(1-\alpha)\min(u, 1-u) \end{aligned}",
        "A definition; the number of levels is from the bound that we derived, which holds.",
        ["Two classes.", "Every leaf has a test with the edge γ.", "All leaves of a level are split."],
        "Nock and Henecka 2020, Definition 6.",
        mixture,
    ),
    "Link and surrogate": Theorem(
        "Each α has a link, which turns a leaf’s share into its score, and a convex surrogate. Boosting lowers its "
        "mean, which is never below the training error.",
        r"\begin{aligned} \psi(u) & = \alpha\tfrac{2u-1}{\sqrt{u(1-u)}} + 2(1-\alpha)\,\text{sgn}(u - \tfrac12) \\ "
        r"F(z) & = 1 - \tfrac z2 + \sqrt{\alpha^2 + t^2} - \alpha \\ "
        r"t & = \max\left(0, \tfrac{|z|}2 - 1 + \alpha\right) \end{aligned}",
        "Exact. The partial losses in the paper’s Definition 6 have 2α where this link and surrogate need α.",
        [
            "Two classes.",
            "A positive score predicts the positive class.",
            "Steps as published: α divided by the square of the largest leaf value.",
        ],
        "Nock and Henecka 2020, figure 1 and Definition 6.",
        link,
    ),
}
