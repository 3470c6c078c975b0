"""Answer the cards of the Data tab in AppTest."""

from streamlit.testing.v1 import AppTest

from tests.ui.app_words import words

LOWEST, HIGHEST, SOURCE = "Lowest possible number", "Highest possible number", "Where is this known from?"
RANGE, LIST, CLASSES, FILE = "Use this range", "Use this list", "Use these classes", "Confirm that this is public"
_ANSWERS = (RANGE, LIST, CLASSES, FILE)


def chooser(app: AppTest):
    """Return the box that chooses a card."""
    return next(box for box in app.selectbox if box.label == "Card")


def open_card(app: AppTest, title: str) -> AppTest:
    """Open the card whose title begins so."""
    box = chooser(app)
    return box.select(next(option for option in box.options if option.startswith(title))).run()


def field(app: AppTest, label: str):
    """Return the text field with this label. A card has one for its source, above the fields of other parts."""
    return next(widget for widget in app.text_input if widget.label == label)


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def answer(app: AppTest, source: str, low: float | str = 0, high: float | str = 100) -> AppTest:
    """Answer the open card with these words as its source. A range keeps what is filled in."""
    if any(widget.label == LOWEST for widget in app.text_input):
        for label, value in ((LOWEST, low), (HIGHEST, high)):
            if not field(app, label).value:
                field(app, label).set_value(str(value))
    field(app, SOURCE).set_value(source)
    return press(app, next(button.label for button in app.button if button.label in _ANSWERS))


def confirm(app: AppTest, source: str = "the study protocol", low: float | str = 0, high: float | str = 100) -> AppTest:
    """Answer all open cards, each on its own."""
    app.session_state["tab"] = "Data"
    app.run()
    while left := [
        o
        for o in chooser(app).options
        if not o.endswith((" (ready)", " (left out)", ", has dates)")) and "at once" not in o
    ]:
        chooser(app).select(left[0]).run()
        answer(app, source, low, high)
        if app.warning and "does not say where" in words(app):
            return app
    return app
