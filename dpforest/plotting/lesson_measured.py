"""Figures of steps 3 to 5 and 8 of the lesson: measurements on public tables."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dpforest.plotting.lesson import lesson_figure, note, on_places, private_line, question_mark, ring
from dpforest.plotting.style import NON_PRIVATE, PRIVATE, QUIET, percent

_OTHER = "#009E73"  # no other figure of the lesson gives a meaning to this color

_SHARE = {"range": [0, 1.09], "tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75, 1]}
_TABLES = {"school": ("circle", PRIVATE), "hospital": ("triangle-up", _OTHER), "bank": ("square", QUIET)}


def votes(trees: Sequence[int], accuracy: Sequence[float], lies: Sequence[float], selected: int | None) -> go.Figure:
    """Draw the accuracy of a forest's vote against its number of trees.

    Bars show the share of rows in leaves that publish a wrong label (`lies`). A ring marks the number of trees
    `selected`. If `selected` is None, the figure hides the answer, and shows the accuracy of one tree only.
    """
    places, names = list(range(len(trees))), [str(n) for n in trees]
    fig = lesson_figure(showlegend=True)
    fig.add_bar(x=places, y=list(lies), name="rows with a lie", marker={"color": QUIET}, width=0.5)
    n = len(names) if selected is not None else 1
    private_line(fig, places[:n], accuracy[:n], "vote is right")
    note(fig, 0, accuracy[0], percent(accuracy[0], 0), yanchor="bottom", yshift=12)
    if selected is None:
        question_mark(fig, list(trees).index(31), 0.72)
    else:
        i = list(trees).index(selected)
        ring(fig, i, accuracy[i])
        if i:
            note(fig, i, accuracy[i], f"<b>{percent(accuracy[i])}</b>", yanchor="bottom", yshift=14)
        note(fig, i, lies[i], percent(lies[i]), yanchor="bottom", yshift=2)
    on_places(fig, names, "trees")
    fig.update_yaxes(**_SHARE)
    return fig


def plans(plan: int | None, trees: int = 100, her_tree: int = 37) -> go.Figure:
    """Draw the part of ε that Ann's row has spent after each tree, under two plans.

    In plan A, every tree uses the row and spends an equal part of ε. In plan B, one tree uses the row and spends all.

    Parameters
    ----------
    plan : int or None
        The plan with the thick line: 0 for A, 1 for B. None hides plan B.
    trees : int
        Number of trees.
    her_tree : int
        Tree that uses Ann's row in plan B.
    """
    fig = lesson_figure(showlegend=True)
    numbers_of_trees = list(range(trees + 1))
    spent = ([n / trees for n in numbers_of_trees], [float(n >= her_tree) for n in numbers_of_trees])
    names = ("A: a hundredth in every tree", "B: all in her tree")
    for i, (name, cost) in enumerate(zip(names, spent, strict=True)):
        if plan is None and i == 1:
            question_mark(fig, 0.6 * trees, 0.25)
            continue
        is_thick = plan in (None, i)
        fig.add_scatter(
            x=numbers_of_trees,
            y=cost,
            mode="lines",
            name=name,
            line={
                "color": (PRIVATE, _OTHER)[i],
                "width": 5 if is_thick else 2,
                "shape": "hv",
                "dash": ("solid", "dash")[i],
            },
        )
    if plan == 1:
        note(fig, her_tree, 0.12, f"tree {her_tree} holds Ann", xanchor="left", xshift=10)
    note(fig, trees, 1, "<b>1</b>", yanchor="bottom", xanchor="right", yshift=4)
    fig.update_xaxes(title_text="trees that have answered", range=[0, trees * 1.02])
    fig.update_yaxes(title_text="ε that Ann has paid", range=[0, 1.15], tickvals=[0, 0.5, 1])
    return fig


def depths(
    depth: Sequence[int], accuracy: Sequence[float], without_noise: Sequence[float], guessing: float, *, is_shown: bool
) -> go.Figure:
    """Draw accuracy against depth for a forest at one ε, for the same trees without noise, and for guessing.

    If `is_shown` is False, the line of the private forest is hidden.
    """
    fig = lesson_figure(showlegend=True)
    places = list(range(len(depth)))
    fig.add_scatter(
        x=places,
        y=list(without_noise),
        mode="lines",
        name="no noise",
        line={"color": NON_PRIVATE, "width": 3, "dash": "dash"},
    )
    fig.add_hline(y=guessing, line={"color": QUIET, "width": 2, "dash": "dot"})
    note(fig, 0, guessing, "guessing", xref="paper", xanchor="left", yanchor="top")
    if is_shown:
        private_line(fig, places, accuracy, "private")
        best = max(range(len(accuracy)), key=accuracy.__getitem__)
        ring(fig, best, accuracy[best])
        note(fig, best, accuracy[best], f"<b>{percent(accuracy[best])}</b>", yanchor="bottom", yshift=14)
        six = list(depth).index(6)
        note(fig, six, accuracy[six], f"<b>{percent(accuracy[six])}</b>", xanchor="left", xshift=10, yshift=12)
    else:
        question_mark(fig, list(depth).index(6), 0.55)
    on_places(fig, [str(d) for d in depth], "depth")
    fig.update_yaxes(**_SHARE)
    return fig


def wrong_of_thousand(
    epsilons: Sequence[float], tables: dict[str, dict], selected: int | None, attacker: str = ""
) -> go.Figure:
    """Draw the number of wrong predictions out of 1,000 against ε for three tables.

    Error bars show one standard deviation over releases. The last position on the x-axis is the result without noise.

    Parameters
    ----------
    epsilons : sequence of float
        Budgets on the x-axis, rising.
    tables : dict
        For each table, by name: "wrong" (share of wrong predictions at each ε), "spread" (standard deviation at each
        ε), and "without_noise" (share of wrong predictions without noise).
    selected : int or None
        Index of the selected ε. None hides the results with noise.
    attacker : str
        Text about the success of an attacker, at the top of the figure.
    """
    names = [*(f"{e:g}" for e in epsilons), "none"]
    fig = lesson_figure(showlegend=True)
    for i, (name, table) in enumerate(tables.items()):
        symbol, color = _TABLES[name]
        wrong = [*([1000 * w for w in table["wrong"]] if selected is not None else []), 1000 * table["without_noise"]]
        spread = [*([1000 * s for s in table["spread"]] if selected is not None else []), 0]
        x = list(range(len(names)))[-len(wrong) :]
        fig.add_scatter(
            x=x,
            y=wrong,
            mode="lines+markers",
            name=name,
            line={"color": color, "width": 2},
            marker={"size": 14, "symbol": symbol, "color": color},
            error_y={"array": spread, "color": color, "thickness": 1.5, "width": 4 + i},
        )
    if selected is None:
        question_mark(fig, names.index("0.1"), 300)
    else:
        fig.add_vrect(x0=selected - 0.3, x1=selected + 0.3, fillcolor="rgba(138,146,156,0.25)", line_width=0)
        note(fig, 1, 590, attacker, xref="paper", xanchor="right", yanchor="top", align="right")
    on_places(fig, names, "ε (none: no noise)")
    fig.update_yaxes(title_text="wrong of 1,000", range=[0, 600], tickvals=[0, 200, 400, 600])
    return fig


def wrong_by_group(epsilons: Sequence[float], groups: dict[str, Sequence[float]]) -> go.Figure:
    """Draw the number of wrong predictions out of 1,000 against ε for three groups of one table.

    The last position on the x-axis is the result without noise.

    Parameters
    ----------
    epsilons : sequence of float
        Budgets on the x-axis, rising.
    groups : dict
        For each group, by name: the share of wrong predictions at each ε, and last the share without noise.
    """
    names = [*(f"{e:g}" for e in epsilons), "none"]
    fig = lesson_figure(280, showlegend=True)
    for (name, shares), (symbol, color) in zip(groups.items(), _TABLES.values(), strict=True):
        fig.add_scatter(
            x=list(range(len(names))),
            y=[1000 * share for share in shares],
            mode="lines+markers",
            name=name,
            line={"color": color, "width": 2},
            marker={"size": 12, "symbol": symbol, "color": color},
        )
    on_places(fig, names, "ε (none: no noise)")
    fig.update_yaxes(title_text="wrong of 1,000", range=[0, 600], tickvals=[0, 200, 400, 600])
    return fig
