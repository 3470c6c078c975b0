"""The frame of every page: configuration, navigation, what was spent, badges, and titles of figures."""

from __future__ import annotations

import warnings
from typing import Any, Final, Literal

import plotly.graph_objects as go
import streamlit as st

from dpforest.plotting import CONFIG
from dpforest.plotting.style import PRIVATE
from dpforest.tables.misfits import MisfitWarning
from ui import state
from ui.server.uploads import lesson_only
from ui.shared import between_pages, figures, session_ledger
from ui.shared.controls import LINKED
from ui.shared.ink import LARGE, PLAIN, Drawn, in_ink, thin_lines
from ui.shared.wording import plain

Badge = Literal[
    "Released",
    "Simulated",
    "Curator only",
    "Not certified",
    "From a formula",
    "Made-up tables",
    "According to the file",
]

_BADGES: dict[str, tuple[Literal["blue", "gray", "orange", "red"], str]] = {
    "Released": ("blue", "Part of what differential privacy protects; it may leave the house."),
    "Simulated": ("gray", "What a release would look like, drawn from a public seed. Nothing was released."),
    "Curator only": (
        "orange",
        "Worked out from the real rows, without noise. Whoever sees it may learn about single people: do not share it.",
    ),
    "Not certified": ("red", "This does not have the privacy it claims."),
    "From a formula": ("gray", "Computed from the rule itself. No data went into it."),
    "According to the file": (
        "gray",
        "This is what the file says about itself. The app did not make it, so it cannot know whether this is true.",
    ),
    "Made-up tables": ("gray", "Drawn from two tables that were made up for this. No data went into it."),
}

# Constants only: nothing from data ever gets into HTML. Tables lose their own download, whose name would not say
# CURATOR_ONLY.
_STYLE = """<style>
[class*=st-key-headline] h3 {font-size: 1.85rem; padding: 0; line-height: 1.3; font-variant-numeric: tabular-nums}
[class*=st-key-headline] h3 {text-wrap: balance}
[class*=st-key-headline] p {text-wrap: pretty}
[class*=st-key-headline] [data-testid=stMarkdownContainer] {margin-bottom: 0}
[class*=st-key-headline] [data-testid=stVerticalBlock] {gap: 0.35rem}
.st-key-below_curve {min-height: 3.4rem}
[data-testid=stElementToolbarButton]:has([aria-label^="Download as CSV"]) {display: none}
[data-testid=stCaptionContainer] {opacity: 1}
[data-testid=stCaptionContainer], [data-testid=stCaptionContainer] p {color: light-dark(#55606B, #AAB5BF)}
a[href]:focus-visible {outline: 2px solid light-dark(#005F94, #7CC3EC) !important; outline-offset: 2px}
[data-testid=stCaptionContainer] a {color: light-dark(#005F94, #7CC3EC)}
@media (max-width: 900px) {
  .st-key-focus {overflow-x: auto}
  .st-key-focus [data-testid=stElementContainer] {min-width: 820px}
}
@media (max-width: 640px), (max-height: 760px) {
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] {gap: 0.6rem}
}
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] {padding-top: 3.6rem}
  .st-key-asked [data-testid=stHorizontalBlock] {display: grid; grid-template-columns: 1fr 1fr; gap: 0.6rem}
  .st-key-asked [data-testid=stColumn] {width: auto; min-width: 0}
  .st-key-asked [data-testid=stColumn]:nth-child(2) {grid-column: 1 / 3; order: 1}
  [class*=st-key-headline] [data-testid=stHorizontalBlock] {display: grid; grid-template-columns: 1fr 1fr; gap: 0.6rem}
  [class*=st-key-headline] [data-testid=stColumn] {width: auto; min-width: 0}
  [class*=st-key-headline] [data-testid=stColumn] [data-testid=stVerticalBlock] {padding: 0.6rem}
  [class*=st-key-headline] [data-testid=stColumn] > [data-testid=stVerticalBlock] {padding: 0}
  [class*=st-key-headline] h3 {font-size: 1.35rem}
}
</style>"""

# What opens over the page is not inside Streamlit's own dark part. The theme's own blue is light enough to be read as
# text on a dark page, so white words stand on a darker one.
_DARK = """<style>
:root {color-scheme: dark}
[data-testid=stBaseButton-primary], [data-testid=stMultiSelect] [data-tag] {background: #0072B2; color: #FFFFFF}
[data-testid=stBaseButton-primary] {border-color: #0072B2}
[data-testid=stBaseButton-primary]:hover {background: #005F94; border-color: #7CC3EC; color: #FFFFFF}
</style>"""

_FOR_THE_BACK_ROW = """<style>
html {font-size: 19px}
[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] {gap: 0.6rem}
.st-key-end_presentation {position: fixed; top: 0.6rem; left: 1.5rem; z-index: 999991}
[data-testid=stSidebar], [data-testid=stExpandSidebarButton] {display: none}
</style>"""

PAGES: Final = {
    "Explore": "app.py",
    "Compare forests": "pages/1_Compare.py",
    "Choose ε": "pages/2_Choose_epsilon.py",
    "Audit": "pages/3_Audit.py",
    "Use a released forest": "pages/4_Use_a_forest.py",
    "Lesson": "pages/5_Lesson.py",
    "Theory": "pages/6_Theory.py",
    "Papers": "pages/7_Papers.py",
    "Glossary": "pages/8_Glossary.py",
}
OF_LESSON: Final = ("Lesson", "Papers", "Glossary")  # none of them reads a file


def open_page(title: str) -> None:
    """First call of every page."""
    # Cells that do not fit are told on the Data tab; in the server's log they would be for other eyes.
    warnings.filterwarnings("ignore", category=MisfitWarning)
    st.set_page_config(page_title=f"{title} · dpforest", page_icon="🌲", layout="wide")
    state.drop_misfits()
    between_pages.carry_over(title)
    st.html(_STYLE + (_DARK if _is_dark() else ""))
    figures.start()
    of_lesson = lesson_only()  # a server that a whole class reaches
    with st.sidebar:
        st.markdown("### dpforest", anchors=False)
        for name, file in PAGES.items():
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
        st.html(_FOR_THE_BACK_ROW)
        st.button("End the presentation", on_click=_end_presentation, type="tertiary", key="end_presentation")


def _end_presentation() -> None:
    state.PRESENT.value = False


def badge(kind: Badge, detail: str = "") -> None:
    """One of the badges that every figure wears, or the red one that only a broken claim does."""
    color, meaning = _BADGES[kind]
    st.badge(f"{kind}{detail}", color=color, help=meaning)


def titled(title: str, kind: Badge | None, help: str | None = None) -> None:
    """Title of a figure beside its badge."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"##### {title}", width="content", anchors=False, help=help)
        if kind:
            badge(kind)


def chart(figure: go.Figure, alt: str, place=st, *, title: str = "", public: bool = False, **settings):
    """A plotly figure whose texts can be read on a light and on a dark page.

    Parameters
    ----------
    title : str
        Its name among the figures for papers, by default the first words of `alt`. One chart has it at a time.
    public : bool
        Whether it may leave the house: released, or no data went into it.
    """
    plain_figure = figures.keep_chart(figure, alt, title, public=public)
    return _on_page(plain_figure, alt, place, **settings)


def drawn(figure: go.Figure, alt: str, place=st, *, title: str = "", public: bool = False, **settings) -> None:
    """A figure with thin lines: they can be seen, and its words read, on a light and on a dark page."""
    plain_figure = figures.keep_chart(figure, alt, title, public=public)
    _on_page(thin_lines(plain_figure, PRIVATE, dark=_is_dark()), alt, place, **settings)


def _on_page(figure: dict[str, Any], alt: str, place, **settings):
    size = LARGE if state.PRESENT.value else PLAIN
    return place.plotly_chart(Drawn(in_ink(figure, dark=_is_dark(), size=size)), config=CONFIG, alt=alt, **settings)


def _is_dark() -> bool:
    return st.context.theme.type == "dark"


def sorry(sentence: object) -> None:
    """Something a person can mend, in one sentence. Not red: red is for broken claims of privacy."""
    st.warning(plain(sentence, 2_000), icon=":material/info:")  # it may name a column, a category, a file
