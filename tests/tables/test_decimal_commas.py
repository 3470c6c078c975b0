"""The app recognizes the decimal mark of an upload even if every column of numbers also has cells with words."""

import pytest

from dpforest import read_csv
from dpforest.tables.decimal_commas import with_decimal_commas


def file(*columns: list[str], mark: str = ";") -> bytes:
    rows = [[f"c{j}" for j in range(len(columns))], *map(list, zip(*columns, strict=True))]
    return "".join(mark.join(row) + "\n" for row in rows).encode()


N = 60
COMMAS = [f"{i},{i % 10}" if i % 12 else "n.d." for i in range(N)]
POINTS = [f"{i}.{i % 10}" for i in range(N)]
WORDS = ["yes", "no"] * (N // 2)


def test_numbers_with_words_settle_the_mark():
    csv = with_decimal_commas(read_csv(file(COMMAS, WORDS)))
    assert csv.decimal == csv.reading.decimal == "," and csv.notes[-1] == "Decimal commas in 'c0'."
    assert csv.reading.point_columns == ()


def test_a_column_with_points_keeps_them():
    csv = with_decimal_commas(read_csv(file(COMMAS, POINTS, WORDS)))
    assert csv.reading.decimal_of("c0") == "," and csv.reading.decimal_of("c1") == "."


@pytest.mark.parametrize("cells", [WORDS, [str(i) if i % 12 else "n.d." for i in range(N)], [f"{c}x" for c in COMMAS]])
def test_cells_that_show_no_comma_change_nothing(cells):
    csv = read_csv(file(cells, WORDS))
    assert with_decimal_commas(csv) is csv


def test_commas_between_columns_are_no_decimal_commas():
    csv = read_csv(file([f'"{cell}"' for cell in COMMAS], WORDS, mark=","))
    assert with_decimal_commas(csv) is csv


def test_a_settled_mark_stays():
    csv = read_csv(file(COMMAS, [f"{i},5" for i in range(N)], WORDS))
    assert csv.decimal == "," and with_decimal_commas(csv) is csv
