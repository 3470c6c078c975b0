"""Mistakes with which an attacker got past the auditors, until these looked for them: see `mutants`."""

from mutants import EVERY, Mutant

THIRD = (
    Mutant(
        name="uneven_numbers",
        why="Uniform numbers below n are not rejected where 65,536 is no multiple of n, so some are likelier: noise of "
        "a scale of 51,200 prefers some values two to one, and a shift by 512 costs 0.7 where 0.01 is paid.",
        module="dpforest.privacy.samplers",
        function="uniform",
        old="if low >= n or low >= 65_536 % n:",
        new="if low >= 0:",
        forests=EVERY,
    ),
    Mutant(
        name="narrow_products",
        why="A product of a lead and a rate is kept in 32 bits and wraps round: a leaf that cannot flip does.",
        module="dpforest.privacy.samplers",
        function="_permute_and_flip_kernel",
        old="(top - counts[row, label]) * num",
        new="np.int64(np.int32((top - counts[row, label]) * num))",
        forests=("MajorityLabelForestClassifier",),
    ),
    Mutant(
        name="seed_that_counts_rows",
        why="The public seed in the file is the structure's plus the number of rows: unbounded under add-remove.",
        module="dpforest.models.random.fit",
        function="fit_forest",
        old="spec.negative_rule, structure_seed, certificate",
        new="spec.negative_rule, structure_seed + len(y), certificate",
        forests=("MajorityLabelForestClassifier",),
    ),
    Mutant(
        name="voting_that_suits_the_rows",
        why="How trees are combined is chosen by exact counts.",
        module="dpforest.models.random.fit",
        function="fit_forest",
        old="noisy_counts, spec.voting,",
        new='noisy_counts, "majority" if 3 * counts.max(axis=1).sum() > 2 * counts.sum() else "threshold",',
        forests=("RandomDecisionForestClassifier",),
    ),
    Mutant(
        name="three_quarters_of_the_scale",
        why="Noise is a quarter too small: 4/3 of what was paid, hidden where a ledger has slack.",
        module="dpforest.privacy.release",
        function="noisy_table",
        old="scale = sensitivity / query_budget.use()",
        new="scale = sensitivity / query_budget.use() * 3 / 4",
        forests=("BoostedForestClassifier",),
    ),
    Mutant(
        name="rate_a_fifth_too_high",
        why="Splits are drawn at 5/4 of the rate that was paid.",
        module="dpforest.privacy.selection",
        function="rate_of",
        old="epsilon_each / sensitivity",
        new="epsilon_each * 5 / 4 / sensitivity",
        forests=("MultinomialForestClassifier",),
    ),
)
