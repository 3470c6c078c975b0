"""Fit a table and its neighbor with the same answers, and compare the likelihoods of the answers.

An answer is what a private mechanism returns to a fit: a split, a noisy count, or a label. If a fit loses at most ε,
all answers together are at most exp(ε) times as likely on one table as on its neighbor. The first fit records every
answer. Answers are drawn from their law, or are unlikely on purpose. The fit on the neighbor gets the same answers, and
the two likelihoods are compared. This comparison checks weights, bounds, sensitivities and composition at once. It also
checks that all inputs of a mechanism except the data are equal in both fits, because they must be public.

The laws are written here a second time, from the definitions of the mechanisms.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from dpforest.models import preparation
from dpforest.models.greedy import alpha_boost, boost_mechanisms, friedman_schuster, multinomial
from dpforest.models.greedy.greedy import GreedyClassifier, bin_rows
from dpforest.privacy import selection
from dpforest.privacy.ledger import BudgetError, Ledger
from dpforest.privacy.randomness import DemoSource
from dpforest.privacy.release import release_labels
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest


@dataclass
class Transcript:
    """Answers, the public inputs of each answer, and the log-likelihood of each answer on each fitted table.

    Parameters
    ----------
    seed : int
        Seed of the answers.
    last : bool
        If True, every node gets its last allowed candidate. Otherwise, half of the nodes get a likely candidate, and
        the other nodes get any allowed candidate.
    far : array, optional
        A sign for each column of counts. If given, the noise of each column is 20 times the scale with this sign.
        Otherwise, noise is drawn and multiplied by 0.1, 1 or 4.
    """

    seed: int = 0
    last: bool = False
    far: np.ndarray | None = None
    answers: list[np.ndarray] = field(default_factory=list)
    public: list[tuple] = field(default_factory=list)
    log: list[list[float]] = field(default_factory=list)
    weights: list[list[np.ndarray]] = field(default_factory=list)

    def fit(self, model: GreedyClassifier, X, y) -> Forest:
        """Fit with the recorded answers, or record them if this is the first fit.

        Check that the fit asks all questions that it paid for.
        """
        self._rng = np.random.default_rng(self.seed)
        self._paid: list = []
        self.log.append([])
        self.weights.append([])
        rows = bin_rows(model.domain, X, np.asarray(y, np.int32), X.index.to_numpy(), model.n_bins)
        with ExitStack() as stack:
            for target, name, mine in (
                (selection, "choose", self._choose),
                (preparation, "noisy_table", self._noisy_table),
                (boost_mechanisms, "noisy_table", self._noisy_table),
                (friedman_schuster, "noisy_table", self._noisy_table),
                (multinomial, "release_labels", self._labels),
                (alpha_boost, "grow_tree", self._grow_tree(alpha_boost.grow_tree)),
                (Ledger, "charge", self._charge(Ledger.charge)),
            ):
                stack.enter_context(patch.object(target, name, mine))
            forest = model.fit_encoded(model.domain, rows)
        assert len(self.log[-1]) == len(self.answers), "the fits on the two tables asked different numbers of questions"
        for query_budget in self._paid:
            with pytest.raises(BudgetError, match="All queries that were paid for are answered"):
                query_budget.use()
        return forest

    @property
    def losses(self) -> np.ndarray:
        """Log-ratio of the likelihoods of each answer on the first table and on the last table."""
        return np.array(self.log[0]) - np.array(self.log[-1])

    def _answer(self, public: tuple, new, log_likelihood) -> np.ndarray:
        at = len(self.log[-1])
        if len(self.log) == 1:
            self.answers.append(new())
            self.public.append(public)
        assert public == self.public[at], "what should be public depends on the data"
        self.log[-1].append(float(log_likelihood(self.answers[at])))
        return self.answers[at].copy()

    def _choose(self, scores, allowed, sensitivity, query_budget, source, *, key=0, nodes=1):
        each = query_budget.use().pure_epsilon
        coarse, width = selection.coarsened(scores, sensitivity, nodes)
        rate = float(selection.rate_of(each, width))
        log_pmf = _softmax(np.where(allowed, rate * (coarse - coarse.max(axis=1, keepdims=True)), -np.inf))

        def new():
            if self.last:
                return scores.shape[1] - 1 - allowed[:, ::-1].argmax(axis=1)
            likely = (log_pmf + self._rng.gumbel(size=scores.shape)).argmax(axis=1)
            other = np.where(allowed, self._rng.random(scores.shape), -1).argmax(axis=1)
            return np.where(self._rng.random(len(scores)) < 0.5, likely, other)

        public = ("choice", allowed.tobytes(), int(sensitivity), each, key, nodes)
        return self._answer(public, new, lambda chosen: log_pmf[np.arange(len(scores)), chosen].sum())

    def _noisy_table(self, table, sensitivity, query_budget, source, *, key=0):
        each = query_budget.use().pure_epsilon
        scale = float(sensitivity / each)
        assert table.min(initial=0) >= 0

        def new():
            noise = self._rng.laplace(size=table.shape) * self._rng.choice([0.1, 1, 4])
            if self.far is not None:
                noise = np.broadcast_to(20.0 * self.far[: table.shape[1]], table.shape)
            return table + np.rint(noise * scale).astype(np.int64)

        public = ("noise", table.shape, int(sensitivity), each, key)
        return self._answer(public, new, lambda noisy: -np.abs(noisy - table).sum() / scale)

    def _labels(self, counts, *, source, **how):
        release_labels(counts, source=DemoSource(0), **how)  # charges the ledger
        trees = how["n_trees"] if how["partition"] == "shared" else 1
        rate = float(how["epsilon"]) / (1 if how["neighbors"] == "add-remove" else 2) / trees
        log_pmf = _softmax(rate * (counts - counts.max(axis=1, keepdims=True)))
        assert how["mechanism"] == "exponential"

        def new():
            return self._rng.integers(0, counts.shape[1], len(counts)).astype(np.uint8)

        public = ("labels", counts.shape, how["epsilon"])
        return self._answer(public, new, lambda labels: log_pmf[np.arange(len(counts)), labels].sum())

    def _grow_tree(self, real):
        def grow_tree(candidates, bins, y, weight, **how):
            self.weights[-1].append(weight.copy())
            return real(candidates, bins, y, weight, **how)

        return grow_tree

    def _charge(self, real):
        def charge(ledger, what, *arguments, **more):
            query_budget = real(ledger, what, *arguments, **more)
            # The mechanism charges and draws labels in one step.
            if query_budget is not None and "label of each leaf" not in what:
                self._paid.append(query_budget)
            return query_budget

        return charge


def _softmax(log_weight: np.ndarray) -> np.ndarray:
    """Return log-probabilities in proportion to weights. Each row of log-weights must have a maximum near 0."""
    return log_weight - np.log(np.exp(log_weight).sum(axis=1, keepdims=True))


def random_table(domain: Domain, n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw random rows and independent labels, so that answers depend on noise more than on the rows."""
    rng = np.random.default_rng(seed)
    columns = {f.name: rng.choice(f.categories, n) if f.categories else rng.random(n) for f in domain.features}
    return pd.DataFrame(columns), rng.integers(0, domain.n_classes, n)


def neighbor(domain: Domain, X: pd.DataFrame, y: np.ndarray, neighbors: str, row: int) -> tuple:
    """Remove a row from a table, or replace it with another row. The other rows keep their ids."""
    if neighbors == "add-remove":
        return X.drop(index=row), np.delete(y, row)
    other, label = random_table(domain, 1, 1_000 + row)
    X, y = X.copy(), y.copy()
    X.iloc[row], y[row] = other.iloc[0], label[0]
    return X, y
