"""The release record: public facts about one release, for the people who approve the release or check it later.

A record has no rows, no examples and no numbers that are computed from rows. docs/FORMAT.md describes the JSON of a
record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple, NoReturn

from dpforest.book.record_fields import SOURCE_RULES, VERSIONS, RecordError, check_fields
from dpforest.privacy.rationals import written_fraction

_DAMAGED: Final = "This file was changed or is damaged: get it again from the owner of the release."


class SchemaSource(NamedTuple):
    """Source of a part of the public schema, such as the range of a column or the list of classes.

    Attributes
    ----------
    column : str
        Name of the column that the part describes; empty if the part describes all columns.
    part : str
        Name of the part, such as "domain", "type" or "classes".
    source : {"documented", "asserted"}
        "documented": a document states this part. "asserted": the curator (the holder of the data) states this part.
    note : str
        The document, or the reason of the curator.
    value : str
        The part in words, such as "0 to 120; whole numbers". Empty in records of version 1, which lack it.
    """

    column: str
    part: str
    source: str
    note: str
    value: str = ""


class PopulationLoss(NamedTuple):
    """The total loss of all releases on a population, and the sums of its pure losses and of its Gaussian losses.

    Attributes
    ----------
    epsilon : Fraction
        Total loss as an ε at δ.
    delta : float
        δ at which the total loss is stated; 0 if all losses are pure.
    neighbors : str
        Neighbor relation for which the total loss holds.
    unit_column : str or None
        Column that identifies persons if the total is the loss of a person; None if it is the loss of a row.
    pure_epsilon : Fraction
        Sum of ε over the pure losses.
    mu_squared : Fraction
        Sum of μ² over the Gaussian losses.
    """

    epsilon: Fraction
    delta: float
    neighbors: str
    unit_column: str | None
    pure_epsilon: Fraction
    mu_squared: Fraction


@dataclass(frozen=True)
class ReleaseRecord:
    """The public facts about one release of a forest (`record_of`).

    Attributes
    ----------
    title, purpose, owner : str
        Name of the release, its purpose, and the person who is responsible for it.
    approver : str
        Person who approves the release; empty if nobody has to approve it.
    delta_reason : str
        Reason why δ is acceptable; empty if and only if δ is 0.
    population : str
        Name of the population in the book.
    unit : {"row", "person"}
        Unit of privacy.
    unit_column : str or None
        Column that identifies persons; None if the unit is a row.
    rows_per_person : int or None
        Largest number of rows of one person, if the book states it.
    epsilon : Fraction
        ε of the certificate, at δ. If δ is 0, this ε is the booked loss.
    delta : float
        δ of the certificate, at least 0 and below 1.
    mu_squared : Fraction or None
        Booked loss as μ² if the release has Gaussian noise; None if δ is 0.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation of the booking.
    loss : str
        A sentence that states how much an attacker can learn at most from this release.
    settings : mapping of str to str, int, float, bool or None
        Name of the estimator ("estimator") and its parameters.
    sources : tuple of SchemaSource
        Sources of the public schema.
    chosen_by_looking : bool
        Whether somebody looked at this table to choose the settings.
    sum_before, sum_after : PopulationLoss
        Loss of all releases on the population, before and after this release.
    cap : Fraction or None
        Largest ε that the loss of all releases may reach; None for no cap.
    booking : str
        Identifier of the booking.
    time : str
        Time of the booking in UTC, as in "2026-11-27T14:30:00+00:00".
    sha256 : str
        Hash of the released file, in hexadecimal digits.
    dpforest_version : str
        Version of the library that made the release.
    version : {1, 2}
        Version of the format. A record of version 1 keeps this version when it is read and written again, so
        that its hash does not change.

    Raises
    ------
    RecordError
        If a field is not valid, or two fields contradict each other.
    """

    format: ClassVar[str] = "dpforest release record"
    title: str
    purpose: str
    owner: str
    approver: str
    delta_reason: str
    population: str
    unit: str
    unit_column: str | None
    rows_per_person: int | None
    epsilon: Fraction
    delta: float
    mu_squared: Fraction | None
    neighbors: str
    loss: str
    settings: Mapping[str, str | int | float | bool | None]
    sources: tuple[SchemaSource, ...]
    chosen_by_looking: bool
    sum_before: PopulationLoss
    sum_after: PopulationLoss
    cap: Fraction | None
    booking: str
    time: str
    sha256: str
    dpforest_version: str
    version: int = VERSIONS[-1]

    def __post_init__(self) -> None:
        check_fields(self._values(), self.version)

    def _values(self) -> dict[str, Any]:
        values = {
            field.name: _to_json_value(getattr(self, field.name)) for field in fields(self) if field.name != "version"
        }
        if self.version == 1:
            values["sources"] = [{name: source[name] for name in SOURCE_RULES} for source in values["sources"]]
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the record as values that JSON can hold."""
        return {"format": self.format, "version": self.version, **self._values()}

    def to_json(self) -> str:
        """Return the record as JSON text of ASCII characters. Equal records give equal text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, content: Any) -> ReleaseRecord:
        """Read a record from the dictionary that `to_dict` returned. Raise RecordError for any other content."""
        if not isinstance(content, dict) or content.get("format") != cls.format:
            raise RecordError("This is JSON, but not a release record of dpforest. Choose the file of the record.")
        version = content.get("version")
        if type(version) is not int or version not in VERSIONS:
            raise RecordError(
                f"This release record has format version {ascii(version)[:40]}; this dpforest reads the versions "
                f"{' and '.join(map(str, VERSIONS))}. Use the dpforest that wrote it."
            )
        values = {name: value for name, value in content.items() if name not in ("format", "version")}
        try:
            check_fields(values, version)
        except RecordError as problem:
            raise RecordError(f"This release record cannot be read. {problem} {_DAMAGED}") from None
        return cls(**_from_json_values(values), version=version)

    @classmethod
    def from_json(cls, text: str | bytes) -> ReleaseRecord:
        """Read a record from the text that `to_json` returned.

        Parameters
        ----------
        text : str or bytes
            JSON as docs/FORMAT.md describes it; bytes are UTF-8.

        Returns
        -------
        ReleaseRecord
            The record. All of its fields have been checked.

        Raises
        ------
        RecordError
            If the text is not JSON or not a record of this version, or if a field is missing, unknown or not valid.
        """
        try:
            content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as problem:
            why = str(problem) if isinstance(problem, RecordError) else "It is not valid JSON."
            raise RecordError(f"This release record cannot be read. {why} {_DAMAGED}") from None
        return cls.from_dict(content)


def _to_json_value(value: Any) -> Any:
    """Convert a field to a JSON value."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, SchemaSource | PopulationLoss):
        return {name: _to_json_value(each) for name, each in value._asdict().items()}
    if isinstance(value, tuple):
        return [_to_json_value(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


def _from_json_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert JSON values, which were checked before, to fields."""
    fractions = {name: written_fraction(values[name]) for name in ("epsilon", "mu_squared", "cap")}
    sums = {name: _read_sum(values[name]) for name in ("sum_before", "sum_after")}
    sources = tuple(SchemaSource(**source) for source in values["sources"])
    return {**values, **fractions, **sums, "sources": sources, "delta": float(values["delta"])}


def _read_sum(values: Mapping[str, Any]) -> PopulationLoss:
    fractions = {name: Fraction(values[name]) for name in ("epsilon", "pure_epsilon", "mu_squared")}
    return PopulationLoss(**{**values, **fractions, "delta": float(values["delta"])})


def _refuse_constant(name: str) -> NoReturn:
    raise RecordError(f"It has {name} where a number must be.")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise RecordError("A field is in it twice.")
    return content
