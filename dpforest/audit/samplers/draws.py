"""Statistical tests of the samplers against their laws: single draws, rare draws, joint draws, and random words.

The draws use entropy of the operating system. All tests together raise a false alarm with a probability below 1e-6.
"""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

import numpy as np
from scipy.stats import binomtest, chisquare

from dpforest.privacy import release, samplers, selection
from dpforest.privacy.laws import log_pmf
from dpforest.privacy.noisy_counts import discrete_laplace_pmf
from dpforest.privacy.randomness import SecretSource

FALSE_ALARM: Final = 1e-9  # probability of a false alarm in one test; there are about sixty tests of draws
DRAWS: Final = 100_000
_LEAVES: Final = (
    ([5, 3], "1/2"),
    ([0, 0], "1"),
    ([4, 4, 1], "2/3"),
    ([9, 8, 0, 2], "1/7"),
    ([0, 0, 0], "3"),
    ([90_000, 0], "123457/10000000"),
    ([2_000_003, 2_000_000, 7], "999983/2000003"),
)
# The lead of the top label multiplied by the rate, in a leaf of 50 classes. Even at 14, other labels still occur. The
# mechanism global-01 treats every lead as a lead of one row, so it is tested with a single lead.
_LEADS: Final = (5, 10, 14)
_SCALES: Final = ("1/2", "4/3", "7", "60", "65537/65536", "51200", "204800/3")
_LAGS: Final = (1, 2, 3, 64, 1_000, 8_192)


def check_draws() -> Iterator[str]:
    """Yield a message for each sampler whose draws do not follow its law."""
    yield from _words()
    yield from _unlike(_assignments, _noise, _choices, _labels, _neighboring_cells)


def check_rare_draws() -> Iterator[str]:
    """Yield a message for each sampler that draws labels far behind the top label too often or too rarely."""
    yield from _unlike(_rare_labels)


def _unlike(*tests: Callable[[], Iterator[tuple[str, float]]]) -> Iterator[str]:
    """Yield a message for each test whose p-value is below `FALSE_ALARM`."""
    for what, p in itertools.chain.from_iterable(test() for test in tests):
        if p < FALSE_ALARM:
            yield f"{what}: draws do not follow the law (p = {p:.2g})"


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the p-value of a chi-square test; outcomes with an expected count below 50 are pooled.

    The test is exact for two outcomes.

    Parameters
    ----------
    observed, expected : array (n_outcomes,)
        Counts with the same total.

    Returns
    -------
    float
        p-value from 0 to 1; 0 if an impossible outcome occurred.
    """
    if observed[expected == 0].any():
        return 0.0
    rare = expected < 50  # with smaller expected counts, the test rejects too often at p-values near `FALSE_ALARM`
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    is_possible = expected > 0
    if is_possible.sum() < 2:
        return 1.0
    if is_possible.sum() == 2:
        n, share = int(observed[is_possible].sum()), expected[is_possible][1] / expected[is_possible].sum()
        return float(binomtest(int(observed[is_possible][1]), n, share).pvalue)
    return float(
        chisquare(observed[is_possible], expected[is_possible] * observed.sum() / expected[is_possible].sum()).pvalue
    )


def _labels() -> Iterator[tuple[str, float]]:
    for name, draw in release.DRAW.items():
        for leaf, rate in _LEAVES:
            yield (
                f"labels by {name} of a leaf {leaf} at rate {rate}",
                _one_leaf(name, draw, leaf, Fraction(rate), DRAWS),
            )


def _rare_labels() -> Iterator[tuple[str, float]]:
    """Test labels far behind the top label, which are rare."""
    for name, draw in release.DRAW.items():
        for lead in _LEADS if name != "global-01" else (1,):
            leaf, rate = [6 * lead] + [0] * 49, Fraction(1, 6) if name != "global-01" else Fraction(12)
            p = _one_leaf(name, draw, leaf, rate, 5 * DRAWS, top_only=True)
            yield f"rare labels by {name}, {6 * lead} rows behind at rate {rate}", p


def _one_leaf(name: str, draw, leaf: list[int], rate: Fraction, n: int, *, top_only: bool = False) -> float:
    """Draw n labels of one leaf, and return the p-value of their frequencies."""
    labels = draw(np.tile(leaf, (n, 1)), rate, SecretSource())
    observed = np.bincount(labels, minlength=len(leaf)).astype(float)
    expected = n * np.exp(log_pmf(name, np.array([leaf]), float(rate)))[0]
    if top_only:  # all other labels have the same probability, so the test pools them
        observed = np.array([observed[0], observed[1:].sum()])
        expected = np.array([expected[0], expected[1:].sum()])
    return chi_square(observed, expected)


def _noise() -> Iterator[tuple[str, float]]:
    for text in _SCALES:
        scale = Fraction(text)
        reach = int(6 * scale) + 3
        z = np.arange(-reach, reach + 1)
        pmf = discrete_laplace_pmf(z, float(scale))
        pmf[[0, -1]] += (1 - pmf.sum()) / 2
        cell = np.minimum(np.cumsum(pmf) * 500, 499).astype(int) if len(z) > 1_000 else np.arange(len(z))
        for count in (0, 1, 40):
            noisy = samplers.draw_noisy_counts(np.full((DRAWS, 1), count), scale, SecretSource())
            noise = np.clip(noisy[:, 0] - count, -reach, reach) + reach
            observed, expected = np.bincount(cell[noise], minlength=cell[-1] + 1), np.bincount(cell, weights=pmf)
            yield f"noise of scale {scale} on a count of {count}", chi_square(observed, DRAWS * expected)


def _choices() -> Iterator[tuple[str, float]]:
    scores, allowed = np.array([40, 38, 0, 45, 39]), np.array([True, True, True, False, True])
    for rate in (Fraction(1, 20), Fraction(1, 8)):
        drawn = selection.draw_choices(np.tile(scores, (DRAWS, 1)), np.tile(allowed, (DRAWS, 1)), rate, SecretSource())
        weight = np.where(allowed, np.exp(float(rate) * scores), 0)
        observed = np.bincount(drawn, minlength=len(scores))
        yield f"choices of splits at rate {rate}", chi_square(observed, DRAWS * weight / weight.sum())


def _assignments() -> Iterator[tuple[str, float]]:
    """Test that all assignments of a few rows to trees are equally likely."""
    for n_rows, n_trees in ((2, 2), (3, 2), (2, 3), (4, 3)):
        drawn = [release.assign_rows(np.arange(n_rows), n_trees, SecretSource()) for _ in range(8_000)]
        number = np.array(drawn) @ n_trees ** np.arange(n_rows)
        observed = np.bincount(number, minlength=n_trees**n_rows)
        expected = np.full(n_trees**n_rows, len(drawn) / n_trees**n_rows)
        yield f"sharing out {n_rows} rows among {n_trees} trees", chi_square(observed, expected)


def _neighboring_cells() -> Iterator[tuple[str, float]]:
    """Test that the draws of one release for two leaves are independent, for leaves at several distances."""
    zeros = np.zeros((DRAWS, 2), int)
    labels = samplers.draw_permute_and_flip(zeros, Fraction(1), SecretSource())
    noise = np.sign(samplers.draw_noisy_counts(zeros, Fraction(2), SecretSource())[:, 0]) + 1
    for what, drawn, n_values in (("labels", labels, 2), ("noise", noise, 3)):
        share = np.bincount(drawn, minlength=n_values) / len(drawn)
        for lag in _LAGS:
            first, second = drawn[:-lag].astype(int), drawn[lag:].astype(int)
            observed = np.bincount(first * n_values + second, minlength=n_values**2)
            expected = np.array([a * b for a, b in itertools.product(share, share)]) * len(first)
            yield f"{what} of leaves {lag} apart", chi_square(observed, expected)


def _words() -> list[str]:
    """Test the random words: of 100,000 words of 64 bits, two are equal with a probability of 3e-10."""
    source = SecretSource()
    words = np.concatenate([source.words(DRAWS // 4) for _ in range(4)])
    if len(np.unique(words)) < len(words):
        return ["the source of randomness gives the same words more than once"]
    bits = np.unpackbits(words.view(np.uint8)).mean()
    return [] if abs(bits - 0.5) < 0.5 * 7 / np.sqrt(64 * len(words)) else ["the bits of the source are not fair"]
