"""The rules of docs/STYLE.md that a program can check: names, phrases, spelling, and places of `fmt: skip`.

`style_debt.txt` counts the places in each file that still break a rule; `python -m tests.style_debt` writes this list.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.style_debt import HOME, Break, check

NAME_PARTS = {
    *("own", "said", "told", "found", "beside"),
    *("misfit", "misfits", "stakes", "patience", "awaited", "roomy"),
}
FILE_NAMES = {"parts.py", "options.py"}
FILE_NAME_PARTS = {"misc", "util", "utils", "helpers"}
ONCE = {"controls.py", "boosting.py"}

# Phrases to avoid, as regular expressions, and their replacements.
PHRASES = {
    r"told wrong": "misclassified",
    r"(leaves|trees|forests) say": "hold, release, predict, vote for",
    r"one['’]s own": "your own, uploaded",
    r"of (its|their) own": "its own ..., separate",
    r"(said|told) (of|about)": "the message about",
    r"(is|are|was|were|be|been) said": "is reported, is stated",
    r"(is|are|was|were|be|been) told(?! apart)": "is reported, the page says",
    r"as (it comes|they come)": "with default settings",
    r"ways? in": "input format",
    r"rows behind": "effective number of rows",
    r"the door": "dpforest/privacy/",
    r"the house": "the code base, the project",
    r"(to|can) be had": "is available",
    r"that (is|are) none": "not a valid ..., unknown",
    r"mend(s|ed|ing)?": "fix, correct",
    r"what there is": "the available ...",
    r"stands? beside": "is next to, is reported with",
    r"speaks? for": "votes for",
    r"nothing to lose": "no headroom",
    r"misfits?": "cells outside of the domain",
    r"stakes": "headroom",
    r"patience": "time budget",
    r"awaited": "interactive",
    r"roomy": "overwide",
}

BRITISH = re.compile(
    r"neighbour|catalogue|colour|behaviour|favour|honour|labour|licence|defence|offence|centre\b|fibre\b|grey|artefact"
    r"|judgement|whilst|learnt|modell(ed|ing)|labell(ed|ing)|analys(e|ed|es|ing)\b"
    r"|(normal|optim|minim|maxim|summar|organ|recogn|random|general|initial|serial|visual|quant|discret|material"
    r"|regular|parametr|standard|anonym|categor|character|custom|final|special|synchron|util|penal|binar)"
    r"is(e|ed|es|er|ers|ing|ation|ations)\b",
    re.IGNORECASE,
)
# British words that these files need, because they quote old links, old forest files, or texts by others.
BRITISH_ALLOWED = {
    "data/ATTRIBUTION.md": {"catalogue"},
    "docs/STYLE.md": {"neighbour", "catalogue", "colour", "normalise"},
    "dpforest/plotting/board_pictures.py": {"grey"},
    "dpforest/tables/datasets.py": {"catalogue", "licence"},
    "dpforest/trees/forest_file.py": {"neighbour", "normalised"},
    "dpforest/verify.py": {"neighbour"},
    "tests/trees/test_forest_files.py": {"neighbour"},
    "ui/shared/link.py": {"neighbour"},
}
# The phrases and the spelling of these files are not checked. The first two describe earlier versions in the words of
# that time. The others are reports of measurements, which programs write.
HISTORY = {"CHANGELOG.md", "WHAT-WE-LEARNED.md", "bench/RESULTS.md", "docs/ACCURACY.md", "docs/REPRODUCED.md"}


@cache
def tracked(*suffixes: str) -> list[tuple[str, str]]:
    """Return path and text of each file of the project with one of these endings."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=HOME, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.split("\0") if path.endswith(suffixes) and (HOME / path).exists()]
    return [(path, (HOME / path).read_text(encoding="utf-8")) for path in paths]


@cache
def syntax_trees() -> list[tuple[str, ast.Module]]:
    return [(path, ast.parse(text)) for path, text in tracked(".py")]


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that a module binds (variable, attribute, parameter, function, class, alias), with its line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, line
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, line
            case ast.arg(arg=name) | ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name, line


@cache
def parts(name: str) -> frozenset[str]:
    """The words of a name.

    >>> sorted(parts("_own_rowsBeside_2")), sorted(parts("RowsOwn"))
    (['2', 'beside', 'own', 'rows'], ['own', 'rows'])
    """
    return frozenset(word.lower() for word in re.split(r"_+|(?<=[a-z])(?=[A-Z])", name) if word)


def prose_of_code(path: str, text: str, tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield pieces of prose with their lines: docstrings, comments, and all strings of the app."""
    if path.startswith(("ui/", "pages/", "app.py")):
        strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    else:
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        strings = [node.value for node in nodes if isinstance(node.value, ast.Constant)]
    yield from ((node.value, node.lineno) for node in strings if isinstance(node.value, str))
    block, start, last = "", 0, -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield block, start
                block, start = "", token.start[0]
            block += token.string.lstrip("# ") + "\n"
            last = token.start[0]
    yield block, start


def name_breaks() -> Iterator[Break]:
    for path, tree in syntax_trees():
        for name, line in bound_names(tree):
            if parts(name) & NAME_PARTS:
                yield Break("name", path, line, name)


def file_name_breaks() -> Iterator[Break]:
    paths = [Path(path) for path, _ in tracked(".py")]
    seen = Counter(path.name for path in paths)
    for path in paths:
        words = parts(path.stem) | {part for folder in path.parts[:-1] for part in parts(folder)}
        is_repeated = path.name in ONCE and seen[path.name] > 1
        if is_repeated or path.name in FILE_NAMES or words & (FILE_NAME_PARTS | NAME_PARTS):
            yield Break("file", path.as_posix(), 1, path.name)


def phrase_breaks() -> Iterator[Break]:
    keys = [re.sub(" ", r"\\s+", key) for key in PHRASES]
    anything = re.compile(r"\b(?:" + "|".join(keys) + r")\b", re.IGNORECASE)
    pieces = [(path, text, 1) for path, text in tracked(".md") if path not in HISTORY | {"docs/STYLE.md"}]
    for (path, text), (_, tree) in zip(tracked(".py"), syntax_trees(), strict=True):
        pieces += [(path, piece, line) for piece, line in prose_of_code(path, text, tree)]
    for path, piece, line in pieces:
        for hit in anything.finditer(piece):
            better = next(new for key, new in zip(keys, PHRASES.values()) if re.match(key, hit.group(0), re.IGNORECASE))
            yield Break("phrase", path, line + piece[: hit.start()].count("\n"), f"{hit.group(0)!r}: better {better}")


def spelling_breaks() -> Iterator[Break]:
    for path, text in tracked(".py", ".md", ".js", ".css", ".html"):
        if path in HISTORY or path == "tests/test_style.py":
            continue
        for hit in BRITISH.finditer(text):
            if not any(hit.group(0).lower().startswith(word) for word in BRITISH_ALLOWED.get(path, ())):
                yield Break("spelling", path, text[: hit.start()].count("\n") + 1, hit.group(0))


def skip_breaks() -> Iterator[Break]:
    """Yield each `fmt: skip` on a statement that is not mostly numbers."""
    for (path, text), (_, tree) in zip(tracked(".py"), syntax_trees(), strict=True):
        lines = [n for n, line in enumerate(text.splitlines(), 1) if re.search(r"# fmt: (skip|off)\b", line)]
        for line in lines:
            innermost = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.end_lineno == line][-1]
            keys = {key for node in ast.walk(innermost) if isinstance(node, ast.Dict) for key in node.keys}
            values = [n.value for n in ast.walk(innermost) if isinstance(n, ast.Constant) and n not in keys]
            if 2 * sum(re.fullmatch(r"[\d. e+-]+|True|False", str(value)) is not None for value in values) < len(
                values
            ):
                yield Break("skip", path, line, "fmt: skip is for tables of numbers")


CHECKS = {
    "name": name_breaks,
    "file": file_name_breaks,
    "phrase": phrase_breaks,
    "spelling": spelling_breaks,
    "skip": skip_breaks,
}


@pytest.mark.parametrize("rule", CHECKS)
def test_each_file_keeps_the_rule_or_has_the_debt_that_is_listed(rule):
    check(rule, CHECKS[rule]())


def test_words_of_the_list_are_detected():
    source = "class RowsOwn:\n    def f(self, told):\n        self.said_size = found = 1  # As it\n        # comes.\n"
    names = [name for name, _ in bound_names(ast.parse(source)) if parts(name) & NAME_PARTS]
    assert sorted(names) == ["RowsOwn", "found", "said_size", "told"]
    assert [piece for piece, _ in prose_of_code("dpforest/x.py", source, ast.parse(source)) if piece] == [
        "As it\ncomes.\n"
    ]
    assert BRITISH.search("normalised") and BRITISH.search("n_neighbours")
    assert not BRITISH.search("optimistic, finalists, analysis, promise, centered")
