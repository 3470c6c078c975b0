"""The methods of a fitted forest: predictions, their accuracy, and the forest that may be published."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from dpforest.checks import threads
from dpforest.models.table_checks import TableCheckingClassifier, complex_as_objects, label_column
from dpforest.privacy.certificate import Certificate
from dpforest.tables.cells import refuse_masked
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest, ReleasedForest


class PredictingClassifier(TableCheckingClassifier):
    """Base class of all forests: predictions of a fitted forest. Only its subclasses can be fitted."""

    n_jobs: int | None
    forest_: Forest
    domain_: Domain
    certificate_: Certificate

    @property
    def released_(self) -> ReleasedForest:
        """The forest that may be published. Without privacy, or with mode="as_published", raise AttributeError."""
        check_is_fitted(self, "forest_")
        if not isinstance(self.forest_, ReleasedForest):
            raise AttributeError("released_: this forest is for the curator only; " + self.certificate_.reasons[0])
        return self.forest_

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted label of each row.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.

        Returns
        -------
        array of shape (n,)
            Labels in the domain's spelling of its classes.
        """
        return self._forest().predict(self._check_rows(X), n_jobs=threads(self.n_jobs))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy. Labels are read as in `fit`: the number 1 is the class "1".

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.
        y : array of shape (n,)
            True labels. A label that is not one of the classes counts as misclassified.
        sample_weight : array of shape (n,), optional
            Weight of each row in the mean; by default, all rows have the same weight.

        Returns
        -------
        float
            Weighted share of rows whose predicted label is the true label, from 0 to 1.

        Raises
        ------
        ValueError
            If X and y have different numbers of rows.
        """
        forest = self._forest()
        refuse_masked(y)
        true_index = self.domain_.listed_labels(column_or_1d(complex_as_objects(label_column(y)), warn=True))
        predicted = forest.predict_index(self._check_rows(X), n_jobs=threads(self.n_jobs))
        check_consistent_length(predicted, true_index, sample_weight)
        return float(np.average(predicted == true_index, weights=sample_weight))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of each class, as the voting rule defines it: from votes, counts in leaves, or scores.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.

        Returns
        -------
        float64 array of shape (n, n_classes)
            Columns in the order of `classes_`; rows sum to 1.
        """
        return self._forest().class_shares(self._check_rows(X), n_jobs=threads(self.n_jobs))

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf of each row in each tree. Leaves are numbered over the whole forest, not tree by tree.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.

        Returns
        -------
        int32 array of shape (n, number of trees)
            Leaf that each row reaches in each tree, as an index into the leaf arrays of `forest_`.
        """
        return self._forest().apply(self._check_rows(X), n_jobs=threads(self.n_jobs))

    def _forest(self) -> Forest:
        check_is_fitted(self, "forest_")
        return self.forest_
