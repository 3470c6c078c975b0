"""The forests that can be chosen: their controls, their defaults, and each in one plain sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import dpforest
from dpforest.limits import LEAF_CAP, MAX_BOUND, MAX_DEPTH
from dpforest.models.base import AUTO, ForestClassifier
from dpforest.tables.domain import Domain


@dataclass(frozen=True)
class Option:
    """A control that only some forests have.

    Parameters
    ----------
    key : str
        Name in the URL.
    parameter : str
        Of the estimator.
    choices : dict
        Label shown (and written into the URL) to value of the parameter, by mode; a mode without choices hides it.
    slider : bool
        Choices have an order.
    defaults : tuple of str
        The label chosen at first is the one of these that the mode has; else its first one.
    """

    key: str
    parameter: str
    title: str
    sentence: str
    choices: dict[str, dict[str, Any]]
    slider: bool = False
    defaults: tuple[str, ...] = ()

    def default(self, mode: str) -> str:
        """The label it has until somebody moves it."""
        choices = self.choices[mode]
        return next((label for label in self.defaults if label in choices), next(iter(choices)))

    def start(self, mode: str) -> Any:
        """The value it has until somebody moves it."""
        return self.choices[mode][self.default(mode)]


def _same(choices: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"certified": choices, "as_published": choices}


VOTING = Option(
    "voting",
    "voting",
    "Voting",
    "How the trees' answers become one. Each leaf is evidence for a class, which can be added up; or shares of classes "
    "are averaged; or the most frequent answer counts.",
    # Other words where defaults differ, so that nothing is kept when the mode, and with it the default, changes.
    {
        "certified": {
            "evidence added up": "log-odds",
            "mean of shares": "threshold",
            "majority": "majority",
            "coin with the mean share": "probabilistic",
        },
        "as_published": {
            "mean of shares, as in the paper": "threshold",
            "majority": "majority",
            "coin with the mean share": "probabilistic",
        },
    },
)
COUNT_ROWS = Option(
    "counted",  # not the key of LABEL_ROWS, whose default is another: a kept value would be missing from the link
    "partition",
    "Rows and trees",
    "Every row in every tree makes steadier trees but splits ε among them.",
    _same({"all rows in every tree": "shared", "each row in one tree": "independent"}),
)
LEAF = Option(
    "leaf",
    "leaf_mechanism",
    "How a leaf draws its label",
    "All of them prefer the most frequent class; they differ in how often they flip it.",
    {
        "certified": {
            "permute-and-flip": "permute-and-flip",
            "exponential": "exponential",
            "global 0/1": "global-01",
        },
        "as_published": {
            "smooth sensitivity (paper)": "smooth-sensitivity",
            "smooth sensitivity (author's code)": "smooth-sensitivity-clamped",
        },
    },
)
LABEL_ROWS = Option(
    "rows",
    "partition",
    "Rows and trees",
    "Each row in one tree lets every tree spend all of ε.",
    {
        "certified": {"each row in one tree": "independent", "all rows in every tree": "shared"},
        "as_published": {"equal blocks of rows": "blocks", "all rows in every tree": "shared"},
    },
)
BUDGET = Option(
    "budget",
    "budget",
    "Budget of a leaf",
    "A row is in one leaf of a tree only, so leaves need not share; Nock and Henecka let them.",
    {
        "certified": {"each leaf has the tree's": "fair", "leaves share it (paper)": "paper"},
        "as_published": {"leaves share it, as in the paper": "paper", "each leaf has the tree's, unlike it": "fair"},
    },
)


SCORE = Option(
    "score",
    "split_score",
    "Score of a question",
    "Weighed by records, more data make better questions; stretched from 0 to 1, as Bai et al. do, they do not.",
    {"certified": {"weighed by records": "counts", "stretched (paper)": "normalised"}, "as_published": {}},
)
SHARD_ROWS = replace(LABEL_ROWS, key="shards", choices={**LABEL_ROWS.choices, "as_published": {}})
_WARMTH = {"from ε": None, **{f"{b:g}": float(b) for b in (0, 0.5, 1, 2, 5, 10, 20)}, "∞": math.inf}
TEMPERATURES = tuple(
    Option(
        key,
        f"{what}_temperature",
        f"{name}: how much the best {title} is favoured",
        "0: all alike; ∞: always the best. From ε: as Bai et al.'s theorem 2 divides ε.",
        {"certified": {}, "as_published": _WARMTH},
        slider=True,
    )
    for key, what, name, title in (
        ("b1", "feature", "B1", "attribute"),
        ("b2", "value", "B2", "value"),
        ("b3", "label", "B3", "label"),
    )
)
BINS = Option(
    "bins",
    "n_bins",
    "Parts of a numeric range",
    "The scale of a numeric attribute is cut into so many equal parts; questions lie between the parts.",
    _same({f"{n}": n for n in (4, 6, 8, 10, 12, 16, 24, 32, 50)}),
    slider=True,
    defaults=("10",),
)
MULTINOMIAL_BINS = replace(BINS, choices={**BINS.choices, "as_published": {}}, defaults=("16",))
BOUND_M = Option(
    "m",
    "max_leaf",
    "M: most that a leaf can say",
    "The public bound on what a leaf adds; it also sets the size of a step.",
    {
        "certified": {"±1": 1.0, "±2": 2.0, "±4": 4.0, "±10": 10.0, "±100": 100.0},
        "as_published": {"1": 1.0, "10": 10.0, "100": 100.0},
    },
    slider=True,
    defaults=("±2", "10"),
)
SHARE = Option(
    "share",
    "tree_share",
    "Share of ε for the questions",
    "The rest goes into what the leaves say.",
    _same({f"{s:.0%}": s for s in (0.1, 0.3, 0.5, 0.7, 0.9)}),
    slider=True,
    defaults=("50%",),
)
BETA = Option(
    "beta",
    "beta",
    "Weight β of a tree",
    "How much a tree counts. Computed from its noisy leaves it costs nothing more, but on large tables it is so small "
    "that every tree sees the same problem.",
    {
        "certified": {"all trees alike": "one", "from the noisy leaves": "post", "asked with noise": "laplace"},
        "as_published": {"exact (paper)": "published", "all trees alike, unlike it": "one"},
    },
)
CRITERION = Option(
    "criterion",
    "criterion",
    "What makes a good question",
    "How impure the two groups are that a question makes; or how many records their majorities get right.",
    _same({"Gini impurity": "gini", "majority votes": "max", "information gain": "entropy"}),
)


@dataclass(frozen=True)
class ForestKind:
    """One estimator as the app offers it."""

    title: str
    sentence: str
    estimator: type[ForestClassifier]
    options: tuple[Option, ...] = field(default=())
    most_trees: int = 300

    @property
    def is_greedy(self) -> bool:
        """Whether its questions are chosen by looking at the data."""
        return not self.estimator.structure_is_public

    @property
    def has_trees(self) -> bool:
        """Whether the number of trees can be chosen."""
        return "n_estimators" in self.estimator().get_params()

    def has_depth(self, mode: str) -> bool:
        """Whether the depth can be chosen: the multinomial forest as published has no limit."""
        return mode == "certified" or self.estimator is not dpforest.MultinomialForestClassifier


FORESTS = {
    "majority labels": ForestKind(
        "Majority labels (Fletcher & Islam)",
        "Each leaf publishes one label and nothing else; the trees vote.",
        dpforest.MajorityLabelForestClassifier,
        (LEAF, LABEL_ROWS),
    ),
    "noisy counts": ForestKind(
        "Noisy counts (Bojarski et al.)",
        "Each leaf publishes its class counts with noise added.",
        dpforest.RandomDecisionForestClassifier,
        (VOTING, COUNT_ROWS),
    ),
    "boosted": ForestKind(
        "Boosted trees (Nock & Henecka)",
        "Each tree asks what separates best the records that the trees before get wrong; all are added up.",
        dpforest.BoostedForestClassifier,
        (SHARE, BETA, BOUND_M, BINS),
        most_trees=51,
    ),
    "multinomial": ForestKind(
        "Multinomial forest (Bai et al.)",
        "Questions and labels are drawn, the likelier the better they separate; the trees vote. One tree is right most "
        "often; four rank records better.",
        dpforest.MultinomialForestClassifier,
        (SCORE, SHARD_ROWS, *TEMPERATURES, MULTINOMIAL_BINS),
    ),
    "one greedy tree": ForestKind(
        "One greedy tree (Friedman & Schuster)",
        "A single tree: its questions are drawn, the likelier the better; its leaves publish noisy counts.",
        dpforest.FriedmanSchusterClassifier,
        (CRITERION, replace(SHARE, choices={**SHARE.choices, "as_published": {}}), BINS),
    ),
    "JPW": ForestKind(
        "JPW baseline (Jagannathan et al.)",
        "Ten trees on all rows with noisy counts, whose evidence is added up; as published shares are averaged.",
        dpforest.JagannathanForestClassifier,
    ),
    "RF-L": ForestKind(
        "RF-L baseline (Laplace)",
        "Random tests; noisy counts decide each leaf's vote.",
        dpforest.RandomForestLaplaceClassifier,
        (BUDGET,),
    ),
    "RF-E": ForestKind(
        "RF-E baseline (exponential)",
        "Random tests; each leaf draws its label, likelier the more rows it has.",
        dpforest.RandomForestExponentialClassifier,
        (BUDGET,),
    ),
}

EPSILONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
TREES = (1, 2, 3, 4, 5, 7, 10, 11, 15, 16, 21, 31, 32, 51, 75, 100, 150, 200, 300)
MODES = {"certified": "certified", "as published": "as_published"}
NEIGHBOURS = {"a row more or less": "add-remove", "a row exchanged": "replace-one"}


@dataclass(frozen=True)
class Settings:
    """All that the sidebar sets about a forest, as values of the estimator.

    `depth` and `trees` are numbers, or `AUTO` for the estimator's own: by rule, as published the paper's.
    """

    kind: str
    mode: str
    epsilon: float
    depth: int | str
    trees: int | str
    neighbours: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def certified(self) -> bool:
        return self.mode == "certified"

    def parameters(self) -> dict[str, Any]:
        """Arguments of the estimator, without domain and seeds."""
        kind = FORESTS[self.kind]
        return {
            "epsilon": self.epsilon,
            **({"n_estimators": self.trees} if kind.has_trees and self.trees != AUTO else {}),
            **({"max_depth": self.depth} if kind.has_depth(self.mode) and self.depth != AUTO else {}),
            **dict(self.options),
            **({"max_leaves": LEAF_CAP} if self._has_cap else {}),
            "neighbours": self.neighbours,
            "mode": self.mode,
        }

    @property
    def _has_cap(self) -> bool:
        """As published the app has its own cap on leaves, as sessions share its memory; the certificate says so."""
        return not self.certified and "max_leaves" in FORESTS[self.kind].estimator().get_params()

    def estimator(self, domain: Domain | None = None) -> ForestClassifier:
        """Unfitted, with secret noise."""
        return FORESTS[self.kind].estimator(**self.parameters(), domain=domain)

    def shape(self, domain: Domain, n_rows: int) -> tuple[int, int]:
        """Depth, and number of trees, that a fit on so many rows would have, whatever bound they are to keep."""
        spec = self.estimator(domain).set_params(**self._unbound).spec(domain, min(n_rows, MAX_BOUND))
        depth = getattr(spec, "depth", None)  # as published the multinomial forest has none
        return MAX_DEPTH if depth is None else depth, getattr(spec, "n_trees", 1)

    @property
    def _unbound(self) -> dict[str, None]:
        return {"n_bound": None} if self.option("n_bound") is not None else {}

    def option(self, parameter: str) -> Any:
        """What a parameter beyond the common ones is set to; None where it is not."""
        return dict(self.options).get(parameter)

    def without_epsilon(self) -> tuple:
        """Key of what can be counted once for all ε."""
        return (self.kind, self.mode, self.depth, self.trees, self.neighbours, self.options)


def as_code(settings: Settings, dataset: str | None, label: str) -> str:
    """The Python that releases the same forest in a notebook.

    Parameters
    ----------
    dataset : str or None
        Name of a bundled table as it comes; None for an upload, an edited domain or another label.
    """
    name = FORESTS[settings.kind].estimator.__name__
    arguments = [f"    {key}={_written(value)}," for key, value in settings.parameters().items()]
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


def _written(value: Any) -> str:
    return 'float("inf")' if value == math.inf else repr(value)
