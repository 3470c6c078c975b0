"""Rows in exchange for ε: by which factor the number of rows must grow so that a tenth of ε reaches the same accuracy.

S. Fletcher and M. Z. Islam, *Differentially private random decision forests using smooth sensitivity*, figure 9, draw
accuracy over rows at three ε. They state that a hundred times the rows at a tenth of ε are equivalent.
"""

from dataclasses import dataclass
from typing import Final

from dpforest.evaluation.learning_curve import Learning, Needed, rows_needed

FACTOR: Final = 10.0
APART: Final = 0.01  # a smaller ε must lower the accuracy by at least this much


@dataclass(frozen=True)
class Exchange:
    """Number of rows that compensates for a smaller ε.

    Attributes
    ----------
    epsilon, smaller : float
        The ε for few rows, and a smaller ε for more rows.
    rows : float
        Smallest measured number of rows that is accurate enough at `epsilon`, and at least `APART` less accurate at
        `smaller`.
    accuracy : float
        Mean accuracy of `rows` rows at `epsilon`.
    needed : Needed
        Estimate of the number of rows that reaches this accuracy at the smaller ε.
    """

    epsilon: float
    smaller: float
    rows: float
    accuracy: float
    needed: Needed

    @property
    def times(self) -> float | None:
        """Return the number of rows at the smaller ε as a multiple of `rows`; None if it is unknown."""
        return None if self.needed.rows is None else self.needed.rows / self.rows


def three_epsilons(learning: Learning, epsilon: float, factor: float = FACTOR) -> list[float]:
    """Return a smaller ε, this ε and a larger ε. Neighbors differ by a factor, within the range of the simulated ε.

    Returns
    -------
    list of float
        In rising order, without duplicates.
    """
    low, high = float(learning.epsilons[0]), float(learning.epsilons[-1])
    return sorted({max(low, epsilon / factor), epsilon, min(high, epsilon * factor)})


def exchange(learning: Learning, epsilon: float, smaller: float, least: float = 0.0) -> Exchange | None:
    """Return how many rows compensate for a smaller ε.

    Return None if the smaller ε lowers the accuracy by less than `APART` at every number of rows.

    Parameters
    ----------
    learning : Learning
        Accuracy of simulated releases from parts of the table.
    epsilon, smaller : float
        As in `Exchange`.
    least : float
        Only accuracies above this one are compared. Pass the accuracy of guessing plus a margin for chance, because
        more rows do not help if a forest only guesses.

    Examples
    --------
    >>> import numpy as np
    >>> rows, epsilons = np.array([500, 1000, 2000, 4000, 8000]), np.geomspace(0.1, 10, 29)
    >>> accuracy = 0.9 - 8 * (epsilons * rows[:, None]) ** -0.5  # noise decides: only ε times rows matters
    >>> learning = Learning(rows, epsilons, accuracy[None], np.full((1, 5), 0.9))
    >>> round(exchange(learning, 1.0, 0.1).times)
    10
    """
    few, many = learning.by_rows(epsilon), learning.by_rows(smaller)
    at = next((i for i in range(len(few)) if few[i] > least and few[i] >= many[i] + APART), None)
    if at is None:
        return None
    accuracy = float(few[at])
    return Exchange(epsilon, smaller, float(learning.rows[at]), accuracy, rows_needed(learning, smaller, accuracy))
