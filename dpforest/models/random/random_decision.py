"""Random decision trees with noisy counts (Bojarski, Choromanska, Choromanski and LeCun)."""

from dataclasses import dataclass

from dpforest.checks import choice, count
from dpforest.limits import MAX_DEPTH
from dpforest.models.base import AUTO, ForestClassifier
from dpforest.models.preparation import Preparation
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec, leaf_cap, leaf_cap_sentences
from dpforest.models.shape_rules import noisy_counts_shape
from dpforest.tables.domain import Domain


@dataclass(kw_only=True, eq=False, repr=False)
class RandomDecisionForestClassifier(RandomStructureClassifier):
    """Random trees whose leaves release noisy class counts. One of four voting rules combines the leaves.

    "As published" below means ``mode="as_published"``.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget of the whole forest (the paper's eta). None gives the non-private model.
    n_estimators : int or "auto", default="auto"
        Number of trees (k). If every row is in every tree, the noise grows with this number. "auto": by a public rule
        (`models.shape_rules`); as published, 11.
    max_depth : int or "auto", default="auto"
        Number of tests on a path (h). "auto": by the rule of `n_estimators`; as published, 8.
    neighbors
        As in `MajorityLabelForestClassifier`.
    mode : {"certified", "as_published"}, default="certified"
        As published, the noise is Laplace noise in floating point. The scale of the noise protects an added or removed
        row, even if `neighbors` is "replace-one".
    scale_share, size, domain, random_state, n_jobs, structure_seed
        As in `MajorityLabelForestClassifier`.
    voting : {"log-odds", "threshold", "majority", "probabilistic"} or None, default=None
        Rule that combines the leaves of a row. "log-odds" (default in certified mode) adds up, for each class, the
        logarithm of its share in each leaf divided by its share in all leaves (`LogOdds`). "threshold" (default as
        published) predicts the class with the largest mean share. "majority" predicts the class with the most votes of
        trees. "probabilistic" draws a class; the probability of a class is its mean share.
    negative_rule : {"clamp", "paper"} or None, default=None
        "clamp" replaces negative noisy counts by 0. "paper" discards all counts of a leaf that has a negative count.
        None: "clamp"; as published, "paper". Voting "log-odds" always replaces negative counts by 0.
    partition : {"shared", "independent"}, default="shared"
        "shared": every row is in every tree, and each tree spends epsilon / n_estimators. "independent": each row is in
        one tree, by an independent draw, and each tree spends all of epsilon.
    categorical : {"ordered", "one-vs-rest", "multiway"}, default="ordered"
        Kind of test on a categorical feature.
    max_leaves
        As in `MajorityLabelForestClassifier`.

    Attributes
    ----------
    classes_, forest_, released_, certificate_, ledger_, domain_
        As in `MajorityLabelForestClassifier`.

    References
    ----------
    M. Bojarski, A. Choromanska, K. Choromanski, Y. LeCun, "Differentially- and non-differentially-private random
    decision trees", Algorithms 1 and 2.

    Examples
    --------
    >>> from dpforest import RandomDecisionForestClassifier, load_dataset
    >>> data = load_dataset("mushroom")
    >>> forest = RandomDecisionForestClassifier(domain=data.domain, random_state=0).fit(data.X, data.y)
    >>> bool(forest.score(data.X, data.y) > 0.8)
    True
    """

    voting: str | None = None
    negative_rule: str | None = None
    partition: str = "shared"
    categorical: str = "ordered"
    max_leaves: int | None = None

    shape_rule = staticmethod(noisy_counts_shape)
    published_shape = (11, 8)
    constraints = {
        **ForestClassifier.constraints,
        "max_depth": count(0, MAX_DEPTH, or_rule=AUTO),
        "partition": choice("shared", "independent"),
    }

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> ForestSpec:
        published = self.mode == "as_published"
        voting = self.voting or ("threshold" if published else "log-odds")
        if voting == "log-odds" and self.negative_rule == "paper":
            raise ValueError(
                "negative_rule='paper' has no effect with voting='log-odds', which always replaces negative counts by "
                "0; choose another voting rule, or leave negative_rule out"
            )
        max_leaves = leaf_cap(self.max_leaves, self.mode)
        n_trees, depth = self._shape(domain, preparation)
        return ForestSpec(
            n_trees=n_trees,
            depth=depth,
            mechanism="continuous-laplace" if published else "discrete-laplace",
            partition="shared" if self.epsilon is None else self.partition,
            neighbors=self.neighbors,
            voting=voting,
            negative_rule=self.negative_rule or ("paper" if published else "clamp"),
            categorical=self.categorical,
            thresholds="domain",
            max_leaves=max_leaves,
            as_published=published,
            preparation=preparation,
            count_unit=domain.count_unit,
            departures=leaf_cap_sentences(domain, depth, self.categorical, max_leaves) if published else (),
        )
