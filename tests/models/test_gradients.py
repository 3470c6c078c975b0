"""Gradients against exact integers, and their bound, on scores that are grids, ladders (equal steps) or extreme."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from math import isqrt

import numpy as np
import pytest

from dpforest.limits import MAX_CLASSES
from dpforest.models.boosting.clip_bound import UNIT, ClipBound
from dpforest.models.boosting.gradients import LARGEST, POINT, TABLES, next_sums
from dpforest.models.boosting.round_rule import MOST_ROUNDS

CELL, CELLS = 2**12, 40 * 256  # width of a table cell in units of 1/2**20, and number of cells
FARTHEST = MOST_ROUNDS * LARGEST  # the largest distance of a score from 0
# Before truncation, float rounding changes a gradient by less than this (proof in the tested module).
NEAR = Fraction(1, 2**36)


@cache
def exact_table(of_two: bool) -> list[int]:
    """Return 2**30 exp(-j/256), or 1024 / (1 + exp(j/256)) for two classes, rounded to integers, for each cell j.

    No value is near the middle of two integers, so the direction of rounding is certain.
    """
    with localcontext(prec=50):
        powers = [(Decimal(j) / 256).exp() for j in range(CELLS)]
        values = [UNIT / (1 + e) if of_two else 2**30 / e for e in powers]
        assert min(abs(v % 1 - Decimal("0.5")) for v in values) > Decimal("1e-5")  # np.exp is off by at most 2**-22
        return [int(v + Decimal("0.5")) for v in values]


def computed(scores: np.ndarray, label: int, *, is_l2: bool) -> np.ndarray:
    """Return the gradients that the kernel computes for rows of scores, int64 (n, k). Each row is in another leaf."""
    n, n_scores = scores.shape
    leaf, y = np.arange(n, dtype=np.int32), np.full(n, label, np.int32)
    clip = ClipBound(max(n_scores, 2), "gaussian" if is_l2 else "pure")
    return next_sums(scores.copy(), leaf, np.zeros_like(scores), leaf, y, clip)


@cache
def exact(label_value: int, others: tuple[int, ...], is_l2: bool) -> tuple[list[int], list[int], int]:
    """Return the absolute values |g| of a gradient: truncated, and as exact numerators with a common denominator.

    The first component belongs to the class of the row. Let e be the exponential of a class's score, and T the sum of
    all e. The component of the row's class is 1 - e/T, and that of any other class is -e/T. If `is_l2`, the gradient is
    shortened so that the sum of its squares is at most (k-1)/k, and the returned numerators and denominator are
    squared. Otherwise, the gradient is shortened so that the sum of its |g| is at most 2 (k-1)/k. Unshortened, the sum
    is 2 (T - e)/T, with the e of the row's class.
    """
    total, k = label_value + sum(others), len(others) + 1
    tops = (total - label_value, *others)  # |g| times `total`
    if is_l2:
        squares = sum(t * t for t in tops)
        is_clipped = k * squares > (k - 1) * total**2
        above, below = (UNIT**2 * (k - 1), k * squares) if is_clipped else (UNIT**2, total**2)
        above_each = [t * t * above for t in tops]
        return [isqrt(above // below) for above in above_each], above_each, below
    above, below = (UNIT * (k - 1), k * (total - label_value)) if k * label_value < total else (UNIT, total)
    above_each = [t * above for t in tops]
    return [above // below for above in above_each], above_each, below


def check_values(scores: np.ndarray, label: int, *, is_l2: bool) -> None:
    """Check that each computed gradient is the exact gradient, truncated to an integer.

    The two may differ by 1 only if the exact gradient is nearly an integer.
    """
    table = exact_table(False)
    at = (scores.max(axis=1, keepdims=True) - scores + CELL // 2) // CELL
    values = np.where(at < CELLS, np.array(table)[np.minimum(at, CELLS - 1)], 0)
    gradients_of_rows = computed(scores, label, is_l2=is_l2)
    assert np.all(gradients_of_rows[:, label] >= 0) and np.all(np.delete(gradients_of_rows, label, axis=1) <= 0)
    for row, out in zip(values.tolist(), np.abs(gradients_of_rows).tolist(), strict=True):
        label_value, mine = row.pop(label), out.pop(label)
        expected, above, below = exact(label_value, tuple(row), is_l2)
        if [mine, *out] != expected:
            for size, size_wanted, value in zip([mine, *out], expected, above, strict=True):
                border = max(size, size_wanted)
                low, high = (border - NEAR) ** (1 + is_l2), (border + NEAR) ** (1 + is_l2)
                is_near = abs(size - size_wanted) == 1 and low <= Fraction(value, below) <= high
                assert size == size_wanted or is_near


def check_bound(scores: np.ndarray, label: int, *, is_l2: bool) -> None:
    """Check the bound on gradients for every row, in exact integers."""
    k = scores.shape[1]
    sizes = np.abs(computed(scores, label, is_l2=is_l2))
    assert sizes.max() <= UNIT
    most = (UNIT**2 if is_l2 else 2 * UNIT) * (k - 1)
    assert k * (sizes**2 if is_l2 else sizes).sum(axis=1).max() <= most


NORMS = pytest.mark.parametrize("is_l2", [True, False], ids=["L2", "L1"])
STEPS = [0, 1, CELL // 2 - 1, CELL // 2, CELL // 2 + 1, CELL, 2**POINT // 3, 2**POINT, 3 * 2**POINT, 10 * 2**POINT,
         20 * 2**POINT + 1, 21 * 2**POINT, CELLS * CELL - CELL // 2 - 1, CELLS * CELL - CELL // 2, CELLS * CELL,
         CELLS * CELL + 1, LARGEST, FARTHEST]  # fmt: skip
GRID = sorted({sign * step for step in STEPS for sign in (1, -1)})


@NORMS
def test_three_classes_on_a_grid(is_l2):
    scores = np.array(list(product(GRID, repeat=3)), np.int64)
    for label in range(3):
        check_bound(scores, label, is_l2=is_l2)
        check_values(scores, label, is_l2=is_l2)


def adversarial(k: int, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return scores of k classes, int64 (n', k).

    Some rows of scores are random, on eight scales. In other rows, some classes differ from the rest, all classes are
    equal, or scores rise in equal steps.
    """
    scales = np.geomspace(2, 2**POINT * 60, 8)[:, None, None] * rng.normal(size=(8, n, k))
    single_class = np.concatenate([np.eye(k) * height for height in (*STEPS[1:], -1, -(2**POINT), -FARTHEST)])
    ladders = [np.arange(k) * step for step in STEPS[:-1]] + [
        2.0**POINT * ratio ** np.arange(k) for ratio in (0.5, 0.9)
    ]
    blocks = [np.where(np.arange(k) < split, 0, -height) for split in range(1, k) for height in STEPS[1:12]]
    scores = np.concatenate(
        [scales.reshape(-1, k), single_class, np.array(ladders), np.array(blocks), np.zeros((1, k))]
    )
    return np.clip(scores, -FARTHEST, FARTHEST).astype(np.int64)


@NORMS
@pytest.mark.parametrize("k", [3, 4, 5, 8, 17, 33, MAX_CLASSES])
def test_gradients_keep_the_bound_at_all_scores(k, is_l2):
    rng = np.random.default_rng(k)
    scores = adversarial(k, rng, 8_000 // k)
    for label in {0, 1, k // 2, k - 1}:
        check_bound(scores, label, is_l2=is_l2)
        check_values(rng.permutation(scores)[:60], label, is_l2=is_l2)


@NORMS
def test_a_gradient_depends_on_its_row_alone(is_l2):
    """A gradient depends neither on other rows nor on a shift of all scores."""
    scores = np.random.default_rng(0).integers(-(2**22), 2**22, (500, 5))
    gradients_of_rows = computed(scores, 2, is_l2=is_l2)
    np.testing.assert_array_equal(computed(scores[::-1], 2, is_l2=is_l2)[::-1], gradients_of_rows)
    np.testing.assert_array_equal(computed(scores + LARGEST, 2, is_l2=is_l2), gradients_of_rows)


def test_tables_are_the_same_on_every_machine():
    """The tables equal those of exact arithmetic.

    No value is near the middle of two integers, so the last bit of an exponential has no effect.
    """
    assert TABLES.exp.tolist() == exact_table(False)
    assert TABLES.two_class_sizes.tolist() == exact_table(True)
    assert TABLES.exp[0] == 2**30 and TABLES.two_class_sizes[0] == UNIT // 2 and TABLES.two_class_sizes[-1] == 0
    assert np.all(np.diff(TABLES.exp) <= 0) and np.all(np.diff(TABLES.two_class_sizes) <= 0)


@pytest.mark.parametrize("label", [0, 1])
def test_two_classes_in_every_cell_of_the_table(label):
    """With two classes, gradients equal the table at both borders and in the middle of each cell, and far away."""
    place = np.arange(-CELLS - 2, CELLS + 3) * CELL
    scores = np.concatenate([place + s for s in (-CELL // 2 - 1, -CELL // 2, 0, CELL // 2 - 1, CELL // 2)])
    scores = np.append(scores, [FARTHEST, -FARTHEST, LARGEST, -LARGEST])
    right = scores if label else -scores
    at = np.clip((right + CELL // 2) // CELL, 0, CELLS - 1)
    expected = (1 if label else -1) * np.array(exact_table(True))[at]
    gradients_of_rows = computed(scores[:, None], label, is_l2=True)[:, 0]
    np.testing.assert_array_equal(gradients_of_rows, expected)
    assert np.abs(gradients_of_rows).max() == UNIT // 2 and np.all(np.abs(gradients_of_rows[right < 0]) == UNIT // 2)
