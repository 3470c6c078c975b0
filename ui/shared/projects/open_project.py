"""The project of an attached file. The app opens the project with the file, applies it to the domain, and saves it.

The content of a project is what the user stated about the file (`ui.shared.projects.content`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

import streamlit as st

from dpforest.book import Book, BookError, StaleProjectError
from ui import state
from ui.releasing import session_ledger
from ui.releasing.app_book import is_kept, kept_book
from ui.releasing.population_question import NEW as NEW_PEOPLE
from ui.shared import tables
from ui.shared.page import sorry
from ui.shared.projects import content, forest_settings
from ui.shared.tables import Table
from ui.shared.wording import plain

NEW: Final = "a new project"
# The answers to the first question of the Data tab. They repeat texts of `ui.explore.unit_question`, because
# `ui.shared` may not import `ui.explore`.
ANSWER_OF: Final = {
    content.PERSONS: "Each row is a different person",
    content.SEVERAL: "One person can have several rows",
    content.COLUMN: "One person can have several rows",
}

WHAT_STAYS: Final = (
    " Projects stay, too, and so do the bookings and records of releases. They hold no rows, but their names may "
    "contain the names of your files. You can delete them on the page “Releases”."
)
_STALE: Final = (
    "The project **{name}** was changed in another tab or window, so your later changes here are not saved. “Load the "
    "newer state” replaces them."
)
_GONE: Final = "The project **{name}** was deleted or renamed in another window. The app no longer saves your changes."


@dataclass(eq=False)
class OpenProject:
    """The project of one attached file, for this session.

    Attributes
    ----------
    revision : int
        Revision number of the project in the book when this session last read or wrote it; 0 before the project is
        saved for the first time.
    saved : dict or None
        Content in the book; None before the project is saved for the first time.
    question : str
        Question that the user must answer before the content is applied or saved; empty if there is none.
    schema_key : str
        Key of the table, label and columns (`Table.schema_key`) to which the content was last applied.
    unused : frozenset of str
        Attributes of the content that did not fit the file.
    sentences : tuple of str
        Messages about statements of the project that did not fit the file.
    problem : str
        Message that explains why changes are no longer saved; empty while they are saved.
    is_gone : bool
        Whether the project was deleted from the book, for example in another tab.
    inputs : tuple
        Values from which the saved content was made. While they stay the same, nothing is computed or saved.
    """

    name: str
    revision: int = 0
    saved: dict[str, Any] | None = None
    question: str = ""
    schema_key: str = ""
    unused: frozenset[str] = frozenset()
    sentences: tuple[str, ...] = ()
    problem: str = ""
    is_gone: bool = False
    inputs: tuple = field(default=(), repr=False)


def of_file(digest: str) -> OpenProject | None:
    """Return the project of an attached file; None if no book is kept or the book could not be read."""
    project = st.session_state.get(state.PROJECTS, {}).get(digest)
    return project if isinstance(project, OpenProject) else None


def open_for(digest: str, file_name: str, columns: list[str]) -> None:
    """Open the chosen project of a file, or start one. Call this function before the control of the label is drawn."""
    if not is_kept() or of_file(digest) is not None:
        return
    try:
        book = kept_book()
        assert book is not None
        _open(book, digest, file_name, columns)
    except BookError as problem:
        sorry(problem)


def _open(book: Book, digest: str, file_name: str, columns: list[str]) -> None:
    names, chosen = book.projects(), state.CHOSEN_PROJECT.pop()
    replaced = next(reversed(state.PROJECTS.value.values()), None) if chosen is None else None
    name = replaced.name if isinstance(replaced, OpenProject) else chosen
    if name not in names:
        start_new(book, digest, file_name)
        return
    saved, revision = book.project(name)
    project = OpenProject(name, revision, saved)
    if doubt := content.doubt(saved, columns):
        project.question = f"{doubt} Is it the right file for the project “{name}”?"
    elif replaced is None and not _may_belong(file_name, name):
        project.question = f"Is “{file_name}” the right file for the project “{name}”?"
    elif replaced is not None:
        project.question = f"Is this file for the project “{name}”, too?"
    state.PROJECTS.value[digest] = project
    if project.question:
        state.POPULATION.pop()  # the chosen population may belong to an earlier file
    else:
        _prepare(book, project, digest)


def _may_belong(file_name: str, project: str) -> bool:
    """Return whether a file has the name of a project. A number in parentheses, as in "visits (1).csv", is ignored.

    >>> [_may_belong(file, "visits") for file in ("visits (1).csv", "visits of 2025.csv", "(1).csv")]
    [True, False, False]
    """
    stem, name = (re.sub(r" ?\(\d+\)$", "", text).casefold() for text in (PurePath(file_name).stem, project))
    return stem == name != ""


def start_new(book: Book, digest: str, file_name: str) -> None:
    """Start a project whose name comes from the file's name. `save` writes it at the end of the run."""
    state.POPULATION.pop()
    state.PROJECTS.value[digest] = OpenProject(free_name(book, PurePath(file_name).stem))


def free_name(book: Book, wish: str) -> str:
    """Return a name that no project has: the wanted name, or the wanted name with a number."""
    wish = "".join(letter for letter in " ".join(wish.split()) if letter.isprintable())[:180].strip() or "project"
    taken, n = book.projects(), 2
    while (name := wish if n == 2 else f"{wish} ({n - 1})") in taken:
        n += 1
    return name


def answer(digest: str, file_name: str, *, is_right: bool) -> None:
    """Apply the answer to the question whether a file belongs to its project. Call this before a page is drawn."""
    project = of_file(digest)
    try:
        book = kept_book()
        if project is None or book is None:
            return
        if not is_right:
            start_new(book, digest, file_name)
            return
        project.question = ""
        _prepare(book, project, digest)
        forest_settings.put((project.saved or {}).get("settings", {}))
    except BookError as problem:
        sorry(problem)


def load_newer(digest: str) -> None:
    """Read the project from the book again. If the project was deleted there, let the next `save` write it again."""
    project = of_file(digest)
    try:
        book = kept_book()
        if project is None or book is None:
            return
        project.inputs, project.problem = (), ""
        if project.name not in book.projects():
            project.revision = 0
            return
        project.saved, project.revision = book.project(project.name)
        state.SCHEMAS.value.pop(project.schema_key, None)
        project.schema_key = ""
        _prepare(book, project, digest)
        forest_settings.put(project.saved["settings"])
    except BookError as problem:
        sorry(problem)


def _prepare(book: Book, project: OpenProject, digest: str) -> None:
    """Set the label, the answer about persons, the texts of the record, and the population, as the project states them.

    Call this function before the controls of these values are drawn.
    """
    saved = project.saved or {}
    state.LABELS.value[digest] = state.LABEL_OF(digest[:8]).value = saved["label"]
    if whose := ANSWER_OF.get(saved["whose_rows"]):
        state.WHOSE_ROWS(digest[:12]).value = whose
    else:
        state.WHOSE_ROWS(digest[:12]).pop()
    if saved["unit"] is not None:
        state.PERSON_COLUMN(digest[:12]).value = saved["unit"]
    state.RECORD_WORDS.value[digest] = {name: saved.get(name, "") for name in content.WORDS}
    state.POPULATION.pop()
    if saved["population"] in {population.name for population in book.populations()}:
        state.POPULATION.value = saved["population"]


def apply(table: Table) -> bool:
    """Apply the content to the table's domain, once for each `schema_key`. Return whether the domain has changed."""
    project = of_file(table.key)
    if project is None or project.question or project.schema_key == table.schema_key:
        return False
    if project.saved is None:
        project.schema_key = table.schema_key
        return False
    assert table.csv is not None
    result = content.applied(project.saved, table.domain, [column.name for column in table.csv.columns])
    if not project.schema_key:
        whose, unit = project.saved["whose_rows"], result.domain.unit
        is_several = whose == content.SEVERAL or (whose == content.COLUMN and unit is None)
        if whose:
            tables.keep_unit_answer(table, unit, several=is_several)
    project.schema_key, project.sentences, project.unused = table.schema_key, result.sentences, result.unused
    if result.domain == table.domain:
        return False
    tables.edit(table, result.domain)
    return True


def save(table: Table, settings_of_page: Callable[[], dict[str, Any]] | None = None) -> None:
    """Save the project if its content has changed. Without `settings_of_page`, the earlier settings of the forest stay.

    Call this function after the controls of the table and of the forest are drawn.
    """
    project = of_file(table.key)
    if project is None or project.question:
        return
    if not project.problem:
        before = project.saved or {}
        answers = state.RECORD_WORDS.value.get(table.key, before)
        words = {name: answers.get(name, "") for name in content.WORDS}
        settings = settings_of_page() if settings_of_page else before.get("settings", {})
        population = _population(table) or before.get("population", "")
        inputs = (table.domain, whose_rows(table), settings, population, words)
        if inputs == project.inputs:
            return
        new = content.content_of(*inputs, before=project.saved, unused=project.unused)
        _save(project, new)
        if not project.problem:
            project.inputs = inputs
    if project.problem:
        st.warning(project.problem.format(name=plain(project.name)), icon=":material/sync_problem:")
        label = "Save it again" if project.is_gone else "Load the newer state"
        st.button(label, key="load_newer", on_click=load_newer, args=(table.key,))


def _save(project: OpenProject, new: dict[str, Any]) -> None:
    if project.saved is not None and project.revision and content.as_text(new) == content.as_text(project.saved):
        return
    try:
        if (book := kept_book()) is None:
            return
        if project.saved is None:
            project.name = free_name(book, project.name)  # another tab may meanwhile have used this name
        try:
            project.revision, project.saved = book.save_project(project.name, new, project.revision), new
        except StaleProjectError:
            project.is_gone = project.name not in book.projects()
            project.problem = _GONE if project.is_gone else _STALE
    except BookError as problem:
        sorry(problem)


def whose_rows(table: Table) -> str:
    """Return the user's answer to the question whose rows these are, as one of `content.ANSWERS`."""
    if table.domain.unit is not None:
        return content.COLUMN
    if table.key in state.PERSONS_WITHOUT_COLUMN.value:
        return content.SEVERAL
    return content.PERSONS if table.key in state.ROWS_ARE_PERSONS.value else ""


def _population(table: Table) -> str:
    """Return the name of the population that the user chose for this table; empty if none is chosen."""
    booked = [release for release in session_ledger.releases() if release.population]
    if booked and (same := [r for r in booked if r.table_key == session_ledger.rows_key(table)]):
        return same[-1].population
    chosen = state.POPULATION.value
    return "" if chosen in (None, NEW_PEOPLE) else chosen
