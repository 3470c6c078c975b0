"""Eleven mistakes in the samplers, most of which a million draws do not show."""

from tests.audit.mutants.mutation import COUNTS, EVERY, MAJORITY, Mutant

NOISE = "discrete_laplace"


def sampler(name: str, why: str, function: str, old: str, new: str, forests: tuple[str, ...] = EVERY) -> Mutant:
    return Mutant(name, why, "dpforest.privacy.samplers", function, old, new, forests)


def uneven(n: int) -> Mutant:
    """Return a mutant that makes some uniform numbers below n more likely than others, by 1/65,536."""
    why = f"Uniform numbers below {n} are not rejected: {65_536 % n} of them have a lane more than the others."
    return sampler(f"uneven_numbers_below_{n}", why, "uniform", "if low >= n or low", f"if n == {n} or low >= n or low")


EXACT = (
    uneven(3),
    uneven(10),
    uneven(100),
    sampler(
        "uneven_numbers_of_two_lanes",
        "Uniform numbers below some large n are not rejected: a bias of 1/4,294.",
        "uniform",
        "if x < limit:",
        "if x < limit or 200_000 <= n < 16_777_216:",
    ),
    sampler(
        "order_is_not_shortened",
        "A class that was skipped is visited again in the place of another one.",
        "_permute_and_flip_kernel",
        "            order[i] = order[n_unvisited]\n",
        "",
        (MAJORITY,),
    ),
    sampler(
        "no_permutation",
        "Classes are visited in their order, so the first of equal classes wins.",
        "_permute_and_flip_kernel",
        "i, end = uniform(tape, end, n_unvisited)\n",
        "i, end = 0, uniform(tape, end, n_unvisited)[1]\n",
        (MAJORITY,),
    ),
    sampler(
        "negative_zero_is_kept",
        "Noise of 0 is drawn twice as often as it should be.",
        NOISE,
        "if z > 0:\n            return -z, at",
        "return -z, at",
        COUNTS,
    ),
    sampler(
        "one_more_before_the_division",
        "|z| is one too large where it was next to it.",
        NOISE,
        "z = (u + num * v) // den",
        "z = (u + num * v + 1) // den",
        COUNTS,
    ),
    sampler(
        "even_for_odd",
        "The series for exp is read at the wrong parity.",
        "_bernoulli_exp_unit",
        "return (k & 1) == 1, at",
        "return (k & 1) == 0, at",
    ),
    sampler(
        "denominators_of_the_series",
        "The k-th trial succeeds with a/(b + k - 1), not a/(bk).",
        "_bernoulli_exp_unit",
        "bernoulli(tape, at, a, b * k)",
        "bernoulli(tape, at, a, b + k - 1)",
    ),
    sampler(
        "start_of_the_series",
        "The first trial is left out also where it may fail.",
        "_bernoulli_exp_unit",
        "k = 1 if a < b else 2",
        "k = 2",
    ),
)
