"""Sessions with values that no control of the page can give: the app drops them, and the page looks as usual."""

import zlib
from copy import deepcopy
from functools import cache

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.app_words import words
from ui import state
from ui.choose import answers, wish_controls
from ui.jobs import first_release

PAGES = {
    "Explore": ("app.py", {"data": "zoo", "trees": "5", "forest": "majority labels"}),
    "Explore, leaves": ("app.py", {"data": "zoo", "trees": "5", "forest": "noisy counts", "tab": "Leaves"}),
    "Explore, data": ("app.py", {"data": "zoo", "forest": "boosted", "depth": "2", "tab": "Data"}),
    "Compare": ("pages/1_Compare.py", {"data": "zoo", "forests": ["RF-E"], "releases_each": "2"}),
    "Choose": ("pages/2_Choose_epsilon.py", {"data": "zoo", "looked_at": "RF-E", "choose_tab": "Attack it"}),
    "Audit": ("pages/3_Audit.py", {}),
    "Use": ("pages/4_Releases.py", {}),
    "Lesson": ("pages/5_Lesson.py", {}),
    "Theory": ("pages/6_Theory.py", {}),
    "Papers": ("pages/7_Papers.py", {}),
    "Glossary": ("pages/8_Glossary.py", {}),
}
STRANGE = ("<text>", None, -0.123456, 10**30, ["a list", 0], ("stale", -1), {"a": "dict"}, float("nan"))
# Keys whose value may be any text: the name of an unknown theorem in a link, and the reason why a room was not opened.
NOTES = frozenset({"theorem_asked", state.NO_ROOM})
# Streamlit accepts no stored state for buttons, so no session can hold one.
PRESSED = ("button", "download_button", "file_uploader", "plotly_chart")


@pytest.fixture(autouse=True)
def few_repeats(monkeypatch):
    monkeypatch.setattr(first_release, "LAST", 2)
    monkeypatch.setattr(wish_controls, "kinds", lambda: ["RF-E"])
    monkeypatch.setattr(answers, "N_FIRST", 2)


def opened(page: str, **values: object) -> AppTest:
    """Open a page in a session that has this state before its first run."""
    file, query = PAGES[page]
    app = AppTest.from_file("../../app.py", default_timeout=600)
    if file != "app.py":
        app.switch_page(file)
    app.query_params.update(query)
    for key, value in values.items():
        app.session_state[key] = value
    return app.run()


@cache
def all_releases_exist() -> bool:
    """Let the page that simulates most releases finish. Pages share releases, so later runs find the same numbers."""
    return all(opened("Choose") for _ in range(2))


@cache
def usual(page: str) -> tuple[str, tuple[str, ...], frozenset[str]]:
    """Return the text of the page in a new session, the keys of its state, and the keys that hold text."""
    assert all_releases_exist()
    app = opened(page)
    assert not app.exception
    pressed = [element.proto.id for kind in PRESSED for element in app.get(kind)]  # an id ends with the key
    values = app.session_state._state.filtered_state
    keys = [key for key in values if not any(name.endswith(f"-{key}") for name in pressed)]
    for key in keys:
        declared = state.declared(key)
        is_button = declared is None and values[key] is False  # a button that is visible in some runs only
        assert is_button or (declared is not None and declared.fits(values[key])), (key, values[key])
    return words(app), tuple(sorted(keys)), frozenset(field.key for field in app.text_input if field.key)


def keys_of(page: str) -> list[str]:
    return sorted({*usual(page)[1], *state.names()})


def check(page: str, values: dict[str, object]) -> None:
    """Open a page with these values. Check that two runs show the same text as a session without the values."""
    typed = usual(page)[2] | NOTES  # users may type any text into these fields
    app = opened(page, **{k: None if k in typed and isinstance(value, str) else value for k, value in values.items()})
    for _ in range(2):
        assert not app.exception, (app.exception[0].message, app.exception[0].stack_trace[-6:], values)
        assert words(app) == usual(page)[0]
        app.run()


def strange(key: str, shift: int) -> object:
    """Return an unexpected value for a key. This value depends on no other key, so a new key changes no other case."""
    # The value is copied, because the app may change a list of the session, and an empty list can be a valid choice.
    return deepcopy(STRANGE[(zlib.crc32(key.encode()) + shift) % len(STRANGE)])


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("shift", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, len(STRANGE)))])
def test_strange_values_under_all_keys_are_dropped(page, shift):
    keys = keys_of(page)
    assert len(keys) > 20
    check(page, {key: strange(key, shift) for key in keys})


@pytest.mark.slow
@pytest.mark.parametrize("page", ["Explore", "Choose", "Lesson"])
def test_a_strange_value_under_one_key_is_dropped(page):
    keys = keys_of(page)
    for key in keys:
        check(page, {key: strange(key, 0)})


@pytest.mark.parametrize("key", ["to_node", "down_0"])
def test_a_choice_that_arrives_after_the_tree_changed_is_dropped(key):
    """The app drops a choice for the previous tree if the choice arrives after the tree has changed.

    In an earlier version, such a choice caused a `TypeError` in every later run.
    """
    app = opened("Explore")
    states = app._tree.get_widget_states()
    (sent,) = [state for state in states.widgets if state.id.endswith(f"-{key}")]
    if key == "to_node":
        sent.string_value = "level 9: of another tree"
    else:
        sent.string_array_value.data[:] = ["of another tree"]
    app._run(states)  # AppTest itself can only send existing options
    for _ in range(2):
        assert not app.exception and "from the root" in words(app)
        app.run()


def test_a_node_that_the_tree_does_not_have_is_forgotten():
    app = opened("Explore")
    question = app.selectbox(key="to_node")
    question.select_index(2).run()
    assert not app.exception and "from here on" in words(app)
    structure, _ = app.session_state["focus"]
    for node in ("level 2", None, 1.5, -1, 10**30):
        app.session_state["focus"] = (structure, node)
        app.run()
        assert not app.exception and "from the root" in words(app) and "focus" not in app.session_state
