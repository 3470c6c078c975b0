"""A shadow attack on a data-dependent forest: fit it with and without a record, learn the difference, then guess.

The best attack would use the likelihood ratio of a release, which is unknown, because every step of a fit depends on
the record. So the success rate of this attack is a lower bound on that of the best attack (Shokri et al. 2017). Fits
are simulated from seeds and use raw rows, so only the curator (the data holder) may see the results.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final

import numpy as np
from sklearn.base import clone

from dpforest.models.data_dependent import DataDependentClassifier, EncodedRows
from dpforest.privacy.ledger import rows_changed
from dpforest.risk.success_rate import LOOKS, SECONDS, Estimates, success_rate
from dpforest.tables.domain import Domain
from dpforest.trees import routing
from dpforest.trees.forest import Forest
from dpforest.trees.leaves import LabelLeaves, ScoreLeaves

MOST_SHADOWS: Final = 2_000  # largest number of fits to learn from
FEWEST_SHADOWS: Final = 10


def shadow_attack(
    estimator: DataDependentClassifier,
    domain: Domain,
    codes: np.ndarray,
    labels: np.ndarray,
    row: int,
    *,
    seed: int = 0,
    seconds: float = 4 * SECONDS,
    most: int = LOOKS[-1],
) -> Estimates:
    """Attack a record of a `DataDependentClassifier` by repeated fits; see `attack_record`.

    A forest has several answers on the record, such as votes and leaf values. In the first quarter of the time (or of
    `most` fits), the attack learns which answer differs most between fits with and without the record, and a threshold
    for this answer. Then the attack guesses on fresh fits.
    """
    if estimator.epsilon is None:
        raise ValueError("epsilon=None: without noise there is nothing to guess; give an epsilon")
    if not 0 <= row < len(labels):
        raise ValueError(f"row={row} is not a row of the table, which has {len(labels):,}")
    rng = np.random.default_rng(seed)
    model = clone(estimator).set_params(domain=domain)
    model.check_reading_domain(domain)
    model.check(domain, len(labels))
    tables = _with_and_without(model, domain, codes, labels, row)
    others = np.delete(codes, row, axis=0), np.delete(labels, row)
    asked, label = codes[row : row + 1], int(labels[row])

    def play() -> tuple[bool, np.ndarray]:
        inside = bool(rng.random() < 0.5)
        fitted = clone(model).set_params(random_state=int(rng.integers(2**62))).fit_encoded(domain, tables[inside])
        return inside, _answers(fitted, domain, asked, label, others)

    start, share = monotonic(), most // 4
    seen: list[tuple[bool, np.ndarray]] = []
    while len(seen) < min(FEWEST_SHADOWS, share) or (
        len(seen) < min(share, MOST_SHADOWS) and monotonic() - start < seconds / 4
    ):
        seen.append(play())
        yield 0.25 * min(1.0, max(len(seen) / share, 4 * (monotonic() - start) / seconds)), None
    rule = _learn(np.array([inside for inside, _ in seen]), np.array([answers for _, answers in seen]))

    def guess(wanted: int) -> tuple[int, int]:
        inside, answers = play()
        return 1, int(rule(answers) == inside)

    for done, look in success_rate(guess, seconds=seconds - (monotonic() - start), most=most - len(seen)):
        yield 0.25 + 0.75 * done, look


def rarest_row(codes: np.ndarray, labels: np.ndarray) -> int:
    """Return the rarest row: the log-frequencies of its class and of its values (in 16 bins) have the least sum."""
    score = np.log(np.bincount(labels)[labels])
    for column in codes.T:
        part = column >> 12 if column.max() >= 4_096 else column
        score = score + np.log(np.bincount(part)[part])
    return int(np.argmin(score))


def _with_and_without(
    model: DataDependentClassifier, domain: Domain, codes: np.ndarray, labels: np.ndarray, row: int
) -> tuple[EncodedRows, EncodedRows]:
    """Return the encoded table without the record (or with its stand-in), and with the record. Rows keep their ids."""
    ids = np.arange(len(labels))
    if rows_changed(model.neighbors) == 2:
        other = labels.copy()
        other[row] = (labels[row] + 1) % domain.n_classes
        before = model.encode(domain, codes, other, ids)
    else:
        kept = ids != row
        before = model.encode(domain, codes[kept], labels[kept], ids[kept])
    return before, model.encode(domain, codes, labels, ids)


def _answers(
    forest: Forest, domain: Domain, asked: np.ndarray, label: int, others: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return a forest's answers on a record: the share of its class, and leaf values, label shares or noisy counts."""
    leaves = routing.leaves_of_rows(forest.trees, domain, asked)[:, 0]
    out = [forest.shares_and_index(asked)[0][0, label]]
    held = forest.leaves
    if isinstance(held, ScoreLeaves):
        out += held.leaf_values[leaves].ravel().tolist()
    elif isinstance(held, LabelLeaves):
        out.append(np.mean(held.labels[leaves] == label))
    else:
        known = routing.count_rows(forest.trees, domain, *others, n_classes=domain.n_classes)
        out += [*held.noisy_counts[leaves, label], *(held.noisy_counts - known)[leaves, label]]
    return np.array(out, float)


def _learn(inside: np.ndarray, answers: np.ndarray) -> Callable[[np.ndarray], bool]:
    """Return a rule for guesses: a threshold for one answer, with which most guesses on the given fits are right."""
    best, rule = -1.0, (0, np.inf, False)
    for place, values in enumerate(answers.T):
        distinct = np.unique(np.quantile(values, np.linspace(0, 1, 65)))
        for threshold in (distinct[1:] + distinct[:-1]) / 2:
            share = float(((values > threshold) == inside).mean())
            if max(share, 1 - share) > best:
                best, rule = max(share, 1 - share), (place, float(threshold), share >= 0.5)
    place, threshold, upward = rule
    return lambda answers: bool((answers[place] > threshold) == upward)
