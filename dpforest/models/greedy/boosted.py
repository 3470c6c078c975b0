"""Boosted private trees with the Mα-loss and objective calibration (Nock and Henecka), repaired and as published."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.checks import check_flag, check_share, choice, count
from dpforest.limits import MAX_BOUND, MAX_DEPTH
from dpforest.models.base import AUTO
from dpforest.models.greedy import boost_mechanisms
from dpforest.models.greedy.alpha_boost import UNIT, BoostedTrees, boost, leaf_link
from dpforest.models.greedy.boost_spec import BETAS, LEAVES, BoostSpec, resolve_alpha
from dpforest.models.greedy.greedy import BinnedRows, GreedyClassifier, demo_seed
from dpforest.models.leaf_noise import ValueNoise, WeightNoise
from dpforest.models.preparation import Preparation
from dpforest.models.shape_rules import boosted_shape
from dpforest.models.trace import Trace
from dpforest.privacy import published
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger, QueryBudget
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.privacy.rationals import printed_decimal
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest
from dpforest.trees.greedy_trees import as_trees
from dpforest.trees.leaves import ScoreLeaves


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedForestClassifier(GreedyClassifier):
    """Boosted trees: if the earlier trees classify a row badly, the row has more weight in the next tree.

    The exponential mechanism draws splits by the Mα-loss, and leaves have noise on their class weights. With more than
    two classes, there is one booster for each class against the others, and the boosters divide epsilon. "As published"
    below means ``mode="as_published"``.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget of the whole forest. None gives the non-private model.
    n_estimators : int or "auto", default="auto"
        Number of trees. With more than two classes, each class has this number of trees. "auto": by a public rule
        (`models.shape_rules`); as published, 5.
    max_depth : int or "auto", default="auto"
        Depth of all leaves. "auto": the length of `alpha` if it is a list, otherwise by the rule of `n_estimators`; as
        published, 4.
    neighbors, mode, scale_share, size, domain, random_state
        As in `MajorityLabelForestClassifier`.
    n_jobs : int or None, default=None
        Number of threads for prediction; a fit uses one thread.
    n_bins : int, default=10
        Number of bins that divide the public range of a numeric attribute.
    alpha : float, str, list of float or None, default=None
        α of the loss that splits reduce: a low value needs less noise, a high value boosts faster. Give a number from 0
        to 1, a list with a number for each level, or "schedule", 0.7 to the power of the level. The other names are
        objective calibrations, where α is the error of the tree so far, divided by the error of its root. "noisy": the
        error is queried and charged at each level. "carried": the errors come from the noisy leaves of the previous
        tree. "published": the error is exact; only with mode="as_published". None: 0, the most accurate value at every
        epsilon that we measured (WHAT-WE-LEARNED.md); as published, "published".
    alpha_link : float or None, default=None
        α of leaf values and row weights, above 0. None: `alpha` if it is a number above 0, otherwise 1.
    max_leaf : float or None, default=None
        Public bound M on the absolute value of a leaf, before it is multiplied by the tree's coefficient β. None: 2; as
        published, 10.
    step_factor : float, default=1.0
        Public factor, between 0 and 2, by which the paper's step α/M² is multiplied; β is proportional to the step. The
        paper allows any factor from 1 - π to 1 + π for a constant π below 1, and recommends no value. The factor has no
        effect if `beta` is "one".
    leaf : {"counts", "range", "published"} or None, default=None
        Where noise is added. "counts" (default in certified mode): to the two class weights of a leaf. "range": to the
        value of a leaf, which `max_leaf` bounds. "published" (default as published): to the value of a leaf, as in the
        paper, where the leaves divide the budget although no row is in two leaves.
    beta : {"post", "one", "laplace", "folded", "published"} or None, default=None
        Coefficient β of a tree. "post": computed from the noisy leaves. "one" (default if `leaf` is "counts"): β is 1.
        "laplace" (default if `leaf` is "range"): Laplace noise is added to β. "folded": leaf values are multiplied by β
        before noise is added to them. "published" (default as published): β has no noise, so it is not private.
    shrink : bool or None, default=None
        Whether to shrink noisy leaf values toward 0, if leaf="counts". Values are computed as if each leaf had an
        additional weight of two noise scales, half of it in each class. None: True in certified mode, otherwise False.
    tree_share : float, default=0.5
        Share of epsilon for splits (the paper's β_tree); the rest is for leaves.
    calibration_share : float, default=0.05
        Share of the budget for splits that alpha="noisy" takes for its queries.
    n_bound : int or None, default=None
        Public bound on the number of rows (of persons, if the domain declares a unit). Under add-remove, noise may
        depend on this bound. None: 2,000,000, the largest number that a fit accepts. Under replace-one, the number
        itself is public.

    Attributes
    ----------
    classes_, forest_, released_, certificate_, ledger_, domain_
        As in `MajorityLabelForestClassifier`.

    References
    ----------
    R. Nock, W. Henecka, "Boosted and differentially private ensembles of decision trees" (2020): Corollary 7, sections
    4 and 5. The repairs are in docs/PAPERS.md.

    Examples
    --------
    >>> from dpforest import BoostedForestClassifier, load_dataset
    >>> data = load_dataset("adult")
    >>> forest = BoostedForestClassifier(n_bound=100_000, domain=data.domain, random_state=0).fit(data.X, data.y)
    >>> bool(forest.score(data.X, data.y) > 0.75)
    True
    """

    alpha: float | str | Sequence[float] | None = None
    alpha_link: float | None = None
    max_leaf: float | None = None
    step_factor: float = 1.0
    leaf: str | None = None
    beta: str | None = None
    shrink: bool | None = None
    tree_share: float = 0.5
    calibration_share: float = 0.05
    n_bound: int | None = None

    shape_rule = staticmethod(boosted_shape)
    published_shape = (5, 4)
    constraints = {
        **GreedyClassifier.constraints,
        "leaf": choice(None, *LEAVES),
        "beta": choice(None, *BETAS),
        "shrink": lambda name, value: None if value is None else check_flag(name, value),
        "tree_share": check_share,
        "calibration_share": check_share,
        "n_bound": count(1, MAX_BOUND, optional=True),
    }

    @property
    def _levels_of_alpha(self) -> int | None:
        """Length of `alpha` if it is a list that sets the depth (certified, `max_depth` is "auto"), otherwise None."""
        if not isinstance(self.alpha, Sequence) or isinstance(self.alpha, str):
            return None
        return len(self.alpha) if self.max_depth == AUTO and self.mode == "certified" else None

    @property
    def most_depth(self) -> int:
        """Largest depth of the complete trees that a fit grows."""
        levels = self._levels_of_alpha
        return super().most_depth if levels is None else min(levels, MAX_DEPTH)

    def _shape(self, domain: Domain, preparation: Preparation) -> tuple[int, Any]:
        n_trees, depth = super()._shape(domain, preparation)
        levels = self._levels_of_alpha
        return n_trees, depth if levels is None else levels

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> BoostSpec:
        published = self.mode == "as_published"
        alpha = resolve_alpha(("published" if published else 0.0) if self.alpha is None else self.alpha)
        link = alpha if isinstance(alpha, float) and alpha > 0 else 1.0
        leaf = self.leaf or ("published" if published else "counts")
        bound = self._row_bound(n_rows)
        n_trees, depth = self._shape(domain, preparation)
        return BoostSpec(
            n_trees=n_trees,
            depth=depth,
            n_bins=self.n_bins,
            alpha=alpha,
            alpha_link=link if self.alpha_link is None else self.alpha_link,
            max_leaf=(10.0 if published else 2.0) if self.max_leaf is None else self.max_leaf,
            leaf=leaf,
            beta=self.beta or {"published": "published", "counts": "one", "range": "laplace"}[leaf],
            shrink=not published if self.shrink is None else self.shrink,
            tree_share=printed_decimal(self.tree_share),
            calibration_share=printed_decimal(self.calibration_share),
            n_bound=bound,
            n_scores=self.scores_of(domain),
            neighbors=self.neighbors,
            as_published=published,
            step_factor=self.step_factor,
            preparation=preparation,
            has_unit=domain.unit is not None,
        )

    def scores_of(self, domain: Domain) -> int:
        """Return the number of boosters: one for two classes, otherwise one for each class. Each adds to one score."""
        return 1 if domain.n_classes == 2 else domain.n_classes

    def _fit_forest(self, domain: Domain, rows: BinnedRows, n_jobs: int, trace: Trace | None = None) -> Forest:
        source, ledger = source_for(self.random_state), self._ledger(domain)
        spec, rows = self._prepare_rows(domain, rows, ledger, source)
        if isinstance(source, SecretSource) and self._budget is not None and not spec.as_published:
            spec.check_drawable(self._budget)
        query_budgets = self._charge(spec, ledger)
        seed = demo_seed(source) if spec.as_published else 0
        boosters, records_draws = [], trace is not None and trace.draws
        for score in range(spec.n_scores):
            mechanism = self._mechanism(spec, query_budgets, source, seed, score * spec.n_trees)
            scored_class = 1 if spec.n_scores == 1 else score
            positive = (rows.y == scored_class).astype(np.int32)
            boosters.append(
                boost(
                    spec, rows.candidates, rows.bins, positive, mechanism, trace=records_draws, row_weight=rows.weight
                )
            )
        if self.epsilon is None:
            ledger.charge("exact splits, leaves and coefficients", "none", 1, None, 1, "sequential")
        elif spec.as_published:
            ledger.charge(
                "splits, leaves and coefficients, as published", "exponential, Laplace", 1, None, 1, "sequential"
            )
        return self._forest_of_boosters(spec, domain, rows, boosters, ledger, source, query_budgets, trace)

    def _mechanism(
        self,
        spec: BoostSpec,
        query_budgets: dict[str, QueryBudget],
        source: SecretSource | DemoSource,
        seed: int,
        key: int,
    ):
        """Return the mechanism of one booster. `key` numbers its first tree among the trees of all boosters."""
        if self.epsilon is None:
            return boost_mechanisms.ExactBoostMechanism(spec, key)
        if spec.as_published:
            return boost_mechanisms.PublishedBoostMechanism(spec, self._budget or Fraction(1), seed, key)
        return boost_mechanisms.CertifiedBoostMechanism(spec, query_budgets, source, key)

    def _forest_of_boosters(
        self,
        spec: BoostSpec,
        domain: Domain,
        rows: BinnedRows,
        boosters: list[BoostedTrees],
        ledger: Ledger,
        source: SecretSource | DemoSource,
        query_budgets: dict[str, QueryBudget],
        trace: Trace | None,
    ) -> Forest:
        trees, place = as_trees(rows.candidates, [tree for booster in boosters for tree in booster.chosen], spec.depth)
        values = np.concatenate([v for booster in boosters for v in booster.values])[place]
        classes = np.repeat(np.arange(spec.n_scores) if spec.n_scores > 1 else [1], spec.n_trees).astype(np.int16)
        if trace is not None:
            self._fill_trace(trace, spec, rows, boosters, place, domain.n_classes, query_budgets)
            trace.labels = (
                values * np.sign([b for booster in boosters for b in booster.betas])[place >> spec.depth] > 0
            ).astype(np.uint8)  # the class of a leaf is the sign of its value without β, because β may be negative
        leaves, about = ScoreLeaves(values, classes, spec.alpha_link), {"alpha": spec.alpha, "n_bins": spec.n_bins}
        return self._assemble_forest(spec, domain, trees, leaves, ledger, source, about, rows.scale)

    def _fill_trace(
        self,
        trace: Trace,
        spec: BoostSpec,
        rows: BinnedRows,
        boosters: list[BoostedTrees],
        place: np.ndarray,
        n_classes: int,
        query_budgets: dict[str, QueryBudget],
    ) -> None:
        """Fill the trace for figures: rows in leaves, the class weights that determine leaf values, and the noise."""
        trace.trees = [tree for booster in boosters for tree in booster.traces]
        n_places = 2**spec.depth
        counts = [rows.counts_in_leaves(node, n_places, n_classes) for booster in boosters for node in booster.nodes]
        trace.counts = np.concatenate(counts)[place]
        tables = np.concatenate([table for booster in boosters for table in booster.tables])[place] / UNIT
        bounds = np.array([bound for booster in boosters for bound in booster.bounds])[place // n_places]
        if self._budget is None:
            return
        if spec.leaf == "counts":
            trace.noise = WeightNoise(tables, bounds / float(query_budgets["leaves"].epsilon_each))
            return
        if spec.as_published:
            scale = boost_mechanisms.published_leaf_scale(spec, float(self._budget) / spec.n_scores)
        else:
            scale = 2 * spec.max_leaf / float(query_budgets["leaves"].epsilon_each)
        true_values = leaf_link(tables, spec.alpha_link)
        if not spec.as_published:  # as published, values are clamped after noise is added
            true_values = np.clip(true_values, -spec.max_leaf, spec.max_leaf)
        tree = place // n_places
        # Noise is added to β h. Divided by a M W (step, bound on values, bound on weights), β h is at most M.
        if spec.beta == "folded":
            beta = np.bincount(tree, true_values * (tables[:, 1] - tables[:, 0]))[tree] / spec.n_bound
            true_values = true_values * beta / (spec.max_leaf * bounds)
        trace.noise = ValueNoise(tables, true_values, np.full(len(true_values), scale))

    def _preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        spec = self._plan(domain, n_rows)
        if self.random_state is None and self._budget is not None and not spec.as_published:
            spec.check_drawable(self._budget)
        return self._promise(spec, domain)

    def _charge(self, spec: BoostSpec, ledger: Ledger, n_leaves: int = 0) -> dict[str, QueryBudget]:
        return spec.charge(ledger, self._budget) if self._budget is not None and ledger.has_budget else {}

    @property
    def _given_bound(self) -> int | None:
        return self.n_bound

    def _mechanism_words(self, spec: BoostSpec) -> str:
        what = "boosted trees" if spec.n_scores == 1 else f"boosted trees for each of {spec.n_scores} classes"
        return f"{spec.n_trees} {what} of depth {spec.depth}: " + (
            "the best splits by the Mα-loss, true leaves"
            if self.epsilon is None
            else "splits by the exponential mechanism on the Mα-loss, leaves from noisy "
            + ("class weights" if spec.leaf == "counts" else "values")
        )

    def _paper_reasons(self, spec: BoostSpec, domain: Domain) -> Sequence[str]:
        return published.boosting_reasons(spec) if spec.as_published else []
