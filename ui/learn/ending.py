"""The ending of the lesson: what a class can now say about ε."""

from __future__ import annotations

import streamlit as st

from ui import state
from ui.learn import progress, stage, story
from ui.learn.scenes import scene
from ui.learn.steps import STEPS
from ui.shared.page import PAGES
from ui.shared.wording import unbroken


def show() -> None:
    """Draw the sentences to take home next to the attack that the lesson began with, now against noise."""
    st.query_params.pop(progress.SHOWN, None)
    with st.container(key="lesson_text"):
        st.markdown(f":gray[**{story.TITLE}.** {story.LAST_LINE}]")
    left, right = st.columns([9, 11], gap="medium")
    with left:
        stage.play(scene("rebuild", "1", True), state.STAGE("end"))
    with right, st.container(key="lesson_question"):
        for number, sentence in enumerate(story.sentences(), 1):
            st.markdown(unbroken(f"**{number}.** {sentence}"))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button("← Back", on_click=progress.go_to, args=(len(STEPS) - 1,))
            st.button("Start again", on_click=progress.go_to, args=(0,))
            for name in ("Explore", "Choose ε", "Glossary"):
                st.page_link(PAGES[name], label=name, width="content", icon=":material/arrow_forward:")
