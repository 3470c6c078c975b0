"""The result of a fit: a forest that predicts. It is released, or it stays with the curator, who holds the data."""

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
from dpforest.trees.leaves import CountLeaves, LabelLeaves, ScoreLeaves
from dpforest.trees.released_scale import ReleasedScale


def as_values(X: Any) -> Any:
    """Return a user's table. A uint16 array becomes uint32, because internal functions read a uint16 array as codes."""
    return X.astype(np.uint32) if isinstance(X, np.ndarray) and X.dtype == np.uint16 else X


@dataclass(frozen=True, eq=False)
class Forest:
    """A fitted forest: its trees, the contents of their leaves, and the public facts about the fit.

    Parameters
    ----------
    trees : Trees
        Tests of all trees.
    domain : Domain
        Public schema. All columns of class shares are in the order of its classes.
    leaves : LabelLeaves, CountLeaves or ScoreLeaves
        Contents of the leaves, and the rule by which predictions follow from them.
    seed : int
        Public seed. The classes of leaves without information, for example without rows, are drawn from this seed. The
        random numbers of the voting rule "probabilistic" are also drawn from it.
    certificate : Certificate
        The privacy promise of the fit, and its assumptions.
    ledger : Ledger
        The queries that the fit made to the rows, and the cost of each query.
    about : dict
        Estimator and public settings that made the forest.
    notes : tuple of str
        Sentences about repairs that were made when the forest was read from a file.
    scale : ReleasedScale or None
        Released distributions of the numeric attributes, from which thresholds were drawn; None if the fit released
        none. Predictions do not use them.
    """

    trees: Trees
    domain: Domain
    leaves: LabelLeaves | CountLeaves | ScoreLeaves
    seed: int
    certificate: Certificate
    ledger: Ledger
    about: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    scale: ReleasedScale | None = None

    def __repr__(self) -> str:
        promise = "certified" if self.certificate.certified else "not certified"
        return f"<{type(self).__name__}: {self.trees.n_trees} trees, {self.trees.n_leaves:,} leaves, {promise}>"

    @property
    def voting(self) -> str:
        """Voting rule: "majority", "threshold", "probabilistic", "log-odds", "additive" or "clipped-logistic"."""
        return self.leaves.voting

    def leaf_shares(self) -> np.ndarray:
        """Return the class shares of each leaf. A leaf with a label has share 1 for its label and 0 for other classes.

        For the voting rules "additive" and "clipped-logistic", return each leaf's addition to the score of each class.

        Returns
        -------
        float64 array of shape (n_leaves, n_classes)
            Shares, or additions to scores, with columns in the order of ``domain.classes``.
        """
        return self.leaves.leaf_shares(self.domain.n_classes, self.seed, self.trees)

    def leaf_labels(self) -> np.ndarray:
        """Return the class that each leaf votes for, uint8 (n_leaves,)."""
        return self.leaves.leaf_labels(self.domain.n_classes, self.seed, self.trees)

    def class_shares(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Return each row's class shares, float64 (n, n_classes), as the voting rule defines them; rows sum to 1."""
        X, out = as_values(X), np.empty((len(X), self.domain.n_classes))
        scores = self._scorer()

        def work(rows: slice, codes: np.ndarray) -> None:
            out[rows] = self.leaves.row_shares(scores(codes), self.trees.n_trees)

        routing.for_each_block(self.domain, X, work, n_jobs)
        return out

    def predict_index(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Return the index in ``domain.classes`` predicted for each row, int64 (n,)."""
        return self._predict(as_values(X), n_jobs)

    def shares_and_index(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the results of `class_shares` and `predict_index` for encoded rows, which are routed only once.

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
            If the values are not codes of the domain.
        """
        sums = self._scorer()(routing.check_codes(self.domain, codes))
        return self.leaves.row_shares(sums, self.trees.n_trees), self._decide(sums, codes)

    def predict_codes(self, codes: np.ndarray, *, n_jobs: int = 1) -> np.ndarray:
        """Return the result of `predict_index` for encoded rows.

        Parameters
        ----------
        codes : uint16 array of shape (n, n_features)
            Rows as the domain encodes them.
        n_jobs : int
            Number of threads.

        Returns
        -------
        int64 array of shape (n,)
            Index of the predicted class in ``domain.classes``.

        Raises
        ------
        ValueError
            If the values are not codes of the domain.
        """
        return self._predict(routing.check_codes(self.domain, codes), n_jobs)

    def _predict(self, X, n_jobs: int) -> np.ndarray:
        out = np.empty(len(X), np.int64)
        scores = self._scorer()

        # `work` handles one block of rows at a time, because the scores of all rows would take too much memory.
        def work(rows: slice, codes: np.ndarray) -> None:
            out[rows] = self._decide(scores(codes), codes)

        routing.for_each_block(self.domain, X, work, n_jobs)
        return out

    def predict(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Return the label predicted for each row.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.
        n_jobs : int
            Number of threads.

        Returns
        -------
        array of shape (n,)
            Labels in the domain's spelling of its classes.
        """
        return self.domain.class_array[self.predict_index(X, n_jobs=n_jobs)]

    def _decide(self, sums: np.ndarray, codes: np.ndarray) -> np.ndarray:
        coin = voting.coins(codes, self.seed) if self.voting == "probabilistic" else None
        return self.leaves.decide(sums, self.trees.n_trees, coin)

    def _scorer(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that maps codes to sums over the leaves that each row reaches, (n, n_classes)."""
        summed = self.leaves.summed(self.domain.n_classes, self.seed, self.trees)
        return routing.scorer(self.trees, self.domain, summed)

    def apply(self, X, *, n_jobs: int = 1) -> np.ndarray:
        """Return the index, over all leaves of the forest, of each row's leaf in each tree: int32 (n, n_trees)."""
        return routing.leaves_of_rows(self.trees, self.domain, as_values(X), n_jobs=n_jobs).T


@dataclass(frozen=True, eq=False, repr=False)
class CuratorForest(Forest):
    """A forest that must stay with the holder of the data: a non-private model or a published mechanism of a paper.

    Such a forest can predict and can be plotted. It has no export, so that nobody mistakes the forest for a release.
    """


# Without this decorator, `ReleasedForest` would inherit the __init__ of `Forest`, which does not call __post_init__.
@dataclass(frozen=True, eq=False, repr=False)
class ReleasedForest(Forest):
    """A forest whose parts are public or released by `dpforest.privacy`. It can be saved, sent and published.

    Parameters
    ----------
    trees, domain, leaves, seed
        As in `Forest`. If leaves hold counts, the counts are whole numbers (int64).
    certificate : Certificate
        Certificate with the ε, δ and neighbor relation of the ledger.
    ledger : Ledger
        The closed ledger of the fit.
    about, notes, scale
        As in `Forest`.

    Raises
    ------
    ValueError
        If the ledger is open or has no budget, if counts are not whole, or if the certificate contradicts the ledger or
        the domain.
    """

    def __post_init__(self) -> None:
        if not self.ledger.closed or self.ledger.budget is None:
            raise ValueError(
                "a forest is released only with a closed ledger with a budget; this forest must stay with the curator"
            )
        if isinstance(self.leaves, CountLeaves) and self.leaves.noisy_counts.dtype != np.int64:
            raise ValueError("released counts are whole numbers; these were not drawn by an exact sampler")
        for array in self.leaves.arrays.values():
            array.setflags(write=False)
        promise = self.certificate
        if not promise.is_of_budget(self.ledger):
            raise ValueError("the certificate and the ledger have different budgets")
        if promise.certified and (self.domain.leaks() or not promise.covers(self.ledger)):
            raise ValueError("the certificate promises more than the domain or the ledger allows")

    def to_json(self, *, uncertified: bool = False) -> str:
        """Return the forest as JSON text, as ``docs/FORMAT.md`` describes. Equal forests give equal text.

        Parameters
        ----------
        uncertified : bool
            Whether to write a forest even if it is not certified. The file then states why it is not certified.

        Returns
        -------
        str
            JSON text. `from_json` reads it back as an equal forest.

        Raises
        ------
        ValueError
            If the forest is not certified and `uncertified` is False.
        """
        if not self.certificate.certified and not uncertified:
            raise ValueError(
                f"This forest is not certified: {self.certificate.reasons[0]} Remove the cause and fit "
                "again, or write the forest anyway with to_json(uncertified=True)."
            )
        return forest_file.written(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> "ReleasedForest":
        """Read the text that `to_json` of this or an earlier version wrote.

        Parameters
        ----------
        text : str or bytes
            JSON of the format that ``docs/FORMAT.md`` describes.

        Returns
        -------
        ReleasedForest
            The forest. Its `notes` list the repairs that were made while reading.

        Raises
        ------
        ForestFormatError
            If the text is not a released forest, is cut short, has parts that do not fit together, or is larger than
            any forest that can be fitted (`dpforest.limits`).
        """
        return forest_file.read(text, cls)

    def to_bytes(self, *, uncertified: bool = False) -> bytes:
        """Return `to_json` compressed by gzip, the content of a file ``.json.gz``. Equal forests give equal bytes.

        Parameters
        ----------
        uncertified : bool
            As in `to_json`.

        Returns
        -------
        bytes
            Gzip data whose header has no time stamp.

        Raises
        ------
        ValueError
            As in `to_json`.
        """
        return forest_file.compressed(self.to_json(uncertified=uncertified))

    @classmethod
    def from_bytes(cls, data: bytes) -> "ReleasedForest":
        """Read the content of a file that `to_bytes` or `to_json` wrote.

        Parameters
        ----------
        data : bytes
            JSON as UTF-8, plain or compressed by gzip.

        Returns
        -------
        ReleasedForest
            The forest, as `from_json` returns it.

        Raises
        ------
        ForestFormatError
            As in `from_json`.
        """
        return cls.from_json(forest_file.decompressed(data))
