"""Make the record of a release, and check whether a forest file is the file that a record describes."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import dpforest
from dpforest.book.population import Booking, Population
from dpforest.book.record import PopulationLoss, ReleaseRecord, SchemaSource
from dpforest.book.record_fields import RecordError
from dpforest.book.rows import now
from dpforest.book.schema_words import (
    classes_in_words,
    columns_in_words,
    missing_in_words,
    type_in_words,
    values_in_words,
)
from dpforest.book.sums import Cost, for_person, loss_under
from dpforest.checks import plain
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger, unit_noun, unit_words
from dpforest.privacy.loss import GAUSSIAN, KINDS, PrivacyLoss
from dpforest.privacy.rationals import MOST_DIGITS, written_fraction
from dpforest.risk.guarantee import MEMBERSHIP, VALUE, Guarantee, guarantee_of
from dpforest.risk.rounding import percent_up
from dpforest.risk.tradeoff import DistinguishingGame
from dpforest.tables.domain import Domain
from dpforest.trees.forest import ForestFormatError, ReleasedForest

if TYPE_CHECKING:
    from dpforest.models.base import ForestClassifier

# Parameters that the settings of a record omit. The sources of the record describe the domain.
_NOT_SETTINGS: Final = ("domain", "n_jobs", "random_state")
_VALUE_SENTENCE: Final = " A guess between two values of"  # start of the second sentence of `loss_sentence`
_DENOMINATOR: Final = 10**12  # denominator of a loss that `_short` rounds up


def record_of(
    estimator: ForestClassifier,
    file: bytes,
    population: Population,
    booking: str | None,
    *,
    title: str,
    purpose: str,
    owner: str,
    approver: str = "",
    delta_reason: str = "",
    chosen_by_looking: bool,
) -> ReleaseRecord:
    """Return the record of a release, after the release is booked and the forest is fitted.

    Call `check_words` on the texts before the fit: if `record_of` refuses a text after the fit, the privacy loss is
    already spent.

    Parameters
    ----------
    estimator : ForestClassifier
        Estimator that was fitted with an account of the population.
    file : bytes
        The released file, from `ReleasedForest.to_bytes`.
    population : Population
        The population, read from the book after the fit.
    booking : str
        Identifier of the booking (`PopulationAccount.booking`).
    title, purpose, owner, approver, delta_reason, chosen_by_looking
        As in `ReleaseRecord`.

    Returns
    -------
    ReleaseRecord
        The record, with the time and the loss of the booking. The sums in the record exclude later releases.

    Raises
    ------
    RecordError
        If the forest is not certified, if the population lacks the booking, if the booking has another loss than the
        forest, or if a text is not valid.
    """
    certificate, ledger = estimator.certificate_, estimator.ledger_
    index = next((i for i, each in enumerate(population.bookings) if each.id == booking), None)
    if index is None:
        raise RecordError(f"The population “{population.name}” has no booking {booking}. Read it again from the book.")
    entry = population.bookings[index]
    cost = ledger.budget and Cost(ledger.budget, ledger.neighbors, ledger.unit)
    if not certificate.certified or (cost, certificate.delta) != (entry.cost, entry.delta):
        raise RecordError(f"The booking {booking} is not the one of this forest. Use the booking of its fit.")
    texts = dict(title=title, purpose=purpose, owner=owner, approver=approver, delta_reason=delta_reason)
    return _record(
        estimator,
        estimator.domain_,
        certificate,
        ledger,
        replace(population, bookings=population.bookings[: index + 1]),
        hashlib.sha256(file).hexdigest(),
        chosen_by_looking=chosen_by_looking,
        **texts,
    )


def check_record(
    estimator: ForestClassifier, n_rows: int, population: Population, *, chosen_by_looking: bool, **texts: str
) -> None:
    """Raise RecordError if a planned release on this population would have no valid record.

    Call this function before the release is booked.

    Parameters
    ----------
    estimator : ForestClassifier
        Certified estimator with a public domain.
    n_rows : int
        Number of rows (or of persons) of the table.
    population : Population
        The population before the release.
    chosen_by_looking, texts
        Fields of `ReleaseRecord`: title, purpose, owner, approver and delta_reason.
    """
    domain = estimator.domain
    if domain is None:
        return  # the fit is not certified, so it is not booked
    certificate, ledger = estimator.preview(domain, n_rows)
    if ledger.budget is None:
        return
    cost = Cost(ledger.budget, ledger.neighbors, ledger.unit)
    planned = Booking("planned", population.name, now(), type(estimator).__name__, cost, certificate.delta)
    after = replace(population, bookings=(*population.bookings, planned))
    _record(estimator, domain, certificate, ledger, after, "0" * 64, chosen_by_looking=chosen_by_looking, **texts)


def _record(
    estimator: ForestClassifier,
    domain: Domain,
    certificate: Certificate,
    ledger: Ledger,
    population: Population,
    sha256: str,
    **texts: Any,
) -> ReleaseRecord:
    """Return the record of the last booking of `population`, a release with this certificate and ledger."""
    entry = population.bookings[-1]
    epsilon, mu_squared = _short(Fraction(certificate.epsilon or 0)), _mu_squared(ledger)
    return ReleaseRecord(
        **texts,
        population=population.name,
        unit=unit_noun(entry.cost.unit),
        unit_column=entry.cost.unit,
        rows_per_person=population.rows_per_person,
        epsilon=epsilon,
        delta=float(entry.delta),
        mu_squared=mu_squared,
        neighbors=entry.cost.neighbors,
        loss=loss_sentence(guarantee_of(certificate)),
        settings=settings_of(estimator),
        sources=sources_of(domain),
        sum_before=_sum_of(replace(population, bookings=population.bookings[:-1])),
        sum_after=_sum_of(population),
        cap=population.cap,
        booking=entry.id,
        time=entry.time,
        sha256=sha256,
        dpforest_version=dpforest.__version__,
    )


def verify(file: bytes, record: ReleaseRecord) -> list[str]:
    """Check whether a file is the file that a record describes.

    The function compares the hash of the file with the record. Then it compares the facts that the file and the
    record both state: ε, δ, μ², neighbors, unit, estimator, sources of the schema, what an attacker can learn, and
    whether the settings were chosen by looking at the table. The function does not detect other changes of the record,
    such as another owner, or consistent changes of both the file and the record. To detect such changes, check a
    signature of the record.

    Parameters
    ----------
    file : bytes
        Content of a forest file.
    record : ReleaseRecord
        Record that came with the file.

    Returns
    -------
    list of str
        A sentence for each contradiction between the file and the record. If these two agree, a sentence for each
        contradiction within the record; empty if there is none.
    """
    problems, sha256 = [], hashlib.sha256(file).hexdigest()
    if sha256 != record.sha256:
        problems.append(
            f"The file does not match the record: the SHA-256 of the file is {sha256}, and the record states "
            f"{record.sha256}. Ask the owner of the release for both files."
        )
    try:
        forest = ReleasedForest.from_bytes(file)
    except ForestFormatError as problem:
        return [*problems, f"The file cannot be read as a forest: {problem}"]
    return problems + _contradictions(forest, record)


def _contradictions(forest: ReleasedForest, record: ReleaseRecord) -> list[str]:
    """Return a sentence for each fact that a file and a record state differently."""
    certificate, epsilon = forest.certificate, forest.certificate.epsilon
    facts = {
        "ε": (_short(epsilon) if isinstance(epsilon, Fraction) else epsilon, record.epsilon),
        "δ": (certificate.delta, record.delta),
        "μ²": (_mu_squared(forest.ledger), record.mu_squared),
        "neighbors": (certificate.neighbors, record.neighbors),
        "unit": (unit_words(certificate.unit), unit_words(record.unit_column)),
        "estimator": (forest.about.get("estimator"), record.settings["estimator"]),
    }
    problems = [
        f"The certificate in the file states {_stated_value(name, in_file)}, but the record states "
        f"{_stated_value(name, stated)}. Do not rely on this record."
        for name, (in_file, stated) in facts.items()
        if in_file != stated
    ]
    if not certificate.certified:
        problems.append("The forest in the file is not certified, so no record can state a loss for it.")
    sources = sources_of(forest.domain)
    if record.version == 1:  # such a record does not state ranges and lists
        sources = tuple(source._replace(value="") for source in sources)
    if sources != record.sources:
        problems.append("The file and the record state different sources of the schema. Do not rely on this record.")
    if forest.about.get("caution") and not record.chosen_by_looking:
        problems.append(
            "The file says that its settings were chosen by looking at the table, and the record says that they were "
            "not. Do not rely on this record."
        )
    if certificate.certified and record.loss not in _loss_sentences(forest):
        problems.append(
            "What an attacker can learn does not follow from the certificate in the file. Do not rely on this record."
        )
    return problems or [*_other_settings(forest, record), *_inner_contradictions(record)]


def _other_settings(forest: ReleasedForest, record: ReleaseRecord) -> list[str]:
    """Return a sentence for each setting of a record that contradicts the trees in a file: depth, number of trees."""
    trees, settings = forest.trees, record.settings
    n_scores = 1 if forest.domain.n_classes == 2 else forest.domain.n_classes  # some forests have a tree for each class
    possible_values = {"max_depth": (trees.depth,), "n_estimators": (trees.n_trees, Fraction(trees.n_trees, n_scores))}
    return [
        f"The settings of the record state {name} = {settings[name]}, but the trees in the file have "
        f"{name} = {possible[0]}. Do not rely on this record."
        for name, possible in possible_values.items()
        if settings.get(name) not in (None, "auto")
        if type(settings[name]) is not int or settings[name] not in possible
    ]


def _loss_sentences(forest: ReleasedForest) -> set[str]:
    """Return the possible values of `ReleaseRecord.loss` for this certified forest.

    Records of earlier versions of dpforest state a larger success rate, which follows from ε, δ and μ² alone, or state
    only the first of two success rates.
    """
    certificate = forest.certificate
    epsilon, mu_squared = _short(Fraction(certificate.epsilon or 0)), _mu_squared(forest.ledger)
    from_epsilon = Guarantee(epsilon, certificate.delta, certificate.neighbors, mu_squared, unit=certificate.unit)
    sentences = {loss_sentence(guarantee_of(certificate)), loss_sentence(from_epsilon)}
    return sentences | {sentence.partition(_VALUE_SENTENCE)[0] for sentence in sentences}


def _inner_contradictions(record: ReleaseRecord) -> list[str]:
    """Return a sentence for each contradiction within a record, about its ε, its δ or its neighbor relation."""
    try:
        Guarantee(record.epsilon, record.delta, record.neighbors, record.mu_squared, unit=record.unit_column)
    except ValueError:
        return ["ε of the record does not follow from its δ and μ². Do not rely on this record."]
    problems = []
    if record.settings.get("neighbors", record.neighbors) != record.neighbors:
        problems.append("The settings of the record state another neighbor relation than the record.")
    for name, sign, stated in (("epsilon", "ε", record.epsilon), ("delta", "δ", Fraction(repr(record.delta)))):
        if record.settings.get(name) is not None and _exact(record.settings[name]) != stated:
            problems.append(f"The settings of the record state another {sign} than the record.")
    return [f"{problem} Do not rely on this record." for problem in problems]


def _exact(setting: object) -> Fraction | None:
    """Return the exact value of a setting that is a number or a fraction as text, else None."""
    try:
        if isinstance(setting, str):
            return written_fraction(setting)  # no exponents, so a short text is never a huge number
        return Fraction(repr(setting)) if type(setting) in (int, float) else None
    except (ValueError, ZeroDivisionError):
        return None


def _mu_squared(ledger: Ledger) -> Fraction | None:
    """Return μ², the budget of a Gaussian ledger; None if the ledger is pure or has no budget."""
    return None if ledger.budget is None or ledger.kind != GAUSSIAN else ledger.budget.amount


def _stated_value(name: str, value: object) -> str:
    return f"no {name}" if value is None else f"{name} = {value}"


def loss_sentence(guarantee: Guarantee) -> str:
    """Return a sentence that states how much an attacker can learn at most from one release.

    Parameters
    ----------
    guarantee : Guarantee
        Guarantee of the release.

    Returns
    -------
    str
        A sentence with the success rate of an attacker for whom both answers are equally likely, rounded up.

    Examples
    --------
    >>> loss_sentence(Guarantee(Fraction(1), unit="patient_id"))
    'An attacker who knows everything else about the data, and holds both answers equally likely, guesses from this \
release whether a person is in the data: the guess is right with a probability of at most 73.2 %. A guess between two \
values of a person is right with a probability of at most 81.7 %.'
    """
    noun, questions = unit_noun(guarantee.unit), guarantee.questions
    guess = f"whether a {noun} is in the data" if MEMBERSHIP in questions else f"which of two values a {noun} has"
    sentence = (
        "An attacker who knows everything else about the data, and holds both answers equally likely, guesses from "
        f"this release {guess}: the guess is right with a probability of {_bound_text(guarantee, questions[0])}."
    )
    if MEMBERSHIP in questions:
        value_bound = _bound_text(guarantee, VALUE)
        sentence += f"{_VALUE_SENTENCE} a {noun} is right with a probability of {value_bound}."
    return sentence


def _bound_text(guarantee: Guarantee, question: str) -> str:
    share = percent_up(DistinguishingGame(guarantee, question).success())
    return share if share.startswith("practically") else f"at most {share}"


def settings_of(estimator: ForestClassifier) -> dict[str, str | int | float | bool | None]:
    """Return the name of an estimator and its parameters, except `domain`, `n_jobs` and `random_state`."""
    parameters = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    settings = {name: _as_setting(value) for name, value in parameters.items() if name not in _NOT_SETTINGS}
    return {"estimator": type(estimator).__name__, **settings}


def _as_setting(value: Any) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def sources_of(domain: Domain) -> tuple[SchemaSource, ...]:
    """Return the parts of a public schema with their sources, in the order of its columns."""
    parts = []
    for feature in domain.features:
        type_part = SchemaSource(feature.name, "type", feature.type_source, feature.type_note, type_in_words(feature))
        rule = f"missing cells: {missing_in_words(feature)}"
        missing_part = SchemaSource(feature.name, "missing cells", feature.missing_source, feature.missing_note, rule)
        parts_without_source = [part.value for part in (type_part, missing_part) if not part.source]
        values = "; ".join([values_in_words(feature), *parts_without_source])
        parts += [
            SchemaSource(feature.name, "domain", feature.source, feature.source_note, values),
            type_part,
            missing_part,
        ]
    classes = domain.classes_source, domain.classes_note, classes_in_words(domain)
    parts.append(SchemaSource(domain.label, "classes", *classes))
    if domain.reading:
        reading = domain.reading_source, domain.reading_note, str(domain.reading)
        parts.append(SchemaSource("", "reading of the rows", *reading))
    columns = domain.columns_source, domain.columns_note, columns_in_words(domain)
    parts.append(SchemaSource("", "choice of columns", *columns))
    return tuple(part for part in parts if part.source)


def _sum_of(population: Population) -> PopulationLoss:
    """Return the total loss of a population, with the sum of its pure losses and the sum of its Gaussian losses."""
    total = population.total()
    costs = [booking.cost for booking in population.bookings]
    if total.unit is not None:  # if units differ, `Population.total` requires `rows_per_person`
        costs = [for_person(cost, total.unit, population.rows_per_person or 1) for cost in costs]
    losses = [loss_under(cost.loss, cost.neighbors, total.neighbors) for cost in costs]
    sums = [PrivacyLoss.total((loss for loss in losses if loss.kind == kind), kind).amount for kind in KINDS]
    return PopulationLoss(_short(total.epsilon), total.delta, total.neighbors, total.unit, *map(_short, sums))


def _short(amount: Fraction) -> Fraction:
    """Round a loss up if it has too many digits for a file; otherwise return it unchanged."""
    if max(len(str(amount.numerator)), len(str(amount.denominator))) <= MOST_DIGITS:
        return amount
    return Fraction(-(-amount.numerator * _DENOMINATOR // amount.denominator), _DENOMINATOR)
