"""One printed page for a privacy board: the forest, its guarantee, its assumptions and its accuracy.

The page is a single HTML file without scripts, fonts, links or other external content. Its text is in
`board_report.html.j2`, which escapes every value. This module prepares the values. The pictures are SVG.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from dpforest.evaluation.headroom import Headroom
from dpforest.plotting.board_pictures import errors_picture, icons_picture, measure_picture
from dpforest.plotting.compare import MeasureScale
from dpforest.plotting.style import visible
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import unit_noun
from dpforest.privacy.rationals import text_up
from dpforest.risk.guarantee import Guarantee, guarantee_of
from dpforest.risk.rounding import factor_up, percent_up
from dpforest.risk.tradeoff import DistinguishingGame

_FAILURE: Final = 0.001  # if δ > 0, a bound on beliefs may fail with this probability


class RatesByGroup(NamedTuple):
    """Accuracy and error rates of the groups of a column.

    The rates are computed from raw rows, so the guarantee of a release does not cover them.

    Attributes
    ----------
    column : str
        Name of the column that defines the groups.
    epsilon : float
        ε of the simulated releases.
    rows : sequence of dict
        One dict for each group: ``group`` (name), ``rows`` or ``persons`` (number), and in percent ``accuracy``, the
        ends ``from`` and ``to`` of its interval, and other rates.
    """

    column: str
    epsilon: float
    rows: Sequence[dict[Any, Any]]


@dataclass(frozen=True)
class BoardReport:
    """Contents of the page. Some texts come from users' tables, so the page escapes HTML in all texts.

    Attributes
    ----------
    title, label : str
        Name of the table, and of the label column.
    rows, attributes : int
        Numbers of rows and of attributes.
    forest : str
        Name of the forest.
    settings : tuple of (name, value)
        Settings of the forest, as text.
    date : str
        Date to print.
    certificate : Certificate
        Certificate of a release with these settings.
    needed, share : float
        The required value of the measure, and the share of releases that must reach it.
    smallest : tuple of (forest, ε or None, value or None)
        For each forest, the smallest ε at which it reaches the required value, and its mean value at this ε. None if
        no ε is sufficient.
    curve : tuple of (ε, mean, low, high)
        Values of the forest at two or more ε, in rising order of ε.
    ceiling : float or None
        Value of the best known model without privacy; None if no such model was fitted.
    measure : MeasureScale
        Name and format of the measure, such as accuracy, and its value for guessing (the floor).
    repeats, splits : int
        Number of simulated releases at each ε, and number of splits into training and held-out rows.
    band : str
        Meaning of low and high in `curve`.
    prior : float
        Probability that an attacker gives to a statement about a person before the release, in (0, 1).
    rows_per_person : int
        Largest number of rows of one person.
    margin : bool
        Whether the values in `smallest` must exceed the required value by a margin, because held-out rows are a sample.
    declared_public : bool
        Whether a user declared the table public.
    versions : tuple of (name, version)
        Versions of the software.
    headroom : Headroom or None
        How much of the measure the forest can lose to privacy; None if it was not computed.
    ceiling_name : str
        Name of the model that `ceiling` belongs to.
    groups : RatesByGroup or None
        Rates by group; None omits them.
    persons : int or None
        Number of persons, if a column identifies them.
    by_guessing : str
        Description of the guess that defines the floor.
    """

    title: str
    rows: int
    attributes: int
    label: str
    forest: str
    settings: tuple[tuple[str, str], ...]
    date: str
    certificate: Certificate
    needed: float
    share: float
    smallest: tuple[tuple[str, float | None, float | None], ...]
    curve: tuple[tuple[float, float, float, float], ...]
    ceiling: float | None
    measure: MeasureScale
    repeats: int
    splits: int
    band: str = "lowest and highest"
    prior: float = 0.5
    rows_per_person: int = 1
    margin: bool = True
    declared_public: bool = False
    versions: tuple[tuple[str, str], ...] = ()
    headroom: Headroom | None = None
    ceiling_name: str = "without privacy"
    groups: RatesByGroup | None = None
    persons: int | None = None
    by_guessing: str = "always naming the most frequent class"


def render(report: BoardReport) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    report : BoardReport
        Contents of the page.

    Returns
    -------
    str
        HTML without external content, to be saved as UTF-8. It fits one printed A4 page unless there are very many or
        very long names or assumptions.

    Raises
    ------
    ValueError
        If the prior is not above 0 and below 1, if `rows_per_person` is below 1, or if the curve has fewer than two
        points.

    Examples
    --------
    >>> from dpforest.privacy.certificate import certify
    >>> from dpforest.privacy.ledger import Ledger
    >>> exact = certify(Ledger(None), mechanism="exact counts")
    >>> report = BoardReport(
    ...     "Visits", 900, 4, "ill", "JPW", (("trees", "10"),), "1 May", exact,
    ...     0.8, 0.9, (("JPW", None, None),), ((0.1, 0.6, 0.5, 0.7), (1.0, 0.7, 0.6, 0.8)), 0.9,
    ...     MeasureScale("accuracy", True, 0.5, None), 20, 1,
    ... )
    >>> "NOT certified" in render(report)
    True
    """
    guarantee = guarantee_of(report.certificate)
    picture = measure_picture(
        report.curve,
        needed=report.needed,
        scale=report.measure,
        ceiling=report.ceiling,
        chosen=report.certificate.epsilon,
        certified=report.certificate.certified,
    )
    certified_values = (
        _certified_values(guarantee, report.prior, report.rows_per_person) if report.certificate.certified else {}
    )
    return _PAGE.render(
        vars(report), floor=report.measure.floor or 0.0, guarantee=guarantee, curve_picture=picture, **certified_values
    )


def promise(guarantee: Guarantee, rows_per_person: int = 1) -> str:
    """Return a few sentences, as HTML, that state the guarantee: a pure ε, an ε with a δ, or no bound.

    >>> promise(Guarantee(float("inf")))
    'No limit is proved.'
    """
    values = _PAGE.new_context({"guarantee": guarantee, "rows_per_person": rows_per_person})
    return "".join(_PAGE.blocks["promise"](values)).strip()


# ---------------------------------------------------------------- values


def _certified_values(guarantee: Guarantee, prior: float, rows: int) -> dict[str, Any]:
    """Return the values of the page that only certified forests have."""
    games = [DistinguishingGame(guarantee, question, rows) for question in guarantee.questions]
    guesses = games[0].hundred_guesses()
    return {
        "beliefs": [_belief(game, p) for game in games for p in dict.fromkeys((0.5, prior))],
        "question": games[0].question,
        "noun": "person" if rows > 1 else unit_noun(guarantee.unit),
        "guesses": guesses,
        "icons": icons_picture(guesses),
        "errors": errors_picture(games[0]),
    }


def _belief(game: DistinguishingGame, prior: float) -> dict[str, str]:
    """Return one row of the page's table of beliefs, as texts in percent.

    The row has a belief before the release and the upper bound of this belief after the release. It also has the
    largest probabilities of a right guess before and after the release.
    """
    if game.grouped.delta >= _FAILURE:
        after = "no bound"
    else:
        after = percent_up(float(game.posterior(prior, failure=_FAILURE)[1]))
    return {
        "question": game.question,
        "before": percent_up(prior),
        "after": after,
        "right_before": _of_100(max(prior, 1 - prior)),
        "right_after": _of_100(game.success(prior)),
    }


# ---------------------------------------------------------------- words


def _of_100(share: float) -> str:
    return percent_up(share).removesuffix(" %")


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _many(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _page() -> Template:
    """Return the template of the page. It escapes all values, and raises an error if a value is missing."""
    environment = Environment(
        loader=PackageLoader("dpforest.plotting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters |= {"commas": "{:,}".format, "factor": factor_up, "many": _many, "percent": _percent}
    environment.filters |= {"points": _points, "up": text_up}
    environment.globals["failure"] = _FAILURE
    return environment.get_template("board_report.html.j2")


_PAGE: Final = _page()
