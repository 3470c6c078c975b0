"""Figures of theorems: a gray region that the theorem excludes, blue dots for measurements, and the user's setting.

A `Chart` lists the contents of a figure, and `theory_chart` draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from dpforest.plotting.audit import raised
from dpforest.plotting.style import NOT_HELD, PRIVATE, QUIET, escape, figure

YOURS: Final = "#009E73"  # the user's setting; Okabe and Ito's green
_BAND: Final = "rgba(138,146,156,0.28)"
_LEGEND: Final = {
    "orientation": "h",
    "traceorder": "normal",
    "xref": "container",
    "x": 0,
    "xanchor": "left",
    "yref": "container",
    "y": 0,
    "yanchor": "bottom",
    "itemwidth": 36,
    "itemclick": False,
    "itemdoubleclick": False,
}
_SYMBOLS: Final = ("circle", "triangle-up", "square", "x")
_DASHES: Final = ("solid", "12px,5px", "3px,3px", "9px,3px,2px,3px")


@dataclass(frozen=True)
class Axis:
    """Title, range and number format of an axis."""

    title: str
    low: float
    high: float
    log: bool = False
    percent: bool = False

    def clip(self, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """Limit values to at most one axis length (on a log axis, a factor of ten) beyond the ends of the axis."""
        finite = np.nan_to_num(np.asarray(values, float), nan=np.nan, posinf=1e300, neginf=-1e300)
        if self.log:
            return np.clip(finite, self.low / 10, self.high * 10)
        length = self.high - self.low
        return np.clip(finite, self.low - length, self.high + length)

    def place(self, value: float) -> float:
        """Return the value, limited to the range of the axis."""
        return float(min(max(value, self.low), self.high))

    def layout(self) -> dict[str, Any]:
        """Return the settings of the axis for plotly: title, type, range, and ticks."""
        ends = np.log10([self.low, self.high]) if self.log else np.array([self.low, self.high])
        pad = 0.02 * (ends[1] - ends[0])
        values = self._ticks()
        return {
            "title": self.title,
            "type": "log" if self.log else "linear",
            "range": [ends[0] - pad, ends[1] + pad],
            "tickvals": values,
            "ticktext": [tick_text(v, self.percent) for v in values],
            "zeroline": False,
            "fixedrange": True,
        }

    def _ticks(self) -> list[float]:
        if not self.log:
            step = _step(self.high - self.low)
            first = int(np.ceil(self.low / step - 1e-9))
            return [i * step for i in range(first, int(self.high / step + 1e-9) + 1)]
        decades = np.log10(self.high / self.low)
        powers = range(int(np.floor(np.log10(self.low))), int(np.ceil(np.log10(self.high))) + 1)
        every = int(np.ceil(decades / 8)) if decades > 8 else 1
        values = [
            m * 10.0**p
            for p in powers
            if p % every == 0
            for m in ((1, 3) if decades <= 3.2 and not self.percent else (1,))
        ]
        return [v for v in values if self.low * 0.999 <= v <= self.high * 1.001]


@dataclass(frozen=True)
class FormulaCurve:
    """Line of a formula: gray for a bound, another color for a selected rule. `dash` is an index into `_DASHES`."""

    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    name: str
    dash: int = 0
    color: str = QUIET
    step: bool = False


@dataclass(frozen=True)
class Dots:
    """Measured values, each drawn as a dot with a hover text. `symbol` is an index into `_SYMBOLS`."""

    x: Sequence[float]
    y: Sequence[float]
    name: str
    texts: Sequence[str]
    symbol: int = 0
    color: str = PRIVATE


@dataclass(frozen=True)
class Chart:
    """Contents of a figure of a theorem.

    Parameters
    ----------
    curves : sequence of FormulaCurve
        Lines of formulas. The first line is the border of the excluded region.
    excluded : {"above", "below", ""}
        Side of the first line that the theorem excludes, which is gray. Empty: no side is excluded.
    dots : sequence of Dots
        Measured values.
    yours : (float, float, str) or None
        Coordinates and hover text of the user's setting.
    comparison : (float, str) or None
        Value and text of a horizontal line for comparison, such as the result of guessing.
    comparison_below : bool
        Whether the text of `comparison` is below its line.
    excluded_name : str
        Name of the gray region.
    """

    x: Axis
    y: Axis
    curves: Sequence[FormulaCurve]
    excluded: str = ""
    dots: Sequence[Dots] = ()
    yours: tuple[float, float, str] | None = None
    comparison: tuple[float, str] | None = None
    comparison_below: bool = False
    height: int = 440
    excluded_name: str = "ruled out by the theorem"


def theory_chart(chart: Chart) -> go.Figure:
    """Draw a bound, measured values, and the user's setting."""
    fig = figure(
        chart.height,
        hovermode="closest",
        showlegend=True,
        legend=_LEGEND,
        margin={"l": 8, "r": 12, "t": 12, "b": 96 + 10 * len(chart.dots)},
    )
    if chart.excluded:
        _exclude(fig, chart)
    for curve in chart.curves:
        _line(fig, chart, curve)
    if chart.comparison is not None:
        _comparison_line(fig, chart)
    for dots in chart.dots:
        fig.add_scatter(
            x=chart.x.clip(dots.x),
            y=chart.y.clip(dots.y),
            mode="markers",
            name=escape(dots.name),
            text=[escape(t) for t in dots.texts],
            hovertemplate="%{text}<extra></extra>",
            cliponaxis=False,
            marker={
                "size": 11,
                "symbol": _SYMBOLS[dots.symbol],
                "color": dots.color,
                "line": {"color": "white", "width": 1},
            },
        )
    if chart.yours is not None:
        x, y, words = chart.yours
        fig.add_scatter(
            x=[chart.x.place(x)],
            y=[chart.y.place(y)],
            mode="markers",
            name="your setting",
            text=[escape(words)],
            hovertemplate="%{text}<extra></extra>",
            cliponaxis=False,
            marker={"size": 17, "symbol": "diamond-open", "color": YOURS, "line": {"width": 4}},
        )
    fig.update_xaxes(showgrid=False, **chart.x.layout())
    fig.update_yaxes(**chart.y.layout())
    return fig


def tick_text(value: float, percent: bool = False) -> str:
    """Return a number of any size as the text of a tick: a percentage, a plain number, or a power of ten.

    >>> tick_text(0.5, True), tick_text(30_000), tick_text(1e7), tick_text(3e-5), tick_text(1e-4, True)
    ('50 %', '30,000', '10⁷', '3 × 10⁻⁵', '0.01 %')
    """
    if percent and (value == 0 or abs(value) >= 1e-6):
        return f"{100 * value:.6g} %"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.0f}"
    power = int(np.floor(np.log10(abs(value)) + 1e-9))
    first = f"{value / 10.0**power:.2g}"
    return f"10{raised(power)}" if first == "1" else f"{first} × 10{raised(power)}"


def _exclude(fig: go.Figure, chart: Chart) -> None:
    bound = chart.curves[0]
    edge = chart.y.high if chart.excluded == "above" else chart.y.low
    y = np.array([chart.y.place(v) for v in chart.y.clip(bound.y)])
    shape = "hv" if bound.step else "linear"
    x = chart.x.clip(bound.x)
    fig.add_scatter(x=x, y=np.full(len(x), edge), mode="lines", line={"width": 0}, hoverinfo="skip", showlegend=False)
    fig.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"width": 0, "shape": shape},
        fill="tonexty",
        fillcolor=_BAND,
        hoverinfo="skip",
        name=chart.excluded_name,
    )


def _line(fig: go.Figure, chart: Chart, curve: FormulaCurve) -> None:
    texts = [
        f"{escape(curve.name)}<br>{escape(chart.x.title)}: {tick_text(x, chart.x.percent)}"
        f"<br>{escape(chart.y.title)}: {_value(y, chart.y.percent)}"
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    fig.add_scatter(
        x=chart.x.clip(curve.x),
        y=chart.y.clip(curve.y),
        mode="lines",
        name=escape(curve.name),
        text=texts,
        hovertemplate="%{text}<extra></extra>",
        line={
            "color": curve.color,
            "width": 4 if curve.color == NOT_HELD else 3,
            "dash": _DASHES[curve.dash],
            "shape": "hv" if curve.step else "linear",
        },
    )


def _comparison_line(fig: go.Figure, chart: Chart) -> None:
    assert chart.comparison is not None
    height, words = chart.comparison
    fig.add_hline(y=height, line={"color": QUIET, "width": 1.5, "dash": "dot"})
    fig.add_annotation(
        x=1,
        xref="paper",
        y=np.log10(height) if chart.y.log else height,
        text=escape(words),
        showarrow=False,
        xanchor="right",
        yanchor="top" if chart.comparison_below else "bottom",
    )


def _value(y: float, percent: bool) -> str:
    if not np.isfinite(y):
        return "no bound"
    return f"{100 * y:.3g} %" if percent and abs(y) < 100 else tick_text(float(f"{y:.3g}"), False)


def _step(length: float) -> float:
    rough = length / 6
    power = 10.0 ** np.floor(np.log10(rough))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999))
