"""Trees and forests without privacy from scikit-learn, on the same rows: the accuracy that a model can reach."""

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from dpforest.simulation.metrics import from_shares
from dpforest.simulation.splits import Split
from dpforest.tables.domain import Domain

# In one thread: scikit-learn's others reset Python's warnings, for all threads of the process.
REFERENCES = {
    "CART": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "Breiman's forest": RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
}
TREES_A_STEP = 5
_MOST = 100 + TREES_A_STEP  # trees, and a little


class NonprivateModels:
    """All `REFERENCES` on one split, fitted step by step, so that others can go first in between.

    Numbers are read as codes, categories as a column for each (L. Breiman et al., *Classification and regression
    trees*, 1984; L. Breiman, *Random forests*, 2001). Curator only.

    Parameters
    ----------
    domain : Domain
    split : Split

    Attributes
    ----------
    metrics : dict of str to dict
        All `METRICS` on the rows held out, of those that are fitted.

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> from dpforest.simulation.splits import split_table
    >>> data = load_dataset("zoo")
    >>> both = NonprivateModels(data.domain, split_table(data.domain, data.X, data.y))
    >>> while not both.done:
    ...     both.step()
    >>> list(both.metrics), both.metrics["CART"]["accuracy"] > 0.7
    (['CART', "Breiman's forest"], True)
    """

    def __init__(self, domain: Domain, split: Split) -> None:
        self._domain, self._split = domain, split
        self._rows: tuple | None = None
        self._forest: RandomForestClassifier | None = None
        self.metrics: dict[str, dict[str, float]] = {}

    @property
    def done(self) -> bool:
        """Whether all are fitted."""
        return len(self.metrics) == len(REFERENCES)

    @property
    def share(self) -> float:
        """How much of it is done."""
        trees = 0 if self._forest is None else self._forest.n_estimators
        return (len(self.metrics) + trees / _MOST) / len(REFERENCES)

    def step(self) -> None:
        """Fit the tree, or some trees of the forest: the same trees as all at once."""
        if self.done:
            return
        X_train, X_test = self._columns()
        name = next(name for name in REFERENCES if name not in self.metrics)
        whole = REFERENCES[name]
        if isinstance(whole, RandomForestClassifier):
            if self._forest is None:
                self._forest = clone(whole).set_params(n_estimators=0, warm_start=True)
            grown = min(self._forest.n_estimators + TREES_A_STEP, whole.n_estimators)
            model = self._forest.set_params(n_estimators=grown).fit(X_train, self._split.y_train)
            if grown < whole.n_estimators:
                return
        else:
            model = clone(whole).fit(X_train, self._split.y_train)
        self.metrics[name] = self._scored(model, X_test)
        if self.done:
            self._rows = self._forest = None

    def _columns(self) -> tuple:
        """The rows as scikit-learn reads them, made once."""
        if self._rows is None:
            categorical = [j for j, feature in enumerate(self._domain.features) if feature.kind == "categorical"]
            columns = make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore", dtype=np.float32), categorical), remainder="passthrough"
            )
            self._rows = columns.fit_transform(self._split.X_train), columns.transform(self._split.X_test)
        return self._rows

    def _scored(self, model, X_test) -> dict[str, float]:
        n_classes, split = self._domain.n_classes, self._split
        shares = np.zeros((len(split.y_test), n_classes))
        shares[:, model.classes_] = model.predict_proba(X_test)
        positive = int(np.bincount(split.y_train, minlength=n_classes).argmin())
        return from_shares(shares, split.y_test, shares.argmax(axis=1), positive=positive)


def metrics_of(domain: Domain, split: Split) -> dict[str, dict[str, float]]:
    """`NonprivateModels.metrics` of all, fitted in one go: for another process."""
    models = NonprivateModels(domain, split)
    while not models.done:
        models.step()
    return models.metrics


def guessing(y_train: np.ndarray, y_test: np.ndarray, n_classes: int) -> dict[str, float]:
    """Always naming the most frequent class: its accuracy on the rows held out, their number of classes, that class."""
    most = int(np.bincount(y_train, minlength=n_classes).argmax())
    return {"accuracy": float((y_test == most).mean()), "classes": len(np.unique(y_test)), "class": most}
