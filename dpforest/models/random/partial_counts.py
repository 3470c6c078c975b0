"""Count the rows of a table part by part. Counts of parts can be added if they are for the same settings.

If trees do not depend on data, a fit needs only the number of rows of each class in each leaf. These counts can be
added over the parts of a table, in any order and wherever the table is cut. So a table may be larger than memory, or
its parts may be on many machines. The counts are exact, so they must stay with the curator (the data holder), and only
the noisy leaves of `fit_counts` may be published.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpforest.models.random.fit import count_kept_rows, rows_to_trees
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.randomness import source_for
from dpforest.privacy.release import assign_rows
from dpforest.privacy.samplers import MAX_COUNT, MAX_WEIGHT
from dpforest.tables.domain import Domain
from dpforest.tables.rows import EncodedTable
from dpforest.trees.released_scale import ReleasedScale

# Fields of `ForestSpec` on which exact counts do not depend. All other settings of two parts must be equal before their
# counts are added.
_RELEASE_FIELDS = (
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
    """Exact counts of the rows of each class in each leaf, for a part of a table. Only the curator may see them.

    If the domain declares a unit of privacy (`Domain.unit`), the counts are sums of weights in 1/1024.

    ``+`` and `sum` add the counts of parts. Pickle can carry counts between machines that may see the rows; there is no
    other export.

    Parameters
    ----------
    counts : int64 array of shape (n_leaves, n_classes)
        Number, or total weight, of the rows of each class in each leaf.
    n_rows : int
        Number of rows (or of persons, see `Domain.unit`), including rows without a listed label.
    settings : dict
        All settings on which the counts depend (`counting_settings`).

    Raises
    ------
    ValueError
        If `counts` or `n_rows` has an invalid type or value, or if ``+`` gets counts for other settings.
    """

    counts: np.ndarray
    n_rows: int
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        counts, n = self.counts, self.n_rows
        most = MAX_COUNT if self.settings.get("count_unit", 1) == 1 else MAX_WEIGHT
        is_valid_array = isinstance(counts, np.ndarray) and counts.dtype == np.int64 and counts.ndim == 2
        if (
            not is_valid_array
            or counts.min(initial=0) < 0
            or counts.max(initial=0) >= most
            or type(n) is not int
            or n < 0
        ):
            raise ValueError(
                f"counts must be int64 (n_leaves, n_classes), at least 0 and below {most:,}, and n_rows a whole number "
                "of at least 0."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # check again, because another version may have written the pickle

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: exact counts of a part of the rows, curator only>"

    def __add__(self, other: Any) -> "PartialCounts":
        if not isinstance(other, PartialCounts):
            return NotImplemented
        self.check(other.settings)
        return PartialCounts(self.counts + other.counts, self.n_rows + other.n_rows, self.settings)

    def __radd__(self, start: Any) -> "PartialCounts":
        return self if isinstance(start, int) and start == 0 else NotImplemented  # `sum` starts from 0

    def check(self, settings: dict[str, Any]) -> None:
        """Raise ValueError, which names the different settings, unless the rows were counted under `settings`."""
        missing = object()
        names = {**settings, **self.settings}
        different = [n for n in names if self.settings.get(n, missing) != settings.get(n, missing)]
        if different:
            raise ValueError(
                f"These rows were counted for a forest with other settings ({', '.join(different)}); "
                "count all parts with one forest, and fit the same forest."
            )


class PartCounter:
    """Counter of the rows in each leaf of the trees that `fit_forest` grows.

    In a demonstration (a fit with a seed), `PartCounter` and `fit_forest` count a row in the same tree.

    Parameters
    ----------
    spec, domain, scale, structure_seed, n_jobs
        As in `fit_forest`.
    random_state : int or None
        Seed of a demonstration; None for a release.

    Raises
    ------
    ValueError
        If the partition needs all rows at once ("blocks").
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
                "Equal blocks are cut from all rows together, so rows cannot be counted part by part; use fit, or "
                "partition='independent'."
            )
        self.spec, self.domain, self.n_jobs = spec, domain, n_jobs
        self.source = source_for(random_state)
        self.trees = spec.grow(domain, structure_seed, scale, to_file=not spec.as_published)
        self.settings = counting_settings(spec, domain, scale, structure_seed=structure_seed, random_state=random_state)

    def draw_persons(self, ids: np.ndarray) -> np.ndarray | None:
        """Draw the tree of each person, for all parts of a table; None if every row is in every tree.

        Draw once for all parts, because a person with rows in two parts must not get two draws.
        """
        return None if self.spec.partition == "shared" else assign_rows(ids, self.spec.n_trees, self.source)

    def count(self, rows: EncodedTable, tree_of_person: np.ndarray | None = None) -> PartialCounts:
        """Count the rows of one part; `tree_of_person` is the result of `draw_persons` for all parts."""
        if tree_of_person is not None and rows.units is not None:
            tree_of_row: np.ndarray | None = tree_of_person[rows.units.index]
        else:
            tree_of_row = rows_to_trees(self.spec, rows.ids, self.source, rows.units)
        counts = count_kept_rows(
            self.trees, self.domain, rows.codes, rows.y, tree_of_row, n_jobs=self.n_jobs, units=rows.units
        )
        return PartialCounts(counts, rows.n_given, self.settings)


def counting_settings(
    spec: ForestSpec,
    domain: Domain,
    scale: ReleasedScale | None = None,
    *,
    structure_seed: int,
    random_state: int | None,
) -> dict[str, Any]:
    """Return everything that exact counts depend on, except the rows."""
    choices = {name: value for name, value in asdict(spec).items() if name not in _RELEASE_FIELDS}
    schema = json.dumps(domain.to_dict())  # as JSON, because 1 and True are equal in Python but differ in JSON
    released = None if scale is None else scale.cumulative.tolist()
    seeds = {"structure_seed": structure_seed, "random_state": random_state}
    return {**choices, **seeds, "domain": schema, "scale": released}
