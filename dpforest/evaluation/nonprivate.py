"""References for accuracy: scikit-learn's tree and forest without privacy, on the same rows as the private forests."""

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from dpforest.simulation.metrics import from_shares
from dpforest.simulation.splits import Split
from dpforest.tables.domain import Domain

# The models use one thread, because scikit-learn's worker threads reset Python's warning filters for the whole process.
REFERENCES = {
    "CART": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "random forest": RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
}
TREES_A_STEP = 5
_MOST = 100 + TREES_A_STEP  # more than the forest's 100 trees, so that `share` reaches 1 only if all models are scored


class NonprivateModels:
    """All `REFERENCES`, fitted on one split in steps, so that other work can run in between.

    The models are CART (L. Breiman et al., *Classification and regression trees*, 1984) and a random forest
    (L. Breiman, *Random forests*, 2001). They get numeric attributes as codes, and each category as a column of 0 and
    1. They are not private, so the results are for the curator only.

    Parameters
    ----------
    domain : Domain
        Public schema with which the rows of `split` are encoded.
    split : Split
        Rows to fit on and held-out rows.

    Attributes
    ----------
    metrics : dict of str to dict
        All `METRICS` on the held-out rows, for each model that is fitted so far.

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> from dpforest.simulation.splits import split_table
    >>> data = load_dataset("zoo")
    >>> models = NonprivateModels(data.domain, split_table(data.domain, data.X, data.y))
    >>> while not models.done:
    ...     models.step()
    >>> list(models.metrics), models.metrics["CART"]["accuracy"] > 0.7
    (['CART', 'random forest'], True)
    """

    def __init__(self, domain: Domain, split: Split) -> None:
        self._domain, self._split = domain, split
        self._rows: tuple | None = None
        self._forest: RandomForestClassifier | None = None
        self.metrics: dict[str, dict[str, float]] = {}

    @property
    def done(self) -> bool:
        """Whether all models are fitted."""
        return len(self.metrics) == len(REFERENCES)

    @property
    def share(self) -> float:
        """Share of the work that is done, from 0 to 1."""
        trees = 0 if self._forest is None else self._forest.n_estimators
        return (len(self.metrics) + trees / _MOST) / len(REFERENCES)

    def step(self) -> None:
        """Fit the tree, or some more trees of the forest.

        The finished forest equals a forest that is fitted in one step.
        """
        if self.done:
            return
        X_train, X_test = self._columns()
        name = next(name for name in REFERENCES if name not in self.metrics)
        reference = REFERENCES[name]
        if isinstance(reference, RandomForestClassifier):
            if self._forest is None:
                self._forest = clone(reference).set_params(n_estimators=0, warm_start=True)
            n_trees = min(self._forest.n_estimators + TREES_A_STEP, reference.n_estimators)
            model = self._forest.set_params(n_estimators=n_trees).fit(X_train, self._split.y_train)
            if n_trees < reference.n_estimators:
                return
        else:
            model = clone(reference).fit(X_train, self._split.y_train)
        self.metrics[name] = self._metrics(model, X_test)
        if self.done:
            self._rows = self._forest = None

    def _columns(self) -> tuple:
        """Return the training and held-out rows in scikit-learn's form, computed once."""
        if self._rows is None:
            categorical = [j for j, feature in enumerate(self._domain.features) if feature.kind == "categorical"]
            columns = make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore", dtype=np.float32), categorical), remainder="passthrough"
            )
            self._rows = columns.fit_transform(self._split.X_train), columns.transform(self._split.X_test)
        return self._rows

    def _metrics(self, model, X_test) -> dict[str, float]:
        n_classes, split = self._domain.n_classes, self._split
        shares = np.zeros((len(split.y_test), n_classes))
        shares[:, model.classes_] = model.predict_proba(X_test)
        positive = int(np.bincount(split.y_train, minlength=n_classes).argmin())
        return from_shares(shares, split.y_test, shares.argmax(axis=1), positive=positive)


def metrics_of(domain: Domain, split: Split) -> dict[str, dict[str, float]]:
    """Fit all models, and return `NonprivateModels.metrics`. The app calls this function in another process."""
    models = NonprivateModels(domain, split)
    while not models.done:
        models.step()
    return models.metrics


def guessing(y_train: np.ndarray, y_test: np.ndarray, n_classes: int) -> dict[str, float]:
    """Evaluate guessing, which predicts the most frequent class of the training rows for every held-out row.

    Returns
    -------
    dict
        ``accuracy`` on the held-out rows, ``classes`` (number of classes among the held-out rows) and ``class`` (index
        of the guessed class).
    """
    most_frequent = int(np.bincount(y_train, minlength=n_classes).argmax())
    return {
        "accuracy": float((y_test == most_frequent).mean()),
        "classes": len(np.unique(y_test)),
        "class": most_frequent,
    }
