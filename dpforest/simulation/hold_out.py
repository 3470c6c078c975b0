"""Hold out whole persons: the rows of a person are all used for the fit, or are all held out.

`hold_out` holds out as many persons as scikit-learn's `GroupShuffleSplit` does. The choice of persons depends only on
the seed and on the identifiers. So a table with the same rows in another order, or another process, gets the same
choice.
"""

import hashlib
import math
from typing import Any

import numpy as np

from dpforest.tables.cells import as_array, cell_text, factorize
from dpforest.tables.features import DomainError, plural


def person_ranks(identifiers: Any, seed: int = 0) -> np.ndarray:
    """Put persons in a random order, and return the position of each row's person in this order.

    The order sorts persons by a hash of the seed and their identifier.

    Parameters
    ----------
    identifiers : array of shape (n,)
        One identifier for each row. Identifiers with equal texts belong to one person. All rows without an identifier
        count as one person.
    seed : int
        Seed of the order.

    Returns
    -------
    int64 array of shape (n,)
        Position of each row's person, from 0 to the number of persons - 1.

    Examples
    --------
    >>> person_ranks(["ann", "bob", "ann", "cy", None]).tolist()
    [1, 3, 1, 0, 2]
    """
    codes, values = factorize(as_array(identifiers))
    hashes = [_hash(seed, f"person {cell_text(value)}") for value in values]
    return np.unique(np.array([*hashes, _hash(seed, "nobody")], np.uint64)[codes], return_inverse=True)[1]


def hold_out(identifiers: Any, *, share: float, seed: int = 0) -> np.ndarray:
    """Choose persons at random, and return which rows are held out because they belong to these persons.

    Parameters
    ----------
    identifiers : array of shape (n,)
        As in `person_ranks`.
    share : float
        Share of persons to hold out, rounded up to whole persons; at least one person is left to fit on.
    seed : int
        Seed of the choice of persons.

    Returns
    -------
    bool array of shape (n,)
        Whether each row is held out.

    Raises
    ------
    DomainError
        If there are fewer than two persons.

    Examples
    --------
    >>> hold_out(["ann", "bob", "ann", "cy"], share=0.3).tolist()
    [False, False, False, True]
    """
    rank = person_ranks(identifiers, seed)
    n_persons = _count_persons(rank, 2)
    return rank < min(math.ceil(share * n_persons), n_persons - 1)


def person_folds(identifiers: Any, folds: int, *, seed: int = 0) -> np.ndarray:
    """Return the fold in which each row is held out, int64 array of shape (n,).

    The numbers of persons in any two folds differ by at most one.

    Raises
    ------
    DomainError
        If there are fewer persons than folds.
    """
    rank = person_ranks(identifiers, seed)
    return rank * folds // _count_persons(rank, folds)


def _count_persons(rank: np.ndarray, needed: int) -> int:
    """Return the number of persons; raise DomainError if it is below `needed`."""
    n_persons = int(rank.max(initial=-1)) + 1
    if n_persons < needed:
        raise DomainError(
            f"The rows are of {plural(n_persons, 'person')}, too few to hold some out; name another column of "
            "identifiers."
        )
    return n_persons


def _hash(seed: int, words: str) -> int:
    digest = hashlib.blake2b(f"{seed} {words}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
