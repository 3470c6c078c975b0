"""The certificate of a forest: the privacy promise and its conditions, or the reasons why there is no promise."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from dpforest.privacy.ledger import ADD_REMOVE, Ledger, rows_changed, unit_noun, unit_words
from dpforest.privacy.loss import GAUSSIAN, KINDS, PURE, PrivacyLoss
from dpforest.privacy.rationals import float_up, printed_decimal, text_up, written_fraction
from dpforest.privacy.tradeoff_curve import Steps, TradeoffCurve, steps_of
from dpforest.tables.units import MOST_ROWS

_ROW: Final = "The unit of privacy is one row: if one person has several rows, {} is multiplied by their number."
STANDING_ASSUMPTIONS: Final = (
    _ROW.format("ε"),
    "The settings (ε, depth, trees, features, bounds) are taken as given; choosing them by looking at this table is "
    "not covered.",
    "This promise covers this release alone: the losses of all releases about the same people add up.",
)
# Files of earlier versions state the last standing assumption in these words.
EARLIER_LAST_ASSUMPTION: Final = "This is one release: releases from tables with the same people add up."
# For a person with several rows, μ is multiplied by the number of rows. The ε at a fixed δ would grow by a larger
# factor, so the first assumption names μ.
GAUSSIAN_ASSUMPTIONS: Final = (
    _ROW.format("μ"),
    *STANDING_ASSUMPTIONS[1:],
)
REPLACE_ASSUMPTION: Final = "The number of rows, counted before any row was left out, is public."
REPLACE_PERSON_ASSUMPTION: Final = "The number of persons, counted before any row was left out, is public."
NO_PRIVACY: Final = "There is no privacy here: the exact counts of the table were used."
NOT_CLOSED: Final = "The ledger is not closed, so what was spent is not known in full."

_MEANING: Final = {
    "add-remove": "two tables that differ by one row that is present in only one of them",
    "replace-one": "two tables of the same size that differ in the content of one row",
}
_PERSON_MEANING: Final = {
    "add-remove": "two tables that differ by all rows of one person, which are present in only one of them",
    "replace-one": "two tables of equally many persons that differ in all rows of one person",
}


@dataclass(frozen=True)
class Certificate:
    """The privacy promise of a fitted forest.

    Attributes
    ----------
    certified : bool
        True exactly when `reasons` is empty.
    epsilon : Fraction, infinity or None
        Nominal ε: the ε that the forest claims. None for a forest without privacy. Infinity if the formula of a
        published mechanism gives no finite ε.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation: the pairs of tables that the promise compares.
    mechanism : str
        The mechanism in words, for the reader.
    true_epsilon : float
        Proved upper bound on the ε that the release costs, rounded up to the next float. For a certified forest, this
        bound is at most `epsilon`, also rounded up. It is lower if the mechanisms cost less than the budget. For any
        other forest, the bound is infinite, because no finite bound is proved. `reasons` may then state a finite loss
        that would hold if noise were drawn in ideal real numbers instead of floats.
    assumptions : tuple of str
        Conditions of the promise. The standing assumptions, which every certificate has, come first.
    reasons : tuple of str
        Reasons why the forest is not certified; each reason is one plain sentence.
    delta : float
        δ of the promise: 0 for pure privacy. For Gaussian privacy, the δ > 0 at which `epsilon` and `true_epsilon`
        hold.
    kind : {"pure", "gaussian"}
        Kind of privacy loss: ε of pure differential privacy, or μ of Gaussian differential privacy.
    mu_squared : Fraction or None
        For a certified Gaussian forest, the proved square of μ, the parameter of Gaussian differential privacy;
        otherwise None. This μ implies (ε, δ)-differential privacy with ε = `loss` and δ = `delta`.
    unit : str or None
        Column of identifiers. If given, the unit of privacy is a person: all rows with the same identifier. If None,
        the unit is one row.
    steps : tuple of (Fraction, int)
        Pairs (κ, times) for a certified pure forest: `times` queries cost κ each. A file does not store these pairs,
        because `steps_of` computes them from the ledger in the file. If there are no pairs, `tradeoff` is the curve of
        one query that costs the whole `loss`.
    """

    certified: bool
    epsilon: Fraction | float | None
    neighbors: str
    mechanism: str
    true_epsilon: float
    assumptions: tuple[str, ...] = STANDING_ASSUMPTIONS
    reasons: tuple[str, ...] = ()
    delta: float = 0
    kind: str = PURE
    mu_squared: Fraction | None = None
    unit: str | None = None
    steps: Steps = field(default=(), compare=False)

    def __post_init__(self) -> None:
        rows_changed(self.neighbors)
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, not {self.kind!r}.")
        if self.kind == PURE and (self.delta != 0 or self.mu_squared is not None):
            raise ValueError("Pure privacy has no δ and no μ.")
        if self.kind == GAUSSIAN and not (isinstance(self.delta, float) and 0 < self.delta < 1):
            raise ValueError("Gaussian privacy has an ε at a δ above 0 and below 1.")
        if self.certified == bool(self.reasons) or not all(reason.strip() for reason in self.reasons):
            raise ValueError("A certificate is certified exactly when there is no reason against it.")
        standing = _standing(self.kind, self.unit)
        if self.assumptions[: len(standing)] not in (standing, (*standing[:-1], EARLIER_LAST_ASSUMPTION)):
            raise ValueError("A certificate always states the standing assumptions first.")
        if self.neighbors != ADD_REMOVE and _public_number(self.unit) not in self.assumptions:
            raise ValueError("Under replace-one a certificate states that the number of rows or persons is public.")
        if self.certified:
            budget = self.epsilon
            if not isinstance(budget, Fraction) or not 0 <= self.true_epsilon <= float_up(budget):
                raise ValueError("A certified forest must have a budget, and its loss must be at most this budget.")
            proved = self.privacy_loss
            if proved is None or not proved.amount or not proved.holds(self.loss or 0, self.delta):
                raise ValueError("The loss of a certified forest must be above 0 and imply its (ε, δ).")
        elif self.true_epsilon != math.inf or self.mu_squared is not None or self.steps:
            raise ValueError("A forest that is not certified must not state a finite loss.")

    @property
    def loss(self) -> Fraction | None:
        """Proved upper bound on the ε that the release costs, for display; None if there is no finite bound.

        The bound is the smaller of `true_epsilon` and `epsilon`. If the release costs exactly `epsilon`, then
        `true_epsilon` may be slightly larger, because it is rounded up to a float.
        """
        if not self.certified or self.epsilon is None:
            return None
        return min(Fraction(self.true_epsilon), Fraction(self.epsilon))

    @property
    def privacy_loss(self) -> PrivacyLoss | None:
        """Proved upper bound as a `PrivacyLoss`: the ε of `loss`, or `mu_squared`; None if there is no finite bound."""
        if self.kind == GAUSSIAN:
            return None if self.mu_squared is None else PrivacyLoss.gaussian(self.mu_squared)
        return None if self.loss is None else PrivacyLoss.pure(self.loss)

    @property
    def tradeoff(self) -> TradeoffCurve | None:
        """Trade-off curve: how well an attack can tell two neighboring tables apart; None if there is no finite bound.

        The methods of the curve return upper bounds, rounded up. `success()` bounds the probability that an attacker
        guesses which of two equally likely tables the release comes from. `hits` bounds the true positive rate at a
        false alarm rate. `delta` bounds δ at any ε, and `epsilon` bounds ε at any δ.
        """
        if self.loss is None:
            return None
        if self.mu_squared is not None:
            return TradeoffCurve(mu_squared=self.mu_squared)
        return TradeoffCurve(self.steps or ((self.loss, 1),))

    def is_of_budget(self, ledger: Ledger) -> bool:
        """Return whether the certificate has the neighbor relation, unit, kind of loss and budget of the ledger.

        If the loss is pure, the certificate's ε must equal the ledger's budget. If the loss is Gaussian, the ledger's
        μ² must imply the certificate's (ε, δ).
        """
        ledger_terms = (ledger.kind, ledger.neighbors, ledger.unit)
        if ledger.budget is None or (self.kind, self.neighbors, self.unit) != ledger_terms:
            return False
        if self.kind == PURE:
            return self.epsilon == ledger.epsilon
        return isinstance(self.epsilon, Fraction) and ledger.budget.holds(self.epsilon, self.delta)

    def covers(self, ledger: Ledger) -> bool:
        """Return whether the proved bound of the certificate is at least the loss that the ledger spent.

        A pure loss is compared as a float, because `true_epsilon` is a float.
        """
        if self.kind == PURE:
            return self.true_epsilon >= float(ledger.spent)
        return self.privacy_loss is not None and ledger.loss <= self.privacy_loss

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe dictionary: ε as an exact fraction in text, infinity as "infinity"."""
        return {
            "certified": self.certified,
            "kind": self.kind,
            "epsilon": None if self.epsilon is None else "infinity" if self.epsilon == math.inf else str(self.epsilon),
            "delta": self.delta,
            "true_epsilon": "infinity" if math.isinf(self.true_epsilon) else self.true_epsilon,
            "neighbors": self.neighbors,
            **({} if self.unit is None else {"unit": self.unit}),
            "mechanism": self.mechanism,
            "assumptions": list(self.assumptions),
            "reasons": list(self.reasons),
            **({} if self.mu_squared is None else {"mu_squared": str(self.mu_squared)}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], ledger: Ledger | None = None) -> "Certificate":
        """Build a certificate from a dictionary of `to_dict`, and check it in the constructor.

        The steps of a certified forest are computed from `ledger`; without a ledger, there are no steps.

        If the forest is not certified, `true_epsilon` becomes infinite, whatever number the dictionary holds.
        """
        if not isinstance(data["certified"], bool):
            raise ValueError("whether it is certified must be true or false")
        if not all(isinstance(data[name], list) for name in ("assumptions", "reasons")):
            raise ValueError("assumptions and reasons are not lists")
        loss = math.inf if data["true_epsilon"] == "infinity" else float(data["true_epsilon"])
        return cls(
            certified=data["certified"],
            epsilon=math.inf if data["epsilon"] == "infinity" else written_fraction(data["epsilon"]),
            neighbors=data["neighbors"],
            mechanism=data["mechanism"],
            true_epsilon=loss if data["certified"] else math.inf,
            assumptions=tuple(data["assumptions"]),
            reasons=tuple(data["reasons"]),
            delta=data["delta"],
            kind=data["kind"],
            mu_squared=written_fraction(data.get("mu_squared")) if data["certified"] else None,
            unit=data.get("unit"),
            steps=steps_of(ledger) if data["certified"] and ledger is not None else (),
        )

    def __str__(self) -> str:
        if self.certified and self.kind == GAUSSIAN and self.privacy_loss is not None:
            lines = [
                f"CERTIFIED: Gaussian differential privacy with μ = {text_up(self.privacy_loss.mu)}, which is "
                f"ε = {text_up(self.loss)} at δ = {text_up(self.delta)}."
            ]
        elif self.certified:
            lines = [f"CERTIFIED: pure differential privacy with ε = {text_up(self.loss)}, δ = 0."]
        else:
            lines = ["NOT CERTIFIED."]
            if self.epsilon is not None:
                at_delta = f" at δ = {text_up(self.delta)}" if self.delta else ""
                lines.append(f"Nominal ε = {text_up(self.epsilon)}{at_delta}; true privacy loss: no finite bound.")
            lines += [f"  Why: {_one_line(reason)}" for reason in self.reasons]
        lines.append(f"Mechanism: {_one_line(self.mechanism)}.")
        meaning = (_MEANING if self.unit is None else _PERSON_MEANING)[self.neighbors]
        lines.append(f"The promise compares {meaning} ({self.neighbors}).")
        if (curve := self.tradeoff) is not None:
            success_percent = _percent_up(curve.success())
            lines.append(
                "If both tables are equally likely, whoever guesses which of them a release comes from is right with a "
                f"probability of at most {success_percent} %."
            )
        verb = "rests" if self.certified else "would rest, even without the reasons above,"
        lines.append(f"The promise {verb} on these conditions:")
        lines += [f"  - {_one_line(assumption)}" for assumption in self.assumptions]
        return "\n".join(lines)


def _standing(kind: str, unit: str | None) -> tuple[str, ...]:
    """Return the assumptions that every certificate states first."""
    if unit is not None:
        return person_assumption(unit), *STANDING_ASSUMPTIONS[1:]
    return GAUSSIAN_ASSUMPTIONS if kind == GAUSSIAN else STANDING_ASSUMPTIONS


def _percent_up(share: float) -> str:
    """Return a share as a percentage in text, rounded up to one decimal.

    The function subtracts 10⁻¹⁰ from the share before it rounds, so that an error of floats does not raise the result.

    >>> _percent_up(0.519889), _percent_up(0.5000000000000001)
    ('52', '50')
    """
    return f"{math.ceil(1000 * share - 1e-7) / 10:g}"


def person_assumption(unit: str) -> str:
    """Return the first assumption of a certificate whose unit of privacy is a person."""
    return (
        f"The unit of privacy is {unit_words(unit)}, at most {MOST_ROWS} of each person, which weigh as much as one "
        "row together."
    )


def _public_number(unit: str | None) -> str:
    """Return the assumption of replace-one that the number of rows or persons is public."""
    return REPLACE_ASSUMPTION if unit is None else REPLACE_PERSON_ASSUMPTION


def _one_line(words: str) -> str:
    """Return a text on one line, with its unprintable characters escaped.

    Otherwise, a text from a file could imitate a further line of the certificate.

    >>> _one_line("our\\nCERTIFIED: \\u202e.00001 = ε")
    'our CERTIFIED: \\\\u202e.00001 = ε'
    """
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in " ".join(words.split()))


def large_delta_caution(delta: float, n_rows: int | None, unit: str | None = None) -> str:
    """Return a caution if δ is at least 1/n for n rows; return an empty text if δ is smaller, or if n is unknown.

    If a mechanism publishes each row with probability δ, it is (0, δ)-differentially private. With a δ of 1/n or more,
    it publishes at least one row on average, so (ε, δ) promises little. A mechanism with a finite μ cannot publish rows
    in this way, because its δ falls to 0 as ε grows.

    Parameters
    ----------
    delta : float
        δ of the promise; 0 for pure privacy.
    n_rows : int or None
        Approximate number of rows, or of persons if a unit is declared. The number is released or public.
    unit : str, optional
        Column of identifiers, as in `Ledger`.

    Returns
    -------
    str
        A few sentences for the reader. They depend only on the three parameters, so they reveal nothing about the rows.
    """
    expected = printed_decimal(delta) * (n_rows or 0)
    if expected < 1:
        return ""
    noun = unit_noun(unit)
    rows_text = "each row whole" if unit is None else "all rows of each person"
    return (
        f"δ = {text_up(delta)} is not below 1/n for about {n_rows:,} {noun}s, so (ε, δ) alone promises little: it "
        f"allows a mechanism that publishes {rows_text} with probability δ, which is {text_up(expected, 3)} "
        f"{noun}{'s' * (expected != 1)} on average. This forest's μ excludes such a mechanism: use μ to judge its "
        "privacy."
    )


def certify(
    ledger: Ledger,
    *,
    mechanism: str,
    assumptions: Iterable[str] = (),
    reasons: Iterable[str] = (),
    nominal_epsilon: Fraction | float | None = None,
    delta: float = 0,
) -> Certificate:
    """Return the certificate of a fitted forest.

    Parameters
    ----------
    ledger : Ledger
        Ledger of the forest. The forest is certified only if this ledger has a budget and is closed.
    mechanism : str
        The mechanism in words, for the reader.
    assumptions : iterable of str
        Conditions of the promise besides the standing assumptions, such as the sources of the columns' bounds.
    reasons : iterable of str
        Sentences that say why the forest is not certified, such as the results of `Domain.leaks()`,
        ``source.reasons()`` and `published.reasons`.
    nominal_epsilon : Fraction or infinity, optional
        For a published mechanism, whose ledger has no budget, the ε that its authors claim. For a Gaussian ledger, the
        ε from which the budget was computed, for example by `mu_for`. The default is the budget of a pure ledger, and
        the least ε of a Gaussian budget at `delta`.
    delta : float
        δ at which the ε of a Gaussian ledger is stated; 0 for a pure ledger.

    Returns
    -------
    Certificate
        Certificate whose `reasons` are the given reasons, and one more if the ledger has no budget or is not closed.
        The forest is certified if there are no reasons.

    Raises
    ------
    ValueError
        If δ does not fit the kind of the ledger, or if the nominal ε at this δ does not follow from a Gaussian budget.
    """
    all_reasons = list(dict.fromkeys(reasons))
    if ledger.budget is None and not all_reasons:
        all_reasons.append(NO_PRIVACY)
    if ledger.budget is not None and not ledger.closed:
        all_reasons.append(NOT_CLOSED)
    standing = _standing(ledger.kind, ledger.unit)
    standing += () if ledger.neighbors == ADD_REMOVE else (_public_number(ledger.unit),)
    other_assumptions = [a for a in dict.fromkeys(assumptions) if a not in standing]
    epsilon, true_epsilon = _epsilons(ledger, nominal_epsilon, delta)
    return Certificate(
        certified=not all_reasons,
        epsilon=epsilon,
        neighbors=ledger.neighbors,
        mechanism=mechanism,
        true_epsilon=math.inf if all_reasons else true_epsilon,
        assumptions=standing + tuple(other_assumptions),
        reasons=tuple(all_reasons),
        delta=delta,
        kind=ledger.kind,
        mu_squared=ledger.loss.mu_squared if ledger.kind == GAUSSIAN and not all_reasons else None,
        unit=ledger.unit,
        steps=() if all_reasons else steps_of(ledger),
    )


def _epsilons(ledger: Ledger, nominal: Fraction | float | None, delta: float) -> tuple[Fraction | float | None, float]:
    """Return the nominal ε, and the ε of the loss that the ledger spent. The second is a float, rounded up."""
    if ledger.budget is None or ledger.kind == PURE:
        return ledger.epsilon if nominal is None else nominal, float_up(ledger.spent)
    epsilon = ledger.budget.epsilon(delta) if nominal is None else nominal
    if not isinstance(epsilon, Fraction) or not ledger.budget.holds(epsilon, delta):
        raise ValueError(f"A budget of {ledger.budget} is not proved to be ε = {epsilon} at δ = {delta}.")
    return epsilon, float_up(min(epsilon, ledger.loss.epsilon(delta) if ledger.loss.amount else Fraction(0)))
