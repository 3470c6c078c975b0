"""One private greedy tree (Friedman and Schuster), the baseline of forests that choose splits from the data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from dpforest.checks import check_share, choice, count
from dpforest.limits import MAX_BOUND, MAX_DEPTH
from dpforest.models.base import AUTO
from dpforest.models.greedy.count_trees import SplitSelector
from dpforest.models.greedy.greedy import BinnedRows, GreedyClassifier, demo_seed
from dpforest.models.greedy.published_tree import CRITERIA, GAIN_RATIO, PublishedTreeSpec
from dpforest.models.leaf_noise import CountNoise
from dpforest.models.preparation import Preparation
from dpforest.models.shape_rules import one_tree_shape
from dpforest.models.trace import Trace, TreeTrace
from dpforest.privacy import published, simulators
from dpforest.privacy.ledger import Ledger, QueryBudget, rows_changed
from dpforest.privacy.randomness import DemoSource, source_for
from dpforest.privacy.rationals import printed_decimal
from dpforest.privacy.release import noise_scale, noisy_table
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest
from dpforest.trees.greedy_trees import as_trees, grow_tree, leaf_table, root_histogram
from dpforest.trees.leaves import CountLeaves
from dpforest.trees.split_scores import UNIT, depends_on_rows, sensitivity, unit_sensitivity
from dpforest.voting import leaf_shares, leaf_votes

LEVELS_OF_SPLITS: Final = "splits, level by level"  # name of a ledger entry


@dataclass(frozen=True)
class TreeSpec:
    """The plan of a single tree, made before the fit reads a row.

    The fields have the names of the parameters of `FriedmanSchusterClassifier`, with values in place of "auto".
    `epsilon` is the budget, or None without privacy. `n_bound` is the public number of rows (or of persons, see
    `Domain.unit`), or a public bound on this number.
    """

    epsilon: Fraction | None
    depth: int
    criterion: str
    tree_share: Fraction
    n_bound: int
    neighbors: str
    preparation: Preparation = Preparation()
    count_unit: int = field(kw_only=True)
    n_classes: int = field(kw_only=True)

    @property
    def split_sensitivity(self) -> Fraction:
        """Sensitivity in the ledger: the largest change, in rows, of a split's score by one row.

        With a unit of privacy, a person may change scores in several nodes. The result is the largest sum of these
        changes, in persons, over all nodes of the last level. Either result is rounded up to tenths.
        """
        if self.count_unit == 1:
            most = sensitivity(self.criterion, self.n_bound)
        else:
            most = unit_sensitivity(self.criterion, self.n_bound, self.depth - 1, self.n_classes)
        return Fraction(math.ceil(Fraction(10 * most) / UNIT), 10)

    def charge(self, ledger: Ledger) -> tuple[QueryBudget, QueryBudget] | None:
        """Charge the ledger for splits and leaves. Return a budget for each of the two, or None without privacy."""
        if self.epsilon is None:
            ledger.charge("exact splits and counts of every leaf", "none", 1, None, 1, "sequential")
            return None
        each = self.epsilon * self.preparation.remaining_share / rows_changed(self.neighbors)
        splits = ledger.charge(
            LEVELS_OF_SPLITS,
            "exponential",
            self.split_sensitivity,
            each * self.tree_share / self.depth,
            self.depth,
            "sequential",
        )
        leaves = ledger.charge(
            "class counts of each leaf", "discrete-laplace", 1, each * (1 - self.tree_share), 1, "sequential"
        )
        assert splits is not None and leaves is not None
        return splits, leaves


@dataclass(kw_only=True, eq=False, repr=False)
class FriedmanSchusterClassifier(GreedyClassifier):
    """A single tree. The exponential mechanism draws its splits, and its leaves have noisy counts.

    "As published" below means ``mode="as_published"``.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget. None gives the non-private model: the best splits and true counts.
    max_depth : int or "auto", default="auto"
        Depth of all leaves; as published, the largest depth of a leaf. "auto": by a public rule (`models.shape_rules`);
        as published, 5.
    neighbors
        As in `MajorityLabelForestClassifier`.
    mode : {"certified", "as_published"}, default="certified"
        "as_published" grows the paper's tree. In this tree, noisy counts decide where branches end, and the exponential
        mechanism also draws the cuts of numeric attributes. A split on a categorical attribute has a child for each
        category. Each answer costs an equal share of epsilon.
    scale_share, size, domain, random_state
        As in `MajorityLabelForestClassifier`.
    n_jobs : int or None, default=None
        Number of threads for prediction; a fit uses one thread.
    n_bins : int, default=10
        Number of bins that divide the public range of a numeric attribute (certified).
    criterion : {"max", "gini", "entropy", "gain_ratio"}, default="max"
        Score of a split: the number of rows that the children's majority votes classify correctly, Gini impurity,
        information gain, or the paper's gain ratio. The gain ratio is only for mode="as_published", because there is no
        bound on its change by one row.
    tree_share : float, default=0.5
        Share of epsilon for splits, divided evenly among levels; the rest is for the counts of leaves (certified).
    n_bound : int or None, default=None
        Public bound on the number of rows (of persons, if the domain declares a unit), for criterion="entropy" or
        "gain_ratio" under add-remove. None: 2,000,000.

    Attributes
    ----------
    classes_, forest_, released_, certificate_, ledger_, domain_
        As in `MajorityLabelForestClassifier`.

    References
    ----------
    A. Friedman, A. Schuster, "Data mining with differential privacy" (2010), section 4. Two parts of certified mode are
    not from the paper (docs/PAPERS.md): the division of the budget, and the cost of a split. This cost is half of the
    paper's, because an added row can only lower scores.

    Examples
    --------
    >>> from dpforest import FriedmanSchusterClassifier, load_dataset
    >>> data = load_dataset("nursery")
    >>> tree = FriedmanSchusterClassifier(domain=data.domain, random_state=0).fit(data.X, data.y)
    >>> bool(tree.score(data.X, data.y) > 0.6)
    True
    """

    n_estimators: ClassVar[int] = 1  # type: ignore[misc]  # the paper grows a single tree
    criterion: str = "max"
    tree_share: float = 0.5
    n_bound: int | None = None

    shape_rule = staticmethod(one_tree_shape)
    published_shape = (1, 5)
    constraints = {
        **GreedyClassifier.constraints,
        "max_depth": count(1, MAX_DEPTH, or_rule=AUTO),
        "criterion": choice(*CRITERIA),
        "tree_share": check_share,
        "n_bound": count(1, MAX_BOUND, optional=True),
    }

    def _fit_forest(self, domain: Domain, rows: BinnedRows, n_jobs: int, trace: Trace | None = None) -> Forest:
        if self.mode == "as_published":
            return self._fit_published(domain, rows, trace)
        source, ledger = source_for(self.random_state), self._ledger(domain)
        spec, rows = self._prepare_rows(domain, rows, ledger, source)
        tree_trace = TreeTrace() if trace is not None and trace.draws else None
        query_budgets = spec.charge(ledger)
        stages = [query_budgets[0]] if query_budgets is not None else []
        count_unit, n_classes = domain.count_unit, domain.n_classes
        selector = SplitSelector(
            rows.candidates,
            spec.criterion,
            spec.n_bound,
            stages,
            source,
            trace=tree_trace,
            count_unit=count_unit,
            n_classes=n_classes,
        )
        candidates, bins, y, weights = rows.candidates, rows.bins, rows.y, rows.weights
        root = None  # if None, `grow_tree` computes the root histogram, which only simulations share
        if isinstance(source, DemoSource):
            root = rows.cached(("root",), lambda: root_histogram(candidates, bins, y, weights, n_classes))
        chosen, node = grow_tree(
            candidates, bins, y, weights, n_classes=n_classes, depth=spec.depth, choose=selector, root=root
        )
        table = np.zeros((2**spec.depth, n_classes), np.int64)
        leaf_table(node, y, weights, table)
        trees, place = as_trees(candidates, [chosen], spec.depth)
        counts = table[place]
        values = counts
        if query_budgets is not None:
            values = noisy_table(counts, count_unit, query_budgets[1], source)
        if trace is not None:
            trace.trees, trace.counts = [tree_trace] if tree_trace else [], counts
            trace.labels = leaf_votes(leaf_shares(values, "clamp", 0))
            if query_budgets is not None:
                trace.noise = CountNoise(counts, "discrete-laplace", float(query_budgets[1].epsilon_each) / count_unit)
            if count_unit > 1:
                trace.counts = counts / count_unit
        about = {"criterion": self.criterion, "n_bins": self.n_bins}
        leaves = CountLeaves(values, count_unit=count_unit)
        return self._assemble_forest(spec, domain, trees, leaves, ledger, source, about, rows.scale)

    def _fit_published(self, domain: Domain, rows: BinnedRows, trace: Trace | None) -> Forest:
        """Fit the paper's tree. Its ledger has no budget."""
        source, ledger = source_for(self.random_state), self._ledger(domain)
        spec = self._plan(domain, rows.n_given)
        seed = demo_seed(source) if self.epsilon is not None else 0
        spec.charge(ledger)
        trees, counts = spec.grow(domain, rows.codes, rows.y, seed=seed)
        values, share = counts, spec.share(domain)
        if share is not None:
            values = simulators.simulate_laplace(counts, float(1 / share), seed)
        if trace is not None:
            trace.counts, trace.labels = counts, leaf_votes(leaf_shares(values, "clamp", 0))
            trace.noise = None if share is None else CountNoise(counts, "continuous-laplace", float(share))
        return self._assemble_forest(
            spec, domain, trees, CountLeaves(values), ledger, source, {"criterion": self.criterion}
        )

    def _charge(self, spec: TreeSpec | PublishedTreeSpec, ledger: Ledger, n_leaves: int) -> None:
        spec.charge(ledger)

    @property
    def most_depth(self) -> int:
        """Largest depth of the complete trees that a fit grows; 1 as published, where trees are not complete."""
        return 1 if self.mode == "as_published" else super().most_depth

    @property
    def _needs_bound(self) -> bool:
        """Whether the sensitivity of the criterion depends on a bound on the number of rows."""
        return self.criterion == GAIN_RATIO or depends_on_rows(self.criterion)

    @property
    def _given_bound(self) -> int | None:
        return self.n_bound if self._needs_bound else None

    @property
    def _hides_rows(self) -> bool:
        return self.epsilon is not None  # as published, the paper's draws also need a bound

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> TreeSpec | PublishedTreeSpec:
        depth, bound = int(self._shape(domain, preparation)[1]), self._row_bound(n_rows)
        if self.mode == "as_published":
            return PublishedTreeSpec(self._budget, depth, self.criterion, bound, self.neighbors)
        if self.criterion == GAIN_RATIO:
            raise ValueError(
                f"criterion={GAIN_RATIO!r} has no bound on what one row changes; use it with mode='as_published' only"
            )
        share = printed_decimal(self.tree_share)
        spec = TreeSpec(
            self._budget,
            depth,
            self.criterion,
            share,
            bound,
            self.neighbors,
            preparation,
            count_unit=domain.count_unit,
            n_classes=domain.n_classes,
        )
        if domain.unit is not None and self._budget is not None:
            each = self._budget * preparation.remaining_share / rows_changed(self.neighbors) * (1 - share)
            noise_scale(each, domain.count_unit)  # raises an error if the samplers cannot draw so much noise
        return spec

    def _mechanism_words(self, spec: TreeSpec | PublishedTreeSpec) -> str:
        if isinstance(spec, TreeSpec):
            return f"one tree of depth {spec.depth}: " + (
                f"the best splits by {self.criterion}, true counts in leaves"
                if self.epsilon is None
                else f"splits by the exponential mechanism on {self.criterion}, leaves from noisy counts"
            )
        scored = self.criterion.replace("_", " ")
        return f"one tree of depth up to {spec.depth}: " + (
            f"the best attributes and cuts by {scored}, true counts in leaves"
            if spec.epsilon is None
            else f"attributes and cuts by the exponential mechanism on {scored}, branches end by noisy counts, "
            "leaves from noisy counts"
        )

    def _paper_reasons(self, spec: TreeSpec | PublishedTreeSpec, domain: Domain) -> Sequence[str]:
        if isinstance(spec, TreeSpec) or spec.epsilon is None:
            return []
        return [*published.tree_reasons(spec.ideal_loss(domain), spec.epsilon), *spec.departures(domain)]
