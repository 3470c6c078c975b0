"""The forests that a user can choose, with their controls, their defaults, and one plain sentence about each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import dpforest
from dpforest.limits import LEAF_CAP, MAX_BOUND, MAX_DEPTH
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.round_rule import MOST_DEPTH, MOST_ROUNDS
from dpforest.models.budget import AUTO
from dpforest.models.shape_rules import MOST_AUTO_DEPTH
from dpforest.tables.domain import Domain
from ui.forest import forest_options as controls


@dataclass(frozen=True)
class ForestKind:
    """One kind of forest in the app: an estimator with its controls and texts.

    Parameters
    ----------
    most_trees, most_depth : int
        Largest number of trees and largest depth on the sliders.
    advice : str
        Sentences in markdown about when to prefer this forest.
    published_depth, published_trees : str
        Sentences that name the source of the sliders' first values in the mode "as published". A sentence is empty if
        there is no such mode or slider.
    """

    title: str
    sentence: str
    estimator: type[ForestClassifier]
    options: tuple[controls.Option, ...] = field(default=())
    most_trees: int = 300
    most_depth: int = MAX_DEPTH
    advice: str = ""
    published_depth: str = ""
    published_trees: str = ""

    @cached_property
    def parameters(self) -> frozenset[str]:
        """Names of the estimator's parameters."""
        return frozenset(self.estimator().get_params())

    @property
    def is_fitted_anew(self) -> bool:
        """Whether the trees depend on noisy answers about the rows. If so, each ε needs a new fit in simulations."""
        return not self.estimator.structure_is_public

    @property
    def chooses_questions(self) -> bool:
        """Whether the trees choose their questions by the data instead of at random."""
        return self.is_fitted_anew and self.estimator is not dpforest.RandomTreeBoosterClassifier

    @property
    def is_published(self) -> bool:
        """Whether the forest has the mode "as published", which follows a paper."""
        return "mode" in self.parameters

    def modes(self) -> dict[str, str]:
        """Return the modes of the forest, as a dict from names on the page to values of the parameter `mode`."""
        return {name: mode for name, mode in MODES.items() if mode == "certified" or self.is_published}

    def depth_origin(self, mode: str) -> str:
        """Return a sentence that names the source of the first depth on the slider.

        >>> FORESTS["RF-L"].depth_origin("certified")
        'The rule was fitted on twelve public tables, some of which come with the app.'
        """
        return RULE_DEPTH if mode == "certified" else self.published_depth

    def trees_origin(self, mode: str) -> str:
        """Return a sentence that names the source of the first number of trees on the slider."""
        return RULE_TREES if mode == "certified" else self.published_trees

    @property
    def has_trees(self) -> bool:
        """Whether the number of trees can be chosen."""
        return "n_estimators" in self.parameters

    def has_depth(self, mode: str) -> bool:
        """Return whether the user can choose the depth. The published multinomial forest has no limit on its depth."""
        return mode == "certified" or self.estimator is not dpforest.MultinomialForestClassifier


RULE_DEPTH = "The rule was fitted on twelve public tables, some of which come with the app."
RULE_TREES = "The rule knows only the numbers of records, classes and attributes of your table."
_NOCK_HENECKA_DEPTH = "As published: 6, the largest of the depths 2, 4 and 6 in Nock and Henecka's comparison."
_NOCK_HENECKA_TREES = "As published: as in Nock and Henecka's experiments."
FORESTS = {
    "random-tree booster": ForestKind(
        "Random-tree booster",
        "Trees with random questions, one after another; each corrects errors that the trees before it leave.",
        dpforest.RandomTreeBoosterClassifier,
        (controls.ALLOW_DELTA,),
        most_trees=MOST_ROUNDS,
        most_depth=MOST_DEPTH,
        advice="**Recommended**: with δ = 10⁻⁶ the most accurate here (mean of 42 tables, ε from 0.1 on). With δ = 0 "
        "one greedy tree is about two points ahead up to ε = 1.",
    ),
    "majority labels": ForestKind(
        "Majority labels (Fletcher & Islam)",
        "Each leaf publishes one label, and the trees vote.",
        dpforest.MajorityLabelForestClassifier,
        (controls.LEAF, controls.LABEL_ROWS),
        published_depth="As published: computed from the numbers of attributes, as in the program behind Fletcher and "
        "Islam's tables, at most 15. Their Theorem 2 mostly gives one less if there are numeric attributes.",
        published_trees="As published: as in Fletcher and Islam's experiments.",
    ),
    "noisy counts": ForestKind(
        "Noisy counts (Bojarski et al.)",
        "Each leaf publishes its class counts with noise added.",
        dpforest.RandomDecisionForestClassifier,
        (controls.VOTING, controls.COUNT_ROWS),
        published_depth="As published: our choice; Bojarski et al. try 1 to 15 and keep what does best.",
        published_trees="As published: our choice; Bojarski et al. try 1 to 21, in one experiment up to 101, and keep "
        "what does best.",
    ),
    "boosted": ForestKind(
        "Boosted trees (Nock & Henecka)",
        "Each tree prefers questions that separate the records that earlier trees misclassify; the trees add up.",
        dpforest.BoostedForestClassifier,
        (controls.SHARE, controls.BETA, controls.BOUND_M, controls.BINS),
        most_trees=51,
        most_depth=MOST_AUTO_DEPTH,
        published_depth="As published: our choice; Nock and Henecka try 1 to 6.",
        published_trees="As published: our choice; Nock and Henecka try 2 to 20.",
    ),
    "multinomial": ForestKind(
        "Multinomial forest (Bai et al.)",
        "Questions and labels are drawn at random; better ones are more likely. The trees vote. One tree is right most "
        "often; four rank records better.",
        dpforest.MultinomialForestClassifier,
        (
            controls.SCORE,
            controls.SHARD_ROWS,
            *controls.TEMPERATURES,
            controls.MULTINOMIAL_BINS,
        ),
        most_depth=MOST_AUTO_DEPTH,
        published_trees="As published: our choice; Bai et al. take 100, which leaves each tree few rows, or little "
        "of ε.",
    ),
    "one greedy tree": ForestKind(
        "One greedy tree (Friedman & Schuster)",
        "One tree. Its questions are drawn at random; better ones are more likely. Its leaves publish noisy counts.",
        dpforest.FriedmanSchusterClassifier,
        (
            controls.CRITERION,
            *(replace(o, choices={**o.choices, "as_published": {}}) for o in (controls.SHARE, controls.BINS)),
        ),
        most_depth=MOST_AUTO_DEPTH,
        published_depth="As published: as in Fletcher and Islam's comparison.",
    ),
    "JPW": ForestKind(
        "JPW baseline (Jagannathan et al.)",
        "Ten trees on all rows with noisy counts. Their evidence is added up; as published, their shares are averaged.",
        dpforest.JagannathanForestClassifier,
        published_depth="As published: from the numbers of attributes and of rows, as in Fletcher and Islam's "
        "comparison.",
        published_trees="As published: as in Fletcher and Islam's comparison.",
    ),
    "RF-L": ForestKind(
        "RF-L baseline (Laplace)",
        "Random tests; noisy counts decide each leaf's vote.",
        dpforest.RandomForestLaplaceClassifier,
        (controls.BUDGET,),
        published_depth=_NOCK_HENECKA_DEPTH,
        published_trees=_NOCK_HENECKA_TREES,
    ),
    "RF-E": ForestKind(
        "RF-E baseline (exponential)",
        "Random tests; each leaf draws its label, and a label with more rows is more likely.",
        dpforest.RandomForestExponentialClassifier,
        (controls.BUDGET,),
        published_depth=_NOCK_HENECKA_DEPTH,
        published_trees=_NOCK_HENECKA_TREES,
    ),
}

OPENING = "majority labels"  # forest with which the app opens, because a newcomer can read its trees and labels
WITH_DELTA = ", δ = 10⁻⁶"  # end of the name of a forest with this δ
EPSILONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
# Bojarski et al. use 9 to 21 trees, Nock and Henecka use 20, and Fletcher and Islam use 30.
TREES = (
    *(1, 2, 3, 4, 5, 7, 9, 10, 11, 13, 15, 16, 17, 19, 20, 21, 30, 31, 32),
    *(51, 75, 100, 150, 200, 300, 500, 700, 1_000),
)
MODES = {"certified": "certified", "as published": "as_published"}
NEIGHBORS = {"adding or removing one row": "add-remove", "a row exchanged": "replace-one"}


@dataclass(frozen=True)
class ForestSettings:
    """All settings of a forest in the sidebar, as parameters of the estimator.

    `depth` and `trees` are numbers or `AUTO`. With `AUTO`, the estimator sets them: by a public rule, or in the mode
    "as published" as in the paper.
    """

    kind: str
    mode: str
    epsilon: float
    depth: int | str
    trees: int | str
    neighbors: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def certified(self) -> bool:
        return self.mode == "certified"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator, without the domain and the seeds."""
        kind = FORESTS[self.kind]
        return {
            "epsilon": self.epsilon,
            **({"n_estimators": self.trees} if kind.has_trees and self.trees != AUTO else {}),
            **({"max_depth": self.depth} if kind.has_depth(self.mode) and self.depth != AUTO else {}),
            **dict(self.options),
            **({"max_leaves": LEAF_CAP} if self.has_cap else {}),
            "neighbors": self.neighbors,
            **({"mode": self.mode} if kind.is_published else {}),
        }

    @property
    def has_cap(self) -> bool:
        """Whether the app limits the number of leaves to save memory.

        It limits them only in the mode "as published", and the certificate states the limit.
        """
        return not self.certified and "max_leaves" in FORESTS[self.kind].parameters

    def estimator(self, domain: Domain | None = None) -> ForestClassifier:
        """Return an unfitted estimator, which draws its noise without a seed."""
        return FORESTS[self.kind].estimator(**self.parameters(), domain=domain)

    def shape(self, domain: Domain, n_rows: int) -> tuple[int, int]:
        """Return the depth and number of trees of a fit on `n_rows` rows. The option `n_bound` is ignored."""
        spec = self.estimator(domain).set_params(**self._unbound).spec(domain, min(n_rows, MAX_BOUND))
        depth = getattr(spec, "depth", None)  # the published multinomial forest has no depth
        return MAX_DEPTH if depth is None else depth, getattr(spec, "n_trees", 1)

    @property
    def _unbound(self) -> dict[str, None]:
        return {"n_bound": None} if self.option("n_bound") is not None else {}

    @property
    def name(self) -> str:
        """Name that distinguishes this forest from other forests on a page.

        >>> ForestSettings("random-tree booster", "certified", 1.0, AUTO, AUTO, "add-remove", (("delta", 1e-6),)).name
        'random-tree booster, δ = 10⁻⁶'
        """
        if not self.certified:
            return f"{self.kind}, as published"
        return f"{self.kind}{WITH_DELTA}" if self.delta else self.kind

    @property
    def delta(self) -> float:
        """The δ of (ε, δ)-differential privacy. It is 0 for most forests."""
        return float(self.option("delta") or 0.0)

    def option(self, parameter: str) -> Any:
        """Return the value of a parameter in `options`; None if it is not set."""
        return dict(self.options).get(parameter)

    def with_option(self, parameter: str, value: Any) -> ForestSettings:
        """Return the settings with another value of one parameter in `options`."""
        return replace(self, options=tuple((name, value if name == parameter else old) for name, old in self.options))

    def without_epsilon(self) -> tuple:
        """Return all settings except ε, as a part of the key of a cache."""
        return (self.kind, self.mode, self.depth, self.trees, self.neighbors, self.options)


def as_it_comes(kind: str, mode: str, epsilon: float, neighbors: str, *, delta: float = 0.0) -> ForestSettings:
    """Return the default settings of a forest: depth and trees are `AUTO`, and each option has its default."""
    options = tuple((o.parameter, o.start(mode)) for o in FORESTS[kind].options if o.choices[mode])
    return ForestSettings(kind, mode, epsilon, AUTO, AUTO, neighbors, options).with_option("delta", delta)


def as_code(settings: ForestSettings, dataset: str | None, label: str) -> str:
    """Return Python code that releases the same forest in a notebook.

    Parameters
    ----------
    dataset : str or None
        Name of an unchanged bundled table; None for an upload, an edited domain or another label.
    """
    name = FORESTS[settings.kind].estimator.__name__
    arguments = [f"    {key}={written(value)}," for key, value in settings.parameters().items()]
    if dataset:
        lines = ["from pathlib import Path", "", f"from dpforest import {name}, load_dataset", ""]
        lines += [f"data = load_dataset({dataset!r})"]
        X, y, domain = "data.X", "data.y", "data.domain"
    else:
        lines = [
            "import json",
            "from pathlib import Path",
            "",
            f"from dpforest import Domain, {name}, read_csv",
            "",
            "# domain.json is a download of the Data tab",
            'domain = Domain.from_dict(json.loads(Path("domain.json").read_text()))',
            'table = read_csv("your.csv").read_with(domain)',
        ]
        X, y, domain = "table", f"table[{label!r}]", "domain"
    end = ['Path("forest.json").write_text(forest.released_.to_json())'] if settings.certified else []
    fit = [f"forest = {name}(", *arguments, f"    domain={domain},", f").fit({X}, {y})", "print(forest.certificate_)"]
    return "\n".join([*lines, "", *fit, *end])


def written(value: Any) -> str:
    """Return a value as Python code."""
    return 'float("inf")' if value == math.inf else repr(value)
