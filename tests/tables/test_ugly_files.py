"""Forty realistic CSV files: the app refuses a file with a sentence, or reads it and notes what the user must check."""

import re

import pytest

from dpforest.tables.csv_table import TableError, read_csv
from tests.tables.ugly_files import FILES


def test_there_are_forty_files():
    assert len(FILES) == 40 and len({file.data for file in FILES.values()}) == 40


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused_or_read_with_notes(name):
    file = FILES[name]
    try:
        table = read_csv(file.data)
    except TableError as problem:
        sentences = [str(problem)]
        assert not file.kinds and re.search(file.says, sentences[0])
    else:
        sentences = [*table.notes, *(column.reason for column in table.columns)]
        assert not file.says or any(re.search(file.says, sentence) for sentence in sentences)
        assert {column: table.column(column).kind for column in file.kinds} == file.kinds
    for sentence in sentences:
        assert (
            re.fullmatch(r"[A-Z'].{15,260}[.!]", sentence, re.DOTALL)
            or sentence in ("Numbers.", "Whole numbers.")
            or (re.fullmatch(r"[\d,]+ .{3,200}\.", sentence, re.DOTALL))
        ), sentence
