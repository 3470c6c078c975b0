"""Figures that compare forests: curves over ε in one chart, one panel for each forest, and a map of ε and depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpforest.plotting.curve import LEGEND, epsilon_axis, faint_color, horizontal_line
from dpforest.plotting.style import NON_PRIVATE, QUIET, figure, number, percent
from dpforest.privacy.rationals import text_up

# One color for each forest. Each forest also has its marker, so that color-blind readers can tell the lines apart.
# Orange and red are not used, because other figures give them a meaning.
COLORS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#8F6FC4", "#9A8432", "#7F8C99", "#5B8C2A", "#B07A5E")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross", "triangle-down", "hexagon")
_SHADES = ("#B8D4E8", "#7FB5DA", "#3F92C6", "#0072B2", "#004B77")  # from few to many trees, or from shallow to deep
_HEIGHT = 420


@dataclass(frozen=True, eq=False)
class Series:
    """One line of a comparison: the values of one forest at each ε.

    Parameters
    ----------
    name : str
        Name of the forest in the legend.
    place : int
        Index of the line's color in `COLORS` and of its marker in `MARKERS`.
    is_claim_only : bool
        Whether the ε of the line is a claim that does not hold. Then the line is dashed.
    has_delta : bool
        Whether the guarantee of the forest has a δ. Then the line is dash-dotted, unless it is dashed.
    epsilons, mean, low, high : float array of shape (E,)
        The ε of the points, and at each ε the mean and the lower and upper end of the band.
    texts : list of str
        Hover text of each point.
    """

    name: str
    place: int
    is_claim_only: bool
    epsilons: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    texts: list[str]
    has_delta: bool = False

    @property
    def dash(self) -> str:
        """Dash style of the line: "dash" for a claimed ε, "dashdot" for a guarantee with δ, otherwise "solid"."""
        return "dash" if self.is_claim_only else "dashdot" if self.has_delta else "solid"


@dataclass(frozen=True)
class MeasureScale:
    """Name and number format of a measure, with its floor and its ceiling.

    Parameters
    ----------
    name : str
        Name of the measure.
    is_share : bool
        Whether values are shown as percentages.
    floor, ceiling : float or None
        Values of the measure, from 0 to 1, for guessing the most frequent class (floor) and for the best model without
        privacy (ceiling). None omits the line.
    floor_text, ceiling_text : str
        Names of the floor and the ceiling in a legend.
    """

    name: str
    is_share: bool
    floor: float | None
    ceiling: float | None
    floor_text: str = ""
    ceiling_text: str = ""

    def text(self, value: float) -> str:
        """Return a value of this measure as text: a percentage, or a number with three decimals."""
        return percent(value) if self.is_share else number(round(float(value), 3))

    def gap(self, high: float, low: float = 0.0) -> str:
        """Return `high` minus `low` as text, each first rounded as in `text`.

        >>> accuracy = MeasureScale("accuracy", True, None, None)
        >>> accuracy.text(0.9741), accuracy.text(0.9456), accuracy.gap(0.9741, 0.9456)
        ('97.4 %', '94.6 %', '2.8 points')
        """
        if self.is_share:
            return f"{round(100 * float(high), 1) - round(100 * float(low), 1):.1f} points"
        return number(round(round(float(high), 3) - round(float(low), 3), 3))


def comparison(series: Sequence[Series], epsilon: float, scale: MeasureScale, *, bands: bool = True) -> go.Figure:
    """Draw the mean of a measure against ε for each forest, with a band of its spread.

    Parameters
    ----------
    series : sequence of Series
        One line for each forest.
    epsilon : float
        The selected ε, marked by a vertical line.
    scale : MeasureScale
        Format, floor and ceiling of the measure.
    bands : bool
        Whether to draw the bands.
    """
    fig = figure(_HEIGHT, hovermode="closest", margin={"l": 8, "r": 12, "t": 8, "b": 8})
    for line in series:
        color, group = COLORS[line.place % len(COLORS)], line.name
        if bands:
            band = {"line": {"width": 0, "color": color}, "hoverinfo": "skip", "mode": "lines", "x": line.epsilons}
            fig.add_scatter(y=line.high, legendgroup=group, showlegend=False, **band)
            fig.add_scatter(
                y=line.low,
                fill="tonexty",
                fillcolor=faint_color(color, 0.11),
                legendgroup=group,
                showlegend=False,
                **band,
            )
        fig.add_scatter(
            x=line.epsilons,
            y=line.mean,
            name=line.name,
            legendgroup=group,
            mode="lines+markers",
            line={"color": color, "width": 2.2, "dash": line.dash},
            marker={
                "size": 6,
                "symbol": MARKERS[line.place % len(MARKERS)] + ("" if line.dash == "solid" else "-open"),
            },
            text=line.texts,
            hovertemplate="%{text}<extra></extra>",
        )
    fig.add_vline(x=epsilon, line={"color": QUIET, "width": 1, "dash": "dot"})
    all_epsilons = np.concatenate([line.epsilons for line in series])
    ends = [all_epsilons.min() * 0.92, all_epsilons.max() * 1.09]
    if scale.ceiling is not None:
        horizontal_line(fig, ends, scale.ceiling, NON_PRIVATE, "dash", scale.ceiling_text)
    if scale.floor is not None:
        horizontal_line(fig, ends, scale.floor, QUIET, "dot", scale.floor_text)
    epsilon_axis(fig, all_epsilons.min(), all_epsilons.max(), "ε")
    low, high = _span(series, scale)
    fig.update_yaxes(range=[low, high], tickformat=".0%" if scale.is_share else None, zeroline=False, automargin=True)
    # The legend is below the axis, because on a phone its many lines would push the curves off the screen.
    fig.update_layout(
        showlegend=True,
        legend={**LEGEND, "traceorder": "grouped", "tracegroupgap": 0, "yanchor": "top", "y": -0.28},
    )
    return fig


def _span(series: Sequence[Series], scale: MeasureScale) -> tuple[float, float]:
    values = np.concatenate([np.concatenate([line.low, line.high]) for line in series])
    values = np.append(values, [v for v in (scale.floor, scale.ceiling) if v is not None])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    pad = max(high - low, 0.02) * 0.1
    return low - pad, min(high + pad, 1.04) if scale.is_share else high + pad


@dataclass(frozen=True, eq=False)
class SettingCurves:
    """Lines of one forest, one for each value of a setting (depth or number of trees)."""

    name: str
    values: Sequence[int]
    epsilons: np.ndarray
    mean: np.ndarray  # shape (number of values, number of ε)


def setting_panels(panels: Sequence[SettingCurves], setting: str, scale: MeasureScale, *, columns: int) -> go.Figure:
    """Draw a panel for each forest, with a line over ε for each value of `setting`; larger values have darker lines."""
    rows = -(-len(panels) // columns)
    fig = make_subplots(
        rows,
        columns,
        shared_yaxes=True,
        shared_xaxes=False,
        subplot_titles=[panel.name for panel in panels],
        horizontal_spacing=0.03,
        vertical_spacing=0.28 / rows,
    )
    all_values = sorted({value for panel in panels for value in panel.values})
    shades = _shades(len(all_values))
    values_in_legend: set[int] = set()
    for i, panel in enumerate(panels):
        row, column = i // columns + 1, i % columns + 1
        for value, mean in zip(panel.values, panel.mean, strict=True):
            fig.add_scatter(
                x=panel.epsilons,
                y=mean,
                mode="lines+markers",
                row=row,
                col=column,
                name=_value_name(setting, value),
                legendgroup=str(value),
                legendrank=value,
                showlegend=value not in values_in_legend,
                marker={"size": 4},
                line={"color": shades[all_values.index(value)], "width": 2},
                text=[
                    f"{panel.name}, {_value_name(setting, value)}, ε = {text_up(e)}: {scale.text(m)}"
                    for e, m in zip(panel.epsilons, mean, strict=True)
                ],
                hovertemplate="%{text}<extra></extra>",
            )
            values_in_legend.add(value)
    for height, color, dash in ((scale.ceiling, NON_PRIVATE, "dash"), (scale.floor, QUIET, "dot")):
        if height is not None:
            fig.add_hline(y=height, line={"color": color, "width": 1.5, "dash": dash}, row="all", col="all")
    fig.update_xaxes(
        type="log",
        tickvals=[0.01, 0.1, 1, 10],
        ticktext=["0.01", "", "1", "10"],
        tickangle=0,
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    fig.update_yaxes(tickformat=".0%" if scale.is_share else None, zeroline=False)
    fig.update_layout(
        height=70 + 210 * rows,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        dragmode=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"align": "left", "namelength": -1},
        legend={"orientation": "h", "yanchor": "top", "y": -0.3 / rows, "x": 0},
    )
    fig.update_annotations(font=None)  # the page sets the size of text
    return fig


def _value_name(setting: str, value: int) -> str:
    return f"depth {value}" if setting == "depth" else f"{value} tree{'s' * (value != 1)}"


def _shades(n: int) -> list[str]:
    return [_SHADES[round(i * (len(_SHADES) - 1) / max(n - 1, 1))] for i in range(n)]


def epsilon_depth_map(
    epsilons: Sequence[float],
    depths: Sequence[int],
    values: np.ndarray,
    scale: MeasureScale,
    *,
    epsilon: float | None = None,
) -> go.Figure:
    """Draw a measure over ε and depth as colored cells.

    Dots mark the best depth at each ε, and a star marks the best cell of all.

    Parameters
    ----------
    values : float array of shape (number of depths, number of ε)
        Values of the measure; larger is better.
    epsilon : float, optional
        The selected ε, whose column has a frame.
    """
    x, y = [text_up(e) for e in epsilons], [str(d) for d in depths]
    fig = figure(90 + 30 * max(len(depths), 2), margin={"l": 8, "r": 8, "t": 12, "b": 8})
    hover = [
        [
            f"ε = {text_up(e)}, depth {d}: {scale.text(values[i, j])}" + _difference_text(scale, values[i, j])
            for j, e in enumerate(epsilons)
        ]
        for i, d in enumerate(depths)
    ]
    fig.add_heatmap(
        x=x,
        y=y,
        z=values,
        colorscale="Cividis",
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        xgap=1,
        ygap=1,
        colorbar={"thickness": 10, "outlinewidth": 0, "tickformat": ".0%" if scale.is_share else None},
    )
    best = values.argmax(axis=0)
    top = np.unravel_index(int(values.argmax()), values.shape)
    fig.add_scatter(
        x=x,
        y=[y[i] for i in best],
        mode="markers",
        hoverinfo="skip",
        marker={"symbol": "circle", "size": 11, "color": "white", "line": {"width": 1.5, "color": "black"}},
    )
    fig.add_scatter(
        x=[x[top[1]]],
        y=[y[top[0]]],
        mode="markers",
        hoverinfo="skip",
        marker={"symbol": "star", "size": 17, "color": "white", "line": {"width": 1.5, "color": "black"}},
    )
    if epsilon is not None and epsilon in epsilons:
        column = list(epsilons).index(epsilon)
        fig.add_shape(
            type="rect",
            x0=column - 0.5,
            x1=column + 0.5,
            y0=-0.5,
            y1=len(depths) - 0.5,
            line={"color": QUIET, "width": 2},
        )
    fig.update_xaxes(
        type="category", title="← more private &nbsp;&nbsp; ε &nbsp;&nbsp; more accurate →", showgrid=False
    )
    fig.update_yaxes(type="category", title="depth", showgrid=False)
    return fig


def _difference_text(scale: MeasureScale, value: float) -> str:
    if scale.ceiling is None:
        return ""
    high, low = max(scale.ceiling, value), min(scale.ceiling, value)
    return f"<br>{scale.gap(high, low)} {'below' if value <= scale.ceiling else 'above'} the best depth without noise"
