"""The page Theory. It shows one theorem at a time, with its bound and, for most theorems, measurements."""

from __future__ import annotations

import streamlit as st

from ui import state
from ui.learn import (
    theory_growth,
    theory_labels,
    theory_leaves,
    theory_loss,
    theory_multinomial,
    theory_vote_proofs,
    theory_votes,
)
from ui.learn.theorem import Theorem, TheoremView
from ui.shared import figures
from ui.shared.controls import LINKED, drop_unknown
from ui.shared.epsilon import LEAST, MOST
from ui.shared.link import copy_link
from ui.shared.page import badge, chart, titled
from ui.shared.wording import plain

TITLE = "Theory"
_ALL: dict[str, Theorem] = {
    **theory_votes.PANELS,
    **theory_vote_proofs.PANELS,
    **theory_leaves.PANELS,
    **theory_labels.PANELS,
    **theory_multinomial.PANELS,
    **theory_growth.PANELS,
    **theory_loss.PANELS,
}
PANELS: dict[str, Theorem] = {
    name: _ALL[name]
    for name in (
        "Votes of random trees",
        "… with privacy",
        "Votes on other rows",
        "The coin rule",
        "Best number of trees",
        "Depth rule",
        "Empty leaves",
        "Rows or ε divided",
        "Floor of a leaf",
        "Votes of noisy trees",
        "Chance of a split",
        "Consistency",
        "Boosting a tree",
        "Trees added up",
        "Private splits",
        "What a row moves",
        "The Mα-loss",
        "Link and surrogate",
    )
}
HEAD = (
    "A theorem may be true and still too weak to choose settings by. Dots are measurements: their distance from the "
    "curve shows how weak the theorem is. Some theorems are exact, and some contradict what a paper prints. "
    "On this page ε is for one row, even if a column identifies persons."
)


def show() -> None:
    """Draw the chosen theorem with its controls, its status, its charts and its assumptions."""
    st.markdown("#### Theorems that you can move", anchors=False)
    st.markdown(HEAD)
    panel = PANELS[_chosen()]
    st.markdown(f"##### {panel.claim}", anchors=False)
    verdict = st.container(border=True, key="says")
    controls, picture = st.columns([1, 2], gap="large")
    with controls:
        view = panel.show()
        _report_epsilon_of_link()
    _draw_assumptions(panel)
    with verdict:
        st.markdown(view.status.line)
        if view.is_for_curator:
            badge("Do not share")
            st.caption(
                "The text here and below the charts states the exact number of rows of the table. ε does not cover "
                "it, so do not share this text if the number is private."
            )
    with picture:
        _draw_pictures(view)
    with st.sidebar, st.container(horizontal=True, gap="small"):
        copy_link()
        figures.offer()


def _chosen() -> str:
    """Ask for a theorem, and return its name. Report a name in the link that no theorem has."""
    linked_name = st.query_params.get(state.THEOREM)
    if linked_name is not None and linked_name not in PANELS:
        state.ASKED(state.THEOREM).value = linked_name
    drop_unknown(state.THEOREM, PANELS)
    names = list(PANELS)
    name = st.selectbox(
        "Theorem", names, key=state.THEOREM, bind=LINKED, on_change=lambda: state.ASKED(state.THEOREM).pop()
    )
    name = name if name in PANELS else names[0]
    if unknown_name := state.ASKED(state.THEOREM).value:
        st.caption(
            f"The link asks for a theorem “{plain(unknown_name, 40)}”, which does not exist. The page shows “{name}”."
        )
    return name


def _report_epsilon_of_link() -> None:
    """Report an invalid ε in the link, unless a slider of ε has already reported it."""
    linked_epsilon = st.query_params.get("eps")
    if linked_epsilon is None or _is_epsilon(linked_epsilon) or state.ASKED(state.EPSILON).value:
        return
    st.caption(
        f"The link asks for ε = {plain(linked_epsilon, 20)}, which is no number from {LEAST:g} to {MOST:g}; this "
        "theorem does not depend on ε."
    )


def _is_epsilon(text: str) -> bool:
    try:
        return LEAST <= float(text) <= MOST
    except ValueError:
        return False


def _draw_pictures(view: TheoremView) -> None:
    """Draw the charts of a theorem with their titles and badges, and the note below them."""
    for i, picture in enumerate(view.pictures):
        titled(picture.title, picture.badge)
        chart(
            picture.figure,
            picture.alt,
            title=picture.title,
            public=picture.badge != "Do not share",
            key=f"theory_chart_{i}",
        )
    if view.note:
        st.caption(view.note)


def _draw_assumptions(panel: Theorem) -> None:
    st.latex(panel.formula)
    with st.popover("What it assumes, and where it is from"):
        st.markdown("\n".join(f"- {each}" for each in panel.assumptions))
        st.markdown(f"**Does it hold?** {panel.standing}")
        st.caption(f"Source: {panel.source}")
