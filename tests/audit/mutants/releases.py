"""Mistakes in releases: in the drawn values, in their rates, and in the choice of splits."""

from tests.audit.mutants.mutation import BOOSTED, COUNTS, EVEN, GREEDY, MAJORITY, MULTINOMIAL, Mutant

RELEASES = (
    Mutant(
        name="labels_at_the_rate_of_the_entry",
        why="Labels are drawn at the cost of the ledger's entry instead of the cost of one row. These are the same "
        "under add-remove; under replace-one, an entry counts both rows, so the loss is 2ε.",
        module="dpforest.privacy.release",
        function="release_labels",
        old="return draw(counts, label_rate(rate, count_unit), source)",
        new="return draw(counts, round_down(rate * ledger.rows), source)",
        forests=(MAJORITY, EVEN, MULTINOMIAL),
    ),
    Mutant(
        name="fine_scores_at_the_coarse_rate",
        why="A change of a name was left incomplete: the demonstration chooses by coarse scores, but the release by "
        "fine ones at the rate of the coarse ones. Splits cost 2^shift times the charge: 256 times in a boosted "
        "tree (α = 0), 32 with normalized scores, up to 4 with entropy.",
        module="dpforest.privacy.selection",
        function="choose",
        old="""scores, width = coarsened(scores, sensitivity, nodes)
    rate = rate_of(query_budget.use().pure_epsilon, width)
    if isinstance(source, DemoSource):
        return simulate_choices(scores,""",
        new="""coarse, width = coarsened(scores, sensitivity, nodes)
    rate = rate_of(query_budget.use().pure_epsilon, width)
    if isinstance(source, DemoSource):
        return simulate_choices(coarse,""",
        forests=(BOOSTED, MULTINOMIAL, GREEDY),
    ),
    Mutant(
        name="rows_are_dealt_out",
        why="Rows are dealt to the trees like cards, so that all trees get equally many, and one more row moves "
        "another row. Under replace-one this adds no loss; under add-remove 1.5ε at ε = 1 with two rows and two "
        "trees, and up to 3ε with more.",
        module="dpforest.privacy.release",
        function="assign_rows",
        old="return samplers.draw_uniform(n, n_trees, source)",
        new="return (np.argsort(source.words(n)) % n_trees).astype(np.int32)",
        forests=(MAJORITY, COUNTS[0], MULTINOMIAL),
    ),
    Mutant(
        name="empty_leaves_stay_empty",
        why="Leaves without rows get no noise, because there seems to be nobody to protect in them: all their counts "
        "are certainly 0, and with one row they are almost never all 0. Unbounded, in both relations.",
        module="dpforest.privacy.release",
        function="release_counts",
        old="return samplers.draw_noisy_counts(counts, noise_scale(rate, count_unit), source)",
        new="""noisy = samplers.draw_noisy_counts(counts, noise_scale(rate, count_unit), source)
    return np.where(counts.any(axis=1, keepdims=True), noisy, 0)  # nobody is in an empty leaf""",
        forests=COUNTS,
    ),
    Mutant(
        name="better_of_two_splits",
        why="Two splits are drawn at the price of one and the better one is taken, by its exact score. A test that "
        "falls from one of K equals to the worst is then taken with P² instead of 1/K, which costs about ln K + 2ε' in "
        "a level that was paid ε' for, however small ε is: 0.79 with two tests and 2.5 with ten for 0.1.",
        module="dpforest.privacy.selection",
        function="draw_choices",
        old="return out",
        new="""again, nodes = np.empty_like(out), np.arange(len(out))
    run_tape(_choose_kernel, len(scores), source, scores, allowed, num, den, candidates, again)
    return np.where(scores[nodes, again] > scores[nodes, out], again, out)  # the better of two""",
        forests=(MULTINOMIAL, BOOSTED, GREEDY),
    ),
    Mutant(
        name="equal_leaves_draw_once",
        why="Leaves with the same counts have the same pmf, so one label is drawn for all of them: two empty leaves "
        "always get the same label, but may differ once a row is in one of them. Unbounded, in both relations, if "
        "a forest has at least two leaves.",
        module="dpforest.privacy.release",
        function="release_labels",
        old="return draw(counts, label_rate(rate, count_unit), source)",
        new="""distinct, which = np.unique(counts, axis=0, return_inverse=True)  # many leaves are alike
    return draw(distinct, label_rate(rate, count_unit), source)[which.reshape(len(counts))]""",
        forests=(MAJORITY, EVEN, MULTINOMIAL),
    ),
    Mutant(
        name="three_quarters_of_the_scale",
        why="Noise is a quarter too small: 4/3 of the charge, which slack in a ledger can hide.",
        module="dpforest.privacy.release",
        function="noisy_table",
        old="scale = sensitivity / each.pure_epsilon",
        new="scale = sensitivity / each.pure_epsilon * 3 / 4",
        forests=("BoostedForestClassifier",),
    ),
    Mutant(
        name="rate_a_fifth_too_high",
        why="Splits are drawn at 5/4 of the rate that was paid for.",
        module="dpforest.privacy.selection",
        function="rate_of",
        old="epsilon_each / sensitivity",
        new="epsilon_each * 5 / 4 / sensitivity",
        forests=("MultinomialForestClassifier",),
    ),
)
