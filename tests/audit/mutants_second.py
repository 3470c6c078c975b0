"""Ten more mistakes like those of `mutants`, of other kinds, put in force by `mutants.mutated` as well.

Under each of them the code runs, the ledger adds up and the certificate says certified, and each loses more than that
certificate says, in at least one of the two neighbour relations. Some do so at few settings only, or by little: what a
fit loses is for the neighbour relation "add-remove" where nothing else is said. They were written without knowing the
auditor.
"""

from mutants import BOOSTED, COUNTS, EVEN, EVERY, GREEDY, MAJORITY, MULTINOMIAL, Mutant

SECOND: tuple[Mutant, ...] = (
    Mutant(
        name="empty_leaves_stay_empty",
        why="Leaves that no row reaches get no noise, as there is nobody to protect in them: all their counts are 0 "
        "for certain, and with one row they nearly never are. Unbounded, in both relations.",
        module="dpforest.privacy.release",
        function="release_counts",
        old="return samplers.draw_noisy_counts(counts, round_up(1 / rate), source)",
        new="""noisy = samplers.draw_noisy_counts(counts, round_up(1 / rate), source)
    return np.where(counts.any(axis=1, keepdims=True), noisy, 0)  # nobody is in an empty leaf""",
        forests=COUNTS,
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
        "always say the same, and need not any more once a row is in one of them. Unbounded, in both relations, "
        "wherever a forest has two leaves.",
        module="dpforest.privacy.release",
        function="release_labels",
        old="return draw(counts, round_down(rate), source)",
        new="""distinct, which = np.unique(counts, axis=0, return_inverse=True)  # many leaves are alike
    return draw(distinct, round_down(rate), source)[which.reshape(len(counts))]""",
        forests=(MAJORITY, EVEN, MULTINOMIAL),
    ),
    Mutant(
        name="structure_that_suits_the_rows",
        why="Of five random structures the one is taken whose leaves are best used by the rows, so that one row can "
        "decide which of them is published: unbounded, in both relations. From one row to two already, and in larger "
        "tables wherever two structures are nearly level.",
        module="dpforest.models.random.fit",
        function="fit_forest",
        old="trees = spec.grow(domain, structure_seed, to_file=is_release)\n",
        new="""tries = [spec.grow(domain, structure_seed + k) for k in range(5)]
    used = [count_rows(t, domain, X, y, n_classes=domain.n_classes, n_jobs=n_jobs).any(axis=1).sum() for t in tries]
    trees = tries[int(np.argmax(used))]
""",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="as_many_of_each_class",
        why="Classes are balanced before the fit: of each as many rows are kept, the first ones, as the rarest has. "
        "A further row of the rarest brings one of every other class with it: 2ε with two classes, K times ε with K. "
        "Under replace-one 2ε as well, where a row of the rarest becomes one of the first of the other. Nothing is "
        "lost where a class has no row before and after.",
        module="dpforest.models.base",
        function="ForestClassifier.fit",
        old="forest = self._fit_forest(domain, read_rows(domain, X, y, n_jobs=n_jobs), n_jobs)\n",
        new="""rows = read_rows(domain, X, y, n_jobs=n_jobs)
    n_each = np.bincount(rows.y, minlength=domain.n_classes).min()
    kept = np.sort(np.concatenate([np.flatnonzero(rows.y == k)[:n_each] for k in range(domain.n_classes)]))
    rows = Rows(rows.codes[kept], rows.y[kept], rows.ids[kept], len(kept))
    forest = self._fit_forest(domain, rows, n_jobs)
""",
        forests=EVERY,
    ),
    Mutant(
        name="carried_from_true_leaves",
        why="α of the next tree's levels follows from the true leaves of the tree before instead of the noisy ones: a "
        "first error among m rows of the rarer class moves it from 0 to 1/m, and every split of a level with it. Only "
        'with alpha="carried", from the second tree and level on, and the more, the more rows there are and the '
        "further n_bound is above their number. In one such level, at ε = 1 with the default n_bound: below ε in "
        "tables of 40 rows, 2.4 with 100 rows and 5.3 with 200 (two trees of depth 2), 7.2 with 2,000 rows (five trees "
        "of depth 4).",
        module="dpforest.models.greedy.boost_mechanisms",
        function="CertifiedBoostMechanism.leaves",
        old="np.maximum(_sum_to(noisy, k), 0)",
        new="_sum_to(table, k)",
        forests=(BOOSTED,),
    ),
    Mutant(
        name="blocks_overlap",
        why="Each block of rows takes the first row of the next one along, which is counted twice: 2ε for that row, "
        "and as a further row shifts the borders, up to (2b + 1)ε under add-remove with b borders. Only where there "
        "are borders: three with n_jobs=2, and one every 65,536 rows. Under replace-one 2ε.",
        module="dpforest.trees.routing",
        function="blocks",
        old="part = slice(start, min(start + size, n))",
        new="part = slice(start, min(start + size + 1, n))",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="values_are_clamped_below",
        why="Leaf values are clamped from below before the noise and from above after it only. One row of the second "
        "class takes an empty leaf from 0 to 100, ten times the default bound, with noise for twice the bound: five "
        'times what leaves were paid. Only with leaf="range": 2.7ε by default, 3ε with beta="one" (in both, half of '
        "ε is in the splits), and 5ε where nearly all of ε is in the leaves. None with max_leaf=100.",
        module="dpforest.models.greedy.boost_mechanisms",
        function="CertifiedBoostMechanism.leaves",
        old="""values = np.clip(leaf_link(table, spec.alpha_link), -most, most)
""",
        new="""values = np.maximum(leaf_link(table, spec.alpha_link), -most)
""",
        forests=(BOOSTED,),
    ),
)
