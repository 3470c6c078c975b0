"""Read a Dask DataFrame: its partitions stay on the workers, and only exact sums over rows come back to the client."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.tables.units import identifier_hashes

_LABEL, _PERSON = "__dpforest_label__", "__dpforest_person__"  # names of columns that no table has
_GROUP: Final = 8  # number of counts that one task adds up, so that no worker holds all counts


def is_dask_frame(X: Any) -> bool:
    """Return whether X is a Dask DataFrame (or another collection that consists of delayed partitions)."""
    return hasattr(X, "to_delayed") and hasattr(X, "map_partitions")


def partitions_of(X: Any, y: Any, groups: Any, unit: str | None) -> list[Any]:
    """Return a delayed pair (X, y) for each partition of a Dask DataFrame.

    Parameters
    ----------
    X : dask.dataframe.DataFrame
        Rows.
    y : dask.dataframe.Series
        Labels, in the same partitions.
    groups : None
        Any other value is refused, because identifiers must be a column of `X`.
    unit : str or None
        Column of identifiers. If given, all rows of a person are brought to one partition, by a hash of the identifier
        as a text.

    Raises
    ------
    ValueError
        If `y` is not a Dask Series with the partitions of `X`, or if identifiers are not a column of `X`.
    """
    from dask import delayed

    if not hasattr(y, "to_delayed") or y.npartitions != X.npartitions:
        raise ValueError(
            "X is a Dask DataFrame, so y must be a Dask Series with the same partitions, for example a column of the "
            "same table."
        )
    if groups is not None or unit is not None and unit not in X.columns:
        raise ValueError(f"Identifiers must be a column of the Dask DataFrame; add the column {unit!r}, and no groups.")
    pairs = [delayed(_pair)(*pair) for pair in zip(X.to_delayed(), y.to_delayed())]
    if unit is None:
        return pairs
    frame = X.assign(**{_LABEL: y}).map_partitions(_with_person, unit)
    return [delayed(_split)(part) for part in frame.shuffle(_PERSON).to_delayed()]


def sum_of_partitions(count: Callable[[Any, Any], Any], partitions: list[Any]) -> Any:
    """Return the sum of ``count(X, y)`` over all partitions. Each task adds up at most `_GROUP` results."""
    from dask import delayed

    sums = [delayed(lambda pair: count(*pair))(pair) for pair in partitions]
    while len(sums) > 1:
        sums = [delayed(sum)(sums[i : i + _GROUP]) for i in range(0, len(sums), _GROUP)]
    return sums[0].compute()


def _pair(X: pd.DataFrame, y: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
    return X, y


def _with_person(part: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return a partition with the hash of each row's identifier in an additional column."""
    return part.assign(**{_PERSON: identifier_hashes(part[unit])})


def _split(part: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Return X and y of a partition, without the additional columns."""
    return part.drop(columns=[_LABEL, _PERSON]), part[_LABEL].to_numpy()
