"""From an accuracy that is needed to the smallest ε that reaches it, and how sure one may be of that.

Two things are uncertain, and both are counted. A release draws its noise once, so an ε reaches an accuracy only in some
share of all releases; it is estimated from simulated ones, and a lower confidence bound of it must be high enough. And
the rows held out are a sample: from the accuracy measured on them a margin is taken off.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from dpforest.confidence import lower_limit

CONFIDENCE: Final = 0.95  # of the bound on the share of releases, and of the margin for held-out rows


@dataclass(frozen=True)
class Answer:
    """The smallest ε at which one forest reaches an accuracy.

    Attributes
    ----------
    forest : str
    epsilon : float or None
        None where no ε of the grid does.
    accuracy : float or None
        Mean over the simulated releases there; None where epsilon is.
    reached, releases : int
        Simulated releases that reach it there, of how many; without an ε, at the one where most do.
    at_least : float
        The share of all releases that reaches it, on the same held-out rows, at least: with `CONFIDENCE`, over all ε
        and forests together.
    is_sure : bool
        Whether `at_least` is what was asked for. Otherwise the share of the simulated ones is, but they are too few to
        know. It counts once the number of releases that was fixed beforehand is there, not whenever one looks.
    """

    forest: str
    epsilon: float | None
    accuracy: float | None
    reached: int
    releases: int
    at_least: float
    is_sure: bool


def smallest_epsilons(pieces: pd.DataFrame, needed: float, share: float, *, margin: bool = True) -> list[Answer]:
    """For each forest the smallest ε at which a share of its releases reaches an accuracy.

    Parameters
    ----------
    pieces : DataFrame
        Of `sweep.surface`, at one depth and number of trees for each forest.
    needed : float
        Accuracy, above 0 and up to 1.
    share : float
        Of releases that must reach it, between 0 and 1.
    margin : bool
        Take `held_out_margin` off first.

    Returns
    -------
    list of Answer
        The smallest ε first; forests that do not get there last.

    Raises
    ------
    ValueError
        If an accuracy or a share is out of its range.

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
    """From successes and trials at each ε, in rising order."""
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
    """Lower confidence bound of a share (Clopper and Pearson, 1934), corrected for looking at so many of them.

    Parameters
    ----------
    reached : int
        Simulated releases that reach what is needed.
    releases : int
        Of how many.
    n_tried : int
        Shares that are looked at; the bounds of all of them hold together, with `CONFIDENCE` (Bonferroni).

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
    """How many simulated releases, all reaching it, show that a share of all does.

    Parameters
    ----------
    share : float
        Of all releases, between 0 and 1.
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
    """What to take off a measured accuracy, as the rows held out are a sample (lower bound of E. B. Wilson, 1927).

    Parameters
    ----------
    accuracy : iterable of float
        Measured ones, from 0 to 1.
    n_test : iterable of int
        Rows held out behind each.

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
