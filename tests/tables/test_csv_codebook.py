"""Codebooks: what a line means, and messages that name the line and the column of a mistake."""

import re

import pytest

from dpforest.tables.csv_codebook import VALUES, read_codebook
from dpforest.tables.csv_text import TableError
from dpforest.tables.read_parts import MISSING, TYPE


def book(text: str):
    return read_codebook(text.encode())


def test_a_codebook_as_somebody_writes_it_is_read():
    """Semicolons, decimal commas, reordered or unknown columns, and empty cells or lines are read correctly."""
    codebook = book(
        "Name;Source;Low;High;Kind;Categories;Whole;Missing;Unit\n"
        "age;the law on voting;0;120;numeric;;yes;none expected;years\n"
        ";;;;;;;;\n"
        'city;;;;categorical;"Bonn; ""Köln; Deutz""";;separate value;\n'
        "size;;0,5;2.5;;;;;m\n"
    )
    assert not codebook.mistakes and codebook.unread == ("unit",)
    age, city, size = codebook.entries
    assert (age.kind, age.low, age.high, age.whole, age.missing) == ("numeric", 0, 120, True, "refuse")
    assert age.sources == dict.fromkeys((VALUES, TYPE, MISSING), ("asserted", "the law on voting"))
    assert (city.categories, city.missing, city.sources) == (("Bonn", "Köln; Deutz"), "category", {})
    assert (size.kind, size.low, size.high, size.whole, size.missing) == (None, 0.5, 2.5, None, None)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("age,number,0,120,,", "column 'kind': 'number' is not known"),
        ("age,numeric,O,120,,", "column 'low': 'O' is not a number"),
        ('age,numeric,0,"1,5",,', "column 'high': '1,5' is not a number"),
        ("age,numeric,0,nan,,", "column 'high': 'nan' is not a number"),
        ("age,numeric,0,1e999,,", "column 'high': '1e999' is not a number"),
        ("age,numeric,120,0,,", "column 'low': '120' is not below '0'"),
        ("age,numeric,0,9,a; b,", "column 'categories': numbers have none"),
        ("age,categorical,0,9,a; b,", "column 'low': categories have no such cell"),
        ("age,categorical,,,a; a,", "column 'categories': 'a' is listed twice"),
        ("age,categorical,,,;,", "column 'categories': it lists no values"),
        (",numeric,0,9,,", "column 'name': it is empty"),
        ("size,numeric,0,9,,", "column 'name': 'size' stands in line 2 as well"),
        ("age,numeric,0,9", "has 4 cells, but the header has 6"),
    ],
)
def test_a_mistake_names_its_line_and_column(line, says):
    codebook = book(f"name,kind,low,high,categories,source\nsize,numeric,0,9,,\n{line}\n")
    assert len(codebook.mistakes) == 1, codebook.mistakes
    assert (
        codebook.mistakes[0].startswith("Line 3")
        and says in codebook.mistakes[0]
        and codebook.mistakes[0].endswith(".")
    )


def test_thousands_or_decimals_are_not_guessed():
    (message,) = book("name;low;high\nload;0;1,234\n").mistakes
    assert message == "Line 2, column 'high': '1,234' may be 1234 or 1.234; write which."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age;ill\n1;2\n", "no codebook"),
        ("", "no codebook"),
        ("name\nage\n", "no codebook"),
        ("name,low,low\na,1,2\n", "two columns are called 'low'"),
        ("name,low\n", "no lines"),
        ("PK\x03\x04", "Excel"),
    ],
)
def test_invalid_codebooks_are_refused(text, says):
    with pytest.raises(TableError, match=re.escape(says)):
        book(text)
