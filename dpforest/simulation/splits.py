"""Splits of a table into rows to fit on and held-out rows."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from dpforest.limits import MIN_ROWS
from dpforest.simulation.hold_out import hold_out
from dpforest.tables.cells import as_array
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import plural
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import EncodedTable, read_rows
from dpforest.tables.units import Units
from dpforest.voting import uniform

TEST_SHARE = 0.3  # share of held-out rows, by default


@dataclass(frozen=True)
class Split:
    """Codes and class indices of the rows to fit on and of the held-out rows.

    If the domain declares a unit (a column that identifies persons), a person is held out with all of their rows. But
    `X_test` has only one of these rows, which is drawn without regard to its content. So each held-out person counts
    once in every figure.

    Parameters
    ----------
    X_train, X_test : uint16 arrays of shape (n, n_features)
        Codes of the rows to fit on, and of the held-out rows.
    y_train, y_test : int32 arrays of shape (n,)
        Class indices of these rows.
    test : int64 array
        Positions of the rows of `X_test` in the table; empty if unknown.
    units : Units or None
        Persons and weights of the rows to fit on, if the domain declares a unit.
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    test: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    units: Units | None = None

    @property
    def n_train(self) -> int:
        """Number of rows to fit on; if the domain declares a unit, number of persons to fit on."""
        return len(self.y_train) if self.units is None else self.units.n_units

    @property
    def row_ids(self) -> np.ndarray:
        """Ids of the rows to fit on, int64 (n,), from which a simulation derives draws. A person's rows share an id."""
        return np.arange(len(self.y_train)) if self.units is None else self.units.index

    def part(self, units: np.ndarray) -> "Split":
        """Return the split with fewer rows to fit on. `units` are indices of rows or, with a unit, of persons."""
        rows = units if self.units is None else np.flatnonzero(np.isin(self.units.index, units))
        part_units = None if self.units is None else self.units.of_rows(rows)
        return replace(self, X_train=self.X_train[rows], y_train=self.y_train[rows], units=part_units)


def split_table(
    domain: Domain,
    X,
    y,
    *,
    test_share: float = TEST_SHARE,
    seed: int = 0,
    out_of_domain: OutOfDomainCells | None = None,
    groups: Any = None,
) -> Split:
    """Encode a table as a fit does, and hold out some of its rows.

    The held-out rows are stratified by class if every class has enough rows. But if the domain declares a unit (a
    column that identifies persons), or if `groups` are given, whole persons are held out (`hold_out`).

    Parameters
    ----------
    domain : Domain
        Schema with classes.
    X : DataFrame or array of shape (n, n_features)
        Cells of the attributes.
    y : array of shape (n,)
        Labels. Rows whose label is not one of the domain's classes are left out.
    test_share : float
        Share of rows, or of persons, to hold out.
    seed : int
        Seed of the choice of held-out rows.
    out_of_domain : OutOfDomainCells, optional
        As in `read_rows`.
    groups : array of shape (n,), optional
        Identifier of each row's person; by default the cells of the unit's column, if the domain declares a unit.

    Returns
    -------
    Split
        Encoded rows to fit on and held-out rows.

    Raises
    ------
    DomainError
        If the table lacks columns of the domain, or fewer than two rows or persons have a label among its classes.
    ValueError
        If `groups` does not have one identifier for each row.
    """
    unit_groups = None if domain.unit is None else groups
    rows = read_rows(domain, X, y, np.arange(len(y)), out_of_domain=out_of_domain, groups=unit_groups)
    return split_of(rows, *_held_out(rows.y, rows.n_given, test_share, seed, persons_of(rows, groups, len(y))))


def persons_of(rows: EncodedTable, groups: Any, n: int) -> np.ndarray | None:
    """Return an identifier of each row's person, from the unit of the domain or from `groups`; None without them."""
    return identifiers_at(groups, rows.ids, n) if rows.units is None else rows.ids


def identifiers_at(groups: Any, rows: np.ndarray, n: int) -> np.ndarray | None:
    """Return the entries of `groups` for some rows, or None without `groups`.

    Raises ValueError unless `groups` has `n` entries, one for each row of the table.
    """
    if groups is None:
        return None
    if len(groups) != n:
        raise ValueError(f"groups has {len(groups):,} entries for {plural(n, 'row')}; give one identifier for each row")
    return as_array(groups)[rows]


def split_of(rows: EncodedTable, train: np.ndarray, test: np.ndarray) -> Split:
    """Return the split into the rows `train` and `test`, given by their indices in `rows`.

    If the domain declares no unit, `rows.ids` must be the positions of the rows in the table.
    """
    if rows.units is None:
        return Split(rows.codes[train], rows.y[train], rows.codes[test], rows.y[test], rows.ids[test])
    test = _one_row_each(rows.units, test)
    units, places = rows.units.of_rows(train), rows.units.places
    return Split(rows.codes[train], rows.y[train], rows.codes[test], rows.y[test], places[test], units)


def _one_row_each(units: Units, rows: np.ndarray) -> np.ndarray:
    """Return the index of one row of each person: the row with the smallest hash of its position in the table."""
    hashes = uniform(0, units.places[rows].view(np.uint64))
    order = np.lexsort((hashes, units.index[rows]))
    first = np.unique(units.index[rows][order], return_index=True)[1]
    return np.sort(rows[order][first])


def split_labels(
    domain: Domain, y, *, test_share: float = TEST_SHARE, seed: int = 0, groups: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class indices of the rows to fit on and of the held-out rows, split as by `split_table`.

    Other columns than the label are not needed, because a split depends only on labels and identifiers.
    """
    index = domain.listed_labels(y)
    listed = np.flatnonzero(index >= 0)
    labels = index[listed]
    train, test = _held_out(labels, len(index), test_share, seed, identifiers_at(groups, listed, len(index)))
    return labels[train], labels[test]


def _held_out(
    labels: np.ndarray, n_given: int, test_share: float, seed: int, identifiers: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices into `labels` of the rows to fit on and of the held-out rows. A label is a class index."""
    if len(labels) < MIN_ROWS:
        raise DomainError(
            f"Of {plural(n_given, 'row')} {len(labels)} {'has' if len(labels) == 1 else 'have'} a label that is "
            "listed, too few to hold some out; correct the classes or choose another label."
        )
    if identifiers is not None:
        is_held_out = hold_out(identifiers, share=test_share, seed=seed)
        return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
    counts = np.bincount(labels)
    stratify = labels if counts[counts > 0].min() >= 2 and len(labels) * test_share >= len(counts) else None
    train, test = train_test_split(np.arange(len(labels)), test_size=test_share, random_state=seed, stratify=stratify)
    return train, test
