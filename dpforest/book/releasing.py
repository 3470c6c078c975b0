"""Make a release: fit a forest once with exact noise, check its file, and write its record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from dpforest.book.account import PopulationAccount
from dpforest.book.errors import BookError, SpentError
from dpforest.book.record import ReleaseRecord
from dpforest.book.record_fields import RecordError
from dpforest.book.record_file import check_record, record_of
from dpforest.new_rows import why_not_predicted
from dpforest.privacy.rationals import text_up
from dpforest.trees.forest import ForestFormatError, ReleasedForest

if TYPE_CHECKING:
    from dpforest.book.book import Book
    from dpforest.models.base import ForestClassifier

N_COMPARED: Final = 20  # number of rows that a forest and its copy from the file must predict alike
FILE_LOST: Final = (
    "The noise was drawn, but the forest could not be read back from its file, so there is no file. This failure may "
    "depend on the rows, so the release still costs its ε. It should never happen: please report it."
)
CHOSEN_BY_LOOKING: Final = (
    "The settings were chosen while looking at figures of this table. ε does not cover what this choice reveals."
)


@dataclass(frozen=True)
class RecordWords:
    """Texts that the user writes for the record of a release (`ReleaseRecord`)."""

    purpose: str
    owner: str
    approver: str = ""
    delta_reason: str = ""


@dataclass(frozen=True, eq=False)
class MadeRelease:
    """A release that was made: its forest, its file and its record.

    Attributes
    ----------
    forest : ReleasedForest
    file : bytes
        The file of the forest; empty if the forest could not be read back from it (`FILE_LOST`).
    record : ReleaseRecord or None
        The record; None if the release was not booked, or if the book failed after the noise was drawn.
    """

    forest: ReleasedForest
    file: bytes
    record: ReleaseRecord | None = None


def make_release(
    estimator: ForestClassifier,
    X: pd.DataFrame,
    y: Any,
    *,
    caution: str = "",
    booked: tuple[Book, str] | None = None,
    title: str = "",
    words: RecordWords | None = None,
    write: Callable[[bytes], object] | None = None,
) -> MadeRelease:
    """Fit a forest on all rows, with exact noise that is drawn once. Return it with its file and its record.

    Parameters
    ----------
    estimator : ForestClassifier
        A certified forest with a public domain.
    X : DataFrame
        Columns of the domain.
    y : array of shape (n_rows,)
        Labels.
    caution : str
        Sentence that the file states next to its certificate, for example because the settings were chosen while
        looking at the rows.
    booked : (Book, str), optional
        Book, and name of the population. The release is booked before the noise is drawn.
    title : str
        Title of the record.
    words : RecordWords, optional
        Texts of the record. Without them, or without a booking, there is no record.
    write : callable, optional
        Writes the file of the forest. The book gets the hash of the file only after this function has returned.

    Returns
    -------
    MadeRelease
        The forest, the file and the record. The file is empty if it does not give the same forest.

    Raises
    ------
    ValueError
        If the table does not fit its domain, a parameter is out of range, or the book refuses the release. Then no
        noise was drawn.
    SpentError
        If the fit or `write` fails after the release is booked.
    """
    account = PopulationAccount(*booked) if booked else None
    if booked and words:
        population, by_looking = booked[0].population(booked[1]), bool(caution)
        check_record(estimator, len(X), population, title=title, chosen_by_looking=by_looking, **asdict(words))
    try:
        forest = estimator.fit(X, y, account=account).released_
        if caution:
            forest.about["caution"] = caution
        try:
            file = read_back(forest, forest.to_bytes(), X)
        except ForestFormatError:
            return MadeRelease(forest, b"")
        if write:
            write(file)
    except (Exception, KeyboardInterrupt) as problem:
        if booked is None or account is None or account.booking is None:
            raise
        raise SpentError(f"{spent_words(estimator, booked[1])} There is no file: {reason_of(problem)}") from problem
    record = None
    if booked and account and words:
        book, name = booked
        with suppress(BookError, RecordError):  # the booking stays; only the record or the hash of the file is missing
            population, by_looking = book.population(name), bool(caution)
            record = record_of(
                estimator, file, population, account.booking, title=title, chosen_by_looking=by_looking, **asdict(words)
            )
            account.mark_written(file, record.to_dict())
    return MadeRelease(forest, file, record)


def spent_words(estimator: ForestClassifier, population: str) -> str:
    """Return a sentence that states the booked loss of a fit with this estimator."""
    delta = float(getattr(estimator, "delta", 0))
    at_delta = f" at δ = {text_up(delta)}" if delta else ""
    return f"ε = {text_up(estimator.epsilon)}{at_delta} is spent: it is booked on “{population}”."


def reason_of(problem: BaseException) -> str:
    """Return the reason of a failure as a sentence."""
    if isinstance(problem, KeyboardInterrupt):
        return "the work was stopped."
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}." if problem.filename else f"{problem.strerror}."
    return str(problem) or type(problem).__name__


def read_back(forest: ReleasedForest, file: bytes, rows: pd.DataFrame) -> bytes:
    """Return the file of a forest, after a check that the file gives the same forest.

    Raises
    ------
    ForestFormatError
        If the file cannot be read, or if the forest in it predicts one of the first rows differently.
    """
    copy, first_rows = ReleasedForest.from_bytes(file), rows[:N_COMPARED]
    # A fit reads every row by a public rule, but a forest refuses to predict some rows with missing cells.
    first_rows = first_rows[[not reason for reason in why_not_predicted(forest.domain, first_rows)]]
    if not len(first_rows):
        return file
    same_leaves = np.array_equal(copy.apply(first_rows), forest.apply(first_rows))
    if not same_leaves or not np.array_equal(copy.class_shares(first_rows), forest.class_shares(first_rows)):
        raise ForestFormatError(
            "The forest read back from the file predicts differently from the forest that was fitted."
        )
    return file
