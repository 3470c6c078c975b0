"""Theory: the papers' theorems, each next to a measurement."""

from ui.learn import theory_page
from ui.shared.page import open_page

open_page(theory_page.TITLE)
theory_page.show()
