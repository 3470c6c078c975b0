"""One table or figure on the page Papers: printed figures next to ours, or a curve if the paper prints no figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st

from dpforest.plotting.papers import measured_curves, published_and_ours
from reproduce.protocol import CONTRADICTS, DRAWN, MATCHES, NOT_COMPARABLE, NOT_THERE, RIGHT, Record
from ui.shared import figures
from ui.shared.page import chart, titled

_SOURCES: Final = {
    DRAWN: "The paper draws these curves, but prints no figures.",
    NOT_THERE: "The paper does not have this figure.",
}
_LINES: Final = "Dashed, open marks: as published. Solid, filled marks: certified to keep ε."


def printed_figures(item: str, cells: Sequence[Record]) -> None:
    """Draw a point for each printed figure in a chart, and a table with verdicts."""
    titled(
        f"Printed and measured: {item}",
        None,
        help="A point on the dotted line comes out as printed. Triangles: the mechanism as published. Dots: one that "
        "keeps its ε. Bars: one standard deviation over folds.",
    )
    verdicts = Counter(cell.verdict for cell in cells)
    summary = f"{verdicts[MATCHES]} of {len(cells)} figures come out as printed, {verdicts[CONTRADICTS]} do not"
    summary += f", {verdicts[NOT_COMPARABLE]} cannot be compared." if verdicts[NOT_COMPARABLE] else "."
    numbers = [(c.setting, c.published, c.ours, c.certified, c.sd) for c in cells if c.published is not None]
    unit = cells[0].unit
    alt = " ".join(f"{name}: printed {was:.1f} {unit}, ours {is_:.1f} {unit}." for name, was, is_, _, _ in numbers)
    names, printed, ours, certified, spread = zip(*numbers, strict=True)
    drawn = published_and_ours(names, printed, ours, certified, spread, unit)
    chart(drawn, alt, title="Printed and measured", public=True)
    st.markdown(summary)
    _table(
        summary,
        {
            "figure": [c.setting for c in cells],
            f"printed, {unit}": [c.published for c in cells],
            **_ours(cells),
            "verdict": [c.verdict for c in cells],
            "why": [c.reason for c in cells],
        },
    )


def curve(item: str, cells: Sequence[Record]) -> None:
    """Draw the lines of a figure in a chart, and their points in a table."""
    titled(f"Measured: {item}")
    axis, lines = cells[0].axis, [c.line for c in cells]
    at = [float(c.at) for c in cells if c.at is not None]
    ours = [c.ours for c in cells]
    what = cells[0].what
    title = f"Accuracy over {axis}" if what == RIGHT else f"{what[0].upper()}{what[1:]}, over {axis}"
    alt = f"{title}. " + " ".join(_ends(name, axis, cells) for name in dict.fromkeys(lines))
    chart(measured_curves(lines, at, ours, [c.certified for c in cells], axis, what), alt, title=title, public=True)
    source = _SOURCES[cells[0].reason]
    st.markdown(f"{_LINES if any(c.certified is not None for c in cells) else 'As published only.'} {source}")
    _table(source, {"line": lines, axis: at, **_ours(cells)})


def _ends(name: str, axis: str, cells: Sequence[Record]) -> str:
    line = sorted((c for c in cells if c.line == name), key=lambda c: c.at or 0.0)
    first, last = line[0], line[-1]
    return f"{name}: {first.ours:.1f} % at {axis} = {first.at:g}, {last.ours:.1f} % at {last.at:g}."


def _ours(cells: Sequence[Record]) -> dict[str, list[float | None]]:
    unit = cells[0].unit
    return {
        f"as published, {unit}": [c.ours for c in cells],
        "±": [c.sd for c in cells],
        f"certified, {unit}": [c.certified for c in cells],
    }


def _table(summary: str, columns: dict[str, Sequence]) -> None:
    figures.table(
        pd.DataFrame(columns),
        "Cell by cell",
        hide_index=True,
        alt=f"Cell by cell: {summary}",
        public=True,
        placeholder="–",
        column_config={
            **{name: st.column_config.NumberColumn(format="%.1f") for name in columns if name.endswith(("%", "±"))},
            "why": st.column_config.TextColumn(width="large"),
            next(iter(columns)): st.column_config.TextColumn(pinned=True),
        },
    )
