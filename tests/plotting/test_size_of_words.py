"""No figure sets the size of its words, because the page sets it: 14 pixels, and more in presentation mode."""

import ast
from pathlib import Path

import pytest

from dpforest import plotting

FILES = sorted(Path(plotting.__file__).parent.glob("*.py"))
LEAST = 14


def sizes(tree: ast.AST) -> list[float]:
    """Return font sizes in `font={"size": 12}`, `"tickfont": {"size": 12}` and `font_size=12`, at any depth."""
    named = [(k.arg, k.value) for k in ast.walk(tree) if isinstance(k, ast.keyword) and k.arg]
    for made in ast.walk(tree):
        if isinstance(made, ast.Dict):
            named += [(k.value, v) for k, v in zip(made.keys, made.values, strict=True) if isinstance(k, ast.Constant)]
    values = []
    for name, value in named:
        if str(name).endswith("font") and isinstance(value, ast.Dict):
            inner = zip(value.keys, value.values, strict=True)
            values += [v for k, v in inner if isinstance(k, ast.Constant) and k.value == "size"]
        elif str(name).endswith("font_size"):
            values.append(value)
    return [value.value for value in values if isinstance(value, ast.Constant)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_words_are_small(file):
    assert [size for size in sizes(ast.parse(file.read_text("utf-8"))) if size <= LEAST] == []


def test_small_words_are_detected():
    for code in ('f(font={"color": "red", "size": 12})', '{"legend": {"font": {"size": 12}}}', "f(tickfont_size=12)"):
        assert sizes(ast.parse(code)) == [12]
    assert sizes(ast.parse('f(marker={"size": 6})')) == []
