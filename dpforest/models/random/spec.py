"""Plan (spec) of a forest whose trees do not depend on data. A release and its simulations have the same plan."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpforest.checks import check_choice, check_count
from dpforest.limits import LEAF_CAP, MAX_DEPTH, MAX_LEAVES
from dpforest.models.preparation import Preparation
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.mechanisms import RELEASE_COUNTS
from dpforest.privacy.release import (
    LEAF_COUNTS,
    LEAF_LABELS,
    LIPSCHITZ,
    LIPSCHITZ_ONLY,
    charge_leaves,
    label_rate,
    noise_scale,
    rate_for,
)
from dpforest.tables.domain import Domain
from dpforest.trees.forest_size import most_leaves
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import CountLeaves, LabelLeaves
from dpforest.trees.random_trees import CATEGORICAL, grow_random_trees
from dpforest.trees.released_scale import ReleasedScale
from dpforest.voting import NEGATIVE_RULES, VOTING, LogOdds, uniform

# Largest number of leaves of a tree in mode "as_published". No paper has such a limit, but memory is limited.
PUBLISHED_LEAF_CAP = 65_536


@dataclass(frozen=True)
class ForestSpec:
    """Plan of a forest with data-independent structure. The budget is not part of the plan.

    Parameters
    ----------
    n_trees, depth : int
        Number of trees, and largest number of tests on a path.
    mechanism : str
        Mechanism that releases each leaf (`dpforest.privacy.mechanisms`, `dpforest.privacy.published`).
    partition : {"independent", "shared", "blocks"}
        "independent": each row is in one tree, by an independent draw. "shared": each row is in every tree. "blocks":
        the shuffled rows are divided into equal blocks, one for each tree.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation of the ledger.
    voting, negative_rule
        As in `CountLeaves`.
    categorical, thresholds, n_quantiles, max_leaves
        As in `grow_random_trees`.
    leaf_shares : int
        Number of equal parts into which a tree's budget is divided; each leaf spends one part. The number is 1 if each
        leaf spends the whole budget of its tree, which is allowed because no row is in two leaves. It is the number of
        leaves if the paper divides the budget among them.
    as_published : bool
        Whether the noise has the scale of the paper and is drawn in floating point. Such a forest is never released.
    departures : tuple of str
        Sentences for the certificate of a forest in mode "as_published". They state how the forest differs from the
        paper's, and which private number its shape reveals.
    preparation : Preparation
        Shares of the budget that are spent before trees grow.
    count_unit : {1, 1024}
        Largest amount that a row (1) or a person (1024, see `Domain.unit`) adds to the counts of a tree.
    """

    n_trees: int
    depth: int
    mechanism: str
    partition: str
    neighbors: str
    voting: str = "majority"
    negative_rule: str = "clamp"
    categorical: str = "multiway"
    thresholds: str = "node"
    n_quantiles: int = 10
    max_leaves: int = LEAF_CAP
    leaf_shares: int = 1
    as_published: bool = False
    departures: tuple[str, ...] = ()
    preparation: Preparation = Preparation()
    count_unit: int = field(kw_only=True)

    def __post_init__(self) -> None:
        if self.count_unit > 1 and self.mechanism not in LIPSCHITZ:
            raise ValueError(LIPSCHITZ_ONLY.format(mechanism=self.mechanism))
        check_choice("partition", self.partition, ("independent", "shared", "blocks"))
        check_choice("voting", self.voting, tuple(rule for rule in VOTING if rule != "additive"))
        check_choice("negative_rule", self.negative_rule, NEGATIVE_RULES)
        check_choice("categorical", self.categorical, CATEGORICAL)
        check_count("max_depth", self.depth, 0, MAX_DEPTH)
        check_count("n_quantiles", self.n_quantiles, 2, 1_000)
        check_count("max_leaves", self.max_leaves, 1, MAX_LEAVES)

    @property
    def releases_counts(self) -> bool:
        """Whether leaves release noisy counts; otherwise, they release labels."""
        return self.mechanism in RELEASE_COUNTS

    def grow(self, domain: Domain, seed: int, scale: ReleasedScale | None = None, *, to_file: bool = False) -> Trees:
        """Grow the trees from a public seed, the public domain, and a released scale.

        With `to_file`, raise ValueError if the forest is too large for a file that can be read back.
        """
        return grow_random_trees(
            domain,
            n_trees=self.n_trees,
            depth=self.depth,
            seed=seed,
            categorical=self.categorical,
            thresholds=self.thresholds,
            n_quantiles=self.n_quantiles,
            max_leaves=self.max_leaves,
            most_leaves=most_leaves(domain.n_classes) if to_file else None,
            scale=scale,
        )

    def check_drawable(self, epsilon: Fraction) -> None:
        """Raise BudgetError if, with a unit of privacy, the budget needs more noise than the samplers can draw."""
        if self.count_unit > 1:
            check_noise = noise_scale if self.releases_counts else label_rate
            check_noise(self.exact_rate(epsilon), self.count_unit)

    def check_size(self, domain: Domain, seed: int) -> None:
        """Raise ValueError if the forest is too large for a file, as `grow` does with ``to_file=True``."""
        most_of_tree = max(self.max_leaves, 1) if self.categorical == "multiway" else 2**self.depth
        if self.n_trees * most_of_tree > most_leaves(domain.n_classes):
            self.grow(domain, seed, to_file=True)  # the bound above may be too large; `grow` counts exactly

    def leaf_epsilon(self, epsilon: Fraction) -> Fraction:
        """Return the budget for leaves: the part of `epsilon` after the preparation, divided by `leaf_shares`."""
        return epsilon * self.preparation.remaining_share / self.leaf_shares

    def leaves(
        self, values: np.ndarray, epsilon: Fraction | None, numbers: np.ndarray | None = None
    ) -> LabelLeaves | CountLeaves:
        """Return leaves with these released values. If these are only some leaves, `numbers` holds their indices."""
        if not self.releases_counts:
            return LabelLeaves(values)
        log_odds = self.log_odds(epsilon, values)
        return CountLeaves(values, self.voting, self.negative_rule, log_odds, numbers, self.count_unit)

    def charge(self, epsilon: Fraction, n_leaves: int, ledger: Ledger) -> None:
        """Charge the ledger for the leaves, with the same entry that a release by `privacy.release` writes."""
        arguments = (self.leaf_epsilon(epsilon), self.n_trees, self.partition, self.neighbors)
        charge_leaves(
            self.mechanism, range(n_leaves), *arguments, ledger, LEAF_COUNTS if self.releases_counts else LEAF_LABELS
        )

    def log_odds(self, epsilon: Fraction | None, counts: np.ndarray) -> LogOdds | None:
        """Return the parameters of the voting rule "log-odds"; None for other voting rules.

        The parameters depend on the signal: the number of rows times the ε that remains for leaves. If the preparation
        has no number of rows, the rule uses the sum of the given counts over all leaves instead.
        """
        if self.voting != "log-odds":
            return None
        if epsilon is None:
            return LogOdds.of_signal(0.0, math.inf)
        n_counted = float(counts.sum()) / self.count_unit / (self.n_trees if self.partition == "shared" else 1)
        signal = (self.preparation.n_rows or n_counted) * float(epsilon * self.preparation.remaining_share)
        return LogOdds.of_signal(1 / self.leaf_rate(epsilon), signal)

    def leaf_rate(self, epsilon: Fraction) -> float:
        """Return `exact_rate` as a float, for simulations."""
        return float(self.exact_rate(epsilon))

    def exact_rate(self, epsilon: Fraction) -> Fraction:
        """Return the rate of the mechanism at a leaf: by `rate_for` or, as published, by the paper's formula.

        As published (``mode="as_published"``), ε is divided among trees that share rows, and among leaves
        (`leaf_shares`). The rate of an exponential mechanism is half of a leaf's part of ε, for both neighbor
        relations.
        """
        epsilon = self.leaf_epsilon(epsilon)
        if self.as_published:
            trees = self.n_trees if self.partition == "shared" else 1
            return epsilon / trees / (2 if self.mechanism in ("exponential", "global-01") else 1)
        return rate_for(
            self.mechanism, epsilon, n_trees=self.n_trees, partition=self.partition, neighbors=self.neighbors
        )


def leaf_cap(given: int | None, mode: str) -> int:
    """Return the public cap on the leaves of a tree with multiway tests: as given, or the default of the mode."""
    if given is not None:
        return given
    return PUBLISHED_LEAF_CAP if mode == "as_published" else LEAF_CAP


def leaf_cap_sentences(domain: Domain, depth: int, categorical: str, max_leaves: int) -> tuple[str, ...]:
    """Return a sentence about the cap on leaves if a tree of this depth may exceed it; no paper has such a cap."""
    widths = [f.n_codes for f in domain.features if f.kind == "categorical" and f.n_codes > 1]
    if categorical != "multiway" or not widths:
        return ()
    # A path may test the same attribute several times if the tests are not multiway.
    repeatable = [2] * depth if len(widths) < domain.n_features else []
    most = math.prod(sorted([*widths, *repeatable], reverse=True)[:depth])
    if most <= max_leaves:
        return ()
    return (
        f"A tree has at most {max_leaves:,} leaves here; no paper has this limit. At depth {depth}, a tree on this "
        "schema may have more.",
    )


def true_labels(counts: np.ndarray, seed: int, *, leaves: np.ndarray | None = None) -> np.ndarray:
    """Return the most frequent class of each leaf, uint8 (n_leaves,), for a model without privacy.

    The class of an empty leaf is drawn from the seed. If `counts` covers only some leaves, `leaves` holds the indices
    of these leaves.
    """
    labels = counts.argmax(axis=1).astype(np.uint8)
    empty = counts.sum(axis=1) == 0
    numbers = np.flatnonzero(empty) if leaves is None else leaves[empty]
    draws = uniform(seed, numbers.astype(np.uint64))
    labels[empty] = (draws * counts.shape[1]).astype(np.uint8)
    return labels
