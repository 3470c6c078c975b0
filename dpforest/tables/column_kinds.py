"""Propose what a column of texts holds: numbers, numbers with words, dates, identifiers, free text or categories.

The proposals depend on all rows, so only the curator (the person who holds the table) may see them. The library never
applies a proposal by itself. If a person applies it, the changed part of the schema counts as read from the data until
somebody states another source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from dpforest.limits import MANY_DISTINCT, MAX_CATEGORIES, MAX_WORDS
from dpforest.tables.cells import cell_text, key
from dpforest.tables.csv_columns import MISSING_NUMBERS, MISSING_TEXTS, numbers_one_by_one
from dpforest.tables.csv_table import CsvTable, label_candidates
from dpforest.tables.dates import COMPACT, DATE_FORMATS, date_of, is_in_format
from dpforest.tables.features import plural
from dpforest.tables.reading_rules import SIGNS, UNITS, Spellings, without_sign

NUMBER, NUMBER_WITH_WORDS, DATE, IDENTIFIER = "number", "number with words", "date", "identifier"
FREE_TEXT, CATEGORY, CONSTANT, EMPTY = "free text", "category", "constant", "empty"
COLUMN_KINDS: Final = (NUMBER, NUMBER_WITH_WORDS, DATE, IDENTIFIER, FREE_TEXT, CATEGORY, CONSTANT, EMPTY)

# A column holds numbers (or dates) if at least this share of its known cells are numbers (or dates). `_are_numbers` has
# an exception for columns with a few words among many numbers.
MOST: Final = 0.9
_FEW_WORDS: Final = 10  # largest number of different words in the exception of `_are_numbers`
_MANY_NUMBERS: Final = 20  # least number of different numbers in the exception of `_are_numbers`
_BEYOND_A_LIMIT: Final = ("<", ">", "≤", "≥")  # signs of a value beyond a limit of the measurement, such as "<0.5"
_FEW_ROWS: Final = 20  # a column with at most this many known cells is not called identifiers or free text
_LONG: Final = 25  # the texts of a column of free text have more than 25 characters on average
_MANY_WORDS: Final = 50  # a column of free text has more than 50 different words
_FEW_MISSING: Final = 0.1  # share of missing cells that a proposed label may have
_MAX_LISTED: Final = 5  # largest number of texts that a reason lists
_CENTURIES: Final = (1900, 2100)  # a number such as 20240131 is a date only if its year lies between these years
_TWO_DIGIT_YEAR: Final = re.compile(r"[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2}( .*)?", re.ASCII)
# Common answers that people also write as an initial.
_INITIALS: Final = {
    word: word[0]
    for word in ("yes", "no", "ja", "nein", "oui", "non", "si", "sí", "true", "false", "male", "female", "männlich")
} | {"weiblich": "w"}
_DIGITS: Final = re.compile("[0-9]+", re.ASCII)


@dataclass(frozen=True)
class ColumnProposal:
    """The proposed kind of a column. Only the curator may see it, because it was computed from the rows.

    Attributes
    ----------
    kind : str
        One of `COLUMN_KINDS`.
    reason : str
        Sentence that explains the kind.
    n_missing, n_distinct : int
        Number of missing cells, and number of distinct texts in the other cells.
    decimal : str
        For numbers: the decimal mark with which the cells were read.
    words : tuple of str
        For numbers with words: the words, most frequent first, for `Feature.missing_words`.
    signs : tuple of str
        For numbers: the signs next to numbers, for `Feature.signs`.
    date_formats : tuple of str
        For dates: all formats that fit equally well. If there are several, the order of day and month is ambiguous, and
        only somebody who knows the column can choose. If the years have two digits, the tuple is empty, because no
        format allows such years.
    spellings : tuple of pairs
        For categories: pairs of a spelling and the value that it means, for `Feature.spellings`. The two differ only
        in case or spaces, or the spelling is the initial of a common answer, such as "y" for "yes".
    """

    kind: str
    reason: str
    n_missing: int
    n_distinct: int
    decimal: str = ""
    words: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    date_formats: tuple[str, ...] = ()
    spellings: Spellings = ()


def propose_kind(cells: Iterable[Any], decimal: str | None = None) -> ColumnProposal:
    """Propose the kind of a column from all of its cells. Only the curator may see the result.

    Parameters
    ----------
    cells : iterable of texts, or a column of `CsvTable.cells`
        All cells of the column. Other values than texts are converted by `cell_text`; None and NaN are missing.
    decimal : {".", ","}, optional
        Decimal mark of the file (`CsvFormat.decimal_of`). By default, the mark with which the most cells are numbers.

    Returns
    -------
    ColumnProposal
        The proposed kind, and proposed values for the reading rules of `Feature`.

    Examples
    --------
    >>> column = propose_kind(["5", "12.5", "k.A.", *["7"] * 17])
    >>> column.kind, column.words
    ('number with words', ('k.A.',))
    >>> propose_kind(["03/04/2024", "05/06/2024"]).reason
    'Dates, but DD/MM/YYYY and MM/DD/YYYY fit equally well; state which order day and month have.'
    """
    counts, n_missing = _text_counts(cells)
    n_known = sum(counts.values())
    if not n_known:
        return ColumnProposal(EMPTY, "Every cell is missing.", n_missing, 0)
    decimals = (".", ",") if decimal is None else (decimal,)
    return (
        _constant(counts, n_missing)
        or _date(counts, n_known, n_missing)
        or _code(counts, n_missing)
        or _number(counts, n_known, n_missing, decimals)
        or _text(counts, n_known, n_missing)
        or _category(counts, n_missing)
    )


def likely_label(csv: CsvTable) -> str:
    """Return the name of the column that is proposed as the label of an upload.

    The function ignores missing cells in columns with at most 10 % missing cells, and takes the best of
    `label_candidates`. If this column holds free text, or numbers with words or signs ("<0,5"), the function takes the
    rightmost candidate column that holds neither. If all candidates hold such values, it takes the best one.

    Parameters
    ----------
    csv : CsvTable
        A file with at least one candidate.

    Examples
    --------
    >>> from dpforest import read_csv
    >>> rows = [f"{'yn'[i % 2]};{'<0,5' if i % 3 else i % 9};{'lh'[i % 2] if i % 12 else ''}" for i in range(60)]
    >>> likely_label(read_csv("\\n".join(["smokes;flow;risk", *rows]).encode()))
    'risk'
    """
    columns = [replace(c, n_missing=0) if c.n_missing <= _FEW_MISSING * csv.n_rows else c for c in csv.columns]
    candidates = label_candidates(replace(csv, columns=tuple(columns)))
    from_the_right = [name for name in reversed(list(csv.table.columns)) if name in candidates]
    for name in (candidates[0], *from_the_right):
        proposal = propose_kind(csv.table[name])
        if proposal.kind not in (NUMBER_WITH_WORDS, FREE_TEXT) and not proposal.signs:
            return name
    return candidates[0]


def _text_counts(cells: Any) -> tuple[dict[str, int], int]:
    """Return the number of cells with each trimmed text, most frequent first, and the number of missing cells."""
    if not isinstance(cells, pa.ChunkedArray | pa.Array):
        cells = pa.array([None if cell is None or cell != cell else cell_text(cell) for cell in cells], pa.string())
    trimmed = pc.utf8_trim_whitespace(cells)
    count_of_text = {entry["values"]: entry["counts"] for entry in pc.value_counts(trimmed).to_pylist()}
    known_counts = {cell: n for cell, n in count_of_text.items() if cell is not None and cell not in MISSING_TEXTS}
    known_counts = dict(sorted(known_counts.items(), key=lambda item: (-item[1], item[0])))
    return known_counts, len(cells) - sum(known_counts.values())


def _constant(counts: Mapping[str, int], n_missing: int) -> ColumnProposal | None:
    """Return a proposal if no cell is missing and all cells have the same text; otherwise None."""
    if len(counts) > 1 or n_missing:
        return None
    return ColumnProposal(CONSTANT, f"Every cell is {next(iter(counts))[:40]!r}.", 0, 1)


def _date(counts: Mapping[str, int], n_known: int, n_missing: int) -> ColumnProposal | None:
    """Return a proposal if most cells are dates; otherwise None."""
    sample = list(counts)[:50]
    likely_formats = [
        name for name in DATE_FORMATS if sum(_states_date(cell, name) for cell in sample) >= MOST / 2 * len(sample)
    ]
    n_fitting = {name: sum(n for cell, n in counts.items() if _states_date(cell, name)) for name in likely_formats}
    most_fitting = max(n_fitting.values(), default=0)
    if most_fitting < MOST * n_known:
        if sum(n for cell, n in counts.items() if _TWO_DIGIT_YEAR.fullmatch(cell)) < MOST * n_known:
            return None
        reason = "Dates with years of two digits, which are not read; write years with four digits in the file."
        return ColumnProposal(DATE, reason, n_missing, len(counts))
    formats = tuple(name for name, n in n_fitting.items() if n == most_fitting)
    if len(formats) > 1:
        reason = f"Dates, but {' and '.join(formats)} fit equally well; state which order day and month have."
    else:
        reason = f"Dates in the format {formats[0]}."
    texts_without_date = [cell for cell in counts if date_of(key(cell), formats[0]) is None]
    if texts_without_date:
        reason += f" Cells without such a date count as missing: {_first_texts(texts_without_date)}."
    return ColumnProposal(DATE, reason, n_missing, len(counts), date_formats=formats)


def _states_date(cell: str, date_format: str) -> bool:
    """Return whether a cell is a date of this format. A number such as 20240131 must have a year in `_CENTURIES`."""
    if not is_in_format(cell, date_format):
        return False
    return date_format != COMPACT or _CENTURIES[0] <= int(cell[:4]) < _CENTURIES[1]


def _code(counts: Mapping[str, int], n_missing: int) -> ColumnProposal | None:
    """Return a proposal if all cells have the same number of digits, at least 3, and some begin with 0; else None."""
    lengths = {len(cell) for cell in counts}
    if lengths <= {1, 2} or len(lengths) > 1 or not any(cell[0] == "0" for cell in counts):
        return None
    if not all(map(_DIGITS.fullmatch, counts)):
        return None
    reason = f"All cells have {lengths.pop():,} digits, and some begin with 0: codes, not numbers."
    return ColumnProposal(IDENTIFIER, reason, n_missing, len(counts))


def _number(counts: Mapping[str, int], n_known: int, n_missing: int, decimals: Sequence[str]) -> ColumnProposal | None:
    """Return a proposal if the cells are numbers, with or without words; otherwise None."""
    texts = list(counts)
    signs = _signs_of(counts, n_known)
    plain = [without_sign(cell, signs) or cell for cell in texts]
    cells = pa.chunked_array([pa.array(plain, pa.string())])
    is_number_with = {mark: numbers_one_by_one(cells, mark)[0].notna().tolist() for mark in decimals}
    decimal = max(
        decimals, key=lambda mark: sum(n for n, ok in zip(counts.values(), is_number_with[mark], strict=True) if ok)
    )
    is_number = is_number_with[decimal]
    used_signs = tuple(
        sign for sign in signs if any(ok and without_sign(c, (sign,)) for c, ok in zip(texts, is_number, strict=True))
    )
    numbers = sum(n for n, ok in zip(counts.values(), is_number, strict=True) if ok)
    words = [cell for cell, ok in zip(texts, is_number, strict=True) if not ok]
    if not _are_numbers(numbers, n_known, len(texts) - len(words), words):
        return None
    signed = f" with {' and '.join(used_signs)}" if used_signs else ""
    if all(word in MISSING_NUMBERS for word in words):
        return ColumnProposal(NUMBER, f"Numbers{signed}.", n_missing, len(counts), decimal, signs=used_signs)
    n_words = n_known - numbers
    reason = (
        f"Numbers{signed} in {plural(numbers, 'cell')} of {n_known:,}, and words in {n_words:,}: {_first_texts(words)}."
        " List the words that mean a missing cell."
    )
    return ColumnProposal(
        NUMBER_WITH_WORDS, reason, n_missing, len(counts), decimal, tuple(words[:MAX_WORDS]), used_signs
    )


def _are_numbers(n_numbers: int, n_known: int, n_different: int, words: Sequence[str]) -> bool:
    """Return whether a column holds numbers.

    Of the `n_known` cells that are not missing, `n_numbers` hold numbers, and these cells hold `n_different` different
    texts. All other cells hold the `words`. Usually, at least the share `MOST` of the cells must hold numbers. There is
    an exception, because a laboratory may write "not measured" in many cells. In a column with many different numbers,
    a few different words may fill up to half of the cells.
    """
    if n_numbers >= MOST * n_known:
        return n_numbers > 0
    return n_numbers >= n_known / 2 and n_different >= _MANY_NUMBERS and len(words) <= _FEW_WORDS


def _signs_of(counts: Mapping[str, int], n_known: int) -> tuple[str, ...]:
    """Return the signs next to numbers.

    Signs such as "<" count only if at least half of the cells lack them. Of several units, only the most frequent one
    counts, because 90 min and 2 h are not numbers on one scale.
    """
    n_with = {sign: sum(n for cell, n in counts.items() if _has_number(cell, sign)) for sign in SIGNS}
    n_beyond_a_limit = sum(n_with[sign] for sign in _BEYOND_A_LIMIT)
    unit = max(UNITS, key=n_with.__getitem__)
    return tuple(
        sign
        for sign, n in n_with.items()
        if n
        and (sign == unit or sign not in UNITS)
        and (sign not in _BEYOND_A_LIMIT or n_beyond_a_limit <= n_known / 2)
    )


def _has_number(cell: str, sign: str) -> bool:
    """Return whether a cell has this sign next to a text that ends with a digit."""
    number = without_sign(cell, (sign,))
    return number is not None and number[-1:].isdigit()


def _text(counts: Mapping[str, int], n_known: int, n_missing: int) -> ColumnProposal | None:
    """Return a proposal if the cells are free text or identifiers; otherwise None."""
    if n_known <= _FEW_ROWS:
        return None
    n_distinct = len(counts)
    characters = sum(map(len, counts)) / n_distinct
    n_words = len({word for cell in counts for word in cell.split()})
    if characters > _LONG and n_words > _MANY_WORDS and n_distinct > n_known / 2:
        reason = f"{plural(n_distinct, 'different text')} with {n_words:,} different words: sentences, not categories."
        return ColumnProposal(FREE_TEXT, reason, n_missing, n_distinct)
    if n_distinct > MANY_DISTINCT * n_known:
        reason = (
            f"{plural(n_distinct, 'different text')} in {plural(n_known, 'row')}: names or numbers of persons or cases."
        )
        return ColumnProposal(IDENTIFIER, reason, n_missing, n_distinct)
    return None


def _category(counts: Mapping[str, int], n_missing: int) -> ColumnProposal:
    """Return a proposal for categories, with spellings that seem to mean the same."""
    by_fold: dict[str, str] = {}
    spellings = []
    for cell in counts:  # the most frequent spelling comes first, and so it is the listed value
        listed = by_fold.setdefault(" ".join(cell.casefold().split()), cell)
        if listed != cell:
            spellings.append((cell, listed))
    words_of_initial: dict[str, list[str]] = {}
    for word, initial in _INITIALS.items():
        if word in by_fold:
            words_of_initial.setdefault(initial, []).append(word)
    for initial, words in words_of_initial.items():
        if len(words) == 1 and initial in by_fold:
            word_and_initial = initial, words[0]
            # The listed value is the more frequent of the word and its initial.
            listed = max((by_fold[words[0]], by_fold[initial]), key=lambda cell: counts[cell])
            other_spellings = [
                cell for cell in counts if " ".join(cell.casefold().split()) in word_and_initial and cell != listed
            ]
            spellings = [pair for pair in spellings if pair[0] not in (*other_spellings, listed)]
            spellings += [(cell, listed) for cell in other_spellings]
    texts = plural(len(counts), "different text")
    reason = f"{texts}."
    if len(counts) > MAX_CATEGORIES:
        reason = f"{texts}, more than {MAX_CATEGORIES:,}; group them or leave the column out."
    elif spellings:
        examples = _first_texts([f"{spelling} for {listed}" for spelling, listed in spellings])
        reason += f" Some seem to mean the same: {examples}. State which spellings mean the same."
    return ColumnProposal(CATEGORY, reason, n_missing, len(counts), spellings=tuple(spellings))


def _first_texts(texts: Sequence[str]) -> str:
    """Return the first texts in quotes, and the number of further texts."""
    first = ", ".join(repr(text[:40]) for text in texts[:_MAX_LISTED])
    return first if len(texts) <= _MAX_LISTED else f"{first} and {len(texts) - _MAX_LISTED:,} more"
