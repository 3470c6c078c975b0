"""The contents of the leaves of a forest (labels, noisy counts, or values to add up), and predictions from them.

A prediction takes two steps. First, the numbers in a row's leaves are summed over all trees (`summed`). Then the sums
become shares and a class (`row_shares`, `decide`).
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from dpforest import voting
from dpforest.limits import MAX_LEAF
from dpforest.trees.layout import Trees
from dpforest.trees.packed_arrays import pack
from dpforest.voting import CLIPPED_LOGISTIC, LogOdds


class Leaves(ABC):
    """Base of all kinds of leaves. Leaves are numbered over the whole forest, tree after tree."""

    negative_rule: str = "clamp"  # only `CountLeaves` uses it, but a file has this field for every forest

    @property
    @abstractmethod
    def voting(self) -> str:
        """Rule that combines trees, one of `dpforest.voting.VOTING`."""

    @abstractmethod
    def leaf_shares(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """Return the share, or score, of each class in each leaf.

        Parameters
        ----------
        n_classes : int
            Number of classes.
        seed : int
            Public seed. The seed determines the classes of leaves without information.
        trees : Trees
            The trees that have these leaves.

        Returns
        -------
        float64 array of shape (n_leaves, n_classes)
            Shares, which sum to 1 in each leaf; for `ScoreLeaves`, each leaf's addition to the scores.
        """

    @property
    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays that a file stores, by their keys in the file."""

    def leaf_labels(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """Return the class that each leaf votes for, uint8 (n_leaves,)."""
        return voting.leaf_votes(self.leaf_shares(n_classes, seed, trees))

    def summed(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """Return what a leaf adds to a row's sums: a label to count (n_leaves,), or numbers (n_leaves, n_classes)."""
        return self.leaf_shares(n_classes, seed, trees)

    def row_shares(self, sums: np.ndarray, n_trees: int) -> np.ndarray:
        """Return class shares of rows from their sums over trees, (n, n_classes)."""
        return sums / n_trees

    def decide(self, sums: np.ndarray, n_trees: int, coin: np.ndarray | None) -> np.ndarray:
        """Return the predicted class index of each row, int64 (n,). Voting "probabilistic" needs a coin in [0, 1)."""
        return voting.decide(self.row_shares(sums, n_trees), self.voting, coin)

    def to_file(self) -> dict[str, Any]:
        """Return the fields of a file that hold the leaves, except `voting` and `negative_rule`."""
        return {name: pack(array) for name, array in self.arrays.items()}


@dataclass(frozen=True, eq=False)
class LabelLeaves(Leaves):
    """Each leaf holds a class, and all trees vote.

    Parameters
    ----------
    labels : uint8 array of shape (n_leaves,)
        Index of the class of each leaf.
    """

    labels: np.ndarray

    @property
    def voting(self) -> str:
        """See `Leaves`."""
        return "majority"

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """See `Leaves`."""
        return {"labels": self.labels}

    def leaf_shares(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """See `Leaves`."""
        return np.eye(n_classes)[self.labels]

    def leaf_labels(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """See `Leaves`."""
        return self.labels

    def summed(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """See `Leaves`."""
        return self.labels


@dataclass(frozen=True, eq=False)
class CountLeaves(Leaves):
    """Each leaf holds noisy class counts. Shares and votes are computed from these counts, without further use of data.

    Parameters
    ----------
    noisy_counts : int64 or float64 array of shape (n_leaves, n_classes)
        Counts after noise, which may be negative. A release has whole numbers.
    voting : {"majority", "threshold", "probabilistic", "log-odds"}
        "majority": each leaf votes. "threshold": shares are averaged. "probabilistic": a coin draws the class, and the
        probability of a class is its mean share. "log-odds": log-odds are added up.
    negative_rule : {"clamp", "paper"}
        "clamp": negative counts become 0. "paper": one negative count discards all counts of the leaf.
    log_odds : LogOdds or None
        Weights of leaves for voting "log-odds"; None for the other rules.
    numbers : int array of shape (n_leaves,), optional
        Numbers of these leaves in their forest, if these are not all leaves of the forest.
    count_unit : {1, 1024}
        What one row adds to a count, or, with a unit of privacy, what one person adds.
    """

    noisy_counts: np.ndarray
    voting: str = "majority"  # type: ignore[misc]
    negative_rule: str = "clamp"
    log_odds: LogOdds | None = None
    numbers: np.ndarray | None = None
    count_unit: int = 1

    @property
    def counts(self) -> np.ndarray:
        """Noisy counts of rows, (n_leaves, n_classes). With a unit of privacy, noisy counts of persons, as float64."""
        return self.noisy_counts if self.count_unit == 1 else self.noisy_counts / self.count_unit

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """See `Leaves`."""
        return {"noisy_counts": self.noisy_counts}

    def leaf_shares(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """See `Leaves`."""
        if self.log_odds is not None:
            return self.log_odds.shares(self.counts, self.log_odds.prior(self.counts))
        return voting.leaf_shares(self.noisy_counts, self.negative_rule, seed, leaves=self.numbers)

    def summed(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """See `Leaves`."""
        if self.log_odds is not None:
            return self.log_odds.evidence(self.counts, self.log_odds.prior(self.counts))
        if self.voting == "majority":
            return self.leaf_labels(n_classes, seed, trees)
        return self.leaf_shares(n_classes, seed, trees)

    def row_shares(self, sums: np.ndarray, n_trees: int) -> np.ndarray:
        """See `Leaves`."""
        if self.log_odds is None:
            return super().row_shares(sums, n_trees)
        return voting.softmax(voting.log_odds_scores(sums, self.log_odds.prior(self.counts), n_trees))

    def to_file(self) -> dict[str, Any]:
        """See `Leaves`."""
        log_odds = {} if self.log_odds is None else {"log_odds": asdict(self.log_odds)}
        unit = {} if self.count_unit == 1 else {"count_unit": self.count_unit}
        return {**super().to_file(), **log_odds, **unit}


@dataclass(frozen=True, eq=False)
class ScoreLeaves(Leaves):
    """Each leaf holds its addition to scores; the class with the largest score is predicted.

    Parameters
    ----------
    leaf_values : float64 array
        With `class_of_tree` (voting "additive"), shape (n_leaves,): each leaf's addition to the score of its tree's
        class. Without `class_of_tree` (voting "clipped-logistic"), each leaf's addition to the score of the second of
        two classes, shape (n_leaves, 1), or to the score of each class, shape (n_leaves, n_classes).
    class_of_tree : int16 array of shape (n_trees,), or None
        Class of each tree, to whose score the tree adds. With two classes, every tree adds to the second class and
        subtracts from the first.
    alpha_link : float
        α of the link that turns scores into shares, above 0 and at most 1; used only for voting "additive".
    """

    leaf_values: np.ndarray
    class_of_tree: np.ndarray | None = None
    alpha_link: float = 1.0

    @property
    def voting(self) -> str:
        """Link that turns scores into shares: "additive" (Mα-loss) or "clipped-logistic" (clipped logistic loss)."""
        return CLIPPED_LOGISTIC if self.class_of_tree is None else "additive"

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """See `Leaves`."""
        of_trees = {} if self.class_of_tree is None else {"class_of_tree": self.class_of_tree}
        return {"leaf_values": self.leaf_values, **of_trees}

    def leaf_shares(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """Return each leaf's addition to the score of each class; see `Leaves`."""
        values = self.leaf_values
        if self.class_of_tree is not None:
            assert trees is not None
            class_of_leaf = np.repeat(self.class_of_tree, np.diff(trees.leaf_start))
            return voting.additive_scores(values, class_of_leaf, n_classes)
        return values if values.shape[1] > 1 else np.concatenate([-values, values], axis=1)

    def row_shares(self, sums: np.ndarray, n_trees: int) -> np.ndarray:
        """See `Leaves`."""
        if self.class_of_tree is not None:
            return voting.additive_shares(sums, self.alpha_link)
        return voting.clipped_logistic_shares(sums)

    def decide(self, sums: np.ndarray, n_trees: int, coin: np.ndarray | None) -> np.ndarray:
        """See `Leaves`. Equal shares may have different scores, so the scores decide."""
        return voting.decide(sums, self.voting)

    def to_file(self) -> dict[str, Any]:
        """See `Leaves`."""
        return {**super().to_file(), **({} if self.class_of_tree is None else {"alpha_link": self.alpha_link})}


# ---------------------------------------------------------------- reading

KINDS: Final[dict[str, type[Leaves]]] = {"labels": LabelLeaves, "noisy_counts": CountLeaves, "leaf_values": ScoreLeaves}
_SCORES: Final = ("additive", CLIPPED_LOGISTIC)
_MISMATCH: Final = "its leaves do not fit its voting rule"


def key_of_leaves(content: dict[str, Any], n_leaves: int, n_classes: int) -> tuple[str, tuple[int, ...]]:
    """Return the key under which a file holds its leaves, and the shape of that array.

    Raises
    ------
    ValueError
        If there is no such key or more than one, or if other fields do not fit the key.
    """
    keys = [name for name in KINDS if name in content]
    if len(keys) != 1:
        raise ValueError("it must have exactly one of labels, noisy counts and leaf values")
    (key,), rule = keys, content["voting"]
    if (rule in _SCORES) != (key == "leaf_values"):
        raise ValueError(_MISMATCH)
    if ("class_of_tree" in content, "alpha_link" in content) != 2 * (rule == "additive",):
        raise ValueError(_MISMATCH)
    if (rule == "log-odds") != ("log_odds" in content) or (rule != "majority" and key == "labels"):
        raise ValueError(_MISMATCH)
    n_scores = 1 if n_classes == 2 else n_classes
    widths = {"noisy_counts": (n_classes,), "leaf_values": (n_scores,) if rule == CLIPPED_LOGISTIC else ()}
    shape = (n_leaves, *widths.get(key, ()))
    if tuple(content[key]["shape"]) != shape:
        raise ValueError(f"its {key.replace('_', ' ')} do not fit its leaves and classes")
    return key, shape


def from_file(
    content: dict[str, Any], cells: np.ndarray, class_of_tree: np.ndarray | None, n_classes: int
) -> LabelLeaves | CountLeaves | ScoreLeaves:
    """Return the leaves of a file whose key `key_of_leaves` checked.

    Parameters
    ----------
    content : dict
        The whole file.
    cells : array
        Array under the key of the leaves.
    class_of_tree : int16 array of shape (n_trees,), or None
        Class of each tree for voting "additive"; None for the other rules.
    n_classes : int
        Number of classes.

    Returns
    -------
    LabelLeaves, CountLeaves or ScoreLeaves
        The kind that the key determines.

    Raises
    ------
    ValueError
        If a number is out of range. The message is the end of a sentence.
    """
    if "labels" in content:
        if cells.max() >= n_classes:
            raise ValueError("its labels do not fit its leaves and classes")
        return LabelLeaves(cells)
    if "noisy_counts" in content:
        weights = content.get("log_odds")
        log_odds = None if weights is None else LogOdds(float(weights["noise_scale"]), float(weights["prior_weight"]))
        counts = cells.astype(np.int64, copy=False)
        count_unit = content.get("count_unit", 1)
        return CountLeaves(counts, content["voting"], content["negative_rule"], log_odds, count_unit=count_unit)
    if not np.abs(cells).max() <= MAX_LEAF:  # this refuses NaN as well
        raise ValueError(f"its leaf values are not numbers from -{MAX_LEAF:,.0f} to {MAX_LEAF:,.0f}")
    if class_of_tree is None:
        return ScoreLeaves(cells)
    alpha = float(content["alpha_link"])
    if class_of_tree.min() < (n_classes == 2) or class_of_tree.max() >= n_classes:
        raise ValueError("the classes that its trees score do not fit its trees and classes")
    if not 0 < alpha <= 1:
        raise ValueError("the α of its link is not a number above 0 and at most 1")
    return ScoreLeaves(cells, class_of_tree, alpha)
