"""Counting a table part by part: what one part adds, and what must be alike for parts to be added up.

Where the structure does not look at data, a forest needs nothing of the rows but how many of each class are in each
leaf. These counts add up, whatever the order and the borders of the parts, so a table may be larger than memory, or lie
on many machines. They are exact, so they stay with the curator until a release has added its noise.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpforest.models.random.fit import count_kept_rows, rows_to_trees
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.randomness import source_for
from dpforest.tables.domain import Domain
from dpforest.tables.rows import EncodedTable
from dpforest.trees.released_scale import ReleasedScale

MOST = 2**31  # counts of a leaf stay below; a release can add noise to no more
# What counting does not depend on. Everything else must be alike in parts that are added up.
_LATER = (
    "mechanism",
    "neighbors",
    "voting",
    "negative_rule",
    "leaf_shares",
    "as_published",
    "departures",
    "preparation",
)


@dataclass(frozen=True, eq=False, repr=False)
class PartialCounts:
    """Rows of each class in each leaf, of a part of a table. Curator only: these counts are exact, no noise is in them.

    Parts add up with ``+`` and `sum`. They can be pickled, to be sent between machines that may see the rows; they have
    no other export.

    Parameters
    ----------
    counts : int64 array of shape (n_leaves, n_classes)
    n_rows : int
    settings : dict
        Of the forest that the rows were counted for, as far as the counts depend on them.

    Raises
    ------
    ValueError
        If they are not counts, or parts are added that were counted under different settings.
    """

    counts: np.ndarray
    n_rows: int
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        counts, n = self.counts, self.n_rows
        is_table = isinstance(counts, np.ndarray) and counts.dtype == np.int64 and counts.ndim == 2
        if not is_table or counts.min(initial=0) < 0 or counts.max(initial=0) >= MOST or type(n) is not int or n < 0:
            raise ValueError("Counts are int64 (n_leaves, n_classes), from 0 and below 2³¹, and rows a whole number.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a pickle may have been written by another version

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: exact counts of a part of the rows, curator only>"

    def __add__(self, other: Any) -> "PartialCounts":
        if not isinstance(other, PartialCounts):
            return NotImplemented
        self.check(other.settings)
        return PartialCounts(self.counts + other.counts, self.n_rows + other.n_rows, self.settings)

    def __radd__(self, start: Any) -> "PartialCounts":
        return self if isinstance(start, int) and start == 0 else NotImplemented  # where `sum` begins

    def check(self, settings: dict[str, Any]) -> None:
        """Raise ValueError, which names what differs, where these counts are not those of a forest of such settings."""
        absent = object()
        names = {**settings, **self.settings}
        differ = [n for n in names if self.settings.get(n, absent) != settings.get(n, absent)]
        if differ:
            raise ValueError(
                f"These rows were counted for a forest with other settings ({', '.join(differ)}); "
                "count all parts with one forest, and fit that one."
            )


class PartCounter:
    """Counts rows as `fit_forest` would count them among all others: the same trees, the same draws of a row.

    Parameters
    ----------
    spec, domain, scale, structure_seed, n_jobs
        As in `fit_forest`.
    random_state : int or None

    Raises
    ------
    ValueError
        Where all rows are needed at once.
    """

    def __init__(
        self,
        spec: ForestSpec,
        domain: Domain,
        scale: ReleasedScale | None = None,
        *,
        structure_seed: int,
        random_state: int | None,
        n_jobs: int,
    ):
        if spec.partition == "blocks":
            raise ValueError(
                "Equal blocks are cut from all rows at once, so rows cannot be counted part by part; use fit, or "
                "partition='independent'."
            )
        self.spec, self.domain, self.n_jobs = spec, domain, n_jobs
        self.source = source_for(random_state)
        self.trees = spec.grow(domain, structure_seed, scale, to_file=not spec.as_published)
        self.settings = counting_settings(spec, domain, scale, structure_seed=structure_seed, random_state=random_state)

    def count(self, rows: EncodedTable) -> PartialCounts:
        """Count some rows."""
        tree_of_row = rows_to_trees(self.spec, rows.ids, self.source)
        counts = count_kept_rows(self.trees, self.domain, rows.codes, rows.y, tree_of_row, n_jobs=self.n_jobs)
        return PartialCounts(counts, rows.n_given, self.settings)


def counting_settings(
    spec: ForestSpec,
    domain: Domain,
    scale: ReleasedScale | None = None,
    *,
    structure_seed: int,
    random_state: int | None,
) -> dict[str, Any]:
    """All that exact counts depend on, besides the rows."""
    choices = {name: value for name, value in asdict(spec).items() if name not in _LATER}
    schema = json.dumps(domain.to_dict())  # as text, in which 1 and True differ
    released = None if scale is None else scale.cumulative.tolist()
    seeds = {"structure_seed": structure_seed, "random_state": random_state}
    return {**choices, **seeds, "domain": schema, "scale": released}
