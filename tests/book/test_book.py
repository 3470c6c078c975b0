"""A book (the ledger across releases) keeps populations, bookings and projects. Copies merge, and no sum ever falls."""

import gzip
import hashlib
import json
from copy import deepcopy
from fractions import Fraction
from pathlib import Path

import pytest

from dpforest import MajorityLabelForestClassifier, RandomTreeBoosterClassifier, ReleasedForest
from dpforest.book import Book, BookError, Cost, StaleProjectError
from dpforest.privacy.loss import PrivacyLoss
from tests.models.random_forests import DOMAIN, table

WARD = "patients of ward 3, 2025"
ONE = Cost(Fraction(1), "add-remove")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    book = Book(tmp_path / "data" / "book.sqlite")
    book.add_population(WARD, cap=3)
    return book


def test_a_book_survives_its_program(book):
    first = book.book(WARD, ONE, title="first")
    again = Book(book.path)
    (population,) = again.populations()
    assert population.cap == 3 and [booking.id for booking in population.bookings] == [first]
    assert population.bookings[0].cost == Cost(PrivacyLoss.pure(1), "add-remove")
    assert book.path.stat().st_mode & 0o777 == 0o600 and [path.name for path in book.path.parent.iterdir()] == [
        "book.sqlite"
    ]


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DPFOREST_DATA_DIR", str(tmp_path / "here"))
    assert Book().path == tmp_path / "here" / "book.sqlite" and (tmp_path / "here" / "book.sqlite").exists()


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (MajorityLabelForestClassifier, {"epsilon": 1.25, "n_estimators": 4}),
        (RandomTreeBoosterClassifier, {"epsilon": 1.25, "delta": 1e-6, "neighbors": "replace-one", "n_estimators": 2}),
    ],
)
def test_a_fit_is_booked_and_its_file_has_the_hash(book, tmp_path, estimator, parameters):
    account = book.account(WARD)
    forest = estimator(domain=DOMAIN, **parameters).fit(*table(), account=account)
    (booking,) = book.population(WARD).bookings
    assert booking.sha256 is None and booking.title == estimator.__name__ and booking.cost.loss == forest.ledger_.budget
    assert forest.ledger_.loss <= booking.cost.loss and booking.cost.neighbors == forest.ledger_.neighbors
    assert book.population(WARD).total().epsilon <= Fraction(5, 4) + Fraction(1, 10**6)
    path = tmp_path / "forest.json.gz"
    account.write(forest.released_, path)
    (booking,) = book.population(WARD).bookings
    assert booking.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert ReleasedForest.from_bytes(path.read_bytes()).to_bytes() == forest.released_.to_bytes()
    assert gzip.decompress(path.read_bytes()).startswith(b"{")


def test_a_fit_beyond_the_cap_releases_nothing(book):
    model = MajorityLabelForestClassifier(epsilon=2, n_estimators=4, domain=DOMAIN)
    model.fit(*table(), account=book.account(WARD))
    again = MajorityLabelForestClassifier(epsilon=2, n_estimators=4, domain=DOMAIN)
    with pytest.raises(BookError, match="Your cap is 3, and 2 is spent"):
        again.fit(*table(), account=book.account(WARD))
    assert not hasattr(again, "forest_") and len(book.population(WARD).bookings) == 1


def test_notes_change_no_sum(book):
    booking = book.book(WARD, ONE, title="first")
    book.add_note(booking, "withdrawn")
    (kept,) = book.population(WARD).bookings
    assert [text for _, text in kept.notes] == ["withdrawn"] and book.population(WARD).total().epsilon == 1


def test_only_the_name_deletes_a_population(book):
    book.book(WARD, ONE, title="first")
    with pytest.raises(BookError, match="There is no population “patients”"):
        book.delete_population("patients")
    book.delete_population(WARD)
    assert book.populations() == []
    book.add_population(WARD)
    assert book.population(WARD).bookings == ()


def test_limits_are_set_apart_and_rows_of_a_person_never_become_fewer(book):
    book.set_rows_per_person(WARD, 8)
    book.set_cap(WARD, "5/2")
    assert (book.population(WARD).cap, book.population(WARD).rows_per_person) == (Fraction(5, 2), 8)
    with pytest.raises(BookError, match="A smaller number would"):
        book.set_rows_per_person(WARD, 7)
    for rows in (0, 1.5, True):
        with pytest.raises(BookError, match="is a whole number from 1"):
            book.set_rows_per_person(WARD, rows)
    book.set_rows_per_person(WARD, 9)
    book.set_cap(WARD, None)
    assert (book.population(WARD).cap, book.population(WARD).rows_per_person) == (None, 9)


@pytest.mark.parametrize(
    ("cost", "delta"),
    [
        (Cost(Fraction(1), "friends"), 0.0),
        (Cost(PrivacyLoss.pure(0), "add-remove"), 0.0),
        (ONE, 1e-6),
        (ONE, float("nan")),
        *((Cost(PrivacyLoss.gaussian(1), "add-remove"), delta) for delta in (0.0, 1.0, -1e-6, float("nan"))),
    ],
)
def test_an_impossible_cost_is_not_booked(book, cost, delta):
    with pytest.raises(BookError, match="A release has a loss above 0"):
        book.book(WARD, cost, title="first", delta=delta)
    assert book.population(WARD).bookings == ()


@pytest.mark.parametrize("cap", [0, -1, "x", float("nan"), float("inf"), True, "1e10000000"])
def test_a_cap_is_a_number_above_zero(book, cap):
    with pytest.raises(BookError, match="The cap is an ε above 0"):
        book.add_population("others", cap=cap)
    assert len(book.populations()) == 1


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "x" * 201, None])
def test_a_name_is_one_line(book, name):
    with pytest.raises(BookError, match="has a name of 1 to 200 characters"):
        book.add_population(name)
    with pytest.raises(BookError, match="has a name of 1 to 200 characters"):
        book.book(WARD, ONE, title=name)
    assert book.population(WARD).bookings == ()


# ---------------------------------------------------------------- projects


def test_a_stale_tab_cannot_save_over_a_newer_state(book):
    first = book.save_project("Readmissions", {"epsilon": 1})
    second = book.save_project("Readmissions", {"epsilon": 2}, first)
    for revision in (first, 0, second + 1):
        with pytest.raises(StaleProjectError, match="was changed in another tab"):
            book.save_project("Readmissions", {"epsilon": 9}, revision)
    assert book.project("Readmissions") == ({"epsilon": 2}, second) and list(book.projects()) == ["Readmissions"]
    book.delete_project("Readmissions")
    with pytest.raises(StaleProjectError):
        book.save_project("Readmissions", {"epsilon": 3}, second)
    with pytest.raises(BookError, match="There is no project"):
        book.project("Readmissions")


def test_a_project_gets_another_name_if_nobody_changed_it(book):
    first = book.save_project("Readmissions", {"epsilon": 1})
    book.save_project("Falls", {})
    with pytest.raises(BookError, match="There already is a project “Falls”"):
        book.rename_project("Readmissions", "Falls", first)
    with pytest.raises(StaleProjectError, match="was changed in another tab"):
        book.rename_project("Readmissions", "Ward 3", first + 1)
    with pytest.raises(BookError, match="A project has a name"):
        book.rename_project("Readmissions", " ", first)
    second = book.rename_project("Readmissions", "Ward 3", first)
    assert book.project("Ward 3") == ({"epsilon": 1}, second) and second > first
    assert set(book.projects()) == {"Ward 3", "Falls"}
    with pytest.raises(StaleProjectError):
        book.save_project("Readmissions", {"epsilon": 2}, first)


# ---------------------------------------------------------------- copies


def test_copies_merge_by_identifier(book, tmp_path):
    booking = book.book(WARD, ONE, title="first")
    copy = json.loads(json.dumps(book.export()))
    other = Book(tmp_path / "other.sqlite")
    assert (other.import_copy(copy), other.import_copy(copy)) == (1, 0)
    assert other.export()["bookings"] == copy["bookings"]
    book.mark_written(booking, b"file", {"purpose": "planning"})
    book.add_note(booking, "withdrawn")
    book.book(WARD, Cost(Fraction(1, 2), "replace-one"), title="second")
    assert other.import_copy(book.export()) == 1 and other.import_copy(copy) == 0
    assert other.export()["bookings"] == book.export()["bookings"]


def test_a_copy_never_lowers_a_sum(book, tmp_path):
    other = Book(tmp_path / "other.sqlite")
    other.add_population(WARD, cap="5/2", rows_per_person=4)
    book.book(WARD, ONE, title="first")
    other.import_copy(book.export())
    population = other.population(WARD)
    assert (population.cap, population.rows_per_person, population.total().epsilon) == (Fraction(5, 2), 4, 1)
    book.import_copy(other.export())
    assert (book.population(WARD).cap, book.population(WARD).rows_per_person) == (Fraction(5, 2), 4)


def test_another_release_under_the_same_identifier_is_refused(book):
    book.book(WARD, ONE, title="first")
    copy = book.export()
    copy["bookings"].append({**copy["bookings"][0], "id": "new"})
    copy["bookings"][0]["amount"] = "1/2"
    with pytest.raises(BookError, match="differs from the one in this book"):
        book.import_copy(copy)
    assert len(book.population(WARD).bookings) == 1 and book.population(WARD).total().epsilon == 1


DAMAGES = {
    "no dictionary": [],
    "another format": {"format": "x"},
    "a newer version": {"format": "dpforest book", "version": 2},
    **{
        f"without {key}": {"bookings": key} for key in ("id", "amount", "kind", "neighbors", "delta", "notes", "record")
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_copy_adds_nothing(book, tmp_path, damage):
    book.book(WARD, ONE, title="first")
    content = DAMAGES[damage]
    if isinstance(content, dict) and "bookings" in content:
        key, content = content["bookings"], deepcopy(book.export())
        del content["bookings"][0][key]
    other = Book(tmp_path / "other.sqlite")
    with pytest.raises(BookError):
        other.import_copy(content)
    assert other.populations() == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("amount", value) for value in ("0", "-1", "1e9", 1, "1/0", None)),
        *(("delta", value) for value in (-1, 1, 1e-6, "x", None)),
        ("kind", "gaussian"),  # a Gaussian loss has a δ above 0
        ("neighbors", "friends"),
        ("population", "nobody"),
        ("unit", 7),
        ("id", ""),
        ("record", "text"),
    ],
)
def test_an_invalid_booking_adds_nothing(book, tmp_path, key, value):
    book.book(WARD, ONE, title="first")
    content = book.export()
    content["bookings"][0][key] = value
    other = Book(tmp_path / "other.sqlite")
    with pytest.raises(BookError, match="damaged"):
        other.import_copy(content)
    assert other.populations() == []


@pytest.mark.parametrize("rows", [0, -1, 10**30, True, 1.5])
def test_a_number_of_rows_out_of_range_is_refused(tmp_path, rows):
    book = Book(tmp_path / "book.sqlite")
    with pytest.raises(BookError, match="whole number from 1 to"):
        book.add_population("ward", rows_per_person=rows)
