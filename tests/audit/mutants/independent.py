"""Eight mistakes that a competent engineer could make in certified code. Their author had not read the auditors.

At first, the auditors detected four of the mistakes. Each of the other four acts in one situation: 200,000 rows with
two threads, labels in a column of int8, a table with more rows than `size`, or an unlisted label in a part of a table.
"""

from tests.audit.mutants.mutation import Mutant

_RANDOM = (
    "MajorityLabelForestClassifier",
    "RandomDecisionForestClassifier",
    "JagannathanForestClassifier",
    "RandomForestLaplaceClassifier",
    "RandomForestExponentialClassifier",
)
_ALL = (
    *_RANDOM,
    "MultinomialForestClassifier",
    "BoostedForestClassifier",
    "RandomTreeBoosterClassifier",
    "FriedmanSchusterClassifier",
)

INDEPENDENT = (
    Mutant(
        name="parts_of_threads_share_the_row_at_their_border",
        why="The rows of a booster's round are cut into one part for each thread, and the end of a part is rounded up "
        "where its start is rounded down. From 200,000 rows on, with two threads or more, and only where the "
        "number of rows is not a multiple of the number of parts, the row at a border is in both parts: its "
        "gradient is added twice, but noise covers one gradient. That row loses twice what the ledger says for "
        "the rounds (in ε and in μ). Under add-remove, one more row also moves the border.",
        module="dpforest.models.boosting.gradient_sums",
        function="GradientSums.__init__",
        old="slice(n * i // n_parts, n * (i + 1) // n_parts)",
        new="slice(n * i // n_parts, -(-n * (i + 1) // n_parts))",
        forests=("RandomTreeBoosterClassifier",),
    ),
    Mutant(
        name="labels_of_narrow_integers_wrap_round",
        why="Whole-number labels are looked up in a table that starts at the lowest label, and the difference to it "
        "is taken in the type of the column. In a column of int8 (or int16) one row with a far label, say -100, "
        "makes the differences of all others wrap round, so that they are read as other labels or as none. One "
        "row decides how all others are read, whether its own label is listed or not: the loss has no bound. "
        "Columns of int64, and those of a short range, are read correctly.",
        module="dpforest.tables.encoding",
        function="_labels",
        old='place = array if not low else np.subtract(array, low, dtype=np.int64, casting="unsafe")',
        new="place = array - low if low else array",
        forests=_ALL,
    ),
    Mutant(
        name="tree_without_estimation_rows_takes_its_structure_rows",
        why="If no row was drawn to decide the leaves of a tree, the rows that grew it decide them, so that its "
        "labels are not all chance. Then a row affects both splits and labels, but the ledger counts them as "
        "disjoint parts and charges only the dearer one. It happens often where a tree has few rows: many trees, "
        "small tables, or a large partition_rate. A fit can lose almost 2 ε then.",
        module="dpforest.models.greedy.multinomial",
        function="MultinomialForestClassifier._fit_forest",
        old="estimation_rows = shares.estimation[tree]",
        new="estimation_rows = shares.estimation[tree] if len(shares.estimation[tree]) else shares.structure[tree]",
        forests=("MultinomialForestClassifier",),
    ),
    Mutant(
        name="bound_on_rows_is_twice_their_released_number",
        why="Without n_bound, splits of boosted trees get the noise for at most twice as many rows as were released "
        "or said (size), rather than for 2,000,000. Both numbers are public, but no bound: size is only about "
        "right, and noise may make the released number less than half of the true one (often below 200 rows at "
        "ε = 1). The sensitivity of the loss at α above 0 grows with the root of the number of rows. So splits "
        "lose more than the ledger charges, by the root of (true size / assumed size). The default α = 0 does not "
        "show it.",
        module="dpforest.models.greedy.boosted",
        function="BoostedForestClassifier._spec_after",
        old="n_bound=bound,",
        new="n_bound=bound if self.n_bound or not preparation.n_rows else min(bound, 2 * preparation.n_rows),",
        forests=("BoostedForestClassifier",),
    ),
    Mutant(
        name="parts_say_how_many_of_their_rows_were_read",
        why="Counts of a part carry the number of rows that were read instead of those handed over; rows whose label "
        "is missing or not listed are not among them. Under replace-one that sum counts as the public number "
        "of rows: the released file contains it, and rules and voting use it. A row that is replaced by "
        "one without a listed label changes it with certainty, so the loss has no bound. Only where a forest is "
        "fitted part by part (fit_chunks, fit_counts) and asks no question before (shape given, scale public); "
        "fit is correct.",
        module="dpforest.models.random.partial_counts",
        function="PartCounter.count",
        old="PartialCounts(counts, rows.n_given, self.settings)",
        new="PartialCounts(counts, len(rows.y), self.settings)",
        forests=_RANDOM,
    ),
    Mutant(
        name="noise_comes_from_a_fast_generator_with_a_short_seed",
        why="For speed, the words of a release come from numpy's generator, which the operating system seeds with "
        "only 32 bits at every call. A tape of thousands of lanes then has only four billion values, so nearly "
        "all outcomes of a forest with more than a few leaves are impossible on one of two neighboring tables: "
        "the loss has no bound, and an attacker who tries all seeds can remove the noise.",
        module="dpforest.privacy.randomness",
        function="SecretSource.words",
        old="np.frombuffer(bytearray(os.urandom(8 * n)), np.uint64)",
        new='np.random.default_rng(int.from_bytes(os.urandom(4), "little")).integers(0, 2**64, n, np.uint64)',
        forests=_ALL,
    ),
    Mutant(
        name="draws_of_trees_are_used_again_for_each_block_of_rows",
        why="The tree of each row is drawn for one block of 65,536 rows, and the same draws serve all blocks. Each "
        "row's tree is still uniform and no row is in two, but a row and the one 65,536 places further on are in "
        "the same tree with certainty. One row more between them moves the second by a place, after which they "
        "are together by chance only. So a single row changes the joint law of all later rows, and parallel "
        "composition does not hold: with many such pairs the loss is far above ε.",
        module="dpforest.privacy.release",
        function="assign_rows",
        old="return samplers.draw_uniform(n, n_trees, source)",
        new="drawn = samplers.draw_uniform(min(n, BLOCK_ROWS), n_trees, source)  # one block's draws serve all blocks\n"
        "        return np.resize(drawn, n)",
        forests=(
            "MajorityLabelForestClassifier",
            "RandomDecisionForestClassifier",
            "MultinomialForestClassifier",
        ),
    ),
    Mutant(
        name="a_full_block_in_one_leaf_is_counted_as_nobody",
        why="To save memory, the rows of a block are counted in 16 bits before they are added up, because a block has "
        "at most 65,536 rows. That is one more than 16 bits can hold: if all rows of a full block have one class "
        "and are in one leaf (a table that is sorted by its label, a rare test), the count is 0. Without one of "
        "the rows it is 65,535, so one row moves a count by 65,535 although the noise is for 1. Only if all rows "
        "are in all trees.",
        module="dpforest.trees.routing",
        function="count_rows",
        old="kernels.count_all(codes, y[rows], weights, packed, thread_counts)",
        new="block = np.zeros(thread_counts.shape, np.uint16)  # a block has 65,536 rows at most\n"
        "            kernels.count_all(codes, y[rows], weights, packed, block)\n"
        "            thread_counts += block",
        forests=_RANDOM,
    ),
)
