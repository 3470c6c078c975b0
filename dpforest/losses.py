"""Proper losses for two classes: Bayes risk, link, surrogate, and sensitivity of a split's score to one row.

Losses are normalized as in R. Nock and W. Henecka, "Boosted and differentially private ensembles of decision trees"
(2020). A Bayes risk L is concave and symmetric on [0, 1], with L(0) = L(1) = 0 and L(1/2) = 1. The Mα-loss of the paper
mixes two losses. Matsushita's loss (alpha = 1) boosts fastest. With the 0/1 loss (alpha = 0), one row changes the score
of a split least.

Every function takes numbers or arrays.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, rel_entr

Values = np.ndarray | np.float64


def _probability(u: ArrayLike) -> np.ndarray:
    u = np.asarray(u, float)
    if not np.all((u >= 0) & (u <= 1)):
        raise ValueError("u is a probability and must be from 0 to 1")
    return u


def _check_share(alpha: float) -> None:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha={alpha!r} is not a number from 0 to 1")


def _rows(n: ArrayLike) -> np.ndarray:
    n = np.asarray(n, float)
    if not np.all(n >= 1):
        raise ValueError("n is a number of rows and must be at least 1")
    return n


@dataclass(frozen=True)
class Loss(ABC):
    """A proper, symmetric loss.

    Attributes
    ----------
    name : {"matsushita", "gini", "entropy", "error", "m-alpha"}
        Name of the loss; "error" is the 0/1 loss.
    alpha : float or None
        Weight of Matsushita's loss in its mix with the 0/1 loss. The weight is 1 for Matsushita's loss itself, 0 for
        the 0/1 loss, and None for other losses.

    Examples
    --------
    >>> GINI.bayes_risk([0.0, 0.25, 0.5])
    array([0.  , 0.75, 1.  ])
    >>> float(m_alpha(0.5).sensitivity(101))
    11.0
    """

    name: str
    alpha: float | None = None

    @abstractmethod
    def potential(self, w1: ArrayLike, w0: ArrayLike) -> Values:
        """Return w L(w1 / w), where w1, w0 ≥ 0 are a leaf's class weights and w = w1 + w0; 0 for an empty leaf."""

    @abstractmethod
    def link(self, u: ArrayLike) -> Values:
        """Return ψ(u) for ψ = -L': the value of a leaf in which the positive class has the share u. ψ(1/2) is 0."""

    @abstractmethod
    def inverse_link(self, z: ArrayLike) -> Values:
        """Return the u with ψ(u) = z.

        If ψ jumps over z at 1/2, then u is 1/2. If z is beyond the range of ψ, then u is 0 or 1.
        """

    @abstractmethod
    def surrogate(self, z: ArrayLike) -> Values:
        """Return F(z) = max over u of L(u) - u z. F is convex and decreasing, F(0) = 1, and F'(z) = -ψ⁻¹(-z)."""

    def bayes_risk(self, u: ArrayLike) -> Values:
        """Return L(u), the least expected loss if the positive class has probability u."""
        u = _probability(u)
        return self.potential(u, 1 - u)

    def sensitivity(self, n: ArrayLike, weight: ArrayLike = 1.0) -> Values:
        """Return the largest change of a split's score by one row; the score is the sum of its children's potentials.

        A potential is concave, homogeneous and not negative. So an added row never lowers a potential or the score. The
        score rises most if the row has full weight and is the first row of its class in a child that holds all other
        rows.

        Parameters
        ----------
        n : int
            Bound on the number of rows, including the row that is added, removed or replaced.
        weight : float
            Largest weight of a row.

        Returns
        -------
        float
            Largest change of the score, over all children and classes that a row may leave or join. Adding one row can
            cause this change, and so can replacing one row.
        """
        weight = np.asarray(weight, float)
        if not np.all(weight > 0):
            raise ValueError("weight is the largest weight of a row and must be above 0")
        return weight * self.potential(1.0, _rows(n) - 1.0)

    def published_sensitivity(self, n: ArrayLike) -> Values:
        """Return the paper's bound on `sensitivity` for weights up to 1, by Theorem 3 with Lemma 5 or Corollary 7.

        For many rows, this bound exceeds `sensitivity` by about 1.
        """
        return 1.0 + self.potential(1.0, _rows(n))


# The Mα-loss: alpha times Matsushita's loss plus 1 - alpha times the 0/1 loss.
@dataclass(frozen=True)
class _MAlpha(Loss):
    alpha: float = 1.0

    def __post_init__(self):
        _check_share(self.alpha)

    def potential(self, w1, w0):
        w1, w0 = np.asarray(w1, float), np.asarray(w0, float)
        return 2 * (self.alpha * np.sqrt(w1 * w0) + (1 - self.alpha) * np.minimum(w1, w0))

    def link(self, u):
        u = _probability(u)
        vote = 2 * (1 - self.alpha) * np.sign(u - 0.5)
        if self.alpha == 0:
            return vote
        with np.errstate(divide="ignore"):
            return vote + self.alpha * (2 * u - 1) / np.sqrt(u * (1 - u))

    def inverse_link(self, z):
        z = np.asarray(z, float)
        # By IEEE 754, each of these operations is rounded correctly. So a result has the same bits on every machine and
        # at every place of an array.
        beyond = np.minimum(np.maximum(np.abs(z) / 2 - (1 - self.alpha), 0), 1e100)
        length = np.sqrt(beyond * beyond + self.alpha * self.alpha)
        return 0.5 * (1 + np.sign(z) * beyond / np.where(length > 0, length, 1))

    def surrogate(self, z):
        z = np.asarray(z, float)
        beyond = np.maximum(np.abs(z) / 2 - (1 - self.alpha), 0)
        return 1 - z / 2 + np.hypot(beyond, self.alpha) - self.alpha


# The Bayes risk of this loss is Gini impurity, normalized: L(u) = 4 u (1 - u).
class _Gini(Loss):
    def potential(self, w1, w0):
        w1, w0 = np.asarray(w1, float), np.asarray(w0, float)
        w = w1 + w0
        return 4 * w1 * w0 / np.where(w > 0, w, 1)

    def link(self, u):
        return 4 * (2 * _probability(u) - 1)

    def inverse_link(self, z):
        return np.clip(0.5 + np.asarray(z, float) / 8, 0, 1)

    def surrogate(self, z):
        z = np.asarray(z, float)
        return np.maximum(-z, 0) + np.maximum(1 - np.abs(z) / 4, 0) ** 2


# The Bayes risk of this loss is the entropy in bits: L(u) = -u log₂ u - (1 - u) log₂(1 - u).
class _Entropy(Loss):
    def potential(self, w1, w0):
        w1, w0 = np.asarray(w1, float), np.asarray(w0, float)
        w = w1 + w0
        return np.abs(rel_entr(w1, w) + rel_entr(w0, w)) / np.log(2)

    def link(self, u):
        return logit(_probability(u)) / np.log(2)

    def inverse_link(self, z):
        return expit(np.asarray(z, float) * np.log(2))

    def surrogate(self, z):
        return np.logaddexp2(0, -np.asarray(z, float))

    def published_sensitivity(self, n):
        return 1.0 + (1.0 + np.log(_rows(n) + 1)) / np.log(2)  # Lemma 5 has this upper bound in place of the potential


MATSUSHITA: Final[Loss] = _MAlpha("matsushita", 1.0)
ERROR: Final[Loss] = _MAlpha("error", 0.0)
GINI: Final[Loss] = _Gini("gini")
ENTROPY: Final[Loss] = _Entropy("entropy")


def m_alpha(alpha: float) -> Loss:
    """Return the Mα-loss. Its Bayes risk is alpha times Matsushita's risk plus 1 - alpha times the 0/1 loss's risk.

    Raises
    ------
    ValueError
        If alpha is not from 0 to 1.
    """
    return _MAlpha("m-alpha", alpha)


def partial_loss(alpha: float, y: int, u: ArrayLike) -> Values:
    """Return the Mα-loss of the predicted probability u of the positive class if the true class is y.

    For the positive class, the loss is alpha √((1 - u) / u) + 2 (1 - alpha) e. Here e is 1 if u < 1/2, one half if
    u = 1/2, and 0 if u > 1/2. Definition 6 of the paper differs in two ways: its first factor is 2 alpha, and e is 1 at
    u = 1/2 for both classes. With either difference, the least expected loss would not be `Loss.bayes_risk`.

    Parameters
    ----------
    alpha : float
        Weight of Matsushita's loss, from 0 to 1.
    y : {-1, 1}
        True class; 1 is the positive class.
    u : float or array
        Predicted probability of the positive class.

    Returns
    -------
    float or array
        Loss of each prediction.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    _check_share(alpha)
    if y not in (-1, 1):
        raise ValueError(f"y={y!r} is not a class; the classes are -1 and 1")
    u = _probability(u)
    p_of_class = u if y == 1 else 1 - u
    error = 2 * (1 - alpha) * np.heaviside(0.5 - p_of_class, 0.5)
    if alpha == 0:
        return error
    with np.errstate(divide="ignore"):
        return alpha * np.sqrt((1 - p_of_class) / p_of_class) + error
