"""Functions that answer the cards of the Data tab, on which a user makes the domain of an upload public (AppTest)."""

from streamlit.testing.v1 import AppTest

from dpforest.tables.read_parts import assert_parts, read_parts
from tests.ui.app_words import words
from ui.explore.card_forms import KEEP_RARE
from ui.explore.cards import LISTS, NUMBERS
from ui.shared.sources import QUESTION

LOWEST, HIGHEST, SOURCE = "Lowest possible number", "Highest possible number", QUESTION
RANGE, LIST, TABLE = "Use this range", "Use this list", "Confirm that this is public"
_ANSWERS = (RANGE, LIST, TABLE)


def chooser(app: AppTest):
    """Return the select box in which a user chooses a card."""
    return next(box for box in app.selectbox if box.label == "Card")


def open_card(app: AppTest, title: str) -> AppTest:
    """Open the card whose title begins with this text."""
    box = chooser(app)
    return box.select(next(option for option in box.options if option.startswith(title))).run()


def field(app: AppTest, label: str):
    """Return the first text field with this label. Of several fields for a source, the first is for the card itself."""
    return next(widget for widget in app.text_input if widget.label == label)


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def answer(app: AppTest, source: str, low: float | str = 0, high: float | str = 100, *, rare: bool = False) -> AppTest:
    """Answer the open card, with this text as its source. Numbers that are already filled in stay.

    With `rare`, the answer includes the values that few rows have.
    """
    if rare:
        for box in app.multiselect:
            if box.label == KEEP_RARE:
                box.set_value([option.rpartition(" (")[0] for option in box.options])
    if any(widget.label == LOWEST for widget in app.text_input):
        for label, value in ((LOWEST, low), (HIGHEST, high)):
            if not field(app, label).value:
                field(app, label).set_value(str(value))
    field(app, SOURCE).set_value(source)
    return press(app, next(button.label for button in app.button if button.label in _ANSWERS))


def open_cards(app: AppTest) -> list[str]:
    """Return the titles of the unanswered cards, without cards about several columns."""
    done = (" (ready)", " (left out)", ", has dates)")
    return [title for title in chooser(app).options if not title.endswith(done) and "at once" not in title]


def confirm(app: AppTest, source: str = "the study protocol", low: float | str = 0, high: float | str = 100) -> AppTest:
    """Answer every open card by itself, without the cards that answer for several columns at once."""
    app.session_state["tab"] = "Data"
    app.run()
    while left := open_cards(app):
        if chooser(app).value in (NUMBERS, LISTS):
            chooser(app).select(left[0]).run()
        answer(app, source, low, high, rare=True)
        if app.warning and "does not say how everybody knows" in words(app):
            return app
    return app


def make_public(app: AppTest, source: str = "the study protocol") -> AppTest:
    """Give all parts of the domain this source directly, without using the cards."""
    app.session_state["tab"] = "Data"
    answer(open_card(app.run(), "the label"), source, rare=True)
    schemas = app.session_state["schemas"]
    for key, domain in schemas.items():
        schemas[key] = assert_parts(domain, read_parts(domain), source)
    return app.run()
