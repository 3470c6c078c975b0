"""Compute the rows of the audit's table: claimed ε, computed loss and proved lower bound of each forest."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from dpforest.audit.black_box import TRIALS, attack_fits
from dpforest.audit.canaries import ALGORITHMS, DELTA, OURS, Canary, canaries, modes_of
from dpforest.audit.exact import leaf_log_pmf, worst_change
from dpforest.audit.replay.replay import ROUNDING, replay
from dpforest.audit.replay.variants import divides_rows
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.privacy.laws import NOISY_COUNTS
from dpforest.privacy.ledger import NEIGHBORS, rows_changed
from dpforest.privacy.loss import GAUSSIAN, PURE, PrivacyLoss
from dpforest.privacy.rationals import printed_decimal
from dpforest.privacy.release import rate_for
from dpforest.tables.domain import Domain

EPSILONS: Final = (0.1, 1.0, 4.0)
MODES: Final = ("certified", "persons", "as_published")  # the table omits the mode "data-derived" of `canaries.MODES`
CONFIDENCE: Final = 1 - 1e-6  # confidence of each attack; all 420 bounds hold with a probability of at least 0.9995


@dataclass(frozen=True)
class Row:
    """Result of the audit of one forest at one ε.

    Parameters
    ----------
    algorithm : str
        One of `canaries.ALGORITHMS`.
    mode : {"certified", "persons", "as_published"}
        Mode of the forest, as in `canaries.canaries`.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation under which ε is claimed.
    epsilon : float
        Claimed ε.
    computed : float
        Computed loss, by the method `how`; infinite if there is no bound.
    how : {"enumerated", "replayed", "proved"}
        "enumerated": the largest loss over all small leaves. "replayed": the largest loss in replayed fits, which may
        be below the true loss. "proved": the ε in the certificate of a published mechanism. This ε is infinite, because
        no proof covers floating-point noise.
    bound : float
        Largest lower bound on ε that the black-box attacks on all canaries proved, each with confidence `CONFIDENCE`.
    canary, event : str
        The pair of tables and the event that prove the bound.
    faults : tuple of str
        Mistakes that `replay` found in a certified forest; empty for a published forest.
    """

    algorithm: str
    mode: str
    neighbors: str
    epsilon: float
    computed: float
    how: str
    bound: float
    canary: str
    event: str
    faults: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Return "BROKEN" or "holds" for a certified forest, and "caught" or "nothing found" for a published one."""
        if self.mode in ("certified", "persons"):
            return "BROKEN" if max(self.computed, self.bound) > self.epsilon * (1 + 1e-9) or self.faults else "holds"
        return "caught" if self.bound > self.epsilon else "nothing found"  # "holds" would need a proof


def audit(name: str, mode: str, neighbors: str, epsilon: float, *, trials: int) -> Row:
    """Attack one forest by enumeration, by replay and as a black box.

    Parameters
    ----------
    name : str
        One of `canaries.ALGORITHMS`.
    mode : {"certified", "persons", "as_published"}
        Mode of the forest, as in `canaries.canaries`.
    neighbors : {"add-remove", "replace-one"}
        The relation under which ε is claimed.
    epsilon : float
        Claimed ε.
    trials : int
        Number of fits of each table of a pair; a canary with larger `Canary.trials` gets more in proportion.

    Returns
    -------
    Row
        The largest computed loss and the largest proved bound over all canaries of this forest.
    """
    pairs, delta = canaries(name, mode, neighbors, epsilon), DELTA if name == OURS[1] else 0
    computed, faults = 0.0, list[str]()
    for canary in pairs:
        is_certified = mode != "as_published"
        loss, messages = _computed_loss(canary, neighbors, epsilon) if is_certified else (_known_loss(canary), [])
        computed, faults = max(computed, loss), faults + messages
    how = "proved" if mode == "as_published" else "enumerated" if _is_enumerated(pairs[0]) else "replayed"
    bounds = [
        attack_fits(
            clone(b.estimator),
            b.before,
            b.after,
            confidence=CONFIDENCE,
            probes=b.probes,
            trials=trials * b.trials // TRIALS,
            delta=delta,
        )
        for b in pairs
    ]
    best = int(np.argmax([b.epsilon for b in bounds]))
    bound, canary = bounds[best], pairs[best]
    return Row(
        name,
        mode,
        neighbors,
        epsilon,
        computed,
        how,
        bound.epsilon,
        canary.name,
        bound.event,
        tuple(dict.fromkeys(faults)),
    )


def audit_all(
    *, trials: int, n_jobs: int = 1, only: str = "", on_row: Callable[[Row], None] | None = None
) -> list[Row]:
    """Attack every algorithm in every mode under both relations at every ε of `EPSILONS`.

    Parameters
    ----------
    trials : int
        Number of fits of each table of a pair.
    n_jobs : int
        Number of processes.
    only : str
        Text that the name of an algorithm must contain; by default all algorithms are attacked.
    on_row : function, optional
        Called with each row as soon as the row is ready.

    Returns
    -------
    list of Row
        A row for each algorithm, mode, neighbor relation and ε, in this order.
    """
    cells = (
        delayed(audit)(name, mode, neighbors, epsilon, trials=trials)
        for name in ALGORITHMS
        if only in name
        for mode in MODES
        if mode in modes_of(name)
        for neighbors in NEIGHBORS
        for epsilon in EPSILONS
    )
    rows = []
    for row in Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)(cells):
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return rows


def _computed_loss(canary: Canary, neighbors: str, epsilon: float) -> tuple[float, list[str]]:
    """Return the largest loss that enumeration and replay compute for a canary, and the messages of replay.

    If the forest has Gaussian noise, its loss is converted from μ to the ε at `DELTA`.
    """
    model, loss = canary.estimator, 0.0
    budget = model.preview(_domain(canary), len(canary.after[1]))[1].budget
    assert budget is not None
    most = epsilon if budget.kind == PURE else float(budget.mu)
    if _is_enumerated(canary):
        loss = _enumerated(model, _domain(canary), len(canary.after[1]))
    faults = list[str]()
    for before, after in [(canary.before, canary.after), *_random_pairs(canary, neighbors)]:
        comparison = replay(
            lambda table: clone(model).fit(*table).forest_,
            _with_ids(before, neighbors, 0),
            _with_ids(after, neighbors, 1),
            epsilon=most,
            neighbors=neighbors,
            one_tree=divides_rows(model),
        )
        loss, faults = max(loss, comparison.loss), faults + [str(f) for f in comparison.findings]
    if budget.kind == GAUSSIAN:
        if most < loss <= most * (1 + ROUNDING):
            loss = most
        lost_epsilon = float(PrivacyLoss.gaussian(loss**2).epsilon(DELTA))
        loss = min(lost_epsilon, epsilon) if loss <= most else lost_epsilon
    return loss, faults


def _is_enumerated(canary: Canary) -> bool:
    """Return whether an enumeration of small leaves yields the loss. For persons, `audit.persons` enumerates leaves."""
    return canary.estimator.structure_is_public and _domain(canary).unit is None


def _with_ids(data: tuple, neighbors: str, place: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with row ids. `place` is 0 for the first table of a pair and 1 for the second table.

    The id of a row is its position, but under replace-one the last row of the second table has a new id.
    """
    X, y = data
    if isinstance(X, pd.DataFrame):  # each row has the identifier of its person
        return X, y
    ids = list(range(len(y)))
    if rows_changed(neighbors) == 2 and place == 1:
        ids[-1] = len(y)
    return pd.DataFrame(X, index=np.array(ids, int), columns=[f"x{i}" for i in range(X.shape[1])]), y


def _random_pairs(canary: Canary, neighbors: str, n_pairs: int = 3, n_rows: int = 30) -> Iterator[tuple]:
    """Yield pairs of random tables. The second table has one more row or, under replace-one, a different last row.

    If the unit of privacy is a person, the last persons of the tables have seven random rows each.
    """
    domain = _domain(canary)
    n_features, n_classes, n_last = domain.n_features, domain.n_classes, 1 if domain.unit is None else 7
    for seed in range(n_pairs):
        rng = np.random.default_rng(seed)
        n = n_rows + 2 * n_last
        X, y = rng.integers(0, 2, (n, n_features)).astype(float), rng.integers(0, n_classes, n)
        persons = np.r_[rng.integers(0, n_rows // 2, n_rows), np.repeat([n_rows, n_rows + 1], n_last)]
        frame = pd.DataFrame(X, columns=list(domain.names)).assign(**{domain.unit or "": persons})
        rows_before = np.arange(n_rows if rows_changed(neighbors) == 1 else n_rows + n_last)
        rows_after = np.r_[:n_rows, n_rows + n_last : n]
        yield tuple(
            (X[rows] if domain.unit is None else frame.iloc[rows], y[rows]) for rows in (rows_before, rows_after)
        )


def _enumerated(model: RandomStructureClassifier, domain: Domain, n_rows: int) -> float:
    """Return the largest total loss of a changed row in all leaves and trees, for leaves of two and three classes.

    The result includes the cost of queries before the leaves. These queries only add noise to counts, so their loss is
    the amount that the ledger charges.
    """
    spec = model.spec(domain, n_rows)
    before = float(printed_decimal(model.epsilon) * (1 - spec.preparation.remaining_share))
    epsilon = spec.leaf_epsilon(printed_decimal(model.epsilon))
    rate = float(
        rate_for(spec.mechanism, epsilon, n_trees=spec.n_trees, partition=spec.partition, neighbors=model.neighbors)
    )
    trees = spec.n_trees if spec.partition == "shared" else 1
    if spec.mechanism == NOISY_COUNTS:
        return before + rate * rows_changed(model.neighbors) * trees  # each changed row changes one count of one leaf
    pmf = leaf_log_pmf(spec.mechanism, rate)
    sizes = ((2, 30), (3, 8))
    return before + trees * max(worst_change(pmf, k, most=n, neighbors=model.neighbors).loss for k, n in sizes)


def _known_loss(canary: Canary) -> float:
    """Return the ε in the certificate of a published mechanism."""
    certificate, _ = canary.estimator.preview(_domain(canary), len(canary.after[1]))
    return certificate.true_epsilon


def _domain(canary: Canary) -> Domain:
    """Return the public domain of a canary's forest."""
    assert canary.estimator.domain is not None, "only forests with a public domain are in the table"
    return canary.estimator.domain
