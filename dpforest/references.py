"""Trees and forests without privacy from scikit-learn, on the same rows: what accuracy is to be had at all."""

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from dpforest.domain import Domain
from dpforest.metrics import from_shares
from dpforest.simulation import Split

REFERENCES = {
    "CART": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "Breiman's forest": RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
}


def reference_accuracies(domain: Domain, split: Split) -> dict[str, tuple[float, float]]:
    """Accuracy and balanced accuracy of CART and of Breiman's forest on the rows held out. Curator only.

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> from dpforest.simulation import split_table
    >>> data = load_dataset("zoo")
    >>> figures = reference_accuracies(data.domain, split_table(data.domain, data.X, data.y))
    >>> list(figures), figures["CART"][0] > 0.7
    (['CART', "Breiman's forest"], True)
    """
    found = {name: reference_metrics(domain, split, name) for name in REFERENCES}
    return {name: (own["accuracy"], own["balanced_accuracy"]) for name, own in found.items()}


def reference_metrics(domain: Domain, split: Split, name: str) -> dict[str, float]:
    """All `METRICS` of one of the `REFERENCES` on the rows held out. Curator only.

    Numbers are read as codes, categories as a column for each (L. Breiman et al., *Classification and regression
    trees*, 1984; L. Breiman, *Random forests*, 2001).
    """
    categorical = [j for j, feature in enumerate(domain.features) if feature.kind == "categorical"]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", dtype=np.float32), categorical), remainder="passthrough"
    )
    # In one thread: scikit-learn's others reset Python's warnings, for all threads of the process.
    model = make_pipeline(columns, clone(REFERENCES[name]))
    model.fit(split.X_train, split.y_train)
    shares = np.zeros((len(split.y_test), domain.n_classes))
    shares[:, model.classes_] = model.predict_proba(split.X_test)
    positive = int(np.bincount(split.y_train, minlength=domain.n_classes).argmin())
    return from_shares(shares, split.y_test, shares.argmax(axis=1), positive=positive)
