"""Random forest whose leaves publish one label each (Fletcher and Islam)."""

from dataclasses import dataclass

from dpforest.checks import check_count, choice
from dpforest.limits import MAX_DEPTH
from dpforest.models.base import ForestClassifier
from dpforest.models.depth_rules import fletcher_islam_depth
from dpforest.models.preparation import Preparation
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec, capped, leaf_cap
from dpforest.models.shape_rules import majority_label_shape
from dpforest.privacy.laws import CERTIFIED, PUBLISHED
from dpforest.tables.domain import Domain


@dataclass(kw_only=True, eq=False, repr=False)
class MajorityLabelForestClassifier(RandomStructureClassifier):
    """Random trees whose leaves publish nothing but a label, drawn so that the most frequent class is likely.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget of the whole forest. None gives the non-private model: true majority labels, all rows in all
        trees.
    n_estimators : int or "auto", default="auto"
        Trees, or "auto" for a public rule (`models.shape_rules`); to be chosen without looking at the table.
    max_depth : int or {"auto", "published", "theorem", "half", "full"}, default="auto"
        Tests on a path; "auto" for a public rule; or one of the rules that compute it from the public schema
        (`models.depth_rules`).
    neighbors : {"add-remove", "replace-one"}, default="add-remove"
    mode : {"certified", "as_published"}, default="certified"
    scale_share : float, "auto" or "public", default="auto"
        Share of epsilon that tells where rows lie on the scale of each numeric attribute, so that tests are asked there
        (three nested histograms of each). "auto": a public rule says how much, and nothing where there is too little
        to see; "public": tests lie where the public bounds say. Certified only.
    size : int or None, default=None
        How many rows there are, about, if everybody may know it: rules go by it instead of the number of rows with
        noise, which costs 2 % of epsilon. Only under add-remove; it must not be read from the table.
    domain : Domain or None, default=None
        Public schema. None reads it from the data, warns, and is not certified.
    random_state : int or None, default=None
        None draws labels and each row's tree from the operating system's entropy. An integer makes a demo.
    n_jobs : int or None, default=None
        Threads that read rows and route them; -1 takes all processors. The forest does not depend on it.
    structure_seed : int, default=0
        Public seed of the trees' structure.
    leaf_mechanism : str or None, default=None
        "permute-and-flip" (None, certified), "exponential", "global-01"; as published "smooth-sensitivity" (None) and
        "smooth-sensitivity-clamped", which are not differentially private at the stated epsilon.
    partition : {"independent", "shared", "blocks"} or None, default=None
        Each row in one tree by its own draw (None, certified), every row in every tree with epsilon / n_estimators
        each, or equal blocks of a shuffle with the rest dropped (None as published; breaks add-remove privacy).
    categorical : {"multiway", "one-vs-rest", "ordered"} or None, default=None
        Test on a categorical feature. None: "ordered", as published "multiway".
    max_leaves : int or None, default=None
        Public cap on the leaves of a tree with multiway tests. None: 4,096, as published 65,536 (100 such trees take
        about a gigabyte).

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    forest_ : ReleasedForest or CuratorForest
    released_ : ReleasedForest
    certificate_ : Certificate
    ledger_ : Ledger
    domain_ : Domain

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
            wrong = f"leaf_mechanism={mechanism!r}" if mechanism in PUBLISHED else "partition='blocks'"
            raise ValueError(f"{wrong} does not keep its privacy promise; use it with mode='as_published' only")
        departures: tuple[str, ...] = ()
        categorical = self.categorical or ("multiway" if published else "ordered")
        n_trees, depth = self._shape(domain, preparation)
        if isinstance(depth, str):
            numeric = sum(f.kind == "numeric" for f in domain.features)
            wanted = fletcher_islam_depth(numeric, domain.n_features - numeric, depth, most=None)
            depth = min(wanted, MAX_DEPTH)
            if wanted > depth:
                departures = (f"The paper's rule gives depth {wanted}; trees end at {depth} here.",)
        max_leaves = leaf_cap(self.max_leaves, self.mode)
        if published:
            check_count("max_depth", depth, 0, MAX_DEPTH)
            departures = (*departures, *capped(domain, depth, categorical, max_leaves))
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
            departures=departures if published else (),
        )
