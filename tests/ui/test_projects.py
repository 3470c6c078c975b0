"""A project saves what a user stated about a file, and nothing that was read from the rows.

When the user uploads the same file again, the app offers the project.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dpforest.book import Book
from dpforest.tables.csv_format import CsvFormat
from dpforest.tables.date_columns import date_attributes
from dpforest.tables.domain import Domain, Feature
from dpforest.tables.read_parts import read_parts
from tests.conftest import examples
from ui import state
from ui.explore import unit_question
from ui.shared.projects import open_project, project_file
from ui.shared.projects.content import ANSWERS, COLUMN, PERSONS, applied, as_text, content_of, doubt
from ui.shared.projects.stated_parts import stated

CSV = "age,dose,ill\n" + "".join(f"{20 + i % 30},{i % 9},{'ja' if i % 30 > 12 else 'nein'}\n" for i in range(120))
SECRET = "zqx"  # part of every text that was read from the data
NOTE = "the protocol, page 2"
SOURCES = st.sampled_from(["data", "asserted", "documented"])


def note(source: str) -> str:
    return SECRET if source == "data" else NOTE


def word(source: str, n: int = 0) -> str:
    return f"{SECRET} {n}" if source == "data" else f"public {n}"


@st.composite
def features(draw, index: int) -> Feature:
    """Draw an attribute whose parts have random sources. Texts and numbers of parts without a source are marked."""
    values, kinds, missing = draw(SOURCES), draw(SOURCES), draw(SOURCES)
    is_public = {values, kinds, missing} != {"data"}
    parts = {
        "source": values,
        "source_note": note(values),
        "type_source": kinds,
        "type_note": note(kinds),
        "missing_source": missing,
        "missing_note": note(missing),
        "missing": draw(st.sampled_from(["category", "refuse"])),
    }
    name = f"column {index}" if is_public else f"{SECRET} column {index}"
    if draw(st.booleans()):
        low, high = (71_717.25, 82_828.75) if values == "data" else (0.5, 99.25)
        signs = ("€",) if draw(st.booleans()) else ()
        words = (word(missing),) if draw(st.booleans()) else ()
        return Feature(
            name, "numeric", low, high, integer=draw(st.booleans()), signs=signs, missing_words=words, **parts
        )
    spellings = ((word(values, 9), word(values)),) if draw(st.booleans()) else ()
    return Feature(name, "categorical", categories=(word(values), word(values, 1)), spellings=spellings, **parts)


@st.composite
def domains(draw) -> Domain:
    attributes = tuple(draw(features(index)) for index in range(draw(st.integers(1, 4))))
    classes, reading, columns = draw(SOURCES), draw(SOURCES), draw(SOURCES)
    if any(feature.name.startswith(SECRET) for feature in attributes):
        columns = "data"  # a project with a stated choice of columns stores the names of all columns
    return Domain(
        attributes,
        (word(classes), word(classes, 1)),
        "ill",
        classes_source=classes,
        classes_note=note(classes),
        reading=CsvFormat("Latin-1", ";", ",", (word(reading, 3),)),
        reading_source=reading,
        reading_note=note(reading),
        columns_source=columns,
        columns_note=note(columns),
        unit=draw(st.sampled_from([None, "patient"])),
        class_spellings=((word(classes, 9), word(classes)),) if draw(st.booleans()) else (),
    )


def as_read(domain: Domain) -> Domain:
    """Return the domain that the app suggests for another file with the same columns: no part has a source."""
    unsourced = {"source": "data", "source_note": "", "type_source": "data", "missing_source": "data"}
    notes = {"type_note": "", "missing_note": "", "missing": "category", "missing_value": None}
    read = []
    for f in domain.features:
        values = {"low": -1.0, "high": 1.0, "signs": (), "missing_words": (), "integer": False}
        if f.kind == "categorical":
            values = {"categories": ("other", *f.categories), "spellings": ()}
        read.append(replace(f, **unsourced, **notes, **values))
    table = {
        f"{part}_{end}": "data" * (end == "source") for part in ("reading", "columns") for end in ("source", "note")
    }
    classes = {"classes_source": "data", "classes_note": "", "class_spellings": ()}
    return replace(domain, features=tuple(read), unit=None, classes=("other", *domain.classes), **classes, **table)


def of(domain: Domain) -> dict:
    return content_of(domain, "" if domain.unit is None else COLUMN)


@settings(max_examples=examples(120), deadline=None)
@given(domains())
def test_nothing_that_was_read_from_the_data_is_stored(domain):
    text = as_text(of(domain))
    assert SECRET not in text and "71717" not in text and "82828" not in text and '"data"' not in text
    for feature in domain.features:
        entry = stated(feature) or {}
        assert ("signs" in str(entry)) == ((feature.type_source or feature.source) != "data")


@settings(max_examples=examples(120), deadline=None)
@given(domains())
def test_content_comes_back_into_the_domain_of_the_file(domain):
    content = json.loads(as_text(of(domain)))
    columns = [*domain.columns, domain.label]
    result = applied(content, as_read(domain), columns)
    assert result.sentences == () and result.unused == frozenset() and of(result.domain) == content
    again = applied(content, result.domain, columns)
    assert again.domain == result.domain
    assert leaking(result.domain) == leaking(domain)


def leaking(domain: Domain) -> set[tuple[str, str]]:
    return {(part.what, part.name) for part in read_parts(domain)}


@settings(max_examples=examples(60), deadline=None)
@given(domains())
def test_an_exported_project_can_be_imported(domain):
    content = content_of(domain, PERSONS, {"eps": 0.5, "forest": "boosted"}, "ward 3", {"purpose": "a study"})
    name, read = project_file.read(project_file.written("my project", content).encode())
    expected = json.loads(as_text(content).replace('"documented"', '"asserted"'))
    assert (name, read) == ("my project", expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "is no project"),
        ({"version": 2}, "another version"),
        ({"whose_rows": "nobody's"}, "somebody changed it"),
        ({"attributes": [{"name": "age"}, 3]}, "somebody changed it"),
        ({"attributes": [{"name": "age", "values": {"kind": "numeric", "low": 2, "high": 1}}]}, "somebody changed it"),
        ({"labels": {"ill": {"classes": {"values": ["a", {}]}}}}, "somebody changed it"),
        ({"reading": {"format": {"encoding": 3}, "note": "x"}}, "somebody changed it"),
        ({"unit": 7}, "somebody changed it"),
    ],
)
def test_a_file_that_is_no_project_is_refused(change, message):
    domain = Domain((Feature("age", "numeric", 0, 1, source="asserted", source_note=NOTE),), ("a", "b"), "ill")
    file = json.loads(project_file.written("p", content_of(domain))) | change
    with pytest.raises(project_file.ProjectFileError, match=message):
        project_file.read(json.dumps(file).encode())
    with pytest.raises(project_file.ProjectFileError, match="not JSON"):
        project_file.read(b"\xff")


@pytest.mark.parametrize("words", ["yes", "ok ok ok", "read from the data", "min and max of it"])
@pytest.mark.parametrize("place", ["attribute", "classes", "columns", "reading"])
def test_a_source_in_a_project_follows_the_rule_for_typed_words(words, place):
    notes = {name: NOTE for name in ("attribute", "classes", "columns", "reading")} | {place: words}
    domain = Domain(
        (Feature("age", "numeric", 0, 1, source="asserted", source_note=notes["attribute"]),),
        ("a", "b"),
        "ill",
        classes_source="asserted",
        classes_note=notes["classes"],
        reading="a survey",
        reading_source="asserted",
        reading_note=notes["reading"],
        columns_source="asserted",
        columns_note=notes["columns"],
    )
    with pytest.raises(project_file.ProjectFileError, match=f"“{words}” does not say how everybody knows"):
        project_file.read(project_file.written("p", content_of(domain)).encode())


def public(name: str, **values) -> Feature:
    kind = "categorical" if "categories" in values else "numeric"
    return Feature(name, kind, **values, source="asserted", source_note=NOTE)


def test_what_does_not_fit_is_reported_and_stays_in_the_project():
    source = {"source": "asserted", "source_note": NOTE}
    dates = date_attributes("visit", "DD.MM.YYYY", ["year", "weekday"], first="2020-01-01", last="2024-12-31", **source)
    kinds = replace(public("town", categories=("a",)), type_source="data", missing_source="data")
    domain = Domain((public("age", low=0, high=120), kinds, *dates), ("a", "b"), "ill", "asserted", NOTE)
    content = of(replace(domain, unit="patient"))
    other = Domain(
        (Feature("town", "numeric", 0, 1), Feature("visit", "categorical", categories=("x",))), ("a", "c"), "ill"
    )
    result = applied(content, other, ["visit", "town", "ill"])
    assert result.domain.names == (*(date.name for date in dates), "town") and result.domain.classes == ("a", "b")
    assert result.unused == {"age", "town"}
    assert "no column “patient” can identify persons" in result.sentences[1] and "looks numeric" in result.sentences[2]
    assert result.sentences[0] == "This file does not have “age”, which the project describes."
    later = content_of(result.domain, before=content, unused=result.unused)
    assert all(entry in later["attributes"] for entry in content["attributes"]) and later["labels"] == content["labels"]
    assert doubt(content, ["x", "ill"]).startswith("This file has none")


def test_words_of_the_unit_question_are_those_of_the_data_tab():
    assert {*open_project.ANSWER_OF.values()} == {unit_question.EACH_ROW, unit_question.SEVERAL}
    assert {*open_project.ANSWER_OF} == {*ANSWERS} - {""}


# ---------------------------------------------------------------- sessions


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("DPFOREST_DATA_DIR", str(tmp_path))
    return tmp_path


def page() -> None:
    """Draw Explore's controls, and buttons that do what the Data tab does."""
    import streamlit as st

    from dpforest.tables.read_parts import assert_parts, read_parts
    from ui import state
    from ui.shared import sidebar, tables
    from ui.shared.epsilon import choose_epsilon

    state.drop_unfit()
    choice = sidebar.choose(choose_epsilon())
    if choice is None:
        return
    table = choice.table
    st.session_state["domain"], st.session_state["seen"] = table.domain, choice.settings
    for what in ("bounds", "classes"):
        if st.button(f"assert {what}"):
            parts = [part for part in read_parts(table.domain) if part.what == what and part.name in ("", "age")]
            tables.edit(table, assert_parts(table.domain, parts, "the protocol, page 2"))
            st.rerun()
    if st.button("rows are persons"):
        tables.keep_unit_answer(table, None)
        st.rerun()
    if st.button("undo"):
        tables.undo(table)
        st.rerun()


def passed(app: AppTest) -> AppTest:
    assert not app.exception
    return app


def session() -> AppTest:
    app = AppTest.from_function(page, default_timeout=60)
    app.query_params["data"] = "upload a CSV"
    return passed(app.run())


def attach(app: AppTest, csv: str = CSV, name: str = "people.csv") -> AppTest:
    uploader = next(widget for widget in app.file_uploader if widget.label == "CSV file")
    return passed(uploader.upload(name, csv.encode()).run())


def press(app: AppTest, label: str) -> AppTest:
    return passed(next(button for button in app.button if button.label == label).click().run())


def text(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.warning, *app.caption])


def project_choice(app: AppTest):
    (box,) = [box for box in app.selectbox if box.label == "Project"]
    return box


def test_a_stated_part_survives_the_session(folder):
    app = attach(session())
    assert Book().project("people")[0]["attributes"] == []
    press(press(app, "assert bounds"), "rows are persons")
    passed(app.select_slider(key="eps").set_value(0.5).run())
    del app

    later = session()
    assert "Welcome back: **people** (last changed 20" in text(later) and "Attach its file to go on." in text(later)
    before = Book().project("people")
    attach(later, name="people (1).csv")
    age = later.session_state["domain"].features[0]
    assert (age.source, age.source_note, age.low, age.high) == ("asserted", NOTE, 20, 49)
    assert age.type_source == "data" and later.session_state["seen"].epsilon == 0.5
    assert len(later.session_state[state.ROWS_ARE_PERSONS]) == 1
    assert Book().project("people") == before, "opening a project changes nothing"
    press(later, "undo")
    assert Book().project("people")[0]["attributes"] == []


def test_nothing_is_computed_or_opened_while_nothing_changes(folder, monkeypatch):
    app = attach(session())
    monkeypatch.setattr(open_project, "kept_book", lambda: pytest.fail("the book is opened"))
    monkeypatch.setattr(open_project.content, "content_of", lambda *_, **__: pytest.fail("the content is computed"))
    passed(app.run())


def test_a_stale_tab_does_not_overwrite_a_newer_state(folder):
    old, new = attach(session()), attach(session())
    press(new, "assert bounds")
    press(old, "assert classes")
    assert "The project **people** was changed in another tab or window" in text(old)
    saved, revision = Book().project("people")
    assert saved["attributes"] and not saved["labels"]
    press(old, "Load the newer state")
    assert Book().project("people") == (saved, revision) and "another tab" not in text(old)
    assert old.session_state["domain"].features[0].source == "asserted"
    assert old.session_state["domain"].classes_source == "data"
    press(old, "assert classes")
    assert Book().project("people")[0]["labels"]["ill"]["classes"]["values"] == ["ja", "nein"]
    Book().delete_project("people")
    press(old, "rows are persons")
    assert "was deleted or renamed in another window" in text(old) and not Book().projects()
    press(old, "Save it again")
    assert Book().project("people")[0]["whose_rows"] == PERSONS


def test_another_label_keeps_what_is_stated(folder):
    app = press(press(attach(session()), "assert bounds"), "assert classes")
    label = next(box for box in app.selectbox if box.label == "Label")
    passed(label.select("age").run())
    saved = Book().project("people")[0]
    assert saved["label"] == "age" and [entry["name"] for entry in saved["attributes"]] == ["age"]
    assert saved["labels"]["ill"]["classes"]["values"] == ["ja", "nein"]
    passed(next(box for box in app.selectbox if box.label == "Label").select("ill").run())
    assert app.session_state["domain"].features[0].source == "asserted"


def test_another_file_is_not_taken_silently(folder):
    press(attach(session()), "assert bounds")
    before = Book().project("people")
    app = attach(session(), "x,ill\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(40)), "others.csv")
    assert "This file has none of the columns that the project describes" in text(app)
    assert Book().project("people") == before and list(Book().projects()) == ["people"]
    press(app, "No, start a new project")
    assert set(Book().projects()) == {"people", "others"} and Book().project("people") == before
    app = attach(session(), CSV.replace("ill", "sick"), "others.csv")
    project_of = {"others": "does not have the label", "people": "does not have the label"}
    assert any(words in text(app) for words in project_of.values())
    press(app, "Yes, go on with this project")
    assert not app.warning


def test_a_file_of_another_name_is_not_taken_silently(folder):
    press(attach(session()), "assert bounds")
    app = attach(session(), name="other ward.csv")
    assert "Is “other ward.csv” the right file for the project “people”?" in text(app)
    assert Book().project("people")[0]["attributes"] and app.session_state["domain"].features[0].leaks()
    press(app, "No, start a new project")
    assert Book().project("other ward")[0]["attributes"] == []


def test_a_project_has_a_name_and_a_choice(folder):
    app = attach(session())
    passed(next(field for field in app.text_input if field.label == "Name of the project").set_value("Ward 3").run())
    assert list(Book().projects()) == ["Ward 3"]
    other = session()
    passed(project_choice(other).select("a new project").run())
    attach(other)
    assert set(Book().projects()) == {"Ward 3", "people"}
    taken = next(field for field in other.text_input if field.label == "Name of the project")
    passed(taken.set_value("Ward 3").run())
    assert "There already is a project" in text(other)


def test_a_project_is_exported_and_imported(folder):
    press(attach(session()), "assert bounds")
    content, _ = Book().project("people")
    exported = project_file.written("people", content).encode()
    assert [button.label for button in session().get("download_button")] == ["Export this project"]
    Book().delete_project("people")
    app = session()
    assert "Welcome back" not in text(app)
    uploader = next(widget for widget in app.file_uploader if widget.label == "Exported project")
    passed(uploader.upload("project.json", exported).run())
    press(app, "Import “people”")
    assert Book().project("people")[0] == content and project_choice(app).value == "people"
    attach(app)
    assert app.session_state["domain"].features[0].source == "asserted"


def test_the_page_of_releases_lists_and_deletes_projects(folder):
    attach(session())
    app = AppTest.from_file("../../app.py", default_timeout=60).switch_page("pages/4_Releases.py")
    passed(app.run())
    assert "**people**, last changed" in text(app) and "does not hold the file" in text(app)
    press(app, "Delete this project")
    assert Book().projects() == {} and "None yet. A project starts" in text(app)


@pytest.mark.parametrize("variable", ["off", ""])
def test_without_a_book_there_is_no_trace(monkeypatch, tmp_path, variable):
    monkeypatch.setenv("DPFOREST_DATA_DIR", variable)
    monkeypatch.setattr(
        "ui.releasing.app_book.HostNames.of_config", lambda: None
    )  # as if other people reach the server
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    app = session()
    assert len(app.file_uploader) == 1 and "roject" not in text(app)
    attach(app)
    assert "roject" not in text(app) and not [e for e in app.expander if "roject" in e.label]
    assert not [*tmp_path.iterdir()] and state.PROJECTS not in app.session_state
