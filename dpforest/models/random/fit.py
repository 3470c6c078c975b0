"""From a spec and a table to a forest: grow, share out, count, release."""

from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.models.assemble import assemble
from dpforest.models.preparation import charge_preparation
from dpforest.models.random.spec import ForestSpec, true_labels
from dpforest.privacy import published, release, simulators
from dpforest.privacy.certificate import Certificate, certify
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest
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
    about: dict[str, Any],
    scale: ReleasedScale | None = None,
    counted: np.ndarray | int = 0,
) -> Forest:
    """Fit one forest. Counts and the rows' trees live in here only and are gone when it returns.

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
    certificate = _certificate(spec, domain, ledger, source, epsilon)
    leaves: CountLeaves | LabelLeaves = LabelLeaves(values)
    if spec.releases_counts:
        leaves = CountLeaves(values, spec.voting, spec.negative_rule, spec.log_odds(epsilon, values))
    return assemble(
        trees,
        domain,
        leaves,
        certificate=certificate,
        ledger=ledger,
        about=about,
        seed=structure_seed,
        scale=scale,
    )


def preview(
    spec: ForestSpec, domain: Domain, *, epsilon: Fraction | None, structure_seed: int, random_state: int | None
) -> tuple[Certificate, Ledger]:
    """Certificate and ledger of a release, from public knowledge: those of an empty table."""
    source = source_for(random_state)
    is_release = epsilon is not None and not spec.as_published
    ledger = Ledger(epsilon if is_release else None, spec.neighbors)
    if epsilon is not None and is_release:
        check_domain(domain)
        charge_preparation(domain, spec.preparation, ledger)
        trees = spec.grow(domain, structure_seed, to_file=True)
        _release(spec, np.zeros((trees.n_leaves, domain.n_classes), np.int64), epsilon, ledger, DemoSource(0))
    return _certificate(spec, domain, ledger, source, epsilon), ledger


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
    ledger.close()
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


def _certificate(spec: ForestSpec, domain: Domain, ledger: Ledger, source, epsilon: Fraction | None) -> Certificate:
    reasons = [*domain.leaks(), *source.reasons()] if epsilon is not None else []
    if epsilon is not None and spec.as_published:
        reasons = [*published.reasons(spec, domain.n_classes, epsilon), *spec.departures, *reasons]
    return certify(
        ledger,
        mechanism=f"{spec.mechanism} on {spec.n_trees} trees of depth {spec.depth}, rows {_PARTITIONS[spec.partition]}",
        assumptions=[*spec.assumptions, *domain.assumptions()],
        reasons=reasons,
        nominal_epsilon=epsilon,
    )


_PARTITIONS = {
    "independent": "shared out among the trees by independent draws",
    "shared": "all in every tree",
    "blocks": "shared out among the trees in equal blocks",
}
