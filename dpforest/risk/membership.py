"""A membership attack: guess from simulated releases whether a record was in the table, and count correct guesses.

The attacker knows as much as possible. For forests with random structure, the attacker knows every other row, the
public structure, and the tree of each row. Then only the leaves that hold the record depend on the record, and the best
guess follows the likelihood ratio of the releases of these leaves (Neyman and Pearson 1933). Before trees grow, the fit
spends a part of ε on the number of rows and on histograms of the numeric attributes (`released_scale`). The guess does
not use these answers, so the attack is only on the part of ε that the leaves get. Some published mechanisms divide the
rows into blocks of equal size; the attack assumes that the block of the record has one row less if the record is
omitted. To attack a `DataDependentClassifier`, the attacker fits the forest many times (`shadow_models`).

The attack simulates releases from seeds and uses raw rows. So only the curator, who holds the table, may see its
results.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.models.base import ForestClassifier
from dpforest.models.data_dependent import DataDependentClassifier
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.laws import NOISY_COUNTS, log_pmf
from dpforest.privacy.ledger import Ledger, rows_changed
from dpforest.privacy.randomness import DemoSource
from dpforest.privacy.rationals import printed_decimal
from dpforest.privacy.simulators import simulate_labels, simulate_laplace, simulate_noisy_counts
from dpforest.risk.shadow_models import shadow_attack
from dpforest.risk.success_rate import (
    REPORT_SIZES,
    SECONDS,
    Estimates,
    composed_variation,
    log_ratios,
    most_success,
    success_rate,
    total_variation,
)
from dpforest.tables.domain import Domain
from dpforest.trees import routing
from dpforest.trees.layout import Trees
from dpforest.trees.released_scale import scale_histograms

STATES: Final = 50_000  # number of random assignments of rows to trees that `best_success` averages over
_FINALISTS: Final = 12  # number of rows for which `most_exposed` computes `best_success`
_WORK: Final = 4_000_000  # largest number of probabilities that the ranking of all rows computes


def attack_record(
    estimator: ForestClassifier,
    domain: Domain,
    codes: np.ndarray,
    labels: np.ndarray,
    row: int,
    *,
    seed: int = 0,
    seconds: float = SECONDS,
    max_guesses: int = REPORT_SIZES[-1],
    counted: "RowsInLeaves | None" = None,
) -> Estimates:
    """Attack one record: a fair coin includes or omits it, the forest is released, and the attacker guesses which.

    Under replace-one, the question is not membership. Another row may replace the record: it has the same attributes
    and the next class of the domain. The attacker guesses which of the two rows is in the table.

    Parameters
    ----------
    estimator : ForestClassifier
        Forest with its ε. The attack ignores its domain and random_state.
    domain : Domain
        Public schema with which the rows are encoded.
    codes : uint16 array of shape (n, n_features)
        All rows of the table, encoded by the domain.
    labels : int array of shape (n,)
        Class indices.
    row : int
        Index of the attacked row.
    seed : int
        Seed of the simulated releases.
    seconds : float
        Time limit of the attack, in seconds; infinity if only `max_guesses` ends the attack.
    max_guesses : int
        Largest number of guesses.
    counted : RowsInLeaves, optional
        Result of `count_in_leaves` for the same table and forest; by default it is computed.

    Yields
    ------
    float
        Share of the work that is done, from 0 to 1.
    AttackEstimate or None
        None if there is no new estimate.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the forest has no ε.
    TypeError
        If no attack exists for the class of the forest.
    """
    if isinstance(estimator, DataDependentClassifier):
        return shadow_attack(estimator, domain, codes, labels, row, seed=seed, seconds=seconds, max_guesses=max_guesses)
    if not isinstance(estimator, RandomStructureClassifier):
        raise TypeError(f"{type(estimator).__name__} cannot be attacked")
    record = (counted or count_in_leaves(estimator, domain, codes, labels, seed=seed)).record(row)
    return exact_attack(record, seed=seed, seconds=seconds, max_guesses=max_guesses)


# ---------------------------------------------------------------- forests with random structure


@dataclass(frozen=True, eq=False)
class Record:
    """One record, and what an attacker on a forest with random structure knows about it.

    Attributes
    ----------
    spec : ForestSpec
        Plan of the forest.
    rate : float
        Rate κ of the mechanism at a leaf (`ForestSpec.leaf_rate`).
    other_counts : int64 array of shape (n_trees, n_classes)
        For each tree, the counts of all other rows in the leaf that the record reaches. The counts include every row in
        every tree, even if the forest draws each row into one tree.
    label : int
        Class index of the record.
    stand_in : int or None
        Class index of the row that replaces the record under replace-one; None under add-remove.
    n_rows : int
        Number of rows of the table, including the record.
    """

    spec: ForestSpec
    rate: float
    other_counts: np.ndarray
    label: int
    stand_in: int | None
    n_rows: int

    @property
    def one_tree(self) -> bool:
        """Return whether each row is in only one tree."""
        return self.spec.partition != "shared"


@dataclass(frozen=True, eq=False)
class RowsInLeaves:
    """Counts of a table's rows in the leaves of one random structure. Attacks on all rows share these counts.

    The attack uses only the releases of the leaves, which cost the share `spec.preparation.remaining_share` of ε.
    """

    spec: ForestSpec
    rate: float
    trees: Trees
    domain: Domain
    codes: np.ndarray
    labels: np.ndarray
    counts: np.ndarray

    def record(self, row: int) -> Record:
        """Return one row as the record of an attack."""
        if not 0 <= row < len(self.labels):
            raise ValueError(f"row={row} is not a row of the table, which has {len(self.labels):,}")
        leaves = routing.leaves_of_rows(self.trees, self.domain, self.codes[row : row + 1])[:, 0]
        other_counts, label = self.counts[leaves].copy(), int(self.labels[row])
        other_counts[:, label] -= 1
        is_replaced = rows_changed(self.spec.neighbors) == 2
        stand_in = (label + 1) % self.domain.n_classes if is_replaced else None
        return Record(self.spec, self.rate, other_counts, label, stand_in, len(self.labels))


def count_in_leaves(
    estimator: RandomStructureClassifier, domain: Domain, codes: np.ndarray, labels: np.ndarray, *, seed: int = 0
) -> RowsInLeaves:
    """Count all rows in all leaves of a random structure. Parameters are as for `attack_record`.

    Before trees grow, a fit queries the number of rows and the scale (histograms of the numeric attributes). This
    function draws the noisy answers once, from `seed` and the whole table.
    """
    if estimator.epsilon is None:
        raise ValueError("epsilon=None: without noise there is nothing to guess; give an epsilon")
    estimator.check_reading_domain(domain)
    estimator.spec(domain, len(labels))  # checks parameters
    epsilon, n = printed_decimal(float(estimator.epsilon)), len(labels)
    ledger, source = Ledger(epsilon, estimator.neighbors), DemoSource(seed)
    spec, scale = estimator.prepare(domain, n, n, lambda: scale_histograms(domain, codes), ledger, source)
    trees = spec.grow(domain, int(estimator.structure_seed), scale)
    counts = routing.count_rows(trees, domain, codes, labels, n_classes=domain.n_classes)
    rate = spec.leaf_rate(epsilon)
    return RowsInLeaves(spec, rate, trees, domain, codes, labels, counts)


def exact_attack(
    record: Record, *, seed: int = 0, seconds: float = SECONDS, max_guesses: int = REPORT_SIZES[-1]
) -> Estimates:
    """Attack a record in a forest with random structure by the likelihood ratio of its leaves; see `attack_record`."""
    rng = np.random.default_rng(seed)
    size = max(20, 200_000 // (record.other_counts.shape[1] if record.one_tree else record.other_counts.size))

    def guess(wanted: int) -> tuple[int, int]:
        n = min(size, wanted)
        inside = rng.random(n) < 0.5
        return n, int(((_log_likelihood_ratio(record, inside, rng) > 0) == inside).sum())

    return success_rate(guess, seconds=seconds, max_guesses=max_guesses)


def best_success(record: Record, *, seed: int = 0) -> float:
    """Return the success rate of the best attacker on this record: 1/2 + TV/2.

    TV is the total variation between the laws of a release without and with the record.

    If the record is in every tree, or if leaves release noisy counts, the laws of the leaves are composed on a grid.
    The grid rounds the success rate up, by less than 0.001 (Doroshenko et al. 2022). Otherwise, each row is in one
    tree, and the success rate is the mean over `STATES` random assignments of rows to trees, with a standard error of
    at most 0.001.
    """
    if record.spec.releases_counts:
        return 0.5 + 0.5 * composed_variation(*_count_laws(record))
    if not record.one_tree:
        before, after = _neighboring_counts(record, record.other_counts)
        laws = (log_pmf(record.spec.mechanism, counts, record.rate) for counts in (before, after))
        return 0.5 + 0.5 * composed_variation(*laws)
    rng = np.random.default_rng(seed)
    tree, other_counts = _draw_trees(record, STATES, rng)
    before, after = _neighboring_counts(record, other_counts)
    pairs, pair_of_draw = np.unique(np.hstack([before, after]), axis=0, return_inverse=True)
    laws = (log_pmf(record.spec.mechanism, counts, record.rate) for counts in np.hsplit(pairs, 2))
    return 0.5 + 0.5 * float(total_variation(*laws)[pair_of_draw.ravel()].mean() * (tree >= 0).mean())


@dataclass(frozen=True)
class MostExposedRow:
    """The row with the largest `best_success`, the success rate for this row, and whether all rows have this rate."""

    row: int
    success: float
    all_alike: bool


def most_exposed(table: RowsInLeaves, *, seed: int = 0) -> MostExposedRow:
    """Return the row with the largest `best_success`.

    A fast, rough score ranks all rows. Then `best_success` ranks the first `_FINALISTS` rows again.
    """
    if table.spec.releases_counts:  # noise does not depend on counts, so all rows have the same rate
        return MostExposedRow(0, best_success(table.record(0)), True)
    exposure = _exposure_by_leaf(table, np.random.default_rng(seed))
    score = np.empty(len(table.labels))

    def add_up(rows: slice, codes: np.ndarray) -> None:
        leaves = routing.leaves_of_rows(table.trees, table.domain, codes)
        score[rows] = exposure[leaves, table.labels[rows]].sum(axis=0)

    routing.for_each_block(table.domain, table.codes, add_up)
    finalists = np.argsort(-score, kind="stable")[:_FINALISTS]
    success = [best_success(table.record(int(row))) for row in finalists]
    best = int(np.argmax(success))
    return MostExposedRow(int(finalists[best]), success[best], False)


def _exposure_by_leaf(table: RowsInLeaves, rng: np.random.Generator) -> np.ndarray:
    """Return a rough score of how much a leaf reveals about a row of each class, float (n_leaves, n_classes)."""
    exposure = np.zeros(table.counts.shape)
    n_classes = table.counts.shape[1]
    leaf, label = np.nonzero(table.counts)
    other_counts = table.counts[leaf] - np.eye(n_classes, dtype=np.int64)[label]
    cases, case_of_entry = np.unique(np.column_stack([other_counts, label]), axis=0, return_inverse=True)
    other_counts, label = cases[:, :-1], cases[:, -1]
    repeats = max(4, min(32, _WORK // cases.size)) if table.spec.partition != "shared" else 1
    total = np.zeros(len(cases))
    for _ in range(repeats):  # a few random assignments if each row is in one tree only
        drawn = other_counts if repeats == 1 else rng.binomial(other_counts, 1 / table.spec.n_trees)
        total += _exposure_in_leaf(table.spec, table.rate, drawn, label)
    exposure[np.nonzero(table.counts)] = total[case_of_entry.ravel()]
    return exposure


def _exposure_in_leaf(spec: ForestSpec, rate: float, other_counts: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return the distance between the laws of a leaf's label with and without a row, for each entry of `label`.

    If each row is in one tree, the distance is the total variation. If every row is in every tree, it is the
    Bhattacharyya distance, because the Bhattacharyya distances of several leaves add up.
    """
    unit, stand_in = np.eye(other_counts.shape[1], dtype=np.int64), (label + 1) % other_counts.shape[1]
    before = other_counts + unit[stand_in] if rows_changed(spec.neighbors) == 2 else other_counts
    log_p, log_q = (log_pmf(spec.mechanism, counts, rate) for counts in (before, other_counts + unit[label]))
    if spec.partition != "shared":
        return total_variation(log_p, log_q)
    return -np.log(np.clip(np.exp((log_p + log_q) / 2).sum(axis=1), 1e-300, 1))


def _neighboring_counts(record: Record, other_counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counts without the record (or with its stand-in), and counts with the record.

    Each result has the shape of `other_counts`.
    """
    before, after = other_counts.copy(), other_counts.copy()
    after[..., record.label] += 1
    if record.stand_in is not None:
        before[..., record.stand_in] += 1
    return before, after


def _draw_trees(record: Record, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the tree of the record n times, and the counts of other rows in its leaf of this tree.

    The tree is -1 if the record is in no block: blocks have equal size, and no tree uses the rows that are left over.
    """
    tree = rng.integers(record.spec.n_trees, size=n)
    if record.spec.partition == "independent":
        return tree, rng.binomial(record.other_counts[tree], 1 / record.spec.n_trees)
    size = record.n_rows // record.spec.n_trees
    other_counts = _draw_block(record.other_counts[tree], record.n_rows - 1, max(size - 1, 0), rng)
    return np.where(rng.random(n) < size * record.spec.n_trees / record.n_rows, tree, -1), other_counts


def _draw_block(leaf: np.ndarray, n_rows: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the counts of a leaf's rows in a block of this size, int (n, n_classes): multivariate hypergeometric."""
    block, n_outside, n_open = np.zeros_like(leaf), np.full(len(leaf), n_rows), np.full(len(leaf), size)
    for c in range(leaf.shape[1]):
        n_outside = n_outside - leaf[:, c]
        block[:, c] = rng.hypergeometric(leaf[:, c], n_outside, n_open)
        n_open = n_open - block[:, c]
    return block


def _log_likelihood_ratio(record: Record, inside: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Simulate a release for each coin in `inside`, and return the release's log-likelihood ratio, float (n,)."""
    n, spec, seed = len(inside), record.spec, int(rng.integers(2**62))
    if record.one_tree:
        tree, other_counts = _draw_trees(record, n, rng)
        other_counts = other_counts[:, None]
    else:
        tree, other_counts = np.zeros(n, int), np.broadcast_to(record.other_counts, (n, *record.other_counts.shape))
    before, after = _neighboring_counts(record, other_counts)
    exact = np.where(inside[:, None, None], after, before)
    if spec.releases_counts:
        cells = [record.label] if record.stand_in is None else [record.label, record.stand_in]
        draw = simulate_noisy_counts if spec.mechanism == NOISY_COUNTS else simulate_laplace
        noisy = draw(exact[..., cells].reshape(-1, len(cells)), 1 / record.rate, seed).reshape(*exact.shape[:2], -1)
        log_ratio = record.rate * (np.abs(noisy - before[..., cells]) - np.abs(noisy - after[..., cells])).sum(
            axis=(1, 2)
        )
    else:
        labels = simulate_labels(exact.reshape(-1, exact.shape[-1]), spec.mechanism, record.rate, seed)
        if record.one_tree:
            laws = (log_pmf(spec.mechanism, counts[:, 0], record.rate) for counts in (before, after))
            log_ratio = log_ratios(*laws)[np.arange(n), labels]
        else:
            laws = (log_pmf(spec.mechanism, counts[0], record.rate) for counts in (before, after))
            log_ratio = log_ratios(*laws)[np.arange(spec.n_trees), labels.reshape(n, -1)].sum(axis=1)
    return np.where(tree >= 0, log_ratio, 0.0)


def _count_laws(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-probabilities of each noisy count that the record changes, without and with the record.

    Both results have shape (n_counts, n_outcomes).

    The true counts without and with the record differ by one. With integer noise, the likelihood ratio of a noisy count
    depends only on whether it is at least the larger true count. With continuous noise, the ratio also varies between
    the two true counts, so the outcomes are fine parts of this interval.
    """
    n = (1 if record.one_tree else record.spec.n_trees) * (1 if record.stand_in is None else 2)
    if record.spec.mechanism == NOISY_COUNTS:
        reaches = most_success(record.rate)
        log_p, log_q = np.log([reaches, 1 - reaches]), np.log([1 - reaches, reaches])
    else:
        edges = np.linspace(0, 1, 257) * record.rate
        below = np.concatenate([[0.0], 1 - np.exp(-edges) / 2, [1.0]])  # for the true count 0
        above = np.concatenate([[0.0], np.exp(edges - record.rate) / 2, [1.0]])  # for the true count 1
        log_p, log_q = np.log(np.diff(below)), np.log(np.diff(above))
    return np.tile(log_p, (n, 1)), np.tile(log_q, (n, 1))
