"""Other people's classifiers, wrapped for `bench/accuracy.py`. Their constructors take ε, a domain and a seed, as ours.

DP-EBM (the private boosting machine of interpret-core) gets the public bounds, and the categories in alphabetical order
(which it calls "nominal"). Before that, the public domain cleans the cells. A number outside of its bounds moves to the
nearest bound. A missing number becomes the middle of the bounds, because DP-EBM accepts no missing numbers. A missing
category becomes a separate category. DP-EBM still reads two things from the rows, because it has no parameters for
them: which categories get a bin, and the number of rows.
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
def _ebm() -> Peer:
    """Return the process that makes all fits of DP-EBM."""
    return Peer("DPExplainableBoosting", "ebm_worker.py")


def _column(feature: Feature, cells: pd.Series) -> np.ndarray:
    """Return a column as numbers (NaN if missing) or texts, after the public domain has cleaned its cells."""
    if feature.kind == "numeric":
        return np.clip(pd.to_numeric(cells).to_numpy(float, na_value=np.nan), feature.low, feature.high)
    categories = set(feature.categories)
    return np.array([t if (t := text(cell)) in categories else OTHER for cell in cells])


class _Peer(BaseEstimator):
    domain: Domain

    def _columns(self, X: pd.DataFrame) -> list[np.ndarray]:
        return [_column(feature, X[feature.name]) for feature in self.domain.features]

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

    def _filled(self, X: pd.DataFrame) -> list[np.ndarray]:
        columns = zip(self.domain.features, self._columns(X), strict=True)
        return [np.where(np.isnan(c), (f.low + f.high) / 2, c) if f.kind == "numeric" else c for f, c in columns]

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


PEERS = {
    "DP-EBM": ExplainableBoosting,
    "DP-EBM, rate .05": functools.partial(ExplainableBoosting, learning_rate=0.05),
    "HistGradientBoosting": HistGradientBoosting,
}
NOT_PRIVATE = ("HistGradientBoosting",)
