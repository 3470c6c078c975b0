"""A forest as it stands before it has seen a row: every choice that its release and its simulation share."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpforest.checks import check_choice, check_count
from dpforest.limits import LEAF_CAP, MAX_DEPTH, MAX_LEAVES
from dpforest.models.preparation import Preparation
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.mechanisms import RELEASE_COUNTS
from dpforest.privacy.release import COUNTS, LABELS, charge_leaves, rate_for
from dpforest.tables.domain import Domain
from dpforest.trees.forest_size import most_leaves
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import CountLeaves, LabelLeaves
from dpforest.trees.random_trees import CATEGORICAL, grow_random_trees
from dpforest.trees.released_scale import ReleasedScale
from dpforest.voting import NEGATIVE_RULES, VOTING, LogOdds, uniform

PUBLISHED_LEAF_CAP = 65_536  # of one tree as published: no paper has a cap, but memory has


@dataclass(frozen=True)
class ForestSpec:
    """A forest with data-independent structure, without its budget.

    Parameters
    ----------
    n_trees, depth : int
    mechanism : str
        What a leaf releases and how: see `dpforest.privacy.mechanisms` and `dpforest.privacy.published`.
    partition : {"independent", "shared", "blocks"}
        Each row in one tree by its own draw, in every tree, or in one tree by equal blocks of a shuffle.
    neighbors : {"add-remove", "replace-one"}
    leaf_shares : int
        Parts that a tree's budget is cut into: 1, as leaves are disjoint, or their number where a paper says so.
    as_published : bool
        Rates as in the paper, drawn in floating point; never a release.
    departures : tuple of str
        As published: what the certificate says of where this is not the paper's forest, or of what its shape tells.
    preparation : Preparation
        What goes of the budget before trees are grown.
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

    def __post_init__(self) -> None:
        check_choice("partition", self.partition, ("independent", "shared", "blocks"))
        check_choice("voting", self.voting, tuple(rule for rule in VOTING if rule != "additive"))
        check_choice("negative_rule", self.negative_rule, NEGATIVE_RULES)
        check_choice("categorical", self.categorical, CATEGORICAL)
        check_count("max_depth", self.depth, 0, MAX_DEPTH)
        check_count("n_quantiles", self.n_quantiles, 2, 1_000)
        check_count("max_leaves", self.max_leaves, 1, MAX_LEAVES)

    @property
    def releases_counts(self) -> bool:
        return self.mechanism in RELEASE_COUNTS

    def grow(self, domain: Domain, seed: int, scale: ReleasedScale | None = None, *, to_file: bool = False) -> Trees:
        """The structure: from a public seed, the public domain, and a scale that was released.

        With `to_file`, ValueError where a file of the forest could not be read back: one that is too large.
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

    def check_size(self, domain: Domain, seed: int) -> None:
        """Raise ValueError where `grow` would, for a forest that is to be written to a file."""
        most_of_tree = max(self.max_leaves, 1) if self.categorical == "multiway" else 2**self.depth
        if self.n_trees * most_of_tree > most_leaves(domain.n_classes):
            self.grow(domain, seed, to_file=True)  # which knows how many there are

    def leaf_epsilon(self, epsilon: Fraction) -> Fraction:
        """Of a budget, what a leaf may spend of it."""
        return epsilon * self.preparation.left / self.leaf_shares

    def leaves(
        self, values: np.ndarray, epsilon: Fraction | None, numbers: np.ndarray | None = None
    ) -> LabelLeaves | CountLeaves:
        """The leaves that released values make; `numbers` are theirs in the forest, where they are only some."""
        if not self.releases_counts:
            return LabelLeaves(values)
        return CountLeaves(values, self.voting, self.negative_rule, self.log_odds(epsilon, values), numbers)

    def charge(self, epsilon: Fraction, n_leaves: int, ledger: Ledger) -> None:
        """Pay for the leaves, as `privacy.release` does."""
        how = (self.leaf_epsilon(epsilon), self.n_trees, self.partition, self.neighbors)
        charge_leaves(self.mechanism, range(n_leaves), *how, ledger, COUNTS if self.releases_counts else LABELS)

    def log_odds(self, epsilon: Fraction | None, counts: np.ndarray) -> LogOdds | None:
        """How much leaves are trusted where trees' log-odds are added up; None for other ways of voting.

        The signal goes by the number of rows as it is known, or else by what was released of all leaves.
        """
        if self.voting != "log-odds":
            return None
        if epsilon is None:
            return LogOdds.of_signal(0.0, math.inf)
        counted = float(counts.sum()) / (self.n_trees if self.partition == "shared" else 1)
        signal = (self.preparation.n_rows or counted) * float(epsilon * self.preparation.left)
        return LogOdds.of_signal(1 / self.leaf_rate(epsilon), signal)

    def leaf_rate(self, epsilon: Fraction) -> float:
        """`exact_rate` as simulations take it."""
        return float(self.exact_rate(epsilon))

    def exact_rate(self, epsilon: Fraction) -> Fraction:
        """Rate of the mechanism at a leaf: of a certified one as `rate_for` says, of a published one as its paper does.

        The papers give a leaf epsilon, divided among trees that share rows and among leaves where a paper does so;
        the exponential mechanisms take half of that, whatever the neighbor relation.
        """
        epsilon = self.leaf_epsilon(epsilon)
        if self.as_published:
            trees = self.n_trees if self.partition == "shared" else 1
            return epsilon / trees / (2 if self.mechanism in ("exponential", "global-01") else 1)
        return rate_for(
            self.mechanism, epsilon, n_trees=self.n_trees, partition=self.partition, neighbors=self.neighbors
        )


def leaf_cap(given: int | None, mode: str) -> int:
    """The public cap on the leaves of a tree with multiway tests: as given, or the default of the mode."""
    if given is not None:
        return given
    return PUBLISHED_LEAF_CAP if mode == "as_published" else LEAF_CAP


def capped(domain: Domain, depth: int, categorical: str, max_leaves: int) -> tuple[str, ...]:
    """A sentence where a tree of this depth may have more leaves than the cap, which no paper has; from the schema."""
    widths = [f.n_codes for f in domain.features if f.kind == "categorical" and f.n_codes > 1]
    if categorical != "multiway" or not widths:
        return ()
    again = [2] * depth if len(widths) < domain.n_features else []  # other tests may come again on a path
    most = math.prod(sorted([*widths, *again], reverse=True)[:depth])
    if most <= max_leaves:
        return ()
    return (
        f"A tree ends at {max_leaves:,} leaves here, which no paper says; of depth {depth} and on this schema it may "
        "have more.",
    )


def true_labels(counts: np.ndarray, seed: int, *, leaves: np.ndarray | None = None) -> np.ndarray:
    """Most frequent class of each leaf, uint8 (n_leaves,): the non-private model. An empty leaf draws from the seed.

    Where `counts` are those of some leaves only, `leaves` are their numbers.
    """
    labels = counts.argmax(axis=1).astype(np.uint8)
    empty = counts.sum(axis=1) == 0
    numbers = np.flatnonzero(empty) if leaves is None else leaves[empty]
    draws = uniform(seed, numbers.astype(np.uint64))
    labels[empty] = (draws * counts.shape[1]).astype(np.uint8)
    return labels
