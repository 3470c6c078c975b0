"""Figures for papers: the charts of a page as SVG and PDF, and its tables as CSV and LaTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpforest.plotting.paper import PaperError, missing, rendered
from dpforest.plotting.style import visible
from ui import state
from ui.shared.controls import drop_unknown
from ui.shared.downloads import as_csv, as_latex
from ui.shared.wording import plain

IN_SIGHT: Final = 9  # number of rows of a table that are visible without scrolling
PRINTED: Final = 50  # largest number of rows of a printed table
_WORDS: Final = 6  # number of words of its description that name a chart without a title
_GREEK: Final = str.maketrans({"ε": "epsilon", "α": "alpha", "δ": "delta", "×": "by"})


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart as Plotly's dict, without the colors of the page, or a table.

    Parameters
    ----------
    drawn : dict or DataFrame
        The chart or the table.
    public : bool
        Whether the figure may be published, because it was released or no private data went into it.
    """

    drawn: dict[str, Any] | pd.DataFrame
    public: bool


def start() -> None:
    """Forget the figures that the previous run of the page kept."""
    state.FIGURES.value = {}
    state.N_PRINTED.value = 0


def keep_chart(chart: go.Figure, alt: str, title: str = "", *, public: bool = False) -> dict[str, Any]:
    """Keep a chart for downloads, and return its dict, which callers must not change.

    The chart replaces an earlier chart with the same title.
    """
    title = title or " ".join(re.split(r"[.:,;=]", alt)[0].split()[:_WORDS])
    drawn = chart.to_dict()
    _kept()[title] = Figure(drawn, public)
    return drawn


def table(frame: pd.DataFrame, title: str, place: Any = st, *, public: bool = False, **settings: Any) -> Any:
    """Draw a table, and keep it for downloads. The table replaces an earlier table with the same title.

    A table that scrolls on the page is drawn a second time for print only, because a browser prints only the visible
    rows.
    """
    _kept()[title] = Figure(frame, public)
    if len(frame) <= IN_SIGHT or settings.get("height") == "content":
        return place.dataframe(displayable(frame), **settings)
    with place.container():
        drawn = st.dataframe(displayable(frame), **settings)
        state.N_PRINTED.value += 1  # a sweep draws its table several times in a run, and no key may occur twice
        with st.container(key=f"printed_{state.N_PRINTED.value}"):
            st.table(printed_rows(frame))
            if len(frame) > PRINTED:
                st.caption(f"The first {PRINTED} of {len(frame):,} rows.")
    return drawn


def printed_rows(frame: pd.DataFrame) -> pd.DataFrame:
    r"""Return the first rows as text that Streamlit's Markdown shows unchanged. The index is empty.

    >>> printed_rows(pd.DataFrame({"a_b": ["*x*", None], "c": [0.123456, 2]})).to_dict("list")
    {'a\\_b': ['\\*x\\*', '–'], 'c': ['0.1235', '2']}
    """

    def text(value: object) -> str:
        if isinstance(value, float):
            return "–" if pd.isna(value) else f"{value:.4g}"
        return "–" if value is None or value is pd.NA else plain(value)

    first_rows = frame.head(PRINTED)
    columns = {
        plain(name): [text(value) for value in first_rows.iloc[:, i].tolist()] for i, name in enumerate(first_rows)
    }
    return pd.DataFrame(columns, index=pd.Index([""] * len(first_rows)))


def displayable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table for Streamlit. A mixed column becomes text if it has an integer that is too large for Arrow.

    >>> displayable(pd.DataFrame({"a": [2**70, "x"], "b": [1, 2]})).to_dict("list")
    {'a': ['1180591620717411303424', 'x'], 'b': [1, 2]}
    """
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    if not any(map(_has_large, columns)):
        return frame
    return pd.concat([column.map(str) if _has_large(column) else column for column in columns], axis=1)


def _has_large(column: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(column) and bool(column.map(_is_large).any())


def _is_large(value: object) -> bool:
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _kept() -> dict[str, Figure]:
    return state.FIGURES.value


def offer() -> None:
    """Draw a button that offers all figures drawn so far, so call this function last. A press reruns the page."""
    with st.popover("Figures", key=state.FIGURES_OPEN, on_change="rerun"):
        kept = _kept()
        if not kept:
            st.caption("No chart and no table is drawn yet.")
            return
        drop_unknown(state.FIGURE, kept)
        title = st.selectbox("For a paper", list(kept), key=state.FIGURE, format_func=visible)
        figure = kept[title]
        if isinstance(figure.drawn, pd.DataFrame):
            _offer_table(kept, title)
        else:
            _offer_chart(kept, title)
        if not figure.public:
            st.caption("It is computed from the raw data and is not private. Keep it where the data are kept.")


def _offer_chart(kept: dict[str, Figure], title: str) -> None:
    """Draw the download buttons of a chart, and why earlier downloads failed."""
    if why := missing():
        st.caption(why)
        return
    with st.container(horizontal=True, gap="small"):
        failures = _failures()
        _button(
            "SVG", kept, title, "svg", "image/svg+xml", lambda: _rendered_chart(kept[title], title, "svg", failures)
        )
        _button(
            "PDF", kept, title, "pdf", "application/pdf", lambda: _rendered_chart(kept[title], title, "pdf", failures)
        )
    st.caption("Drawn in print colors when you press; it takes a few seconds.")
    for why in _failures():
        st.caption(why)
    _failures().clear()


def _offer_table(kept: dict[str, Figure], title: str) -> None:
    with st.container(horizontal=True, gap="small"):
        _button("CSV", kept, title, "csv", "text/csv", lambda: as_csv(_frame(kept[title])))
        _button("LaTeX", kept, title, "tex", "application/x-tex", lambda: as_latex(_frame(kept[title])))
    st.caption("LaTeX: a tabular for the package booktabs.")


def _button(label: str, kept: dict[str, Figure], title: str, ending: str, mime: str, content: Callable) -> None:
    st.download_button(
        label,
        content,
        file_name(title, ending, public=kept[title].public),
        mime,
        on_click="ignore",
        key=f"figure_{ending}",
    )


def _frame(figure: Figure) -> pd.DataFrame:
    assert isinstance(figure.drawn, pd.DataFrame)
    return figure.drawn


def _failures() -> list[str]:
    """Return the list of reasons why downloads failed.

    A download does not rerun the page, so the page shows the reasons when the user opens “Figures” again.
    """
    return state.FIGURE_FAILURES.value


def _rendered_chart(figure: Figure, title: str, kind: Any, failures: list[str]) -> bytes:
    """Return a chart as SVG or PDF. If this fails, add the reason to `failures`."""
    assert isinstance(figure.drawn, dict)
    try:
        return rendered(figure.drawn, kind, title)
    except PaperError as problem:
        failures.append(str(problem))
        raise


def file_name(title: str, ending: str, *, public: bool) -> str:
    """Return the name of a downloaded file. It starts with DO_NOT_SHARE unless the figure may be published.

    >>> file_name("Accuracy against ε", "svg", public=False), file_name("How often a label flips", "pdf", public=True)
    ('DO_NOT_SHARE_accuracy_against_epsilon.svg', 'how_often_a_label_flips.pdf')
    """
    ascii_title = unicodedata.normalize("NFKD", title.translate(_GREEK)).encode("ascii", "ignore").decode().lower()
    name = "_".join(re.findall(r"[a-z0-9]+", ascii_title))[:60] or "figure"
    return f"{'' if public else 'DO_NOT_SHARE_'}{name}.{ending}"
