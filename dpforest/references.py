"""Trees and forests without privacy from scikit-learn, on the same rows: what accuracy is to be had at all."""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from dpforest.domain import Domain
from dpforest.simulation import Split, accuracies

REFERENCES = {
    "CART": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "Breiman's forest": RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
}


def reference_accuracies(domain: Domain, split: Split, *, n_jobs: int = 1) -> dict[str, tuple[float, float]]:
    """Accuracy and balanced accuracy of CART and of Breiman's forest on the rows held out. Curator only.

    Numbers are read as codes, categories as a column for each (L. Breiman et al., *Classification and regression
    trees*, 1984; L. Breiman, *Random forests*, 2001).

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> from dpforest.simulation import split_table
    >>> data = load_dataset("zoo")
    >>> figures = reference_accuracies(data.domain, split_table(data.domain, data.X, data.y))
    >>> list(figures), figures["CART"][0] > 0.7
    (['CART', "Breiman's forest"], True)
    """
    categorical = [j for j, feature in enumerate(domain.features) if feature.kind == "categorical"]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", dtype=np.float32), categorical), remainder="passthrough"
    )
    found = {}
    for name, estimator in REFERENCES.items():
        model = make_pipeline(columns, estimator)
        if "n_jobs" in estimator.get_params():
            model[-1].set_params(n_jobs=n_jobs)
        model.fit(split.X_train, split.y_train)
        found[name] = accuracies(model.predict(split.X_test), split.y_test)
    return found
