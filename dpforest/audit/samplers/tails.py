"""Force extremely rare draws from the compiled samplers with prepared tapes.

A tape is an array of 16-bit numbers (lanes), which are normally random. A release must contain the answer that the
lanes determine, even if the probability of this answer is e^-1000. The checks run all code of a release, not only the
compiled loops: release and selection, the wrappers of the samplers, and tables of more than 65,536 rows. Each tape
forces a known answer, so a check detects an answer that is drawn again, omitted, clipped or exchanged.

The lanes follow the definitions in `samplers`. A number below n is the upper 16 bits of lane·n. A coin of p is a draw
that succeeds with probability p; the sampler makes it from a sequence of trials. A coin of exp(-1) succeeds if its
trial of probability 1/2 succeeds and its next trial, of probability 1/3, fails. A coin of exp(-a/b) with a < b succeeds
if its first trial fails.
"""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpforest.privacy import release, selection
from dpforest.privacy.ledger import Ledger, QueryBudget
from dpforest.privacy.randomness import SecretSource

Lanes = list[int]
HIGH: Final = 65_535
_MANY: Final = 65_600  # a number of rows above a block of the encoder
_FAR: Final = (0, 1, -1, 2, 12, 13, -13, 50, -50, 1_000, -1_000)  # noise, in units of its scale
_COUNTS: Final = (0, 1, 5, 70_000)


class Scripted(SecretSource):
    """Source of prepared lanes, followed by random lanes."""

    __slots__ = ("_place", "_tape")

    def __init__(self, lanes: Lanes | np.ndarray) -> None:
        random_lanes = np.random.default_rng(len(lanes)).integers(0, 2**16, 2**17 + -len(lanes) % 4)
        self._tape = np.concatenate([np.asarray(lanes, np.uint16), random_lanes.astype(np.uint16)]).view(np.uint64)
        self._place = 0

    def words(self, n: int) -> np.ndarray:
        """Return the next n words. After the prepared lanes, the words are random; in the end, they repeat."""
        first, self._place = self._place, self._place + n
        places = np.arange(first, self._place)
        over = places >= self._tape.size
        places[over] = self._tape.size - 1 - places[over] % 2**14
        return self._tape[places]


# ---------------------------------------------------------------- lanes


def number(i: int, n: int) -> Lanes:
    """Return lanes that force a uniform draw below n to be i."""
    if n > 65_536:
        return [i >> 16, i & HIGH]
    return [-(-(i * 65_536 + 65_536 % n) // n)]


def hit(a: int, b: int) -> Lanes:
    """Return lanes that force success of a coin of exp(-a/b)."""
    if a == 0:
        return []
    whole, remainder = divmod(a, b)
    lanes = [0, HIGH] * whole + [HIGH]
    while remainder * 65_536 // b == HIGH:  # while the digit of the fraction equals the highest lane
        lanes, remainder = [*lanes, HIGH], remainder * 65_536 % b
    return lanes


def miss(a: int, b: int) -> Lanes:
    """Return lanes that force failure of a coin of exp(-a/b), for a > 0."""
    if a >= b:
        return [HIGH]
    lanes = [0]
    while a * 65_536 // b == 0:
        lanes, a = [*lanes, 0], a * 65_536
    return [*lanes, HIGH]


def noise(z: int, scale: Fraction, *, low: int = 0) -> Lanes:
    """Return lanes that force noise z. `low` is the remainder that the division by the scale's denominator drops."""
    num, den = scale.numerator, scale.denominator
    v, u = divmod(abs(z) * den + low, num)
    return [*number(u, num), *hit(u, num), *[0, HIGH] * v, HIGH, *number(int(z < 0), 2)]


# ---------------------------------------------------------------- checks


def check_tails() -> Iterator[str]:
    """Yield a message for each release that differs from the answer that its tape forces."""
    for check in (_counts, _tables, _labels, _splits, _trees, _large):
        try:
            yield from check()
        except Exception as problem:
            yield f"{check.__name__.strip('_')} as forced by a tape: {type(problem).__name__}, {problem}"


def _unlike(what: str, released: np.ndarray, forced: np.ndarray) -> Iterator[str]:
    """Yield a message about the first cell in which a released table differs from the forced table."""
    wrong = np.argwhere(released != forced) if np.shape(released) == forced.shape else np.zeros((1, forced.ndim), int)
    if len(wrong):
        place = tuple(wrong[0].tolist())
        yield f"{what}: the tape forces {forced[place]} in {place}, but {np.asarray(released)[place]} is released"


def _counts() -> Iterator[str]:
    """Check noise of many sizes on each count, released zeros, and tables whose released counts are all equal."""
    for epsilon in (Fraction(1), Fraction(2, 3), Fraction(5, 2), Fraction(1, 20)):
        scale = 1 / epsilon
        pairs = [(n, int(far * scale)) for n in _COUNTS for far in _FAR]
        pairs += [(n, released_count - n) for n in (0, 1, 5, 6) for released_count in (0, 1, 7)]
        if epsilon == 1:
            pairs += [(3, 70_000), (70_000, -70_000)]  # only for one scale, because the tape is long
        for released_count in (None, 0, 7):
            for low in {0, scale.denominator - 1}:
                noisy_counts = (
                    pairs if released_count is None else [(n, released_count - n) for n in (0, 1, 5, 3, 700, 7)]
                )
                table = np.array([n for n, _ in noisy_counts]).reshape(-1, 2)
                forced = table + np.array([z for _, z in noisy_counts]).reshape(-1, 2)
                # The sampler rejects a negative zero, and draws again.
                negative_zero = noise(0, scale, low=low)[:-1] + number(1, 2)
                tape = [
                    lane for _, z in noisy_counts for lane in [*negative_zero * (abs(z) < 3), *noise(z, scale, low=low)]
                ]
                released = release.release_counts(table, **_paid(epsilon), source=Scripted(tape))
                yield from _unlike(f"counts with noise of scale {scale}", released, forced)


def _tables() -> Iterator[str]:
    for sensitivity, epsilon in ((1, Fraction(1)), (3, Fraction(2)), (1_024, Fraction(1, 2))):
        scale = sensitivity / epsilon
        pairs = [(n, int(far * scale)) for n in _COUNTS for far in _FAR] + [(n, -n) for n in _COUNTS]
        table = np.array([[n] for n, _ in pairs])
        tape = [lane for _, z in pairs for lane in noise(z, scale)]
        released = release.noisy_table(table, sensitivity, QueryBudget(epsilon, 1), Scripted(tape))
        yield from _unlike(f"a table with noise of scale {scale}", released, table + np.array([[z] for _, z in pairs]))


def _labels() -> Iterator[str]:
    """Check every label of a leaf, even one far behind, as the first proposal and after rejected proposals."""
    leaves = [(0, 0), (3, 1), (40, 0), (0, 1_000), (70_000, 0), (2, 0, 1), (900, 0, 899), (0, 0, 0, 50)]
    for epsilon, leaf in itertools.product((Fraction(1), Fraction(3, 7)), leaves):
        gaps = [max(leaf) - n for n in leaf]
        num, den = epsilon.numerator, epsilon.denominator
        for label in range(len(leaf)):
            for mechanism in release.DRAW:
                for late in (False, True):
                    if mechanism == "permute-and-flip":
                        tape = _visited(gaps, label, num, den, late=late)
                    else:
                        tape = _proposed(gaps, label, num, den, 1 if mechanism == "global-01" else 2**31, late=late)
                    paid = _paid(2 * epsilon if mechanism == "global-01" else epsilon)
                    released = release.release_labels(
                        np.array([leaf]), mechanism=mechanism, source=Scripted(tape), **paid
                    )
                    yield from _unlike(f"the label of {leaf} by {mechanism}", released, np.array([label]))


def _visited(gaps: Sequence[int], label: int, num: int, den: int, *, late: bool) -> Lanes:
    """Return lanes that force a label of permute-and-flip.

    If `late` is True, the lanes first propose and reject every other label that can be rejected.
    """
    remaining, tape = list(range(len(gaps))), Lanes()
    for other in [c for c in remaining if late and c != label and gaps[c]]:
        place = remaining.index(other)
        tape += number(place, len(remaining)) + miss(gaps[other] * num, den)
        remaining[place] = remaining[-1]
        remaining.pop()
    return [*tape, *number(remaining.index(label), len(remaining)), *hit(gaps[label] * num, den)]


def _proposed(gaps: Sequence[int], label: int, num: int, den: int, cap: int, *, late: bool) -> Lanes:
    """Return lanes that force a label of the exponential mechanism.

    If `late` is True, the lanes first propose and reject 300 labels.
    """
    losers = [c for c, gap in enumerate(gaps) if gap]
    tape = Lanes()
    for other in (losers * 300)[:300] if late else []:
        tape += number(other, len(gaps)) + miss(min(gaps[other], cap) * num, den)
    return [*tape, *number(label, len(gaps)), *hit(min(gaps[label], cap) * num, den)]


def _splits() -> Iterator[str]:
    """Check every allowed candidate of every node, even a candidate far behind the best one."""
    scores = np.array([[0, -1, -30, -900, -9_000], [5, 5, 5, 5, 5], [-80_000, 0, 800, 0, -1], [10**6, 0, 10**6, 7, 9]])
    allowed = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [1, 1, 1, 0, 1], [1, 1, 1, 1, 1]], bool)
    for width, epsilon in ((1, Fraction(1, 8)), (1_000, Fraction(9)), (2**20 + 1, Fraction(2))):
        table = scores * max(1, width // 4_096)
        coarse, coarse_width = selection.coarsened(table, width)
        rate = selection.rate_of(epsilon, coarse_width)
        for turn in range(5):
            forced = np.array([np.flatnonzero(mask)[turn % mask.sum()] for mask in allowed])
            tape = Lanes()
            for node, chosen in enumerate(forced.tolist()):
                allowed_places = np.flatnonzero(allowed[node])
                gaps = (coarse[node, allowed_places].max() - coarse[node, allowed_places]).tolist()
                place = allowed_places.tolist().index(chosen)
                late = bool(turn % 2) and max(gaps) > 0
                tape += _proposed(gaps, place, rate.numerator, rate.denominator, 2**62, late=late)
            released = selection.choose(table, allowed, width, QueryBudget(epsilon, 1), Scripted(tape))
            yield from _unlike(f"splits of sensitivity {width:,} at ε = {epsilon}", released, forced)


def _trees() -> Iterator[str]:
    """Check that each row goes to the tree that its lane forces, in tables of any size."""
    for n_rows, n_trees in ((0, 3), (1, 3), (5, 1), (70, 100), (65_535, 7), (65_536, 2), (_MANY, 64), (_MANY, 65_535)):
        for step in (0, 1, 7):
            forced = (np.arange(n_rows) * step + n_trees - 1) % n_trees
            tape = [lane for tree in forced.tolist() for lane in number(tree, n_trees)]
            released = release.assign_rows(np.arange(n_rows), n_trees, Scripted(tape))
            yield from _unlike(f"{n_rows:,} rows shared out among {n_trees:,} trees", released, forced)


def _large() -> Iterator[str]:
    """Check that every row of a large table gets the forced answer. All rows have the same lanes."""
    ones = np.ones((_MANY, 1), np.int64)
    for z in (-1, 2, 13):
        source = Scripted(np.tile(np.array(noise(z, Fraction(1)), np.uint16), _MANY))
        released = release.release_counts(ones, **_paid(Fraction(1)), source=source)
        yield from _unlike(f"counts of {_MANY:,} leaves", released, ones + z)
    leaf = [3, 0]
    for mechanism, label in itertools.product(release.DRAW, (0, 1)):
        paid = _paid(Fraction(2 if mechanism == "global-01" else 1))
        gaps, cap = [0, 3], 1 if mechanism == "global-01" else 2**31
        tape = np.array(_proposed(gaps, label, 1, 1, cap, late=False), np.uint16)
        source = Scripted(np.tile(tape, _MANY))
        released = release.release_labels(np.tile(leaf, (_MANY, 1)), mechanism=mechanism, source=source, **paid)
        yield from _unlike(f"labels of {_MANY:,} leaves by {mechanism}", released, np.full(_MANY, label))
    table, may = np.tile([0, -16, -200], (_MANY, 1)), np.ones((_MANY, 3), bool)
    for chosen in range(3):
        tape = np.array(_proposed([0, 16, 200], chosen, 1, 8, 2**62, late=False), np.uint16)
        source = Scripted(np.tile(tape, _MANY))
        released = selection.choose(table, may, 1, QueryBudget(Fraction(1, 8), 1), source)
        yield from _unlike(f"splits of {_MANY:,} nodes", released, np.full(_MANY, chosen))


def _paid(epsilon: Fraction) -> dict[str, Any]:
    """Return arguments of a release of one tree under add-remove, with a ledger whose budget is ε."""
    options = {"epsilon": epsilon, "n_trees": 1, "partition": "independent", "neighbors": "add-remove"}
    return options | {"ledger": Ledger(epsilon)}
