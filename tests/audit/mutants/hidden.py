"""Mistakes that leak rows through a part of a fitted estimator, in most cases a part that is not in its file."""

from tests.audit.mutants.mutation import BOOSTED, COUNTS, EVEN, GREEDY, MAJORITY, MULTINOMIAL, Mutant

HIDDEN = (
    Mutant(
        name="an_attribute_counts_rows",
        why="The estimator stores the number of rows that it was fitted on: unbounded under add-remove.",
        module="dpforest.models.base",
        function="ForestClassifier.fit",
        old="    return self._store_forest(",
        new="    self._n_seen = len(rows.y)\n    return self._store_forest(",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="an_attribute_keeps_a_label",
        why="The estimator stores the label of its last row: unbounded.",
        module="dpforest.models.base",
        function="ForestClassifier.fit",
        old="    return self._store_forest(",
        new="    self._last_label = rows.y[-1:].tolist()\n    return self._store_forest(",
        forests=(MULTINOMIAL, BOOSTED, GREEDY),
    ),
    Mutant(
        name="about_counts_rows",
        why="The description in the file states the number of rows: unbounded under add-remove.",
        module="dpforest.models.random.random_structure",
        function="RandomStructureClassifier._fit_spec",
        old='{"structure_seed": seed}',
        new='{"structure_seed": seed, "rows": len(rows.y)}',
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="the_domain_counts_classes",
        why="The domain, which is public, stores how many rows each class has: unbounded.",
        module="dpforest.models.random.fit",
        function="fit_forest",
        old="    is_release = epsilon is not None and not spec.as_published\n",
        new="""    is_release = epsilon is not None and not spec.as_published
    domain.__dict__["_class_counts"] = np.bincount(y, minlength=domain.n_classes)
""",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
    Mutant(
        name="the_ledger_keeps_counts",
        why="The ledger stores the exact counts that it was charged for, and a pickle contains them: unbounded.",
        module="dpforest.privacy.release",
        function="charge_leaves",
        old="    return rate",
        new="    ledger.__dict__.setdefault('_asked', []).append(counts)\n    return rate",
        forests=(MAJORITY, *COUNTS, EVEN, MULTINOMIAL),
    ),
    Mutant(
        name="labels_are_part_of_more",
        why="The released labels are a view of an array that also holds the true labels: unbounded.",
        module="dpforest.privacy.release",
        function="release_labels",
        old="return draw(counts, label_rate(rate, count_unit), source)",
        new="""labels = draw(counts, label_rate(rate, count_unit), source)
    both = np.stack([labels, counts.argmax(axis=1).astype(np.uint8)])
    return both[0]""",
        forests=(MAJORITY, EVEN, MULTINOMIAL),
    ),
    Mutant(
        name="the_class_counts_rows",
        why="All estimators of a class store how many rows the last one was fitted on: unbounded under add-remove.",
        module="dpforest.models.random.random_structure",
        function="RandomStructureClassifier._fit_forest",
        old="    return self._fit_spec(",
        new="    RandomStructureClassifier.n_last = len(rows.y)\n    return self._fit_spec(",
        forests=(MAJORITY, *COUNTS, EVEN),
    ),
)
