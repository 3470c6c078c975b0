"""Published mechanisms whose privacy claims are wrong, and the reasons. No release uses these mechanisms.

- Fletcher & Islam 2017 use smooth sensitivity inside the exponential mechanism. The privacy loss grows without bound as
  the lead of the top label grows. The author's code caps the exponent at 50. In ideal real numbers, the loss with
  this cap would be finite, but far above ε.
- Fletcher & Islam also divide the rows into equal blocks, one for each tree. One row added or removed changes every
  block.
- Bojarski et al. draw noise in floats, but their proof holds only for noise in ideal real numbers.
- Nock & Henecka use exact coefficients, errors and numbers of rows (gaps G1 to G8 in docs/PAPERS.md), so no finite ε
  holds.
- Bai et al. end branches by exact numbers of rows, and split at points between values of the data, so no finite ε
  holds.
- Friedman & Schuster draw noise in floats. If splits are chosen by the gain ratio, the loss has no bound even in ideal
  real numbers.

docs/PAPERS.md has the details.
"""

import math
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.privacy.rationals import text_up
from dpforest.privacy.true_loss import CONTINUOUS, true_loss

REPRODUCTION: Final = (
    "This is a reproduction of a paper: the noise is drawn in floating point and no budget is charged for it."
)
_MECHANISMS: Final = {
    "smooth-sensitivity": (
        "The labels are drawn by the exponential mechanism scaled by a smooth sensitivity, as published in 2017 and "
        "withdrawn in 2021: the privacy loss grows without bound with the lead of the top label."
    ),
    "smooth-sensitivity-clamped": (
        "The labels are drawn by the exponential mechanism scaled by a smooth sensitivity, with the exponent capped at "
        "50 as in the author's code: even in ideal real numbers the privacy loss is not bounded by ε."
    ),
    CONTINUOUS: (
        "The counts get continuous Laplace noise, which is for ideal real numbers; in floating point the last digits "
        "can give a count away (Mironov 2012)."
    ),
}


class Choices(Protocol):
    """The settings of a forest that determine its privacy loss."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism that releases the leaves (see `mechanisms`)."""

    @property
    def partition(self) -> str:
        """Rule that assigns rows to trees: one of `release.PARTITIONS`, or "blocks"."""

    @property
    def neighbors(self) -> str:
        """A neighbor relation of `ledger`."""

    @property
    def n_trees(self) -> int:
        """Number of trees."""

    def exact_rate(self, epsilon: Fraction) -> Fraction:
        """Return the rate of the mechanism in one tree (see `mechanisms`), for a forest that claims `epsilon`."""


def reasons(choices: Choices, n_classes: int, epsilon: Fraction) -> tuple[str, ...]:
    """Return the reasons why a published forest that claims ε is not certified.

    The last reason is `REPRODUCTION`, which always applies. If the mechanism would have a finite loss in ideal real
    numbers, one reason states this loss. But the mechanism draws in floats, for which no finite loss is proved. So the
    certificate states no finite loss.
    """
    loss = true_loss(
        choices.mechanism,
        choices.exact_rate(epsilon),
        n_classes=n_classes,
        neighbors=choices.neighbors,
        partition=choices.partition,
        n_trees=choices.n_trees,
    )
    sentences = [_MECHANISMS[choices.mechanism]] if choices.mechanism in _MECHANISMS else []
    if choices.partition == "blocks":
        sentences.append(
            "The rows are shuffled and dealt out in equal blocks, one a tree: one row more or less changes the size "
            f"of every block, which costs up to {choices.n_trees} times as much as in one tree."
            if choices.neighbors == ADD_REMOVE and choices.n_trees > 1
            else "The rows are shuffled and dealt out in equal blocks, and the remaining rows are dropped, as in the "
            "published code."
        )
    return (*sentences, *ideal_loss(loss, epsilon), REPRODUCTION)


def ideal_loss(loss: float | Fraction, epsilon: Fraction) -> tuple[str, ...]:
    """Return a reason that states the loss in ideal real numbers; an empty tuple if this loss is infinite."""
    if math.isinf(loss):
        return ()
    claimed = f", not ε = {text_up(epsilon)}" if loss > epsilon * (1 + Fraction(1, 10**9)) else ""
    return (
        f"In ideal real numbers the loss would be at most {text_up(loss, 3)}{claimed}; for the floating point that is "
        "used no finite bound is known.",
    )


class BoostChoices(Protocol):
    """The settings of a boosted forest that determine which gaps in the paper's privacy proof affect it."""

    @property
    def alpha(self) -> object:
        """α of the training loss: a number, a list of numbers, or the name of a rule that computes α."""

    @property
    def beta(self) -> str:
        """Rule that computes the coefficient β of a tree."""

    @property
    def max_leaf(self) -> float:
        """M: leaf values are clamped to the range from -M to M."""

    @property
    def largest_link(self) -> float:
        """Largest absolute leaf value before clamping."""

    @property
    def neighbors(self) -> str:
        """A neighbor relation of `ledger`."""


def boosting_reasons(choices: BoostChoices) -> tuple[str, ...]:
    """Return the gaps in Nock and Henecka's privacy proof that affect a forest, numbered as in docs/PAPERS.md."""
    sentences = []
    exact_beta, exact_alpha = choices.beta == "published", choices.alpha in ("noisy", "carried", "published")
    if exact_beta:
        sentences.append(
            "G1: the coefficient β of each tree is computed from the private rows and published without noise. It "
            "gives exact facts about the rows, however small ε is, so there is no finite ε."
        )
    if exact_alpha:
        sentences.append(
            "G2: α is computed from the exact training error of the tree so far (objective calibration). As α decides "
            "how splits are drawn, each split can reveal one exact statistic."
        )
    if exact_beta:
        sentences.append(
            "G3: as β is exact, one row changes the weights of all rows. But the sensitivity of a split is computed as "
            "if one row changed no weight but its own."
        )
    if choices.largest_link > choices.max_leaf:
        sentences.append(
            f"G4: the noise of a leaf is enough for leaf values from {-choices.max_leaf:g} to {choices.max_leaf:g}. "
            "But the values are clamped to this range only after the noise is added. Before, they reach up to "
            f"{choices.largest_link:.3g}."
        )
    if choices.neighbors == ADD_REMOVE:
        sentences.append("G6: the noise depends on the exact number of rows, which is private under add-remove.")
    sentences.append("G8: noise is drawn in floating point, whose last digits can give values away (Mironov 2012).")
    return (*sentences, REPRODUCTION)


def tree_reasons(loss: Fraction | None, epsilon: Fraction) -> tuple[str, ...]:
    """Return why Friedman and Schuster's published tree is not certified.

    `loss` is the privacy loss in ideal real numbers, or None if splits are chosen by the gain ratio, whose loss has no
    bound.
    """
    if loss is not None:
        return (*ideal_loss(loss, epsilon), REPRODUCTION)
    return (
        "Splits are drawn by the gain ratio, whose sensitivity has no bound, as one row can change a score by as much "
        "as there are rows; they are drawn as if it were the information gain, which proves nothing for "
        "the gain ratio.",
        REPRODUCTION,
    )


def multinomial_reasons(nominal: Fraction | float, epsilon: Fraction) -> tuple[str, ...]:
    """Return why the published multinomial forest is not differentially private for any finite ε.

    `nominal` is the ε that the paper's formula gives for the temperatures of the forest's draws. `epsilon` is the
    requested ε.
    """
    claim = (
        f"By the paper's own sum, trees × max(depth × (B1 + B2), B3), temperatures that are set by hand claim "
        f"ε = {text_up(nominal)}, not the {text_up(epsilon)} that was asked for.",
    )
    return (
        *(claim if nominal != epsilon else ()),
        "The values to split at lie between values of the data, so one row more makes splits possible that were "
        "impossible without it: there is no finite ε.",
        "A branch ends where the exact number of rows is small or their labels agree, so the shape of a tree tells "
        "single rows apart, and it depends on the rows that decide leaves as well.",
        "Features that are constant, categories and classes that do not occur in a branch are never drawn there, which "
        "shows that no row has them.",
        "The accounting assumes trees of at most 10 levels, which nothing enforces.",
        "Rows are dealt out in parts of fixed size, so one row more can move others.",
        REPRODUCTION,
    )


def assign_blocks(n: int, n_trees: int, seed: int) -> np.ndarray:
    """Shuffle the rows, give floor(n / n_trees) rows to each tree, and drop the other rows, as the author's code does.

    Returns
    -------
    int32 array of shape (n,)
        The tree of each row; -1 for a dropped row.
    """
    size = n // n_trees
    out = np.full(n, -1, np.int32)
    kept = np.random.default_rng(seed).permutation(n)[: size * n_trees]
    out[kept] = np.arange(size * n_trees) // max(size, 1)
    return out
