"""No booking is lost if a program dies, the disk is full, a file is locked or damaged, or two programs run at once."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from dpforest.book import Book, BookError, Cost

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = "people"
HALF = Cost(Fraction(1, 2), "add-remove")
FORK = multiprocessing.get_context("fork")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the tests kill child processes")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    book = Book(tmp_path / "book.sqlite")
    book.add_population(PEOPLE, cap=1)
    book.book(PEOPLE, HALF, title="first")
    return book


def test_nothing_is_released_unbooked_wherever_a_program_is_killed(tmp_path):
    command = [sys.executable, "-m", "tests.book.killed", str(tmp_path)]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    children = [json.loads(line) for line in printed.splitlines()]
    assert len(children) > 30
    for child in children[:-1]:
        assert child["killed"]
        assert child["bookings"] <= 1 and child["written"] <= child["file"] <= child["drawn"] <= child["bookings"], (
            child
        )
    assert {(child["bookings"], child["drawn"], child["file"], child["written"]) for child in children} == {
        (0, False, False, 0),
        (1, False, False, 0),  # killed after the booking and before the noise: the booking counts as spent
        (1, True, False, 0),
        (1, True, True, 0),
        (1, True, True, 1),
    }
    assert children[-1] == {"killed": False, "status": 0, "drawn": True, "file": True, "bookings": 1, "written": 1}


def test_a_full_disk_books_nothing_and_loses_nothing(book):
    def fill(connection) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = book.path.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        for n in range(400):
            try:
                book.book(PEOPLE, Cost(Fraction(1, 10**6), "add-remove"), title=f"{n} {'x' * 150}")
            except BookError as problem:
                connection.send((n, str(problem)))
                return
        connection.send((400, "no error"))

    n_booked, message = _in_child(fill)
    assert n_booked < 400 and "could not read or write" in message and "nothing was booked" in message
    assert len(Book(book.path).population(PEOPLE).bookings) == 1 + n_booked


def test_a_locked_book_is_reported_and_nothing_is_booked(book, monkeypatch):
    monkeypatch.setattr("dpforest.book.store._WAIT", 0.01)
    other = sqlite3.connect(book.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BookError, match="Another program is writing to"):
        book.book(PEOPLE, HALF, title="second")
    assert len(book.population(PEOPLE).bookings) == 1  # the book can still be read
    other.execute("ROLLBACK")
    other.close()
    book.book(PEOPLE, HALF, title="second")


def test_a_protected_book_is_read_but_not_written(book):
    def write(connection) -> None:
        if os.getuid() == 0:  # the superuser may write to every file
            os.setgid(65534)
            os.setuid(65534)
        messages = []
        for act in (
            lambda: Book(book.path).book(PEOPLE, HALF, title="second"),
            lambda: Book(book.path.parent / "new" / "book.sqlite"),
        ):
            try:
                act()
            except BookError as problem:
                messages.append(str(problem))
        connection.send(messages)

    places = [book.path, *(folder for folder in book.path.parents[:4] if folder.stat().st_uid == os.getuid())]
    modes = {place: place.stat().st_mode for place in places if place != Path("/tmp")}
    for place in modes:
        place.chmod(0o444 if place == book.path else 0o555)
    try:
        messages = _in_child(write)
    finally:
        for place, mode in modes.items():
            place.chmod(mode)
    assert len(messages) == 2
    assert "cannot be opened or written, so nothing was booked" in messages[0]
    assert "cannot be used (Permission denied). Check the folder" in messages[1]
    assert len(book.population(PEOPLE).bookings) == 1


@pytest.mark.parametrize("damage", ["empty", "zeros", "text", "cut", "header", "middle"])
def test_a_damaged_book_is_never_taken_for_a_new_one(book, damage):
    for n in range(40):  # bookings that fill several pages of the database
        book.book(PEOPLE, Cost(Fraction(1, 10**6), "add-remove"), title=f"{n} {'x' * 150}")
    data = bytearray(book.path.read_bytes())
    if damage in ("empty", "text", "zeros"):
        data = bytearray({"empty": b"", "text": b"not a database at all" * 100, "zeros": bytes(len(data))}[damage])
    elif damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "header":
        data[:16] = bytes(16)
    else:
        data[4096:-4096] = bytes(range(256)) * ((len(data) - 8192) // 256)
    book.path.write_bytes(data)
    with pytest.raises(
        BookError,
        match="cannot be used as a book, so the privacy loss of earlier releases is unknown|is not a book of dpforest",
    ):
        Book(book.path).book(PEOPLE, HALF, title="second")
    assert book.path.read_bytes() == bytes(data)


def test_a_book_of_a_newer_version_and_another_database_are_refused(book, tmp_path):
    with sqlite3.connect(book.path) as db:
        db.execute("PRAGMA user_version = 2")
    db.close()
    with pytest.raises(BookError, match="was made by a newer version of dpforest"):
        Book(book.path)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(BookError, match="is not a book of dpforest"):
        Book(other)


def test_a_book_that_vanishes_is_not_made_again(book):
    book.path.unlink()
    with pytest.raises(BookError, match="cannot be opened or written, so nothing was booked"):
        book.book(PEOPLE, HALF, title="second")
    assert not book.path.exists()


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    with pytest.raises(BookError, match="cannot be"):
        Book(tmp_path)


def test_of_two_programs_at_once_only_one_fits_below_the_cap(tmp_path):
    for n in range(20):
        path = tmp_path / f"{n}.sqlite"
        results = _both_at_once(path)
        assert sorted(results) == ["booked", "refused"], results
        assert Book(path).population(PEOPLE).total().epsilon == Fraction(3, 5)


def test_two_programs_make_one_book(tmp_path):
    for n in range(10):
        path = tmp_path / f"{n}.sqlite"
        barrier = FORK.Barrier(2)

        def make(connection, path=path, barrier=barrier) -> None:
            barrier.wait()
            book = Book(path)
            book.add_population(f"by {os.getpid()}")
            connection.send(None)

        children = [_started(make) for _ in range(2)]
        for child, connection in children:
            assert connection.recv() is None
            child.join()
        assert len(Book(path).populations()) == 2 and len(list(tmp_path.iterdir())) == n + 1


def _both_at_once(path: Path) -> list[str]:
    """Book a release from each of two processes at the same time. The cap of the book allows only one of them."""
    Book(path).add_population(PEOPLE, cap=1)
    barrier = FORK.Barrier(2)

    def spend(connection) -> None:
        book = Book(path)
        barrier.wait()
        try:
            book.book(PEOPLE, Cost(Fraction(3, 5), "add-remove"), title="release")
            connection.send("booked")
        except BookError as problem:
            connection.send("refused" if "Your cap is 1" in str(problem) else str(problem))

    children = [_started(spend) for _ in range(2)]
    results = [connection.recv() for _, connection in children]
    for child, _ in children:
        child.join()
    return results


def _started(work):
    here, there = FORK.Pipe()
    child = FORK.Process(target=work, args=(there,))
    child.start()
    return child, here


def _in_child(work):
    child, connection = _started(work)
    assert connection.poll(60), "the child ended without a result"
    result = connection.recv()
    child.join()
    return result


def test_a_copy_of_the_file_is_a_book(book, tmp_path):
    shutil.copy(book.path, tmp_path / "copy.sqlite")
    assert Book(tmp_path / "copy.sqlite").export() == book.export()
