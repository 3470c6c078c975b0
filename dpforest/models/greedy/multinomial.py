"""The multinomial random forest (Bai et al.): splits and labels are drawn, and better choices are more probable."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.checks import check_count, check_flag, choice, count
from dpforest.limits import MAX_BOUND, MAX_DEPTH
from dpforest.models.base import AUTO
from dpforest.models.greedy.count_trees import Shares, SplitSelector, share_out, structure_share
from dpforest.models.greedy.greedy import BinnedRows, GreedyClassifier, demo_seed
from dpforest.models.greedy.multinomial_spec import (
    ASSUMED_DEPTH,
    DEFAULT_DEPTH,
    MOST_DEPTH,
    MultinomialSpec,
    PublishedSpec,
    certified_temperatures,
    published_temperatures,
)
from dpforest.models.leaf_noise import CountNoise, FrequencyNoise, draw_by_frequency
from dpforest.models.preparation import Preparation
from dpforest.models.random.spec import true_labels
from dpforest.models.shape_rules import multinomial_shape
from dpforest.models.trace import Trace, TreeTrace
from dpforest.privacy import published
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ESTIMATION, Ledger, QueryBudget, rows_changed
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.privacy.release import PARTITIONS, label_rate, release_labels
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest
from dpforest.trees.greedy_trees import as_trees, grow_tree, leaf_table, places_of_rows
from dpforest.trees.leaves import LabelLeaves
from dpforest.trees.midpoint_trees import IMPURITY, STOPPING, sorted_words


@dataclass(kw_only=True, eq=False, repr=False)
class MultinomialForestClassifier(GreedyClassifier):
    """Trees whose split features, split values and leaf labels are drawn by the exponential mechanism.

    "As published" below means ``mode="as_published"``, and "certified" means ``mode="certified"``.

    Each row of a tree helps to choose either the splits (structure row) or the leaf labels (estimation row). The
    temperatures B1, B2 and B3 set how strongly the draws of features, values and labels favor the best choice. A
    temperature is also the ε that one draw costs.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget of the whole forest. None gives the non-private model: best splits and true labels in certified
        mode, or the paper's forest with its temperatures as published.
    n_estimators : int or "auto", default="auto"
        Number of trees. "auto": 1, which has the highest accuracy; with 4 trees, the predicted shares rank rows
        better. As published, "auto" is 10, because each of the paper's 100 trees would have few rows or a small part of
        epsilon.
    max_depth : int, "auto" or None, default="auto"
        Depth of all leaves; as published, the largest depth of a leaf. "auto": by a public rule (`models.shape_rules`).
        None: 4. As published, "auto" and None mean the largest depth that is supported, 60.
    neighbors, mode, scale_share, size, domain, random_state, n_jobs
        As in `MajorityLabelForestClassifier`.
    n_bins : int, default=16
        Number of bins that divide the public range of a numeric attribute (certified).
    split_score : {"counts", "normalized"}, default="counts"
        "counts" multiplies the impurity decrease by the number of rows, so that more rows make better splits.
        "normalized" stretches the impurity decreases of each node to the range from 0 to 1, as the paper does.
    feature_temperature, value_temperature, label_temperature : float or None, default=None
        Temperatures B1, B2 and B3. In certified mode, their cost must be at most epsilon. If None, the temperature is
        derived from epsilon (see Notes). As published with epsilon=None, None means 10, 10 and infinity.
    partition : {"independent", "shared"}, default="independent"
        "independent": each row is in one tree, by an independent draw. "shared": every row is in every tree, and each
        tree has epsilon / n_estimators.
    partition_rate : float, default=1.0
        Ratio r of structure rows to estimation rows, from 1/64 to 64. Each row is a structure row with probability
        r/(1+r).
    min_leaf : int, default=5
        Smallest number k of estimation rows in a leaf (as published).
    stopping : {"code", "min_leaf", "reject"}, default="code"
        When the rule `min_leaf` is applied (as published): as in the authors' code ("code"), before a split is drawn
        ("min_leaf"), or after a split is drawn ("reject").
    impurity : {"gini", "entropy"}, default="gini"
        Impurity that splits reduce (as published). In certified mode, splits reduce Gini impurity, whose sensitivity
        needs no bound on the number of rows.
    purity_stop : bool, default=True
        Whether a branch ends if all its structure rows have the same class (as published). The paper's theorem on
        consistency has no such rule.
    structure_seed : int, default=0
        Seed of all draws in the non-private model.

    Attributes
    ----------
    classes_, forest_, released_, certificate_, ledger_, domain_
        As in `MajorityLabelForestClassifier`.

    Notes
    -----
    A tree of depth d costs max(d (B1 + B2), B3), because a row affects either the splits or the labels, not both. Let
    ε_tree be the budget of a tree: epsilon minus the amount that the fit spends before trees grow. This budget is
    divided by `n_estimators` if every row is in every tree, and by 2 under replace-one. In certified mode, None means
    B1 = B2 = ε_tree / (2 d) and B3 = ε_tree.

    References
    ----------
    J. Bai, Y. Li, J. Li, X. Yang, Y. Jiang, S. Xia, "Multinomial random forest: toward consistency and
    privacy-preservation" (2020). The repairs are in docs/PAPERS.md.

    Examples
    --------
    >>> from dpforest import MultinomialForestClassifier, load_dataset
    >>> data = load_dataset("nursery")
    >>> forest = MultinomialForestClassifier(n_estimators=10, domain=data.domain, random_state=0)
    >>> bool(forest.fit(data.X, data.y).score(data.X, data.y) > 0.6)
    True
    """

    split_score: str = "counts"
    feature_temperature: float | None = None
    value_temperature: float | None = None
    label_temperature: float | None = None
    partition: str = "independent"
    partition_rate: float = 1.0
    n_bins: int = 16
    min_leaf: int = 5
    stopping: str = "code"
    impurity: str = "gini"
    purity_stop: bool = True
    structure_seed: int = 0

    shape_rule = staticmethod(multinomial_shape)
    published_shape = (10, None)
    constraints = {
        **GreedyClassifier.constraints,
        "split_score": choice("counts", "normalized"),
        "partition": choice(*PARTITIONS),
        "stopping": choice(*STOPPING),
        "impurity": choice(*IMPURITY),
        "purity_stop": check_flag,
        "min_leaf": count(1, 10_000),
        "partition_rate": lambda _, rate: structure_share(rate),
    }

    @property
    def most_depth(self) -> int:
        """Largest depth of the complete trees that a fit grows; 1 as published, where trees are not complete."""
        if self.mode == "as_published":
            return 1
        return DEFAULT_DEPTH if self.max_depth is None else super().most_depth

    def _preparation(self, domain: Domain, n_rows: int) -> Preparation:
        """Return the preparation, without the scale if `scale_share` is "auto" and the user sets temperatures.

        The cost of these temperatures must not exceed the remaining ε. The noisy number of rows decides whether a fit
        spends a share of ε on the scale. So if the fit could spend this share, the noise would decide whether the
        temperatures are too high, and the fit could fail after it has spent budget.
        """
        preparation = super()._preparation(domain, n_rows)
        by_rule = self.scale_share == AUTO and any(value is not None for value in self._given_temperatures)
        return replace(preparation, scale=Fraction(0)) if by_rule else preparation

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> MultinomialSpec | PublishedSpec:
        n_trees, depth = self._shape(domain, preparation)
        n_trees = int(n_trees)
        if self.mode == "as_published":
            most = MOST_DEPTH if depth is None else depth
            check_count("max_depth", most, 1, MOST_DEPTH)
            feature, value, label = published_temperatures(self._budget, self._given_temperatures, n_trees, depth)
            levels = ASSUMED_DEPTH if depth is None else depth
            return PublishedSpec(
                n_trees,
                float(feature),
                float(value),
                float(label),
                max_depth=most,
                min_leaf=self.min_leaf,
                stopping=self.stopping,
                partition_rate=self.partition_rate,
                impurity=self.impurity,
                purity_stop=self.purity_stop,
                nominal=n_trees * max(levels * (feature + value), label),
            )
        if domain.unit is not None and self.split_score == "normalized":
            raise ValueError(
                "split_score='normalized' has no bound for a unit of privacy: a person with a small weight in a node "
                "can move its best score to its worst; use split_score='counts'"
            )
        depth = DEFAULT_DEPTH if depth is None else depth
        check_count("max_depth", depth, 1, MAX_DEPTH)
        tree_epsilon = (self._budget or Fraction(1)) * preparation.remaining_share / rows_changed(self.neighbors)
        tree_epsilon /= n_trees if self.partition == "shared" else 1
        feature, value, label = certified_temperatures(tree_epsilon, self._given_temperatures, depth)
        share = structure_share(self.partition_rate)
        spec = MultinomialSpec(
            n_trees, depth, feature, value, label, self.partition, share, self.neighbors, preparation
        )
        if domain.unit is not None and self._budget is not None:
            label_rate(label, domain.count_unit)  # raises an error if samplers cannot draw labels for so small an ε
        return spec

    @property
    def _given_temperatures(self) -> tuple:
        """B1, B2 and B3 as the user sets them; None for a temperature that is derived from ε."""
        return self.feature_temperature, self.value_temperature, self.label_temperature

    def _fit_forest(self, domain: Domain, rows: BinnedRows, n_jobs: int, trace: Trace | None = None) -> Forest:
        if self.mode == "as_published":
            return self._fit_published(domain, rows, n_jobs, trace)
        source, ledger = source_for(self.random_state), self._ledger(domain)
        spec, rows = self._prepare_rows(domain, rows, ledger, source)
        stages: list[QueryBudget] = []
        if not ledger.has_budget:
            source = DemoSource(self.structure_seed)
            ledger.charge("exact splits and counts of every leaf", "none", 1, None, 1, "sequential")
        else:
            stages = spec.charge(ledger)
        partition = "shared" if not ledger.has_budget else spec.partition
        shares = _shares(rows, spec, partition, source)
        n_places, n_classes = 2**spec.depth, domain.n_classes
        tables = np.zeros((spec.n_trees, n_places, n_classes), np.int64)
        traces = [TreeTrace() if trace is not None and trace.draws else None for _ in range(spec.n_trees)]
        weights, count_unit = rows.weights, domain.count_unit

        def grow(tree: int) -> list[np.ndarray]:
            selector = SplitSelector(
                rows.candidates,
                "gini",
                MAX_BOUND,
                stages,
                source,
                key=64 * tree,
                normalized=self.split_score == "normalized",
                trace=traces[tree],
                count_unit=count_unit,
                n_classes=n_classes,
            )
            structure_rows = shares.structure[tree]
            chosen, _ = grow_tree(
                rows.candidates,
                rows.bins[structure_rows],
                rows.y[structure_rows],
                weights[structure_rows],
                n_classes=n_classes,
                depth=spec.depth,
                choose=selector,
            )
            estimation_rows = shares.estimation[tree]
            places = places_of_rows(rows.candidates, rows.bins[estimation_rows], chosen)
            leaf_table(places, rows.y[estimation_rows], weights[estimation_rows], tables[tree])
            return chosen

        if n_jobs == 1:
            chosen_candidates = [grow(tree) for tree in range(spec.n_trees)]
        else:
            with ThreadPoolExecutor(n_jobs) as pool:
                chosen_candidates = list(pool.map(grow, range(spec.n_trees)))
        trees, place = as_trees(rows.candidates, chosen_candidates, spec.depth)
        counts = tables.reshape(-1, n_classes)[place]
        labels = self._labels(spec, counts, ledger, source, count_unit)
        if trace is not None:
            trace.trees, trace.labels = [t for t in traces if t is not None], labels
            trace.counts = counts if count_unit == 1 else counts / count_unit
            trace.noise = CountNoise(counts, "exponential", float(spec.label) / count_unit)
        about = {"split_score": self.split_score, "n_bins": self.n_bins}
        return self._assemble_forest(spec, domain, trees, LabelLeaves(labels), ledger, source, about, rows.scale)

    def _labels(
        self,
        spec: MultinomialSpec,
        counts: np.ndarray,
        ledger: Ledger,
        source: SecretSource | DemoSource,
        count_unit: int,
    ) -> np.ndarray:
        """Return the label of each leaf: drawn and charged or, without privacy, the most frequent class."""
        if not ledger.has_budget:
            return true_labels(counts, self.structure_seed)
        return release_labels(
            counts,
            mechanism="exponential",
            epsilon=spec.label_epsilon,
            n_trees=spec.n_trees,
            partition=spec.partition,
            neighbors=spec.neighbors,
            ledger=ledger,
            source=source,
            part=ESTIMATION,
            count_unit=count_unit,
        )

    def _fit_published(self, domain: Domain, rows: BinnedRows, n_jobs: int, trace: Trace | None) -> Forest:
        """Fit the paper's forest. Its ledger has no budget."""
        spec, source, ledger = self._plan(domain, rows.n_given), source_for(self.random_state), self._ledger(domain)
        seed = demo_seed(source) if self.epsilon is not None or self.random_state is not None else self.structure_seed
        ledger.charge("splits and labels, as published", "exponential", 1, None, 1, "sequential")
        words = rows.cached(("words",), lambda: sorted_words(rows.codes, rows.y))
        trees, counts = spec.grow(domain, rows.codes, rows.y, words, seed=seed, n_jobs=n_jobs)
        labels = draw_by_frequency(counts, spec.label, seed)
        if trace is not None:
            trace.counts, trace.labels, trace.noise = counts, labels, FrequencyNoise(counts, spec.label)
        about = {"split_score": self.split_score, "n_bins": self.n_bins}
        return self._assemble_forest(spec, domain, trees, LabelLeaves(labels), ledger, source, about)

    def _charge(self, spec: MultinomialSpec | PublishedSpec, ledger: Ledger, n_leaves: int) -> None:
        if ledger.has_budget and isinstance(spec, MultinomialSpec):
            spec.charge(ledger)
            spec.charge_labels(ledger, n_leaves)

    def _preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        spec = self._plan(domain, n_rows)
        return self._promise(spec, domain, spec.n_trees * 2**spec.depth if isinstance(spec, MultinomialSpec) else 0)

    def _certificate(
        self, spec: Any, domain: Domain, ledger: Ledger, source: SecretSource | DemoSource, **options: Any
    ) -> Certificate:
        if self.epsilon is not None and isinstance(spec, PublishedSpec):
            options = {"nominal_epsilon": spec.nominal}
        return super()._certificate(spec, domain, ledger, source, **options)

    def _mechanism_words(self, spec: MultinomialSpec | PublishedSpec) -> str:
        is_published = isinstance(spec, PublishedSpec)
        depth = f"depth up to {spec.max_depth}" if isinstance(spec, PublishedSpec) else f"depth {spec.depth}"
        return f"multinomial forest of {spec.n_trees} trees of {depth}: " + (
            "the best splits, true labels"
            if self.epsilon is None and not is_published
            else "features, values and labels by the exponential mechanism"
        )

    def _paper_reasons(self, spec: MultinomialSpec | PublishedSpec, domain: Domain) -> Sequence[str]:
        if self._budget is None or isinstance(spec, MultinomialSpec):
            return []
        return published.multinomial_reasons(spec.nominal, self._budget)


def _shares(rows: BinnedRows, spec: MultinomialSpec, partition: str, source: SecretSource | DemoSource) -> Shares:
    """Return the rows that each tree reads. In a sweep of simulations, the result is the same for every ε and depth."""

    def draw() -> Shares:
        return share_out(rows.row_ids, spec.n_trees, spec.share, partition, source, rows.units)

    # Without a seed, every release needs new draws. With "shared", the rows of all trees would take too much memory in
    # the memo.
    if isinstance(source, SecretSource) or partition == "shared":
        return draw()
    return rows.cached(("shares", source.seed, spec.n_trees, spec.share), draw)
