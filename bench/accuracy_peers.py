"""Other people's classifiers, wrapped for `bench/accuracy.py`. Their constructors take ε, a domain and a seed, as ours.

DP-EBM (the private boosting machine of interpret-core) gets the public bounds, and the categories in alphabetical order
(which it calls "nominal"). Before that, the public domain cleans the cells. A number outside of its bounds moves to the
nearest bound. A missing number becomes the middle of the bounds, because DP-EBM accepts no missing numbers. A missing
category becomes a separate category. DP-EBM still reads two things from the rows, because it has no parameters for
them: which categories get a bin, and the number of rows.

AIM and MST of dpmm draw synthetic rows, on which scikit-learn's boosting is then fitted (`synthetic_worker.py`).
diffprivlib's models get numbers that the public bounds scale to [0, 1] (`diffprivlib_worker.py`). Missing cells are
treated as for DP-EBM.
"""

import functools

import numpy as np
import pandas as pd
from processes import Peer
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier

from dpforest.tables.domain import Domain
from dpforest.tables.features import OTHER, Feature, text


@functools.cache
def _worker(contender: str, script: str) -> Peer:
    """Return the process that makes all fits of a peer."""
    return Peer(contender, script)


_ebm = functools.partial(_worker, "DPExplainableBoosting", "ebm_worker.py")
_dpmm = functools.partial(_worker, "dpmm", "synthetic_worker.py")
_diffprivlib = functools.partial(_worker, "diffprivlib, linear", "diffprivlib_worker.py")


def _column(feature: Feature, cells: pd.Series) -> np.ndarray:
    """Return a column as numbers (NaN if missing) or texts, after the public domain has cleaned its cells."""
    if feature.kind == "numeric":
        return np.clip(pd.to_numeric(cells).to_numpy(float, na_value=np.nan), feature.low, feature.high)
    categories = set(feature.categories)
    return np.array([t if (t := text(cell)) in categories else OTHER for cell in cells])


def _categories(feature: Feature) -> list[str]:
    """Return the categories, and one more if the public domain expects missing cells."""
    return [*feature.categories, *([OTHER] if feature.missing == "category" else [])]


def _category_codes(feature: Feature, cells: np.ndarray) -> np.ndarray:
    """Return the indices of cells in `_categories`; 0 for a cell that the domain does not expect."""
    index = {category: i for i, category in enumerate(_categories(feature))}
    return np.array([index.get(cell, 0) for cell in cells])


class _Peer(BaseEstimator):
    domain: Domain

    def _columns(self, X: pd.DataFrame) -> list[np.ndarray]:
        return [_column(feature, X[feature.name]) for feature in self.domain.features]

    def _filled(self, X: pd.DataFrame) -> list[np.ndarray]:
        columns = zip(self.domain.features, self._columns(X), strict=True)
        return [np.where(np.isnan(c), (f.low + f.high) / 2, c) if f.kind == "numeric" else c for f, c in columns]

    def _codes(self, y: np.ndarray) -> np.ndarray:
        index = {text(c): i for i, c in enumerate(self.domain.classes)}
        return np.array([index[text(label)] for label in y])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return the class with the largest share for each row."""
        return np.array(self.domain.classes)[self.predict_proba(X).argmax(axis=1)]


class ExplainableBoosting(_Peer):
    """interpret-core's DPExplainableBoostingClassifier, (ε, δ)-private by its Gaussian accounting."""

    def __init__(self, epsilon=1.0, domain=None, random_state=0, delta=1e-6, learning_rate=0.01):
        self.epsilon = epsilon
        self.domain = domain
        self.random_state = random_state
        self.delta = delta
        self.learning_rate = learning_rate

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "ExplainableBoosting":
        """Fit in the worker process, which keeps only the last model."""
        features = self.domain.features
        domains = [(f.low, f.high) if f.kind == "numeric" else sorted([*f.categories, OTHER]) for f in features]
        _ebm().ask(
            "fit",
            X=self._filled(X),
            y=self._codes(y),
            n_classes=len(self.domain.classes),
            domains=domains,
            epsilon=self.epsilon,
            delta=self.delta,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
        )
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the shares of the classes."""
        return _ebm().ask("shares", X=self._filled(X))


class HistGradientBoosting(_Peer):
    """scikit-learn's classifier with default settings. It has no privacy, whatever ε is."""

    def __init__(self, epsilon=np.inf, domain=None, random_state=0):
        self.epsilon = epsilon
        self.domain = domain
        self.random_state = random_state

    def _frame(self, X: pd.DataFrame) -> pd.DataFrame:
        columns = zip(self.domain.features, self._columns(X), strict=True)
        return pd.DataFrame(
            {
                f.name: c if f.kind == "numeric" else pd.Categorical(c, categories=[*f.categories, OTHER])
                for f, c in columns
            }
        )

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "HistGradientBoosting":
        """Fit without privacy."""
        self.model_ = HistGradientBoostingClassifier(random_state=self.random_state)
        self.model_.fit(self._frame(X), self._codes(y))
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the shares of the classes; 0 for classes without a training row."""
        shares = np.zeros((len(X), len(self.domain.classes)))
        shares[:, self.model_.classes_] = self.model_.predict_proba(self._frame(X))
        return shares


class SyntheticBoosting(_Peer):
    """scikit-learn's boosting, fitted on as many rows of dpmm's AIM or MST as there are rows; (ε, δ)-private.

    The synthetic rows consist of codes of categories and bins. The bins have equal widths between the public bounds, or
    are PrivTree's, which a tenth of ε pays for.
    """

    def __init__(
        self,
        epsilon=1.0,
        domain=None,
        random_state=0,
        delta=1e-6,
        mechanism="AIM",
        n_bins=16,
        private_bins=False,
        max_model_size=None,
    ):
        self.epsilon = epsilon
        self.domain = domain
        self.random_state = random_state
        self.delta = delta
        self.mechanism = mechanism
        self.n_bins = n_bins
        self.private_bins = private_bins
        self.max_model_size = max_model_size

    def _cells(self, X: pd.DataFrame) -> list[np.ndarray]:
        """Return numbers as they are, and categories as codes."""
        columns = zip(self.domain.features, self._filled(X), strict=True)
        return [c if f.kind == "numeric" else _category_codes(f, c) for f, c in columns]

    def _binned(self, X: pd.DataFrame) -> np.ndarray:
        columns = zip(self._cells(X), self.edges_, strict=True)
        return np.stack([c if e is None else np.searchsorted(e[1:-1], c, side="right") for c, e in columns], axis=1)

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "SyntheticBoosting":
        """Draw synthetic rows in the worker process, and fit on them."""
        features = self.domain.features
        edges, rows = _dpmm().ask(
            "draw",
            columns=[*self._cells(X), self._codes(y)],
            sizes=[
                *((f.low, f.high, f.integer) if f.kind == "numeric" else len(_categories(f)) for f in features),
                len(self.domain.classes),
            ],
            mechanism=self.mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            n_bins=self.n_bins,
            private_bins=self.private_bins,
            max_model_size=self.max_model_size,
            random_state=self.random_state,
        )
        self.edges_ = edges[:-1]
        is_category = [f.kind == "categorical" for f in features]
        self.model_ = HistGradientBoostingClassifier(categorical_features=is_category, random_state=self.random_state)
        self.model_.fit(rows[:, :-1], rows[:, -1])
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the shares of the classes; 0 for classes without a synthetic row."""
        shares = np.zeros((len(X), len(self.domain.classes)))
        shares[:, self.model_.classes_] = self.model_.predict_proba(self._binned(X))
        return shares


class Diffprivlib(_Peer):
    """diffprivlib's logistic regression or Gaussian naive Bayes, ε-private."""

    def __init__(self, epsilon=1.0, domain=None, random_state=0, model="logistic regression", one_hot=True, C=1.0):
        self.epsilon = epsilon
        self.domain = domain
        self.random_state = random_state
        self.model = model
        self.one_hot = one_hot
        self.C = C

    def _scaled(self, X: pd.DataFrame) -> np.ndarray:
        """Return numbers and codes of categories between 0 and 1, or one column with 0 and 1 for each category."""
        columns = []
        for feature, cells in zip(self.domain.features, self._filled(X), strict=True):
            if feature.kind == "numeric":
                columns.append((cells - feature.low)[:, None] / (feature.high - feature.low))
                continue
            codes, n_categories = _category_codes(feature, cells), len(_categories(feature))
            columns.append(np.eye(n_categories)[codes] if self.one_hot else codes[:, None] / max(1, n_categories - 1))
        return np.concatenate(columns, axis=1)

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Diffprivlib":
        """Fit in the worker process, which keeps only the last model."""
        scaled = self._scaled(X)
        _diffprivlib().ask(
            "fit",
            model=self.model,
            X=scaled,
            y=self._codes(y),
            n_classes=len(self.domain.classes),
            epsilon=self.epsilon,
            norm=len(self.domain.features) ** 0.5,
            bounds=(np.zeros(scaled.shape[1]), np.ones(scaled.shape[1])),
            C=self.C,
            random_state=self.random_state,
        )
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the shares of the classes; 0 for classes without a training row."""
        return _diffprivlib().ask("shares", X=self._scaled(X))


PEERS = {
    "DP-EBM": ExplainableBoosting,
    "DP-EBM, rate .05": functools.partial(ExplainableBoosting, learning_rate=0.05),
    "HistGradientBoosting": HistGradientBoosting,
}
# Names are "rival, setting": for each table and ε, docs/ACCURACY.md has the best setting of each rival.
RIVALS = {
    **{
        f"{mechanism} + boosting, {n} bins": functools.partial(
            SyntheticBoosting, mechanism=mechanism, n_bins=n, max_model_size=size
        )
        for mechanism, size in (("AIM", 1.0), ("MST", None))
        for n in (8, 16, 32)
    },
    **{
        f"{mechanism} + boosting, PrivTree": functools.partial(
            SyntheticBoosting, mechanism=mechanism, n_bins=32, private_bins=True, max_model_size=size
        )
        for mechanism, size in (("AIM", 1.0), ("MST", None))
    },
    **{f"logistic regression, C = {c:g}": functools.partial(Diffprivlib, C=c) for c in (0.001, 0.01, 1.0, 100.0)},
    "naive Bayes, one-hot": functools.partial(Diffprivlib, model="naive Bayes"),
    "naive Bayes, codes": functools.partial(Diffprivlib, model="naive Bayes", one_hot=False),
}
NOT_PRIVATE = ("HistGradientBoosting",)
