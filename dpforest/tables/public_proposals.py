"""Public domains that many attributes have, by the name of the column. No row is looked at.

An age lies between 0 and 120 in every table, so this range reveals nothing about the rows. A proposal is still only
that: somebody who knows the column states its source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from dpforest.tables.dates import MONTHS, WEEKDAYS


@dataclass(frozen=True)
class PublicProposal:
    """A domain that is known without looking at any row.

    Parameters
    ----------
    what : str
        What the attribute measures.
    names : str
        Regular expression for words of a column's name, in lower case.
    reason : str
        Why these values are known, as a sentence for `Feature.source_note`.
    low, high : float, optional
        Bounds of a numeric attribute.
    integer : bool
        Whether only whole numbers occur.
    categories : tuple of str
        Values of a categorical attribute.
    """

    what: str
    names: str
    reason: str
    low: float | None = None
    high: float | None = None
    integer: bool = False
    categories: tuple[str, ...] = field(default=())

    @property
    def kind(self) -> str:
        """Kind of the attribute, as `Feature.kind`."""
        return "categorical" if self.categories else "numeric"


_ROMAN: Final = (
    *("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV", "XVI", "XVII"),
    *("XVIII", "XIX", "XX", "XXI", "XXII"),
)
_PHYSICAL: Final = "No living person has a value beyond these bounds; measuring errors are read as the bound."

# Each entry: what, words of the name, reason, low, high, whole; or categories.
PUBLIC_PROPOSALS: Final = (
    PublicProposal("age in years", "age|alter|edad|years old", "No person lives longer than about 120 years.", 0, 120),
    PublicProposal(
        "percentage", "percent|percentage|pct|perc|prozent|%", "A percentage lies between 0 and 100.", 0, 100
    ),
    PublicProposal("share", "share|proportion|fraction|probability|anteil", "A share lies between 0 and 1.", 0, 1),
    PublicProposal("month", "month|monat|mon", "A year has 12 months.", 1, 12, True),
    PublicProposal("month", "month|monat|mon", "A year has 12 months.", categories=MONTHS),
    PublicProposal("day of the month", "day|tag", "A month has at most 31 days.", 1, 31, True),
    PublicProposal("weekday", "weekday|wochentag|day of week|dow", "A week has seven days.", categories=WEEKDAYS),
    PublicProposal("hour", "hour|stunde", "A day has 24 hours, from 0 to 23.", 0, 23, True),
    PublicProposal("year", "year|jahr", "Living persons were born, and are treated, in these years.", 1900, 2100, True),
    PublicProposal(
        "systolic blood pressure in mmHg", "systolic|sbp|sys|rr sys|blood pressure|blutdruck", _PHYSICAL, 0, 300
    ),
    PublicProposal("diastolic blood pressure in mmHg", "diastolic|dbp|dia|rr dia", _PHYSICAL, 0, 200),
    PublicProposal("pulse per minute", "pulse|puls|heart rate|hr|herzfrequenz", _PHYSICAL, 0, 300),
    PublicProposal("breaths per minute", "respiratory rate|resp rate|atemfrequenz", _PHYSICAL, 0, 100),
    PublicProposal("body temperature in °C", "temperature|temp|temperatur", _PHYSICAL, 25, 45),
    PublicProposal(
        "oxygen saturation in %", "spo2|sao2|saturation|sättigung", "A percentage lies between 0 and 100.", 0, 100
    ),
    PublicProposal("height in cm", "height|größe|groesse|körpergröße|koerpergroesse", _PHYSICAL, 0, 280),
    PublicProposal("weight in kg", "weight|gewicht|körpergewicht|koerpergewicht", _PHYSICAL, 0, 650),
    PublicProposal("body mass index in kg/m²", "bmi|body mass index", _PHYSICAL, 0, 200),
    PublicProposal("Glasgow coma scale", "gcs|glasgow", "The scale has the values 3 to 15.", 3, 15, True),
    PublicProposal("Apgar score", "apgar", "The score has the values 0 to 10.", 0, 10, True),
    PublicProposal(
        "pain on the numeric rating scale", "nrs|pain|schmerz", "The scale has the values 0 to 10.", 0, 10, True
    ),
    PublicProposal("ASA class", "asa", "The classification has the classes 1 to 6.", 1, 6, True),
    PublicProposal(
        "ABO blood group",
        "abo|blood group|blood type|blutgruppe",
        "The ABO system has four groups.",
        categories=("A", "B", "AB", "0"),
    ),
    PublicProposal(
        "chapter of ICD-10",
        "icd chapter|icd10 chapter|icd 10 chapter|icd kapitel",
        "ICD-10 has the chapters I to XXII.",
        categories=_ROMAN,
    ),
    PublicProposal(
        "first letter of an ICD-10 code",
        "icd letter|icd10 letter|icd 10 letter|icd buchstabe",
        "Codes of ICD-10 begin with one of the letters A to Z.",
        categories=tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ),
)


def public_proposals(name: str, kind: str | None = None) -> tuple[PublicProposal, ...]:
    """Return the public domains that a column's name suggests, in the order of the table. No row is looked at.

    Parameters
    ----------
    name : str
        Name of the column, such as "blood_pressure" or "ageAtDiagnosis".
    kind : {"numeric", "categorical"}, optional
        Kind of the attribute. By default, proposals of both kinds are returned.

    Returns
    -------
    tuple of PublicProposal
        Empty if the name suggests nothing.

    Examples
    --------
    >>> [(p.what, p.low, p.high) for p in public_proposals("ageAtDiagnosis")]
    [('age in years', 0, 120)]
    >>> public_proposals("village"), len(public_proposals("Monat")), public_proposals("Monat", "numeric")[0].high
    ((), 2, 12)
    """
    parted = re.sub(r"(?<=[a-zäöü])(?=[A-Z])", " ", name).lower()
    words = " " + " ".join(filter(None, re.split(r"[\s_.:;()/\[\]-]+", parted))) + " "
    return tuple(
        proposal
        for proposal in PUBLIC_PROPOSALS
        if kind in (None, proposal.kind)
        and any(f" {words_of_name} " in words for words_of_name in proposal.names.split("|"))
    )
