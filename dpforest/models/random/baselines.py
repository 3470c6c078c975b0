"""Random forests with which the papers compare their forests, as subclasses of `RandomStructureClassifier`."""

from dataclasses import dataclass

import numpy as np

from dpforest.checks import check_count, choice, count
from dpforest.limits import MAX_BOUND, MAX_DEPTH
from dpforest.models.base import AUTO, ForestClassifier, bound_sentence
from dpforest.models.depth_rules import jagannathan_depth
from dpforest.models.preparation import Preparation
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec, leaf_cap, leaf_cap_sentences
from dpforest.models.shape_rules import even_forest_shape, jagannathan_shape
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.tables.domain import Domain


@dataclass(kw_only=True, eq=False, repr=False)
class JagannathanForestClassifier(RandomStructureClassifier):
    """JPW (Jagannathan, Pillaipakkamnatt, Wright): ten random trees on all rows, with noisy class counts in leaves.

    As published (``mode="as_published"``), predictions average the class shares in leaves, and a test on a categorical
    feature has a child for each category. In certified mode, predictions add up log-odds of classes in leaves. A
    test on a categorical feature then compares a category with a threshold in the public order of the categories.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        As in `MajorityLabelForestClassifier`; each tree spends an equal part of it.
    n_estimators : int or "auto", default="auto"
        Number of trees; "auto" means 10.
    max_depth : int, "auto" or None, default="auto"
        Number of tests on a path. "auto": by a public rule (`models.shape_rules`); as published, "auto" means None.
        None: by the paper's rule, half the number of features, but at most log_b(n) - 1. Here b is the mean number of
        values of a feature, and n is the number of rows or its bound (`n_bound`).
    neighbors, mode, scale_share, size, domain, random_state, n_jobs, structure_seed
        As in `MajorityLabelForestClassifier`.
    n_bound : int or None, default=None
        Public bound on the number of rows (of persons, if the domain declares a unit), for the paper's depth rule.
        None: under add-remove 2,000,000, because the number of rows is private; under replace-one and as published, the
        number of rows itself.
    max_leaves
        As in `MajorityLabelForestClassifier`.

    References
    ----------
    G. Jagannathan, K. Pillaipakkamnatt, R. Wright, "A practical differentially private random decision tree
    classifier" (2012), with the settings of Fletcher and Islam's comparison. The division of the budget is our choice:
    epsilon / n_estimators for each tree.
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
            departures = leaf_cap_sentences(domain, depth, "multiway", max_leaves)
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
            count_unit=domain.count_unit,
        )

    def _row_sentences(self, domain: Domain) -> tuple[str, ...]:
        return () if self.n_bound is None else (bound_sentence(self.n_bound, domain.unit),)

    def _check_size(self, n_rows: int) -> None:
        if self.n_bound is not None and n_rows > self.n_bound:
            raise ValueError(
                f"the table has more rows than n_bound={self.n_bound:,}, on which the privacy guarantee depends; give "
                "a public bound that is certain to hold"
            )

    @property
    def needs_all_rows(self) -> bool:
        """Whether the depth depends on the exact number of rows."""
        may_use_number = self.mode == "as_published" or self.neighbors != ADD_REMOVE
        by_paper_rule = self.max_depth is None or self.max_depth == AUTO and self.mode == "as_published"
        return by_paper_rule and self.n_bound is None and may_use_number


@dataclass(kw_only=True, eq=False, repr=False)
class _EvenForest(RandomStructureClassifier):
    """Base class of two forests of Nock and Henecka's comparison, RF-L and RF-E, which differ only in their leaves."""

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
        """Return the plan of RF-L or RF-E. `mechanism` releases the leaves."""
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
            count_unit=domain.count_unit,
            as_published=self.mode == "as_published",
        )


class RandomForestLaplaceClassifier(_EvenForest):
    """RF-L: majority vote of 21 random trees. Each leaf votes for the class with the largest noisy count.

    "As published" below means ``mode="as_published"``.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        As in `MajorityLabelForestClassifier`; each tree spends an equal part of it.
    n_estimators : int or "auto", default="auto"
        Number of trees; "auto" means 21.
    max_depth : int or "auto", default="auto"
        Number of tests on a path. "auto": by a public rule (`models.shape_rules`); as published, 6.
    neighbors, mode, scale_share, size, domain, random_state, n_jobs, structure_seed
        As in `MajorityLabelForestClassifier`.
    n_quantiles : int, default=10
        Number of parts into which thresholds divide the public range of a feature. The parts are equal on the feature's
        scale (`Feature.scale`).
    budget : {"fair", "paper"} or None, default=None
        "fair": each leaf spends the whole budget of its tree, because no row is in two leaves of a tree. "paper": the
        leaves divide the budget evenly, so each leaf spends 1 / 2^depth of it. None: "fair"; as published, "paper".

    References
    ----------
    R. Nock, W. Henecka, "Boosted and differentially private ensembles of decision trees" (2020), experiments.
    """

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> ForestSpec:
        mechanism = "continuous-laplace" if self.mode == "as_published" else "discrete-laplace"
        return self._even_spec(domain, preparation, mechanism)


class RandomForestExponentialClassifier(_EvenForest):
    """RF-E: majority vote of 21 random trees. The exponential mechanism draws the label of each leaf.

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
