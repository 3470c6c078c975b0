"""Every key of a session's state is declared in `ui/state.py`, and no other file writes one as text."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.elements.widgets.data_editor import DataEditorState

from ui import state

HOME = Path(__file__).parents[2]
FILES = [HOME / "app.py", *(HOME / "pages").glob("*.py"), *(HOME / "ui").rglob("*.py")]
SOURCES = {f.relative_to(HOME).as_posix(): ast.parse(f.read_text(encoding="utf-8")) for f in sorted(FILES)}
# The keys of these elements only identify the elements; no code reads their values. A lesson's `Step` is no widget.
NO_VALUE = {"button", "chart", "container", "download_button", "drawn", "expander", "plotly_chart", "table", "Step"}
CHECKS = {
    *("drop", "drop_list_with_unknown", "drop_out_of_bounds", "drop_unknown"),
    *("choose_epsilon", "follow", "put_epsilon", "select"),
}


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_session(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "session_state"


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def keys(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every expression that is a key of the session's state."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and is_session(node.value):
            yield node.slice
        elif isinstance(node, ast.Compare) and any(map(is_session, node.comparators)):
            yield node.left
        elif isinstance(node, ast.Call):
            name = name_of(node)
            if isinstance(node.func, ast.Attribute) and is_session(node.func.value):
                yield from node.args[:1]
                yield from (ast.Constant(keyword.arg) for keyword in node.keywords)
            elif name in CHECKS:
                yield from node.args[2:3] if name == "select" else node.args[:1]
            if name not in NO_VALUE:
                yield from (keyword.value for keyword in node.keywords if keyword.arg == "key")


@pytest.mark.parametrize("file", [name for name in SOURCES if name != "ui/state.py"])
def test_keys_are_not_written_as_text(file):
    assert [ast.unparse(key) for key in keys(SOURCES[file]) if is_text(key)] == []


def test_keys_written_as_text_are_detected():
    code = """
st.session_state["a"] = f"b{n}" in st.session_state
st.session_state.update(c=1)
drop_unknown("d", options); select("Title", options, "e", "help"); st.slider("Title", key="f")
st.button("Title", key="g")
"""
    texts = {ast.unparse(key) for key in keys(ast.parse(code)) if is_text(key)}
    assert texts == {"'a'", "f'b{n}'", "'c'", "'d'", "'e'", "'f'"}


def test_a_control_puts_its_value_into_the_link_if_its_key_says_so():
    for file, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node) not in {"replace", "Option"}:
                given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                key = given.get("key", "").removeprefix("state.")
                if isinstance(declared := getattr(state, key, None), state.Key):
                    assert declared.linked == ("bind" in given), (file, key)


def test_every_declaration_is_used_and_named_once():
    declared = {name: value for name, value in vars(state).items() if isinstance(value, state.Key | state.KeyPattern)}
    names = [value if isinstance(value, state.Key) else value.pattern for value in declared.values()]
    assert len(names) == len(set(names)) > 100
    code = "\n".join(ast.unparse(tree) for file, tree in SOURCES.items() if file != "ui/state.py")
    assert [name for name in declared if f"state.{name}" not in code] == []


def test_a_key_made_for_an_item_has_the_declaration_of_its_kind():
    key = state.LEFT_OUT_OF("1234abcd")
    assert key == "left_out_1234abcd" and key.kind is list
    declared = state.declared("left_out_1234abcd")
    assert declared == key and declared.kind is list
    assert state.declared("a3") == state.ALPHA_AT(3) and state.declared("a3").kind is float
    assert state.declared("attack") is None and state.declared("ask_1_what").kind is object


def test_a_value_fits_by_its_type_and_its_range():
    assert state.NOISE_DRAWN.fits(3) and not state.NOISE_DRAWN.fits(True) and not state.NOISE_DRAWN.fits(-1)
    assert state.FIGURE_FAILURES.fits(["a"]) and not state.FIGURE_FAILURES.fits(["a", 1])
    assert not state.HANDED_OVER.fits("forest")


def test_the_cells_that_a_user_edits_are_kept():
    """The app keeps edited cells, although their class is a subclass of dict.

    An earlier version dropped such values, so that edits had no effect.
    """
    edits = DataEditorState({"edited_rows": {1: {"lowest": "2"}}, "added_rows": [], "deleted_rows": []})
    assert state.EDITOR("abc").fits(edits) and not state.EDITOR("abc").fits([])
