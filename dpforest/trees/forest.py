"""What a fit leaves behind: a forest that predicts, either released or for the curator's eyes only."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpforest import voting
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.tables.domain import Domain
from dpforest.trees import forest_file, routing
from dpforest.trees.forest_file import ForestFormatError as ForestFormatError
from dpforest.trees.layout import Trees
from dpforest.trees.released_scale import ReleasedScale
from dpforest.voting import LogOdds


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
    voting : {"majority", "threshold", "probabilistic", "log-odds", "additive", "clipped-logistic"}
    negative_rule : {"clamp", "paper"}
    seed : int
        Public; shares of silent leaves and coins of probabilistic averaging come from it.
    certificate : Certificate
    ledger : Ledger
    about : dict
        How the forest was made: estimator and public settings.
    leaf_values : float64 array, or None
        What each leaf adds to the score of its tree's class (voting "additive"), of shape (n_leaves,); or to that of
        the second of two classes, (n_leaves, 1), or of each class, (n_leaves, n_classes) ("clipped-logistic").
    class_of_tree : int16 array of shape (n_trees,), or None
        Class whose score a tree adds to; with two classes every tree adds to the second and subtracts from the first.
    alpha_link : float
        α of the link that turns scores into shares (voting "additive").
    notes : tuple of str
        What had to be mended when it was read from a file, a sentence each.
    log_odds : LogOdds or None
        How much leaves are trusted (voting "log-odds").
    scale : ReleasedScale or None
        Where rows lie, as released, which tests were asked by. Predictions have no use for it.
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
    notes: tuple[str, ...] = ()
    log_odds: LogOdds | None = None
    scale: ReleasedScale | None = None

    def __repr__(self) -> str:
        promise = "certified" if self.certificate.certified else "not certified"
        return f"<{type(self).__name__}: {self.trees.n_trees} trees, {self.trees.n_leaves:,} leaves, {promise}>"

    def leaf_shares(self) -> np.ndarray:
        """Class shares that each leaf holds; 0 and 1 where it holds a label.

        Where scores are added up ("additive", "clipped-logistic"): what each leaf adds to the score of each class.

        Returns
        -------
        float64 array of shape (n_leaves, n_classes)
            Columns in the order of ``domain.classes``.
        """
        if self.leaf_values is not None and self.class_of_tree is not None:
            class_of_leaf = np.repeat(self.class_of_tree, np.diff(self.trees.leaf_start))
            return voting.additive_scores(self.leaf_values, class_of_leaf, self.domain.n_classes)
        if self.leaf_values is not None:
            own = self.leaf_values
            return own if own.shape[1] > 1 else np.concatenate([-own, own], axis=1)
        if self.noisy_counts is None:
            return np.eye(self.domain.n_classes)[self.labels]
        if self.log_odds is not None:
            return self.log_odds.shares(self.noisy_counts, self.log_odds.prior(self.noisy_counts))
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
        return self._predict(as_values(X), n_jobs)

    def shares_and_index(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`class_shares` and `predict_index` of rows that are encoded already, routed once.

        Parameters
        ----------
        codes : uint16 array of shape (n, n_features)
            Rows as the domain encodes them.

        Returns
        -------
        shares : float64 array of shape (n, n_classes)
            Share of each class, in the order of ``domain.classes``; rows sum to 1.
        index : int64 array of shape (n,)
            Index of the predicted class in ``domain.classes``.

        Raises
        ------
        ValueError
            If these are not codes of the domain.
        """
        found = self._scores()(routing.check_codes(self.domain, codes))
        return self._shares(found), self._decided(found, codes)

    def predict_codes(self, codes: np.ndarray, *, n_jobs: int = 1) -> np.ndarray:
        """`predict_index` of rows that are encoded already.

        Parameters
        ----------
        codes : uint16 array of shape (n, n_features)
            Rows as the domain encodes them.
        n_jobs : int
            Threads.

        Returns
        -------
        int64 array of shape (n,)
            Index of the predicted class in ``domain.classes``.

        Raises
        ------
        ValueError
            If these are not codes of the domain.
        """
        return self._predict(routing.check_codes(self.domain, codes), n_jobs)

    def _predict(self, X, n_jobs: int) -> np.ndarray:
        out = np.empty(len(X), np.int64)
        scores = self._scores()

        def work(rows: slice, codes: np.ndarray) -> None:  # block by block, as scores take room for every class
            out[rows] = self._decided(scores(codes), codes)

        routing.for_each_block(self.domain, X, work, n_jobs)
        return out

    def predict(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Label predicted for each row.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.
        n_jobs : int
            Threads.

        Returns
        -------
        array of shape (n,)
            Labels as the domain writes its classes.
        """
        return self.domain.class_array[self.predict_index(X, n_jobs=n_jobs)]

    def _decided(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        coin = voting.coins(codes, self.seed) if self.voting == "probabilistic" else None
        are_scores = self.voting in ("additive", voting.CLIPPED_LOGISTIC)
        return voting.decide(scores if are_scores else self._shares(scores), self.voting, coin)

    def _shares(self, scores: np.ndarray) -> np.ndarray:
        if self.voting == "additive":
            return voting.additive_shares(scores, self.alpha_link)
        if self.voting == voting.CLIPPED_LOGISTIC:
            return voting.clipped_logistic_shares(scores)
        if self.log_odds is not None and self.noisy_counts is not None:
            prior = self.log_odds.prior(self.noisy_counts)
            return voting.softmax(voting.log_odds_scores(scores, prior, self.trees.n_trees))
        return scores / self.trees.n_trees

    def _scores(self) -> Callable[[np.ndarray], np.ndarray]:
        """A function from codes to votes, or to sums of shares, of each class."""
        of_leaf = self.leaf_labels() if self.voting == "majority" else self.leaf_shares()
        if self.log_odds is not None and self.noisy_counts is not None:
            of_leaf = self.log_odds.evidence(self.noisy_counts, self.log_odds.prior(self.noisy_counts))
        return routing.scorer(self.trees, self.domain, of_leaf)

    def apply(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Leaf of each row in each tree, numbered over the forest: int32 (n, n_trees)."""
        return routing.leaves_of_rows(self.trees, self.domain, as_values(X), n_jobs=n_jobs).T


@dataclass(frozen=True, eq=False, repr=False)
class CuratorForest(Forest):
    """A forest that must stay with whoever holds the data: a non-private model or a paper's mechanism as published.

    It predicts and can be drawn; it has no export, and it refuses to be mistaken for a release.
    """


@dataclass(frozen=True, eq=False, repr=False)  # also so that its __init__ calls __post_init__, which Forest has not
class ReleasedForest(Forest):
    """A forest made only of what came through the door, with its ledger closed. Can be saved, sent and published.

    Parameters
    ----------
    trees, domain, labels, noisy_counts, voting, negative_rule, seed
        As of `Forest`; counts are whole numbers.
    certificate : Certificate
        States the same ε, δ and neighbor relation as the ledger.
    ledger : Ledger
        Closed.
    about : dict
        How the forest was made: estimator and public settings.
    leaf_values, class_of_tree, alpha_link, notes, log_odds, scale
        As of `Forest`.

    Raises
    ------
    ValueError
        If the ledger is still open, there is no budget behind it, or the certificate says something else.
    """

    def __post_init__(self) -> None:
        if not self.ledger.closed or self.ledger.budget is None:
            raise ValueError("a forest is released only with a closed ledger; this one is still the curator's")
        if self.noisy_counts is not None and self.noisy_counts.dtype != np.int64:
            raise ValueError("released counts are whole numbers; these were not drawn by an exact sampler")
        for values in (self.labels, self.noisy_counts, self.leaf_values, self.class_of_tree):
            if values is not None:
                values.setflags(write=False)
        promise = self.certificate
        if not promise.is_of_budget(self.ledger):
            raise ValueError("the certificate and the ledger speak of different budgets")
        if promise.certified and (self.domain.leaks() or not promise.covers(self.ledger)):
            raise ValueError("the certificate promises what the domain or the ledger contradicts")

    def to_json(self, *, uncertified: bool = False) -> str:
        """The forest as JSON text, as ``docs/FORMAT.md`` describes. Equal forests give equal text.

        Parameters
        ----------
        uncertified : bool
            Write a forest that is not certified as well; its file says why it is not.

        Returns
        -------
        str
            `from_json` reads it back as an equal forest.

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
        return forest_file.written(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> "ReleasedForest":
        """Read what `to_json` wrote, now or in an earlier version.

        Parameters
        ----------
        text : str or bytes
            JSON of the format that ``docs/FORMAT.md`` describes.

        Returns
        -------
        ReleasedForest
            Its `notes` say what had to be mended.

        Raises
        ------
        ForestFormatError
            If the text is not a released forest, was cut short, its parts do not fit together, or it is larger than
            any forest that can be fitted (`dpforest.limits`).
        """
        return forest_file.read(text, cls)

    def to_bytes(self, *, uncertified: bool = False) -> bytes:
        """`to_json`, compressed by gzip: what a file ``.json.gz`` holds. Equal forests give equal bytes.

        Parameters
        ----------
        uncertified : bool
            As of `to_json`.

        Returns
        -------
        bytes
            Without a time stamp in its gzip header.

        Raises
        ------
        ValueError
            As `to_json`.
        """
        return forest_file.compressed(self.to_json(uncertified=uncertified))

    @classmethod
    def from_bytes(cls, data: bytes) -> "ReleasedForest":
        """Read what a file holds, as `to_bytes` or `to_json` wrote it.

        Parameters
        ----------
        data : bytes
            JSON as UTF-8, plain or compressed by gzip.

        Returns
        -------
        ReleasedForest

        Raises
        ------
        ForestFormatError
            As `from_json`.
        """
        return cls.from_json(forest_file.decompressed(data))
