"""Check that a person with several rows costs at most the ε (or μ) that a fit charges, in each query of the fit.

The checks cover the weights of rows, the draw of a tree for each row, splits, labels and noisy counts of leaves, scales
(noisy histograms of numeric attributes) and gradients. Tables are tiny or random. The privacy loss of the labels is
computed from the exact probabilities of these labels, at the charged ε divided by 1024 and rounded as in a release
(`label_rate`). For other queries, the largest change by a person is compared with the sensitivity or the scale of the
noise. For splits, the cost after the sampler rounds the scores is compared with the charged ε too. A fit keeps up to
256 rows of a person. These rows may be in any leaves, nodes, children and classes.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Final

import numpy as np

from dpforest.limits import MAX_BOUND, MAX_CLASSES
from dpforest.models.boosting.clip_bound import UNIT_GRID, ClipBound
from dpforest.models.boosting.gradients import next_sums
from dpforest.privacy import laws
from dpforest.privacy.loss import GAUSSIAN, PURE
from dpforest.privacy.randomness import SecretSource
from dpforest.privacy.release import LIPSCHITZ, assign_rows, label_rate, noise_scale
from dpforest.privacy.selection import coarsened, rate_of
from dpforest.tables.domain import Domain, Feature
from dpforest.tables.units import MOST_ROWS, UNIT_WEIGHT, UnitRegistry
from dpforest.trees.candidates import public_candidates
from dpforest.trees.released_scale import CELLS, LEVELS, nested_counts, scale_histograms
from dpforest.trees.split_scores import CRITERIA, nodes_of_unit, score_splits, unit_sensitivity

_SIZES: Final = (1, 2, 3, 5, 7, 255, 256, 257, 300, 1_000)
_RATES: Final = (Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(4))
_LABEL_RULES: Final = tuple(mechanism for mechanism in LIPSCHITZ if mechanism != "discrete-laplace")
_ALPHAS: Final = (0, 1, 512, 1_024)  # α in units of 1/1024
_WAYS: Final = ("spread", "random", "one node")  # how the rows of a person are distributed among nodes
_N_TESTS: Final = 3
_ROUNDING: Final = 1e-9  # relative tolerance for errors of floats
_NUMBERS: Final = Domain(
    tuple(
        Feature(f"x{i}", "numeric", 0.0, 1.0, source="documented", source_note="persons.py") for i in range(_N_TESTS)
    ),
    (0, 1),
    "y",
    "documented",
    "persons.py",
)


def check_persons(n_cases: int = 300) -> Iterator[str]:
    """Yield a message for each failed check: a person costs more than the charge, or weights or draws are wrong.

    Parameters
    ----------
    n_cases : int
        Number of random cases of splits and of gradients. Scales get a tenth as many.
    """
    rng = np.random.default_rng(0)
    yield from _weights(rng)
    yield from _draws(rng)
    yield from _leaves()
    yield from _scales(rng, n_cases // 10)
    for case in range(n_cases):
        yield from _splits(rng, CRITERIA[case % 4], case)
        yield from _gradients(rng, (2, 3, 10)[case % 3], (PURE, GAUSSIAN)[case % 2])


def _weights(rng: np.random.Generator) -> Iterator[str]:
    """Check that the kept rows of a person and their weights are the same as in a table of this person alone."""
    for sizes in ((n,) for n in _SIZES):
        yield from _kept_alone(rng, sizes)
    for _ in range(8):
        yield from _kept_alone(rng, tuple(rng.choice(_SIZES, 3).tolist()))


def _kept_alone(rng: np.random.Generator, sizes: tuple[int, ...]) -> Iterator[str]:
    """Check persons with these numbers of rows: compare the table of all persons with a table of each person alone."""
    person = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    listed = np.ones(len(person), bool)
    registry = UnitRegistry()
    registry.count(person, listed)
    units, _ = registry.read(person, listed)
    if units.weight.dtype != np.int64:
        yield f"weights are {units.weight.dtype}, but sums are exact for whole numbers only"
        return
    for i, n in enumerate(sizes):
        single = UnitRegistry()
        single.count(np.zeros(n, int), np.ones(n, bool))
        single_units, _ = single.read(np.zeros(n, int), np.ones(n, bool))
        of_person = person[units.places] == i
        rows_of_person, weight = np.flatnonzero(person == i), units.weight[of_person]
        if len(weight) > MOST_ROWS or weight.sum() > UNIT_WEIGHT or (weight != UNIT_WEIGHT // len(weight)).any():
            yield f"a person with {n} rows has {len(weight)} rows of weight {set(weight.tolist())}"
        if (
            rows_of_person[single_units.places].tolist() != units.places[of_person].tolist()
            or (single_units.weight != weight).any()
        ):
            yield f"which of {n} rows of a person are kept, or their weights, depends on other persons"


def _draws(rng: np.random.Generator) -> Iterator[str]:
    """Check that the same tree is drawn for all rows of a person."""
    registry, person = UnitRegistry(), rng.integers(0, 20, 200)
    registry.count(person, np.ones(200, bool))
    units, ids = registry.read(person, np.ones(200, bool))
    drawn = assign_rows(ids, 1_000, SecretSource(), units=units)
    if any(len(set(drawn[units.index == i].tolist())) > 1 for i in range(units.n_units)):
        yield "rows of one person are drawn into different parts"


def _leaves() -> Iterator[str]:
    """Check that a person's loss is at most the charged rate, for noisy counts and for labels of small leaves."""
    for rate in _RATES:
        if UNIT_WEIGHT / noise_scale(rate, UNIT_WEIGHT) > rate:
            yield f"noisy counts cost more than {rate} for a person"
        drawn = float(label_rate(rate, UNIT_WEIGHT))
        for mechanism in _LABEL_RULES:
            for n_classes in (2, 3):
                worst = _worst_labels(mechanism, n_classes, drawn)
                if worst > float(rate) * (1 + _ROUNDING):
                    yield f"{mechanism}, {n_classes} classes: a person costs {worst:.6g}, {float(rate):g} is charged"


def _worst_labels(mechanism: str, n_classes: int, rate: float) -> float:
    """Return the largest total loss of two independent leaves if a person's weight is divided between them."""
    values = (0, 4, 512, 1_024, 3_000)
    other_counts = np.array(list(combinations_with_replacement(values, n_classes)))
    other_counts = np.unique(np.concatenate([other_counts, other_counts[:, ::-1]]), axis=0)
    before = laws.log_pmf(mechanism, other_counts, rate)
    worst_loss = {}  # the largest loss of a leaf, by the person's weight in this leaf
    for weight in (0, 4, 256, 512, 768, 1_020, 1_024):
        losses = [0.0]
        for first in {0, weight // 2, weight}:  # `first` is the weight in class 0; the rest is in the last class
            with_person = other_counts.copy()
            with_person[:, 0] += first
            with_person[:, -1] += weight - first
            losses.append(float(np.abs(laws.log_pmf(mechanism, with_person, rate) - before).max()))
        worst_loss[weight] = max(losses)
    return max(worst_loss[a] + worst_loss[b] for a in worst_loss for b in worst_loss if a + b <= UNIT_WEIGHT)


def _scales(rng: np.random.Generator, n_cases: int) -> Iterator[str]:
    """Check that the counts of one person in the histograms of the scale have a bounded sum and a bounded L2 norm."""
    for _ in range(n_cases):
        r = int(rng.choice([1, 2, 7, 256]))
        codes = rng.integers(0, 65_536, (r, _N_TESTS)).astype(np.uint16)
        codes = codes[rng.integers(0, r, r)] if rng.random() < 0.5 else codes
        added = nested_counts(scale_histograms(_NUMBERS, codes, np.full(r, UNIT_WEIGHT // r)))
        if added.shape[1] * len(added) < _N_TESTS * CELLS or added.sum() > UNIT_WEIGHT * LEVELS * _N_TESTS:
            yield f"{r} rows of a person add {added.sum() / UNIT_WEIGHT:g} rows to the histograms of the scale"
        if (added.astype(float) ** 2).sum() > UNIT_WEIGHT**2 * LEVELS * _N_TESTS:
            most = f"the root of {LEVELS * _N_TESTS}, in rows"
            yield f"the L2 norm of what {r} rows of a person add to the histograms is more than {most}"


def _splits(rng: np.random.Generator, criterion: str, case: int) -> Iterator[str]:
    """Add a person to random nodes of a level, and check how much the split scores of the candidates change.

    The range of the changes over the candidates, summed over the nodes, is at most the sensitivity. On the coarse grid
    of the sampler, the cost of the person is at most the charged ε.
    """
    extreme = case % 8 < 4  # if True, `one_of` returns the last option

    def one_of(*options: Any) -> Any:
        return options[-1] if extreme else options[rng.integers(len(options))]

    level, n = one_of(0, 1, 3, 8), one_of(1, 2, 3, 30, 10_000, MAX_BOUND)
    n_classes, alpha, most = one_of(2, 3, MAX_CLASSES), 0, UNIT_WEIGHT
    if criterion == "m-alpha":
        n_classes, alpha, most = 2, _ALPHAS[case // 8 % 4], one_of(37, 700, UNIT_WEIGHT)
    r = one_of(1, 2, 7, 255, min(MOST_ROWS, 2**level), MOST_ROWS)
    weight = np.full(r, most * (UNIT_WEIGHT // r) // UNIT_WEIGHT)
    n_nodes, way = min(2**level, r), _WAYS[case // 8 % 3]
    node = {"spread": np.arange(r) % n_nodes, "one node": np.zeros(r, int)}.get(way, rng.integers(0, n_nodes, r))
    y = one_of(rng.integers(0, n_classes, r), np.full(r, rng.integers(n_classes)), np.arange(r) % (n_classes - 1))
    share = one_of(rng.random(n_nodes) ** 4, np.bincount(node, weight, n_nodes) + 1e-9)
    total = np.floor(share / share.sum() * (n - 1) * most * one_of(0.01, 1)).astype(np.int64)
    other_persons = np.zeros((n_nodes, n_classes), np.int64)
    if one_of(False, True):  # in each node, all other persons have another class than this person's last row
        last = np.zeros(n_nodes, int)
        last[node] = y
        other_persons[np.arange(n_nodes), n_classes - 1 if y.max() < n_classes - 1 else (last + 1) % n_classes] = total
    else:
        other_persons = (rng.dirichlet(np.ones(n_classes), n_nodes) * total[:, None]).astype(np.int64)
    before, person = np.zeros((2, n_nodes, _N_TESTS, 2, n_classes), np.int64)
    for test in range(_N_TESTS):
        # In test 0, everybody is in the left child. In test 1, this person is in the right child, and all others are in
        # the left one. In test 2, everybody is in a random child.
        left = other_persons if test < 2 else np.floor(other_persons * rng.random(other_persons.shape)).astype(np.int64)
        before[:, test, 0], before[:, test, 1] = left, other_persons - left
        side = np.full(r, test) if test < 2 else rng.integers(0, 2, r)
        np.add.at(person[:, test], (node, side, y), weight)
    tests = public_candidates(_NUMBERS, 2)
    old, new = (
        score_splits(h.reshape(n_nodes, -1, n_classes), tests, criterion, alpha, grid=1)
        for h in (before, before + person)
    )
    declared = unit_sensitivity(criterion, n, level, n_classes, alpha=alpha, weight=most)
    where = f"{criterion}, α = {alpha}, {n:,} persons, {r} rows in {n_nodes} nodes ({way})"
    change = int(np.ptp(new - old, axis=1).sum())
    if change > declared:
        yield f"{where}: a person moves scores by {change}, declared are {declared}"
    nodes = nodes_of_unit(level)
    coarse = [coarsened(scores, declared, nodes) for scores in (old, new)]
    each = Fraction(1, 10)
    cost = float(rate_of(each, coarse[0][1])) * float(np.ptp(coarse[1][0] - coarse[0][0], axis=1).sum())
    if cost > each * (1 + _ROUNDING):
        yield f"{where}: a person costs {cost:.6g} on the coarse grid, {float(each)} is charged"


def _gradients(rng: np.random.Generator, n_classes: int, kind: str) -> Iterator[str]:
    """Check that the norm of a person's gradient sums, over all leaves, is at most the declared sensitivity."""
    clip, r = ClipBound(n_classes, kind, UNIT_GRID), int(rng.choice([1, 2, 3, 7, 255, 256]))
    scores = (rng.standard_normal((r, clip.n_scores)) * 2.0 ** rng.integers(10, 24)).astype(np.int64)
    y = rng.integers(0, n_classes, r).astype(np.int32)
    if rng.random() < 0.5:  # equal rows, whose gradients add up
        scores[:], y[:] = scores[0], y[0]
    leaf = rng.integers(0, int(rng.choice([1, 4])), r)
    weight = np.full(r, UNIT_WEIGHT // r)
    no_sums = np.zeros((4, clip.n_scores), np.int64)
    sums = next_sums(scores, np.zeros(r, np.int32), no_sums, leaf, y, clip, weight).astype(float)
    norm = float(np.sqrt((sums**2).sum()) if clip.is_l2 else np.abs(sums).sum())
    if norm > float(clip.sensitivity) * (1 + _ROUNDING):
        yield f"{n_classes} classes, {kind}: {r} rows of a person add {norm:.6g}, at most {float(clip.sensitivity):g}"
