"""A table or figure of a paper on the page Papers: printed figures next to ours, or only our curve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd
import streamlit as st

from dpforest.plotting.papers import VERDICTS, measured_curves, published_and_ours
from dpforest.tables.features import plural
from reproduce.paired import PairedTest, paired_tests
from reproduce.protocol import DRAWN, NOT_THERE, RIGHT, Record
from ui.shared import figures
from ui.shared.page import chart, titled

_SOURCES: Final = {
    DRAWN: "The paper draws these curves, but prints no figures.",
    NOT_THERE: "The paper does not have this figure.",
}
_LINES: Final = "Dashed, open marks: as published. Solid, filled marks: certified to keep ε."


def printed_figures(item: str, cells: Sequence[Record]) -> None:
    """Draw a point for each printed figure in a chart, and a table that states whether our figure agrees with it."""
    titled(
        f"Printed and measured: {item}",
        None,
        help="Points on the dotted line equal the printed figures. Full dots: a certified mechanism, which keeps "
        "its ε. Other marks: the mechanism as published. Equal: within 2 points of the printed figure. "
        "Compatible: within the number of points in the column “compatible within”. Contradicts: further away. "
        "Bars: one standard deviation over folds.",
    )
    verdicts = Counter(cell.verdict for cell in cells)
    counts = [f"{look.text} {name}: {verdicts[name]}" for name, look in VERDICTS.items() if verdicts[name]]
    summary = f"{plural(len(cells), 'printed figure')}. {', '.join(counts)}."
    numbers = [(c.setting, c.published, c.ours, c.certified, c.sd, c.verdict) for c in cells if c.published is not None]
    unit = cells[0].unit
    alt = " ".join(f"{name}: printed {theirs:.1f} {unit}, ours {our:.1f} {unit}." for name, theirs, our, *_ in numbers)
    names, printed, ours, certified, spread, verdict_names = zip(*numbers, strict=True)
    figure = published_and_ours(names, printed, ours, certified, spread, verdict_names, unit)
    chart(figure, alt, title="Printed and measured", public=True)
    st.markdown(summary)
    if tests := paired_tests(cells):
        _list_tests(tests)
    _table(
        summary,
        {
            "figure": [c.setting for c in cells],
            f"printed, {unit}": [c.published for c in cells],
            **_ours(cells),
            f"compatible within, {unit}": [c.spread or None for c in cells],
            "verdict": [f"{VERDICTS[c.verdict].text} {c.verdict}" for c in cells],
        },
    )
    if reasons := reasons_of(cells):
        st.markdown("\n".join(f"- **{'; '.join(settings)}:** {reason}." for reason, settings in reasons.items()))


def reasons_of(cells: Sequence[Record]) -> dict[str, list[str]]:
    """Return each reason why our figures differ from printed ones, with the settings that the reason concerns."""
    reasons: dict[str, list[str]] = {}
    for cell in cells:
        if cell.reason:
            reasons.setdefault(cell.reason, []).append(cell.setting)
    return reasons


def _list_tests(tests: Sequence[PairedTest]) -> None:
    """List the paired tests of a table, which find even a small difference if it has the same sign in most cells."""
    st.caption(
        "Do our figures differ from the printed ones by more than chance? A small p of a paired t-test says so. But "
        "even if nothing differed, about one test in twenty would have p < 0.05:\n"
        + "\n".join(f"- {test.words}" for test in tests)
    )


def curve(item: str, cells: Sequence[Record]) -> None:
    """Draw the lines of a figure in a chart, and the points of these lines in a table."""
    titled(f"Measured: {item}")
    axis, lines = cells[0].axis, [c.line for c in cells]
    positions = [float(c.at) for c in cells if c.at is not None]
    ours = [c.ours for c in cells]
    quantity = cells[0].what
    title = f"Accuracy over {axis}" if quantity == RIGHT else f"{quantity[0].upper()}{quantity[1:]}, over {axis}"
    alt = f"{title}. " + " ".join(_ends(name, axis, cells) for name in dict.fromkeys(lines))
    chart(
        measured_curves(lines, positions, ours, [c.certified for c in cells], axis, quantity),
        alt,
        title=title,
        public=True,
    )
    source = _SOURCES[cells[0].reason]
    st.markdown(f"{_LINES if any(c.certified is not None for c in cells) else 'As published only.'} {source}")
    _table(source, {"line": lines, axis: positions, **_ours(cells)})


def left_out(reasons: Mapping[str, str]) -> None:
    """List the tables and figures of a paper that are not reproduced, with the reason for each."""
    if not reasons:
        return
    with st.expander(f"What we did not run, and why ({len(reasons)})"):
        st.markdown("\n".join(f"- **{item[0].upper()}{item[1:]}:** {why}." for item, why in reasons.items()))


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
            name: st.column_config.NumberColumn(format="%.1f") for name in columns if name.endswith(("%", "±"))
        },
    )
