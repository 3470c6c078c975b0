"""Random forest whose leaves release one label each (Fletcher and Islam)."""

from dataclasses import dataclass

from dpforest.checks import check_count, choice
from dpforest.limits import MAX_DEPTH
from dpforest.models.base import ForestClassifier
from dpforest.models.depth_rules import fletcher_islam_depth
from dpforest.models.preparation import Preparation
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec, leaf_cap, leaf_cap_sentences
from dpforest.models.shape_rules import majority_label_shape
from dpforest.privacy.laws import CERTIFIED, PUBLISHED
from dpforest.tables.domain import Domain


@dataclass(kw_only=True, eq=False, repr=False)
class MajorityLabelForestClassifier(RandomStructureClassifier):
    """Random trees whose leaves release only one label each: with high probability, the most frequent class.

    "As published" below means ``mode="as_published"``.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget of the whole forest. None fits a forest without privacy, in which each leaf has its most frequent
        label, and every row is in every tree.
    n_estimators : int or "auto", default="auto"
        Number of trees. You must choose this number without looking at the table. "auto": by a public rule
        (`models.shape_rules`).
    max_depth : int or {"auto", "published", "theorem", "half", "full"}, default="auto"
        Number of tests on a path. "auto": by a public rule (`models.shape_rules`); the other names are rules that use
        only the public schema (`models.depth_rules`).
    neighbors : {"add-remove", "replace-one"}, default="add-remove"
        Pairs of tables that the privacy promise compares. "add-remove": one of the tables has one more row.
        "replace-one": tables of the same size differ in the content of one row. If the domain declares a unit, all rows
        of a person count as one row.
    mode : {"certified", "as_published"}, default="certified"
        "certified" charges every question about the rows to epsilon. "as_published" reproduces the paper's forest,
        which is not certified and stays with the curator (the data holder).
    scale_share : float, "auto" or "public", default="auto"
        Share of epsilon that the fit spends on three nested histograms of each numeric attribute, so that thresholds
        lie where rows are. "auto": a public rule chooses the share, which is 0 if there is too little signal.
        "public": thresholds lie on the public scale. This parameter has an effect only in certified mode.
    size : int or None, default=None
        Approximate number of rows (of persons, if the domain declares a unit), if it is public. The rules use `size`
        instead of a noisy number, for which the fit would spend 2 % of epsilon. You must not read `size` from the
        table. The parameter has an effect only under add-remove, because the number of rows is public under
        replace-one.
    domain : Domain or None, default=None
        Public schema. If None, the fit reads the schema from the data, warns, and is not certified.
    random_state : int or None, default=None
        None draws labels and the tree of each row from the operating system's entropy. An integer makes the fit a
        demonstration, which can be repeated but is not certified.
    n_jobs : int or None, default=None
        Number of threads that read and route rows; -1 takes all processors. The forest does not depend on it.
    structure_seed : int, default=0
        Public seed of the trees.
    leaf_mechanism : str or None, default=None
        In certified mode: "permute-and-flip" (default), "exponential" or "global-01". As published also:
        "smooth-sensitivity" (default) and "smooth-sensitivity-clamped", which are not differentially private at the
        stated epsilon.
    partition : {"independent", "shared", "blocks"} or None, default=None
        "independent": each row is in one tree, by an independent draw (default in certified mode). "shared": every row
        is in every tree, and each tree spends epsilon / n_estimators. "blocks": the rows are shuffled and divided into
        equal blocks, and the remaining rows are dropped (default as published; equal blocks break add-remove privacy).
    categorical : {"multiway", "one-vs-rest", "ordered"} or None, default=None
        Kind of test on a categorical feature. None: "ordered"; as published, "multiway".
    max_leaves : int or None, default=None
        Public cap on the leaves of a tree with multiway tests. None: 4,096; as published, 65,536 (100 such trees take
        about a gigabyte).

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Classes, in the order of the domain.
    forest_ : ReleasedForest or CuratorForest
        The fitted forest.
    released_ : ReleasedForest
        The fitted forest, if it may be published; otherwise the attribute raises AttributeError.
    certificate_ : Certificate
        The privacy promise of the fit and its conditions, or the reasons why there is no promise.
    ledger_ : Ledger
        Every question that the fit asked about the rows, and its cost.
    domain_ : Domain
        Schema that encoded the rows.

    References
    ----------
    S. Fletcher, M. Z. Islam, "Differentially private random decision forests using smooth sensitivity" (2017) and the
    author's addendum (2021). R. McKenna, D. Sheldon, "Permute-and-flip" (2020).

    Examples
    --------
    >>> from dpforest import MajorityLabelForestClassifier, load_dataset
    >>> data = load_dataset("nursery")
    >>> forest = MajorityLabelForestClassifier(domain=data.domain, random_state=0).fit(data.X, data.y)
    >>> bool(forest.score(data.X, data.y) > 0.6)
    True
    """

    leaf_mechanism: str | None = None
    partition: str | None = None
    categorical: str | None = None
    max_leaves: int | None = None

    shape_rule = staticmethod(majority_label_shape)
    published_shape = (100, "published")
    constraints = {
        **ForestClassifier.constraints,
        "leaf_mechanism": choice(None, *CERTIFIED, *PUBLISHED),
    }

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> ForestSpec:
        published = self.mode == "as_published"
        mechanism = self.leaf_mechanism or ("smooth-sensitivity" if published else "permute-and-flip")
        partition = self.partition or ("blocks" if published else "independent")
        if not published and (mechanism in PUBLISHED or partition == "blocks"):
            setting = f"leaf_mechanism={mechanism!r}" if mechanism in PUBLISHED else "partition='blocks'"
            raise ValueError(f"{setting} does not keep its privacy promise; use it with mode='as_published' only")
        departures: tuple[str, ...] = ()
        categorical = self.categorical or ("multiway" if published else "ordered")
        n_trees, depth = self._shape(domain, preparation)
        if isinstance(depth, str):
            n_numeric = sum(f.kind == "numeric" for f in domain.features)
            rule_depth = fletcher_islam_depth(n_numeric, domain.n_features - n_numeric, depth, most=None)
            depth = min(rule_depth, MAX_DEPTH)
            if rule_depth > depth:
                departures = (f"The paper's rule gives depth {rule_depth}; trees end at {depth} here.",)
        max_leaves = leaf_cap(self.max_leaves, self.mode)
        if published:
            check_count("max_depth", depth, 0, MAX_DEPTH)
            departures = (*departures, *leaf_cap_sentences(domain, depth, categorical, max_leaves))
        return ForestSpec(
            n_trees=n_trees,
            depth=depth,
            mechanism=mechanism,
            partition="shared" if self.epsilon is None else partition,
            neighbors=self.neighbors,
            categorical=categorical,
            max_leaves=max_leaves,
            as_published=published,
            preparation=preparation,
            count_unit=domain.count_unit,
            departures=departures if published else (),
        )
