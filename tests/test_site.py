"""The documentation site: every code block runs, every link resolves, every public name has a page.

Only the last test needs Sphinx with the extra "docs". It builds the site.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

import dpforest
import dpforest.book
from dpforest.__main__ import main
from tests.style_debt import HOME

SITE = HOME / "docs" / "site"
_spec = importlib.util.spec_from_file_location("documents", SITE / "documents.py")
assert _spec and _spec.loader
documents = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(documents)

PAGES = [path.relative_to(SITE).as_posix() for path in documents.pages()]
BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Commands that install something. tests/test_wheel.py installs the package, and scripts/run opens the app.
NOT_RUN = {"tour.md": ["scripts/run", "pip install .", "pip install '.[app]'"]}


def source(page: str) -> str:
    return (SITE / page).read_text(encoding="utf-8")


@cache
def whole_text(page: str) -> str:
    """Return the text of a page with the documents that it includes."""
    return documents.with_documents(source(page), SITE / page)


def blocks(page: str) -> Iterator[tuple[str, str, int]]:
    """Yield language, text and line of each block that the page itself has."""
    text = source(page)
    for match in BLOCK.finditer(text):
        yield match[1], match[2], text[: match.start()].count("\n") + 1


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", BLOCK.sub("", text))


# ---------------------------------------------------------------- code blocks


def command(words: str) -> None:
    """Run a command line that begins with dpforest, and print all that it writes."""
    name, *arguments = shlex.split(words.replace("\\\n", " "))
    assert name == "dpforest", f"only the command dpforest runs in a block: {words}"
    with contextlib.redirect_stderr(sys.stdout):
        main(arguments)


def examples(page: str) -> Iterator[doctest.Example]:
    """Yield what a page runs and what it prints: Python after `>>>`, and commands after `$`."""
    for language, text, line in blocks(page):
        if language == "pycon":
            for example in doctest.DocTestParser().get_examples(text):
                example.lineno += line
                yield example
        elif language == "console":
            for words, want in re.findall(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                yield doctest.Example(f"command({words!r})\n", want, lineno=line)


@pytest.mark.parametrize("page", [page for page in PAGES if any(examples(page))])
def test_every_code_block_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPFOREST_DATA_DIR", str(tmp_path / "data"))
    names = {"__name__": "__main__", "command": command}
    test = doctest.DocTest(list(examples(page)), names, page, str(SITE / page), 0, source(page))
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


def test_every_code_block_is_run_or_installs_something():
    for page in PAGES:
        for language, text, line in blocks(page):
            if language == "sh":
                commands = [re.sub(r" +#.*", "", words) for words in text.splitlines()]
                assert commands == NOT_RUN.get(page), f"{page}:{line}"
            else:
                assert language in ("pycon", "console", "{include}", "{toctree}", "{eval-rst}", "{curve}", "{bars}"), (
                    f"{page}:{line}"
                )


# ---------------------------------------------------------------- links


def anchors(text: str) -> set[str]:
    """Return the anchors that MyST gives to headings, as GitHub does.

    >>> sorted(anchors("# A row, or two?\\n## What `x_y` is"))
    ['a-row-or-two', 'what-x_y-is']
    """
    headings = re.findall(r"^#{1,4} (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_resolves(page):
    for match in re.finditer(r"(!?)\[[^\]]+\]\(([^)#\s]*)(?:#([^)\s]+))?\)", without_code(whole_text(page))):
        is_image, target, anchor = match.groups()
        if re.match(r"https?:", target):
            assert not is_image, f"{page}: {match[0]}"
            continue
        path = (SITE / page).parent / target if target else SITE / page
        folder = HOME if is_image else SITE
        assert path.exists() and path.resolve().is_relative_to(folder), f"{page}: {match[0]}"
        if anchor:
            assert anchor in anchors(whole_text(path.resolve().relative_to(SITE).as_posix())), f"{page}: {match[0]}"


def test_no_source_of_the_site_loads_anything_from_another_server():
    for path in [*SITE.glob("_static/*"), *SITE.rglob("_templates/**/*.*"), SITE / "conf.py"]:
        assert "//" not in re.sub(r"#.*|https?://www\.w3\.org/\S*", "", path.read_text(encoding="utf-8")), path


# ---------------------------------------------------------------- names


@cache
def names_of_the_api() -> list[str]:
    return re.findall(r"^   ~(dpforest\.[\w.]+)$", source("api/index.md"), re.MULTILINE)


def imported_names(text: str) -> Iterator[str]:
    for module, names in re.findall(r"^(?:>>> )?from (dpforest[\w.]*) import ([\w, ]+)$", text, re.MULTILINE):
        yield from (f"{module}.{name.strip()}" for name in names.split(","))


def test_every_public_name_has_a_page():
    public = {f"dpforest.{name}" for name in dpforest.__all__}
    public |= {f"dpforest.book.{name}" for name in dpforest.book.__all__}
    for text in [*map(whole_text, PAGES), (HOME / "README.md").read_text(encoding="utf-8")]:
        public |= set(imported_names(text))
    assert public - set(names_of_the_api()) == set()
    assert len(names_of_the_api()) == len(set(names_of_the_api()))


def test_every_name_with_a_page_exists_and_has_a_docstring():
    assert [name for name in names_of_the_api() if not inspect.getdoc(resolve_name(name))] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_name_that_a_page_links_has_a_page(page):
    links = re.findall(r"\{py:obj\}`~?([\w.]+)`", source(page))
    assert set(links) - set(names_of_the_api()) == set()


def test_every_estimator_has_an_example():
    estimators = [name for name in dpforest.__all__ if name.endswith("Classifier")]
    openings = [source(page).partition("```")[0] for page in PAGES if page.startswith("gallery/")]
    assert len(estimators) == 9
    assert [name for name in estimators if not any(f"`~dpforest.{name}`" in text for text in openings)] == []


# ---------------------------------------------------------------- the built site


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_another_server(tmp_path):
    for module in ("myst_parser", "pydata_sphinx_theme"):
        if importlib.util.find_spec(module) is None:
            pytest.skip("needs the extra 'docs' (scripts/site installs it)")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", tmp_path / "doctrees"]
    done = subprocess.run([*build, SITE, tmp_path / "html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert foreign_resources(tmp_path / "html") == []
    for name in names_of_the_api():
        assert (tmp_path / "html" / "api" / "generated" / f"{name}.html").exists()


def foreign_resources(folder: Path) -> list[str]:
    """Return all places in built files that make a browser load something from another server."""
    in_page = re.compile(
        r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|srcset|data)=[\"'](?:https?:)?//"
        r"|<link\b[^>]*\brel=[\"'](?:stylesheet|preload|preconnect|icon|modulepreload|dns-prefetch)[^>]*"
        r"\bhref=[\"'](?:https?:)?//|<link\b[^>]*\bhref=[\"'](?:https?:)?//[^>]*\brel=[\"'](?:stylesheet|preload|icon)"
    )
    in_style = re.compile(r"url\(\s*[\"']?(?:https?:)?//|@import\s+[\"'](?:https?:)?//")
    places = []
    for path in folder.rglob("*"):
        if path.suffix in (".html", ".css", ".svg"):
            text = path.read_text(encoding="utf-8")
            hits = [*in_style.findall(text), *(in_page.findall(text) if path.suffix == ".html" else ())]
            places += [f"{path.relative_to(folder)}: {hit}" for hit in hits]
    return places
