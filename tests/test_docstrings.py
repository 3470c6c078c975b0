"""Docstrings of the public API against numpydoc: sections, parameters and their order, returns and errors."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import dpforest
from tests.style_debt import HOME

# Checks that are switched off, with the reason.
OFF = {
    "ES01": "a summary may be enough",
    "EX01": "examples are for the functions that docs/LIBRARY.md shows, not for each function",
    "SA01": "texts name related functions where this helps",
    "SS05": "the check mistakes plural nouns for verbs",
    "PR04": "`as in` another class is a type",
    "PR08": "a description may begin with α, which is no capital letter",
    "RT04": "a description may begin with float64, which is no capital letter",
}
LIBRARY = HOME / "docs" / "LIBRARY.md"
MODULES = sorted(set(re.findall(r"^from (dpforest\.[\w.]+) import", LIBRARY.read_text(encoding="utf-8"), re.MULTILINE)))


def is_ours(thing: Any) -> bool:
    return getattr(thing, "__module__", "").startswith("dpforest")


def functions() -> Iterator[str]:
    """Yield the names in `dpforest`, and the public functions of the modules that docs/LIBRARY.md imports from."""
    yield from (f"dpforest.{name}" for name in dpforest.__all__)
    for module in MODULES:
        for name, thing in vars(importlib.import_module(module)).items():
            if inspect.isfunction(thing) and thing.__module__ == module and not name.startswith("_"):
                yield f"{module}.{name}"


def methods() -> Iterator[str]:
    """Yield the public methods of classes in these modules, each under the class that defines it."""
    things = [getattr(dpforest, name) for name in dpforest.__all__]
    for module in MODULES:
        things += [t for t in vars(importlib.import_module(module)).values() if getattr(t, "__module__", "") == module]
    classes = [thing for thing in things if inspect.isclass(thing)]
    routines = [
        f for c in classes for name, f in inspect.getmembers(c, inspect.isroutine) if name[0] != "_" and is_ours(f)
    ]
    yield from sorted({f"{f.__module__}.{f.__qualname__}" for f in routines})


FUNCTIONS, METHODS = list(functions()), list(methods())


def faults(name: str) -> list[str]:
    return [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in OFF]


def test_modules_of_the_readme_are_documented():
    assert "dpforest.simulation.sweep" in MODULES and "dpforest.risk.tradeoff" in MODULES


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_are_documented(name):
    assert faults(name) == []


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_documented(name):
    """A method has a one-line docstring, or a docstring whose sections document all parameters and the result."""
    is_sentence = "\n" not in (inspect.getdoc(resolve_name(name)) or "\n")
    assert [f for f in faults(name) if not (is_sentence and f.startswith(("PR01", "RT01")))] == []


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_raised_errors_are_documented(name):
    thing = resolve_name(name)
    if inspect.isclass(thing) or "\n" not in (inspect.getdoc(thing) or ""):
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    calls = [node.exc.func for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    raised = {call.id for call in calls if isinstance(call, ast.Name)}
    assert raised <= {entry.type for entry in get_doc_object(thing)["Raises"]}
