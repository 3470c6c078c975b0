"""Lesson: nine steps about differentially private forests. Each step asks for a prediction before it shows a result."""

from ui.learn import lesson_page, progress
from ui.shared.page import open_page

open_page(progress.TITLE)
lesson_page.show()
