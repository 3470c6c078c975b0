"""The certificate: what a forest promises about privacy, on what conditions, or why it promises nothing."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from dpforest.privacy.ledger import ADD_REMOVE, Ledger, rows_changed
from dpforest.privacy.rationals import float_up, text_up, written_fraction

STANDING_ASSUMPTIONS: Final = (
    "The unit of privacy is one row: if one person has several rows, ε is multiplied by their number.",
    "The settings (ε, depth, trees, features, bounds) are taken as given; choosing them by looking at this table is "
    "not covered.",
    "This is one release: releases from tables with the same people add up.",
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
    """What a fitted forest promises.

    Attributes
    ----------
    certified : bool
        True exactly when there is no reason against it.
    epsilon : Fraction, infinity or None
        The nominal ε; None without privacy. Infinity where a mechanism as published claims nothing by its own formula.
    neighbours : {"add-remove", "replace-one"}
    mechanism : str
    true_epsilon : float
        The loss that is proved, rounded up to the next float: at most ε when certified (less where a mechanism costs
        less than it may). Otherwise infinity, as nothing finite is proved; what holds for ideal real numbers only is
        said among the reasons.
    assumptions : tuple of str
        What the promise rests on. The standing ones come first.
    reasons : tuple of str
        Why it is not certified, one plain sentence each.
    delta : float
        0 for pure privacy, the only kind here so far.
    kind : {"pure"}
    """

    certified: bool
    epsilon: Fraction | float | None
    neighbours: str
    mechanism: str
    true_epsilon: float
    assumptions: tuple[str, ...] = STANDING_ASSUMPTIONS
    reasons: tuple[str, ...] = ()
    delta: float = 0
    kind: str = "pure"

    def __post_init__(self) -> None:
        rows_changed(self.neighbours)
        if self.kind != "pure" or self.delta != 0:
            raise ValueError("Only pure ε (delta = 0) is implemented.")
        if self.certified == bool(self.reasons) or not all(reason.strip() for reason in self.reasons):
            raise ValueError("A certificate is certified exactly when there is no reason against it.")
        if self.assumptions[: len(STANDING_ASSUMPTIONS)] != STANDING_ASSUMPTIONS:
            raise ValueError("A certificate always states the standing assumptions first.")
        if self.neighbours != ADD_REMOVE and REPLACE_ASSUMPTION not in self.assumptions:
            raise ValueError("Under replace-one a certificate states that the number of rows is public.")
        if self.certified:
            budget = self.epsilon
            if not isinstance(budget, Fraction) or not 0 < self.true_epsilon <= float_up(budget):
                raise ValueError("A certified forest has a budget and loses at most that.")
        elif self.true_epsilon != math.inf:
            raise ValueError("Nothing finite is promised by a forest that is not certified.")

    @property
    def loss(self) -> Fraction | None:
        """The proved loss, to be shown: never below what was spent, and without the last digit of a float where all of
        ε was. None where there is no finite bound.
        """
        return min(Fraction(self.true_epsilon), Fraction(self.epsilon)) if self.certified and self.epsilon else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe; ε as an exact fraction in text, what is infinite as "infinity"."""
        return {
            "certified": self.certified,
            "kind": self.kind,
            "epsilon": None if self.epsilon is None else "infinity" if self.epsilon == math.inf else str(self.epsilon),
            "delta": self.delta,
            "true_epsilon": "infinity" if math.isinf(self.true_epsilon) else self.true_epsilon,
            "neighbours": self.neighbours,
            "mechanism": self.mechanism,
            "assumptions": list(self.assumptions),
            "reasons": list(self.reasons),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Certificate":
        """The inverse of `to_dict`; the same checks apply. Without certification no finite loss is read."""
        if not isinstance(data["certified"], bool):
            raise ValueError("whether it is certified must be true or false")
        if not all(isinstance(data[name], list) for name in ("assumptions", "reasons")):
            raise ValueError("assumptions and reasons are not lists")
        loss = math.inf if data["true_epsilon"] == "infinity" else float(data["true_epsilon"])
        return cls(
            certified=data["certified"],
            epsilon=math.inf if data["epsilon"] == "infinity" else written_fraction(data["epsilon"]),
            neighbours=data["neighbours"],
            mechanism=data["mechanism"],
            true_epsilon=loss if data["certified"] else math.inf,
            assumptions=tuple(data["assumptions"]),
            reasons=tuple(data["reasons"]),
            delta=data["delta"],
            kind=data["kind"],
        )

    def __str__(self) -> str:
        if self.certified:
            lines = [f"CERTIFIED: pure differential privacy with ε = {text_up(self.loss)}, δ = 0."]
        else:
            lines = ["NOT CERTIFIED."]
            if self.epsilon is not None:
                lines.append(f"Nominal ε = {text_up(self.epsilon)}; true privacy loss: no finite bound.")
            lines += [f"  Why: {_one_line(reason)}" for reason in self.reasons]
        lines.append(f"Mechanism: {_one_line(self.mechanism)}.")
        lines.append(f"Compared are {_MEANING[self.neighbours]} ({self.neighbours}).")
        lines.append("It rests on this:" if self.certified else "Even without these reasons it would rest on this:")
        lines += [f"  - {_one_line(assumption)}" for assumption in self.assumptions]
        return "\n".join(lines)


def _one_line(words: str) -> str:
    """Words of somebody else on one line, so that they can never look like a line of the certificate.

    >>> _one_line("our\\nCERTIFIED: \\u202e.00001 = ε")
    'our CERTIFIED: \\\\u202e.00001 = ε'
    """
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in " ".join(words.split()))


def certify(
    ledger: Ledger,
    *,
    mechanism: str,
    assumptions: Iterable[str] = (),
    reasons: Iterable[str] = (),
    nominal_epsilon: Fraction | float | None = None,
) -> Certificate:
    """Write the certificate of a fitted forest.

    Parameters
    ----------
    ledger : Ledger
        Closed, or the certificate says no.
    mechanism : str
        In words, for the reader.
    assumptions : iterable of str
        Beyond the standing ones: where each bound comes from, and the like.
    reasons : iterable of str
        Everything that speaks against it: `Domain.leaks()`, ``source.reasons()``, `published.reasons`, ...
    nominal_epsilon : Fraction or infinity, optional
        The ε that a mechanism as published claims; it has a ledger without a budget.

    Returns
    -------
    Certificate
    """
    against = list(dict.fromkeys(reasons))
    if ledger.epsilon is None and not against:
        against.append(NO_PRIVACY)
    if ledger.epsilon is not None and not ledger.closed:
        against.append(NOT_CLOSED)
    standing = STANDING_ASSUMPTIONS + (() if ledger.neighbours == ADD_REMOVE else (REPLACE_ASSUMPTION,))
    extra = [a for a in dict.fromkeys(assumptions) if a not in standing]
    return Certificate(
        certified=not against,
        epsilon=ledger.epsilon if nominal_epsilon is None else nominal_epsilon,
        neighbours=ledger.neighbours,
        mechanism=mechanism,
        true_epsilon=math.inf if against else float_up(ledger.spent),
        assumptions=standing + tuple(extra),
        reasons=tuple(against),
    )
