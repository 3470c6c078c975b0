"""The command `dpforest release`: fit a certified forest once, book it, and write its file and its record."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

import dpforest
from dpforest.book import Book, BookError, Cost, Population, check_words, page
from dpforest.book.account import write_whole
from dpforest.book.releasing import LOST, RecordWords, make_release
from dpforest.commands import terminal
from dpforest.models.base import ForestClassifier
from dpforest.privacy.rationals import text_up
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
DATA_HOLDER: Final = (
    "The schema names no column that identifies persons, so ε holds for single rows. If each row is a different "
    "person, add --one-row-per-person. Otherwise declare the column in the Data tab of the app."
)


@dataclass(frozen=True)
class Plan:
    """All that a release needs, checked before anything is spent."""

    estimator: ForestClassifier
    domain: Domain
    book: Book
    population: Population
    is_new: bool
    words: RecordWords
    title: str
    folder: Path


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return its exit code."""
    options = _parser().parse_args(list(arguments))
    return terminal.run("dpforest release", lambda: release(options), as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "dpforest release",
        description="Fit a certified forest on a CSV file, and write its file and its record. The command shows the "
        "certificate and the sum of all releases about the same people, and asks before it spends ε.",
    )
    parser.add_argument("table", type=Path, help="CSV file with the rows")
    parser.add_argument("schema", type=Path, help="schema of the file (JSON), from the Data tab of the app")
    parser.add_argument("--forest", choices=FORESTS, required=True, help="kind of forest")
    parser.add_argument("--epsilon", type=float, required=True, help="privacy budget ε of this release")
    parser.add_argument("--delta", type=float, default=0.0, help="δ, for the booster only (default 0)")
    parser.add_argument("--depth", type=int, help="depth of the trees (default: a public rule)")
    parser.add_argument("--trees", type=int, help="number of trees (default: a public rule)")
    parser.add_argument("--replace-one", action="store_true", help="protect the values of a row, not its presence")
    parser.add_argument("--one-row-per-person", action="store_true", help="state that each row is a different person")
    parser.add_argument("--population", required=True, help="name of the people whom the rows describe")
    parser.add_argument("--new-population", action="store_true", help="add these people to the book")
    parser.add_argument("--cap", type=float, help="largest total ε of these people, with --new-population")
    parser.add_argument("--purpose", required=True, help="what the forest is for")
    parser.add_argument("--owner", required=True, help="who is responsible for the release")
    parser.add_argument("--approver", default="", help="who approves the release")
    parser.add_argument("--delta-reason", default="", help="why δ is small enough, if δ is above 0")
    parser.add_argument("--book", type=Path, help="file of the book (default: the book of the app)")
    parser.add_argument("--out", type=Path, default=Path(), help="existing folder for the files (default: this folder)")
    parser.add_argument("--yes", action="store_true", help="release without a question")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def release(options: argparse.Namespace) -> tuple[int, dict[str, Any], str]:
    """Check everything, ask, and release. Return the exit code, and the result as an object and as text.

    Raises
    ------
    ValueError
        If the release cannot be made, or the user does not want it. Then nothing was spent.
    """
    terminal.progress(0, 3, "Reading the table")
    plan = _plan(options)
    with terminal.naming(options.table):
        rows = read_table(options.table, plan.domain)
    if plan.domain.label not in rows:
        raise ValueError(f"{options.table} has no column “{plan.domain.label}”, which the schema names as the label.")
    terminal.note(_question(plan, rows))
    if not options.yes and not terminal.ask("Type yes to release:"):
        raise ValueError("Nothing was released and nothing was spent.")
    name = plan.population.name
    if plan.is_new:
        plan.book.add_population(name, cap=plan.population.cap)
    terminal.progress(1, 3, "Drawing the noise")
    X, y = rows.drop(columns=plan.domain.label), rows[plan.domain.label]
    made = make_release(plan.estimator, X, y, booked=(plan.book, name), title=plan.title, words=plan.words)
    if not made.file:
        raise ValueError(LOST)
    terminal.progress(2, 3, "Writing the files")
    files = _write(plan.folder, options.table.stem, made.file, made.record)
    terminal.progress(3, 3, "Done")
    total = plan.book.population(name).total()
    at = f" at δ = {text_up(total.delta)}" if total.delta else ""
    words = f"Released: {', '.join(str(path) for path in files.values())}.\n“{name}”: ε = {text_up(total.epsilon)}{at}."
    if made.record is None:
        words += " The release is booked, but its record could not be written into the book."
    content = {
        "files": {kind: str(path) for kind, path in files.items()},
        "epsilon": options.epsilon,
        "delta": options.delta,
        "population": name,
        "total_epsilon": text_up(total.epsilon),
        "total_delta": total.delta,
    }
    return terminal.OK if made.record else terminal.FLAWED, content, words


def _plan(options: argparse.Namespace) -> Plan:
    """Check all options without a look at the rows."""
    domain = terminal.domain_from(options.schema)
    if domain.unit is None and not options.one_row_per_person:
        raise ValueError(DATA_HOLDER)
    if not options.out.is_dir() or not os.access(options.out, os.W_OK):
        raise ValueError(f"{options.out} is no folder with the right to write. Name another one with --out.")
    if options.delta and options.forest != "booster":
        raise ValueError("Only the booster has a δ. Leave --delta out, or choose --forest booster.")
    words = RecordWords(options.purpose, options.owner, options.approver, options.delta_reason)
    title = " ".join(options.table.stem.split())[:200] or "a table"
    check_words(title=title, delta=options.delta, **asdict(words))
    book = Book(options.book)
    population, is_new = _population(book, options)
    return Plan(_estimator(options, domain), domain, book, population, is_new, words, title, options.out)


def _population(book: Book, options: argparse.Namespace) -> tuple[Population, bool]:
    """Return the population, and whether it must be added to the book."""
    known = {each.name: each for each in book.populations()}
    if options.population in known:
        if options.new_population:
            raise BookError(f"The book already has “{options.population}”. Leave --new-population out.")
        return known[options.population], False
    if not options.new_population:
        names = ", ".join(f"“{name}”" for name in known) or "none yet"
        raise BookError(
            f"The book has no people “{options.population}” (it has: {names}). If they are new, add --new-population. "
            "If an earlier release used the same people, give their name, so that the costs add up."
        )
    return Population.named(options.population, options.cap), True


def _estimator(options: argparse.Namespace, domain: Domain) -> ForestClassifier:
    """Return the certified forest with the chosen parameters."""
    kind = FORESTS[options.forest]
    relation = "replace-one" if options.replace_one else "add-remove"
    chosen = {"max_depth": options.depth, "n_estimators": options.trees, "delta": options.delta or None}
    forest = kind(epsilon=options.epsilon, domain=domain, neighbors=relation)
    parameters = forest.get_params()
    for name, value in chosen.items():
        if value is not None and name not in parameters:
            raise ValueError(f"The forest {options.forest!r} has no option --{'trees' if 'est' in name else 'depth'}.")
    return forest.set_params(**{name: value for name, value in chosen.items() if value is not None})


def _question(plan: Plan, rows: pd.DataFrame) -> str:
    """Return the certificate of the planned release, and the sum of all releases about the same people."""
    domain = plan.domain
    is_labeled = domain.listed_labels(rows[domain.label]) >= 0
    counted = rows[is_labeled] if domain.unit is None else rows[is_labeled].drop_duplicates(domain.unit)
    certificate, ledger = plan.estimator.preview(domain, len(counted))
    if not certificate.certified or ledger.budget is None:
        raise ValueError(f"This release would not be certified: {' '.join(certificate.reasons)}")
    cost = Cost(ledger.budget, ledger.neighbors, ledger.unit)
    after = plan.population.check(cost, certificate.delta)
    before = plan.population.total().epsilon
    n, cap = len(plan.population.bookings), plan.population.cap
    at = f" at δ = {text_up(after.delta)}" if after.delta else ""
    spent = f"ε = {text_up(before)} in {plural(n, 'release')}" if n else "nothing"
    limit = "" if cap is None else f" The cap is {text_up(cap)}."
    out = len(rows) - int(is_labeled.sum())
    left_out = f" {plural(out, 'row')} without a listed label {'is' if out == 1 else 'are'} left out." if out else ""
    return (
        f"{certificate}\n\nSpent on “{plan.population.name}” so far: {spent}. After this release: ε = "
        f"{text_up(after.epsilon)}{at}.{limit}{left_out} A release cannot be undone."
    )


def _write(folder: Path, stem: str, file: bytes, record: Any) -> dict[str, Path]:
    """Write the files of a release under new names, and return their paths."""
    number = 1
    while any(folder.glob(f"{stem}_release_{number}*")):
        number += 1
    start = f"{stem}_release_{number}"
    contents = {"forest": (f"{start}.json.gz", file)}
    if record is not None:
        contents["record"] = (f"{start}_record.json", record.to_json().encode())
        contents["page"] = (f"{start}_record.html", page(record).encode())
    for name, data in contents.values():
        write_whole(folder / name, data)
    return {kind: folder / name for kind, (name, _) in contents.items()}
