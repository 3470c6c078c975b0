"""The smallest ε that reaches a needed accuracy, and the confidence in it.

There are two sources of uncertainty. First, a release draws its noise once, so only a share of all releases at an ε
reaches the accuracy. Simulated releases estimate this share, and its lower confidence bound must be high enough.
Second, the held-out rows are a sample, so a margin is subtracted from the accuracy on the held-out rows.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from dpforest.confidence import lower_limit

CONFIDENCE: Final = 0.95  # confidence level of the bound on the share of releases, and of the held-out margin


@dataclass(frozen=True)
class Answer:
    """The smallest ε at which one forest reaches an accuracy.

    Attributes
    ----------
    forest : str
    epsilon : float or None
        None if no ε of the grid reaches the accuracy.
    accuracy : float or None
        Mean accuracy of the simulated releases at this ε; None without an ε.
    reached, releases : int
        Number of simulated releases at this ε that reach the accuracy, and number of all simulated releases at this ε.
        If `epsilon` is None, these are the numbers at the ε where the largest share of releases reaches the accuracy.
    at_least : float
        Lower confidence bound on the share of all releases that reach the accuracy, on the same held-out rows. All
        bounds, over every ε and forest, hold together with `CONFIDENCE`.
    is_sure : bool
        Whether `at_least` is at least the requested share. If False, the share among the simulated releases may still
        be large enough, but there are too few releases to show it. The value is valid only after a number of releases
        that was fixed beforehand, not at an earlier look.
    """

    forest: str
    epsilon: float | None
    accuracy: float | None
    reached: int
    releases: int
    at_least: float
    is_sure: bool


def smallest_epsilons(pieces: pd.DataFrame, needed: float, share: float, *, margin: bool = True) -> list[Answer]:
    """Return for each forest the smallest ε at which a share of its releases reaches an accuracy.

    Parameters
    ----------
    pieces : DataFrame
        Result of `sweep.surface`, with one depth and number of trees for each forest.
    needed : float
        Accuracy, above 0 and up to 1.
    share : float
        Share of releases that must reach the accuracy, between 0 and 1.
    margin : bool
        Subtract `held_out_margin` from each accuracy first.

    Returns
    -------
    list of Answer
        The smallest ε first; forests that do not reach the accuracy last.

    Raises
    ------
    ValueError
        If `needed` or `share` is out of its range.

    Examples
    --------
    >>> pieces = pd.DataFrame({"forest": "a", "epsilon": [0.1, 1.0] * 60, "accuracy": [0.6, 0.8] * 60, "n_test": 900})
    >>> answer = smallest_epsilons(pieces, 0.75, 0.9)[0]
    >>> answer.epsilon, answer.reached, answer.is_sure
    (1.0, 60, True)
    """
    if not 0 < needed <= 1:
        raise ValueError(f"needed={needed!r} is not an accuracy above 0 and up to 1")
    if not 0 < share < 1:
        raise ValueError(f"share={share!r} is not a share between 0 and 1")
    private = pieces[np.isfinite(pieces["epsilon"])]
    accuracy = private["accuracy"] - (held_out_margin(private["accuracy"], private["n_test"]) if margin else 0.0)
    n_tried = len(private.groupby(["forest", "epsilon"]))
    reached = (accuracy >= needed).groupby([private["forest"], private["epsilon"]]).agg(["sum", "size"])
    mean = private.groupby(["forest", "epsilon"])["accuracy"].mean()
    answers = [
        _answer(str(name), counts.droplevel(0), mean[name], share, n_tried) for name, counts in reached.groupby(level=0)
    ]
    return sorted(answers, key=lambda a: (math.inf if a.epsilon is None else a.epsilon, -(a.accuracy or 0), -a.reached))


def _answer(forest: str, reached: pd.DataFrame, mean: pd.Series, share: float, n_tried: int) -> Answer:
    """Return the answer from the numbers of successes and trials at each ε, in rising order of ε."""
    bounds = [share_at_least(int(s), int(n), n_tried=n_tried) for s, n in reached.itertuples(index=False)]
    enough = (reached["sum"] >= share * reached["size"]).to_numpy()
    if not enough.any():
        best = int((reached["sum"] / reached["size"]).to_numpy().argmax())
        return Answer(forest, None, None, *_at(reached, best), bounds[best], False)
    sure = np.array(bounds) >= share
    i = int(sure.argmax()) if sure.any() else int(enough.argmax())
    epsilon = float(reached.index[i])
    return Answer(forest, epsilon, float(mean[epsilon]), *_at(reached, i), bounds[i], bool(sure.any()))


def _at(reached: pd.DataFrame, i: int) -> tuple[int, int]:
    return int(reached["sum"].iloc[i]), int(reached["size"].iloc[i])


def share_at_least(reached: int, releases: int, *, n_tried: int = 1) -> float:
    """Return a lower confidence bound on a share (Clopper and Pearson, 1934), corrected for several shares.

    Parameters
    ----------
    reached : int
        Number of simulated releases that reach the needed accuracy.
    releases : int
        Number of simulated releases.
    n_tried : int
        Number of shares; all their bounds hold together with `CONFIDENCE` (Bonferroni).

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> round(share_at_least(60, 60, n_tried=18), 3), share_at_least(0, 60)
    (0.907, 0.0)
    """
    return float(lower_limit(reached, releases, (1 - CONFIDENCE) / n_tried))


def releases_needed(share: float, n_tried: int) -> int:
    """Return the least number of simulated releases that can show that a share of all releases reaches an accuracy.

    They show it if every one of these simulated releases reaches the accuracy.

    Parameters
    ----------
    share : float
        Share of all releases, between 0 and 1.
    n_tried : int
        As for `share_at_least`.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> releases_needed(0.9, 18)
    56
    """
    return math.ceil(math.log((1 - CONFIDENCE) / n_tried) / math.log(share))


def held_out_margin(accuracy: Iterable[float] | pd.Series, n_test: Iterable[int] | pd.Series) -> np.ndarray:
    """Return the margin from a measured accuracy to its lower confidence bound (E. B. Wilson, 1927).

    The margin is needed because the held-out rows are a sample.

    Parameters
    ----------
    accuracy : iterable of float
        Measured accuracies, from 0 to 1.
    n_test : iterable of int
        Number of held-out rows that each accuracy is measured on.

    Returns
    -------
    float array
        One margin for each accuracy.

    Examples
    --------
    >>> held_out_margin([0.8], [900]).round(4).tolist()
    [0.0228]
    """
    a, n = np.asarray(accuracy, float), np.asarray(n_test, float)
    z = stats.norm.ppf(CONFIDENCE)
    center = (a + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(a * (1 - a) / n + z**2 / (4 * n**2))
    return a - (center - half)
