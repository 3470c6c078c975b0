"""What was published and does not hold: why, and at what true price. For reproduction, never for a release.

- Smooth sensitivity inside the exponential mechanism (Fletcher & Islam 2017, docs/PAPERS.md): the loss grows
  without bound; with the cap of 50 in the author's code it is finite and far above ε.
- Equal blocks of rows, one a tree (docs/PAPERS.md): one row more changes every block.
- Continuous Laplace noise in floats (Bojarski et al., docs/PAPERS.md): for ideal real numbers it holds.
"""

import math
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.privacy.true_loss import CONTINUOUS, true_loss

REPRODUCTION: Final = (
    "This is a reproduction of a paper: the noise is drawn in floating point and no budget is charged for it."
)


class Choices(Protocol):
    """The choices of a forest that decide what it loses."""

    @property
    def mechanism(self) -> str:
        """As in `mechanisms`."""

    @property
    def partition(self) -> str:
        """As in `release`, or "blocks"."""

    @property
    def neighbours(self) -> str:
        """As in `ledger`."""

    @property
    def n_trees(self) -> int:
        """Number of trees."""

    def leaf_rate(self, epsilon: Fraction) -> float:
        """The rate of the mechanism at a leaf of one tree."""


def true_loss_and_reasons(choices: Choices, n_classes: int, epsilon: float) -> tuple[float, tuple[str, ...]]:
    """What a forest as published loses at worst when it claims ε, and why it is not certified."""
    rate = float(choices.leaf_rate(Fraction(epsilon)))
    loss = true_loss(
        choices.mechanism,
        rate,
        n_classes=n_classes,
        neighbours=choices.neighbours,
        partition=choices.partition,
        n_trees=choices.n_trees,
    )
    return loss, reasons(
        choices.mechanism,
        loss,
        partition=choices.partition,
        n_trees=choices.n_trees,
        neighbours=choices.neighbours,
        epsilon=epsilon,
    )


def reasons(
    mechanism: str, loss: float, *, partition: str, n_trees: int, neighbours: str, epsilon: float
) -> tuple[str, ...]:
    """Why a forest as published is not certified, one plain sentence each; the last one always holds."""
    out = []
    if mechanism == "smooth-sensitivity":
        out.append(
            "The labels are drawn by the exponential mechanism scaled by a smooth sensitivity, as published in 2017 "
            "and withdrawn in 2021: the privacy loss grows without bound with the lead of the top label."
        )
    if mechanism == "smooth-sensitivity-clamped":
        out.append(
            "The labels are drawn by the exponential mechanism scaled by a smooth sensitivity, with the exponent "
            "capped at 50 as in the author's code: the privacy loss is bounded, but not by ε."
        )
    if mechanism == CONTINUOUS:
        out.append(
            "The counts get continuous Laplace noise, which keeps its promise for ideal real numbers; in floating "
            "point the last digits can give a count away (Mironov 2012), so nothing is certified."
        )
    if partition == "blocks":
        out.append(
            "The rows are shuffled and dealt out in equal blocks, one a tree: one row more or less changes the size "
            f"of every block, which costs up to {n_trees} times as much as in one tree."
            if neighbours == ADD_REMOVE and n_trees > 1
            else "The rows are shuffled and dealt out in equal blocks and the rest is dropped: for reproduction only."
        )
    if epsilon * (1 + 1e-9) < loss < math.inf:
        out.append(f"The true privacy loss is {loss:.3g}, not ε = {epsilon:g}.")
    return (*out, REPRODUCTION)


class BoostChoices(Protocol):
    """The choices of a boosted forest that decide which of the paper's gaps it has."""

    @property
    def alpha(self) -> object:
        """A number, a list of them, or the name of a calibration."""

    @property
    def beta(self) -> str:
        """How coefficients are computed."""

    @property
    def neighbours(self) -> str:
        """As in `ledger`."""


def boosting_reasons(choices: BoostChoices) -> tuple[str, ...]:
    """Which gaps of Nock and Henecka's analysis a forest as published has; numbered as in docs/PAPERS.md."""
    out = []
    exact_beta, exact_alpha = choices.beta == "published", choices.alpha in ("noisy", "carried", "published")
    if exact_beta:
        out.append(
            "G1: the coefficient β of each tree is computed from the private rows and published without noise, so "
            "there is no finite ε: even at ε near 0 the forest learns."
        )
    if exact_alpha:
        out.append(
            "G2: objective calibration sets α to the exact training error of the tree so far, which decides how "
            "splits are drawn: up to one exact statistic for each split."
        )
    if exact_beta:
        out.append(
            "G3: as β is exact, one row changes the weights of all rows, but the sensitivity of a split is computed "
            "as if it changed its own only."
        )
    if choices.neighbours == ADD_REMOVE:
        out.append("G6: the noise depends on the exact number of rows, which is private under add-remove.")
    out.append("G8: noise is drawn in floating point, whose last digits can give values away (Mironov 2012).")
    return (*out, REPRODUCTION)


def multinomial_reasons() -> tuple[str, ...]:
    """Why the multinomial forest as published is not differentially private for any finite ε."""
    return (
        "The values to split at lie between values of the data, so one row more makes splits possible that were "
        "impossible without it: there is no finite ε.",
        "A branch ends where the exact number of rows is small or their labels agree, so the shape of a tree tells "
        "single rows apart, and it depends on the rows that decide leaves as well.",
        "Features that are constant, categories and classes that do not occur in a branch are never drawn there, which "
        "shows that nobody has them.",
        "The accounting assumes trees of at most 10 levels, which nothing enforces.",
        "Rows are dealt out in parts of fixed size, so one row more can move others.",
        REPRODUCTION,
    )


def deal_blocks(n: int, n_trees: int, seed: int) -> np.ndarray:
    """Shuffle the rows, give each tree floor(n / n_trees) of them, drop the rest (the author's code).

    Returns
    -------
    int32 array (n,)
        The tree of each row, -1 for a dropped one.
    """
    size = n // n_trees
    out = np.full(n, -1, np.int32)
    kept = np.random.default_rng(seed).permutation(n)[: size * n_trees]
    out[kept] = np.arange(size * n_trees) // max(size, 1)
    return out
