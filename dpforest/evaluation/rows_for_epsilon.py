"""How many more rows compensate for a smaller ε, so that a forest keeps its accuracy.

S. Fletcher and M. Z. Islam, *Differentially private random decision forests using smooth sensitivity*, figure 9, draw
accuracy over the number of rows at three ε. They state that a tenth of ε needs a hundred times as many rows.
"""

from dataclasses import dataclass
from typing import Final

from dpforest.evaluation.learning_curve import Learning, Needed, rows_needed

FACTOR: Final = 10.0  # ratio of the ε of neighboring curves
# Two ε are compared at the fewest rows at which their accuracies differ by at least this much.
LEAST_DIFFERENCE: Final = 0.01


@dataclass(frozen=True)
class Exchange:
    """Number of rows that compensates for a smaller ε.

    Attributes
    ----------
    epsilon, smaller : float
        Two ε: `epsilon` is used with few rows, and `smaller` with more rows.
    rows : float
        The few rows: the smallest measured number of rows at which the accuracy at `smaller` is lower by at least
        `LEAST_DIFFERENCE` than at `epsilon`, and the accuracy at `epsilon` exceeds the `least` of `exchange`.
    accuracy : float
        Mean accuracy at `epsilon` with `rows` rows.
    needed : Needed
        Estimate of the number of rows with which a forest reaches this accuracy at `smaller`.
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
    """Return ε, and also ε / factor and ε × factor, both limited to the range of the simulated ε.

    Returns
    -------
    list of float
        One to three different ε, in rising order.
    """
    low, high = float(learning.epsilons[0]), float(learning.epsilons[-1])
    return sorted({max(low, epsilon / factor), epsilon, min(high, epsilon * factor)})


def exchange(learning: Learning, epsilon: float, smaller: float, least: float = 0.0) -> Exchange | None:
    """Return how many rows compensate for a smaller ε.

    Return None if accuracies at the two ε differ by less than `LEAST_DIFFERENCE` at all compared numbers of rows.

    Parameters
    ----------
    learning : Learning
        Accuracy of simulated releases from parts of the table.
    epsilon, smaller : float
        As in `Exchange`.
    least : float
        Numbers of rows at which the accuracy at `epsilon` is not above `least` are left out. Pass the accuracy of
        guessing plus a margin for chance, because more rows do not help a forest that only guesses.

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
    index = next((i for i in range(len(few)) if few[i] > least and few[i] >= many[i] + LEAST_DIFFERENCE), None)
    if index is None:
        return None
    accuracy = float(few[index])
    return Exchange(epsilon, smaller, float(learning.rows[index]), accuracy, rows_needed(learning, smaller, accuracy))
