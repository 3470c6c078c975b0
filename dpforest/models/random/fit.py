"""From a spec and a table to a forest: grow, share out, count, release."""

from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.models.random.spec import ForestSpec, true_labels
from dpforest.privacy import published, release, simulators
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.tables.domain import Domain
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
    counted: np.ndarray | int = 0,
) -> tuple[Trees, LabelLeaves | CountLeaves]:
    """Trees of one forest, and what its leaves release.

    Counts and the rows' trees live in here only and are gone when it returns.

    Parameters
    ----------
    y : int32 array of shape (n,)
        Class indices.
    epsilon : Fraction or None
    ledger : Ledger
        In which the preparation is paid for.
    source : SecretSource or DemoSource
    row_ids : int64 array of shape (n,)
        What names a row in a demo, so that leaving one out moves no other.
    scale : ReleasedScale, optional
    counted : int64 array of shape (n_leaves, n_classes), or 0
        Counts of further rows, which were counted before, in the same way.
    """
    is_release = epsilon is not None and not spec.as_published
    if is_release:
        check_domain(domain)
    trees = spec.grow(domain, structure_seed, scale, to_file=is_release)
    tree_of_row = rows_to_trees(spec, row_ids, source)
    counts = count_kept_rows(trees, domain, X, y, tree_of_row, n_jobs=n_jobs)
    if np.shape(counted) not in ((), counts.shape):
        raise ValueError("The counts are not those of the leaves of this forest; count the rows with it.")
    counts += counted

    if epsilon is not None and is_release:
        values = _release(spec, counts, epsilon, ledger, source)
    elif epsilon is None:
        ledger.charge("exact counts of every leaf", "none", 1, None, 1, "sequential")
        values = counts if spec.releases_counts else true_labels(counts, structure_seed)
    else:
        ledger.charge("every leaf, as published", spec.mechanism, 1, None, 1, "sequential")
        values = simulate_values(spec, counts, epsilon, _demo(source).seed)
    return trees, spec.leaves(values, epsilon)


def rows_to_trees(spec: ForestSpec, row_ids: np.ndarray, source: SecretSource | DemoSource) -> np.ndarray | None:
    """The tree of each row, int32 (n,), -1 for a row left out; None where every row is in every tree."""
    if spec.partition == "shared":
        return None
    if spec.partition == "blocks":
        return published.deal_blocks(len(row_ids), spec.n_trees, _demo(source).seed)
    return release.assign_rows(row_ids, spec.n_trees, source)


def count_kept_rows(
    trees: Trees, domain: Domain, X: Any, y: np.ndarray, tree_of_row: np.ndarray | None, *, n_jobs: int
) -> np.ndarray:
    """`count_rows`, without the rows that a partition leaves out (tree -1). Curator only."""
    if tree_of_row is not None and tree_of_row.min(initial=0) < 0:
        kept = np.flatnonzero(tree_of_row >= 0)
        X, y, tree_of_row = X.iloc[kept] if hasattr(X, "iloc") else X[kept], y[kept], tree_of_row[kept]
    return count_rows(trees, domain, X, y, n_classes=domain.n_classes, tree_of_row=tree_of_row, n_jobs=n_jobs)


def _release(spec: ForestSpec, counts: np.ndarray, epsilon: Fraction, ledger: Ledger, source) -> np.ndarray:
    how = {
        "epsilon": spec.leaf_epsilon(epsilon),
        "n_trees": spec.n_trees,
        "partition": spec.partition,
        "neighbors": spec.neighbors,
        "ledger": ledger,
        "source": source,
    }
    if spec.releases_counts:
        values = release.release_counts(counts, **how)
    else:
        values = release.release_labels(counts, mechanism=spec.mechanism, **how)
    return values


def simulate_values(
    spec: ForestSpec, counts: np.ndarray, epsilon: Fraction, seed: int, *, leaves: np.ndarray | None = None
) -> np.ndarray:
    """What a release from these counts may look like: labels (n_leaves,) or counts (n_leaves, n_classes).

    Drawn in floating point from a seed. For the published mechanisms this is all there is; for the certified ones it
    is a picture of the release, whose own noise comes from exact samplers. Where `counts` are those of some leaves
    only, `leaves` are their numbers.
    """
    if spec.mechanism == "discrete-laplace":
        return simulators.simulate_noisy_counts(counts, 1 / spec.leaf_rate(epsilon), seed, leaves=leaves)
    if spec.mechanism == "continuous-laplace":
        return simulators.simulate_laplace(counts, 1 / spec.leaf_rate(epsilon), seed, leaves=leaves)
    return simulators.simulate_labels(counts, spec.mechanism, spec.leaf_rate(epsilon), seed, leaves=leaves)


def _demo(source: SecretSource | DemoSource) -> DemoSource:
    """Published mechanisms are simulated; without a seed they get a fresh one that nobody keeps."""
    return source if isinstance(source, DemoSource) else DemoSource(int(source.words(1)[0]))
