"""Ambiguous columns: the app notes that a column has two readings, unless the file shows which one is right."""

import pytest

from dpforest.tables.csv_table import label_candidates, passed_over, read_csv


def notes(*cells: str, name: str = "x", mark: str = ";", other_cell: str = "") -> list[str]:
    """Return the notes on a column of 40 rows that repeats these cells, next to another column and a label."""
    other = other_cell or "7"
    rows = [f'"{cells[i % len(cells)]}"{mark}"{other}"{mark}{"ab"[i % 2]}' for i in range(40)]
    csv = read_csv(f"{name}{mark}n{mark}kind\n".encode() + "\n".join(rows).encode())
    return [note for note in csv.notes if f"'{name}'" in note and " is read as " in note and "as missing" not in note]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (
            ("$5.00", "$7", "$1,200.50"),
            "its cells have $ in them. To have numbers, list the sign in the schema or remove it from the file.",
        ),
        (("5 %", "7,5%", "?"), "its cells have % in them"),
        (("€5", "7 €", ""), "its cells have € in them"),
        (("5%", "$7"), "its cells have % and $ in them. To have numbers, list the signs in"),
        (("-5%", "+7%", *(f"{i}%" for i in range(18)), "see below"), "its cells have % in them"),
        (("1,5", "2.5", "3"), "some cells have a decimal point and some a decimal comma"),
    ],
)
def test_numbers_that_are_read_as_text_get_a_note(cells, says):
    (note,) = notes(*cells, name="price")
    assert note.startswith("'price' is read as text: ") and says in note and " to have numbers" in note.lower()


@pytest.mark.parametrize(
    "cells",
    [
        ("1.5", "2.5"),
        ("$", "$$", "$$$"),
        ("100 % wool", "silk"),
        ("A1", "5%", "b"),
        ("1-5", "6-9"),
        ("%", "5"),
        ("", "?"),
    ],
)
def test_texts_get_no_note(cells):
    assert notes(*cells) == []


@pytest.mark.parametrize(
    ("cells", "mark", "says"),
    [
        (("1.234", "12.500", "900"), ",", "a cell such as 1.234 is read as a decimal number"),
        (("1.234", "2.345"), ";", "a cell such as 1.234 is read as a decimal number"),
        (("1,234", "12,500", "?"), ";", "a cell such as 1,234 is read as 1.234, with a decimal comma"),
        (("1,234", "12,500", "900"), ",", "a cell such as 1,234 is read as 1234, with a comma between thousands"),
    ],
)
def test_cells_that_may_be_thousands_or_decimals_get_a_note(cells, mark, says):
    (note,) = notes(*cells, mark=mark)
    assert note.startswith("In 'x' ") and says in note and " is meant, " in note and note.endswith("the file.")


@pytest.mark.parametrize(
    ("cells", "mark", "other_cell"),
    [
        (("0.125", "0.250", "1.375"), ",", ""),  # a thousands group does not follow 0
        (("1.234", "2.5"), ",", ""),
        (("1.234", "1500"), ",", ""),  # thousands without a separator
        (("1234.567", "2.345"), ",", ""),
        (("1.234", "2.345"), ",", "0.5"),  # another column has a decimal point
        (("1,234", "2,345"), ";", "0,25"),
        (("1,234", "2,345"), ",", "0.25"),
        (("1,234,567", "2,345"), ",", ""),
        (("1.234",), ",", ""),
        (("1234", "2345"), ",", ""),
    ],
)
def test_clear_thousands_get_no_note(cells, mark, other_cell):
    assert notes(*cells, mark=mark, other_cell=other_cell) == []


def table(last: str, *cells: str) -> bytes:
    return (
        f"size,kind,{last}\n".encode()
        + "".join(f"{i % 9},{'ab'[i % 2]},{cells[i % len(cells)]}\n" for i in range(200)).encode()
    )


def test_a_last_column_that_cannot_be_the_label_gets_a_reason():
    prices = [str(i * i) for i in range(80)]
    csv = read_csv(table("price", *prices))
    (reason,) = passed_over(csv)
    assert reason.startswith("'price' has 80 different values, and a label has at most 50; put them into classes")
    assert "price" not in label_candidates(csv)
    (reason,) = passed_over(read_csv(table("price", "1.5", "2.5")))
    assert reason.startswith("'price' has numbers that are not whole")
    (reason,) = passed_over(read_csv(table("when", "2020-01-02", "2021-03-04")))
    assert "dates or times" in reason
    assert passed_over(read_csv(table("ill", "yes", "no"))) == []
    named = read_csv(table("ill", "yes", "no").replace(b"size", b"target").replace(b"0,a", b"0.5,a"))
    assert [s.split(" has ")[0] for s in passed_over(named)] == ["'target'"], "a telling name is missed, too"
