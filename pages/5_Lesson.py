"""Lesson: nine steps through differentially private forests, with a prediction before each."""

from ui.learn import frame, state
from ui.shared.page import open_page

open_page(state.TITLE)
frame.show()
