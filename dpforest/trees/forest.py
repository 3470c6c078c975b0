"""What a fit leaves behind: a forest that predicts, either released or for the curator's eyes only."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpforest import voting
from dpforest.domain import Domain
from dpforest.limits import GRID, MAX_DEPTH
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.trees import routing
from dpforest.trees.layout import Trees

FORMAT = "dpforest released forest"
FORMAT_VERSION = 1


class ForestFormatError(ValueError):
    """A file that is not a released forest, or one that was damaged."""


def as_values(X: Any) -> Any:
    """A table from outside; 16-bit numbers become wider ones, because further inside they are taken for codes."""
    return X.astype(np.uint32) if isinstance(X, np.ndarray) and X.dtype == np.uint16 else X


@dataclass(frozen=True, eq=False)
class Forest:
    """A fitted forest: trees, what each leaf says, and how trees are combined.

    Parameters
    ----------
    trees : Trees
    domain : Domain
        Public schema, with the classes in the order of the columns below.
    labels : uint8 array of shape (n_leaves,), or None
        One class index a leaf. One of this, `noisy_counts` and `leaf_values` is given.
    noisy_counts : int64 or float64 array of shape (n_leaves, n_classes), or None
        Counts after noise. Shares and votes follow from them without touching data again.
    voting : {"majority", "threshold", "probabilistic", "additive"}
    negative_rule : {"clamp", "paper"}
    seed : int
        Public; shares of silent leaves and coins of probabilistic averaging come from it.
    leaf_values : float64 array of shape (n_leaves,), or None
        What each leaf adds to the score of its tree's class (voting "additive").
    class_of_tree : int16 array of shape (n_trees,), or None
        Class whose score a tree adds to; with two classes every tree adds to the second and subtracts from the first.
    alpha_link : float
        α of the link that turns scores into shares (voting "additive").
    """

    trees: Trees
    domain: Domain
    labels: np.ndarray | None
    noisy_counts: np.ndarray | None
    voting: str
    negative_rule: str
    seed: int
    certificate: Certificate
    ledger: Ledger
    about: dict[str, Any] = field(default_factory=dict)
    leaf_values: np.ndarray | None = None
    class_of_tree: np.ndarray | None = None
    alpha_link: float = 1.0

    def leaf_shares(self) -> np.ndarray:
        """Class shares that each leaf holds, float64 (n_leaves, n_classes); 0 and 1 where it holds a label.

        Where votes are "additive": what each leaf adds to the score of each class.
        """
        if self.leaf_values is not None:
            class_of_leaf = np.repeat(self.class_of_tree, np.diff(self.trees.leaf_start))
            return voting.additive_scores(self.leaf_values, class_of_leaf, self.domain.n_classes)
        if self.noisy_counts is None:
            return np.eye(self.domain.n_classes)[self.labels]
        return voting.leaf_shares(self.noisy_counts, self.negative_rule, self.seed)

    def leaf_labels(self) -> np.ndarray:
        """Class that each leaf votes for, uint8 (n_leaves,)."""
        return self.labels if self.labels is not None else voting.leaf_votes(self.leaf_shares())

    def class_shares(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Share of each class for each row, float64 (n, n_classes): of the votes, or mean over the leaves."""
        X, out = as_values(X), np.empty((len(X), self.domain.n_classes))
        scores = self._scores()

        def work(rows: slice, codes: np.ndarray) -> None:
            out[rows] = self._shares(scores(codes))

        routing.for_each_block(self.domain, X, work, n_jobs)
        return out

    def predict_index(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Index in ``domain.classes`` predicted for each row, int64 (n,)."""
        X, out = as_values(X), np.empty(len(X), np.int64)
        scores = self._scores()

        def work(rows: slice, codes: np.ndarray) -> None:  # block by block, as scores take room for every class
            coin = voting.coins(codes, self.seed) if self.voting == "probabilistic" else None
            found = scores(codes)
            out[rows] = voting.decide(found if self.voting == "additive" else self._shares(found), self.voting, coin)

        routing.for_each_block(self.domain, X, work, n_jobs)
        return out

    def predict(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Label predicted for each row of a table or array (n, n_features)."""
        return np.asarray(self.domain.classes)[self.predict_index(X, n_jobs=n_jobs)]

    def _shares(self, scores: np.ndarray) -> np.ndarray:
        if self.voting == "additive":
            return voting.additive_shares(scores, self.alpha_link)
        return scores / self.trees.n_trees

    def _scores(self) -> Callable[[np.ndarray], np.ndarray]:
        """A function from codes to votes, or to sums of shares, of each class."""
        majority = self.voting == "majority"
        of_leaf = self.leaf_labels() if majority else self.leaf_shares()
        return routing.scorer(self.trees, self.domain, of_leaf)

    def apply(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Leaf of each row in each tree, numbered over the forest: int32 (n, n_trees)."""
        return routing.leaves_of_rows(self.trees, self.domain, as_values(X), n_jobs=n_jobs).T


@dataclass(frozen=True, eq=False)
class CuratorForest(Forest):
    """A forest that must stay with whoever holds the data: a non-private twin or a paper's mechanism as published.

    It predicts and can be drawn; it has no export, and it refuses to be mistaken for a release.
    """


@dataclass(frozen=True, eq=False)  # also so that its __init__ calls __post_init__, which Forest has not
class ReleasedForest(Forest):
    """A forest made only of what came through the door, with its ledger closed. Can be saved, sent and published.

    Raises
    ------
    ValueError
        If the ledger is still open, there is no budget behind it, or the certificate says something else.
    """

    _ARRAYS: ClassVar = {"kind": "u1", "feature": "<i4", "threshold": "<i4", "first_child": "<i4", "tree_start": "<i8"}

    def __post_init__(self) -> None:
        if not self.ledger.closed or self.ledger.epsilon is None:
            raise ValueError("a forest is released only with a closed ledger; this one is still the curator's")
        if self.noisy_counts is not None and self.noisy_counts.dtype != np.int64:
            raise ValueError("released counts are whole numbers; these were not drawn by an exact sampler")
        for values in (self.labels, self.noisy_counts, self.leaf_values, self.class_of_tree):
            if values is not None:
                values.setflags(write=False)
        promise = self.certificate
        if (promise.epsilon, promise.neighbours) != (self.ledger.epsilon, self.ledger.neighbours):
            raise ValueError("the certificate and the ledger speak of different budgets")
        if promise.certified and (self.domain.leaks() or promise.true_epsilon < float(self.ledger.spent)):
            raise ValueError("the certificate promises what the domain or the ledger contradicts")

    def to_json(self, *, uncertified: bool = False) -> str:
        """The forest as JSON text, as ``docs/FORMAT.md`` describes. Equal forests give equal text.

        Parameters
        ----------
        uncertified : bool
            Write a forest that is not certified as well; its file says why it is not.

        Raises
        ------
        ValueError
            If the forest is not certified and that was not asked for.
        """
        if not self.certificate.certified and not uncertified:
            raise ValueError(
                f"This forest is not certified: {self.certificate.reasons[0]} Mend that and fit again, or write it all "
                "the same with to_json(uncertified=True)."
            )
        if self.labels is not None:
            values = {"labels": _packed(self.labels, "u1")}
        elif self.noisy_counts is not None:
            values = {"noisy_counts": _packed(self.noisy_counts, "<i8")}
        else:
            values = {
                "leaf_values": _packed(self.leaf_values, "<f8"),
                "class_of_tree": _packed(self.class_of_tree, "<i2"),
                "alpha_link": self.alpha_link,
            }
        return json.dumps(
            {
                "format": FORMAT,
                "version": FORMAT_VERSION,
                "about": self.about,
                "certificate": self.certificate.to_dict(),
                "ledger": self.ledger.to_dict(),
                "domain": self.domain.to_dict(),
                "voting": self.voting,
                "negative_rule": self.negative_rule,
                "seed": self.seed,
                "depth": self.trees.depth,
                "trees": {name: _packed(getattr(self.trees, name), kind) for name, kind in self._ARRAYS.items()},
                **values,
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> "ReleasedForest":
        """Read what `to_json` wrote.

        Raises
        ------
        ForestFormatError
            If the text is not a released forest, was cut short, or its parts do not fit together.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise ForestFormatError("This is not a released forest: the file is not JSON.") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ForestFormatError("This is JSON, but not a released forest of dpforest.")
        if content.get("version") != FORMAT_VERSION:
            raise ForestFormatError(
                f"This forest has format version {content.get('version')!r}; this dpforest reads version "
                f"{FORMAT_VERSION}. Use the dpforest that wrote it."
            )
        try:
            return cls._from_content(content)
        except ForestFormatError:
            raise
        except KeyError as error:
            raise ForestFormatError(f"This released forest is damaged: {error} is missing.") from None
        except Exception as error:
            raise ForestFormatError(f"This released forest is damaged: {_one_line(error)}.") from None

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> "ReleasedForest":
        arrays = {name: _unpacked(content["trees"][name], kind) for name, kind in cls._ARRAYS.items()}
        trees = Trees(**arrays, depth=int(content["depth"]))
        if any(array.ndim != 1 for array in arrays.values()) or not 0 <= trees.depth <= MAX_DEPTH:
            raise ForestFormatError("This released forest is damaged: its trees have a shape that no forest has.")
        domain = Domain.from_dict(content["domain"])
        if not domain.classes:
            raise ForestFormatError("This released forest is damaged: its domain has no classes.")
        trees.check(np.array([f.n_codes if f.kind == "categorical" else GRID for f in domain.features]))
        labels = _unpacked(content["labels"], "u1") if "labels" in content else None
        counts = _unpacked(content["noisy_counts"], "<i8") if "noisy_counts" in content else None
        leaf_values = _unpacked(content["leaf_values"], "<f8") if "leaf_values" in content else None
        class_of_tree = _unpacked(content["class_of_tree"], "<i2") if "class_of_tree" in content else None
        if sum(given is not None for given in (labels, counts, leaf_values)) != 1:
            raise ForestFormatError(
                "This released forest is damaged: it needs labels, noisy counts or leaf values, one of them."
            )
        if (content["voting"] == "additive") != (leaf_values is not None):
            raise ForestFormatError("This released forest is damaged: its leaves do not fit its way of voting.")
        alpha_link = float(content.get("alpha_link", 1.0))
        if leaf_values is not None:
            if (
                leaf_values.shape != (trees.n_leaves,)
                or not np.isfinite(leaf_values).all()
                or class_of_tree is None
                or class_of_tree.shape != (trees.n_trees,)
                or class_of_tree.min() < 0
                or class_of_tree.max() >= domain.n_classes
                or not 0 < alpha_link <= 1
            ):
                raise ForestFormatError("This released forest is damaged: its leaf values do not fit its trees.")
        if labels is not None and (labels.shape != (trees.n_leaves,) or labels.max() >= domain.n_classes):
            raise ForestFormatError("This released forest is damaged: its labels do not fit its leaves and classes.")
        if counts is not None and counts.shape != (trees.n_leaves, domain.n_classes):
            raise ForestFormatError("This released forest is damaged: its counts do not fit its leaves and classes.")
        if content["voting"] not in voting.VOTING:
            raise ForestFormatError(f"This released forest is damaged: voting {content['voting']!r} is not known.")
        if content["negative_rule"] not in voting.NEGATIVE_RULES:
            raise ForestFormatError("This released forest is damaged: its rule for negative counts is not known.")
        certificate, ledger = Certificate.from_dict(content["certificate"]), Ledger.from_dict(content["ledger"])
        texts = [certificate.mechanism, *certificate.assumptions, *certificate.reasons]
        texts += [text for entry in ledger.entries for text in (entry.what, entry.mechanism)]
        if not all(isinstance(text, str) for text in texts):
            raise ForestFormatError("This released forest is damaged: what it says about privacy is not all text.")
        return cls(
            trees,
            domain,
            labels,
            counts,
            content["voting"],
            content["negative_rule"],
            int(content["seed"]),
            certificate,
            ledger,
            dict(content["about"]),
            leaf_values,
            class_of_tree,
            alpha_link,
        )


def _packed(array: np.ndarray, dtype: str) -> dict[str, Any]:
    data = np.ascontiguousarray(array, dtype=dtype)
    return {"dtype": dtype, "shape": list(data.shape), "base64": base64.b64encode(data.tobytes()).decode("ascii")}


def _unpacked(entry: dict[str, Any], dtype: str) -> np.ndarray:
    if entry["dtype"] != dtype:
        raise ForestFormatError(f"This released forest is damaged: an array should have the type {dtype}.")
    data = np.frombuffer(base64.b64decode(entry["base64"], validate=True), dtype=dtype)
    if any(length < 0 for length in entry["shape"]):
        raise ForestFormatError("This released forest is damaged: an array has a negative length.")
    return data.reshape(entry["shape"]).astype(np.dtype(dtype).newbyteorder("="))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
