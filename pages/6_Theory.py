"""Theory: theorems of the papers and of this project, most of them with a chart of measurements."""

from ui.learn import theory_page
from ui.shared.page import open_page

open_page(theory_page.TITLE)
theory_page.show()
