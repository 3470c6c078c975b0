"""Text from data is escaped exactly once for Streamlit's markdown. If it were escaped twice, backslashes would show."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
ESCAPING = {"plain", "sorry"}  # these functions escape their text
NO_MARKDOWN = {"selectbox", "multiselect", "select_slider"}  # Streamlit shows their options without markdown


def sources() -> list[Path]:
    return [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py")), *sorted((ROOT / "ui").rglob("*.py"))]


def calls(tree: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names:
            yield node


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_escaped_text_is_not_escaped_again(path):
    for call in calls(ast.parse(path.read_text(encoding="utf-8")), ESCAPING):
        given = [inner for value in call.args for inner in calls(value, {"plain"})]
        assert not given, f"line {call.lineno}: {ast.unparse(call)}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_options_that_streamlit_shows_as_they_are_are_not_escaped(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    escaping = {f.name for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and any(calls(f, {"plain"}))}
    for call in calls(tree, NO_MARKDOWN):
        for keyword in call.keywords:
            if keyword.arg == "format_func":
                named = {node.id for node in ast.walk(keyword.value) if isinstance(node, ast.Name)}
                assert not named & {"plain", *escaping}, f"line {call.lineno}: {ast.unparse(keyword.value)}"


def test_the_letters_of_a_room_that_is_not_there_are_escaped_once():
    page = AppTest.from_file("../../app.py", default_timeout=600).switch_page("pages/5_Lesson.py")
    page.run().text_input(key="room_letters").set_value("a_b*").run()
    (box,) = page.warning
    assert "There is no room A\\_B\\*, or it is closed." in box.value
