"""Public rules for reading the cells of an attribute: words for missing cells, signs next to numbers, and spellings.

A rule reads each cell by means of the public schema alone, independently of all other cells. So the rules cost no ε
(docs/PRIVACY.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from dpforest.limits import MAX_SPELLINGS, MAX_WORDS
from dpforest.tables.errors import DomainError

Spellings = tuple[tuple[str, str], ...]  # pairs of a spelling and the listed value that it means

# Signs next to a number that a schema may declare. A sign is ignored: "<0.5", a value below a limit of measurement, is
# read as the limit 0.5.
_AROUND: Final = ("%", "‰", "€", "$", "£", "¥", "₹", "CHF", "EUR", "GBP", "USD", "<", ">", "≤", "≥")
# Units are signs only behind a number, because "m5" or "s2" is a code and not a length or a time.
UNITS: Final = ("km", "cm", "mm", "m", "kg", "mg", "g", "ml", "l", "h", "min", "s", "°C")
SIGNS: Final = (*_AROUND, *UNITS)
_PLAIN_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
# Texts that cannot be words for missing cells, because some programs read them as numbers: `_NO_WORDS`, and texts that
# match `_HALF_NUMBER` (such as 1,000) and not `_PLAIN_NUMBER`.
_HALF_NUMBER: Final = re.compile(
    r"[-+]?[0-9.,' \u2019\u00a0\u202f]*[0-9][0-9.,' \u2019\u00a0\u202f]*(e[+-]?[0-9]+)?", re.IGNORECASE
)
_NO_WORDS: Final = ("true", "false", "inf", "infinity", "+inf", "-inf", "+infinity", "-infinity")
# Largest number of values that a sentence of the certificate lists. The domain in the released file lists all values.
_MAX_LISTED: Final = 6


# ---------------------------------------------------------------- words that mean "missing"


def checked_words(words: Any, name: str) -> tuple[str, ...]:
    """Return the trimmed words for missing cells of an attribute; raise DomainError if a word is not allowed."""
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise DomainError(f"The words for missing cells of {name!r} are a list of texts, not {words!r}.")
    trimmed = tuple(word.strip() for word in words)
    if len(trimmed) > MAX_WORDS:
        raise DomainError(f"{name!r} has {len(trimmed):,} words for missing cells; {MAX_WORDS:,} are the most.")
    for i, word in enumerate(trimmed):
        if not word:
            raise DomainError(f"A word for missing cells of {name!r} is empty; empty cells are missing anyway.")
        if word.casefold() in (other.casefold() for other in trimmed[:i]):
            raise DomainError(f"The word {word!r} for missing cells of {name!r} is listed twice; remove one.")
        is_number = _PLAIN_NUMBER.fullmatch(word)
        if word.casefold() in _NO_WORDS or (_HALF_NUMBER.fullmatch(word) and not is_number):
            raise DomainError(
                f"{word!r} cannot mean a missing cell of {name!r}, because it may be a number. Write a number as 999 "
                "or 99.9: digits with a point."
            )
        if is_number and not math.isfinite(float(word)):
            raise DomainError(f"{word!r} cannot mean a missing cell of {name!r}, because it is too large a number.")
    return trimmed


def folded(words: Iterable[str]) -> frozenset[str]:
    """Return the words in the form in which they are compared, which ignores case."""
    return frozenset(word.casefold() for word in words)


def is_number_word(word: str) -> bool:
    """Return whether a word for missing cells is a number. Such a word is compared by value: "999" means 999.0."""
    return _PLAIN_NUMBER.fullmatch(word) is not None


def without_number_words(numbers: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """Replace each number by NaN if it equals a word for missing cells, such as "999"."""
    values = [float(word) for word in words if is_number_word(word)]
    if not values:
        return numbers
    numbers = np.asarray(numbers, np.float64)
    return np.where(np.isin(numbers, values), np.nan, numbers)


# ---------------------------------------------------------------- signs next to numbers


def checked_signs(signs: Any, name: str) -> tuple[str, ...]:
    """Return the signs of an attribute; raise DomainError for an unknown sign."""
    if isinstance(signs, str) or len(set(signs)) < len(tuple(signs)) or any(sign not in SIGNS for sign in signs):
        raise DomainError(f"signs={signs!r} of {name!r} are not known; list some of {', '.join(SIGNS)}.")
    return tuple(signs)


def without_sign(text: str, signs: Iterable[str]) -> str | None:
    """Return a trimmed text without one of the signs before or after its number; None if it has no such sign.

    >>> without_sign("12,5 %", ("%",)), without_sign("-€ 3", ("€",)), without_sign("3 $", ("€",))
    ('12,5', '-3', None)
    >>> without_sign("< 0,5", ("<",)), without_sign("1,7 km", ("km",)), without_sign("m5", ("m",))
    ('0,5', '1,7', None)
    """
    for sign in sorted(signs, key=len, reverse=True):  # "km" before "m"
        if text.endswith(sign):
            return text[: -len(sign)].rstrip()
        minus = text[:1] if text[:1] in ("+", "-") else ""
        if sign not in UNITS and text[len(minus) :].startswith(sign):
            return minus + text[len(minus) + len(sign) :].lstrip()
    return None


def number_with_sign(text: str, signs: Iterable[str]) -> float | None:
    """Return the number in a trimmed text with one of the signs before or after it; None for any other text."""
    plain = without_sign(text, signs)
    return float(plain) if plain is not None and _PLAIN_NUMBER.fullmatch(plain) else None


# ---------------------------------------------------------------- spellings of listed values


def checked_spellings(spellings: Any, listed: Sequence[str], owner: str) -> Spellings:
    """Return trimmed spellings with their listed values; raise DomainError if a spelling is not allowed.

    Parameters
    ----------
    spellings : dict or sequence of pairs
        Listed value of each spelling.
    listed : sequence of str
        Categories of an attribute, or classes as texts.
    owner : str
        Name of the attribute or of the label, for messages.
    """
    pairs = tuple(spellings.items() if isinstance(spellings, Mapping) else map(tuple, spellings))
    if not all(len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in pairs):
        raise DomainError(
            f"The spellings of {owner} are pairs of texts: a spelling and the listed value that it means."
        )
    pairs = tuple((spelling.strip(), value) for spelling, value in pairs)
    if len(pairs) > MAX_SPELLINGS:
        raise DomainError(f"{owner} has {len(pairs):,} spellings; {MAX_SPELLINGS:,} are the most.")
    earlier_spellings: set[str] = set()
    for spelling, value in pairs:
        if value not in listed:
            raise DomainError(f"The spelling {spelling!r} of {owner} means {value!r}, which is not listed; list it.")
        if not spelling:
            raise DomainError(f"A spelling of {value!r} of {owner} is empty; state a rule for missing cells instead.")
        if spelling in listed or spelling in earlier_spellings:
            raise DomainError(f"The spelling {spelling!r} of {owner} is listed twice; remove one.")
        earlier_spellings.add(spelling)
    return pairs


# ---------------------------------------------------------------- what the certificate states


def words_sentence(words: Sequence[str]) -> str:
    """Return the end of the certificate's sentence about words for missing cells."""
    return f"{_first_values(words)} {'counts' if len(words) == 1 else 'count'} as missing, without regard to case"


def signs_sentence(signs: Sequence[str]) -> str:
    """Return the end of the certificate's sentence about signs."""
    return f"{'the sign' if len(signs) == 1 else 'one of the signs'} {_first_values(signs)} next to a number is ignored"


def spellings_sentence(spellings: Spellings) -> str:
    """Return the end of the certificate's sentence about spellings."""
    values = dict.fromkeys(value for _, value in spellings)
    clauses = [
        f"{_first_values([spelling for spelling, listed_value in spellings if listed_value == value])} as {value!r}"
        for value in list(values)[:_MAX_LISTED]
    ]
    more = f", and spellings of {len(values) - _MAX_LISTED:,} more values as these" if len(values) > _MAX_LISTED else ""
    return f"spaces around a value are ignored, and the table's spellings are read: {', '.join(clauses)}{more}"


def _first_values(values: Sequence[str]) -> str:
    first = ", ".join(repr(value) for value in values[:_MAX_LISTED])
    return first if len(values) <= _MAX_LISTED else f"{first} and {len(values) - _MAX_LISTED:,} more"
