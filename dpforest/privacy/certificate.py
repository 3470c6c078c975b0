"""The certificate states which privacy a forest promises and on which conditions, or why it promises nothing."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from dpforest.privacy.ledger import ADD_REMOVE, Ledger, rows_changed
from dpforest.privacy.loss import GAUSSIAN, KINDS, PURE, PrivacyLoss
from dpforest.privacy.rationals import as_typed, float_up, text_up, written_fraction

STANDING_ASSUMPTIONS: Final = (
    "The unit of privacy is one row: if one person has several rows, ε is multiplied by their number.",
    "The settings (ε, depth, trees, features, bounds) are taken as given; choosing them by looking at this table is "
    "not covered.",
    "This is one release: releases from tables with the same people add up.",
)
GAUSSIAN_ASSUMPTIONS: Final = (  # the first one is in μ, because ε at a fixed δ grows by more than that factor
    "The unit of privacy is one row: if one person has several rows, μ is multiplied by their number.",
    *STANDING_ASSUMPTIONS[1:],
)
REPLACE_ASSUMPTION: Final = "The number of rows, counted before any row was left out, is public."
NO_PRIVACY: Final = "There is no privacy here: the exact counts of the table were used."
NOT_CLOSED: Final = "The ledger is not closed, so what was spent is not known in full."

_MEANING: Final = {
    "add-remove": "two tables that differ by one row that is present in only one of them",
    "replace-one": "two tables of the same size that differ in the content of one row",
}


@dataclass(frozen=True)
class Certificate:
    """The privacy promise of a fitted forest.

    Attributes
    ----------
    certified : bool
        True exactly when `reasons` is empty.
    epsilon : Fraction, infinity or None
        Nominal ε. None without privacy; infinity where the formula of a published mechanism claims nothing.
    neighbors : {"add-remove", "replace-one"}
    mechanism : str
    true_epsilon : float
        Proved loss, rounded up to the next float. It is at most ε when certified, and less where a mechanism costs
        less than it may. Otherwise it is infinite, because no finite bound is proved; a bound that holds only for
        ideal real numbers is stated among the reasons.
    assumptions : tuple of str
        Conditions of the promise, the standing ones first.
    reasons : tuple of str
        Why the forest is not certified, one plain sentence each.
    delta : float
        0 for pure privacy. Above 0 for Gaussian privacy, where `epsilon` and `true_epsilon` hold at this δ.
    kind : {"pure", "gaussian"}
    mu_squared : Fraction or None
        Proved μ² of a certified Gaussian forest: its δ at `loss` is at most `delta`.
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
        standing = _standing(self.kind)
        if self.assumptions[: len(standing)] != standing:
            raise ValueError("A certificate always states the standing assumptions first.")
        if self.neighbors != ADD_REMOVE and REPLACE_ASSUMPTION not in self.assumptions:
            raise ValueError("Under replace-one a certificate states that the number of rows is public.")
        if self.certified:
            budget = self.epsilon
            if not isinstance(budget, Fraction) or not 0 <= self.true_epsilon <= float_up(budget):
                raise ValueError("A certified forest has a budget and loses at most that.")
            proved = self.privacy_loss
            if proved is None or not proved.amount or not proved.holds(self.loss or 0, self.delta):
                raise ValueError("A certified forest loses something, and its (ε, δ) follow from what it loses.")
        elif self.true_epsilon != math.inf or self.mu_squared is not None:
            raise ValueError("Nothing finite is promised by a forest that is not certified.")

    @property
    def loss(self) -> Fraction | None:
        """Proved loss for display: at least what was spent, and exactly ε, not a float above it, where all of ε was
        spent. None where there is no finite bound.
        """
        if not self.certified or self.epsilon is None:
            return None
        return min(Fraction(self.true_epsilon), Fraction(self.epsilon))

    @property
    def privacy_loss(self) -> PrivacyLoss | None:
        """Proved loss as the quantity that adds up: `loss`, or μ². None where there is no finite bound."""
        if self.kind == GAUSSIAN:
            return None if self.mu_squared is None else PrivacyLoss.gaussian(self.mu_squared)
        return None if self.loss is None else PrivacyLoss.pure(self.loss)

    def is_of_budget(self, ledger: Ledger) -> bool:
        """Return whether relation, kind and budget are the ledger's: its ε, or an (ε, δ) that its μ² proves."""
        if ledger.budget is None or (self.kind, self.neighbors) != (ledger.kind, ledger.neighbors):
            return False
        if self.kind == PURE:
            return self.epsilon == ledger.epsilon
        return isinstance(self.epsilon, Fraction) and ledger.budget.holds(self.epsilon, self.delta)

    def covers(self, ledger: Ledger) -> bool:
        """Return whether the promise covers what was spent; ε is compared as the nearest float, as in old files."""
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
            "mechanism": self.mechanism,
            "assumptions": list(self.assumptions),
            "reasons": list(self.reasons),
            **({} if self.mu_squared is None else {"mu_squared": str(self.mu_squared)}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Certificate":
        """Invert `to_dict`, with the same checks. Without certification no finite loss is read."""
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
                at = f" at δ = {text_up(self.delta)}" if self.delta else ""
                lines.append(f"Nominal ε = {text_up(self.epsilon)}{at}; true privacy loss: no finite bound.")
            lines += [f"  Why: {_one_line(reason)}" for reason in self.reasons]
        lines.append(f"Mechanism: {_one_line(self.mechanism)}.")
        lines.append(f"Compared are {_MEANING[self.neighbors]} ({self.neighbors}).")
        lines.append("It rests on this:" if self.certified else "Even without these reasons it would rest on this:")
        lines += [f"  - {_one_line(assumption)}" for assumption in self.assumptions]
        return "\n".join(lines)


def _standing(kind: str) -> tuple[str, ...]:
    return GAUSSIAN_ASSUMPTIONS if kind == GAUSSIAN else STANDING_ASSUMPTIONS


def _one_line(words: str) -> str:
    """Put text from outside on one line, so that it can never look like a line of the certificate.

    >>> _one_line("our\\nCERTIFIED: \\u202e.00001 = ε")
    'our CERTIFIED: \\\\u202e.00001 = ε'
    """
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in " ".join(words.split()))


def large_delta_caution(delta: float, n_rows: int | None) -> str:
    """Return a caution if δ is at or above 1/n. It is empty if δ is below 1/n, or n is not known.

    A mechanism that publishes each row with probability δ is (0, δ)-differentially private. So (ε, δ) with such a δ
    promises little by itself. A mechanism with a finite μ cannot publish a row that way: its δ falls to 0 as ε grows.

    Parameters
    ----------
    delta : float
        0 for pure privacy.
    n_rows : int or None
        Approximate number of rows, released or public.

    Returns
    -------
    str
        A few sentences that depend on these two numbers alone.
    """
    expected = as_typed(delta) * (n_rows or 0)
    if expected < 1:
        return ""
    return (
        f"δ = {text_up(delta)} is not below 1/n for about {n_rows:,} rows, so (ε, δ) alone promises little: it allows "
        "a mechanism that publishes each row whole with probability δ, which is "
        f"{text_up(expected, 3)} row{'s' * (expected != 1)} on average. This forest's μ excludes such a mechanism: use "
        "μ to judge its privacy."
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
    """Write the certificate of a fitted forest.

    Parameters
    ----------
    ledger : Ledger
        A ledger with a budget must be closed; otherwise the forest is not certified.
    mechanism : str
        The mechanism in words, for the reader.
    assumptions : iterable of str
        Conditions beyond the standing ones, such as where each bound comes from.
    reasons : iterable of str
        Everything that prevents certification: `Domain.leaks()`, ``source.reasons()``, `published.reasons`, ...
    nominal_epsilon : Fraction or infinity, optional
        The ε that a mechanism as published claims; its ledger has no budget. For a Gaussian ledger, the ε that its
        budget was made for, such as that of `mu_for`; by default, the least ε that the budget has at `delta`.
    delta : float
        δ at which the ε of a Gaussian ledger is stated; 0 for a pure ledger.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If δ does not fit the kind of the ledger, or a Gaussian budget is not proved to be (nominal ε, δ).
    """
    against = list(dict.fromkeys(reasons))
    if ledger.budget is None and not against:
        against.append(NO_PRIVACY)
    if ledger.budget is not None and not ledger.closed:
        against.append(NOT_CLOSED)
    standing = _standing(ledger.kind) + (() if ledger.neighbors == ADD_REMOVE else (REPLACE_ASSUMPTION,))
    extra = [a for a in dict.fromkeys(assumptions) if a not in standing]
    epsilon, true_epsilon = _epsilons(ledger, nominal_epsilon, delta)
    return Certificate(
        certified=not against,
        epsilon=epsilon,
        neighbors=ledger.neighbors,
        mechanism=mechanism,
        true_epsilon=math.inf if against else true_epsilon,
        assumptions=standing + tuple(extra),
        reasons=tuple(against),
        delta=delta,
        kind=ledger.kind,
        mu_squared=ledger.loss.mu_squared if ledger.kind == GAUSSIAN and not against else None,
    )


def _epsilons(ledger: Ledger, nominal: Fraction | float | None, delta: float) -> tuple[Fraction | float | None, float]:
    """Return the nominal ε, and the ε that follows from what was spent, as a float rounded up."""
    if ledger.budget is None or ledger.kind == PURE:
        return ledger.epsilon if nominal is None else nominal, float_up(ledger.spent)
    epsilon = ledger.budget.epsilon(delta) if nominal is None else nominal
    if not isinstance(epsilon, Fraction) or not ledger.budget.holds(epsilon, delta):
        raise ValueError(f"A budget of {ledger.budget} is not proved to be ε = {epsilon} at δ = {delta}.")
    return epsilon, float_up(min(epsilon, ledger.loss.epsilon(delta) if ledger.loss.amount else Fraction(0)))
