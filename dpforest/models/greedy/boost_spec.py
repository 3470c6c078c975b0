"""The plan of a boosted forest, made before the fit reads a row: every choice, and the charges to the ledger."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.checks import check_choice, check_count, check_share, is_number
from dpforest.limits import MAX_BOUND, MAX_DEPTH, MAX_LEAF
from dpforest.losses import m_alpha
from dpforest.models.preparation import Preparation
from dpforest.privacy.ledger import BudgetError, Ledger, QueryBudget
from dpforest.privacy.rationals import LIMIT
from dpforest.trees import split_scores
from dpforest.trees.split_scores import UNIT

CALIBRATIONS = ("noisy", "carried", "schedule", "published")
LEAVES = ("counts", "range", "published")
BETAS = ("post", "one", "laplace", "folded", "published")
DECAY = 0.7  # factor of α from one level to the next, if alpha="schedule"
QUERY_SHARE = Fraction(1, 10)  # share of a tree's leaf budget that beta="laplace" takes
VALUE_STEPS = 1024  # steps from 0 to M, for leaf values with noise (leaf="range" and beta="folded")
LEAST_SHARE = 1e-4  # the paper's ζ: class shares in leaves are clipped to ζ..1 - ζ
GRAIN = 16  # grid step of sums of weights in a noisy β (beta="laplace"), in 1/1024
# Allowed values of `beta` for each value of `leaf`. "post" computes β from noisy class weights, so it needs
# leaf="counts". "folded" adds noise to β times a leaf's value, so it needs noise on values.
BETAS_OF_LEAF = {
    "counts": ("post", "one", "laplace"),
    "range": ("one", "laplace", "folded"),
    "published": ("published", "one", "laplace", "folded"),
}


@dataclass(frozen=True)
class BoostSpec:
    """Every choice of a boosted forest except its budget.

    The fields have the names of the parameters of `BoostedForestClassifier`, with values in place of "auto" and None.

    Parameters
    ----------
    alpha : float, str or tuple of float
        A number, the name of a calibration, or a number for each level.
    n_bound : int
        Number of rows (or of persons, see `Domain.unit`), which is public under replace-one and as published. Under
        add-remove, a public bound on this number.
    n_scores : int
        Number of boosters that divide the budget: 1 for two classes, otherwise the number of classes.
    step_factor : float
        Factor of the step, from 1 - π to 1 + π for a constant π below 1. The paper allows any factor that is chosen in
        advance.
    has_unit : bool
        Whether the unit of privacy is a person, who may have rows in many nodes.
    """

    n_trees: int
    depth: int
    n_bins: int
    alpha: float | str | tuple[float, ...]
    alpha_link: float
    max_leaf: float
    leaf: str
    beta: str
    shrink: bool
    tree_share: Fraction
    calibration_share: Fraction
    n_bound: int
    n_scores: int
    neighbors: str
    as_published: bool = False
    step_factor: float = 1.0
    preparation: Preparation = Preparation()
    has_unit: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        check_count("max_depth", self.depth, 1, MAX_DEPTH)
        check_count("n_bins", self.n_bins, 2, 1_000)
        check_count("n_bound", self.n_bound, 1, MAX_BOUND)
        check_choice("leaf", self.leaf, LEAVES)
        check_choice("beta", self.beta, BETAS)
        check_share("tree_share", self.tree_share)
        check_share("calibration_share", self.calibration_share)
        if not is_number(self.max_leaf, 1e-3, MAX_LEAF):
            raise ValueError(f"max_leaf={self.max_leaf!r} is not a number from 0.001 to {MAX_LEAF:,.0f}")
        if not is_number(self.alpha_link, 1e-6, 1):
            raise ValueError(f"alpha_link={self.alpha_link!r} is not a number from 0.000001 to 1")
        if not is_number(self.step_factor, 1e-3, 1.999):
            raise ValueError(f"step_factor={self.step_factor!r} is not a number from 0.001 to 1.999")
        if self.beta not in BETAS_OF_LEAF[self.leaf]:
            choices = ", ".join(map(repr, BETAS_OF_LEAF[self.leaf]))
            raise ValueError(f"beta={self.beta!r} cannot be combined with leaf={self.leaf!r}; choose one of {choices}")
        if self.as_published:  # the certificate explains only the gaps of the paper's choices
            if self.leaf != "published":
                raise ValueError(f"leaf={self.leaf!r} is not the paper's choice; use it with mode='certified' only")
        else:
            for name in ("alpha", "leaf", "beta"):
                if getattr(self, name) == "published":
                    raise ValueError(
                        f"{name}='published' does not keep its privacy promise; use it with mode='as_published' only"
                    )
        if self.has_unit and self.leaf == "range" and self.beta != "folded":
            raise ValueError(
                "leaf='range' has no bound for a unit of privacy: a person may have rows in many leaves, and change "
                "the value of each; use leaf='counts'"
            )
        if isinstance(self.alpha, tuple) and len(self.alpha) != self.depth:
            raise ValueError(
                f"alpha is a list of {len(self.alpha)} numbers for {self.depth} levels; give one for each level"
            )
        if self.alpha == "carried" and self.leaf != "counts":
            raise ValueError(
                "alpha='carried' reads the noisy leaves of the previous tree; use leaf='counts' and mode='certified'"
            )

    @property
    def step(self) -> float:
        """The paper's step a: `step_factor` times α / M²."""
        return self.step_factor * self.alpha_link / self.max_leaf**2

    @property
    def largest_link(self) -> float:
        """Largest value of a leaf before the clamp to `max_leaf`: the link of a share of 1 - ζ."""
        return float(m_alpha(self.alpha_link).link(np.asarray(1 - LEAST_SHARE)))

    @property
    def queries_calibration(self) -> bool:
        """Whether the fit asks for the noisy error of a tree at each level, to compute α."""
        return self.alpha == "noisy" and not self.as_published

    @property
    def split_sensitivity(self) -> Fraction:
        """Sensitivity in the ledger: the largest change, in rows, of a split's score by a row of weight 1.

        With a unit of privacy, a person may change scores in several nodes. The result is the largest sum of these
        changes over all nodes of the last level, for a person of weight 1.
        """
        # The α of a calibration may be any number from 0 to 1. `level_sensitivity` is linear in α, so it is largest at
        # an end of this range.
        alphas = (0.0, 1.0) if isinstance(self.alpha, str) else np.atleast_1d(self.alpha)
        most = max(self.level_sensitivity(self.depth - 1, round(UNIT * alpha)) for alpha in alphas)
        # `most` is in steps of 2^-20. The ledger states the paper's scores, which are twice those of `split_scores`.
        return Fraction(math.ceil(Fraction(2 * most, UNIT**2)))

    def level_sensitivity(self, level: int, alpha: int, weight: int = UNIT) -> int:
        """Return the sensitivity of the scores of a level, in the grid steps of `split_scores`."""
        if self.has_unit:
            return split_scores.unit_sensitivity("m-alpha", self.n_bound, level, alpha=alpha, weight=weight)
        return split_scores.sensitivity("m-alpha", self.n_bound, alpha=alpha, weight=weight)

    def scheduled_alpha(self, level: int) -> float:
        """Return the public α of a level. For "schedule", and in the first tree for "carried", it is 0.7 ** level."""
        if isinstance(self.alpha, tuple):
            return self.alpha[level]
        return DECAY**level if isinstance(self.alpha, str) else float(self.alpha)

    def charge(self, ledger: Ledger, epsilon: Fraction) -> dict[str, QueryBudget]:
        """Charge all queries of the trees in advance (docs/PRIVACY.md). Return their budgets, by kind of query.

        The costs of these queries and of the preparation sum to epsilon. All levels and trees read the same rows, so
        their costs add up. A level costs as much as one node, because its nodes have disjoint rows. With a unit of
        privacy, `split_sensitivity` covers all nodes of a level.
        """
        epsilon *= self.preparation.remaining_share
        each, n_levels = epsilon / ledger.rows / self.n_scores / self.n_trees, self.n_trees * self.n_scores * self.depth
        n_trees = self.n_trees * self.n_scores
        suffix = "" if self.n_scores == 1 else f", for each of {self.n_scores} classes"
        calibration = self.calibration_share if self.queries_calibration else Fraction(0)
        share, sensitivity = self.tree_share * (1 - calibration), self.split_sensitivity

        def pay(what: str, mechanism: str, most: int | Fraction, cost: Fraction, times: int) -> QueryBudget | None:
            return ledger.charge(f"{what}{suffix}", mechanism, most, cost, times, "sequential")

        split = each * share / self.depth
        query_budgets = {
            "splits": pay("splits, level by level of each tree", "exponential", sensitivity, split, n_levels)
        }
        if calibration:
            query = each * self.tree_share * calibration / self.depth
            query_budgets["calibration"] = pay(
                "error of the tree so far, for α", "discrete-laplace", 1, query, n_levels
            )
        leaves, beta = each * (1 - self.tree_share), Fraction(0)
        if self.beta == "laplace":
            beta = leaves * QUERY_SHARE
            query_budgets["beta"] = pay("coefficient β of each tree", "discrete-laplace", 1, beta, n_trees)
        # With "folded", each value contains β, which depends on all leaves of the tree. So one row may change all
        # values, and the leaves divide the budget.
        n_parts = 2**self.depth if self.beta == "folded" else 1
        what = "class weights" if self.leaf == "counts" else "values"
        leaf = (leaves - beta) / n_parts
        query_budgets["leaves"] = pay(
            f"{what} of the leaves of each tree", "discrete-laplace", 1, leaf, n_trees * n_parts
        )
        return {name: query_budget for name, query_budget in query_budgets.items() if query_budget is not None}

    def check_drawable(self, epsilon: Fraction) -> None:
        """Raise BudgetError if this budget needs more noise than the exact samplers can draw."""
        widths = {
            "calibration": UNIT,
            "beta": UNIT // GRAIN + 2,
            "leaves": UNIT if self.leaf == "counts" else 2 * VALUE_STEPS,
        }
        for name, query_budget in self.charge(Ledger(epsilon, self.neighbors), epsilon).items():
            each = query_budget.epsilon_each
            if name in widths and widths[name] / each > LIMIT:
                raise BudgetError(
                    f"epsilon is divided into parts of {float(each):.1g} ({name}), and the samplers cannot draw the "
                    "noise for so small a part; use a larger epsilon, or fewer trees or levels"
                )


def resolve_alpha(alpha: Any) -> float | str | tuple[float, ...]:
    """Return the parameter `alpha` as a `BoostSpec` stores it: a float, a name, or a tuple of floats.

    Raises
    ------
    ValueError
        If `alpha` is not a number from 0 to 1, the name of a calibration, or a list of numbers from 0 to 1.
    """
    if isinstance(alpha, str):
        check_choice("alpha", alpha, CALIBRATIONS)
        return alpha
    values = list(alpha) if isinstance(alpha, Sequence) else [alpha]
    for value in values:
        if not is_number(value, 0, 1):
            raise ValueError(
                f"alpha={alpha!r} is not known; give a number from 0 to 1, a list with a number for each level, or one "
                f"of {', '.join(map(repr, CALIBRATIONS))}"
            )
    if not values:
        raise ValueError("alpha is an empty list; give a number from 0 to 1 for each level")
    numbers = tuple(map(float, values))
    return numbers if isinstance(alpha, Sequence) else numbers[0]
