"""Second check of sensitivities: find the largest change by one row, and compute its cost from the noise of a fit.

This module does not use the sensitivity that a mechanism declares. It records the questions of a tiny fit, which are
its accesses to private rows, and the noise of each answer. For each question, a search runs the compiled functions of
the fit on single rows to find the largest change by one row. The total cost of these changes must not exceed the loss
that the forest promises. For scales (noisy histograms of numeric attributes), the search tries every code of an
attribute. For gradients, the search climbs from rows of three kinds: some scores of a row are very high, all its scores
are 0, or its scores have a small or large spread.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy as np

from dpforest.audit.exact import most_mu
from dpforest.audit.replay.recorder import record
from dpforest.audit.replay.tape import Question
from dpforest.limits import MAX_BOUND
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.boosting.clip_bound import ClipBound
from dpforest.models.boosting.gradients import next_sums
from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier
from dpforest.privacy.ledger import NEIGHBORS, NUMBER_OF_ROWS, REPLACE_ONE, SCALE_OF_ATTRIBUTES
from dpforest.privacy.loss import GAUSSIAN, PURE
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from dpforest.trees.candidates import public_candidates
from dpforest.trees.released_scale import CELLS, nested_counts, scale_histograms
from dpforest.trees.split_scores import COUNTED, UNIT, score_splits

CLASSES: Final = (2, 3, 4, 7, 10, 25, 50)
_STEP: Final = 2**12  # step of a row's score; smaller steps do not change the gradient
_FAR: Final = 2**27  # a very high score
_CHAINS: Final = 300  # number of search chains
_ROUNDING: Final = 1e-9  # relative tolerance for errors of floats
_NOTE: Final[dict[str, Any]] = {"source": "documented", "source_note": "single_rows.py"}


def check_single_rows(*, whole: bool = True) -> Iterator[str]:
    """Yield a message for each forest in which one row costs more than the forest promises, or than the ledger charges.

    Parameters
    ----------
    whole : bool
        True: all codes and a long search. False: some codes and a search of a few seconds.
    """
    for n_classes in CLASSES:
        for delta in (0, 1e-6):
            for neighbors in NEIGHBORS:
                yield from _rounds(n_classes, delta, neighbors, whole)
    yield from _splits(whole)


# ---------------------------------------------------------------- the random-tree booster, and the questions before it


def _rounds(n_classes: int, delta: float, neighbors: str, whole: bool) -> Iterator[str]:
    loss, promise = worst_loss(n_classes, delta, neighbors, whole=whole)
    if loss > promise * (1 + 1e-7):
        description = f"booster, {n_classes} classes, δ = {delta:g}, {neighbors}"
        yield f"{description}: the worst row loses {loss:.5g} on all questions together, more than {promise:.5g}"


def worst_loss(n_classes: int, delta: float, neighbors: str, *, whole: bool = False) -> tuple[float, float]:
    """Return the largest total loss of a row over all questions of a booster, and the loss that the booster promises.

    Both losses are ε or, if `delta` is above 0, μ. The fit also asks for the number of rows and for the scale of the
    attributes.
    """
    domain = _domain(n_classes)
    model = RandomTreeBoosterClassifier(
        domain=domain, epsilon=1.0, delta=delta, n_estimators=3, max_depth=1, scale_share=0.4, neighbors=neighbors
    )
    X, y = np.array([[0.5, 0.5, 0.0]] * 2), np.array([0, 1])
    losses = []
    for question in _noise_questions(lambda table: model.fit(*table), (X, y)):
        change = _change(question, n_classes, bool(delta), whole)
        losses.append(question.rate * change * (2 if neighbors == REPLACE_ONE else 1))
    if not delta:
        return sum(losses), 1.0
    return sum(loss**2 for loss in losses) ** 0.5, most_mu(1.0, delta)


def _change(question: Question, n_classes: int, is_l2: bool, whole: bool) -> float:
    assert question.charge is not None
    what = question.charge.entry.what  # only the name of the charge, not its declared sensitivity
    if what == NUMBER_OF_ROWS:
        return 1.0  # one row changes n by 1
    if what.startswith(SCALE_OF_ATTRIBUTES):
        return largest_of_scale(n_classes, is_l2, whole=whole)
    return largest_gradient(n_classes, is_l2, steps=300 if whole else 60)


def _noise_questions(fit: Any, table: Any) -> list[Question]:
    return [question for question in record(fit, table).questions if question.what == "noise"]


def _domain(n_classes: int) -> Domain:
    """Return a domain with two numeric attributes and a categorical attribute.

    The first numeric attribute has separate codes for missing cells. The second one reads a missing cell as 0.5.
    """
    features = (
        Feature("a", "numeric", 0.0, 1.0, missing="category", **_NOTE),
        Feature("b", "numeric", 0.0, 1.0, missing="value", missing_value=0.5, **_NOTE),
        Feature("c", "categorical", categories=("0", "1"), missing="category", **_NOTE),
    )
    return Domain(features, tuple(range(n_classes)), "y", "documented", "single_rows.py")


@cache
def _codes(first: int, whole: bool) -> np.ndarray:
    """Return all codes of an attribute or, unless `whole`, some codes and all codes near borders of histogram cells."""
    if whole:
        return np.arange(65_536)
    borders = first + -(-np.arange(CELLS + 1) * (65_536 - first) // CELLS)
    near = borders[:, None] + np.array([-2, -1, 0, 1, 2])
    return np.unique(np.clip(np.r_[near.ravel(), 0, first - 1, np.arange(0, 65_536, 331)], 0, 65_535))


def largest_of_scale(n_classes: int, is_l2: bool, *, whole: bool = False) -> float:
    """Return the largest L1 or L2 norm of what one row adds to the three histograms of all numeric attributes.

    The search treats attributes separately, because one row may have the worst code in every attribute.
    """
    domain = _domain(n_classes)
    total = 0.0
    for j in range(2):
        codes = np.zeros((len(_codes(domain.features[j].first_code, whole)), domain.n_features), np.uint16)
        codes[:, j] = _codes(domain.features[j].first_code, whole)
        cells = np.stack([scale_histograms(domain, codes[i : i + 1])[j] for i in range(len(codes))])
        added = nested_counts(cells).reshape(len(cells), -1).astype(float)
        total += float(((added**2).sum(axis=1) if is_l2 else abs(added).sum(axis=1)).max())
    return total**0.5 if is_l2 else total


def largest_gradient(n_classes: int, is_l2: bool, *, steps: int = 60, seed: int = 0) -> float:
    """Search for the largest change of a round's gradient sums by one row, and return its L1 or L2 norm.

    Many search chains start at scores for which the change is close to its bound. A move shifts some scores by one or
    two steps of the grid on which gradients are computed. A chain accepts a move unless the change becomes smaller.
    """
    rng = np.random.default_rng(seed)
    clip = ClipBound(n_classes, GAUSSIAN if is_l2 else PURE)
    k = clip.n_scores
    scores, y = _starts(rng, k), rng.integers(0, n_classes, _CHAINS).astype(np.int32)
    best = _sizes(scores, y, clip)
    for step in range(steps):
        moved = scores + rng.integers(-2, 3, scores.shape) * _STEP * (rng.random(scores.shape) < rng.choice([0.1, 0.5]))
        if step % 5 == 4:
            moved = np.where(rng.random(scores.shape) < 0.1, _starts(rng, k), moved)
        size = _sizes(moved, y, clip)
        better = size >= best
        scores[better], best[better] = moved[better], size[better]
    return float(best.max())


def _starts(rng: np.random.Generator, k: int) -> np.ndarray:
    """Draw the starting scores of all chains: all 0, some far above the others, or with a small or large spread."""
    high = rng.random((_CHAINS, k)) < rng.random((_CHAINS, 1))
    spread = 10.0 ** rng.uniform(-2, 1, (_CHAINS, 1)) * 2**20
    scores = np.where(high, _FAR, 0) + np.rint(rng.normal(size=(_CHAINS, k)) * spread).astype(np.int64)
    scores[rng.random(_CHAINS) < 0.2] = 0
    return scores


def _sizes(scores: np.ndarray, y: np.ndarray, clip: ClipBound) -> np.ndarray:
    """Return for each row the L1 or L2 norm of its change of the gradient sums. Each row is in a separate leaf."""
    n = len(scores)
    leaf, no_sums = np.arange(n, dtype=np.int32), np.zeros_like(scores)
    gradient_sums = next_sums(scores.copy(), np.zeros(n, np.int32), no_sums, leaf, y, clip).astype(float)
    return np.sqrt((gradient_sums**2).sum(axis=1)) if clip.is_l2 else abs(gradient_sums).sum(axis=1)


# ---------------------------------------------------------------- split scores of nodes with many classes and rows


def _splits(whole: bool) -> Iterator[str]:
    """Check that choosing a split costs at most the charge, in nodes with up to 50 classes and all sizes of tables."""
    for model, n_classes in _choosers():
        loss, charge = _worst_choice(model, n_classes, 400 if whole else 100)
        if loss > charge * (1 + _ROUNDING):
            settings = {
                k: v for k, v in model.get_params().items() if k in ("criterion", "alpha", "n_bound", "size") and v
            }
            description = f"{type(model).__name__}, {settings}, {n_classes} classes"
            yield f"{description}: at this rate a row costs {loss:.5g} in a choice, and {charge:.5g} is paid for it"


def _choosers() -> Iterator[tuple[ForestClassifier, int]]:
    """Yield forests that choose splits, each with its number of classes. Some forests have an `n_bound` or a `size`."""
    bounds: list[dict[str, Any]] = [{"n_bound": n} for n in (3, 40, 1_000, 65_537, 1_000_000)]
    bounds += [{"size": 1}, {"size": 1_000}, {}]
    for bound in bounds:
        shared: dict[str, Any] = {"epsilon": 1.0, "max_depth": 1, "n_bins": 2, "scale_share": "public", **bound}
        for criterion in COUNTED:
            for k in (2, 10, 50):
                yield FriedmanSchusterClassifier(domain=_domain(k), criterion=criterion, **shared), k
        for alpha in ("schedule", 0.0, 0.3, 1.0):
            yield BoostedForestClassifier(domain=_domain(2), n_estimators=1, alpha=alpha, **shared), 2


def _worst_choice(model: Any, n_classes: int, tries: int) -> tuple[float, float]:
    """Return the largest cost of one row in the first choice of a split, and the amount that the ledger charges."""
    X, y = np.array([[0.1, 0.9, 0.0], [0.9, 0.1, 1.0]]), np.array([0, 1])
    questions = record(lambda table: model.fit(*table), (X, y)).questions
    choice = next(question for question in questions if question.what == "choice")
    assert choice.charge is not None and choice.charge.entry.each is not None
    n_halvings, weight = _halvings(choice), 1
    criterion, alpha = getattr(model, "criterion", "m-alpha"), UNIT
    if criterion == "m-alpha":  # in the first tree, all rows have the same weight
        weight = int(next(question for question in questions if question.what == "noise").private.sum()) // len(y)
        alpha = UNIT if model.alpha == "schedule" else round(UNIT * model.alpha)  # α of the first level
    children = weight * _children(np.random.default_rng(0), (model.n_bound or MAX_BOUND) - 1, n_classes, tries)
    before, width = _scores(children, criterion, alpha) >> n_halvings, 0
    for label in range(min(n_classes, 3)):
        with_row = children.copy()
        with_row[:, label] += weight
        changes = (_scores(with_row, criterion, alpha) >> n_halvings) - before
        width = max(width, int(changes.max()) - int(changes.min()))
    return choice.rate * width, float(choice.charge.entry.each.amount)


def _halvings(choice: Question) -> int:
    """Return how many times the fit halved the declared scores to get the scores of the sampler."""
    assert choice.declared is not None
    declared_scores = choice.declared[1].astype(np.int64)
    return max(bits for bits in range(64) if ((declared_scores >> bits) == choice.private).all())


def _children(rng: np.random.Generator, most: int, n_classes: int, tries: int) -> np.ndarray:
    """Draw counts of rows by class in one child: no rows, few rows, rows of one class, equal or other counts."""
    out = [np.zeros(n_classes, np.int64)]
    for i in range(tries):
        total = most if i % 3 == 0 else int(np.exp(rng.uniform(0, np.log(most + 1))))
        share = rng.dirichlet(np.full(n_classes, 10.0 ** rng.uniform(-2, 2)))
        if i % 4 == 0:
            share = np.eye(n_classes)[rng.integers(min(n_classes, 4))]
        out.append(rng.multinomial(min(total, most), share))
    return np.array(out, np.int64)


def _scores(children: np.ndarray, criterion: str, alpha: int) -> np.ndarray:
    """Return the score of the split that puts all rows of a node into its left child."""
    halves = Domain((Feature("x", "numeric", 0.0, 1.0, **_NOTE),), (0, 1), "y", "documented", "single_rows.py")
    histogram = np.stack([children, np.zeros_like(children)], axis=1)
    return score_splits(histogram, public_candidates(halves, 2), criterion, alpha)[:, 0]
