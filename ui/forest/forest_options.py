"""Controls that only some forests have, each with its choices and an explanation for the user."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from ui import state


@dataclass(frozen=True)
class Option:
    """A control that only some forests have.

    Parameters
    ----------
    key : str
        Name in the link.
    parameter : str
        Parameter of the estimator that the control sets.
    choices : dict
        For each mode, a map from label (on the page and in the link) to the parameter's value. An empty map hides the
        control.
    slider : bool
        Whether the control is a slider, because its choices have an order.
    switch : bool
        Whether the control is a switch below ε, with the choices off and on. Other options are among the fine settings.
    defaults : tuple of str
        Labels in order of preference. The default of a mode is the first of these labels among the mode's choices, or
        the mode's first choice if it has none of these labels.
    """

    key: str
    parameter: str
    title: str
    sentence: str
    choices: dict[str, dict[str, Any]]
    slider: bool = False
    switch: bool = False
    defaults: tuple[str, ...] = ()

    def default(self, mode: str) -> str:
        """Return the label that is chosen until the user moves the control."""
        choices = self.choices[mode]
        return next((label for label in self.defaults if label in choices), next(iter(choices)))

    def start(self, mode: str) -> Any:
        """Return the value of the parameter until the user moves the control."""
        return self.choices[mode][self.default(mode)]


def _in_both_modes(choices: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return choices that are the same in both modes."""
    return {"certified": choices, "as_published": choices}


DELTA: Final = 1e-6
ALLOW_DELTA = Option(
    state.DELTA,
    "delta",
    "Allow δ = 10⁻⁶",
    "δ = 0: if two tables differ in one row (or person), any set of results is at most e^ε times as likely on one as "
    "on the other. With δ = 10⁻⁶ the probability of the set may exceed this bound by 10⁻⁶ (one in a million). In "
    "return, the forest usually needs far less noise.",
    {"certified": {"off": 0.0, "on": DELTA}, "as_published": {}},
    switch=True,
)
VOTING = Option(
    state.VOTING,
    "voting",
    "Voting",
    "How the forest combines the answers of its trees. It can add up the evidence of the leaves for each class, "
    "average the shares of classes, or take the most frequent answer.",
    # The default has a different label in each mode. When the mode changes, the old label is therefore not among the
    # choices, and the control starts from the new default.
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
    state.COUNTED,  # `LABEL_ROWS` needs another key: its default differs, and a link omits defaults
    "partition",
    "Rows and trees",
    "Every row in every tree makes steadier trees but splits ε among them.",
    _in_both_modes({"all rows in every tree": "shared", "each row in one tree": "independent"}),
)
LEAF = Option(
    state.LEAF,
    "leaf_mechanism",
    "How a leaf draws its label",
    "Every rule prefers the most frequent class of a leaf. The rules differ in how often they publish another one.",
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
    state.ROWS,
    "partition",
    "Rows and trees",
    "If each row is in one tree, every tree may spend all of ε, because no row pays twice. If all rows are in every "
    "tree, the trees share ε.",
    {
        "certified": {"each row in one tree": "independent", "all rows in every tree": "shared"},
        "as_published": {"equal blocks of rows": "blocks", "all rows in every tree": "shared"},
    },
)
BUDGET = Option(
    state.BUDGET,
    "budget",
    "Budget of a leaf",
    "A row is in only one leaf of a tree, so leaves need not share ε. In Nock and Henecka, they share it.",
    {
        "certified": {"each leaf has the tree's": "fair", "leaves share it (paper)": "paper"},
        "as_published": {"leaves share it, as in the paper": "paper", "each leaf has the tree's, unlike it": "fair"},
    },
)
SCORE = Option(
    state.SCORE,
    "split_score",
    "Score of a question",
    "If scores are weighed by records, more data make better questions. If they are stretched from 0 to 1, as in Bai "
    "et al., more data do not.",
    {"certified": {"weighed by records": "counts", "stretched (paper)": "normalized"}, "as_published": {}},
)
SHARD_ROWS = replace(LABEL_ROWS, key=state.SHARDS, choices={**LABEL_ROWS.choices, "as_published": {}})
_TEMPERATURE_CHOICES = {"from ε": None, **{f"{b:g}": float(b) for b in (0, 0.5, 1, 2, 5, 10, 20)}, "∞": math.inf}
TEMPERATURES = tuple(
    Option(
        key,
        f"{what}_temperature",
        f"{name}: how much the best {title} is favored",
        "0: all alike; ∞: always the best. From ε: as Bai et al.'s theorem 2 divides ε.",
        {"certified": {}, "as_published": _TEMPERATURE_CHOICES},
        slider=True,
    )
    for key, what, name, title in (
        (state.FEATURE_TEMPERATURE, "feature", "B1", "attribute"),
        (state.VALUE_TEMPERATURE, "value", "B2", "value"),
        (state.LABEL_TEMPERATURE, "label", "B3", "label"),
    )
)
BINS = Option(
    state.BINS,
    "n_bins",
    "Parts of a numeric range",
    "Number of equal parts into which the scale of a numeric attribute is cut. Questions lie between the parts.",
    _in_both_modes({f"{n}": n for n in (4, 6, 8, 10, 12, 16, 24, 32, 50)}),
    slider=True,
    defaults=("10",),
)
MULTINOMIAL_BINS = replace(BINS, choices={**BINS.choices, "as_published": {}}, defaults=("16",))
BOUND_M = Option(
    state.LARGEST_LEAF,
    "max_leaf",
    "M: largest value of a leaf",
    "Trees add up numbers, and the sums decide the class. M is the public bound on the number that a leaf adds.",
    {
        "certified": {"±1": 1.0, "±2": 2.0, "±4": 4.0, "±10": 10.0, "±100": 100.0},
        "as_published": {"1": 1.0, "10": 10.0, "100": 100.0},
    },
    slider=True,
    defaults=("±2", "10"),
)
SHARE = Option(
    state.SHARE,
    "tree_share",
    "Share of ε for the questions",
    "The rest goes into the leaves.",
    _in_both_modes({f"{s:.0%}": s for s in (0.1, 0.3, 0.5, 0.7, 0.9)}),
    slider=True,
    defaults=("50%",),
)
BETA = Option(
    state.BETA,
    "beta",
    "Weight β of a tree",
    "How much a tree counts. A weight from the tree's noisy leaves costs no further ε. But on large tables it is so "
    "small that it hardly changes which rows the next tree attends to, so all trees learn nearly the same.",
    {
        "certified": {"all trees alike": "one", "from the noisy leaves": "post", "asked with noise": "laplace"},
        "as_published": {"exact (paper)": "published", "all trees alike, unlike it": "one"},
    },
)
_CRITERIA: Final = {"Gini impurity": "gini", "majority votes": "max", "information gain": "entropy"}
CRITERION = Option(
    state.CRITERION,
    "criterion",
    "What makes a good question",
    "The impurity of the two groups that a question makes, or the number of records that the majorities of the groups "
    "classify correctly.",
    {"certified": _CRITERIA, "as_published": {**_CRITERIA, "gain ratio": "gain_ratio"}},
)
