"""The chosen rows, from a bundled table or an uploaded CSV, and their public domain (all public facts about them)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.limits import MAX_CLASSES, MIN_CLASSES
from dpforest.simulation.cells import planned_rows as rows_of_plan
from dpforest.simulation.splits import Split, split_table
from dpforest.tables.datasets import SYNTHETIC, CsvTable, Dataset, list_datasets, load_dataset, read_csv, suggest_domain
from dpforest.tables.decimal_commas import with_decimal_commas
from dpforest.tables.domain import Domain, Feature
from dpforest.tables.features import plural, text
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.units import UnitRegistry
from ui import state
from ui.forest.forests import ForestSettings
from ui.shared import cache

UPLOAD = "upload a CSV"
DEFAULT = "breast_wisconsin"


@dataclass(frozen=True)
class Table:
    """Rows, the label column, and the domain by which the rows are read.

    Parameters
    ----------
    key : str
        Name of a bundled table, or SHA-256 of the uploaded bytes. Keys of caches contain it.
    csv : CsvTable or None
        The parsed file of an upload; None for a bundled table.
    person_column : str or None
        Column that identifies persons. It is set only if `domain` has no unit because a forest as published reads
        single rows (`read_by`).
    """

    key: str
    title: str
    frame: pd.DataFrame
    label: str
    domain: Domain
    attribution: str = ""
    url: str = ""
    csv: CsvTable | None = None
    person_column: str | None = None

    @property
    def unit(self) -> str | None:
        """Column that identifies persons: the unit of the domain or, without a unit, `person_column`."""
        return self.domain.unit or self.person_column

    @property
    def rows_are_persons(self) -> bool:
        """Whether each row is a different person: the user confirmed it, or the table is bundled."""
        return self.domain.unit is None and (not self.uploaded or self.key in state.ROWS_ARE_PERSONS.value)

    @property
    def short_title(self) -> str:
        return self.title if self.uploaded else self.title.split(",")[0]

    @property
    def uploaded(self) -> bool:
        return self.csv is not None

    @property
    def schema_key(self) -> str:
        """Key of an edited domain: the table, the label and, for a file, a digest of the columns not left out."""
        return f"{self.key}|{self.label}{'' if self.csv is None else '|' + _digest_of_names(self.csv)}"

    @property
    def is_public(self) -> bool:
        """Whether the table is public: it is bundled, or the user declared it public."""
        return not self.uploaded or self.key in state.DECLARED_PUBLIC.value

    @property
    def identifiers(self) -> pd.Series | None:
        """Identifier of each row's person; None if no column identifies persons."""
        return None if self.unit is None else self.frame[self.unit]

    def columns(self) -> pd.DataFrame:
        """Return the columns from which the domain reads attributes. The label is not among these columns."""
        return self.frame[list(self.domain.columns)]


def names() -> list[str]:
    """Return all choices of the control "Data"."""
    return [UPLOAD, *list_datasets(), *SYNTHETIC]


@cache.for_everybody(max_entries=32)
def bundled(name: str) -> Dataset:
    """Return a bundled table. All sessions share it."""
    return load_dataset(name)


@cache.for_session(max_entries=2, spinner="Reading the file …")
def uploaded(digest: str, _data: bytes, name: str) -> CsvTable:
    """Return an uploaded table, cached for this session only. The cache uses `digest` and `name` as a key."""
    return with_decimal_commas(read_csv(_data, name=name))


def digest_of(upload: Any) -> str:
    """Return the SHA-256 of an upload, computed once for each file."""
    known = state.DIGESTS.value
    if upload.file_id not in known:
        known[upload.file_id] = hashlib.sha256(upload.getvalue()).hexdigest()
    return known[upload.file_id]


def label_choices(data: Dataset) -> list[str]:
    """Return the columns of a bundled table that can be the label. Its usual label comes first."""
    return [data.label] + [
        f.name
        for f in data.domain.features
        if f.kind == "categorical" and f.missing == "refuse" and MIN_CLASSES <= len(f.categories) <= MAX_CLASSES
    ]


def bundled_table(data: Dataset, label: str) -> Table:
    """Return a bundled table with the label that the user chose."""
    domain = data.domain if label == data.label else _relabeled(data.domain, label)
    table = Table(data.name, data.title, data.table, label, domain, data.attribution, data.url)
    return replace(table, domain=_edited(table))


def uploaded_table(digest: str, csv: CsvTable, label: str) -> Table:
    """Return an uploaded table, read cell by cell. Its domain is inferred from the rows unless the user edited it."""
    table = Table(digest, csv.name, csv.table, label, suggested(digest, label, _digest_of_names(csv), csv), csv=csv)
    return _read_with(replace(table, domain=_edited(table)), csv)


def _read_with(table: Table, csv: CsvTable) -> Table:
    """Return the table with the domain's columns and the label read cell by cell. The session keeps the last result."""
    key = (table.schema_key, fingerprint(table.domain))
    kept = state.READ_ROWS.value
    if kept[0] != key:
        frame = csv.table.copy(deep=False)
        read, unread = csv.read_and_unread(table.domain)
        for name, cells in read.items():
            frame[name] = cells
        kept = state.READ_ROWS.value = key, frame, replace(csv, notes=(*csv.notes, *unread))
    return replace(table, frame=kept[1], csv=kept[2])


@cache.for_session(max_entries=8)
def suggested(digest: str, label: str, columns: str, _csv: CsvTable) -> Domain:
    """Return the domain of an upload, inferred from its rows."""
    return suggest_domain(_csv, label)


def _digest_of_names(csv: CsvTable) -> str:
    """Return a digest of the names of a file's columns."""
    return hashlib.sha256(json.dumps([column.name for column in csv.columns]).encode()).hexdigest()[:16]


def _edited(table: Table) -> Domain:
    return _edits().get(table.schema_key, table.domain)


def _edits() -> dict[str, Domain]:
    """Return the edited domains of this session by `schema_key`. This function stores nothing in the session."""
    return st.session_state.get(state.SCHEMAS, {})


def edit(table: Table, domain: Domain) -> None:
    """Keep an edited domain for this session."""
    state.SCHEMAS.value[table.schema_key] = kept(table.domain, domain)


def kept(old: Domain, domain: Domain) -> Domain:
    """Return `domain`, an edit of `old`, with those declarations of `old` that an edit must not change or drop.

    An edit cannot change the file format. If an edit omits the source of the choice of columns, the old source stays,
    because a choice without a source would count as public. But if an edit changes the choice of columns, an old
    assertion does not cover the new choice, which then counts as read from the data.
    """
    if domain.reading != old.reading:
        domain = replace(domain, reading=old.reading, reading_source=old.reading_source, reading_note=old.reading_note)
    if old.columns_source and not domain.columns_source:
        domain = replace(domain, columns_source=old.columns_source, columns_note=old.columns_note)
    same_words = (domain.columns_source, domain.columns_note) == (old.columns_source, old.columns_note)
    if domain.columns_source == "asserted" and same_words and set(domain.names) != set(old.names):
        domain = replace(domain, columns_source="data", columns_note="")
    return domain


def undo(table: Table) -> None:
    """Drop the edits. The table then has its bundled domain again, or the domain that was inferred from the rows."""
    _edits().pop(table.schema_key, None)


def is_edited(table: Table) -> bool:
    """Return whether the domain was edited."""
    return table.schema_key in _edits()


def _relabeled(domain: Domain, label: str) -> Domain:
    """Return a domain whose label is the attribute `label`. The old label becomes an attribute."""
    new = next(f for f in domain.features if f.name == label)
    old = Feature(
        domain.label,
        "categorical",
        categories=tuple(text(c) for c in domain.classes),
        source=domain.classes_source,
        source_note=domain.classes_note,
    )
    features = (*(f for f in domain.features if f.name != label), old)
    return Domain(features, new.categories, label, new.source, new.source_note)


def fingerprint(domain: Domain) -> str:
    """Return a digest of a public domain."""
    return hashlib.sha256(json.dumps(domain.to_dict()).encode()).hexdigest()


def keep_unit_answer(table: Table, unit: str | None, *, several: bool = False) -> None:
    """Keep the user's answer to the question whether a person can have several rows.

    Parameters
    ----------
    unit : str or None
        The column that identifies persons.
    several : bool
        Whether a person can have several rows although no column identifies persons. Such a table cannot be released
        yet.
    """
    rows_are_persons = unit is None and not several
    for key, holds in ((state.ROWS_ARE_PERSONS, rows_are_persons), (state.PERSONS_WITHOUT_COLUMN, several)):
        if holds:
            key.value.add(table.key)
        else:
            key.value.discard(table.key)


def n_labeled(table: Table) -> int:
    """Return the number of rows whose label is a listed class. Forests learn from these rows only."""
    return _count_labeled((table.schema_key, fingerprint(table.domain)), table)


@cache.by_table(everybody=32, session=8)
def _count_labeled(key: tuple, _table: Table) -> int:
    return int((_table.domain.listed_labels(_table.frame[_table.label]) >= 0).sum())


def n_persons(table: Table) -> int:
    """Return the number of persons that the unit identifies; without a unit, the number of rows."""
    if table.domain.unit is None:
        return len(table.frame)
    return _count_persons((table.schema_key, table.domain.unit), table)


@cache.by_table(everybody=8, session=4)
def _count_persons(key: tuple, _table: Table) -> int:
    registry = UnitRegistry()
    registry.count(_table.frame[key[-1]], np.ones(len(_table.frame), bool))
    return registry.n_units


def counted(table: Table) -> str:
    """Return the number of rows as text; with a unit of privacy, the numbers of persons and rows."""
    rows = plural(len(table.frame), "row")
    return rows if table.domain.unit is None else f"{plural(n_persons(table), 'person')} in {rows}"


def planned_rows(table: Table, settings: ForestSettings) -> int:
    """Return the number of rows (or persons, with a unit) from which the rule sets a release's depth and trees."""
    if table.domain.unit is not None and settings.certified:
        return n_persons(table)
    return rows_of_plan(settings.estimator(), n_labeled(table), len(table.frame))


def read_by(table: Table, settings: ForestSettings) -> Table:
    """Return the table with the domain by which a forest with these settings reads rows (`reading_domain`)."""
    domain = settings.estimator().reading_domain(table.domain)
    return table if domain is table.domain else replace(table, domain=domain, person_column=table.unit)


@cache.by_table(everybody=32, session=8, spinner="Reading the rows against the domain …")
def _split(key: tuple, _table: Table) -> Split:
    # The Data tab reports cells that do not fit the domain (`rows_fit`), so no warning is needed here.
    return split_table(
        _table.domain,
        _table.columns(),
        _table.frame[_table.label],
        out_of_domain=OutOfDomainCells(),
        groups=_table.identifiers,
    )


def split(table: Table) -> Split:
    """Return the split of a table: the codes and labels of the training rows and of the held-out rows."""
    return _split((table.schema_key, fingerprint(table.domain), table.unit), table)
