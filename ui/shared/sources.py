"""A check whether a user's words can name the source of a public fact. This module does not use Streamlit."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from dpforest.tables.domain import DomainError

FEWEST_WORDS, FEWEST_LETTERS = 3, 6
LETTERS_OF_TWO: Final = 12  # fewest letters of two words that stand with a number: "Fragebogen, Seite 2"
QUESTION: Final = "How does everybody know this?"
EXAMPLE: Final = "the questionnaire, page 2"

_FROM_THE_DATA: Final = re.compile(r"from the data\b(?! (dictionary|sheet|description|documentation|protocol))")
# Matches a run of letters, or one character of a script that has no spaces between words.
_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\d_]+")


# Words for values that come from the rows or from guessing, which are no public source. The check prevents mistakes,
# not lies.
_ROWS_THEMSELVES: Final = {"guess", "guessed", "guessing", "min", "max", "minimum", "maximum", "dunno"}


def is_source(words: str) -> bool:
    """Return whether words can name a source: at least three different words, or two long words and a number.

    No word may refer to the rows or to guessing.

    >>> [is_source(words) for words in ("yes", "ok ok ok", "asdf", "page 2", "1 2 3", "a b c")]
    [False, False, False, False, False, False]
    >>> [is_source(words) for words in ("read from the data", "the min and max of it", "I just guessed this")]
    [False, False, False]
    >>> is_source("the questionnaire, page 2"), is_source("研究計画書、第2章"), is_source("Elternfragebogen, Frage 4")
    (True, True, True)
    >>> is_source("from the data dictionary, page 3")
    True
    """
    words = "".join(sign for sign in words if unicodedata.category(sign) != "Cf")  # drop invisible characters
    different = {word.casefold() for word in _WORD.findall(words)}
    if different & _ROWS_THEMSELVES or _FROM_THE_DATA.search(" ".join(words.casefold().split())):
        return False
    n_letters = sum(map(len, different))
    if len(different) == 2 and any(sign.isdigit() for sign in words):
        return n_letters >= LETTERS_OF_TWO
    return len(different) >= FEWEST_WORDS and n_letters >= FEWEST_LETTERS


def check_source(words: str, what: str) -> None:
    """Raise DomainError unless the words can name a source of `what`, which the message names, such as "this"."""
    if not is_source(words):
        problem = f"{words.strip()!r} does not say" if words.strip() else "It does not say"
        raise DomainError(
            f"{problem} how everybody knows {what}. A source has at least three words, or two and a number, such as "
            f"“{EXAMPLE}”. The certificate quotes your words."
        )
