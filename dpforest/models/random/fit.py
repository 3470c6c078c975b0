"""Fit a forest from its plan and a table: grow trees, assign rows to trees, count rows in leaves, release leaves."""

from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.models.random.spec import ForestSpec, true_labels
from dpforest.privacy import published, release, simulators
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.tables.domain import Domain
from dpforest.tables.units import Units
from dpforest.trees.forest_schema import check_domain
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import CountLeaves, LabelLeaves
from dpforest.trees.released_scale import ReleasedScale
from dpforest.trees.routing import count_rows


def fit_forest(
    spec: ForestSpec,
    domain: Domain,
    X: Any,
    y: np.ndarray,
    *,
    epsilon: Fraction | None,
    ledger: Ledger,
    source: SecretSource | DemoSource,
    structure_seed: int,
    row_ids: np.ndarray,
    n_jobs: int,
    scale: ReleasedScale | None = None,
    further_counts: np.ndarray | int = 0,
    units: Units | None = None,
) -> tuple[Trees, LabelLeaves | CountLeaves]:
    """Grow the trees of a forest and release the values of its leaves.

    The exact counts and the tree of each row exist only inside this function.

    Parameters
    ----------
    spec : ForestSpec
        Plan of the forest.
    domain : Domain
        Public schema that encodes the rows.
    X : DataFrame, or uint16 array of shape (n, n_features)
        Raw rows, or their codes.
    y : int32 array of shape (n,)
        Class index of each row.
    epsilon : Fraction or None
        Budget of the whole fit; None without privacy.
    ledger : Ledger
        Ledger that already has the charges of the preparation. This function adds the charges of the leaves.
    source : SecretSource or DemoSource
        Source of all draws except the structure of the trees.
    structure_seed : int
        Public seed of the structure of the trees.
    row_ids : int64 array of shape (n,)
        Ids of the rows. In a demonstration (a fit with a seed), the draws of a row depend on its id. So if one row is
        removed, the draws of other rows do not change.
    n_jobs : int
        Number of threads; the result does not depend on it.
    scale : ReleasedScale, optional
        Released distribution of each numeric attribute, from which thresholds are drawn.
    further_counts : int64 array of shape (n_leaves, n_classes), or 0
        Counts of further rows, from `PartCounter`. They are added to the counts of `X` before the release.
    units : Units, optional
        Persons and weights of the rows, if the domain declares a unit.

    Returns
    -------
    trees : Trees
        The trees.
    leaves : LabelLeaves or CountLeaves
        Released values of the leaves; exact values without privacy.

    Raises
    ------
    ValueError
        If the forest is too large for a file, or if `further_counts` has another shape than the counts of `X`.
    """
    is_release = epsilon is not None and not spec.as_published
    if is_release:
        check_domain(domain)
    trees = spec.grow(domain, structure_seed, scale, to_file=is_release)
    tree_of_row = rows_to_trees(spec, row_ids, source, units)
    counts = count_kept_rows(trees, domain, X, y, tree_of_row, n_jobs=n_jobs, units=units)
    if np.shape(further_counts) not in ((), counts.shape):
        raise ValueError("The counts are not those of the leaves of this forest; count the rows with this forest.")
    counts += further_counts

    if epsilon is not None and is_release:
        values = _release(spec, counts, epsilon, ledger, source)
    elif epsilon is None:
        ledger.charge("exact counts of every leaf", "none", 1, None, 1, "sequential")
        values = counts if spec.releases_counts else true_labels(counts, structure_seed)
    else:
        ledger.charge("every leaf, as published", spec.mechanism, 1, None, 1, "sequential")
        values = simulate_values(spec, counts, epsilon, _demo_source(source).seed)
    return trees, spec.leaves(values, epsilon)


def rows_to_trees(
    spec: ForestSpec, row_ids: np.ndarray, source: SecretSource | DemoSource, units: Units | None = None
) -> np.ndarray | None:
    """Return the tree of each row, int32 (n,), or -1 for a dropped row. Return None if every row is in every tree."""
    if spec.partition == "shared":
        return None
    if spec.partition == "blocks":
        return published.assign_blocks(len(row_ids), spec.n_trees, _demo_source(source).seed)
    return release.assign_rows(row_ids, spec.n_trees, source, units=units)


def count_kept_rows(
    trees: Trees,
    domain: Domain,
    X: Any,
    y: np.ndarray,
    tree_of_row: np.ndarray | None,
    *,
    n_jobs: int,
    units: Units | None = None,
) -> np.ndarray:
    """Return the exact counts of `count_rows`, without the rows that a partition drops. For the curator only."""
    weight = None if units is None else units.weight
    if tree_of_row is not None and tree_of_row.min(initial=0) < 0:
        kept_rows = np.flatnonzero(tree_of_row >= 0)
        X, y, tree_of_row = (
            X.iloc[kept_rows] if hasattr(X, "iloc") else X[kept_rows],
            y[kept_rows],
            tree_of_row[kept_rows],
        )
        weight = None if weight is None else weight[kept_rows]
    return count_rows(
        trees, domain, X, y, n_classes=domain.n_classes, tree_of_row=tree_of_row, weight=weight, n_jobs=n_jobs
    )


def _release(spec: ForestSpec, counts: np.ndarray, epsilon: Fraction, ledger: Ledger, source) -> np.ndarray:
    """Charge the ledger, and return the released values of all leaves: labels, or noisy counts."""
    arguments = {
        "epsilon": spec.leaf_epsilon(epsilon),
        "n_trees": spec.n_trees,
        "partition": spec.partition,
        "neighbors": spec.neighbors,
        "ledger": ledger,
        "source": source,
        "count_unit": spec.count_unit,
    }
    if spec.releases_counts:
        values = release.release_counts(counts, **arguments)
    else:
        values = release.release_labels(counts, mechanism=spec.mechanism, **arguments)
    return values


def simulate_values(
    spec: ForestSpec, counts: np.ndarray, epsilon: Fraction, seed: int, *, leaves: np.ndarray | None = None
) -> np.ndarray:
    """Simulate a release from these counts: labels (n_leaves,) or counts (n_leaves, n_classes).

    The values are drawn in floating point from a seed. A fit in mode "as_published" has no other sampler. A certified
    release uses exact samplers instead of this function. If `counts` covers only some leaves, `leaves` holds the
    indices of these leaves.
    """
    rate = spec.leaf_rate(epsilon) / spec.count_unit
    if spec.mechanism == "discrete-laplace":
        return simulators.simulate_noisy_counts(counts, 1 / rate, seed, leaves=leaves)
    if spec.mechanism == "continuous-laplace":
        return simulators.simulate_laplace(counts, 1 / rate, seed, leaves=leaves)
    return simulators.simulate_labels(counts, spec.mechanism, rate, seed, leaves=leaves)


def _demo_source(source: SecretSource | DemoSource) -> DemoSource:
    """Return a source for draws that are never released. If `source` has no seed, the result has a fresh seed."""
    return source if isinstance(source, DemoSource) else DemoSource(int(source.words(1)[0]))
