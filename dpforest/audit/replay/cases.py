"""Draw random cases: a certified forest with random settings, and two neighboring tables on a random domain."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpforest.audit.replay.input_formats import InputFormat, as_frame
from dpforest.audit.replay.random_tables import BAD, DOUBTFUL, edge_row, random_table, with_odd_cells, with_row
from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.settings import settings_of
from dpforest.audit.replay.tape import Table
from dpforest.models.base import ForestClassifier
from dpforest.privacy.ledger import ADD_REMOVE, NEIGHBORS
from dpforest.tables.domain import Domain

# Labels that are no class of any random domain.
NO_CLASS: Final = (None, "no class", -100, 3.5)
ODD_AND_BAD: Final = (*BAD, *DOUBTFUL, None, "", "?", "nan", 0.5, 7, True)


@dataclass(frozen=True, eq=False)
class Case:
    """A forest, two neighboring tables, and the input format of the fits.

    `rare` is a key of `RARE` if rare answers replace the random answers of the fit, and otherwise empty.
    """

    model: ForestClassifier
    before: Table
    after: Table
    input_format: InputFormat
    rare: str = ""

    def __str__(self) -> str:
        X, y = max(self.before, self.after, key=lambda table: len(table[1]))
        domain = self.model.domain
        assert domain is not None
        parameters = {k: v for k, v in self.model.get_params().items() if v not in (None, "auto") and k != "domain"}
        settings = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        tables = (
            f"{len(y):,} rows, {domain.n_features} attributes, {domain.n_classes} classes, {self.input_format.__name__}"
        )
        return f"{type(self.model).__name__}({settings}) on {tables}{self.rare and ', '}{self.rare}"


def _pair(
    rng: np.random.Generator, rows: Table, row: Table, replacement: Table, neighbors: str, *, last: bool = True
) -> tuple[Table, Table]:
    """Return two neighboring tables in random order: one has the rows `rows` and `row`, and the other only `rows`.

    Under replace-one, the other table also has the row `replacement`.
    """
    n = len(rows[1])
    place = n if last else int(rng.integers(n + 1))
    pair = with_row(rows, row, place, n), rows
    if neighbors != ADD_REMOVE:
        pair = pair[0], with_row(rows, replacement, place, n + 1)
    return pair if rng.random() < 0.5 else pair[::-1]


def _labels(rng: np.random.Generator, n_classes: int) -> tuple[np.ndarray, int, int]:
    """Draw the classes of the common rows, the class of the row that differs, and the class of its replacement.

    The class of the row that differs can be absent from the common rows.
    """
    order = rng.permutation(n_classes)
    n_common = max(1, int(rng.choice([1, n_classes - 1, n_classes])))
    return order[:n_common], int(order[-1]), int(order[0])


def random_case(
    rng: np.random.Generator,
    kind: type[ForestClassifier],
    n: int,
    domain: Domain,
    *,
    input_format: InputFormat = as_frame,
    rare: str | None = None,
    n_bad: int | None = None,
    neighbors: str = "",
    alike: bool = False,
    listed: bool = False,
    **fixed: Any,
) -> Case:
    """Return a case with random values for all settings that the caller does not fix.

    Parameters
    ----------
    rng : Generator
        Source of all random values.
    kind : class
        Estimator class of the forest.
    n : int
        Number of rows of the larger table.
    domain : Domain
        Domain of both tables.
    input_format : function
        Function that fits the forest to a table in some format; by default a data frame.
    rare : str, optional
        A key of `RARE`, whose rare answers replace the random answers of a fit; empty if no answer is replaced. By
        default, the function draws a key or the empty text.
    n_bad : int, optional
        Number of unreadable cells in each column of the common rows. Usually, the row that differs has one more. All
        these rows also get other odd cells. By default, there are no such cells.
    neighbors : {"", "add-remove", "replace-one"}
        How the two tables differ. If empty, the function draws the relation.
    alike : bool
        True: all rows are equal, except the replacement of the row that differs.
    listed : bool
        True: the class of the row that differs is in the domain. False: it may be a value that is no class.
    **fixed
        Parameters of the forest. Parameters that the forest does not have are ignored.

    Returns
    -------
    Case
        The forest, and both tables in random order.
    """
    neighbors = neighbors or str(rng.choice(NEIGHBORS))
    classes, label, other = _labels(rng, domain.n_classes)
    rows = random_table(rng, domain, n - 1, classes)
    if alike:
        rows = rows[0].iloc[np.zeros(n - 1, int)].reset_index(drop=True), np.repeat(rows[1][:1], n - 1)
    differing_row, replacement = edge_row(rng, domain, label), edge_row(rng, domain, other)
    if n_bad is not None:
        rows = with_odd_cells(rng, rows, n_bad, DOUBTFUL if rng.random() < 0.5 else ODD_AND_BAD)
        differing_row = with_odd_cells(rng, differing_row, int(rng.random() < 0.8))
    if alike:
        differing_row = rows[0].iloc[:1], rows[1][:1]
    elif not listed and rng.random() < 0.15:
        differing_row = differing_row[0], np.array([NO_CLASS[rng.integers(len(NO_CLASS))]], object)
    settings = {"epsilon": _epsilon(rng), **settings_of(rng, kind, n, domain.n_classes), **fixed}
    settings = {name: value for name, value in settings.items() if name in kind._get_param_names()}
    if rare is None:
        rare = "" if rng.random() < 0.5 else str(rng.choice(list(RARE)))
    before, after = _pair(rng, rows, differing_row, replacement, neighbors, last=input_format is not as_frame)
    return Case(kind(domain=domain, neighbors=neighbors, **settings), before, after, input_format, rare)


def _epsilon(rng: np.random.Generator) -> float:
    return float(rng.choice([0.8, 1.0, 0.1, 4.0, round(float(10 ** rng.uniform(-2, 1)), 3)]))
