"""The forests that can be chosen: their controls, their defaults, and each in one plain sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import dpforest
from dpforest.domain import Domain
from dpforest.models.random_structure import RandomStructureClassifier


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
        Label shown (and written into the URL) to value of the parameter, by mode.
    """

    key: str
    parameter: str
    title: str
    sentence: str
    choices: dict[str, dict[str, Any]]


def _same(choices: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"certified": choices, "as_published": choices}


VOTING = Option(
    "voting",
    "voting",
    "Voting",
    "How the trees' answers become one.",
    _same({"mean of shares": "threshold", "majority": "majority", "coin with the mean share": "probabilistic"}),
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
    "A row is in one leaf of a tree only, so leaves need not share; the paper lets them.",
    {
        "certified": {"each leaf has the tree's": "fair", "leaves share it (paper)": "paper"},
        # Other words, so that nothing is kept when the mode, and with it the default, changes.
        "as_published": {"leaves share it, as in the paper": "paper", "each leaf has the tree's, unlike it": "fair"},
    },
)


@dataclass(frozen=True)
class ForestKind:
    """One estimator as the app offers it."""

    title: str
    sentence: str
    estimator: type[RandomStructureClassifier]
    trees: int
    options: tuple[Option, ...] = field(default=())

    def default_depth(self, domain: Domain) -> int:
        """Depth that the paper takes for this public schema."""
        return self.estimator().plan(domain, 1).depth


FORESTS = {
    "majority labels": ForestKind(
        "Majority labels (Fletcher & Islam)",
        "Each leaf publishes one label and nothing else; the trees vote.",
        dpforest.MajorityLabelForestClassifier,
        100,
        (LEAF, LABEL_ROWS),
    ),
    "noisy counts": ForestKind(
        "Noisy counts (Bojarski et al.)",
        "Each leaf publishes its class counts with noise added.",
        dpforest.RandomDecisionForestClassifier,
        11,
        (VOTING, COUNT_ROWS),
    ),
    "JPW": ForestKind(
        "JPW baseline (Jagannathan et al.)",
        "Ten trees on all rows, noisy counts, shares averaged.",
        dpforest.JagannathanForestClassifier,
        10,
    ),
    "RF-L": ForestKind(
        "RF-L baseline (Laplace)",
        "Random tests; noisy counts decide each leaf's vote.",
        dpforest.RandomForestLaplaceClassifier,
        21,
        (BUDGET,),
    ),
    "RF-E": ForestKind(
        "RF-E baseline (exponential)",
        "Random tests; each leaf draws its label, likelier the more rows it has.",
        dpforest.RandomForestExponentialClassifier,
        21,
        (BUDGET,),
    ),
}

EPSILONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
TREES = (1, 2, 3, 5, 7, 10, 11, 15, 21, 31, 51, 75, 100, 150, 200, 300)
MODES = {"certified": "certified", "as published": "as_published"}
NEIGHBOURS = {"a row more or less": "add-remove", "a row exchanged": "replace-one"}


@dataclass(frozen=True)
class Settings:
    """All that the sidebar sets about a forest, as values of the estimator."""

    kind: str
    mode: str
    epsilon: float
    depth: int
    trees: int
    neighbours: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def certified(self) -> bool:
        return self.mode == "certified"

    def parameters(self) -> dict[str, Any]:
        """Arguments of the estimator, without domain and seeds."""
        return {
            "epsilon": self.epsilon,
            "n_estimators": self.trees,
            "max_depth": self.depth,
            **dict(self.options),
            "neighbours": self.neighbours,
            "mode": self.mode,
        }

    def estimator(self, domain: Domain | None = None) -> RandomStructureClassifier:
        """Unfitted, with secret noise."""
        return FORESTS[self.kind].estimator(**self.parameters(), domain=domain)

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
    arguments = [f"    {key}={value!r}," for key, value in settings.parameters().items()]
    if dataset:
        lines = [f"from dpforest import {name}, load_dataset", "", f"data = load_dataset({dataset!r})"]
        X, y, domain = "data.X", "data.y", "data.domain"
    else:
        lines = [
            "import json",
            f"from dpforest import Domain, {name}, read_csv",
            "",
            'domain = Domain.from_dict(json.load(open("domain.json")))  # from the Data tab',
            'table = read_csv("your.csv").read_with(domain)',
        ]
        X, y, domain = "table", f"table[{label!r}]", "domain"
    end = ['open("forest.json", "w").write(forest.released_.to_json())'] if settings.certified else []
    fit = [f"forest = {name}(", *arguments, f"    domain={domain},", f").fit({X}, {y})", "print(forest.certificate_)"]
    return "\n".join([*lines, "", *fit, *end])
