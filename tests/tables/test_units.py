"""Persons of a table: identifiers as texts, the cap on rows, weights as multiples of 1/1024, and tables in parts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpforest.audit.replay.variants import domain_of, random_rows
from dpforest.tables.chunked_files import read_chunks
from dpforest.tables.csv_rows import read_table
from dpforest.tables.features import DomainError
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells
from dpforest.tables.rows import read_rows
from dpforest.tables.units import MOST_ROWS, UNIT_WEIGHT, UnitRegistry, identifiers_of
from tests.conftest import examples

DOMAIN = replace(domain_of(2), unit="id")
SIZES = (1, 2, 7, 256, 257, 300, 1_000)


class NoText:
    """An object that raises an error if it is compared or converted to text."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise KeyError

    def __repr__(self) -> str:
        raise KeyError


def persons_of(identifiers, listed=None) -> tuple[list[int], list[int], int]:
    """Return the person of each row that is kept, its weight, and the number of persons."""
    registry, listed = UnitRegistry(), np.ones(len(identifiers), bool) if listed is None else listed
    registry.count(identifiers, listed)
    units, _ = registry.read(identifiers, listed)
    return units.index.tolist(), units.weight.tolist(), units.n_units


@pytest.mark.parametrize(
    "identifiers, index",
    [
        (["a", "b", "a", None, "c"], [0, 1, 0, 2]),
        (["07", "7", 7, 7.0, "7.0"], [0, 1, 1, 1, 2]),  # texts are compared exactly, and a number by its text
        ([1, 1.0, np.int8(1), np.float32(1), "1", "01"], [0, 0, 0, 0, 0, 1]),
        ([True, "True", 1], [0, 0, 1]),
        (["a", "A", " a", "a ", "a\0"], [0, 1, 2, 3, 0]),  # numpy removes null characters at the end of a text
        ([float("nan"), None, pd.NA, pd.NaT, "x"], [0]),
        (["x", ["y"], ["y", "z"], (), {}], [0, 1, 2]),  # a list of one cell is that cell; a longer one is missing
        (["\ud800", "x", "\ud800"], [0, 1, 0]),
        (pd.Series(["'\\ud800'", "\ud800", "x"], dtype="string[python]"), [0, 1, 2]),
        (pd.Series(pd.arrays.ArrowExtensionArray(pa.array([1.5, float("nan"), 1.5], from_pandas=False))), [0, 0]),
        (pd.Series(pd.arrays.FloatingArray(np.array([0.1, np.nan, np.nan], "f4"), np.array([0, 0, 1], bool))), [0]),
        (["a", b"a", b"b"], [0, 0, 1]),
        ([b"a\xff", b"a\xfe", "a\ufffd", b"b"], [0, 0, 0, 1]),  # bytes that are not UTF-8 become one character
        ([10**4_299, 10**4_299 + 1, 10**5_000, -(10**6_000)], [0, 1, 2, 2]),  # Python writes at most 4,300 digits
        (pd.Series([1, 2, None, 1]), [0, 1, 0]),  # whole numbers that became floats
        (pd.Series([2**60, 2**60 + 1, None], dtype="Int64"), [0, 1]),
        (pd.Series(["b", "a", "b"]).astype(pd.CategoricalDtype(["a", "b", "never"])), [1, 0, 1]),
        (pd.Series([1, 2, 1]).astype("category"), [0, 1, 0]),
        (pd.Series(pd.to_datetime(["2026-01-01", None, "2026-01-01", "2026-01-02"])), [0, 0, 1]),
        (np.array(["a", "b", "a"]), [0, 1, 0]),
        (np.array([0.1, 0.2, 0.1], np.float32), [0, 1, 0]),
    ],
)
def test_identifiers_are_compared_as_texts(identifiers, index):
    cells = identifiers_of("id", [[0]] * len(identifiers), identifiers)
    assert persons_of(cells)[0] == index
    assert persons_of(cells)[2] == max(index) + 1


def test_persons_with_one_text_weigh_as_one():
    """Two persons with the same text share the weight and the limit of one person, as docs/PRIVACY.md states."""
    index, weight, n_units = persons_of(np.array([10**5_000, 10**5_001, 10**5_001, "x"], object))
    assert (index, weight, n_units) == ([0, 0, 0, 1], [341, 341, 341, 1024], 2)
    many = persons_of(["a"] * 200 + ["a\0"] * 200)
    assert len(many[0]) == MOST_ROWS and sum(many[1]) <= UNIT_WEIGHT


@pytest.mark.filterwarnings("ignore")
def test_no_identifier_raises_an_error_or_changes_the_others():
    others = ["a", "b", "a", 5, 5.0]
    alone = persons_of(np.array(others, object))
    for one in (10**5_000, {1: 2}, (1, 2), np.array([1, 2]), object(), 1j, b"x", "\udc00", pd.Timestamp(0), NoText()):
        cells = np.empty(6, object)
        cells[:5], cells[5] = others, one
        together = persons_of(cells)
        assert together[0][:5] == alone[0] and together[1][:5] == alone[1]
        for groups in (cells, list(cells), pd.Series(cells)):
            units = read_rows(DOMAIN, *random_rows(6, 2, 0), groups=groups).units
            assert units.index[:5].tolist() == alone[0] and units.weight[:5].tolist() == alone[1]


@pytest.mark.parametrize("n", SIZES)
def test_a_person_keeps_at_most_256_rows_and_weighs_at_most_1024(n):
    index, weight, n_units = persons_of(["x"] * n)
    assert (len(index), n_units) == (min(n, MOST_ROWS), 1)
    assert set(weight) == {UNIT_WEIGHT // min(n, MOST_ROWS)}
    assert UNIT_WEIGHT - len(index) < sum(weight) <= UNIT_WEIGHT


def test_rows_are_kept_by_the_rank_among_the_persons_rows():
    """Which rows of a person are kept, and their weights, do not depend on other persons."""
    rng = np.random.default_rng(0)
    for _ in range(examples(80)):
        sizes = rng.choice(SIZES, int(rng.integers(1, 6)))
        identifiers = rng.permutation(np.repeat([f"p{i}" for i in range(len(sizes))], sizes)).astype(object)
        listed = rng.random(len(identifiers)) < rng.choice([1, 0.8])
        registry = UnitRegistry()
        registry.count(identifiers, listed)
        units, _ = registry.read(identifiers, listed)
        kept = units.places
        assert units.n_units == len(sizes) and listed[kept].all() and (np.diff(kept) > 0).all()
        for name in set(identifiers):
            rows = np.flatnonzero(identifiers == name)
            alone = UnitRegistry()
            alone.count(identifiers[rows], listed[rows])
            unit, _ = alone.read(identifiers[rows], listed[rows])
            of_name = np.isin(kept, rows)
            assert kept[of_name].tolist() == rows[unit.places].tolist()
            assert units.weight[of_name].tolist() == unit.weight.tolist()
            assert unit.weight.sum() <= UNIT_WEIGHT


def test_rows_without_a_listed_label_are_left_out_before_the_cap():
    listed = np.arange(600) % 2 == 0
    index, weight, n_units = persons_of(["x"] * 600, listed)
    assert (len(index), set(weight), n_units) == (256, {4}, 1)
    index, weight, n_units = persons_of(["x"] * 3 + ["y"], np.array([False, True, True, False]))
    assert (index, weight, n_units) == ([0, 0], [512, 512], 2)  # a person whose rows have no listed label counts, too


def test_rows_that_are_left_out_are_counted_for_the_curator():
    noted = OutOfDomainCells()
    X, y = random_rows(302, 2, 0)
    rows = read_rows(DOMAIN, X, y, groups=["x"] * 300 + [None] * 2, out_of_domain=noted)
    assert len(rows.y) == 256
    assert rows.n_given == rows.n_counted == 1
    assert noted.count("id", OutOfDomain.NO_UNIT) == 2
    assert noted.count("id", OutOfDomain.OVER_ROW_LIMIT) == 44


def test_parts_equal_the_whole_table_wherever_it_is_cut():
    rng = np.random.default_rng(1)
    for _ in range(examples(40)):
        n = int(rng.choice([3, 40, 700]))
        identifiers = rng.choice(np.array(["a", "b", None, *map(str, range(int(rng.integers(1, 20))))], object), n)
        listed = rng.random(n) < 0.9
        whole, parts = UnitRegistry(), UnitRegistry()
        cuts = np.r_[0, np.sort(rng.integers(0, n + 1, int(rng.integers(1, 6)))), n]
        slices = [slice(a, b) for a, b in zip(cuts, cuts[1:])]
        whole.count(identifiers, listed)
        for part in slices:
            parts.count(identifiers[part], listed[part])
        units, ids = whole.read(identifiers, listed)
        for _ in range(2):  # the second reading follows `restart`
            read = [parts.read(identifiers[part], listed[part]) for part in slices]
            places = [u.places + part.start for (u, _), part in zip(read, slices)]
            assert np.concatenate(places).tolist() == units.places.tolist()
            assert np.concatenate([u.weight for u, _ in read]).tolist() == units.weight.tolist()
            assert np.concatenate([i for _, i in read]).tolist() == ids.tolist()
            parts.restart()


def test_files_give_the_identifiers_of_their_cells(tmp_path):
    """An empty cell does not turn whole numbers into floats, so 2**60 and 2**60 + 1 stay different."""
    X, y = random_rows(7, 2, 0)
    table = X.assign(id=pd.array([2**60, 2**60 + 1, 2**60, None, 7, 7, 8], dtype="Int64"), y=y)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    frames = [read_table((tmp_path / "t.csv").read_bytes(), DOMAIN)]
    frames += [
        pd.concat([part for part, _ in read_chunks(tmp_path / f"t.{kind}", DOMAIN, rows=2)])
        for kind in ("csv", "parquet")
    ]
    for frame in frames:
        assert persons_of(frame["id"].reset_index(drop=True))[0] == [0, 1, 0, 2, 2, 3]
    seven = X.assign(id=["07", "7", "7.0", "07", "", "a", "7"], y=y)
    cells = read_table(seven.to_csv(index=False).encode(), DOMAIN)["id"]
    assert persons_of(cells)[0] == [0, 1, 2, 0, 3, 1]


def test_identifiers_are_needed_exactly_where_a_unit_is_declared():
    X, y = random_rows(4, 2, 0)
    with pytest.raises(DomainError, match="no such column"):
        read_rows(DOMAIN, X, y)
    with pytest.raises(ValueError, match="names no unit"):
        read_rows(domain_of(2), X, y, groups=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="one identifier for each of 4 rows"):
        read_rows(DOMAIN, X, y, groups=[1, 2, 3])
    given = read_rows(DOMAIN, X.assign(id=[1, 1, 2, 2]), y)
    assert (
        given.units.index.tolist() == read_rows(DOMAIN, X, y, groups=[1, 1, 2, 2]).units.index.tolist() == [0, 0, 1, 1]
    )


def test_no_attribute_may_be_the_unit():
    for unit in ("a", "y", "", 3):
        with pytest.raises(DomainError):
            replace(domain_of(2), unit=unit)
