"""A process that fits DP-EBM, the private boosting machine of interpret-core, for `bench/accuracy_peers.py`.

It runs in the environment that `peers.sh interpret` makes, reads pickled commands on stdin, and answers on stdout:

    {"do": "fit", "X": columns, "y": codes, ...}    -> None
    {"do": "shares", "X": columns}                  -> float array of shape (n, n_classes)

X is a list of columns of numbers or texts. interpret-core fits only two classes. With more classes, the process fits
one model for each class, which separates this class from all others. All models together have the guarantee that a
single model has at ε (`budget_of_model`).
"""

import math

import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier
from interpret.utils._privacy import calc_gdp_noise_multi, delta_eps_mu
from peer_worker import serve
from scipy.optimize import brentq

BINS = 0.1  # share of ε that pays for the bins of the features; this is interpret's default


def budget_of_model(n, epsilon, delta):
    """Return the ε that each of n models gets, and the share of this ε that pays for bins.

    interpret-core spends ε on bins and on boosting steps, and measures each by the parameter μ of Gaussian differential
    privacy. With the returned values, n models together have the same two μ as a single model with `epsilon`.

    >>> budget_of_model(1, 1.0, 1e-6)
    (1.0, 0.1)
    """
    if n == 1:
        return epsilon, BINS

    def epsilon_of_one_model(e):
        mu = 1 / calc_gdp_noise_multi(1, e, delta / 2) / math.sqrt(n)
        return brentq(lambda x: delta_eps_mu(x, mu) - delta / 2, 0, e)

    bins, steps = epsilon_of_one_model(BINS * epsilon), epsilon_of_one_model((1 - BINS) * epsilon)
    return bins + steps, bins / (bins + steps)


class Worker:
    def fit(self, X, y, n_classes, domains, epsilon, delta, learning_rate, random_state):
        """Fit the models. `domains` has the public bounds of each numeric column and categories of each text column."""
        table = pd.DataFrame(dict(enumerate(X)))
        n_models = 1 if n_classes == 2 else n_classes
        epsilon, bins = budget_of_model(n_models, epsilon, delta)
        self.models = []
        for k in range(n_models):
            is_class = (y == (k if n_models > 1 else 1)).astype(int)
            if is_class.min() == is_class.max():  # no row has this class, so interpret cannot fit it
                self.models.append(float(is_class[0]))
                continue
            model = DPExplainableBoostingClassifier(
                feature_types=["continuous" if isinstance(d, tuple) else d for d in domains],
                privacy_bounds={j: d for j, d in enumerate(domains) if isinstance(d, tuple)},
                epsilon=epsilon,
                delta=delta,
                bin_budget_frac=bins,
                composition="gdp",
                learning_rate=learning_rate,
                random_state=random_state + k,
                n_jobs=1,
            )
            self.models.append(model.fit(table, is_class))

    def shares(self, X):
        table = pd.DataFrame(dict(enumerate(X)))
        class_shares = [
            np.full(len(table), m) if isinstance(m, float) else m.predict_proba(table)[:, 1] for m in self.models
        ]
        shares = np.stack(class_shares if len(class_shares) > 1 else [1 - class_shares[0], class_shares[0]], axis=1)
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)


if __name__ == "__main__":
    serve(Worker())
