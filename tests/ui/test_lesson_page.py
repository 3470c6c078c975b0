"""The Lesson page (AppTest): each step with each answer, its feedback, its control and its links."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.app_words import words
from ui.choose import wish_controls
from ui.learn.step import CHOOSE_EPSILON, EXPLORE, Link, Step
from ui.learn.steps import STEPS

ANSWERS = [(i, name) for i, step in enumerate(STEPS) for name in step.lettered]
LINKS = [link for step in STEPS for link in step.links]


@pytest.fixture
def lesson(app):
    """Return a function that opens the page with its charts and with these settings in its address."""

    def opened(**settings: object) -> AppTest:
        app.query_params.clear()
        app.query_params["picture"] = "Chart"
        app.query_params.update({name: str(value) for name, value in settings.items()})
        page = app.switch_page("pages/5_Lesson.py").run()
        assert not page.exception
        return page

    return opened


def press(page: AppTest, label: str) -> AppTest:
    (button,) = [button for button in page.main.button if button.label == label]
    page = button.click().run()
    assert not page.exception
    return page


def control(page: AppTest, step: Step):
    (widget,) = [w for w in (*page.main.select_slider, *page.main.button_group) if w.label == step.control.label]
    return widget


def alt(page: AppTest) -> str:
    """Return the description of the first chart. The last step has a second chart under “More”."""
    return page.get("plotly_chart")[0].proto.alt


def address(page: AppTest) -> dict[str, str]:
    return {name: value[-1] if isinstance(value, list) else value for name, value in page.query_params.items()}


@pytest.mark.parametrize("number, name", ANSWERS)
def test_each_step_with_each_answer(lesson, number, name):
    step, page = STEPS[number], lesson(step=number)
    assert f"Step {number} of 8 · {step.minutes} min" in words(page) and step.title in words(page)
    assert control(page, step).disabled and step.take_away not in words(page)
    page = press(page.main.radio[0].set_value(name).run(), "Reveal")
    text, answer = words(page), step.lettered[name]
    assert answer.feedback in text and step.reveal in text and step.take_away in text
    right = next(n for n, a in step.lettered.items() if a.right)
    assert f"**✓ {right}**" in text
    assert (f":gray[✗ {name} (your prediction).]" in text) == (not answer.right)
    assert ":red" not in text
    assert not control(page, step).disabled
    assert page.query_params["shown"] in ("1", ["1"]) and name not in str(page.query_params)


def test_the_last_step_shows_who_pays_for_the_noise(lesson):
    shown = press(lesson(step=8), "Show without guessing")
    assert "Who pays for the noise?" in words(shown) and "customers with a master’s degree" in words(shown)
    assert "by degree against ε" in shown.get("plotly_chart")[1].proto.alt


@pytest.mark.parametrize("number", range(9))
def test_the_answer_is_hidden_before_the_guess(lesson, number):
    """Before a user has guessed, neither the text nor the chart nor its description contains the answer."""
    step, page = STEPS[number], lesson(step=number)
    assert step.reveal not in words(page)
    hidden = alt(page)
    shown = press(page, "Show without guessing")
    assert alt(shown) != hidden and any(sign.isdigit() for sign in alt(shown))
    assert "your prediction" not in words(shown) and step.reveal in words(shown)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
def test_the_control_moves_the_chart(lesson, step):
    first, last = step.control.options[0], step.control.options[-1]
    page = lesson(step=STEPS.index(step), shown=1, at=first)
    assert control(page, step).value == first
    before = page.get("plotly_chart")[0].proto.spec
    page = control(page, step).set_value(last).run()
    assert not page.exception and control(page, step).value == last
    assert page.get("plotly_chart")[0].proto.spec != before


def test_next_and_back_keep_what_was_revealed(lesson):
    page = press(lesson(), "Show without guessing")
    page = press(page, "Next →")
    assert "Step 1 of 8" in words(page) and STEPS[1].reveal not in words(page) and "shown" not in page.query_params
    page = press(page, "← Back")
    assert "Step 0 of 8" in words(page) and STEPS[0].reveal in words(page)


def test_hands_are_shown_with_the_reveal(lesson):
    page = lesson(step=1)
    for field, n in zip(page.main.number_input, (3, 12, 0, 1), strict=True):
        field.set_value(n)
    page = page.run()
    assert "▇" not in words(page)
    text = words(press(page, "Show without guessing"))
    assert "**B ▇▇▇▇▇▇▇▇▇▇▇▇▇▇ 12 ✓**" in text and ":gray[C 0]" in text


def test_the_next_control_stands_where_it_starts(lesson):
    page = press(lesson(step=2, shown=1, at="10"), "Next →")
    assert control(page, STEPS[3]).value == "31"


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"step": "12"}, "asks for step 12"),
        ({"step": "2", "at": "4"}, "asks for “4”"),
        ({"step": "*a*", "at": "b"}, "asks for step \\*a\\*"),
    ],
)
def test_a_link_to_an_unknown_step_gets_a_message(lesson, asked, message):
    page = lesson(**asked)
    (warning,) = page.warning
    assert message in warning.value.replace("\u2060", "")
    assert not press(page, "Next →").warning


def test_a_link_without_shown_reveals_nothing(lesson):
    page = lesson(step=3, shown="yes")
    assert STEPS[3].reveal not in words(page) and "shown" not in page.query_params


def test_badges_match_the_numbers():
    kinds = [step.badges for step in STEPS]
    assert {i for i, badges in enumerate(kinds) if badges == ("Made-up tables",)} == {0, 7}
    assert {i for i, badges in enumerate(kinds) if badges == ("From a formula",)} == {1, 2, 6}
    assert {i for i, badges in enumerate(kinds) if badges == ("Simulated", "Do not share")} == {3, 4, 5, 8}


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_step_wears_its_badges(lesson, number):
    text = words(lesson(step=number))
    assert all(f"-badge[{kind}]" in text for kind in STEPS[number].badges)


# Links of the lesson: the target page shows the same settings.


def opened(app: AppTest, link: Link) -> AppTest:
    app.query_params.clear()
    app.query_params.update(dict(link.settings))
    page = app.switch_page(link.page).run()
    assert not page.exception
    return page


def value(page: AppTest, label: str) -> str:
    kinds = ("selectbox", "select_slider", "slider", "radio")
    (widget,) = [w for kind in kinds for w in getattr(page, kind) if w.label == label]
    return f"{widget.value:g}" if isinstance(widget.value, float) else str(widget.value)


@pytest.mark.parametrize("link", [link for link in LINKS if link.page == EXPLORE], ids=lambda link: link.label)
def test_explore_uses_the_settings_of_the_link(app, link):
    page, settings = opened(app, link), dict(link.settings)
    labels = {"data": "Data", "forest": "Forest", "depth": "Depth", "trees": "Trees", "eps": "Privacy budget ε"}
    for name in labels.keys() & settings.keys():
        assert value(page, labels[name]) == settings[name]
    if "rows" in settings:
        assert value(page, "Rows and trees") == settings["rows"]
    if "tab" in settings:
        assert page.session_state["tab"] == settings["tab"]
    assert not next(t for t in page.toggle if t.label == "Depth and trees by rule").value


@pytest.mark.parametrize("link", [link for link in LINKS if link.page not in (EXPLORE, CHOOSE_EPSILON)])
def test_audit_uses_the_settings_of_the_link(app, link):
    page, settings = opened(app, link), dict(link.settings)
    assert value(page, "How a leaf draws its label") == settings["rule"]
    assert value(page, "Privacy promised: ε") == settings["eps"]


@pytest.mark.parametrize(
    "link", [link for link in LINKS if link.page == CHOOSE_EPSILON], ids=lambda link: str(link.settings)
)
def test_choose_shows_what_the_link_says(app, monkeypatch, link):
    monkeypatch.setattr(wish_controls, "kinds", lambda: ["one greedy tree"])
    page, settings = opened(app, link), dict(link.settings)
    assert value(page, "Data") == settings["data"]
    if "need" in settings:
        assert page.slider(key="need").value == float(settings["need"])
    if "look_eps" in settings:
        assert page.select_slider(key="look_eps").value == float(settings["look_eps"])
    if "choose_tab" in settings:
        assert page.session_state["choose_tab"] == settings["choose_tab"]
