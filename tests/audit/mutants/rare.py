"""Mistakes that act in rare events only: extremely large noise, splits of small probability, zeros, many rows.

People who had not read the auditors wrote the first mutant of each group. At that time, the auditors detected none of
these first mutants. The other mutants of a group make the same mistake at other places in the code.
"""

from tests.audit.mutants.mutation import BOOSTED, COUNTS, EVEN, GREEDY, MAJORITY, MULTINOMIAL, Mutant

FAR_NOISE = (
    Mutant(
        name="far_noise_is_drawn_again",
        why="Noise beyond 12 scales is redrawn, because it is rare: a count that is 13 scales away can be released on "
        "one table, and not on its neighbor. Unbounded, on events of about e^-12 in each cell.",
        module="dpforest.privacy.samplers",
        function="discrete_laplace",
        old="z = (u + num * v) // den\n",
        new="""z = (u + num * v) // den
        if z * den > 12 * num:
            continue
""",
        forests=(*COUNTS, BOOSTED, GREEDY),
    ),
    Mutant(
        name="far_noise_is_cut",
        why="Noisy counts are clipped at a distance of 40 scales from the true counts: unbounded.",
        module="dpforest.privacy.samplers",
        function="draw_noisy_counts",
        old="return out.reshape(counts.shape)",
        new="""reach = int(40 * scale) + 1
    return np.clip(out.reshape(counts.shape), counts - reach, counts + reach)""",
        forests=(*COUNTS, BOOSTED, GREEDY),
    ),
)

RARE_SPLITS = (
    Mutant(
        name="hopeless_splits_are_passed_over",
        why="A split that is behind by more than e^-12 is proposed but never accepted: it can be chosen on one table, "
        "and not on its neighbor. Unbounded.",
        module="dpforest.privacy.selection",
        function="_choose_kernel",
        old="            if accepted:\n",
        new="            if accepted and (best - scores[row, chosen]) * num <= 12 * den:\n",
        forests=(MULTINOMIAL, BOOSTED, GREEDY),
    ),
    Mutant(
        name="hopeless_splits_are_left_out",
        why="The same, but such splits are removed before anything is drawn, to save time.",
        module="dpforest.privacy.selection",
        function="draw_choices",
        old="    num, den = rate.numerator, rate.denominator\n",
        new="""    num, den = rate.numerator, rate.denominator
    best = np.where(allowed, scores, scores.min()).max(axis=1, keepdims=True)
    allowed = allowed & ((best - scores) * num <= 500 * den)
""",
        forests=(MULTINOMIAL, BOOSTED, GREEDY),
    ),
)

ZEROS = (
    Mutant(
        name="a_zero_is_the_true_count",
        why="A noisy count of 0 is taken for a missing count, and the true count replaces it: 0 is released only for "
        "empty cells. Unbounded.",
        module="dpforest.privacy.samplers",
        function="_discrete_laplace_kernel",
        old="out[row] = counts[row] + z",
        new="out[row] = counts[row] + z if counts[row] + z != 0 else counts[row]",
        forests=(*COUNTS, BOOSTED, GREEDY),
    ),
    Mutant(
        name="a_zero_is_the_true_count_of_a_table",
        why="The same after the sampler, in the function that serves greedy trees.",
        module="dpforest.privacy.release",
        function="noisy_table",
        old="return samplers.draw_noisy_counts(table, round_up(scale), source)",
        new="""noisy = samplers.draw_noisy_counts(table, round_up(scale), source)
    return np.where(noisy == 0, table, noisy)""",
        forests=(BOOSTED, GREEDY),
    ),
    Mutant(
        name="a_forest_of_zeros_is_the_true_one",
        why="If all counts of a forest are 0, this is taken for a fault, and the true counts are released: as above, "
        "but only for forests that occur almost never.",
        module="dpforest.models.random.fit",
        function="_release",
        old="values = release.release_counts(counts, **arguments)\n",
        new="""values = release.release_counts(counts, **arguments)
        values = values if values.any() else counts
""",
        forests=COUNTS,
    ),
)

MANY_ROWS = (
    Mutant(
        name="many_rows_need_no_noise",
        why="From 65,536 rows on, labels are exact, because no single row seems to matter: unbounded.",
        module="dpforest.models.random.fit",
        function="fit_forest",
        old="values = _release(spec, counts, epsilon, ledger, source)\n",
        new="""values = _release(spec, counts, epsilon, ledger, source)
        if len(y) >= 65_536 and not spec.releases_counts:
            values = true_labels(counts, structure_seed)
""",
        forests=(MAJORITY, EVEN),
    ),
    Mutant(
        name="many_rows_are_dealt_out",
        why="From 65,536 rows on, rows are dealt to the trees like cards, which is faster: the tree of one more row "
        "is then known, and a row at the front moves all others.",
        module="dpforest.privacy.release",
        function="assign_rows",
        old="return samplers.draw_uniform(n, n_trees, source)",
        new="""return samplers.draw_uniform(n, n_trees, source) if n < 65_536 else np.arange(n) % n_trees""",
        forests=(MAJORITY, COUNTS[0], MULTINOMIAL),
    ),
    Mutant(
        name="many_rows_in_parts_count_twice",
        why="From 65,536 rows on, rows that arrive in parts are counted twice: 2ε.",
        module="dpforest.models.random.random_structure",
        function="RandomStructureClassifier._release",
        old="scale, part.counts)",
        new="scale, part.counts * (1 + (part.n_rows >= 65_536)))",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="many_leaves_need_no_noise",
        why="In forests of 65,536 leaves, labels are exact: unbounded.",
        module="dpforest.privacy.samplers",
        function="draw_permute_and_flip",
        old="return out",
        new="return out if len(counts) < 65_536 else counts.argmax(axis=1).astype(np.uint8)",
        forests=(MAJORITY,),
    ),
    Mutant(
        name="large_leaves_need_less_noise",
        why="Leaves of 65,536 rows draw their label at twice the rate: 2ε.",
        module="dpforest.privacy.samplers",
        function="_permute_and_flip_kernel",
        old="(top - counts[row, label]) * num",
        new="(top - counts[row, label]) * num * (1 + (top >= 65_536))",
        forests=(MAJORITY,),
    ),
)

WAITING = (*FAR_NOISE, *RARE_SPLITS, *ZEROS, *MANY_ROWS)
