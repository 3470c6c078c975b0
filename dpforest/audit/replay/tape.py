"""Types for a recorded fit: its questions (accesses to private rows), charges, executed steps, and final state."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dpforest.audit.replay.state import State
from dpforest.privacy.ledger import LedgerEntry, QueryBudget

Table = tuple[pd.DataFrame, np.ndarray]


@dataclass(frozen=True)
class Finding:
    """A mistake that a replay found: a forbidden difference between two fits, or a question without a correct charge.

    Parameters
    ----------
    kind : {"branch", "question", "public", "undeclared", "unpaid", "rate", "sensitivity", "trees", "parts", "source",
        "release", "loss"}
        Rule of `replay` or `record` that the fit breaks.
    line : str
        Location as "file:line", followed by an arrow and the location of the caller.
    message : str
        Description of the mistake.
    """

    kind: str
    line: str
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.message}"


@dataclass(frozen=True)
class Charge:
    """One charge of a ledger, which pays from the privacy budget for one or several questions.

    Parameters
    ----------
    number : int
        Number of the charge in the fit, from 0.
    entry : LedgerEntry
        Entry that the charge added to the ledger.
    uses : int
        Number of answers that the charge pays for.
    query_budget : QueryBudget or None
        Result of `Ledger.charge`.
    """

    number: int
    entry: LedgerEntry
    uses: int
    query_budget: QueryBudget | None


@dataclass
class Question:
    """One access to private rows: a call of a sampler.

    Parameters
    ----------
    what : {"assignment", "labels", "noise", "choice"}
        Kind of the answer: a tree for each row, a label for each leaf, noisy counts or sums, or candidates.
    line : str
        Location of the question, as in `Finding`.
    public : tuple
        Arguments of the sampler that must not depend on the rows: shapes, rates, and allowed candidates.
    private : array
        Input of the sampler: counts, sums or scores, one row for each independent draw. Empty for an assignment.
    log_pmf : function or None
        Maps an array like `private` to the log-probabilities of all answers; None for noise and for an assignment.
    rate : float
        Rate of the sampler of labels or choices; 1/scale of Laplace noise; 1/standard deviation of Gaussian noise.
    is_gaussian : bool
        Whether the noise is Gaussian. If True, distances of inputs are L2 distances, and the squares μ² of losses add
        up.
    """

    what: str
    line: str
    public: tuple
    private: np.ndarray
    log_pmf: Callable[[np.ndarray], np.ndarray] | None = None
    rate: float = 0.0
    answer: Any = None  # answer that the fit got: drawn, forced or recorded
    # declared sensitivity, input for which it is declared, and number of nodes that one row or person may affect
    declared: tuple[float, np.ndarray, int] | None = None
    paid: float | None = None  # privacy cost that was charged for one row: ε, or μ for Gaussian noise
    tree: int = -1  # number of the current tree; -1 before the first tree
    is_gaussian: bool = False
    charge: "Charge | None" = None  # the charge that paid for the question


Forced = Callable[[Question, Any], Any]  # maps a question and the drawn answer to the answer that the fit gets


@dataclass
class Tape:
    """A recorded fit: its questions, its steps between lines, its result, and the lines that returned objects."""

    questions: list[Question] = field(default_factory=list)
    steps: list[tuple[str, int, int]] = field(default_factory=list)  # file, line, next line
    result: Any = None
    state: State = field(default_factory=dict)  # state of the result at the end of the fit
    # For each returned object, by its id: the object, and the line that returned it first.
    returned: dict[int, tuple[Any, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
