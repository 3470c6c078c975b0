"""Parts of every page: configuration, navigation, the ledger, badges, titles, and charts in the page's colors."""

from __future__ import annotations

import warnings
from typing import Any, Final, Literal

import plotly.graph_objects as go
import streamlit as st

from dpforest.plotting import CONFIG
from dpforest.plotting.style import PRIVATE
from dpforest.tables.out_of_domain import OutOfDomainWarning
from ui import state
from ui.releasing import session_ledger
from ui.server.streamlit_patches import styles
from ui.server.streamlit_patches.internals import UncheckedFigure
from ui.server.uploads import lesson_only
from ui.shared import figures, link
from ui.shared.controls import LINKED
from ui.shared.tables import Table, counted
from ui.shared.wording import plain

Badge = Literal[
    "Released",
    "Simulated",
    "Do not share",
    "Not certified",
    "From a formula",
    "Made-up tables",
    "According to the file",
]

_BADGES: dict[str, tuple[Literal["blue", "gray", "orange", "red"], str]] = {
    "Released": ("blue", "Part of what differential privacy protects; it may be published."),
    "Simulated": ("gray", "What a release would look like, drawn from a public seed. Nothing was released."),
    "Do not share": (
        "orange",
        "Computed from the real rows, without noise. Whoever sees it may learn about single rows.",
    ),
    "Not certified": ("red", "No certificate holds for this."),
    "From a formula": ("gray", "Computed from the rule itself. No data went into it."),
    "According to the file": (
        "gray",
        "This is what the file says about itself. The app did not make it, so it cannot know whether this is true.",
    ),
    "Made-up tables": ("gray", "Drawn from two tables that were made up for this. No data went into it."),
}

PAGES: Final = {
    "Explore": "app.py",
    "Compare forests": "pages/1_Compare.py",
    "Choose ε": "pages/2_Choose_epsilon.py",
    "Audit": "pages/3_Audit.py",
    "Releases": "pages/4_Releases.py",
    "Lesson": "pages/5_Lesson.py",
    "Theory": "pages/6_Theory.py",
    "Papers": "pages/7_Papers.py",
    "Glossary": "pages/8_Glossary.py",
}
TO_LEARN: Final = "Lesson"  # first page of the group "Learn" in the navigation
OF_LESSON: Final = ("Lesson", "Papers", "Glossary")  # the pages of a server that offers the lesson only (`lesson_only`)

PLAIN, LARGE = 14, 18  # font size in pixels on a page, and in presentation mode; the lesson sets other sizes
_INK: Final = {True: "#E7ECF0", False: "#1B2229"}  # color of text on a dark page (True) and on a light page
_QUIET: Final = {True: "#AAB5BF", False: "#55606B"}  # color of the words on axes
_BACKDROP: Final = {True: "rgba(17,22,27,0.85)", False: "rgba(255,255,255,0.85)"}  # behind words that a curve may cross
_BRIGHT: Final = "#4DA6DD"  # color of thin lines on a dark page, in place of PRIVATE


def open_page(title: str) -> None:
    """Set up a page. Every page calls this function first."""
    # The Data tab reports cells that do not fit the domain. A warning would also write them to the server's log, where
    # other people could read them.
    warnings.filterwarnings("ignore", category=OutOfDomainWarning)
    st.set_page_config(page_title=f"{title} · dpforest", page_icon="🌲", layout="wide")
    state.drop_unfit()
    link.carry_over(title)
    if _is_dark():
        st.html(styles.DARK)
    figures.start()
    of_lesson = lesson_only()  # a whole class can reach such a server, so it shows only pages that read no file
    with st.sidebar:
        st.markdown("### dpforest", anchors=False)
        for name, file in PAGES.items():
            if name == TO_LEARN and not of_lesson:
                st.caption("Learn")
            if not of_lesson or name in OF_LESSON:
                st.page_link(file, label=name)
    if of_lesson and title not in OF_LESSON:
        st.info("This server is open for the lesson only.", icon=":material/school:")
        st.page_link(PAGES["Lesson"], label="To the lesson", icon=":material/arrow_forward:")
        st.stop()
    session_ledger.in_sidebar()
    with st.sidebar:
        presents = st.toggle(
            "Present", key=state.PRESENT, bind=LINKED, help="Larger type, and no sidebar, for a room with a projector."
        )
    if presents:
        st.html(styles.PRESENTATION)
        st.button("End the presentation", on_click=_end_presentation, type="tertiary", key="end_presentation")


def _end_presentation() -> None:
    state.PRESENT.value = False


def badge(kind: Badge, detail: str = "") -> None:
    """Draw one of the badges that every figure has. Red marks only figures that no certificate covers."""
    color, meaning = _BADGES[kind]
    st.badge(f"{kind}{detail}", color=color, help=meaning)


def titled(title: str, *kinds: Badge | None, help: str | None = None) -> None:
    """Draw the title of a figure next to its badges."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"##### {title}", width="content", anchors=False, help=help)
        for kind in kinds:
            if kind:
                badge(kind)


def table_header(table: Table, neighbors: str) -> None:
    """Draw the name, size and label of the table on which a page simulates forests, with badges."""
    title = f"**{plain(table.short_title, 50)}** · {counted(table)} · predicts {plain(table.label, 30)}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"):
        st.markdown(title, width="content")
        with st.container(horizontal=True, width="content", gap="small"):
            badge("Simulated", f", {neighbors}")
            badge("Do not share")


def chart(
    figure: go.Figure, alt: str, place: Any = st, *, title: str = "", public: bool = False, **settings: Any
) -> Any:
    """Draw a plotly figure in colors that can be read on a light and on a dark page.

    Parameters
    ----------
    title : str
        Name of the chart among the figures for papers; by default the first words of `alt`. A later chart with the
        same name replaces this chart.
    public : bool
        Whether the chart may be published, because it was released or no private data went into it.
    """
    plain_figure = figures.keep_chart(figure, alt, title, public=public)
    return _on_page(plain_figure, alt, place, **settings)


def drawn(
    figure: go.Figure, alt: str, place: Any = st, *, title: str = "", public: bool = False, **settings: Any
) -> None:
    """Draw a figure as `chart` does, but with a backdrop behind notes and, on a dark page, brighter thin lines."""
    plain_figure = figures.keep_chart(figure, alt, title, public=public)
    _on_page(thin_lines(plain_figure, PRIVATE, dark=_is_dark()), alt, place, **settings)


def _on_page(figure: dict[str, Any], alt: str, place: Any, **settings: Any) -> Any:
    size = LARGE if state.PRESENT.value else PLAIN
    shown = UncheckedFigure(in_page_colors(figure, dark=_is_dark(), size=size))
    return place.plotly_chart(shown, config=CONFIG, alt=alt, **settings)


def _is_dark() -> bool:
    return st.context.theme.type == "dark"


def sorry(sentence: object) -> None:
    """Show a problem that the user can correct. It is not red, because red marks a broken privacy claim."""
    st.warning(plain(sentence, 2_000), icon=":material/info:")  # the sentence may name a column, a category or a file


def in_page_colors(figure: dict[str, Any], *, dark: bool, size: int) -> dict[str, Any]:
    """Return the figure in the colors of a page. Text whose font size is not set gets `size`.

    Parameters
    ----------
    figure : dict
        Result of `Figure.to_dict`. It is not changed.
    size : int
        Font size in pixels.
    """
    words = {"size": size, "color": _QUIET[dark]}
    # The font of words in traces and color bars.
    font = {"size": size, **figure["layout"].get("font", {}), "color": _INK[dark]}
    layout = _with(figure["layout"], {"font": font, "hoverlabel": {"font": {"size": size}}})
    layout = _with(layout, {"template": {"layout": {"annotationdefaults": {"font": {"size": size}}}}})
    if "size" not in layout.get("legend", {}).get("font", {}):
        layout = _with(layout, {"legend": {"font": {"size": size, "color": _INK[dark]}}})
    for name in [name for name in layout if name.startswith(("xaxis", "yaxis"))]:
        if "size" not in layout[name].get("tickfont", {}):
            layout = _with(layout, {name: {"tickfont": words, "title": {"font": words}}})
    return {**figure, "layout": layout}


def thin_lines(figure: dict[str, Any], private: str, *, dark: bool) -> dict[str, Any]:
    """Return the figure with a backdrop behind its notes. On a dark page, lines of the color `private` are brighter."""
    notes = [_with(note, {"bgcolor": _BACKDROP[dark]}) for note in figure["layout"].get("annotations", ())]
    layout = {**figure["layout"], **({"annotations": notes} if notes else {})}
    bright = {"line": {"color": _BRIGHT}, "marker": {"color": _BRIGHT}, "opacity": 1}
    data = [
        _with(trace, bright) if dark and trace.get("line", {}).get("color") == private else trace
        for trace in figure["data"]
    ]
    return {**figure, "data": data, "layout": layout}


def _with(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the old dict with the values of the new dict, and merge nested dicts in the same way."""
    return {
        **old,
        **{key: _with(old.get(key) or {}, value) if isinstance(value, dict) else value for key, value in new.items()},
    }
