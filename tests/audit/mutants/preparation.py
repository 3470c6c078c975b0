"""Mistakes in the queries before trees grow: the number of rows, and the scale of attributes."""

from tests.audit.mutants.mutation import COUNTS, EVERY, GREEDY, MAJORITY, Mutant

PREPARATION = (
    Mutant(
        name="two_levels_are_paid_for",
        why="The sensitivity counts only two of the three histograms of an attribute, so the noise is for two: the "
        "scale costs one and a half times its charge.",
        module="dpforest.models.preparation",
        function="charge_scale",
        old="sensitivity = Fraction(LEVELS * n_numeric)\n",
        new="sensitivity = Fraction((LEVELS - 1) * n_numeric)\n",
        forests=EVERY,
    ),
    Mutant(
        name="noise_for_one_attribute",
        why="The noise is that for a row in one attribute only.",
        module="dpforest.models.preparation",
        function="charge_scale",
        old="sensitivity = Fraction(LEVELS * n_numeric)\n",
        new="sensitivity = Fraction(LEVELS)\n",
        forests=EVERY,
    ),
    Mutant(
        name="rules_see_all_rows",
        why="The number of rows is paid for, but the exact number is used: it determines the scale's share of ε, and "
        "with it all noise: unbounded.",
        module="dpforest.models.budget",
        function="BudgetedClassifier._known_size",
        old="return release_size(n_rows, self._loss, ledger, source, self._size_share)\n",
        new="return min(release_size(n_rows, self._loss, ledger, source, self._size_share), 0) or 100 * n_rows\n",
        forests=(MAJORITY, *COUNTS, GREEDY),
    ),
    Mutant(
        name="size_is_odd_where_rows_are",
        why="The noisy number of rows is made odd if the true number is odd, and even otherwise.",
        module="dpforest.models.preparation",
        function="release_size",
        old="return max(int(noisy[0, 0]), LEAST_SIZE)\n",
        new="return max(int(noisy[0, 0]), LEAST_SIZE) // 2 * 2 + n_rows % 2\n",
        forests=EVERY,
    ),
    Mutant(
        name="missing_cells_count_twice",
        why="A missing cell is counted at both ends of the range, so that its row changes twice as many cells as "
        "others.",
        module="dpforest.trees.released_scale",
        function="scale_histograms",
        old="    return counts\n",
        new="""    absent = len(codes) - counts.sum(axis=1)
    counts[:, 0] += absent
    counts[:, -1] += absent
    return counts
""",
        forests=EVERY,
    ),
    Mutant(
        name="cells_of_the_rows_own_range",
        why="Cells divide the range between the least and the largest code of the rows, so one row can move all "
        "others to another cell.",
        module="dpforest.trees.released_scale",
        function="scale_histograms",
        old="    counts = np.zeros((len(numeric), CELLS), np.int64)\n",
        new="""    counts = np.zeros((len(numeric), CELLS), np.int64)
    low, high = codes.min(axis=0, initial=N_CODES - 1), codes.max(axis=0, initial=0)
    low, width = low.astype(np.int64), np.maximum(high - low.astype(np.int64), 1)
    codes = ((codes - low) * (N_CODES - 1) // width).clip(0, N_CODES - 1).astype(np.uint16)
""",
        forests=(MAJORITY,),
    ),
    Mutant(
        name="scale_of_true_counts",
        why="The noisy histograms are paid for and drawn, but the scale is computed from the exact ones: unbounded.",
        module="dpforest.models.preparation",
        function="release_scale",
        old="return scale_from(noisy, noise_scale)",
        new="return scale_from(nested_counts(cells), noise_scale)",
        forests=EVERY,
    ),
)
