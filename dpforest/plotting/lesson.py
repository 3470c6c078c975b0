"""Figures of steps 0 to 2 of the lesson: a school class, a leaf, and beliefs about Ann.

All figures of the lesson have large type, few marks and no hover text, because a teacher shows them with a projector.
The lesson asks for a prediction first, so some parameters hide the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.plotting.style import PRIVATE, QUIET, figure, percent

HEIGHT = 380
TYPE = 20  # pixels; readable from the back of a room
PROJECTED, PROJECTED_TYPE = 480, 22
_FAINT = "rgba(138,146,156,0.28)"
_TILES = {
    "rebuilt correctly": (PRIVATE, "square", "✓"),
    "rebuilt wrongly": (QUIET, "square", "✗"),
    "a coin decides": (QUIET, "square-open", "?"),
    "not told": (QUIET, "square-open", ""),
}


def lesson_figure(height: int = HEIGHT, **layout) -> go.Figure:
    """Return an empty figure with large type on both axes and in the legend."""
    fig = figure(height, font={"size": TYPE}, margin={"l": 8, "r": 28, "t": 16, "b": 8}, hovermode=False, **layout)
    fig.update_layout(legend={"font": {"size": TYPE}, "orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    fig.update_layout(legend_itemclick=False, legend_itemdoubleclick=False)
    for axis in (fig.update_xaxes, fig.update_yaxes):
        axis(tickfont={"size": TYPE}, title_font={"size": TYPE}, zeroline=False)
    fig.update_xaxes(showgrid=False)
    return fig


def enlarged(fig: go.Figure) -> go.Figure:
    """Enlarge a figure in place for a projector, and return it."""
    fig.update_layout(height=PROJECTED, legend_font_size=PROJECTED_TYPE)
    for axis in (fig.update_xaxes, fig.update_yaxes):
        axis(tickfont_size=PROJECTED_TYPE, title_font_size=PROJECTED_TYPE)
    fig.for_each_annotation(lambda words: words.update(font_size=max(words.font.size, PROJECTED_TYPE)))
    return fig


def on_places(fig: go.Figure, names: Sequence[str], title: str) -> None:
    """Set the x-axis to the equally spaced positions 0, 1, 2, ..., each with a name."""
    fig.update_xaxes(
        title_text=title, range=[-0.5, len(names) - 0.5], tickvals=list(range(len(names))), ticktext=list(names)
    )


def note(fig: go.Figure, x, y, text: str, **settings) -> None:
    """Write a text next to a mark."""
    fig.add_annotation(x=x, y=y, text=text, showarrow=False, font={"size": TYPE}, **settings)


def private_line(fig: go.Figure, x, y, name: str) -> None:
    """Draw the line of the results of a private forest or of an attack on it, with a mark at each point."""
    line, marker = {"color": PRIVATE, "width": 3}, {"size": 12, "color": PRIVATE}
    fig.add_scatter(x=x, y=list(y), mode="lines+markers", name=name, line=line, marker=marker)


def ring(fig: go.Figure, x, y) -> None:
    """Draw a ring around the selected point."""
    marker = {"size": 24, "symbol": "circle-open", "color": PRIVATE, "line": {"width": 3}}
    fig.add_scatter(x=[x], y=[y], mode="markers", showlegend=False, marker=marker)


def question_mark(fig: go.Figure, x, y) -> None:
    """Draw a question mark at the position of the answer."""
    fig.add_annotation(x=x, y=y, text="<b>?</b>", showarrow=False, font={"size": 44, "color": QUIET})


def class_tiles(marks: Sequence[float] | None, columns: int = 6) -> go.Figure:
    """Draw the seats of a school class, and mark the students whose secret the attacker reconstructs.

    Parameters
    ----------
    marks : sequence of float, or None
        For each student: 1 if the attacker is right, 0 if wrong, and 0.5 if a coin decides. None hides the marks.
    """
    outcome_of_mark = {1.0: "rebuilt correctly", 0.0: "rebuilt wrongly", 0.5: "a coin decides"}
    outcomes = ["not told"] * 30 if marks is None else [outcome_of_mark[float(mark)] for mark in marks]
    fig = lesson_figure(showlegend=True)
    for name, (color, symbol, sign) in _TILES.items():
        seats = [i for i, outcome in enumerate(outcomes) if outcome == name]
        if not seats:
            continue
        fig.add_scatter(
            x=[i % columns for i in seats],
            y=[-(i // columns) for i in seats],
            mode="markers+text",
            name=name,
            text=[sign] * len(seats),
            textfont={"size": 26, "color": "#FFFFFF" if symbol == "square" else QUIET},
            marker={"size": 46, "symbol": symbol, "color": color, "line": {"width": 2, "color": color}},
        )
    fig.update_layout(legend_itemsizing="constant")
    fig.update_xaxes(visible=False, range=[-0.6, columns - 0.4])
    fig.update_yaxes(visible=False, range=[-4.55, 0.55])
    return fig


def leaf_lies(lies: np.ndarray, selected: int | None) -> go.Figure:
    """Draw the probability that a leaf publishes a wrong label against its number of students.

    Parameters
    ----------
    lies : float array
        Probability in a leaf with 0, 1, 2, ... students.
    selected : int or None
        The selected number of students. None hides the answer: only the empty leaf is drawn.
    """
    fig = lesson_figure()
    known = lies if selected is not None else lies[:1]
    fig.add_scatter(
        x=np.arange(len(known)),
        y=known,
        mode="lines+markers",
        line={"color": PRIVATE, "width": 2, "dash": "dot"},
        marker={"size": 13, "color": PRIVATE},
    )
    if selected is None:
        question_mark(fig, 1, 0.25)
        note(fig, 0, 0.5, "a coin: 50 %", xanchor="left", xshift=14)
    else:
        fig.add_scatter(
            x=[selected],
            y=[lies[selected]],
            mode="markers",
            marker={"size": 24, "color": PRIVATE, "symbol": "diamond"},
        )
        note(
            fig,
            selected,
            lies[selected],
            f"<b>{small_percent(lies[selected])}</b>",
            yanchor="bottom",
            xanchor="left",
            xshift=14,
            yshift=6,
        )
    fig.update_xaxes(title_text="students in the leaf", range=[-0.4, len(lies) - 0.2], dtick=2)
    fig.update_yaxes(title_text="says the wrong label", range=[-0.02, 0.58], tickvals=[0, 0.25, 0.5], tickformat=".0%")
    return fig


def small_percent(share: float) -> str:
    """Return a share as a percentage, with one decimal from 1 % on, and with up to three decimals below.

    >>> small_percent(0.1839), small_percent(0.00337), small_percent(0.0000227)
    ('18.4 %', '0.34 %', '0.002 %')
    """
    return percent(share) if share >= 0.01 else percent(share, 2) if share >= 0.001 else percent(share, 3)


def two_worlds(least: float, most: float, failed: float, passed: float, limits: str, *, is_shown: bool) -> go.Figure:
    """Draw the belief that Ann is in the table, before the release and after each possible label.

    Two shaded regions show the beliefs that ε excludes.

    Parameters
    ----------
    least, most : float
        Smallest and largest belief that ε permits after the release.
    failed, passed : float
        Belief after the release of the label "failed" or "passed".
    limits : str
        Text about `least` and `most` at the top of the figure.
    is_shown : bool
        False hides the beliefs after the release, and the limits.
    """
    fig = lesson_figure()
    names = ["“passed”", "“failed”", "before"]
    beliefs = [passed, failed, 0.5] if is_shown else [None, None, 0.5]
    fig.add_scatter(x=[0.5, 0.5], y=[-0.6, 2.5], mode="lines", line={"color": QUIET, "width": 2, "dash": "dot"})
    if is_shown:
        for low, high in ((0, least), (most, 1)):
            fig.add_vrect(x0=low, x1=high, fillcolor=_FAINT, line={"color": QUIET, "width": 2}, layer="below")
        note(fig, 0.5, 3, limits)
    else:
        question_mark(fig, 0.3, 0)
        question_mark(fig, 0.7, 1)
    for place, (belief, symbol) in enumerate(zip(beliefs, ("square", "diamond", "circle"), strict=True)):
        if belief is None:
            continue
        fig.add_scatter(x=[belief], y=[place], mode="markers", marker={"size": 22, "symbol": symbol, "color": PRIVATE})
        note(fig, belief, place, f"<b>{percent(belief)}</b>", yanchor="bottom", yshift=12)
    fig.update_xaxes(title_text="sure that Ann is in it", range=[-0.02, 1.02], tickformat=".0%", tickvals=[0, 0.5, 1])
    fig.update_yaxes(range=[-0.5, 3.4], tickvals=[0, 1, 2], ticktext=names, showgrid=False)
    return fig
