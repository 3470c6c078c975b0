"""Public ranges of common attributes, which the name of a column suggests without a look at any row.

An age lies between 0 and 120 in every table, so this range reveals nothing about the rows. A range is still only a
proposal: somebody who knows the column must state the source of the range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class PublicRange:
    """A range of an attribute that is known without looking at any row.

    Parameters
    ----------
    what : str
        Quantity that the attribute measures, with its unit.
    names : str
        Words that name the quantity in the name of a column, in lower case; alternatives are separated by "|".
    reason : str
        Why this range is known, as a sentence for `Feature.source_note`.
    low, high : float
        Bounds, in the unit of `what`.
    integer : bool
        Whether only whole numbers occur.
    """

    what: str
    names: str
    reason: str
    low: float
    high: float
    integer: bool = False


_PHYSICAL: Final = "No living person has a value beyond these bounds; measuring errors are read as the bound."

PUBLIC_RANGES: Final = (  # if several entries fit a name, the first one applies
    PublicRange("age in years", "age|alter|edad|years old", "No person lives longer than about 120 years.", 0, 120),
    PublicRange("percentage", "percent|percentage|pct|perc|prozent|%", "A percentage lies between 0 and 100.", 0, 100),
    PublicRange("share", "share|proportion|fraction|probability|anteil", "A share lies between 0 and 1.", 0, 1),
    PublicRange(
        "day of the week",
        "weekday|wochentag|day of week|day of the week|dow",
        "A week has seven days, numbered from 0 to 6 or from 1 to 7.",
        0,
        7,
        True,
    ),
    PublicRange("day of the month", "day|tag", "A month has at most 31 days.", 1, 31, True),
    PublicRange("month", "month|monat|mon", "A year has 12 months.", 1, 12, True),
    PublicRange("hour", "hour|stunde", "A day has 24 hours, from 0 to 23.", 0, 23, True),
    PublicRange("year", "year|jahr", "Living persons were born, and are treated, in these years.", 1900, 2100, True),
    PublicRange("pulse pressure in mmHg", "pulse pressure|pulsdruck", _PHYSICAL, 0, 300),
    PublicRange("diastolic blood pressure in mmHg", "diastolic|diastolisch|dbp|dia|rr dia", _PHYSICAL, 0, 200),
    PublicRange(
        "systolic blood pressure in mmHg",
        "systolic|systolisch|sbp|sys|rr sys|blood pressure|blutdruck",
        _PHYSICAL,
        0,
        300,
    ),
    PublicRange("pulse per minute", "pulse|puls|heart rate|hr|herzfrequenz", _PHYSICAL, 0, 300),
    PublicRange("breaths per minute", "respiratory rate|resp rate|atemfrequenz", _PHYSICAL, 0, 100),
    PublicRange("body temperature in °C", "temperature|temp|temperatur", _PHYSICAL, 25, 45),
    PublicRange(
        "oxygen saturation in %", "spo2|sao2|saturation|sättigung", "A percentage lies between 0 and 100.", 0, 100
    ),
    PublicRange("height in cm", "height|größe|groesse|körpergröße|koerpergroesse", _PHYSICAL, 0, 280),
    PublicRange("weight in kg", "weight|gewicht|körpergewicht|koerpergewicht", _PHYSICAL, 0, 650),
    PublicRange("body mass index in kg/m²", "bmi|body mass index", _PHYSICAL, 0, 200),
    PublicRange("Glasgow coma scale", "gcs|glasgow", "The scale has the values 3 to 15.", 3, 15, True),
    PublicRange("Apgar score", "apgar", "The score has the values 0 to 10.", 0, 10, True),
    PublicRange(
        "pain on the numeric rating scale", "nrs|pain|schmerz", "The scale has the values 0 to 10.", 0, 10, True
    ),
    PublicRange("ASA class", "asa", "The classification has the classes 1 to 6.", 1, 6, True),
)
# Names that contain words of `PUBLIC_RANGES`, but mean another quantity or another unit.
_OTHER_MEANINGS: Final = (
    *("sample weight", "sampling weight", "survey weight", "case weight", "birth weight", "weight class"),
    *("age group", "age class", "year of study", "month of study", "day of study", "study day", "study month"),
)
# Matches a rate, such as "cups per day". Its range is not that of the unit of time.
_RATE: Final = re.compile(
    r" (per|pro|je|each|every|a|par|por|al) (day|tag|month|monat|hour|stunde|year|jahr|week|woche) "
)


def public_range(name: str) -> PublicRange | None:
    """Return the public range that a column's name suggests; None if it suggests none.

    Parameters
    ----------
    name : str
        Name of the column, such as "blood_pressure" or "ageAtDiagnosis".

    Examples
    --------
    >>> age = public_range("ageAtDiagnosis")
    >>> age.what, age.low, age.high
    ('age in years', 0, 120)
    >>> public_range("diastolic_blood_pressure").what, public_range("village"), public_range("sample_weight")
    ('diastolic blood pressure in mmHg', None, None)
    >>> public_range("Süßes_pro_Tag"), public_range("day").high
    (None, 31)
    """
    separated = re.sub(r"(?<=[a-zäöü])(?=[A-Z])", " ", name).lower()
    words = " " + " ".join(filter(None, re.split(r"[\s_.:;()/\[\]-]+", separated))) + " "
    if _has_one(words, _OTHER_MEANINGS) or _RATE.search(words):
        return None
    return next((candidate for candidate in PUBLIC_RANGES if _has_one(words, candidate.names.split("|"))), None)


def _has_one(words: str, names: tuple[str, ...] | list[str]) -> bool:
    return any(f" {name} " in words for name in names)
