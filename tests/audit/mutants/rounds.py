"""Mistakes in the rounds of the random-tree booster."""

from tests.audit.mutants.mutation import Mutant

BOOSTER = "RandomTreeBoosterClassifier"
ROUNDS = (
    Mutant(
        name="misclassified_rows_pull_harder",
        why="The gradient of two classes is not clipped, so a misclassified row moves a sum by up to 1, while the "
        "noise is for 1/2.",
        module="dpforest.models.boosting.gradients",
        function="_next_of_two",
        old="two_class_sizes[min(max(index, 0), last)]\n",
        new="""(
            two_class_sizes[min(index, last)]
            if index > 0
            else 2 * two_class_sizes[0] - two_class_sizes[min(-index, last)]
        )
""",
        forests=(BOOSTER,),
    ),
    Mutant(
        name="clipped_by_sizes_where_length_is_paid",
        why="Gradients of three classes are clipped by the sum of their sizes, but the Gaussian noise is for their "
        "length, which is larger if two classes have all of it. (The opposite mistake would lose nothing.)",
        module="dpforest.models.boosting.gradient_sums",
        function="GradientSums._sums_of",
        old="leaf, rows.y[part], self._clip, weight, self._tables)",
        new='leaf, rows.y[part], type(self._clip)(self._clip.n_classes, "pure"), weight, self._tables)',
        forests=(BOOSTER,),
    ),
    Mutant(
        name="half_the_deviation",
        why="Gaussian noise has half the standard deviation: twice μ.",
        module="dpforest.privacy.release",
        function="noisy_table",
        old="sigma = sqrt_up(Fraction(sensitivity) ** 2 / each.mu_squared)\n",
        new="sigma = sqrt_up(Fraction(sensitivity) ** 2 / each.mu_squared / 4)\n",
        forests=(BOOSTER,),
    ),
    Mutant(
        name="scores_move_by_exact_sums",
        why="Noise is drawn and paid for, but not used: unbounded.",
        module="dpforest.models.boosting.gradient_rounds",
        function="boost",
        old="moves[t] = moves_of(noisy, spec.step)\n",
        new="moves[t] = moves_of(sums, spec.step)\n",
        forests=(BOOSTER,),
    ),
    Mutant(
        name="steps_of_the_true_number_of_rows",
        why="The number of rows is paid for, but the exact number divides all steps, so a step reveals it.",
        module="dpforest.models.budget",
        function="BudgetedClassifier._known_size",
        old="return release_size(n_rows, self._loss, ledger, source, self._size_share)\n",
        new="return min(release_size(n_rows, self._loss, ledger, source, self._size_share), 0) or 100 + n_rows\n",
        forests=(BOOSTER,),
    ),
    Mutant(
        name="an_odd_number_of_rows_pulls_twice",
        why="All sums are doubled if the number of rows is odd.",
        module="dpforest.models.boosting.gradients",
        function="next_sums",
        old="    return sums\n",
        new="    return sums * (1 + leaf.size % 2)\n",
        forests=(BOOSTER,),
    ),
)
