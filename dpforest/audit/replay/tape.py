"""Types of a recorded fit: its questions to private rows, its charges, its steps, and its final state."""

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
    """A forbidden difference between the two fits, or a question that is not paid for.

    Parameters
    ----------
    kind : {"branch", "question", "public", "undeclared", "unpaid", "rate", "sensitivity", "trees", "parts", "source",
        "release", "loss"}
    line : str
        Location as "file:line", and after an arrow the line that called it.
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
    """One charge of a ledger: its number in the fit, its ledger entry, and the number of answers that it pays for."""

    number: int
    entry: LedgerEntry
    uses: int
    query_budget: QueryBudget | None


@dataclass
class Question:
    """One access to private rows.

    Parameters
    ----------
    what : {"assignment", "labels", "noise", "choice"}
        Kind of answer: trees of rows, labels of leaves, noisy counts, or chosen candidates.
    line : str
        The line that asked, as in `Finding`.
    public : tuple
        Shapes, rates, and allowed candidates, which must not depend on the rows.
    private : array
        Counts or scores that the sampler gets, one row for each independent draw. Empty for an assignment.
    log_pmf : function or None
        From such an array to the logarithms of the probabilities of all answers; None for noise on counts.
    rate : float
        1/scale of noise on counts; 1/standard deviation of Gaussian noise.
    is_gaussian : bool
        True: the noise is Gaussian, so inputs are compared by their L2 distance, and μ² of losses add up.
    """

    what: str
    line: str
    public: tuple
    private: np.ndarray
    log_pmf: Callable[[np.ndarray], np.ndarray] | None = None
    rate: float = 0.0
    answer: Any = None
    declared: tuple[float, np.ndarray] | None = None  # sensitivity, and the input that it is declared for
    paid: float | None = None  # paid for one row: ε, or μ
    tree: int = -1  # number of the tree that is being grown; -1 before the first tree
    is_gaussian: bool = False
    charge: "Charge | None" = None  # the charge that paid for it


Forced = Callable[[Question, Any], Any]  # from a question and the drawn answer to the answer to give


@dataclass
class Tape:
    """A recorded fit: questions, steps between lines of code, its result and the line that returned it."""

    questions: list[Question] = field(default_factory=list)
    steps: list[tuple[str, int, int]] = field(default_factory=list)  # file, line, next line
    result: Any = None
    state: State = field(default_factory=dict)  # of the result at the end of the fit
    returned: dict[int, tuple[Any, str]] = field(
        default_factory=dict
    )  # id of an object -> object, line that returned it
    findings: list[Finding] = field(default_factory=list)
