"""Lesson: nine steps through differentially private forests, with a prediction before each."""

from ui.learn import lesson_page, progress
from ui.shared.page import open_page

open_page(progress.TITLE)
lesson_page.show()
