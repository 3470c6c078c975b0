"""One printed page for a privacy board: which forest, what it promises, what it rests on, what it costs.

A single HTML file without scripts, fonts, links or anything else from elsewhere. Its pictures are SVG, drawn here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Final

from dpforest.evaluation.stakes import Stakes
from dpforest.plotting.board_pictures import accuracy_picture, errors_picture, icons_picture
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.privacy.rationals import text_up
from dpforest.risk.guarantee import (
    MEMBERSHIP,
    VALUE,
    Guarantee,
    factor_up,
    grouped,
    guarantee_of,
    hundred_guesses,
    percent_up,
    posterior,
    success,
)

_FAILURE: Final = 0.001  # how often what is said about beliefs may fail, where there is a δ
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
    ceiling : float or None
        Accuracy of the best model known without privacy; None where none was fitted.
    floor : float
        Accuracy of always naming the most frequent class.
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
    stakes : Stakes or None
        What the forest has to lose to privacy; None where nobody has looked.
    ceiling_name : str
        What the ceiling is.
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
    ceiling: float | None
    floor: float
    repeats: int
    splits: int
    band: str = "lowest and highest"
    prior: float = 0.5
    rows_per_person: int = 1
    margin: bool = True
    declared_public: bool = False
    versions: tuple[tuple[str, str], ...] = ()
    stakes: Stakes | None = None
    ceiling_name: str = "without privacy"


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
    guessed = report.needed_accuracy <= report.floor
    claimed = "" if report.certificate.certified else " as claimed"
    margin = ", with a margin for the rows held out being a sample" if report.margin else ""
    dashed = "" if report.ceiling is None else (
        f"Dashed: the ceiling, {_percent(report.ceiling)} ({escape(report.ceiling_name)}). "
    )  # fmt: skip
    reached = (
        f", reached by at least <b>{_percent(report.share, 0)}</b> of all releases with these settings "
        f"(95 % confidence){margin}"
    )
    picture = accuracy_picture(
        report.curve, needed=report.needed_accuracy, floor=report.floor, ceiling=report.ceiling,
        chosen=report.certificate.epsilon, certified=report.certificate.certified,
    )  # fmt: skip
    return (
        f"<h2>What it costs</h2>{_worth(report)}<p>Needed: an accuracy of "
        f"<b>{_percent(report.needed_accuracy)}</b>{'' if guessed else reached}.</p>"
        f'<div class="columns">{_smallest(report, guessed)}<div>{picture}'
        f'<p class="small">{escape(report.forest)}: accuracy on held-out rows, by ε{claimed}. Each point: '
        f"{_many(report.repeats, 'simulated release')} on {_many(report.splits, 'split')} of the rows; nothing was "
        f"released. Band: {escape(report.band)}. {dashed}"
        f"Dotted: the floor, {_percent(report.floor)} by always naming the most frequent class.</p></div></div>"
    )


def _smallest(report: BoardReport, guessed: bool) -> str:
    """The smallest ε of each forest; where guessing reaches what is needed, that there is none to choose."""
    if guessed:
        return (
            "<p><b>No ε is needed for that:</b> always naming the most frequent class gets "
            f"{_percent(report.floor)} without any rows.</p>"
        )
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{"not reached" if epsilon is None else text_up(epsilon)}</td>'
        f'<td class="n">{"–" if accuracy is None else _percent(accuracy)}</td></tr>'
        for name, epsilon, accuracy in report.smallest
    )
    head = '<tr><th>Forest</th><th class="n">smallest ε</th><th class="n">accuracy</th></tr>'
    return f"<table>{head}{rows}</table>"


def _worth(report: BoardReport) -> str:
    """First of all, whether there is anything to lose."""
    at = report.stakes
    if at is None:
        return ""
    if at.nothing_to_lose:
        return (
            '<div class="box"><b>This forest predicts no better than guessing.</b> At no ε is it more often right than '
            f"always naming the most frequent class ({_percent(at.floor)}), and without noise it is not "
            f"either ({_percent(at.own)}; up to {100 * at.noise:.1f} points may be luck). So privacy takes nothing "
            "away, and a release would pay ε for predictions that guessing has for free.</div>"
        )
    if at.own <= at.floor + at.noise:
        return ""  # it is noise that helps
    return (
        f"<p>Without noise the same forest gets {_percent(at.own)}, {100 * (at.own - at.floor):.1f} points more than "
        "guessing: that is what noise can take away.</p>"
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
    found = hundred_guesses(guarantee, 0.5, question, k)
    return (
        f"<h2>What is promised</h2><p>{promise(guarantee, k)}</p>"
        f'<div class="columns"><div><table>{head}{rows}</table>'
        "<p><b>Not promised:</b> to hide what people of a kind have in common. If a forest shows that smokers often "
        "have cancer, that is believed of every smoker, in the table or not. ε limits only what a release reveals "
        "because of one row.</p></div>"
        f'<div class="pair"><div>{icons_picture(found)}</div><div>{errors_picture(guarantee, question, k)}</div>'
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
