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
from dpforest.risk.success_rate import REPORT_SIZES, SECONDS, Estimates, success_rate
from dpforest.tables.domain import Domain
from dpforest.trees import routing
from dpforest.trees.forest import Forest
from dpforest.trees.leaves import LabelLeaves, ScoreLeaves

MOST_SHADOWS: Final = 2_000  # largest number of fits to learn from
FEWEST_SHADOWS: Final = 10  # least number of fits to learn from, however long they take


def shadow_attack(
    estimator: DataDependentClassifier,
    domain: Domain,
    codes: np.ndarray,
    labels: np.ndarray,
    row: int,
    *,
    seed: int = 0,
    seconds: float = 4 * SECONDS,
    max_guesses: int = REPORT_SIZES[-1],
) -> Estimates:
    """Attack a record of a `DataDependentClassifier` by repeated fits; see `attack_record`.

    A forest has several answers on the record, such as votes and leaf values. In the first quarter of the time (or of
    `max_guesses` fits), the attack learns which answer differs most between fits with and without the record, and a
    threshold for this answer. Then the attack guesses on fresh fits.
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
    other_rows = np.delete(codes, row, axis=0), np.delete(labels, row)
    target, label = codes[row : row + 1], int(labels[row])

    def play() -> tuple[bool, np.ndarray]:
        inside = bool(rng.random() < 0.5)
        fitted = clone(model).set_params(random_state=int(rng.integers(2**62))).fit_encoded(domain, tables[inside])
        return inside, _answers(fitted, domain, target, label, other_rows)

    start, n_learning = monotonic(), max_guesses // 4
    games: list[tuple[bool, np.ndarray]] = []
    while len(games) < min(FEWEST_SHADOWS, n_learning) or (
        len(games) < min(n_learning, MOST_SHADOWS) and monotonic() - start < seconds / 4
    ):
        games.append(play())
        yield 0.25 * min(1.0, max(len(games) / n_learning, 4 * (monotonic() - start) / seconds)), None
    is_inside = _learn_threshold(np.array([inside for inside, _ in games]), np.array([answers for _, answers in games]))

    def guess(wanted: int) -> tuple[int, int]:
        inside, answers = play()
        return 1, int(is_inside(answers) == inside)

    for share_done, attack_estimate in success_rate(
        guess, seconds=seconds - (monotonic() - start), max_guesses=max_guesses - len(games)
    ):
        yield 0.25 + 0.75 * share_done, attack_estimate


def rarest_row(codes: np.ndarray, labels: np.ndarray) -> int:
    """Return the index of the rarest row: the log-frequencies of its class and of its values have the least sum.

    If a column has codes of 4,096 or more, its values are divided into 16 bins of equal width.
    """
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
        replaced_labels = labels.copy()
        replaced_labels[row] = (labels[row] + 1) % domain.n_classes
        before = model.encode(domain, codes, replaced_labels, ids)
    else:
        is_other = ids != row
        before = model.encode(domain, codes[is_other], labels[is_other], ids[is_other])
    return before, model.encode(domain, codes, labels, ids)


def _answers(
    forest: Forest, domain: Domain, target: np.ndarray, label: int, other_rows: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return a forest's answers on a record, float (n_answers,).

    The first answer is the predicted share of the record's class. The other answers are the values of the
    record's leaves, the share of these leaves with the class as label, or the noisy counts of the class with and
    without the other rows.
    """
    leaves = routing.leaves_of_rows(forest.trees, domain, target)[:, 0]
    answers = [forest.shares_and_index(target)[0][0, label]]
    published = forest.leaves
    if isinstance(published, ScoreLeaves):
        answers += published.leaf_values[leaves].ravel().tolist()
    elif isinstance(published, LabelLeaves):
        answers.append(np.mean(published.labels[leaves] == label))
    else:
        other_counts = routing.count_rows(forest.trees, domain, *other_rows, n_classes=domain.n_classes)
        answers += [*published.noisy_counts[leaves, label], *(published.noisy_counts - other_counts)[leaves, label]]
    return np.array(answers, float)


def _learn_threshold(inside: np.ndarray, answers: np.ndarray) -> Callable[[np.ndarray], bool]:
    """Return a rule for guesses: a threshold for one answer, with which most guesses on the given fits are right."""
    best, best_rule = -1.0, (0, np.inf, False)
    for index, values in enumerate(answers.T):
        distinct = np.unique(np.quantile(values, np.linspace(0, 1, 65)))
        for threshold in (distinct[1:] + distinct[:-1]) / 2:
            share = float(((values > threshold) == inside).mean())
            if max(share, 1 - share) > best:
                best, best_rule = max(share, 1 - share), (index, float(threshold), share >= 0.5)
    index, threshold, upward = best_rule
    return lambda answers: bool((answers[index] > threshold) == upward)
