"""The releases: all that leaves the curator. Each of them charges the ledger first and then draws.

All mechanisms share one rate: ``rate = epsilon / (rows changed) / (n_trees if every row is in every tree)``, where rows
changed is 1 under add-remove and 2 under replace-one. Adding or removing one row changes one count of one leaf of each
tree that it is in, which costs at most ``rate`` per tree (proofs at the laws in `mechanisms.py`); a replacement is two
such changes.

- ``partition="independent"``: every row was drawn into one tree (`assign_rows`), independently of the number of rows.
  Given the draws of the others, an extra row affects one leaf of one tree, whatever its draw; averaging over that draw
  cannot raise the worst ratio. So all leaves of all trees are parallel (docs/PAPERS.md).
- ``partition="shared"``: every row is in every tree; leaves of one tree are parallel, trees are sequential.
- ``partition="blocks"``: an extra row moves the borders of all blocks, so nothing is parallel. It is refused.
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
from dpforest.privacy.rationals import positive_fraction, round_down, round_up, sqrt_up

# The exact sampler of each mechanism that may draw labels. A mechanism without a sampler is never released.
DRAW: Final[dict[str, Callable[..., np.ndarray]]] = {
    "permute-and-flip": samplers.draw_permute_and_flip,
    "exponential": samplers.draw_exponential,
    "global-01": partial(samplers.draw_exponential, top_only=True),
}
PARTITIONS: Final = ("independent", "shared")
LABELS: Final = "label of each leaf"  # names of releases in the ledger
COUNTS: Final = "class counts of each leaf"
BLOCKS_REFUSED: Final = (
    "Splitting the rows into equal blocks cannot be certified: one row more or less changes the size of every block, "
    "so the trees are not disjoint parts of the table (loss up to ε times the number of trees). Draw a tree for each "
    'row instead: partition="independent".'
)


def rate_for(mechanism: str, epsilon: Fraction, *, n_trees: int, partition: str, neighbors: str) -> Fraction:
    """Return the rate κ of a mechanism, exactly: the cost of one row added or removed in one tree.

    ``global-01`` takes ε/2 where the others take ε or ε/2. It is the ablation of Fletcher & Islam, figure 4, with
    weights exp(ε u / 2), so it costs only ε/2 under add-remove, and the ledger is charged just that. (Under replace-one
    a row that moves to another leaf costs that twice; ε/2 is correct for every number of classes.)

    Raises
    ------
    BudgetError
        For a mechanism without a proof, and for ``"blocks"``.
    """
    if mechanism not in (*CERTIFIED, NOISY_COUNTS):
        raise BudgetError(f"{mechanism!r} has no proof of privacy, so it has no rate.")
    if partition == "blocks":
        raise BudgetError(BLOCKS_REFUSED)
    if partition not in PARTITIONS:
        raise ValueError(f"partition must be one of {PARTITIONS}, not {partition!r}.")
    rows = 2 if mechanism == "global-01" else rows_changed(neighbors)
    return positive_fraction(epsilon) / rows / (n_trees if partition == "shared" else 1)


def assign_rows(rows: int | np.ndarray, n_trees: int, source: SecretSource | DemoSource, *, key: int = 0) -> np.ndarray:
    """Draw a tree for every row, independently of all other rows and of their number.

    Parameters
    ----------
    rows : int or integer array (n,)
        The number of rows, or their ids. A demonstration draws by id (0..n-1 for a number), so that a missing row moves
        no other row; a release does not use ids.
    n_trees : int
        Number of trees, or of any other parts.
    source : SecretSource or DemoSource
    key : int
        Number of the draw in a demonstration that draws rows more than once.

    Returns
    -------
    int32 array (n,)
    """
    ids = None if isinstance(rows, int | np.integer) else np.asarray(rows)
    n = int(rows) if ids is None else len(ids)
    if isinstance(source, SecretSource):
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
    what: str = LABELS,
    part: str = "",
) -> np.ndarray:
    """Release one label for every leaf of the forest, empty or not.

    Parameters
    ----------
    counts : int array (L, K)
        Rows of each class in each leaf, for all trees one after another.
    mechanism : {"permute-and-flip", "exponential", "global-01"}
    epsilon : Fraction
        Most that this release may cost in total.
    n_trees : int
    partition : {"independent", "shared"}
    neighbors : {"add-remove", "replace-one"}
    ledger : Ledger
    source : SecretSource or DemoSource
        Fresh entropy selects exact samplers, a seed selects fast simulators.
    what, part : str
        Name and part of the ledger entry.

    Returns
    -------
    uint8 array (L,)

    Raises
    ------
    BudgetError
        If the budget does not cover the release, or none could (blocks, mechanisms that are not private).
    """
    if mechanism not in CERTIFIED:
        raise BudgetError(f"{mechanism!r} has no proof of privacy; certified are {', '.join(CERTIFIED)}.")
    draw = DRAW[mechanism]
    rate = charge_leaves(mechanism, counts, epsilon, n_trees, partition, neighbors, ledger, what, part)
    if isinstance(source, DemoSource):
        return simulators.simulate_labels(counts, mechanism, float(rate), source.seed)
    return draw(counts, round_down(rate), source)


def release_counts(
    counts: np.ndarray,
    *,
    epsilon: Fraction,
    n_trees: int,
    partition: str,
    neighbors: str,
    ledger: Ledger,
    source: SecretSource | DemoSource,
    what: str = COUNTS,
) -> np.ndarray:
    """Release every class count of every leaf with discrete Laplace noise, without clamping.

    The scale is 1/κ (see `rate_for`): n_trees/ε if every row is in every tree, 1/ε if each row is in one tree, and
    twice that under replace-one. Parameters are as for `release_labels`.

    Returns
    -------
    int64 array (L, K)
        Counts may be negative.
    """
    rate = charge_leaves("discrete-laplace", counts, epsilon, n_trees, partition, neighbors, ledger, what)
    if isinstance(source, DemoSource):
        return simulators.simulate_noisy_counts(counts, float(1 / rate), source.seed)
    return samplers.draw_noisy_counts(counts, round_up(1 / rate), source)


def noisy_table(
    table: np.ndarray,
    sensitivity: int | Fraction,
    query_budget: QueryBudget,
    source: SecretSource | DemoSource,
    *,
    key: int = 0,
) -> np.ndarray:
    """Add the noise of a budget to a table of whole numbers: discrete Laplace if pure, rounded Gaussian if Gaussian.

    Parameters
    ----------
    table : int64 array of shape (n_rows, n_columns)
        The table before noise.
    sensitivity : int or Fraction
        Largest change of the table by one row of data, added or removed: in L1 norm for a pure budget, in L2 norm for a
        Gaussian one.
    query_budget : QueryBudget
        Paid for beforehand. The call takes one use of it.
    source : SecretSource or DemoSource
        Fresh entropy selects exact samplers, a seed selects fast simulators.
    key : int
        Number of the table in a demonstration, so that the draws of its tables are independent.

    Returns
    -------
    int64 array of the same shape
        Cells may be negative.

    Raises
    ------
    BudgetError
        If no use of the budget is left. Nothing is drawn then.
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
        Only its length is read, the number of leaves.
    mechanism, epsilon, n_trees, partition, neighbors, ledger, what, part
        As for `release_labels`.

    Returns
    -------
    Fraction

    Raises
    ------
    BudgetError
        If the budget does not cover the leaves, or no budget could.
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
            f"{what}, rows shared out among the trees", mechanism, 1, rate, max(len(counts), 1), "parallel", part=part
        )
    return rate
