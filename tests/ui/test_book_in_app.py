"""Releases of uploaded tables are booked: before noise is drawn, for the people that the user names, within their cap.

The book is the ledger across releases.
"""

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpforest.book import Book, Cost, ReleaseRecord, page, verify
from dpforest.tables.csv_table import read_csv
from dpforest.tables.domain import Domain, Feature
from tests.ui.test_guards import listening
from tests.ui.test_use_page import choice
from ui.forest.forests import ForestSettings
from ui.releasing import app_book
from ui.shared.sidebar import Choice
from ui.shared.tables import Table

ROOT = Path(__file__).resolve().parents[2]
CSV = "age,dose,ill\n" + "".join(f"{20 + i % 30},{i % 9},{'ja' if i % 30 > 12 else 'nein'}\n" for i in range(120))
WARD = "patients of ward 3"


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("DPFOREST_DATA_DIR", str(tmp_path))
    return tmp_path


def chosen(rows: str = CSV, epsilon: float = 1.0) -> Choice:
    """Return a forest on an uploaded table with a public domain, in which each row is a different person."""
    csv = read_csv(rows.encode(), name="people.csv")
    public = {"source": "documented", "source_note": "made up"}
    features = tuple(Feature(name, "numeric", 0, most, **public) for name, most in (("age", 120), ("dose", 10)))
    domain = Domain(
        features,
        ("ja", "nein"),
        "ill",
        classes_source="documented",
        classes_note="made up",
        reading=csv.reading,
        reading_source="documented",
        reading_note="made up",
        columns_source="documented",
        columns_note="made up",
    )
    table = Table(f"digest of {len(rows)}", "people.csv", csv.read_with(domain), "ill", domain, csv=csv)
    return Choice(table, ForestSettings("majority labels", "certified", epsilon, 3, 4, "add-remove", ()))


def content_of_dialog() -> None:
    """Draw the content of the release dialog, which stays open when a user moves a control."""
    from contextlib import suppress

    import streamlit as st
    from streamlit.errors import StreamlitAPIException

    from ui import state
    from ui.jobs.sweep_job import promise
    from ui.releasing import release
    from ui.shared import tables

    choice = st.session_state["choice"]
    table = choice.table
    state.ROWS_ARE_PERSONS.value = {table.key}
    certificate, ledger = promise(tables.fingerprint(table.domain), choice.settings, 120, table.domain)
    with suppress(StreamlitAPIException):  # after a release, only a dialog can run its content again
        release._ask(choice, certificate, ledger)


def dialog(choice: Choice, **words: str) -> AppTest:
    """Open the dialog, with these answers about the record filled in."""
    app = AppTest.from_function(content_of_dialog, default_timeout=600)
    app.session_state["choice"] = choice
    app.session_state["record_words"] = {choice.table.key: {"purpose": "plan the beds", "owner": "Dr. A"} | words}
    return passed(app.run())


def typed(app: AppTest, label: str, text: str) -> AppTest:
    return passed(next(field for field in app.text_input if field.label.startswith(label)).set_value(text).run())


def passed(app: AppTest) -> AppTest:
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    return "\n".join([*(m.value for m in app.markdown), *(w.value for w in app.warning)])


def release_button(app: AppTest):
    return next(b for b in app.button if b.label.startswith("Release for ε"))


def named(app: AppTest, name: str) -> AppTest:
    return passed(
        next(field for field in app.text_input if field.label == "Name for these people").set_value(name).run()
    )


def question_of(app: AppTest):
    (question,) = [box for box in app.selectbox if box.label == "Whose data is it?"]
    return question


def test_a_release_is_booked_and_its_sum_survives_the_session(folder):
    app = dialog(chosen())
    assert "Spent on these people so far: nothing. After this release: **ε = 1**" in shown(app)
    named(app, WARD)
    next(field for field in app.number_input if field.label.startswith("Limit for the total ε")).set_value(1.5).run()
    passed(release_button(app).click().run())
    (population,) = Book().populations()
    (booking,) = population.bookings
    assert (population.name, population.cap, population.total().epsilon) == (WARD, Fraction(3, 2), 1)
    (kept,) = app.session_state["releases"]
    assert population.rows_per_person is None, "a statement about one table does not hold for later tables"
    assert kept.population == WARD and booking.sha256 == hashlib.sha256(kept.file).hexdigest()

    another_day = dialog(chosen())
    assert question_of(another_day).value is None and release_button(another_day).disabled
    passed(question_of(another_day).select(WARD).run())
    assert "would have a loss of ε = 2. Your cap is 1.5, and 1 is spent." in shown(another_day)
    assert release_button(another_day).disabled and len(Book().population(WARD).bookings) == 1


def test_the_same_rows_have_the_same_population(folder):
    Book().add_population("others")
    app = dialog(chosen(epsilon=0.5))
    passed(question_of(app).select_index(1).run())
    passed(release_button(named(app, WARD)).click().run())
    again = AppTest.from_function(content_of_dialog, default_timeout=600)
    for key, value in {"choice": chosen(epsilon=0.5), "releases": app.session_state["releases"]}.items():
        again.session_state[key] = value
    passed(again.run())
    assert not again.selectbox and f"so they hold the same people: **{WARD}**" in shown(again)
    assert "so far: ε = 0.5 in 1 release. After this release: **ε = 1**" in shown(again)


def test_a_name_that_is_taken_and_an_empty_name_are_refused(folder):
    Book().add_population(WARD)
    app = dialog(chosen())
    passed(question_of(app).select_index(1).run())
    assert release_button(named(app, " ")).disabled and "A population has a name" in shown(app)
    passed(release_button(named(app, WARD)).click().run())
    assert "There already is a population" in shown(app) and Book().population(WARD).bookings == ()


def test_nothing_is_released_if_the_book_cannot_be_used(folder):
    (folder / "book.sqlite").write_bytes(b"")
    app = dialog(chosen())
    assert "cannot be used as a book, so the privacy loss of earlier releases is unknown" in shown(app)
    assert not [b for b in app.button if b.label.startswith("Release for ε")]
    (folder / "book.sqlite").unlink()
    app = dialog(chosen())
    with closing(sqlite3.connect(folder / "book.sqlite")) as db:  # happens between the question and the release
        db.execute("PRAGMA user_version = 9")
    passed(release_button(app).click().run())
    assert "newer version" in shown(app) and not app.session_state["releases"]


def test_a_bundled_table_is_not_booked(folder):
    app = dialog(choice("zoo"))
    assert "Spent on these people" not in shown(app) and not release_button(app).disabled
    assert not (folder / "book.sqlite").exists()


@pytest.mark.parametrize(
    ("folder_variable", "address", "names", "is_kept"),
    [
        ("", "localhost", [], True),
        ("", "127.0.0.1", [], True),
        ("", "0.0.0.0", [], False),
        ("", "localhost", ["forests.example"], False),  # other people reach this machine through a proxy
        ("/data", "0.0.0.0", [], True),
        ("off", "localhost", [], False),
    ],
)
def test_a_server_that_others_can_reach_keeps_no_book_by_itself(monkeypatch, folder_variable, address, names, is_kept):
    monkeypatch.setenv("DPFOREST_DATA_DIR", folder_variable)
    server = listening(address, names)
    next(server)
    try:
        assert app_book.is_kept() == is_kept
    finally:
        next(server, None)


def test_a_locked_book_is_reported_where_it_is_changed(folder, monkeypatch):
    monkeypatch.setattr("dpforest.book.store._WAIT", 0.01)
    Book().add_population(WARD)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600).run()
    app.switch_page("pages/4_Releases.py").run()
    next(field for field in app.text_input if field.label.startswith("To delete a group")).set_value(WARD).run()
    with closing(sqlite3.connect(folder / "book.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        passed(app.button(key="delete_population").click().run())
    assert "Another program is writing to" in shown(app) and len(Book().populations()) == 1


def test_the_page_of_releases_shows_merges_and_deletes(folder, tmp_path):
    book = Book()
    book.add_population(WARD, cap=2)
    identifier = book.book(WARD, Cost(Fraction(1, 2), "add-remove"), title="first forest")
    copy = json.dumps(book.export()).encode()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600).run()
    app.switch_page("pages/4_Releases.py").run()
    assert not app.exception
    assert f"**{WARD}**: ε = 0.5 of at most 2 (adding or removing one row) in 1 release" in shown(app)
    assert app.dataframe[0].value["file"].tolist() == ["not written, counts as spent"]
    next(field for field in app.text_input if field.label.startswith("To delete a group")).set_value(WARD).run()
    app.button(key="delete_population").click().run()
    assert Book().populations() == []
    next(widget for widget in app.file_uploader if widget.label.startswith("Merge")).upload("copy.json", copy).run()
    app.button(key="merge_book").click().run()
    assert [s.value for s in app.success] == ["1 release added."]
    assert [booking.id for booking in Book().population(WARD).bookings] == [identifier]
    next(widget for widget in app.file_uploader if widget.label.startswith("Merge")).upload("x.json", b"{").run()
    app.button(key="merge_book").click().run()
    assert "This file is not JSON" in shown(app)


def test_a_release_gets_a_record_once_its_questions_are_answered(folder):
    app = named(dialog(chosen(), purpose="", owner=""), WARD)
    assert "needs what the forest is for and who is responsible" in "\n".join(c.value for c in app.caption)
    typed(app, "What is the forest for?", "plan the beds")
    passed(release_button(app).click().run())
    assert "Nothing was released." in shown(app) and not app.session_state["releases"] and not Book().populations()
    typed(app, "Who is responsible for the release?", "Dr. <b>A</b>")
    passed(release_button(app).click().run())
    (kept,) = app.session_state["releases"]
    (booking,) = Book().population(WARD).bookings
    record = ReleaseRecord.from_dict(booking.record)
    assert record == kept.record and verify(kept.file, record) == []
    assert (record.purpose, record.owner, record.epsilon, record.unit) == ("plan the beds", "Dr. <b>A</b>", 1, "row")
    assert record.chosen_by_looking and record.sum_before.epsilon == 0 and record.sum_after.epsilon == 1
    assert "Dr. &lt;b&gt;A&lt;/b&gt;" in page(record)
    again = dialog(chosen(epsilon=0.5))
    assert [f.value for f in again.text_input if f.label.startswith("Who is responsible")] == ["Dr. A"], (
        "kept in the session"
    )


def test_a_delta_needs_a_reason(folder):
    choice = chosen()
    settings = ForestSettings("random-tree booster", "certified", 1.0, 3, 4, "add-remove", (("delta", 1e-6),))
    gaussian = replace(choice, settings=settings)
    app = named(dialog(gaussian), WARD)
    passed(release_button(app).click().run())
    assert "Nothing was released." in shown(app) and not app.session_state["releases"]
    typed(app, "Why is this δ small enough?", "below 1 in 1,000 patients")
    passed(release_button(app).click().run())
    (kept,) = app.session_state["releases"]
    assert kept.record.delta > 0 and kept.record.delta_reason == "below 1 in 1,000 patients"


def test_a_file_is_checked_against_its_record_and_a_release_withdrawn(folder):
    first = named(dialog(chosen()), WARD)
    passed(release_button(first).click().run())
    second = dialog(chosen(epsilon=0.5), purpose="count the beds")
    passed(question_of(second).select(WARD).run())
    passed(release_button(second).click().run())
    (one,), (other,) = (app.session_state["releases"] for app in (first, second))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600).run()
    passed(app.switch_page("pages/4_Releases.py").run())

    def check(file: bytes) -> str:
        fields = {widget.label: widget for widget in app.file_uploader}
        fields["Released forest"].upload("forest.json.gz", file)
        fields["Its record (JSON)"].upload("record.json", one.record.to_json().encode())
        passed(app.run())
        return shown(app) + "\n".join(s.value for s in app.success)

    assert "The file matches this record" in check(one.file)
    assert "do not belong together" in check(other.file) and "SHA-256" in shown(app)
    passed(next(box for box in app.selectbox if box.label == "Compare with").select_index(0).run())
    (differences,) = [f.value for f in app.dataframe if "the other" in f.value.columns]
    assert dict(zip(differences["the other"], differences["this release"], strict=True)) == {
        "plan the beds": "count the beds",
        "1": "0.5",
        "1.0": "0.5",
    }
    typed(app, "Why is it withdrawn?", "a *wrong* label")
    passed(app.button(key=f"withdraw_{other.record.booking}").click().run())
    assert Book().population(WARD).bookings[1].notes[0][1] == "withdrawn: a *wrong* label"
    assert Book().population(WARD).total().epsilon == Fraction(3, 2), "a withdrawal takes nothing back"
