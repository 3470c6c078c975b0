"""The random forests that the papers compare with, as thin configurations of the two engines."""

from dataclasses import dataclass

import numpy as np

from dpforest.checks import check_count, choice, count
from dpforest.limits import MAX_BOUND, MAX_DEPTH
from dpforest.models.base import AUTO, ForestClassifier, bound_sentence
from dpforest.models.depth_rules import jagannathan_depth
from dpforest.models.preparation import Preparation
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec, capped, leaf_cap
from dpforest.models.shape_rules import even_forest_shape, jagannathan_shape
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.tables.domain import Domain


@dataclass(kw_only=True, eq=False, repr=False)
class JagannathanForestClassifier(RandomStructureClassifier):
    """JPW: ten random trees on all rows, Laplace noise on every leaf's counts, their evidence added up.

    As published shares are averaged and tests on categories are multiway; certified log-odds are added, and categories
    are asked about in their order.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        As in `MajorityLabelForestClassifier`; each tree gets an equal part of it.
    n_estimators : int or "auto", default="auto"
        "auto": 10.
    max_depth : int, "auto" or None, default="auto"
        "auto": by a public rule (`models.shape_rules`), as published as None. None: the paper's rule, half the number
        of features and at most log_b(n) - 1, with b the mean number of values of a feature and n the number of rows, or
        what stands for it (`n_bound`).
    neighbors, mode, scale_share, size, domain, random_state, n_jobs, structure_seed
        As in `MajorityLabelForestClassifier`.
    n_bound : int or None, default=None
        Public bound on the number of rows, for the depth rule. None: under add-remove, which does not let anybody know
        their number, 2,000,000; under replace-one, where it is public, and as published the number itself.
    max_leaves
        As in `MajorityLabelForestClassifier`.

    References
    ----------
    G. Jagannathan, K. Pillaipakkamnatt, R. Wright, "A practical differentially private random decision tree
    classifier" (2012), with the settings of Fletcher and Islam's comparison; how the budget is divided is our choice:
    epsilon / n_estimators a tree.
    """

    n_bound: int | None = None
    max_leaves: int | None = None

    shape_rule = staticmethod(jagannathan_shape)
    published_shape = (10, None)
    constraints = {**ForestClassifier.constraints, "n_bound": count(1, 2**31, optional=True)}

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> ForestSpec:
        published = self.mode == "as_published"
        max_leaves, departures = leaf_cap(self.max_leaves, self.mode), tuple[str, ...]()
        n_trees, depth = self._shape(domain, preparation)
        if depth is None:
            n = self.n_bound or (max(n_rows, 1) if self.needs_all_rows else MAX_BOUND)
            mean_codes = np.mean([f.n_codes if f.kind == "categorical" else 2 for f in domain.features])
            depth = jagannathan_depth(domain.n_features, float(mean_codes), n)
        check_count("max_depth", depth, 0, MAX_DEPTH)
        if published:
            departures = capped(domain, depth, "multiway", max_leaves)
            if self.needs_all_rows and self.neighbors == ADD_REMOVE:
                exact_depth = "The depth follows from the exact number of rows, which is private under add-remove."
                departures = (exact_depth, *departures)
        return ForestSpec(
            n_trees=n_trees,
            depth=depth,
            mechanism="continuous-laplace" if published else "discrete-laplace",
            partition="shared",
            neighbors=self.neighbors,
            voting="threshold" if published else "log-odds",
            categorical="multiway" if published else "ordered",
            max_leaves=max_leaves,
            as_published=published,
            departures=departures,
            preparation=preparation,
        )

    @property
    def _row_sentences(self) -> tuple[str, ...]:
        return () if self.n_bound is None else (bound_sentence(self.n_bound),)

    def _check_size(self, n_rows: int) -> None:
        if self.n_bound is not None and n_rows > self.n_bound:
            raise ValueError(
                f"the table has more rows than n_bound={self.n_bound:,}, which the privacy guarantee rests on; give a "
                "public bound that is certain to hold"
            )

    @property
    def needs_all_rows(self) -> bool:
        """Whether the depth follows from the number of rows."""
        knows = self.mode == "as_published" or self.neighbors != ADD_REMOVE
        by_paper = self.max_depth is None or self.max_depth == AUTO and self.mode == "as_published"
        return by_paper and self.n_bound is None and knows


@dataclass(kw_only=True, eq=False, repr=False)
class _EvenForest(RandomStructureClassifier):
    """The two random forests of Nock and Henecka's comparison differ in the leaf only."""

    n_quantiles: int = 10
    budget: str | None = None

    shape_rule = staticmethod(even_forest_shape)
    published_shape = (21, 6)
    constraints = {
        **ForestClassifier.constraints,
        "max_depth": count(0, MAX_DEPTH, or_rule=AUTO),
        "budget": choice(None, "fair", "paper"),
    }

    def _even_spec(self, domain: Domain, preparation: Preparation, mechanism: str) -> ForestSpec:
        budget = self.budget or ("paper" if self.mode == "as_published" else "fair")
        n_trees, depth = self._shape(domain, preparation)
        return ForestSpec(
            n_trees=n_trees,
            depth=depth,
            mechanism=mechanism,
            partition="shared",
            neighbors=self.neighbors,
            categorical="ordered",
            thresholds="quantized",
            n_quantiles=self.n_quantiles,
            leaf_shares=2**depth if budget == "paper" else 1,
            preparation=preparation,
            as_published=self.mode == "as_published",
        )


class RandomForestLaplaceClassifier(_EvenForest):
    """RF-L: random tests, Laplace noise on every leaf's counts, the larger count wins, majority of 21 trees.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        As in `MajorityLabelForestClassifier`; each tree gets an equal part of it.
    n_estimators : int or "auto", default="auto"
        "auto": 21.
    max_depth : int or "auto", default="auto"
        "auto": by a public rule (`models.shape_rules`), as published 6.
    neighbors, mode, scale_share, size, domain, random_state, n_jobs, structure_seed
        As in `MajorityLabelForestClassifier`.
    n_quantiles : int, default=10
        Thresholds cut the public range into this many parts, equal on its scale (`Feature.scale`).
    budget : {"fair", "paper"} or None, default=None
        "paper" divides a tree's budget evenly among its leaves although they are disjoint: a handicap of 2^depth.
        None: "fair", as published "paper".

    References
    ----------
    R. Nock, W. Henecka, "Boosted and differentially private ensembles of decision trees" (2020), experiments.
    """

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> ForestSpec:
        mechanism = "continuous-laplace" if self.mode == "as_published" else "discrete-laplace"
        return self._even_spec(domain, preparation, mechanism)


class RandomForestExponentialClassifier(_EvenForest):
    """RF-E: random tests, each leaf's label drawn by the exponential mechanism on its counts, majority of 21 trees.

    Parameters
    ----------
    epsilon, n_estimators, max_depth
        As in `RandomForestLaplaceClassifier`.
    neighbors, mode, scale_share, size, domain, random_state, n_jobs, structure_seed
        As in `MajorityLabelForestClassifier`.
    n_quantiles, budget
        As in `RandomForestLaplaceClassifier`.

    References
    ----------
    R. Nock, W. Henecka, "Boosted and differentially private ensembles of decision trees" (2020), experiments.
    """

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> ForestSpec:
        return self._even_spec(domain, preparation, "exponential")
