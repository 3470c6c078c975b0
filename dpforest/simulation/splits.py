"""Splits of a table into rows to fit on and held-out rows."""

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from dpforest.limits import MIN_ROWS
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import plural
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import read_rows

TEST_SHARE = 0.3  # share of held-out rows, by default


@dataclass(frozen=True)
class Split:
    """Codes and class indices of the rows to fit on and of the held-out rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def split_table(
    domain: Domain,
    X,
    y,
    *,
    test_share: float = TEST_SHARE,
    seed: int = 0,
    out_of_domain: OutOfDomainCells | None = None,
) -> Split:
    """Read a table once, as a fit does, and hold out some rows, stratified by class if every class has enough rows.

    Parameters
    ----------
    X : DataFrame or array of shape (n, n_features)
    y : array of shape (n,)
    test_share : float
        Share of rows to hold out.
    seed : int
    out_of_domain : OutOfDomainCells, optional
        As in `read_rows`.

    Raises
    ------
    DomainError
        If the table lacks columns of the domain, or fewer than two rows have a listed label.
    """
    rows = read_rows(domain, X, y, out_of_domain=out_of_domain)
    train, test = _held_out(rows.y, rows.n_given, test_share, seed)
    return Split(rows.codes[train], rows.y[train], rows.codes[test], rows.y[test])


def split_labels(domain: Domain, y, *, test_share: float = TEST_SHARE, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the class indices of the same rows, to fit on and held out, without reading any other column."""
    index = domain.listed_labels(y)
    labels = index[index >= 0]
    train, test = _held_out(labels, len(index), test_share, seed)
    return labels[train], labels[test]


def _held_out(labels: np.ndarray, n_given: int, test_share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the rows to fit on and of the held-out rows, among rows with a listed label."""
    if len(labels) < MIN_ROWS:
        raise DomainError(
            f"Of {plural(n_given, 'row')} {len(labels)} {'has' if len(labels) == 1 else 'have'} a label that is "
            "listed, too few to hold some out; correct the classes or choose another label."
        )
    counts = np.bincount(labels)
    stratify = labels if counts[counts > 0].min() >= 2 and len(labels) * test_share >= len(counts) else None
    train, test = train_test_split(np.arange(len(labels)), test_size=test_share, random_state=seed, stratify=stratify)
    return train, test
