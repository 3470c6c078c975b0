"""Mistakes in the queries of data-dependent forests, and in the routing of rows to leaves."""

from tests.audit.mutants.mutation import BOOSTED, COUNTS, EVEN, GREEDY, MAJORITY, MULTINOMIAL, Mutant

GROWTH = (
    Mutant(
        name="entropy_is_at_most_log_n",
        why="The bound assumes that a row adds at most log2(n) bits to a child, but it adds up to log2(n) + 1/ln 2. "
        "So splits by entropy cost 1 + 1.44 / log2(n) times the charge if n_bound is close to the number of rows. "
        "With 32 rows, the loss of a fit is 1.14ε if splits have half of ε, and 1.25ε if they have nine tenths of it.",
        module="dpforest.trees.split_scores",
        function="sensitivity",
        old="(math.log2(n_bound) + 1 / math.log(2))",
        new="math.log2(n_bound)",
        forests=(GREEDY,),
    ),
    Mutant(
        name="reach_of_the_rows",
        why="The bound on weights follows the largest score of a row of the table instead of the largest sum of leaf "
        "values, so the scale of all later noise depends on whether a row is in an extreme leaf: unbounded, from "
        "the second tree on.",
        module="dpforest.models.greedy.alpha_boost",
        function="boost",
        old="score_bound += float(np.abs(values).max())",
        new="score_bound = float(np.abs(score).max(initial=0.0))",
        forests=(BOOSTED,),
    ),
    Mutant(
        name="empty_bins_are_not_asked",
        why="A test is left out if its bin has no rows of the node, because another test divides the rows in the same "
        "way. So the tests that remain show which bins are empty: unbounded.",
        module="dpforest.trees.greedy_trees",
        function="grow_tree",
        old="picks = choose(level, histogram, undecided(candidates, chosen))",
        new="""allowed = undecided(candidates, chosen)
        filled = histogram.sum(axis=2)[:, candidates.slot[candidates.feature] + candidates.cut] > 0
        allowed &= filled | ~(allowed & filled).any(axis=1, keepdims=True)
        picks = choose(level, histogram, allowed)""",
        forests=(GREEDY, MULTINOMIAL, BOOSTED),
    ),
    Mutant(
        name="every_row_decides_leaves",
        why="The rows that grew a tree are also counted in its leaves, although labels were charged for the other "
        "rows only: 2ε for a row that grew the tree. A row does with probability 1/2, so the loss is "
        "ln((e^ε + e^2ε) / 2), which is 1.6ε at ε = 1. "
        'Only with partition="independent", the default.',
        module="dpforest.models.greedy.count_trees",
        function="share_out",
        old="shares.estimation.append(rows[~grows])",
        new="shares.estimation.append(rows)",
        forests=(MULTINOMIAL,),
    ),
    Mutant(
        name="carried_from_true_leaves",
        why="α of the next tree's levels follows from the true leaves of the tree before instead of the noisy ones: if "
        "an added row is the first of m rows of the rarer class that is misclassified, α rises from 0 to 1/m, and the "
        'probabilities of all splits of a level change. Only with alpha="carried", in all levels but the root of all '
        "trees but the first. The loss grows with the number of rows and with n_bound. The loss of one such level, at "
        "ε = 1 with the default n_bound: below 1 with 40 rows, 2.4 with 100 rows, 5.3 with 200 rows (two trees of "
        "depth 2), and 7.2 with 2,000 rows (five trees of depth 4).",
        module="dpforest.models.greedy.boost_mechanisms",
        function="CertifiedBoostMechanism.leaves",
        old="np.maximum(_tables_at_level(noisy, k), 0)",
        new="_tables_at_level(table, k)",
        forests=(BOOSTED,),
    ),
    Mutant(
        name="blocks_overlap",
        why="Each block of rows also takes the first row of the next block, so this row is counted twice: 2ε for that "
        "row. One more row shifts the borders: up to (2b + 1)ε under add-remove with b borders. Only if there are "
        "borders: three with n_jobs=2, and one every 65,536 rows. Under replace-one 2ε.",
        module="dpforest.trees.routing",
        function="blocks",
        old="part = slice(start, min(start + size, n))",
        new="part = slice(start, min(start + size + 1, n))",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="values_are_clamped_below",
        why="Leaf values are clamped from below before the noise, and from above only after it. One row of the second "
        "class moves an empty leaf from 0 to 100, and the noise hides a change of twice the bound max_leaf. So the "
        'leaves cost 50 / max_leaf times their charge: 25 times with the default of 2. Only with leaf="range". With '
        "max_leaf=100, the mutant changes nothing.",
        module="dpforest.models.greedy.boost_mechanisms",
        function="CertifiedBoostMechanism.leaves",
        old="""values = np.clip(leaf_link(table, spec.alpha_link), -most, most)
""",
        new="""values = np.maximum(leaf_link(table, spec.alpha_link), -most)
""",
        forests=(BOOSTED,),
    ),
)
