"""Mistakes in a fit: in its rows, its missing cells, the structure and seed of its trees, and its voting rule."""

from tests.audit.mutants.mutation import COUNTS, EVEN, EVERY, MAJORITY, Mutant

FITS = (
    Mutant(
        name="every_row_in_every_tree",
        why="The trees of the rows are drawn but not passed on, and the counter's default puts every row into every "
        "tree, while the charge is for disjoint trees: ε times the number of trees.",
        module="dpforest.models.random.fit",
        function="count_kept_rows",
        old="tree_of_row=tree_of_row, ",
        new="",
        forests=(MAJORITY, COUNTS[0]),
    ),
    Mutant(
        name="missing_is_the_median",
        why='Missing numbers of an attribute with missing="value" get the column\'s median instead of the public '
        "value, so one row can move all rows with a missing cell to another leaf: (2k + 1)ε with k such rows. "
        "Only in tables of pandas.",
        module="dpforest.tables.cells",
        function="_numbers",
        old="return series.to_numpy()\n",
        new='return (series.fillna(series.median()) if feature.missing == "value" else series).to_numpy()\n',
        forests=EVERY,
    ),
    Mutant(
        name="structure_that_suits_the_rows",
        why="Of five random structures, the fit takes the one whose leaves hold the rows best, so one row can decide "
        "which structure is published: unbounded, in both relations. This happens already between tables of one "
        "and two rows, and in larger tables wherever two structures are nearly equally good.",
        module="dpforest.models.random.fit",
        function="fit_forest",
        old="trees = spec.grow(domain, structure_seed, scale, to_file=is_release)\n",
        new="""tries = [spec.grow(domain, structure_seed + k) for k in range(5)]
    used = [count_rows(t, domain, X, y, n_classes=domain.n_classes, n_jobs=n_jobs).any(axis=1).sum() for t in tries]
    trees = tries[int(np.argmax(used))]
""",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="as_many_of_each_class",
        why="Classes are balanced before the fit: of each class, only the first rows are kept, as many as the rarest "
        "class has. One more row of the rarest class brings in one row of every other class: 2ε with two classes, "
        "K times ε with K classes. Under replace-one also 2ε, where a row of the rarest class becomes one of the "
        "first rows of the other class. Nothing is lost if a class has no row before and after.",
        module="dpforest.models.base",
        function="ForestClassifier.fit",
        old="encoded_rows = model._encode_rows(domain, rows)\n",
        new="""n_each = np.bincount(rows.y, minlength=domain.n_classes).min()
    kept = np.sort(np.concatenate([np.flatnonzero(rows.y == k)[:n_each] for k in range(domain.n_classes)]))
    rows = EncodedTable(rows.codes[kept], rows.y[kept], rows.ids[kept], len(kept))
    encoded_rows = model._encode_rows(domain, rows)
""",
        forests=EVERY,
    ),
    Mutant(
        name="seed_that_counts_rows",
        why="The public seed in the file is the seed of the structure plus the number of rows: unbounded under "
        "add-remove.",
        module="dpforest.models.random.random_structure",
        function="RandomStructureClassifier._fit_spec",
        old="scale, seed)",
        new="scale, seed + len(rows.y))",
        forests=("MajorityLabelForestClassifier",),
    ),
    Mutant(
        name="voting_that_suits_the_rows",
        why="Exact counts choose how trees are combined.",
        module="dpforest.models.random.fit",
        function="fit_forest",
        old="    return trees, spec.leaves(values, epsilon)\n",
        new="""    leaves = spec.leaves(values, epsilon)
    voting = "majority" if 3 * counts.max(axis=1).sum() > 2 * counts.sum() else "threshold"
    object.__setattr__(leaves, "voting", voting)
    return trees, leaves
""",
        forests=("RandomDecisionForestClassifier",),
    ),
)
