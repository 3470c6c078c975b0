"""The contents of the leaves of a forest (labels, noisy counts, or values to add up), and predictions from them.

A prediction takes two steps. First, the numbers in the leaves that a row reaches, one leaf in each tree, are added up
(`summed`). Then `row_shares` turns the sums into class shares, and `decide` turns them into a class.
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

    negative_rule: str = "clamp"  # only `CountLeaves` uses this rule, but the file of every forest has this field

    @property
    @abstractmethod
    def voting(self) -> str:
        """Name of the rule that combines the trees, one of `dpforest.voting.VOTING`."""

    @abstractmethod
    def leaf_shares(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """Return the share of each class in each leaf or, for `ScoreLeaves`, each leaf's addition to the class scores.

        Parameters
        ----------
        n_classes : int
            Number of classes.
        seed : int
            Public seed. If the counts of a leaf carry no information, for example because all are 0, its class is drawn
            from this seed.
        trees : Trees
            The trees that have these leaves.

        Returns
        -------
        float64 array of shape (n_leaves, n_classes)
            Shares, which sum to 1 in each leaf; for `ScoreLeaves`, additions to scores.
        """

    @property
    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays that a file stores, by their keys in the file."""

    def leaf_labels(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """Return the class that each leaf votes for, uint8 (n_leaves,)."""
        return voting.leaf_votes(self.leaf_shares(n_classes, seed, trees))

    def summed(self, n_classes: int, seed: int, trees: Trees | None = None) -> np.ndarray:
        """Return what each leaf adds to the sums of a row that reaches it.

        The result is a label for each leaf, (n_leaves,), if leaves vote, and otherwise a number for each class,
        (n_leaves, n_classes).
        """
        return self.leaf_shares(n_classes, seed, trees)

    def row_shares(self, sums: np.ndarray, n_trees: int) -> np.ndarray:
        """Return the class shares of rows, (n, n_classes), computed from their sums over all trees."""
        return sums / n_trees

    def decide(self, sums: np.ndarray, n_trees: int, coin: np.ndarray | None) -> np.ndarray:
        """Return the predicted class index of each row, int64 (n,).

        The voting rule "probabilistic" also needs a random number in [0, 1) for each row, its `coin`.
        """
        return voting.decide(self.row_shares(sums, n_trees), self.voting, coin)

    def to_file(self) -> dict[str, Any]:
        """Return the fields of a file that hold the leaves, except `voting` and `negative_rule`."""
        return {name: pack(array) for name, array in self.arrays.items()}


@dataclass(frozen=True, eq=False)
class LabelLeaves(Leaves):
    """Leaves that hold one class each. Every tree votes for the class in the leaf that a row reaches.

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
    """Leaves that hold noisy class counts. Shares and votes are computed from these counts, not from the rows.

    Parameters
    ----------
    noisy_counts : int64 or float64 array of shape (n_leaves, n_classes)
        Counts after noise, which may be negative. Counts of a released forest are whole numbers (int64).
    voting : {"majority", "threshold", "probabilistic", "log-odds"}
        "majority": each leaf votes. "threshold": shares are averaged. "probabilistic": a coin draws the class, and the
        probability of a class is its mean share. "log-odds": the log-odds of each class in the leaves are added up
        (`LogOdds`).
    negative_rule : {"clamp", "paper"}
        "clamp": negative counts become 0. "paper": one negative count discards all counts of the leaf.
    log_odds : LogOdds or None
        Parameters of the voting rule "log-odds"; None for other rules.
    numbers : int array of shape (n_leaves,), optional
        Indices of these leaves in their forest. By default, these are all leaves of the forest.
    count_unit : {1, 1024}
        1 if each row adds 1 to a count. 1024 if one person may have several rows (`Domain.unit`): then each row adds a
        weight, and the weights of a person's rows sum to at most 1024.
    """

    noisy_counts: np.ndarray
    voting: str = "majority"
    negative_rule: str = "clamp"
    log_odds: LogOdds | None = None
    numbers: np.ndarray | None = None
    count_unit: int = 1

    @property
    def counts(self) -> np.ndarray:
        """Noisy number of rows, or of persons if `count_unit` is 1024, by leaf and class: (n_leaves, n_classes)."""
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
    """Leaves that hold numbers to add to class scores. The class with the largest score is predicted.

    Parameters
    ----------
    leaf_values : float64 array
        With `class_of_tree` (voting "additive"): the number that each leaf adds to the score of its tree's class, shape
        (n_leaves,). Without `class_of_tree` (voting "clipped-logistic"): the number that each leaf adds to the score of
        each class, shape (n_leaves, n_classes). In this case and with two classes, the array holds only the numbers
        for the second class, shape (n_leaves, 1).
    class_of_tree : int16 array of shape (n_trees,), or None
        Class to whose score each tree adds. With two classes, every tree adds to the second class and subtracts from
        the first.
    alpha_link : float
        α of the Mα-loss, whose link turns scores into shares. This α is above 0 and at most 1, and is used only for
        voting "additive".
    """

    leaf_values: np.ndarray
    class_of_tree: np.ndarray | None = None
    alpha_link: float = 1.0

    @property
    def voting(self) -> str:
        """Rule "additive" (shares by the Mα-loss) or "clipped-logistic" (shares by the clipped logistic loss)."""
        return CLIPPED_LOGISTIC if self.class_of_tree is None else "additive"

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """See `Leaves`."""
        class_arrays = {} if self.class_of_tree is None else {"class_of_tree": self.class_of_tree}
        return {"leaf_values": self.leaf_values, **class_arrays}

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
        """See `Leaves`. The largest score decides, because classes with different scores may have equal shares."""
        return voting.decide(sums, self.voting)

    def to_file(self) -> dict[str, Any]:
        """See `Leaves`."""
        return {**super().to_file(), **({} if self.class_of_tree is None else {"alpha_link": self.alpha_link})}


# ---------------------------------------------------------------- reading

KINDS: Final[dict[str, type[Leaves]]] = {"labels": LabelLeaves, "noisy_counts": CountLeaves, "leaf_values": ScoreLeaves}
_SCORES: Final = ("additive", CLIPPED_LOGISTIC)
_MISMATCH: Final = "its leaves do not fit its voting rule"


def key_of_leaves(content: dict[str, Any], n_leaves: int, n_classes: int) -> tuple[str, tuple[int, ...]]:
    """Return the key of the field in which a file holds its leaves, and the shape of the array in this field.

    Raises
    ------
    ValueError
        If the file has none or several of the keys in `KINDS`, or if other fields do not fit the key.
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
    """Return the leaves of a file. The caller must have checked the file by `key_of_leaves`.

    Parameters
    ----------
    content : dict
        The whole file.
    cells : array
        Array in the field that `key_of_leaves` names.
    class_of_tree : int16 array of shape (n_trees,), or None
        Class of each tree for voting "additive"; None for the other rules.
    n_classes : int
        Number of classes.

    Returns
    -------
    LabelLeaves, CountLeaves or ScoreLeaves
        Leaves of the kind that belongs to the key (`KINDS`).

    Raises
    ------
    ValueError
        If a number is out of range. The message is the end of a sentence, which `forest_file` begins.
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
    if not np.abs(cells).max() <= MAX_LEAF:  # `not <=` also refuses NaN, which `>` would accept
        raise ValueError(f"its leaf values are not numbers from -{MAX_LEAF:,.0f} to {MAX_LEAF:,.0f}")
    if class_of_tree is None:
        return ScoreLeaves(cells)
    alpha = float(content["alpha_link"])
    if class_of_tree.min() < (n_classes == 2) or class_of_tree.max() >= n_classes:
        raise ValueError("the classes that its trees score do not fit its trees and classes")
    if not 0 < alpha <= 1:
        raise ValueError("the α of its link is not a number above 0 and at most 1")
    return ScoreLeaves(cells, class_of_tree, alpha)
