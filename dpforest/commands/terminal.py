"""Functions that all commands use: read files, ask questions, and print results as text or as JSON."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from dpforest.book import SpentError
from dpforest.book.releasing import reason_of
from dpforest.limits import MAX_DOMAIN_BYTES
from dpforest.new_rows import read_new_rows
from dpforest.tables.csv_table import CsvTable
from dpforest.tables.csv_text import TableError
from dpforest.tables.decimal_commas import with_decimal_commas
from dpforest.tables.domain import Domain, DomainError
from dpforest.trees.forest import ForestFormatError, ReleasedForest

OK, FLAWED, FAILED = 0, 1, 2  # exit codes: all went well; the work is done but with a flaw; the work is not done
SPENT = 3  # exit code: ε is spent, but the release is not complete
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)  # characters that may change the state of a terminal


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, without the list of all options."""

    def error(self, message: str) -> NoReturn:
        """Print the message, and exit with `FAILED`."""
        note(f"{self.prog}: {message.rstrip('.')}. See {self.prog} --help.")
        sys.exit(FAILED)


def number(text: str) -> float:
    """Convert the text of an option to a float. Raise ArgumentTypeError if the text is no number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; write a number such as 0.5") from None


def run(name: str, work: Callable[[], tuple[int, dict[str, Any], str]], *, as_json: bool) -> int:
    """Do the work of a command, print its result, and return its exit code.

    Parameters
    ----------
    name : str
        Name of the command, for messages.
    work : callable
        Returns an exit code, the result as a JSON object, and the result as text. It may raise ValueError or OSError,
        whose message is a sentence for the user.
    as_json : bool
        Whether to print the object instead of the text; an error is then also printed as an object. Messages to the
        user go to the standard error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may be unable to show the character ε
            stream.reconfigure(errors="backslashreplace")
    try:
        with _warnings_as_notes():
            code, content, text = work()
    except (ValueError, OSError) as problem:
        sentence, is_spent = reason_of(problem), isinstance(problem, SpentError)
        if as_json:
            show(json.dumps({"error": sentence, **({"spent": True} if is_spent else {})}, ensure_ascii=False))
        note(f"{name}: {sentence}")
        return SPENT if is_spent else FAILED
    except KeyboardInterrupt:
        note(f"{name}: stopped.")
        return FAILED
    show(json.dumps(content, ensure_ascii=False, indent=1) if as_json else text)
    return code


def show(result: str) -> None:
    """Print a result to the standard output or, if this output is closed or full, to the standard error."""
    try:
        print(printable(result), flush=True)
    except OSError as problem:
        with suppress(OSError, ValueError):  # at exit, the interpreter would try to write the rest, and fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        note(f"The result could not be printed to the standard output ({problem.strerror}). It is:\n{result}")


def note(text: str) -> None:
    """Print a message to the standard error, if it is open."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(printable(text), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    r"""Return a text in which characters that change the state of a terminal are question marks.

    >>> printable("e\x1b[31mvil.csv")
    'e?[31mvil.csv'
    """
    return _CONTROL.sub("?", text)


def progress(done: int, total: int, step: str) -> None:
    """Draw a progress bar over the last one, if the standard error is a terminal. `step` is the text after the bar."""
    if not _is_terminal(sys.stderr):
        return
    filled = round(24 * done / max(total, 1))
    end = "\n" if done >= total else ""
    print(f"\r[{'#' * filled}{'.' * (24 - filled)}] {step:<40}", end=end, file=sys.stderr, flush=True)


def ask(question: str) -> bool:
    """Ask a question on the terminal. Return whether the answer is "yes".

    Raises
    ------
    ValueError
        If nobody can answer, because the standard input is no terminal.
    """
    if not _is_terminal(sys.stdin) or sys.stderr is None:
        raise ValueError("Nobody can answer the question, because the input is no terminal. Add --yes to go on.")
    print(question, end=" ", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() == "yes"


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()  # a stream that is closed at the start of the program is None


def domain_from(path: Path) -> Domain:
    """Read a public schema from a JSON file that the app wrote. Raise DomainError if the file is no schema."""
    if path.stat().st_size > MAX_DOMAIN_BYTES:
        raise DomainError(f"{path} is too large for a schema (at most {MAX_DOMAIN_BYTES:,} bytes).")
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DomainError(
            f"{path} is not valid JSON. Give the schema that the Data tab of the app downloads."
        ) from None
    try:
        return Domain.from_dict(content)
    except (DomainError, TypeError, KeyError, AttributeError, OverflowError) as problem:
        raise DomainError(f"{path} is no schema: {problem}") from None


def csv_from(path: Path) -> CsvTable:
    """Read a CSV file, and detect its format. Raise TableError if it is no table."""
    with naming(path):
        return with_decimal_commas(read_new_rows(path))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the path of a file before the message of a TableError or DomainError, unless the message begins with it."""
    try:
        yield
    except (TableError, DomainError) as problem:
        message = str(problem)
        raise type(problem)(message if message.startswith(f"{path} ") else f"{path}: {message}") from None


def forest_from(path: Path) -> ReleasedForest:
    """Read a released forest. Raise ForestFormatError if the file is no forest."""
    try:
        return ReleasedForest.from_bytes(path.read_bytes())
    except ForestFormatError as problem:
        raise ForestFormatError(f"{path}: {problem}") from None


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Catch the warnings of a block, and print each distinct message as a note when the block ends."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            sentences = [str(each.message) for each in caught if each.category is not DeprecationWarning]
            for sentence in dict.fromkeys(sentences):
                note(f"Note: {sentence}")
