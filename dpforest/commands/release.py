"""The command `dpforest release`: fit a certified forest once, book it, and write its file and its record."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pandas as pd

import dpforest
from dpforest.book import Book, BookError, Cost, Population, ReleaseRecord, SpentError, check_words, page
from dpforest.book.record_file import check_record
from dpforest.book.releasing import (
    CHOSEN_BY_LOOKING,
    FILE_LOST,
    MadeRelease,
    RecordWords,
    make_release,
    reason_of,
    spent_words,
)
from dpforest.commands import terminal
from dpforest.commands.release_files import ReleaseFiles
from dpforest.limits import MIN_ROWS
from dpforest.models.base import ForestClassifier
from dpforest.privacy.rationals import float_up, text_up
from dpforest.tables.csv_rows import read_table
from dpforest.tables.domain import Domain
from dpforest.tables.features import plural

FORESTS: Final = {
    "booster": dpforest.RandomTreeBoosterClassifier,
    "majority-labels": dpforest.MajorityLabelForestClassifier,
    "noisy-counts": dpforest.RandomDecisionForestClassifier,
    "boosted": dpforest.BoostedForestClassifier,
    "multinomial": dpforest.MultinomialForestClassifier,
    "one-greedy-tree": dpforest.FriedmanSchusterClassifier,
}
UNIT_NOT_DECLARED: Final = (
    "The schema names no column that identifies persons, so ε holds for single rows. If each row is a different "
    "person, add --one-row-per-person. Otherwise declare the column in the Data tab of the app."
)

NOT_STATED: Final = (
    "State how the forest, ε and other settings were chosen: add --chosen-by-looking if somebody looked at this table "
    "to choose them, and otherwise --chosen-without-looking."
)

NOBODY_LOOKED: Final = (
    "By typing yes, you state that nobody chose the forest, ε or other settings by looking at this table. Otherwise, "
    "add --chosen-by-looking.\n"
)


@dataclass(frozen=True)
class Plan:
    """The inputs of a release. The command checks all of them before it spends ε."""

    estimator: ForestClassifier
    domain: Domain
    book: Book
    population: Population
    is_new: bool  # whether the population must be added to the book
    words: RecordWords
    title: str
    caution: str  # sentence of the file if the settings were chosen by looking at the table, else empty


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return its exit code, as the text of `--help` lists it."""
    options = _parser().parse_args(list(arguments))
    return terminal.run("dpforest release", lambda: release(options), as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = terminal.Parser(
        "dpforest release",
        description="Fit a certified forest on a CSV file, and write its file and its record. The command shows the "
        "certificate and the sum of all releases about the same people, and asks before it spends ε.",
        epilog="Exit codes: 0: released. 1: released, but the record or its page is missing. 2: not released, and "
        "nothing is spent. 3: ε is spent, but the release is not complete; a second run would spend ε again.",
    )
    parser.add_argument("table", type=Path, help="CSV file with the rows")
    parser.add_argument("schema", type=Path, help="schema of the file (JSON), from the Data tab of the app")
    parser.add_argument("--forest", choices=FORESTS, required=True, help="kind of forest")
    parser.add_argument("--epsilon", type=terminal.number, required=True, help="privacy budget ε of this release")
    parser.add_argument("--delta", type=terminal.number, default=0.0, help="δ, for the booster only (default 0)")
    parser.add_argument("--depth", type=int, help="depth of the trees (default: a public rule)")
    parser.add_argument("--trees", type=int, help="number of trees (default: a public rule)")
    parser.add_argument("--replace-one", action="store_true", help="protect the values of a row, not its presence")
    parser.add_argument("--one-row-per-person", action="store_true", help="state that each row is a different person")
    parser.add_argument("--population", required=True, help="name of the people whom the rows describe")
    parser.add_argument("--new-population", action="store_true", help="add these people to the book")
    parser.add_argument("--cap", type=terminal.number, help="largest total ε of these people, with --new-population")
    parser.add_argument("--purpose", required=True, help="what the forest is for")
    parser.add_argument("--owner", required=True, help="who is responsible for the release")
    parser.add_argument("--approver", default="", help="who approves the release")
    parser.add_argument("--delta-reason", default="", help="why δ is small enough, if δ is above 0")
    looking = parser.add_mutually_exclusive_group()
    looking.add_argument(
        "--chosen-by-looking",
        action="store_true",
        help="state that somebody chose the settings by looking at this table",
    )
    looking.add_argument(
        "--chosen-without-looking", action="store_true", help="state that nobody did; --yes needs one of the two"
    )
    parser.add_argument("--book", type=Path, help="file of the book (default: the book of the app)")
    parser.add_argument("--out", type=Path, default=Path(), help="existing folder for the files (default: this folder)")
    parser.add_argument("--yes", action="store_true", help="release without a question")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def release(options: argparse.Namespace) -> tuple[int, dict[str, Any], str]:
    """Check everything, ask, and release. Return the exit code, and the result as a dict and as text.

    Raises
    ------
    ValueError
        If the release cannot be made, or the user does not want it. Then nothing was spent.
    SpentError
        If ε was spent, but the release is not complete.
    """
    terminal.progress(0, 3, "Reading the table")
    plan = _plan(options)
    with terminal.naming(options.table):
        rows = read_table(options.table, plan.domain)
    if plan.domain.label not in rows:
        raise ValueError(f"{options.table} has no column “{plan.domain.label}”, which the schema names as the label.")
    terminal.note(_question(plan, rows))
    if not options.yes and not terminal.ask(f"{'' if plan.caution else NOBODY_LOOKED}Type yes to release:"):
        raise ValueError("Nothing was released and nothing was spent.")
    with ReleaseFiles(options.out, options.table.stem, plan.book.path.parent) as files:
        try:
            return _result(plan, _make(plan, rows, files), files)
        except (OSError, ValueError, KeyboardInterrupt) as problem:
            if "forest" not in files.written:
                raise
            spent, forest = spent_words(plan.estimator, plan.population.name), files.written["forest"]
            raise SpentError(f"{spent} The forest is in {forest}. {reason_of(problem)}") from problem


def _make(plan: Plan, rows: pd.DataFrame, files: ReleaseFiles) -> MadeRelease:
    """Book the release, draw its noise, and write the file of the forest."""
    name = plan.population.name
    if plan.is_new:
        plan.book.add_population(name, cap=plan.population.cap)
    terminal.progress(1, 3, "Drawing the noise")
    made = make_release(
        plan.estimator,
        rows.drop(columns=plan.domain.label),
        rows[plan.domain.label],
        caution=plan.caution,
        booked=(plan.book, name),
        title=plan.title,
        words=plan.words,
        write=lambda file: files.write("forest", file),
    )
    if not made.file:
        raise SpentError(f"{spent_words(plan.estimator, name)} {FILE_LOST}")
    return made


def _result(plan: Plan, made: MadeRelease, files: ReleaseFiles) -> tuple[int, dict[str, Any], str]:
    """Write the record. Return the exit code, and the result as a dict and as text."""
    terminal.progress(2, 3, "Writing the record")
    flaws = _write_record(made.record, files)
    terminal.progress(3, 3, "Done")
    name, certificate = plan.population.name, made.forest.certificate
    total = plan.book.population(name).total()
    at_delta = f" at δ = {text_up(total.delta)}" if total.delta else ""
    paths = {kind: str(path) for kind, path in files.written.items()}
    text = f"Released: {', '.join(paths.values())}.\n“{name}”: ε = {text_up(total.epsilon)}{at_delta}."
    content = {
        "files": paths,
        "epsilon": float_up(Fraction(certificate.epsilon or 0)),
        "delta": certificate.delta,
        "population": name,
        "total_epsilon": text_up(total.epsilon),
        "total_delta": total.delta,
    }
    return terminal.FLAWED if flaws else terminal.OK, content, " ".join([text, *flaws])


def _write_record(record: ReleaseRecord | None, files: ReleaseFiles) -> list[str]:
    """Write the record and its page, and return a sentence for each file that is missing."""
    if record is None:
        return ["The release is booked, but its record could not be written into the book."]
    flaws = []
    for kind, text in (("record", record.to_json()), ("page", page(record))):
        try:
            files.write(kind, text.encode())
        except OSError as problem:
            flaws.append(f"The {kind} could not be written: {reason_of(problem)}")
    return flaws


def _plan(options: argparse.Namespace) -> Plan:
    """Check all options without reading the rows, and return the plan."""
    domain = terminal.domain_from(options.schema)
    if domain.unit is None and not options.one_row_per_person:
        raise ValueError(UNIT_NOT_DECLARED)
    if not options.out.is_dir() or not os.access(options.out, os.W_OK):
        raise ValueError(f"{options.out} is no folder with the right to write. Name another one with --out.")
    if options.yes and not (options.chosen_by_looking or options.chosen_without_looking):
        raise ValueError(NOT_STATED)
    if options.delta and options.forest != "booster":
        raise ValueError("Only the booster has a δ. Leave --delta out, or choose --forest booster.")
    words = RecordWords(options.purpose, options.owner, options.approver, options.delta_reason)
    title = terminal.printable(" ".join(options.table.stem.split()))[:200] or "a table"
    estimator, caution = _estimator(options, domain), CHOSEN_BY_LOOKING if options.chosen_by_looking else ""
    check_words(title=title, delta=options.delta, **asdict(words))
    book = Book(options.book)
    population, is_new = _population(book, options)
    return Plan(estimator, domain, book, population, is_new, words, title, caution)


def _population(book: Book, options: argparse.Namespace) -> tuple[Population, bool]:
    """Return the population, and whether it must be added to the book."""
    populations = {each.name: each for each in book.populations()}
    if options.population in populations:
        if options.new_population:
            raise BookError(f"The book already has “{options.population}”. Leave --new-population out.")
        if options.cap is not None:
            raise BookError(
                "--cap is only for --new-population. The page Releases of the app changes the cap of others."
            )
        return populations[options.population], False
    if not options.new_population:
        names = ", ".join(f"“{name}”" for name in populations) or "none yet"
        raise BookError(
            f"The book has no people “{options.population}” (it has: {names}). If they are new, add --new-population. "
            "If an earlier release used the same people, give their name, so that the costs add up."
        )
    return Population.named(options.population, options.cap), True


def _estimator(options: argparse.Namespace, domain: Domain) -> ForestClassifier:
    """Return the certified forest with the chosen parameters."""
    forest_class = FORESTS[options.forest]
    relation = "replace-one" if options.replace_one else "add-remove"
    settings = {"max_depth": options.depth, "n_estimators": options.trees}
    if options.forest == "booster":
        settings["delta"] = options.delta  # without --delta, δ is 0 (pure privacy), unlike the booster's default
    forest = forest_class(epsilon=options.epsilon, domain=domain, neighbors=relation)
    parameters = forest.get_params()
    for name, value in settings.items():
        if value is not None and name not in parameters:
            raise ValueError(f"The forest {options.forest!r} has no option --{'trees' if 'est' in name else 'depth'}.")
    return forest.set_params(**{name: value for name, value in settings.items() if value is not None})


def _question(plan: Plan, rows: pd.DataFrame) -> str:
    """Check the planned release against certificate, record and cap, and return the text that the user confirms.

    The text holds the certificate and the sum of all releases about the same people.
    """
    domain = plan.domain
    is_labeled = domain.listed_labels(rows[domain.label]) >= 0
    fitted_rows = rows[is_labeled] if domain.unit is None else rows[is_labeled].drop_duplicates(domain.unit)
    certificate, ledger = plan.estimator.preview(domain, len(fitted_rows))
    if not certificate.certified or ledger.budget is None:
        raise ValueError(f"This release would not be certified: {' '.join(certificate.reasons)}")
    by_looking = bool(plan.caution)
    check_record(
        plan.estimator,
        len(fitted_rows),
        plan.population,
        title=plan.title,
        chosen_by_looking=by_looking,
        **asdict(plan.words),
    )
    cost = Cost(ledger.budget, ledger.neighbors, ledger.unit)
    after = plan.population.check(cost, certificate.delta)
    before = plan.population.total().epsilon
    n, cap = len(plan.population.bookings), plan.population.cap
    at_delta = f" at δ = {text_up(after.delta)}" if after.delta else ""
    spent = f"ε = {text_up(before)} in {plural(n, 'release')}" if n else "nothing"
    limit = "" if cap is None else f" The cap is {text_up(cap)}."
    return (
        f"Planned certificate. Do not share it; the file states the final one.\n{certificate}\n\n"
        f"Do not share: {_rows_in_words(len(rows), int(is_labeled.sum()))}\n"
        f"Spent on “{plan.population.name}” so far: {spent}. "
        f"After this release: ε = {text_up(after.epsilon)}{at_delta}.{limit} A release cannot be undone."
    )


def _rows_in_words(n_rows: int, n_labeled: int) -> str:
    n_unlabeled = n_rows - n_labeled
    unlabeled_text = (
        f" {plural(n_unlabeled, 'row')} without a listed label {'is' if n_unlabeled == 1 else 'are'} left out."
        if n_unlabeled
        else ""
    )
    warning = " With so few rows, the forest is noise." if n_labeled < MIN_ROWS else ""
    return f"the table has {plural(n_rows, 'row')}.{unlabeled_text}{warning}"
