"""Mistakes that all auditors once missed or detected by luck.

At that time, the auditors replayed only tables with two or three classes, and with up to 40 or about 65,536 rows. Their
`size` was close to the number of rows, their scores were typical, and few of their cells were unreadable. A reviewer
wrote these mistakes and eight others. The comment after a name is the letter of the mistake in that review.
"""

from tests.audit.mutants.mutation import COUNTS, EVEN, EVERY, MAJORITY, Mutant
from tests.audit.mutants.rounds import BOOSTER

BLIND_SPOTS = (
    Mutant(
        name="a_gradient_is_rounded",  # A
        why="Gradients of several classes are rounded and not truncated, and the largest gradient is reduced "
        "only once to correct this. With fifty classes a gradient is up to 1.2 % larger than the noise covers.",
        module="dpforest.models.boosting.gradients",
        function="gradient_of",
        old="""        out[c] = np.int64(np.trunc(UNIT * (raw[c] * shrink)))
        whole += int(out[c] * out[c] if is_l2 else abs(out[c]))
    if k * whole > bound:  # this never happens: step 3 of the proof
        out[:] = 0""",
        new="""        out[c] = np.int64(np.rint(UNIT * (raw[c] * shrink)))
        whole += int(out[c] * out[c] if is_l2 else abs(out[c]))
    if k * whole > bound:
        top_class = int(np.argmax(np.abs(out)))
        out[top_class] -= 1 if out[top_class] > 0 else -1""",
        forests=(BOOSTER,),
    ),
    Mutant(
        name="a_border_is_in_both_cells",  # B
        why="A row on the border of two cells of the scale counts in both, but the noise is for one.",
        module="dpforest.trees.released_scale",
        function="_count",
        old="                counts[k, above * CELLS // (N_CODES - first[k])] += 1 if weight is None else weight[i]\n",
        new="""                cell = above * CELLS // (N_CODES - first[k])
                counts[k, cell] += 1
                if cell > 0 and above * CELLS % (N_CODES - first[k]) < CELLS:
                    counts[k, cell - 1] += 1
""",
        forests=(MAJORITY, *COUNTS, EVEN, BOOSTER),
    ),
    Mutant(
        name="the_released_size_has_a_floor_of_rows",  # C
        why="The noisy number of rows is never less than a thousandth of the true one: very negative noise "
        "reveals the true number. Unbounded, on rare answers.",
        module="dpforest.models.preparation",
        function="release_size",
        old="return max(int(noisy[0, 0]), LEAST_SIZE)\n",
        new="return max(int(noisy[0, 0]), LEAST_SIZE, n_rows // 1_000)\n",
        forests=(BOOSTER, *EVERY),
    ),
    Mutant(
        name="counts_are_released_without_the_scale",  # J
        why="If rows are counted in parts, the released ledger lacks the cost of the scale, although the scale is "
        "released.",
        module="dpforest.models.random.random_structure",
        function="RandomStructureClassifier._stored_preparation",
        old="for e in preparation.entries:\n",
        new="for e in [e for e in preparation.entries if not e.what.startswith('scale')]:\n",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="a_size_that_is_too_small_is_replaced",  # K
        why="A `size` below a hundredth of the rows is taken for a typing error and replaced by that hundredth: "
        "unbounded loss.",
        module="dpforest.models.budget",
        function="BudgetedClassifier._known_size",
        old="return self.size or 0",
        new="self.size = max(self.size or 0, n_rows // 100)\n    return self.size",
        forests=(BOOSTER,),
    ),
    Mutant(
        name="noise_for_three_classes",  # L
        why="The noise of a round covers three classes at most. With fifty classes a row changes the sums by more, "
        "and its real loss is 1.47 times the promise (in μ² for Gaussian noise).",
        module="dpforest.models.boosting.clip_bound",
        function="ClipBound.sensitivity",
        old="bound = Fraction(self.times_classes, self.n_classes)",
        new="""k = min(self.n_classes, 3)
    bound = Fraction(type(self)(k, self.kind).times_classes, k)""",
        forests=(BOOSTER,),
    ),
    Mutant(
        name="empty_leaves_stay_late",  # N
        why="From round 400 on, leaves whose gradients add up to 0 do not change, to save time: unbounded.",
        module="dpforest.models.boosting.gradient_rounds",
        function="boost",
        old="        moves[t] = moves_of(noisy, spec.step)\n",
        new="""        moves[t] = moves_of(noisy, spec.step)
        if t >= 400:
            moves[t][~sums.any(axis=1)] = 0
""",
        forests=(BOOSTER,),
    ),
    Mutant(
        name="three_bad_cells_are_read_again",  # P
        why="If three cells of a column are not numbers, pandas reads the column again, and one row changes how other "
        "rows are read.",
        module="dpforest.tables.cells",
        function="_numbers_of_objects",
        old="    return read\n",
        new="""    if len(bad) >= 3:
        read = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(float)
    return read
""",
        forests=(MAJORITY, *COUNTS, BOOSTER),
    ),
)
