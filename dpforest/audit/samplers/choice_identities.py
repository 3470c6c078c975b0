"""Checks that the samplers of labels and splits have exactly their intended laws; see `identities`."""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from dpforest.audit.samplers.branches import Sum, power
from dpforest.audit.samplers.oracles import Case, Law, after_rounds, law_of_rows
from dpforest.privacy import samplers, selection

ROUNDS: Final = 3  # number of rounds of a loop that the check follows; later rounds have the same law
_RATES: Final = ((1, 1), (3, 7), (2**32 - 5, 2**32 - 17), (1, 2**32 - 1), (2**32 - 1, 1))
_FAR: Final = ((40, 0), (0, 1_000, 1_000), (65_535, 65_536), (2**31 - 1, 0, 2**31 - 2), (70_000, 70_000, 69_999))


def labels(whole: bool) -> Iterator[Case]:
    """Yield identities for the labels of small leaves, and of leaves with large counts or gaps."""
    for leaf in _leaves(whole):
        for num, den in _RATES if leaf in _FAR[:2] else _RATES[:1] if whole else _RATES[1:2]:
            yield from _labels_of((leaf,), num, den)
    for num, den in _RATES[:2]:
        yield from _labels_of(((2, 0), (0, 3)), num, den)
        yield from _labels_of(((1, 0, 1), (0, 0, 2)), num, den)


def _labels_of(leaves: tuple[tuple[int, ...], ...], num: int, den: int) -> Iterator[Case]:
    """Yield identities for the labels of these leaves. The labels of several leaves must be independent."""
    table, n_classes = np.array(leaves, np.int64), len(leaves[0])
    order = np.full(n_classes, -9, np.int64)  # scratch array; its old contents must have no effect
    where = f"{' and '.join(map(str, leaves))} at rate {num}/{den}"
    laws = [permute_and_flip_law(leaf, num, den) for leaf in leaves]
    kernel, arguments = samplers._permute_and_flip_kernel, (table, num, den, order)
    computed_law = partial(law_of_rows, kernel, arguments, len(leaves))
    yield f"labels by permute-and-flip of {where}", computed_law, _joint(laws)
    if len(leaves) > 1:
        return  # the exponential mechanism runs a loop for each row, and `Draws` would count the rounds of all loops
    for cap in (2**31, 1):
        one_round: Law = {(c,): w for c, w in _accepted(leaves[0], range(n_classes), num, den, cap).items()}
        computed_law = partial(law_of_rows, samplers._exponential_kernel, (table, num, den, cap), ROUNDS)
        what = f"labels by the exponential mechanism, cap {cap:,}, of {where}"
        yield what, computed_law, after_rounds(one_round, ROUNDS)


def permute_and_flip_law(leaf: Sequence[int], num: int, den: int) -> Law:
    """Return the probability of each class under permute-and-flip: q^g ∫₀¹ Π (1 - q^h t) dt with q = exp(-num/den).

    The gap g is the number of rows by which the class is behind the top class. The product has a factor for each other
    class, with the gap h of that class.

    Examples
    --------
    >>> permute_and_flip_law((5, 3, 0), 1, 1)[0,]
    1 - 1/2 e^(-2) - 1/2 e^(-5) + 1/3 e^(-7)
    """
    gaps = [power((max(leaf) - n) * num, den) for n in leaf]
    pmf: Law = {}
    for c, weight in enumerate(gaps):
        coefficients = [Sum({0: 1})]  # coefficients of powers of t
        for other in gaps[:c] + gaps[c + 1 :]:
            longer = [*coefficients, Sum()]
            coefficients = [a - b * other for a, b in zip(longer, [Sum(), *coefficients])]
        pmf[c,] = weight * sum((a * Fraction(1, k + 1) for k, a in enumerate(coefficients)), Sum())
    return pmf


def _accepted(scores: Sequence[int], allowed: Sequence[int], num: int, den: int, cap: int = 2**62) -> dict[int, Sum]:
    """Return for each candidate the probability that a round draws the candidate (uniformly) and keeps it.

    A round keeps a candidate with probability exp(-gap num/den). The gap is the distance between the candidate's score
    and the best score; a gap above `cap` counts as `cap`.
    """
    best = max(scores[c] for c in allowed)
    return {c: power(min(best - scores[c], cap) * num, den) * Fraction(1, len(allowed)) for c in allowed}


def _joint(laws: Sequence[Law]) -> Law:
    """Return the joint law of independent results, which are tuples."""
    joint: Law = {(): Sum({0: 1})}
    for pmf in laws:
        joint = {a + b: p * q for a, p in joint.items() for b, q in pmf.items()}
    return joint


def _leaves(whole: bool) -> Iterator[tuple[int, ...]]:
    """Yield counts of one to five classes."""
    most = {2: 20, 3: 6, 4: 2, 5: 1} if whole else {2: 3, 3: 1}
    yield from ((7,), *_FAR)
    for n_classes, top in most.items():
        yield from itertools.product(range(top + 1), repeat=n_classes)


# ---------------------------------------------------------------- splits


def splits(whole: bool) -> Iterator[Case]:
    """Yield identities for all small nodes with every set of allowed candidates, and for nodes with large gaps."""
    sizes = {1: (-4,), 2: (0, -1, -7), 3: (0, -2, -60), 4: (0, -3)} if whole else {2: (0, -1), 3: (0, -2)}
    nodes = [scores for k, values in sizes.items() for scores in itertools.product(values, repeat=k)]
    for scores in (*nodes, *_FAR, (0, -(10**6)), (-(2**26), 2**26, 0)):
        for mask in itertools.product((False, True), repeat=len(scores)):
            if any(mask):
                rates = _RATES if scores in _FAR[:2] else ((1, 8),)
                for num, den in rates:
                    yield _split(scores, mask, num, den)
    yield _two_nodes()


def _split(scores: tuple[int, ...], mask: tuple[bool, ...], num: int, den: int) -> Case:
    """Return the identity for the choice in one node. `mask` states which candidates are allowed."""
    allowed = [c for c, may in enumerate(mask) if may]
    one_round: Law = {(c,): w for c, w in _accepted(scores, allowed, num, den).items()}
    what = f"a choice among {scores}, of which {allowed} may be asked, at rate {num}/{den}"
    computed_law = partial(_law_of_choices, np.array([scores]), np.array([mask]), num, den, ROUNDS)
    return what, computed_law, after_rounds(one_round, ROUNDS)


def _two_nodes() -> Case:
    """Return the case of two nodes. In each node, the allowed candidates have equal scores, so no round is void."""
    scores, mask = np.array([[5, 9, 5], [2, 2, 2]]), np.array([[True, False, True], [False, True, True]])
    pmf: Law = {(a, b): Sum({0: Fraction(1, 4)}) for a in (0, 2) for b in (1, 2)}
    return "choices of two nodes", partial(_law_of_choices, scores, mask, 1, 8, 2), pmf


def _law_of_choices(scores: np.ndarray, mask: np.ndarray, num: int, den: int, rounds: int) -> Law:
    candidates = np.full(scores.shape[1], -9, np.int64)
    return law_of_rows(selection._choose_kernel, (scores, mask, num, den, candidates), rounds)
