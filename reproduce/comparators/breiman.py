"""Breiman's random forest by scikit-learn, with the settings of the multinomial paper's table 1."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from reproduce.comparators.base import Comparator


@dataclass
class BreimanForest(Comparator):
    """L. Breiman, *Random forests* (2001): a bootstrap for each tree, and the best cut of √D features at each node.

    scikit-learn gets the numbers as integer codes, and a column of 0 and 1 for each category. The number of candidate
    columns of a node is the square root of the number of columns. Each leaf holds at least k different rows of the
    bootstrap; a row that is drawn twice counts once. The forest averages the class shares in the leaves of its trees.

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> data = load_dataset("zoo")
    >>> forest = BreimanForest(data.domain).fit(data.X, data.y)
    >>> float((forest.predict(data.X) == data.y.to_numpy()).mean()) > 0.8
    True
    """

    model: Pipeline = field(init=False, repr=False)

    def _grow(self, codes: np.ndarray, y: np.ndarray) -> None:
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", dtype=np.float32), np.flatnonzero(self.is_categorical).tolist()),
            remainder="passthrough",
        )
        forest = RandomForestClassifier(
            self.n_trees, max_features="sqrt", min_samples_leaf=self.min_leaf, random_state=self.seed
        )
        self.model = make_pipeline(columns, forest).fit(codes, y)

    def _votes(self, codes: np.ndarray) -> np.ndarray:
        shares = np.zeros((len(codes), self.domain.n_classes))
        shares[:, self.model.classes_] = self.model.predict_proba(codes)
        return shares
