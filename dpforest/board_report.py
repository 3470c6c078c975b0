"""One printed page for a privacy board: which forest, what it promises, what it rests on, what it costs.

A single HTML file without scripts, fonts, links or anything else from elsewhere. Its pictures are SVG, drawn here.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.privacy.rationals import text_up
from dpforest.risk import (
    MEMBERSHIP,
    VALUE,
    Guarantee,
    factor_up,
    grouped,
    guarantee_of,
    guesses,
    kinks,
    misses,
    percent_up,
    posterior,
    success,
)

_FAILURE: Final = 0.001  # how often what is said about beliefs may fail, where there is a δ
_BLUE, _ORANGE, _GREY = "#0072B2", "#E69F00", "#6B7480"
_STYLE: Final = """
@page {size: A4; margin: 11mm 12mm}
* {box-sizing: border-box}
body {font: 8.4pt/1.32 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: #1B2229; background: #fff;
  max-width: 186mm; margin: 6mm auto; padding: 0 2mm; overflow-wrap: break-word}
td:first-child, li {overflow-wrap: anywhere} td:first-child {min-width: 30mm}
h1 {font-size: 15pt; margin: 0; line-height: 1.15} h2 {font-size: 9.6pt; margin: 2.6mm 0 0.8mm}
p {margin: 0 0 1mm} ul, ol {margin: 0 0 1mm; padding-left: 4.2mm}
header {display: flex; justify-content: space-between; gap: 6mm; border-bottom: 0.5mm solid #1B2229;
  padding-bottom: 1.4mm}
header div:last-child {text-align: right; white-space: nowrap}
.columns {display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 7mm; align-items: start}
.box {border: 0.3mm solid #C5CCD3; padding: 1.2mm 2mm; margin-top: 1.6mm}
.broken {border: 0.7mm solid #D55E00} .curator {background: #FDF3DC; border-color: #E69F00}
table {border-collapse: collapse; width: 100%; margin-bottom: 1mm}
th, td {text-align: left; padding: 0.3mm 2mm 0.3mm 0; border-bottom: 0.2mm solid #D9DEE3; vertical-align: top}
td.n, th.n {text-align: right; padding: 0.3mm 0.6mm; overflow-wrap: normal} td.n {white-space: nowrap}
th {line-height: 1.1; vertical-align: bottom} sup {line-height: 0}
svg {display: block; width: 100%; height: auto} svg text {font-size: 8px; fill: #1B2229}
.pair {display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 4mm; align-items: center}
.small {font-size: 7.3pt} footer {color: #55606B; font-size: 7pt; margin-top: 1.5mm}
@media screen and (max-width: 640px) {.columns {grid-template-columns: minmax(0, 1fr)} header {display: block}
  header div:last-child {text-align: left; white-space: normal}}
@media print {body {margin: 0 auto; padding: 0; max-width: none} *{print-color-adjust: exact}}
"""


@dataclass(frozen=True)
class BoardReport:
    """What the page says. All texts may come from data; none is taken for HTML.

    Attributes
    ----------
    title, label : str
        Of the table, and of the column that is predicted.
    rows, attributes : int
    forest : str
    settings : tuple of (name, value)
        Both as text.
    date : str
        As it is to be printed.
    certificate : Certificate
        Of a release with these settings.
    needed_accuracy, share : float
        The accuracy asked for, and the share of releases that must reach it.
    smallest : tuple of (forest, ε or None, accuracy there or None)
        The smallest ε at which each forest reaches it; None where none does.
    curve : tuple of (ε, mean, low, high)
        Accuracy of the forest; at least two points, ε rising.
    ceiling, floor : float
        Accuracy without privacy, and of always naming the most frequent class.
    repeats, splits : int
        Simulated releases, and splits into training and held-out rows, behind each point.
    band : str
        What low and high are.
    prior : float
        What an attacker believed before, between 0 and 1.
    rows_per_person : int
        Most rows that one person has.
    margin : bool
        Whether a margin was taken off accuracies first, because the rows held out are a sample.
    declared_public : bool
        Whether somebody said that the table may be seen by all.
    versions : tuple of (name, version)
    """

    title: str
    rows: int
    attributes: int
    label: str
    forest: str
    settings: tuple[tuple[str, str], ...]
    date: str
    certificate: Certificate
    needed_accuracy: float
    share: float
    smallest: tuple[tuple[str, float | None, float | None], ...]
    curve: tuple[tuple[float, float, float, float], ...]
    ceiling: float
    floor: float
    repeats: int
    splits: int
    band: str = "lowest and highest"
    prior: float = 0.5
    rows_per_person: int = 1
    margin: bool = True
    declared_public: bool = False
    versions: tuple[tuple[str, str], ...] = ()


def render(report: BoardReport) -> str:
    """The page as HTML.

    Parameters
    ----------
    report : BoardReport

    Returns
    -------
    str
        One self-contained file, to be encoded as UTF-8. Printed on A4 it takes one page unless names or assumptions
        are unusually long or many.

    Raises
    ------
    ValueError
        If the prior or the number of rows of a person is out of range, or the curve has fewer than two points.

    Examples
    --------
    >>> from dpforest.privacy.certificate import certify
    >>> from dpforest.privacy.ledger import Ledger
    >>> exact = certify(Ledger(None), mechanism="exact counts")
    >>> report = BoardReport(
    ...     "Visits", 900, 4, "ill", "JPW", (("trees", "10"),), "1 May", exact,
    ...     0.8, 0.9, (("JPW", None, None),), ((0.1, 0.6, 0.5, 0.7), (1.0, 0.7, 0.6, 0.8)), 0.9, 0.5, 20, 1,
    ... )
    >>> "NOT certified" in render(report)
    True
    """
    certificate, guarantee = report.certificate, guarantee_of(report.certificate)
    kind = "certified" if certificate.certified else "not certified"
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # Nothing may be loaded, whatever a browser makes of a name.
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>Privacy report: {escape(report.title)}</title><style>{_STYLE}</style></head><body>",
            f"<header><div><h1>Privacy report: {escape(report.title)}</h1>{report.rows:,} rows · "
            f"{report.attributes:,} attributes · predicts “{escape(report.label)}”</div>"
            f"<div>{escape(report.date)}<br>{escape(report.forest)}, {kind}</div></header>",
            "" if certificate.certified else _broken(certificate),
            _who_may_see(report),
            _release(report),
            _promise(report, guarantee) if certificate.certified else "",
            _cost(report),
            _conditions(report),
            f"<footer>{' · '.join(f'{escape(n)} {escape(v)}' for n, v in report.versions)}</footer></body></html>",
        ]
    )


# ---------------------------------------------------------------- parts


def _broken(certificate: Certificate) -> str:
    reasons = _list("ul", certificate.reasons)
    return (
        '<div class="box broken"><p><b>This forest is NOT certified: no limit is proved to what a release of it may '
        f"reveal about a person.</b> The reasons:</p>{reasons}</div>"
    )


def _who_may_see(report: BoardReport) -> str:
    if report.declared_public:
        return (
            '<div class="box">The table was declared public: what was computed from its raw rows (the number of rows '
            "and all accuracies) may be seen, and nothing more is given away by choosing ε by them.</div>"
        )
    what = "The number of rows and all" if report.certificate.neighbours == ADD_REMOVE else "All"
    return (
        f'<div class="box curator"><b>Curator only.</b> {what} accuracies on this page were '
        "computed from the raw rows, not through a private mechanism: keep the page where the data are kept. "
        "<b>Choosing ε, or any setting, by looking at these figures is not covered by ε.</b></div>"
    )


def _release(report: BoardReport) -> str:
    settings = " · ".join(f"{escape(name)}: <b>{escape(value)}</b>" for name, value in report.settings)
    return (
        f"<h2>The forest</h2><p>{escape(report.forest)}: {escape(report.certificate.mechanism)}.</p><p>{settings}</p>"
    )


def _cost(report: BoardReport) -> str:
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{"not reached" if epsilon is None else text_up(epsilon)}</td>'
        f'<td class="n">{"–" if accuracy is None else _percent(accuracy)}</td></tr>'
        for name, epsilon, accuracy in report.smallest
    )
    claimed = "" if report.certificate.certified else " as claimed"
    margin = ", with a margin for the rows held out being a sample" if report.margin else ""
    return (
        f"<h2>What it costs</h2><p>Needed: an accuracy of <b>{_percent(report.needed_accuracy)}</b>, reached by at "
        f"least <b>{_percent(report.share, 0)}</b> of all releases with these settings (95 % confidence){margin}.</p>"
        f'<div class="columns"><table><tr><th>Forest</th><th class="n">smallest ε</th><th class="n">accuracy</th></tr>'
        f"{rows}</table><div>{_accuracy_picture(report)}"
        f'<p class="small">{escape(report.forest)}: accuracy on held-out rows, by ε{claimed}. Each point: '
        f"{_many(report.repeats, 'simulated release')} on {_many(report.splits, 'split')} of the rows; nothing was "
        f"released. Band: {escape(report.band)}. Dashed: the ceiling, {_percent(report.ceiling)} without privacy. "
        f"Dotted: the floor, {_percent(report.floor)} by always naming the most frequent class.</p></div></div>"
    )


def _promise(report: BoardReport, guarantee: Guarantee) -> str:
    k, prior = report.rows_per_person, report.prior
    head = (
        '<tr><th>What is guessed</th><th class="n">belief before</th><th class="n">after, at most</th>'
        '<th class="n">right of 100, before</th><th class="n">after, at most</th></tr>'
    )
    rows = "".join(
        f'<tr><td>{_QUESTIONS[question]}</td><td class="n">{percent_up(p)}</td>'
        f'<td class="n">{_belief(guarantee, p, question, k)}</td><td class="n">{_of_100(max(p, 1 - p))}</td>'
        f'<td class="n">{_of_100(success(guarantee, p, question, k))}</td></tr>'
        for question in guarantee.questions
        for p in dict.fromkeys((0.5, prior))
    )
    question = guarantee.questions[0]
    found = guesses(guarantee, 0.5, question, k)
    return (
        f"<h2>What is promised</h2><p>{promise(guarantee, k)}</p>"
        f'<div class="columns"><div><table>{head}{rows}</table>'
        "<p><b>Not promised:</b> to hide what people of a kind have in common. If a forest shows that smokers often "
        "have cancer, that is believed of every smoker, in the table or not. ε limits only what a release reveals "
        "because of one row.</p></div>"
        f'<div class="pair"><div>{_icons_picture(found)}</div><div>{_errors_picture(guarantee, question, k)}</div>'
        f'<p class="small" style="grid-column: 1 / 3">Left: of 100 guesses {_QUESTIONS[question]}, {found.without} are '
        f"right by tossing a coin (grey), at most {found.more} more by the release (blue), {found.wrong} wrong. "
        "Right: an attacker’s misses against false alarms; no attack reaches the grey region; dotted: guessing.</p>"
        "</div></div>"
    )


def promise(guarantee: Guarantee, rows_per_person: int = 1) -> str:
    """The guarantee in a few sentences, as HTML; other ones for pure ε, with a δ, and without a bound.

    >>> promise(Guarantee(float("inf")))
    'No limit is proved.'
    """
    if guarantee.kind == "none":
        return "No limit is proved."
    pair = (
        "two tables that differ by one row, present in only one of them"
        if guarantee.neighbours == ADD_REMOVE
        else "two tables of the same size that differ in the content of one row"
    )
    name = "Pure" if guarantee.kind == "pure" else "Approximate"
    bound = f"e<sup>ε</sup> = {factor_up(guarantee.epsilon)} times as likely"
    said = f"<b>{name} differential privacy, ε = {text_up(guarantee.epsilon)}, δ = {text_up(guarantee.delta)}</b>"
    said += f" ({guarantee.neighbours}): of {pair}, one makes any outcome at most {bound} as the other"
    if guarantee.kind == "approximate":
        said += (
            ", plus δ. This is weaker than pure privacy: δ bounds a probability of failure, in which a row may be "
            f"revealed outright; what is said about beliefs may fail in 1 of {1 / _FAILURE:,.0f} releases"
        )
    else:
        said += ", without exception"
    if guarantee.neighbours == ADD_REMOVE:
        said += ". For two values of somebody in the table ε counts twice"
    else:
        said += ". Whether somebody is in the table is not at stake: the number of rows is public"
    if rows_per_person > 1:
        said += (
            f". <b>One person may have {rows_per_person:,} rows: the figures below are for that many, "
            f"{rows_per_person:,} ε = {text_up(rows_per_person * guarantee.epsilon)}</b>"
        )
    else:
        said += ". The figures below are for a person with one row"
    return said + "."


def _conditions(report: BoardReport) -> str:
    certificate = report.certificate
    others = (
        "An attacker may know all other rows; what they believe about those must not hang on the person in question."
        if certificate.certified
        else ""
    )
    looked = (
        "The table was declared public: settings chosen by looking at it give nothing away that is not public."
        if report.declared_public
        else "Accuracies here were computed from raw rows (curator only). Neither they nor a choice of ε by them are "
        "covered by ε."
    )
    title = "What this rests on" if certificate.certified else "Even without these reasons it would rest on this"
    items = [*certificate.assumptions, *([others] if others else []), looked]
    return f'<h2>{title}</h2><div class="small">{_list("ol", items)}</div>'


_QUESTIONS: Final = {MEMBERSHIP: "whether somebody is in the table", VALUE: "a value of somebody in it (one of two)"}


# ---------------------------------------------------------------- pictures


def _accuracy_picture(report: BoardReport) -> str:
    points = np.asarray(report.curve, float)
    if len(points) < 2:
        raise ValueError("a curve has at least two points")
    x0, x1, y0, y1 = 26.0, 292.0, 6.0, 84.0
    log = np.log(points[:, 0])
    values = [*points[:, 1:].ravel(), report.ceiling, report.floor, report.needed_accuracy]
    low, high = min(values), max(values)
    pad = 0.06 * max(high - low, 0.02)

    def x(epsilon: float) -> float:
        return x0 + (x1 - x0) * (math.log(epsilon) - log[0]) / (log[-1] - log[0])

    def y(share: float) -> float:
        return y1 - (y1 - y0) * (share - low + pad) / (high - low + 2 * pad)

    mean, bottom, top = ([(x(p[0]), y(p[i])) for p in points] for i in (1, 2, 3))
    marks = [e for e in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0) if points[0, 0] <= e <= points[-1, 0]]
    chosen = report.certificate.epsilon
    colour = _BLUE if report.certificate.certified else _GREY  # blue is for ε that hold
    return _svg(
        300, 98, "Accuracy against epsilon",
        [
            f'<polygon points="{_points(top + bottom[::-1])}" fill="{colour}" fill-opacity="0.18"/>',
            _line((x0, y(report.ceiling)), (x1, y(report.ceiling)), _ORANGE, "5 3"),
            _line((x0, y(report.floor)), (x1, y(report.floor)), _GREY, "1.5 2.5"),
            _line((x0, y(report.needed_accuracy)), (x1, y(report.needed_accuracy)), "#1B2229", "", 0.6),
            _text(x0 + 2, y(report.needed_accuracy) - 2, "needed", "start"),
            *(
                [_line((x(float(chosen)), y0), (x(float(chosen)), y1), _GREY, "1 2")]
                if chosen is not None and points[0, 0] <= chosen <= points[-1, 0]
                else []
            ),
            f'<polyline points="{_points(mean)}" fill="none" stroke="{colour}" stroke-width="1.8"/>',
            *(_text(x0 - 3, y(share) + 3, _percent(share, 0), "end") for share in (low, high)),
            *(_text(min(max(x(e), x0 + 12), x1 - 10), 95, f"ε = {text_up(e)}", "middle") for e in marks),
        ],
    )  # fmt: skip


def _errors_picture(guarantee: Guarantee, question: str, rows: int) -> str:
    rate = np.union1d(np.linspace(0, 1, 201), kinks(guarantee, question, rows))  # a chord beside a kink lies too high
    least = misses(guarantee, rate, question, rows)
    x, y = 14 + 116 * rate, 84 - 80 * least
    curve = list(zip(x, y, strict=True))
    return _svg(
        140, 100, "Misses against false alarms: the least that is possible",
        [
            f'<polygon points="{_points([*curve, (14, 84)])}" fill="#DDE1E5"/>',
            _line((14, 4), (130, 84), _GREY, "1.5 2.5"),
            f'<polyline points="{_points(curve)}" fill="none" stroke="{_BLUE}" stroke-width="1.8"/>',
            _text(72, 96, "false alarms, 0 to 100 %", "middle"),
            '<text transform="translate(9 44) rotate(-90)" text-anchor="middle">misses, 0 to 100 %</text>',
        ],
    )  # fmt: skip


def _icons_picture(found) -> str:
    fills = [_GREY] * found.without + [_BLUE] * found.more + ["none"] * found.wrong
    return _svg(
        100, 100, f"{found.without} right by a coin, {found.more} more at most, {found.wrong} wrong",
        [
            f'<circle cx="{5 + 10 * (i % 10)}" cy="{5 + 10 * (i // 10)}" r="3.7" fill="{fill}" '
            f'stroke="{_GREY if fill == "none" else fill}"/>'
            for i, fill in enumerate(fills)
        ],
    )  # fmt: skip


def _svg(width: int, height: int, alt: str, parts: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(alt)}">{"".join(parts)}</svg>'


def _line(a: tuple[float, float], b: tuple[float, float], colour: str, dash: str, width: float = 1.2) -> str:
    return (
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="{colour}" '
        f'stroke-width="{width}" stroke-dasharray="{dash}"/>'
    )


def _points(pairs: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


# ---------------------------------------------------------------- words


def _list(kind: str, items: Iterable[str]) -> str:
    return f"<{kind}>{''.join(f'<li>{escape(item)}</li>' for item in items)}</{kind}>"


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _belief(guarantee: Guarantee, prior: float, question: str, rows: int) -> str:
    if grouped(guarantee, question, rows).delta >= _FAILURE:
        return "no bound"
    return percent_up(float(posterior(guarantee, prior, question, rows, failure=_FAILURE)[1]))


def _of_100(share: float) -> str:
    return percent_up(share).removesuffix(" %")
