"""The plan of a multinomial forest, made before the fit reads a row: temperatures, shape, and charges to the ledger."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.checks import check_count, is_number
from dpforest.models.preparation import Preparation
from dpforest.privacy.ledger import ESTIMATION, STRUCTURE, Ledger, QueryBudget, rows_changed
from dpforest.privacy.rationals import printed_decimal
from dpforest.privacy.release import LEAF_LABELS, charge_leaves
from dpforest.tables.domain import Domain
from dpforest.trees.layout import Trees
from dpforest.trees.midpoint_trees import grow_midpoint_forest

DEFAULT_DEPTH = 4
ASSUMED_DEPTH = 10  # depth by which the paper divides ε; the paper's trees may be deeper
MOST_DEPTH = 60  # largest depth of the paper's trees
NAMES = ("feature_temperature", "value_temperature", "label_temperature")


@dataclass(frozen=True)
class MultinomialSpec:
    """The plan of a certified forest: temperatures, shape, and which rows each tree reads.

    `share` is the probability that a row grows a tree and does not decide its leaves.
    """

    n_trees: int
    depth: int
    # B1, B2 and B3: each temperature is the ε that one draw costs if one row is added or removed.
    feature: Fraction
    value: Fraction
    label: Fraction
    partition: str
    share: Fraction
    neighbors: str
    preparation: Preparation = Preparation()

    def __post_init__(self) -> None:
        for name, cost in zip(NAMES, (self.feature, self.value, self.label), strict=True):
            if not 0 < cost < math.inf:
                raise ValueError(
                    f"{name}={float(cost)!r} must be above 0 and finite in certified mode, as it is what a draw costs"
                )

    @property
    def label_epsilon(self) -> Fraction:
        """Cost of all label draws together."""
        return self.label * rows_changed(self.neighbors) * (self.n_trees if self.partition == "shared" else 1)

    def charge(self, ledger: Ledger) -> list[QueryBudget]:
        """Charge the ledger for the draws of splits, on the rows that grow the trees."""
        turns, branches = (self.n_trees, 1) if self.partition == "shared" else (1, self.n_trees)
        row_words = "tree by tree" if self.partition == "shared" else f"{ledger.units} shared out among the trees"
        query_budgets = [
            ledger.charge(
                f"{what} of each level, {row_words}",
                "exponential",
                2,
                each,
                self.depth * turns,
                "sequential",
                part=STRUCTURE,
                branches=branches,
            )
            for what, each in (("feature", self.feature), ("value to split at", self.value))
        ]
        return [query_budget for query_budget in query_budgets if query_budget is not None]

    def charge_labels(self, ledger: Ledger, n_leaves: int) -> None:
        """Charge the ledger for the draws of labels, on the rows that decide leaves."""
        arguments = (self.label_epsilon, self.n_trees, self.partition, self.neighbors)
        charge_leaves("exponential", range(n_leaves), *arguments, ledger, LEAF_LABELS, ESTIMATION)


@dataclass(frozen=True)
class PublishedSpec:
    """The plan of the paper's forest: candidates lie between values of the data, and exact counts end branches.

    `nominal` is the ε that the paper's formula gives for the temperatures; `nominal` may be infinite.
    """

    n_trees: int
    feature: float
    value: float
    label: float
    max_depth: int
    min_leaf: int
    stopping: str
    partition_rate: float
    impurity: str
    purity_stop: bool
    nominal: Fraction | float
    preparation: Preparation = Preparation()  # the paper's fit asks nothing before trees grow

    def __post_init__(self) -> None:
        check_count("max_depth", self.max_depth, 1, MOST_DEPTH)

    def grow(
        self, domain: Domain, codes: np.ndarray, y: np.ndarray, words: np.ndarray, *, seed: int, n_jobs: int
    ) -> tuple[Trees, np.ndarray]:
        """Return trees, and the number of estimation rows by leaf and class. `words` is `sorted_words` of the rows."""
        return grow_midpoint_forest(
            codes,
            y,
            n_classes=domain.n_classes,
            is_categorical=np.array([f.kind == "categorical" for f in domain.features]),
            n_trees=self.n_trees,
            partition_rate=self.partition_rate,
            min_leaf=self.min_leaf,
            feature_temperature=self.feature,
            value_temperature=self.value,
            impurity=self.impurity,
            stopping=self.stopping,
            purity_stop=self.purity_stop,
            max_depth=self.max_depth,
            seed=seed,
            n_jobs=n_jobs,
            words=words,
        )


def certified_temperatures(tree_epsilon: Fraction, given: tuple, depth: int) -> tuple[Any, Any, Any]:
    """Return B1 = B2 = ε_tree / (2 d) and B3 = ε_tree for ε_tree = `tree_epsilon` and d = `depth`.

    A temperature that the user sets replaces the derived temperature.
    """
    return _temperatures(given, (tree_epsilon / (2 * depth), tree_epsilon / (2 * depth), tree_epsilon))


def published_temperatures(
    budget: Fraction | None, given: tuple, n_trees: int, depth: int | None
) -> tuple[Any, Any, Any]:
    """Return B1 = B2 = ε/(2 d t) and B3 = ε/t for t trees of depth d, or 10, 10, ∞ if there is no ε.

    The formulas follow from the paper's theorem 2. If `depth` is None, d is the paper's assumed depth, 10.
    A temperature that the user sets replaces the derived temperature.
    """
    if budget is None:
        return _temperatures(given, (10, 10, math.inf))
    return certified_temperatures(budget / n_trees, given, ASSUMED_DEPTH if depth is None else depth)


def _temperatures(given: tuple, derived: tuple) -> tuple[Any, Any, Any]:
    """Return each temperature as the user sets it, or the derived temperature if the user does not set it."""
    temperatures = []
    for name, temperature, default in zip(NAMES, given, derived, strict=True):
        if temperature is not None and not is_number(temperature, low=0):
            raise ValueError(f"{name}={temperature!r} is not a number of at least 0; use one, or None to derive it")
        temperatures.append(
            default if temperature is None else math.inf if math.isinf(temperature) else printed_decimal(temperature)
        )
    feature, value, label = temperatures
    return feature, value, label
