"""Groups of held-out rows by a column that the user chooses, and the accuracy and error rates of the groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from dpforest.evaluation.group_rates import Rate, by_group, rates
from dpforest.evaluation.groups import Groups, groups_by_text, groups_of
from dpforest.simulation.hold_out import person_ranks
from dpforest.simulation.pieces import unpacked
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomainCells
from ui import state
from ui.forest.forests import ForestSettings
from ui.jobs.sweep_job import splits_of
from ui.shared.controls import select
from ui.shared.tables import Table, read_by, split

_PRESELECTED: Final = ("sex", "gender", "race", "age")  # the first of these columns in a table is preselected
_NAMES_OF_RATES: Final = {
    "false_positive_rate": "false-positive rate",
    "false_negative_rate": "false-negative rate",
    "selection_rate": "selection rate",
}


def choose_column(table: Table) -> str:
    """Ask for a column, and return its name. It may be a column that no forest learns from."""
    used = table.domain.names
    read = (*used, *table.domain.source_columns, table.label, table.unit)
    names = [*used, *(name for name in table.frame if name not in read)]
    by_word = {name.lower(): name for name in names}
    default = next((by_word[word] for word in _PRESELECTED if word in by_word), names[0])
    return select("Groups by", names, state.GROUPS_BY, "Any column of the table, also an unused one.", default)


def groups_of_splits(table: Table, settings: ForestSettings, column: str, folds: int = 1) -> list[Groups]:
    """Return, for each split, the groups of the rows that are held out from forests with these settings.

    A forest in the published mode treats each row as a person, even if a column identifies persons. So its held-out
    rows differ from those of a certified forest.
    """
    return [_groups_of(table, column, split.test) for split in splits_of(read_by(table, settings), folds)]


def _groups_of(table: Table, column: str, rows: np.ndarray) -> Groups:
    persons = np.arange(len(rows)) if table.identifiers is None else person_ranks(table.identifiers.iloc[rows])
    feature = next((feature for feature in table.domain.features if feature.name == column), None)
    cells = table.frame[[column if feature is None else feature.column]].iloc[rows]
    if feature is None:
        return groups_by_text(cells[column].tolist(), persons)
    return groups_of(feature, Domain((feature,)).encode(cells, OutOfDomainCells())[:, 0], persons)


@dataclass(frozen=True)
class GroupRates:
    """Groups of the rows that are held out from a forest, and the rates to measure in each group.

    In its methods, `bits` has one item for each simulated release: a bit for each held-out row, which is 1 if the
    release classifies the row correctly (`pieces.packed`).

    Attributes
    ----------
    groups : Groups
        Group and person of each held-out row.
    rates : dict of str to Rate
        Rates to measure, by the name that the page shows.
    positive : object
        The class with the fewest training rows. It is the positive class if there are two classes.
    counted : str
        What the sizes of groups count: "rows", or "persons" if a column identifies persons.
    """

    groups: Groups
    rates: dict[str, Rate]
    positive: object
    counted: str

    @classmethod
    def of(cls, table: Table, settings: ForestSettings, column: str) -> GroupRates:
        """Return the groups by a column, and the rates, of the rows held out from forests with these settings."""
        rows, classes = split(read_by(table, settings)), table.domain.classes
        (groups,) = groups_of_splits(table, settings, column)
        positive = int(np.bincount(rows.y_train, minlength=len(classes)).argmin())
        rate_of = {
            _NAMES_OF_RATES.get(name, name): rate for name, rate in rates(rows.y_test, classes, positive).items()
        }
        return cls(groups, rate_of, classes[positive], "rows" if table.unit is None else "persons")

    def right(self, bits: list[bytes]) -> np.ndarray:
        """Return whether each release classifies each row correctly, bool array of shape (n_releases, n_test)."""
        return unpacked(bits, len(self.groups.index))

    def at(self, bits: list[bytes], name: str = "accuracy") -> pd.DataFrame:
        """Return one rate of each group with its interval, as from `group_rates.by_group`."""
        return by_group(self.right(bits), self.rates[name], self.groups)

    def table(self, bits: list[bytes]) -> pd.DataFrame:
        """Return all rates of each group in percent, with the interval of the accuracy."""
        tables = {name: self.at(bits, name) for name in self.rates}
        accuracy = tables.pop("accuracy")
        shares = {"accuracy": accuracy["rate"], "from": accuracy["low"], "to": accuracy["high"]}
        shares |= {name: table["rate"] for name, table in tables.items()}
        sizes = {"group": accuracy["group"], self.counted: accuracy["persons"]}
        return pd.DataFrame(sizes).join(100 * pd.DataFrame(shares))
