"""Attack one leaf: find two neighboring tables that are easy to distinguish, draw releases of both, and count outputs.

A rule is a mechanism that releases the label or the class counts of a leaf. A rule is identified by its name in
`dpforest.privacy.laws`. The tables are synthetic: the attack needs no real data.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import Final

import numpy as np

from dpforest.audit.events import lower_bound
from dpforest.audit.exact import Change, LogPmf, leaf_log_pmf
from dpforest.privacy import samplers, simulators
from dpforest.privacy.laws import NOISY_COUNTS, PUBLISHED
from dpforest.privacy.ledger import rows_changed
from dpforest.privacy.randomness import SecretSource
from dpforest.privacy.rationals import printed_decimal, round_down, round_up
from dpforest.privacy.release import DRAW, rate_for

# Largest number of releases of each table from which the attack chooses the event. The bound uses other releases.
SEARCH: Final = 1_000_000
# Numbers of releases of each table after which the attack computes a bound.
RELEASE_COUNTS: Final = tuple(a * 10**e for e in range(2, 7) for a in (1, 2, 5)) + (10_000_000, 20_000_000)
CONFIDENCE: Final = 0.999
SECONDS: Final = 4.0  # default time limit of an attack
_CHUNK: Final = 100_000  # number of releases between two reports of progress
_NEAR: Final = 0.99  # `first_pair` considers pairs whose loss is at least this share of the largest loss


@dataclass(frozen=True, eq=False)
class LeafPair:
    """Two neighboring tables of one leaf, or of two leaves if a row is replaced by a row of another leaf.

    Parameters
    ----------
    mechanism : str
        Name of the rule in `dpforest.privacy.laws`.
    epsilon : float
        Claimed ε.
    neighbors : {"add-remove", "replace-one"}
        How the two tables differ.
    change : Change
        The change between the tables. Each row of `change.log_before` belongs to a *part* of a release. A part is a
        leaf that releases its label or, under noisy counts, a count that differs between the tables. All parts are
        released independently. The attack distinguishes only two outputs of a noisy count: the noisy count is below the
        larger of the two true counts, or it is not.
    """

    mechanism: str
    epsilon: float
    neighbors: str
    change: Change

    @property
    def loss(self) -> float:
        """Return the largest |ln P(outputs | before) - ln P(outputs | after)|, computed from the laws."""
        return self.change.loss

    @property
    def cells(self) -> tuple[tuple[int, int], ...]:
        """Return (leaf, class) of each count that differs between the tables."""
        return tuple((int(i), int(c)) for i, c in np.argwhere(self.change.before != self.change.after))


@dataclass(frozen=True, eq=False)
class LossEstimate:
    """Lower bound on the loss after `trials` releases of each table.

    Parameters
    ----------
    trials : int
        Number of releases of each table that the bound uses.
    hits : (int, int)
        For each table, the number of releases in which the event happened.
    bound : float
        Largest lower bound on the loss so far. All bounds of an attack hold at once, with the confidence of the attack.
    event : tuple of tuple of int
        The event, as a set of combinations of outputs. A combination has one output of every part. The event happens if
        a release equals one of these combinations.
    """

    trials: int
    hits: tuple[int, int]
    bound: float
    event: tuple[tuple[int, ...], ...]


def rate_of(mechanism: str, epsilon: float, neighbors: str) -> Fraction:
    """Return the rate (inverse scale of the noise) at which a rule claims to cost ε in a single tree.

    A published rule may cost more than ε.
    """
    exact = printed_decimal(epsilon)
    if mechanism in PUBLISHED:
        return exact
    return rate_for(mechanism, exact, n_trees=1, partition="independent", neighbors=neighbors)


def first_pair(mechanism: str, epsilon: float, n_classes: int, neighbors: str) -> LeafPair:
    """Return the pair of tables with the fewest rows that shows the privacy loss of a rule.

    For a published rule, the function returns the pair with the fewest rows among all pairs whose loss exceeds ε. For a
    certified rule, no loss exceeds ε. Then the function considers all pairs whose loss is within 1 % of the largest
    loss. It returns the pair for which the attack is likely to prove the largest bound. Under replace-one, it returns
    a change of two leaves if its loss is more than 1 % above the loss of any change within a leaf.

    Examples
    --------
    >>> pair = first_pair("smooth-sensitivity", 1.0, 2, "add-remove")
    >>> pair.change.before.tolist(), pair.change.after.tolist(), round(pair.loss, 2)
    ([[1, 0]], [[2, 0]], 2.13)
    """
    if mechanism == NOISY_COUNTS:
        return LeafPair(mechanism, epsilon, neighbors, _counts_change(epsilon, n_classes, neighbors))
    pmf = leaf_log_pmf(mechanism, float(rate_of(mechanism, epsilon, neighbors)))
    before, after = _pairs_of_leaves(epsilon, n_classes, neighbors)
    p, q = pmf(before), pmf(after)
    loss = np.abs(p - q).max(axis=1)
    if mechanism in PUBLISHED:
        is_candidate = loss > epsilon * (1 + 1e-9)
    else:
        is_candidate = loss >= _NEAR * loss.max()
        if rows_changed(neighbors) == 2:
            moved = _two_leaves(pmf, epsilon, n_classes)
            if moved.loss > loss.max() / _NEAR:
                return LeafPair(mechanism, epsilon, neighbors, moved)
    rows, provable = before.sum(axis=1), np.zeros(len(before)) if mechanism in PUBLISHED else _provable(p, q).round(6)
    i = min(np.flatnonzero(is_candidate), key=lambda i: (-provable[i], rows[i], -loss[i].round(9), *-before[i]))
    return LeafPair(mechanism, epsilon, neighbors, Change(before[[i]], after[[i]], p[[i]], q[[i]]))


def distinguishing_pair(mechanism: str, epsilon: float, n_classes: int, neighbors: str) -> LeafPair:
    """Return the pair of tables for which the attack, after all releases, is likely to prove the largest bound."""
    pmf = leaf_log_pmf(mechanism, float(rate_of(mechanism, epsilon, neighbors)))
    before, after = _pairs_of_leaves(epsilon, n_classes, neighbors)
    p, q = pmf(before), pmf(after)
    i = int(np.argmax(_provable(p, q)))
    return LeafPair(mechanism, epsilon, neighbors, Change(before[[i]], after[[i]], p[[i]], q[[i]]))


def can_be_proved(pair: LeafPair) -> bool:
    """Return whether the attack on this pair is likely to prove a loss above ε."""
    change = pair.change
    return len(change.before) == 1 and bool(_provable(change.log_before, change.log_after)[0] > pair.epsilon)


def _provable(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Return an estimate, for each pair of leaves, of the bound that the attack would prove with all its releases.

    The event may be more likely on either table. The function estimates a bound for both cases, and returns the larger.
    """
    n, z = RELEASE_COUNTS[-1], 5.0  # z is the number of standard errors between an estimate and a limit
    out = np.zeros(len(log_p))
    for a, b in ((log_p, log_q), (log_q, log_p)):
        is_event = a > b + 1e-12
        likely, unlikely = (np.where(is_event, np.exp(x), 0.0).sum(axis=1) for x in (a, b))
        low = likely - z * np.sqrt(likely / n)
        high = unlikely + z * np.sqrt(unlikely / n) + z * z / (2 * n)
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.fmax(out, np.where(low > 0, np.log(low / high), 0.0))
    return out


def _pairs_of_leaves(epsilon: float, n_classes: int, neighbors: str) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of leaves that differ in one row, as counts before and after the change.

    For each number of rows of the top class, there is a leaf with only these rows, and a leaf that also has a row of a
    second class. In further leaves, several classes tie. A published rule depends only on the top classes and their
    lead, so these leaves cover all cases. The loss of any other rule approaches its largest value as the lead grows; at
    a lead of 10/ε, the loss is within 1 % of this value.
    """
    most = math.ceil(10 / epsilon) + 2
    lead = np.arange(most + 1)[:, None] * np.eye(1, n_classes, dtype=int)
    with_runner_up = lead + np.eye(1, n_classes, k=1, dtype=int)
    tied = np.tril(np.ones((n_classes, n_classes), int))
    leaves = np.unique(np.concatenate([lead, with_runner_up, tied]), axis=0)
    added = np.eye(n_classes, dtype=int)[sorted({0, 1, n_classes - 1})]
    steps = added if rows_changed(neighbors) == 1 else np.array([a - b for a, b in itertools.permutations(added, 2)])
    before = np.repeat(leaves, len(steps), axis=0)
    after = before + np.tile(steps, (len(leaves), 1))
    possible = after.min(axis=1) >= 0
    return before[possible], after[possible]


def _two_leaves(pmf: LogPmf, epsilon: float, n_classes: int) -> Change:
    """Return the change with the largest loss among changes that move a row from one leaf to another leaf."""
    before, after = _pairs_of_leaves(epsilon, n_classes, "add-remove")
    p, q = pmf(before), pmf(after)
    i, j = int((p - q).max(axis=1).argmax()), int((q - p).max(axis=1).argmax())
    return Change(
        np.array([before[i], after[j]]), np.array([after[i], before[j]]), np.array([p[i], q[j]]), np.array([q[i], p[j]])
    )


def _counts_change(epsilon: float, n_classes: int, neighbors: str) -> Change:
    """Return the change of one count from 0 to 1. Under replace-one, the count of a second class falls by 1."""
    rate = float(rate_of(NOISY_COUNTS, epsilon, neighbors))
    before, after = np.zeros((2, 1, n_classes), int)
    after[0, 0] = 1
    reaches_1 = 1 / (1 + np.exp(-rate))  # P(noisy count >= 1) for a true count of 1
    log_for_0, log_for_1 = np.log([reaches_1, 1 - reaches_1]), np.log([1 - reaches_1, reaches_1])
    log_before, log_after = [log_for_0], [log_for_1]
    if rows_changed(neighbors) == 2:
        before[0, 1] = 1
        log_before.append(log_for_1)
        log_after.append(log_for_0)
    return Change(before, after, np.array(log_before), np.array(log_after))


def attack_leaf(
    pair: LeafPair,
    source: SecretSource,
    *,
    confidence: float = CONFIDENCE,
    seconds: float = SECONDS,
    most: int | None = None,
) -> Iterator[tuple[float, LossEstimate | None]]:
    """Draw releases of both tables, and yield a lower bound on the loss as the number of releases grows.

    The attack chooses an event from a separate sample; the bound uses all later releases. The attack computes a bound
    after each number of releases in `RELEASE_COUNTS`. The error probability 1 - confidence is divided among all these
    bounds, so that they hold at once, whenever the attack stops.

    Parameters
    ----------
    pair : LeafPair
        The two tables, and the rule that releases them.
    source : SecretSource
        Source of randomness. Labels and counts of a certified rule come from the integer samplers of a release; labels
        of a published rule come from the simulators in floating point.
    confidence : float
        Least probability that no bound is above the true loss.
    seconds : float
        Time limit of the attack, in seconds; infinity if only `most` ends the attack.
    most : int, optional
        Limit on the releases of each table: at most this number for the choice of the event, and at most this number
        for the bound.

    Yields
    ------
    float
        Share of the work that is done, from 0 to 1.
    LossEstimate or None
        The new bound; None if this step only reports progress.
    """
    start = monotonic()
    looks = tuple(size for size in RELEASE_COUNTS if most is None or size <= most)
    search = SEARCH if most is None else min(SEARCH, most)
    total = search + looks[-1]
    n = 0
    hits = np.zeros(2, np.int64)
    sample = np.zeros((2, _n_codes(pair)), np.int64)

    def share(drawn: int) -> float:
        return min(max(drawn / total, (monotonic() - start) / seconds), 1.0)

    while (drawn := int(sample[0].sum())) < search and (drawn == 0 or monotonic() - start < seconds / 4):
        sample += _tally(pair, min(_CHUNK, search - drawn), source)
        yield share(int(sample[0].sum())), None
    event = _choose(sample, looks[-1], 1 - confidence)
    combinations = tuple(_outputs(pair, int(code)) for code in np.flatnonzero(event))
    bound = 0.0
    for size in looks:
        while n < size:
            if n and monotonic() - start > seconds:
                return
            part = min(_CHUNK, size - n)
            hits += _tally(pair, part, source)[:, event].sum(axis=1)
            n += part
            if n < size:
                yield share(drawn + n), None
        new_bound = float(lower_bound(hits[0], hits[1], n, alpha=1 - confidence, n_events=len(looks)))
        bound = max(bound, new_bound)
        yield share(drawn + n), LossEstimate(n, (int(hits[0]), int(hits[1])), bound, combinations)


def _choose(sample: np.ndarray, trials: int, alpha: float) -> np.ndarray:
    """Return the event to count, as a bool array (n_codes,) with an entry for each combination of outputs.

    The event consists of the combinations that are most probable on the first table relative to the second table. The
    function chooses the number of combinations that yields the largest bound in `sample`. If the complement of the
    event yields this bound, the function returns the complement.
    """
    log_ratio = np.log(sample[0] + 0.5) - np.log(sample[1] + 0.5)
    order = np.argsort(-log_ratio, kind="stable")
    scale = trials / sample[0].sum()  # scales the sample's counts to all trials
    # The last event, of all combinations, is omitted. `lower_bound` also tries the complement of each event.
    event_hits = np.cumsum(sample[:, order], axis=1)[:, :-1] * scale
    best = int(np.argmax(lower_bound(event_hits[0], event_hits[1], trials, alpha=alpha)))
    event = np.zeros(sample.shape[1], bool)
    event[order[: best + 1]] = True
    ratio = [abs(float(np.diff(np.log(sample[:, part].sum(axis=1) + 0.5))[0])) for part in (event, ~event)]
    return event if ratio[0] >= ratio[1] else ~event  # the event or its complement, whichever yields the bound


def _n_codes(pair: LeafPair) -> int:
    parts, outputs = pair.change.log_before.shape
    return int(outputs**parts)


def _outputs(pair: LeafPair, code: int) -> tuple[int, ...]:
    return tuple(
        int(i) for i in np.unravel_index(code, (pair.change.log_before.shape[1],) * len(pair.change.log_before))
    )


def _tally(pair: LeafPair, n: int, source: SecretSource) -> np.ndarray:
    """Draw n releases of each table, and count each combination of outputs, int (2, n_codes)."""
    tables = (pair.change.before, pair.change.after)
    return np.array([np.bincount(_release(pair, table, n, source), minlength=_n_codes(pair)) for table in tables])


def _release(pair: LeafPair, table: np.ndarray, n: int, source: SecretSource) -> np.ndarray:
    """Draw n releases of a table, and return the code of the combination of outputs of each release, int64 (n,)."""
    rate = rate_of(pair.mechanism, pair.epsilon, pair.neighbors)
    code = np.zeros(n, np.int64)
    if pair.mechanism == NOISY_COUNTS:
        for leaf, c in pair.cells:
            counts_of_cell = np.full((n, 1), table[leaf, c])
            noisy = samplers.draw_noisy_counts(counts_of_cell, round_up(1 / rate), source)[:, 0]
            code = 2 * code + (noisy >= max(pair.change.before[leaf, c], pair.change.after[leaf, c]))
        return code
    for leaf in table:
        counts = np.tile(leaf, (n, 1))
        if pair.mechanism in PUBLISHED:
            seed = int(source.words(1)[0] >> np.uint64(1))
            labels = simulators.simulate_labels(counts, pair.mechanism, float(rate), seed)
        else:
            labels = DRAW[pair.mechanism](counts, round_down(rate), source)
        code = code * len(leaf) + labels
    return code
