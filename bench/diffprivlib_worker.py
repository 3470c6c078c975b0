"""A process that fits diffprivlib's logistic regression and naive Bayes, for `bench/accuracy_peers.py`.

It runs in the environment that `peers.sh diffprivlib` makes, reads pickled commands on stdin, and answers on stdout:

    {"do": "fit", "model": "logistic regression", "X": array, "y": codes, ...}    -> None
    {"do": "shares", "X": array}                                                  -> float array of shape (n, n_classes)

Both models are ε-private (δ = 0). With K > 2 classes, diffprivlib's logistic regression fits K models, one class
against the rest, each with ε / K. Both models read two things from the rows: which classes occur, and the number of
rows.
"""

import numpy as np
from diffprivlib import BudgetAccountant
from diffprivlib.models import GaussianNB, LogisticRegression
from peer_worker import serve


class Worker:
    def fit(self, model, X, y, n_classes, epsilon, norm, bounds, C, random_state):
        """Fit a model. `norm` and `bounds` are the public norm of a row and the bounds of each column."""
        common = {"epsilon": epsilon, "random_state": random_state, "accountant": BudgetAccountant()}
        if model == "logistic regression":
            self.model = LogisticRegression(data_norm=norm, C=C, max_iter=1000, **common)
        else:
            self.model = GaussianNB(bounds=bounds, **common)
        self.n_classes = n_classes
        self.model.fit(X, y)

    def shares(self, X):
        shares = np.zeros((len(X), self.n_classes))
        shares[:, self.model.classes_] = np.nan_to_num(self.model.predict_proba(X))
        return shares


if __name__ == "__main__":
    serve(Worker())
