"""Compare: every forest on one chart against ε, with what privacy costs each of them."""

from ui.page import open_page

open_page("Compare forests")
