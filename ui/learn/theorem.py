"""Parts that all theorems of the page Theory use: status of a bound, charts, sliders, and numbers as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dpforest.plotting.theory import Axis, Chart, Dots, FormulaCurve, theory_chart, tick_text
from ui import state
from ui.shared.controls import LINKED, drop_unknown
from ui.shared.page import Badge
from ui.shared.sidebar import choose_table
from ui.shared.tables import Table
from ui.shared.wording import plain


@dataclass(frozen=True)
class BoundStatus:
    """Whether a bound is informative at this setting (better than guessing, for example), and the reason."""

    is_informative: bool
    why: str

    @property
    def line(self) -> str:
        """Return the status as a line of Markdown."""
        return f"**{'Informative' if self.is_informative else 'No information'} at this setting:** {self.why}"


@dataclass(frozen=True)
class Picture:
    """A chart with its title, its badge and its description."""

    title: str
    badge: Badge
    figure: go.Figure
    alt: str


@dataclass(frozen=True)
class TheoremView:
    """Status, charts and note of a theorem at one setting of its controls.

    Attributes
    ----------
    names_rows : bool
        Whether the status or the note states the table's number of rows. If so, they are for the curator only.
    """

    status: BoundStatus
    pictures: Sequence[Picture]
    note: str = ""
    names_rows: bool = False

    @property
    def is_for_curator(self) -> bool:
        """Whether the status and the note state private facts about the rows."""
        return self.names_rows or any(picture.badge == "Do not share" for picture in self.pictures)


@dataclass(frozen=True)
class Theorem:
    """A theorem and the function that draws it.

    Parameters
    ----------
    claim : str
        The theorem in one sentence.
    formula : str
        Formula of the theorem, in LaTeX that KaTeX can draw.
    standing : str
        Kind of result: exact, true but weak, or with a gap in the proof.
    assumptions : sequence of str
        Assumptions of the theorem, one sentence each.
    source : str
        Paper and number of the theorem.
    show : function without parameters that returns a TheoremView
        Draws the controls of the theorem, and returns its status and charts at their values.
    """

    claim: str
    formula: str
    standing: str
    assumptions: Sequence[str]
    source: str
    show: Callable[[], TheoremView]


def dots_of(values: Mapping[Any, float], name: str, text: Callable[[Any, float], str], symbol: int = 0) -> Dots:
    """Return dots for measured values, a dict from x to y. `text` returns the description of a dot."""
    return Dots(list(values), list(values.values()), name, [text(x, y) for x, y in values.items()], symbol)


def error_chart(
    x: Axis,
    error: str,
    curves: Sequence[FormulaCurve],
    measured: Dots,
    yours: tuple[float, float, str],
    guessing: float,
) -> go.Figure:
    """Return a chart of bounds on an error, of measured errors, and of the error of guessing.

    Parameters
    ----------
    error : str
        Title of the vertical axis.
    yours : (float, float, str)
        Point at the values of the controls, and its description.
    """
    y, comparison = Axis(error, 0, 1, percent=True), (guessing, f"guessing: {share(guessing)}")
    return theory_chart(Chart(x, y, curves, "above", dots=[measured], yours=yours, comparison=comparison))


def pick(
    label: str, options: Sequence[Any], start: Any, key: str, help: str, text: Callable[[Any], str] | None = None
) -> Any:
    """Draw a slider over listed values, and return the value. Theorems with the same `key` share the slider."""
    key = state.THEORY(key)
    drop_unknown(key, options)
    value = st.select_slider(
        label,
        options,
        start,
        format_func=text or _number_text,
        key=key,
        bind=LINKED,
        help=help,
        persist_state="session",
    )
    return value if value in options else start


def thousands(value: int) -> str:
    """Return a number with a comma between thousands."""
    return f"{value:,}"


def _number_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def present_table(*, two_classes: bool) -> Table | TheoremView:
    """Return the table that is chosen in the sidebar, or a `TheoremView` that states why the theorem does not apply."""
    table = choose_table()
    if table is None:
        why = "there is no table yet. Attach a file in the sidebar, or choose another table."
    elif two_classes and table.domain.n_classes != 2:
        why = (
            f"it is about two classes, and “{plain(table.label, 40)}” of {plain(table.short_title, 40)} has "
            f"{table.domain.n_classes}. Choose another table or label in the sidebar."
        )
    else:
        return table
    return TheoremView(BoundStatus(False, why), [])


def choose(label: str, options: Sequence[str], key: str, help: str) -> str:
    """Draw buttons for a few options, and return the chosen option. The link holds this option."""
    key = state.THEORY(key)
    drop_unknown(key, options)
    value = st.segmented_control(
        label, options, default=options[0], required=True, key=key, bind=LINKED, help=help, persist_state="session"
    )
    return value if value in options else options[0]


def size_text(value: float) -> str:
    """Return a number, which may be very large or very small, as text with about two digits.

    >>> size_text(7.39e6), size_text(827846), size_text(63), size_text(2.23e10), size_text(-770123.0)
    ('7.4 million', '827,846', '63', '2.2 × 10¹⁰', '−770,123')
    """
    if value < 0:
        return f"−{size_text(-value)}"
    if 1e6 <= abs(value) < 1e9:
        return f"{value / 1e6:,.3g} million" if abs(value) >= 1e8 else f"{value / 1e6:.2g} million"
    if abs(value) >= 1e9:
        return tick_text(float(f"{value:.2g}"))
    return f"{value:,.0f}" if abs(value) >= 100 or float(value).is_integer() else f"{value:.3g}"


def share(value: float) -> str:
    """Return a share in percent with three significant digits.

    >>> share(0.1425), share(0.9999999), share(1.5), share(2e-7), share(float("inf"))
    ('14.2 %', 'over 99.99 %', '150 %', 'under 0.01 %', 'no bound')
    """
    if value == float("inf"):
        return "no bound"
    if 0 < value < 1e-4:
        return "under 0.01 %"
    if 0.9999 < value < 1:
        return "over 99.99 %"
    return f"{100 * value:.3g} %" if value < 10 else f"{size_text(100 * value)} %"


def at_most(value: float) -> str:
    """Return an upper bound on a share as text. The number is rounded up, so that the text is also an upper bound.

    >>> at_most(0.25641), at_most(0.25), at_most(2e-7), at_most(0.99999), at_most(45.67), at_most(float("inf"))
    ('at most 25.7 %', 'at most 25 %', 'at most 0.01 %', 'at most 100 %', 'at most 4,570 %', 'no bound')
    """
    if value == float("inf"):
        return "no bound"
    return f"at most {_digits(max(value, 1e-4) if value else 0.0, ROUND_CEILING)} %"


def at_least(value: float) -> str:
    """Return a lower bound on a share as text. The number is rounded down, so that the text is also a lower bound.

    >>> at_least(0.25691), at_least(0.999999), at_least(0.0)
    ('at least 25.6 %', 'at least 99.9 %', 'at least 0 %')
    """
    return f"at least {_digits(value, ROUND_FLOOR)} %"


def _digits(share_of_one: float, rounding: str) -> str:
    """Return a share in percent, rounded up or down to three digits.

    It is first rounded to nine digits, so that the last bit of the float does not matter.
    """
    percent = Context(prec=3, rounding=rounding).create_decimal(f"{100 * share_of_one:.9g}")
    return size_text(float(percent)) if percent >= 100 else f"{float(percent):g}"
