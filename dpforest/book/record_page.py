"""The page of a release record: one HTML file to print on A4 and to sign, without scripts and external content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from fractions import Fraction
from html import escape
from typing import Final

from dpforest.book.record import PopulationLoss, ReleaseRecord
from dpforest.privacy.ledger import unit_words
from dpforest.privacy.rationals import text_up
from dpforest.tables.units import MOST_ROWS

_CONTROLS: Final = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
# Invisible characters, some of which change the direction of text.
_MARKS: Final = r"\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
_UNSEEN: Final = re.compile(f"[{_CONTROLS}{_MARKS}]")
_POWER: Final = re.compile(r"^1e-0*(\d+)$")
_STYLE: Final = """
@page {size: A4; margin: 14mm 16mm}
body {font: 9.5pt/1.4 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: #1B2229; background: #fff;
  max-width: 178mm; margin: 6mm auto; padding: 0 2mm}
h1 {font-size: 16pt; margin: 0 0 1mm; line-height: 1.2} h2 {font-size: 11pt; margin: 5mm 0 1mm; break-after: avoid}
table {border-collapse: collapse; width: 100%; table-layout: fixed}
tr {break-inside: avoid}
th, td {text-align: start; vertical-align: top; padding: 0.8mm 2mm 0.8mm 0; border-bottom: 0.2mm solid #C5CCD3;
  overflow-wrap: anywhere; white-space: pre-wrap}
th[scope="row"] {width: 48mm; font-weight: 600}
.sign td {height: 13mm} .sign th {font-weight: 600}
code {font: 8.5pt/1.4 "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere}
footer {font-size: 8.5pt; color: #3E4954; margin-top: 5mm; break-inside: avoid}
"""


def page(record: ReleaseRecord) -> str:
    """Return the record as an HTML page with lines for signatures.

    Parameters
    ----------
    record : ReleaseRecord
        Record to show. HTML in its texts is escaped, and so are characters that change the direction of text.

    Returns
    -------
    str
        A page for A4 paper. It states the SHA-256 of `ReleaseRecord.to_json`, so a signature on paper covers the JSON.
    """
    title = f"Release record: {record.title}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_html(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1 dir="auto">{_html(title)}</h1>\n'
        f"{_section('The release', _release(record))}"
        f"{_section('What it costs', _cost(record))}"
        f"{_section('How it was made', _making(record))}"
        f"{_section('The public schema', _schema(record))}"
        f"{_section('Where the public schema comes from', _sources(record))}"
        f"{_section('The file', _file(record))}"
        f"{_signatures(record)}{_footnote()}</body>\n</html>\n"
    )


_Rows = Iterable[tuple[str, object]]


def _section(heading: str, rows: _Rows) -> str:
    lines = "".join(
        f'<tr><th scope="row">{_html(name)}</th><td dir="auto">{_html(value)}</td></tr>\n' for name, value in rows
    )
    return f"<h2>{_html(heading)}</h2>\n<table>\n{lines}</table>\n"


def _release(record: ReleaseRecord) -> _Rows:
    yield "Purpose", record.purpose
    yield "Responsible", record.owner
    yield "Approver", record.approver or "none"
    yield "People in the data", record.population
    yield "Time (UTC)", record.time


def _cost(record: ReleaseRecord) -> _Rows:
    yield "How often an attacker guesses right", record.loss
    yield "Unit of privacy", unit_words(record.unit_column)
    yield "Rows of one person", _rows_text(record)
    yield "ε", text_up(record.epsilon)
    yield "δ", _delta_text(record.delta)
    if record.mu_squared is not None:
        yield "μ²", text_up(record.mu_squared)
        yield "Why this δ", record.delta_reason
    yield "Neighbor relation", record.neighbors
    yield "Total cost for these people before this release", _sum_text(record.sum_before)
    yield "Total cost for these people after this release", _sum_text(record.sum_after)
    yield "Limit for the total", "no limit" if record.cap is None else f"ε = {text_up(record.cap)}"


def _rows_text(record: ReleaseRecord) -> str:
    """Return how many rows of one person the release uses, or may use."""
    most = record.rows_per_person
    if most is not None:
        return f"at most {most:,}, as stated in the book"
    if record.unit_column is None:
        return "no maximum is stated; ε holds for each row"
    return f"any number; the forest uses at most {MOST_ROWS} of each person, which weigh as much as one row"


def _making(record: ReleaseRecord) -> _Rows:
    answer = "yes; ε does not cover what this choice reveals" if record.chosen_by_looking else "no"
    yield "Settings chosen by looking at this table", answer
    for name, value in record.settings.items():
        if value is not None:  # None: the parameter has no effect, or the estimator chooses the value
            yield name, _setting_text(value)


def _schema(record: ReleaseRecord) -> _Rows:
    """Yield each part of the schema in words. For a record of version 1, which lacks these words, yield a note."""
    if record.version == 1:
        yield "Ranges and lists", "only in the forest file; records of version 1 do not state them"
    for source in record.sources:
        if source.value:
            yield source.column or source.part[:1].upper() + source.part[1:], source.value


def _sources(record: ReleaseRecord) -> _Rows:
    """Yield each different source once, with the names of all columns that have this source."""
    columns: dict[tuple[str, str, str], list[str]] = {}
    for source in record.sources:
        columns.setdefault((source.part, source.source, source.note), []).append(source.column)
    for (part, origin, note), names in columns.items():
        column_names = ", ".join(name for name in names if name)
        yield f"{part[:1].upper()}{part[1:]}, {origin}", f"{column_names}: {note}" if column_names else note


def _file(record: ReleaseRecord) -> _Rows:
    yield "SHA-256 of the forest file", record.sha256
    yield "SHA-256 of this record as JSON", hashlib.sha256(record.to_json().encode()).hexdigest()
    yield "Booking number", record.booking
    yield "Version of dpforest", record.dpforest_version
    yield "Format", f"{record.format}, version {record.version}"


def _signatures(record: ReleaseRecord) -> str:
    people = [("Responsible", record.owner), *([("Approver", record.approver)] if record.approver else [])]
    lines = "".join(
        f'<tr><td>{role}</td><td dir="auto">{_html(name)}</td><td></td><td></td></tr>\n' for role, name in people
    )
    return (
        '<h2>Signatures</h2>\n<table class="sign">\n<tr><th scope="col">Role</th><th scope="col">Name</th>'
        f'<th scope="col">Date</th><th scope="col">Signature</th></tr>\n{lines}</table>\n'
    )


def _footnote() -> str:
    sign = "ssh-keygen -Y sign -f ~/.ssh/id_ed25519 -n dpforest record.json"
    check = "ssh-keygen -Y verify -f allowed_signers -I NAME -n dpforest -s record.json.sig < record.json"
    return (
        f"<footer>To sign the record with a key, save its JSON as record.json and run <code>{_html(sign)}</code>. This "
        "writes the signature to record.json.sig. Others check it with a file allowed_signers, in which a line has "
        f"your name and your public key: <code>{_html(check)}</code>. The record has no rows of the table, and no "
        "numbers that are computed from rows.</footer>\n"
    )


def _sum_text(total: PopulationLoss) -> str:
    if not total.epsilon:
        return "nothing"
    at_delta = f" at δ = {_delta_text(total.delta)}" if total.delta else ""
    kinds = f"pure losses: ε = {text_up(total.pure_epsilon)}; Gaussian losses: μ² = {text_up(total.mu_squared)}"
    return f"ε = {text_up(total.epsilon)}{at_delta}, for {unit_words(total.unit_column)} ({total.neighbors})\n{kinds}"


def _setting_text(value: object) -> str:
    """Return a setting in words: “yes” or “no” for a flag, and “by the public rule” for "auto"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "by the public rule" if value == "auto" else str(value)


def _delta_text(delta: float | Fraction) -> str:
    """Return δ as text, rounded up.

    >>> _delta_text(0.0), _delta_text(1e-6), _delta_text(0.001)
    ('0', '10⁻⁶', '0.001')
    """
    superscripts = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return _POWER.sub(lambda match: f"10⁻{match[1].translate(superscripts)}", text_up(delta))


def _html(value: object) -> str:
    r"""Return a text as HTML. Control characters, and marks that change the direction of text, appear as escapes.

    >>> _html("<b>a\u202e")
    '&lt;b&gt;a\\u202e'
    """
    return escape(_UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", str(value)))
