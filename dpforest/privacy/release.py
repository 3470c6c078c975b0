"""Release labels, counts and tables with noise. A ledger is always charged before noise is drawn.

Every mechanism has a rate κ, the cost of one row added or removed in one tree. Let r be the number of rows that change
between neighbors: 1 under add-remove and 2 under replace-one. Then κ = ε / r if each row is in one tree, and κ = ε / (r
n_trees) if every row is in every tree; `rate_for` states one exception. One row added or removed changes one count of
one leaf in each of its trees, and costs at most κ per tree (proofs in `laws.py`, `noisy_counts.py` and docs/PAPERS.md).
A replacement is one removal and one addition.

- ``partition="independent"``: every row was drawn into one tree (`assign_rows`), independently of the number of rows.
  For the proof, fix the draws of all rows but one. Whichever tree the remaining row is drawn into, it affects only one
  leaf of this tree. The law of a release is a mean over the possible trees, so its loss is at most that of the worst
  tree. So all leaves of all trees are parallel (docs/PAPERS.md).
- ``partition="shared"``: every row is in every tree. The leaves of one tree are parallel, and the trees are sequential.
- ``partition="blocks"``: the rows are divided into equal blocks, one for each tree. An extra row moves the borders of
  all blocks, so the trees are not parallel. The functions of this module refuse blocks.

If a domain declares a unit of privacy, all rows of a person are drawn into the same tree. Counts are then sums of
weights, in units of 1/1024 (``count_unit=1024``), and the weights of a person add up to at most 1024 in a tree. Noise
on counts has the scale 1024/κ, and labels are drawn at the rate κ/1024. If a person has weight w in a leaf, the loss in
this leaf is at most κ w/1024. Leaves are drawn independently, so these losses add up to at most κ in a tree.
"""

from collections.abc import Callable, Sized
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from dpforest.limits import BLOCK_ROWS
from dpforest.privacy import gaussian, samplers, simulators
from dpforest.privacy.laws import CERTIFIED, NOISY_COUNTS
from dpforest.privacy.ledger import BudgetError, Ledger, QueryBudget, rows_changed
from dpforest.privacy.loss import GAUSSIAN
from dpforest.privacy.randomness import ASSIGNMENT, DemoSource, SecretSource
from dpforest.privacy.rationals import LIMIT, positive_fraction, round_down, round_up, sqrt_up
from dpforest.tables.units import Units

# The exact sampler of each mechanism that may draw labels. A mechanism without a sampler is never released.
DRAW: Final[dict[str, Callable[..., np.ndarray]]] = {
    "permute-and-flip": samplers.draw_permute_and_flip,
    "exponential": samplers.draw_exponential,
    "global-01": partial(samplers.draw_exponential, top_only=True),
}
# With these mechanisms, a person with weight w in a leaf has a loss of at most κ w/1024 in this leaf. So the losses in
# all leaves of a tree add up to at most κ.
LIPSCHITZ: Final = ("permute-and-flip", "exponential", "discrete-laplace")
LIPSCHITZ_ONLY: Final = (
    "{mechanism!r} depends on which class is on top, and a person with rows in many leaves can change the top class of "
    "each by a small weight, so it has no bound for a unit of privacy; choose another leaf mechanism."
)
_TOO_SMALL: Final = (
    "The budget of each tree is too small: with a unit of privacy, a mechanism for so little cannot be drawn exactly; "
    "use a larger epsilon or fewer trees."
)
PARTITIONS: Final = ("independent", "shared")
LEAF_LABELS: Final = "label of each leaf"  # names of the ledger entries for leaves
LEAF_COUNTS: Final = "class counts of each leaf"
BLOCKS_REFUSED: Final = (
    "Splitting the rows into equal blocks cannot be certified: one row more or less changes the size of every block, "
    "so the trees are not disjoint parts of the table (loss up to ε times the number of trees). Draw a tree for each "
    'row instead: partition="independent".'
)


def rate_for(mechanism: str, epsilon: Fraction, *, n_trees: int, partition: str, neighbors: str) -> Fraction:
    """Return the exact rate κ of a mechanism: the cost of one row added or removed in one tree.

    If each row is in one tree, the rate is ε under add-remove and ε/2 under replace-one. If every row is in every tree,
    this rate is divided by the number of trees. The parameters are as for `release_labels`.

    The mechanism ``global-01`` is an exception, because its rate is computed from ε/2 under both neighbor relations. It
    repeats an experiment of Fletcher & Islam (figure 4), whose weights are exp(ε u / 2) for a score u of 0 or 1. One
    row added or removed either raises weights or lowers weights, by a factor of at most exp(ε/2), so it costs at most
    ε/2 for every number of classes. So under add-remove, the ledger is charged only ε/2.

    Raises
    ------
    BudgetError
        If the mechanism has no proof of privacy, or if the partition is ``"blocks"``.
    ValueError
        If the partition is unknown, or ε is not positive.
    """
    if mechanism not in (*CERTIFIED, NOISY_COUNTS):
        raise BudgetError(f"{mechanism!r} has no proof of privacy, so it has no rate.")
    if partition == "blocks":
        raise BudgetError(BLOCKS_REFUSED)
    if partition not in PARTITIONS:
        raise ValueError(f"partition must be one of {PARTITIONS}, not {partition!r}.")
    rows = 2 if mechanism == "global-01" else rows_changed(neighbors)
    return positive_fraction(epsilon) / rows / (n_trees if partition == "shared" else 1)


def assign_rows(
    rows: int | np.ndarray,
    n_trees: int,
    source: SecretSource | DemoSource,
    *,
    key: int = 0,
    units: Units | None = None,
) -> np.ndarray:
    """Draw a tree for every row, or for all rows of a person, independently of all other rows and of their number.

    Parameters
    ----------
    rows : int or integer array of shape (n,)
        The ids of the rows, or the number n of rows, whose ids are then 0..n-1. In a demonstration, the draw of a row
        depends only on the seed and the row's id. So if a row is removed, no other row moves to another tree. A release
        does not use ids.
    n_trees : int
        Number of trees, or of other parts among which rows are distributed.
    source : SecretSource or DemoSource
        Fresh entropy for a release, or the seed of a demonstration.
    key : int
        Number of this call, for a demonstration that assigns rows more than once. Calls with different numbers have
        independent draws.
    units : Units, optional
        The person of each row. If given, one tree is drawn for each person. In a demonstration, the rows of a person
        must have the same id.

    Returns
    -------
    int32 array of shape (n,)
        Tree of each row, from 0 to ``n_trees - 1``.
    """
    ids = None if isinstance(rows, int | np.integer) else np.asarray(rows)
    n = int(rows) if ids is None else len(ids)
    if isinstance(source, SecretSource):
        if units is not None:
            return samplers.draw_uniform(units.n_units, n_trees, source)[units.index]
        return samplers.draw_uniform(n, n_trees, source)
    out = np.empty(n, np.int32)
    for start in range(0, n, BLOCK_ROWS):  # in blocks, to save memory
        stop = min(start + BLOCK_ROWS, n)
        keys = np.arange(start, stop) if ids is None else ids[start:stop]
        high = source.words(keys, ASSIGNMENT + (key << 8)) >> np.uint64(32)
        out[start:stop] = high * np.uint64(n_trees) >> np.uint64(32)
    return out


def release_labels(
    counts: np.ndarray,
    *,
    mechanism: str,
    epsilon: Fraction,
    n_trees: int,
    partition: str,
    neighbors: str,
    ledger: Ledger,
    source: SecretSource | DemoSource,
    what: str = LEAF_LABELS,
    part: str = "",
    count_unit: int = 1,
) -> np.ndarray:
    """Release one label for every leaf of the forest, also for empty leaves.

    Parameters
    ----------
    counts : int array of shape (n_leaves, n_classes)
        Number, or total weight, of the rows of each class in each leaf. The leaves of all trees follow one another.
    mechanism : {"permute-and-flip", "exponential", "global-01"}
        Mechanism that draws each label.
    epsilon : Fraction
        Largest total cost of this release.
    n_trees : int
        Number of trees. It affects the rate only if every row is in every tree.
    partition : {"independent", "shared"}
        Whether each row is in one tree, or in every tree.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation, which must be that of the ledger.
    ledger : Ledger
        Ledger that is charged before the labels are drawn.
    source : SecretSource or DemoSource
        Fresh entropy selects exact samplers; a seed selects fast simulators.
    what, part : str
        Name of the ledger entry, and disjoint part of the table that it reads (`Ledger.charge`).
    count_unit : {1, 1024}
        Largest sum that one row (1) or, with a unit of privacy, one person (1024) adds to the counts of a tree.

    Returns
    -------
    uint8 array of shape (n_leaves,)
        Released class of each leaf.

    Raises
    ------
    BudgetError
        If the budget does not cover the release. Also if the partition is "blocks", if the mechanism is not private, or
        if the mechanism has no bound for a person with several rows.
    ValueError
        If `neighbors` is not the neighbor relation of the ledger, if the partition is unknown, or if ε is not positive.
    """
    if mechanism not in CERTIFIED:
        raise BudgetError(f"{mechanism!r} has no proof of privacy; certified are {', '.join(CERTIFIED)}.")
    draw = DRAW[mechanism]
    rate = charge_leaves(mechanism, counts, epsilon, n_trees, partition, neighbors, ledger, what, part)
    if mechanism not in LIPSCHITZ and count_unit > 1:
        raise BudgetError(LIPSCHITZ_ONLY.format(mechanism=mechanism))
    if isinstance(source, DemoSource):
        return simulators.simulate_labels(counts, mechanism, float(rate / count_unit), source.seed)
    return draw(counts, label_rate(rate, count_unit), source)


def label_rate(rate: Fraction, count_unit: int) -> Fraction:
    """Return `rate` divided by `count_unit`, rounded down to a rate at which the samplers can draw labels.

    Raises
    ------
    BudgetError
        If the rate rounds down to 0, because labels would then be drawn uniformly.
    """
    drawable_rate = round_down(rate / count_unit, LIMIT if count_unit == 1 else samplers.MOST_OF_WEIGHT)
    if not drawable_rate:
        raise BudgetError(_TOO_SMALL)
    return drawable_rate


def noise_scale(rate: Fraction, count_unit: int) -> Fraction:
    """Return the scale of the noise on a count, in units of the counts, rounded up to a scale that the samplers accept.

    Raises
    ------
    BudgetError
        If the counts are weights, and the scale is larger than any scale that the samplers accept.
    ValueError
        If the counts are numbers of rows, and the scale is larger than any scale that the samplers accept.
    """
    if count_unit > 1 and count_unit / rate > LIMIT:
        raise BudgetError(_TOO_SMALL)
    return round_up(count_unit / rate)


def release_counts(
    counts: np.ndarray,
    *,
    epsilon: Fraction,
    n_trees: int,
    partition: str,
    neighbors: str,
    ledger: Ledger,
    source: SecretSource | DemoSource,
    what: str = LEAF_COUNTS,
    count_unit: int = 1,
) -> np.ndarray:
    """Release every class count of every leaf with discrete Laplace noise, without clamping.

    The scale is ``count_unit``/κ, for the rate κ of `rate_for`. For numbers of rows under add-remove, the scale is 1/ε
    if each row is in one tree, and n_trees/ε if every row is in every tree. Under replace-one, the scale is twice as
    large. Parameters and errors are as for `release_labels`.

    Returns
    -------
    int64 array of shape (n_leaves, n_classes)
        Noisy counts, which may be negative.
    """
    rate = charge_leaves("discrete-laplace", counts, epsilon, n_trees, partition, neighbors, ledger, what)
    if isinstance(source, DemoSource):
        return simulators.simulate_noisy_counts(counts, float(count_unit / rate), source.seed)
    return samplers.draw_noisy_counts(counts, noise_scale(rate, count_unit), source)


def noisy_table(
    table: np.ndarray,
    sensitivity: int | Fraction,
    query_budget: QueryBudget,
    source: SecretSource | DemoSource,
    *,
    key: int = 0,
) -> np.ndarray:
    """Add noise to a table of whole numbers: discrete Laplace for a pure budget, rounded Gaussian for a Gaussian one.

    Parameters
    ----------
    table : int64 array of shape (n_rows, n_columns)
        The table before noise.
    sensitivity : int or Fraction
        Largest change of the table when one row or person is added or removed, in units of the cells of the table: in
        L1 norm for a pure budget, in L2 norm for a Gaussian budget.
    query_budget : QueryBudget
        Queries that a ledger was charged for. The call uses up one of them.
    source : SecretSource or DemoSource
        Fresh entropy selects exact samplers; a seed selects fast simulators.
    key : int
        Number of the table in a demonstration. Tables with different numbers have independent draws.

    Returns
    -------
    int64 array of the same shape
        Noisy table, whose cells may be negative.

    Raises
    ------
    BudgetError
        If all queries of the budget are used up. The function then draws nothing.
    """
    each = query_budget.use()
    if each.kind == GAUSSIAN:
        sigma = sqrt_up(Fraction(sensitivity) ** 2 / each.mu_squared)
        if isinstance(source, DemoSource):
            return simulators.simulate_rounded_gaussian(table, float(sigma), source.seed, key=key)
        return gaussian.draw_rounded_gaussian(table, round_up(sigma), source)
    scale = sensitivity / each.pure_epsilon
    if isinstance(source, DemoSource):
        return simulators.simulate_noisy_counts(table, float(scale), source.seed, key=key)
    return samplers.draw_noisy_counts(table, round_up(scale), source)


def charge_leaves(
    mechanism: str,
    counts: Sized,
    epsilon: Fraction,
    n_trees: int,
    partition: str,
    neighbors: str,
    ledger: Ledger,
    what: str,
    part: str = "",
) -> Fraction:
    """Charge a ledger for the leaves of a forest, and return the rate of the mechanism (`rate_for`).

    Parameters
    ----------
    counts : sized
        Object whose length is the number of leaves; its elements are not read.
    mechanism, epsilon, n_trees, partition, neighbors, ledger, what, part
        As for `release_labels`.

    Returns
    -------
    Fraction
        Rate κ: the cost of one row added or removed in one tree.

    Raises
    ------
    BudgetError
        If the ledger has no budget, if the budget does not cover the leaves, or if `rate_for` refuses the mechanism or
        the partition.
    ValueError
        If `neighbors` is not the neighbor relation of the ledger.
    """
    if ledger.neighbors != neighbors:
        raise ValueError(f"The ledger is kept for {ledger.neighbors}, not for {neighbors}.")
    if ledger.budget is None:
        raise BudgetError("A ledger without a budget cannot pay for a private release.")
    rate = rate_for(mechanism, epsilon, n_trees=n_trees, partition=partition, neighbors=neighbors)
    if partition == "shared":
        ledger.charge(f"{what}, tree by tree", mechanism, 1, rate, n_trees, "sequential", part=part)
    else:
        ledger.charge(
            f"{what}, {ledger.units} shared out among the trees",
            mechanism,
            1,
            rate,
            max(len(counts), 1),
            "parallel",
            part=part,
        )
    return rate
