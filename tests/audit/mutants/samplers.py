"""Mistakes in samplers, in the random bits that they read, and in the rates that they get."""

from tests.audit.mutants.mutation import BOOSTED, COUNTS, EVEN, EVERY, GREEDY, MAJORITY, MULTINOMIAL, Mutant

SAMPLERS = (
    Mutant(
        name="negative_zero_is_a_zero",
        why="Noise of 0 keeps its sign, so 0 is drawn twice as often as it should be, and the step from 0 to 1 costs "
        "ln 2 more: κ + ln 2 in each tree, 1.7ε at κ = 1, and T ln 2 + ε with all rows in T trees.",
        module="dpforest.privacy.samplers",
        function="discrete_laplace",
        old="if z > 0:\n            return -z, at",
        new="return -z, at",
        forests=(*COUNTS, BOOSTED, GREEDY),
    ),
    Mutant(
        name="long_shots_never_hit",
        why="exp(-12) is smaller than the smallest probability of one lane and is taken for 0, so a label or split "
        "that is far behind can occur on one table, and not on its neighbor: unbounded, but only on events of "
        "about e^-12 in each leaf or node (with two classes, ε holds except for a δ of 3·10^-6 a leaf).",
        module="dpforest.privacy.samplers",
        function="bernoulli_exp",
        old="whole = a // b\n",
        new="whole = a // b\n    if whole >= 12:  # less likely than the 16 bits of a lane can show\n"
        "        return False, at\n",
        forests=(MAJORITY, EVEN, MULTINOMIAL, BOOSTED, GREEDY),
    ),
    Mutant(
        name="bytes_come_round",
        why="The system is asked for at most 256 bytes, the limit of getentropy, and these bytes are repeated up to "
        "the requested length. Later leaves of a forest then share their noise with the first ones, and a "
        "comparison of the leaves removes it: unbounded (forests of one or two leaves are not affected).",
        module="dpforest.privacy.randomness",
        function="SecretSource.words",
        old="return np.frombuffer(bytearray(os.urandom(8 * n)), np.uint64)",
        new="return np.resize(np.frombuffer(bytearray(os.urandom(min(8 * n, 256))), np.uint64), n)",
        forests=EVERY,
    ),
    Mutant(
        name="whole_scales",
        why="Scales of noise are rounded to the nearest whole number instead of up to the next fraction of 32 bits: "
        "nothing is lost at ε = 1, where they are whole. With s the scale that was paid for, counts cost s / round(s) "
        "times what was paid: 1.43ε at ε = 0.7 with one tree or rows shared out, 1.25ε at ε = 2 with 5 trees, 1.11ε at "
        "ε = 3 with 10. In one greedy tree 1.21ε at ε = 1.4, and 1.13ε at ε = 0.8.",
        module="dpforest.privacy.rationals",
        function="round_up",
        old="return 1 / below",
        new="return Fraction(max(1, round(1 / below)))  # counts are whole, and so is their noise",
        forests=(*COUNTS, GREEDY),
    ),
    Mutant(
        name="noise_until_not_negative",
        why="Noise that would make a count negative is drawn again, so that all of the pmf of an empty cell is on 0 "
        "and above: from an empty cell to one row the chance to pass grows by 1 + q - q², q = e^-κ. That costs "
        "κ + ln(1 + q - q²) in each tree: 1.21ε at ε = 1 with one tree or rows shared out, 1.84ε with 11 trees, and "
        "2ε with many. Where noise is on weights, ln(2 e^κ - 1), and 1.3ε in one boosted tree.",
        module="dpforest.privacy.samplers",
        function="_discrete_laplace_kernel",
        old="out[row] = counts[row] + z",
        new="""if counts[row] + z < 0:  # no count is negative
            at = end
            continue
        out[row] = counts[row] + z""",
        forests=(*COUNTS, BOOSTED, GREEDY),
    ),
    Mutant(
        name="uneven_numbers",
        why="Uniform numbers below n are not rejected if 65,536 is no multiple of n, so some are more likely: noise "
        "of a scale of 51,200 prefers some values two to one, and a shift by 512 costs 0.7 where 0.01 is paid.",
        module="dpforest.privacy.samplers",
        function="uniform",
        old="if low >= n or low >= 65_536 % n:",
        new="if low >= 0:",
        forests=EVERY,
    ),
    Mutant(
        name="narrow_products",
        why="A product of a lead and a rate is kept in 32 bits and wraps around: a leaf that should not flip does.",
        module="dpforest.privacy.samplers",
        function="_permute_and_flip_kernel",
        old="(top - counts[row, label]) * num",
        new="np.int64(np.int32((top - counts[row, label]) * num))",
        forests=("MajorityLabelForestClassifier",),
    ),
)
