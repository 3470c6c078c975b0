"""Choose ε: from the accuracy that is needed to the smallest ε, and what that ε means for the people in the table."""

from ui.page import open_page

open_page("Choose ε")
