"""Controls of projects at the file uploader: the choice of a project, or the project's name once a file is attached."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpforest.book import Book, BookError
from dpforest.limits import MAX_DOMAIN_BYTES
from ui import state
from ui.releasing.app_book import is_kept, kept_book
from ui.shared.controls import drop_unknown
from ui.shared.page import sorry
from ui.shared.projects import forest_settings, open_project, project_file
from ui.shared.projects.open_project import NEW, OpenProject
from ui.shared.wording import plain

_MOST_SENTENCES: Final = 5
_MB: Final = 2**20


def ask(place: DeltaGenerator) -> None:
    """Ask to which project the next file belongs. Draw nothing if no book is kept."""
    if not is_kept():
        return
    state.PROJECTS.value.clear()  # no file is attached here, so the next file opens the project chosen below
    try:
        book = kept_book()
        assert book is not None
        if names := book.projects():
            with place:
                _choose(book, names)
        with st.sidebar:
            _offer_import(book)
    except BookError as problem:
        sorry(problem)


def _choose(book: Book, names: dict[str, str]) -> None:
    """Draw the choice of a project. `names` maps the name of each project to the time when it was saved."""
    words = st.container()
    options = [*names, NEW]
    drop_unknown(state.CHOSEN_PROJECT, options)
    name = st.selectbox("Project", options, key=state.CHOSEN_PROJECT)
    if name not in names:
        words.markdown("Attach a file to start **a new project**. It saves itself, without the rows of the file.")
        return
    words.markdown(
        f"Welcome back: **{plain(name)}** (last changed {time_text(names[name])}). Attach its file to go on."
    )
    export_button(name, book.project(name)[0], "export_chosen_project")


def time_text(saved: str) -> str:
    """Return a time that the book stores, in a form for people.

    >>> time_text("2026-11-27T18:06:19+00:00")
    '2026-11-27 18:06 UTC'
    """
    return f"{saved[:16].replace('T', ' ')} UTC"


def export_button(name: str, content: dict[str, Any], key: str) -> None:
    """Draw a button that downloads a project as one JSON file."""
    st.download_button(
        "Export this project",
        project_file.written(name, content),
        "dpforest_project.json",
        "application/json",
        on_click="ignore",
        key=key,
        help="One JSON, for a backup or another computer. It holds no rows.",
    )


def _offer_import(book: Book) -> None:
    with st.expander("Import a project"):
        file = st.file_uploader(
            "Exported project",
            "json",
            max_upload_size=MAX_DOMAIN_BYTES // _MB,
            key=state.PROJECT_FILE(state.PROJECT_FILES.value),
        )
        if file is None:
            return
        try:
            name, content = project_file.read(file.getvalue())
        except project_file.ProjectFileError as problem:
            sorry(problem)
            return
        st.button(f"Import “{plain(name)}”", key="import_project", on_click=_import, args=(book, name, content))


def _import(book: Book, name: str, content: dict[str, Any]) -> None:
    """Save an imported project under a free name, and choose it."""
    try:
        name = open_project.free_name(book, name)
        book.save_project(name, content)
    except BookError as problem:
        sorry(problem)
        return
    state.CHOSEN_PROJECT.value = name
    state.PROJECT_FILES.value += 1  # a new key gives an empty uploader


def take_settings() -> None:
    """When a file is attached, set the controls to the settings in its project. Call this before a page is drawn."""
    chosen = state.CHOSEN_PROJECT.value
    if not is_kept() or chosen is None:
        return
    try:
        book = kept_book()
        if book is not None and chosen in book.projects():
            forest_settings.put(book.project(chosen)[0].get("settings", {}))
    except BookError as problem:
        sorry(problem)


def in_sidebar(digest: str, file_name: str) -> None:
    """Ask whether the file belongs to its project. Once the user has answered, draw the name and what differs."""
    project = open_project.of_file(digest)
    if project is None:
        return
    if project.question:
        _ask_whether_right(project, digest, file_name)
        return
    for sentence in project.sentences[:_MOST_SENTENCES]:
        st.caption(f"The project and the file differ: {plain(sentence, 300)}")
    with st.expander(f"Project: {plain(project.name, 40)}"):
        _rename(project, digest)
        st.caption(
            "It saves itself, without the rows of the file. The page “Releases” lists all "
            "projects and says what they hold."
        )


def _ask_whether_right(project: OpenProject, digest: str, file_name: str) -> None:
    st.warning(f"{plain(project.question, 600)} Until you answer, nothing is saved.", icon=":material/help:")
    for label, key, is_right in (
        ("Yes, go on with this project", "right_file", True),
        ("No, start a new project", "wrong_file", False),
    ):
        st.button(label, key=key, on_click=open_project.answer, args=(digest, file_name), kwargs={"is_right": is_right})


def _rename(project: OpenProject, digest: str) -> None:
    """Ask for the name of the project, and change it in the book."""
    name = st.text_input("Name of the project", project.name, max_chars=200, key=state.PROJECT_NAME(digest[:8])).strip()
    if name == project.name or project.problem:
        return
    try:
        book = kept_book()
        if book is not None and project.revision:
            project.revision = book.rename_project(project.name, name, project.revision)
            project.name = name
            st.rerun()
    except BookError as problem:
        sorry(problem)
