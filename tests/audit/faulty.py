"""Small fits that release through dpforest/privacy/: a correct one, and one for each known kind of mistake."""

from fractions import Fraction

import numpy as np

from dpforest.audit.replay.tape import Table
from dpforest.privacy import release, samplers, selection
from dpforest.privacy.ledger import Ledger, QueryBudget
from dpforest.privacy.randomness import DemoSource, SecretSource

EPSILON = 1.0
N_TREES = 3


def count(trees: np.ndarray, y: np.ndarray, n_trees: int = N_TREES) -> np.ndarray:
    """Count the rows of each class in each tree of a single leaf; int64 of shape (n_trees, 2)."""
    counts = np.zeros((n_trees, 2), np.int64)
    np.add.at(counts, (trees, y), 1)
    return counts


def labels_of(counts: np.ndarray, source=None, epsilon: Fraction = Fraction(1)) -> np.ndarray:
    return release.release_labels(
        counts,
        mechanism="permute-and-flip",
        epsilon=epsilon,
        n_trees=len(counts),
        partition="independent",
        neighbors="add-remove",
        ledger=Ledger(epsilon, "add-remove"),
        source=source or SecretSource(),
    )


def query_budget(ledger: Ledger, what: str, epsilon: Fraction, times: int = 1):
    return ledger.charge(what, "any", 1, epsilon, times, "sequential")


def correct_fit(table: Table) -> dict:
    X, y = table
    trees = release.assign_rows(X.index.to_numpy(), N_TREES, SecretSource())
    return {"labels": labels_of(count(trees, y))}


def by_position(table: Table) -> dict:
    """Assign rows to trees by their order in the file, so that a missing row moves all later rows."""
    X, y = table
    trees = np.arange(len(y)) * N_TREES // len(y)
    return {"labels": labels_of(count(trees, y))}


def seeded(table: Table) -> dict:
    """Draw the noise from a public seed, which the trees' structure also uses."""
    X, y = table
    trees = release.assign_rows(X.index.to_numpy(), N_TREES, SecretSource())
    return {"labels": labels_of(count(trees, y), DemoSource(0))}


def same_noise_twice(table: Table) -> dict:
    """Add the noise of the first tree to the second tree as well."""
    X, y = table
    trees = release.assign_rows(X.index.to_numpy(), 2, SecretSource())
    counts, ledger = count(trees, y, 2), Ledger(Fraction(1), "add-remove")
    noisy = release.noisy_table(counts[:1], 1, query_budget(ledger, "counts", Fraction(1)), SecretSource())
    return {"first": noisy, "second": counts[1:] + (noisy - counts[:1])}


def values_of_rows_as_candidates(table: Table) -> dict:
    """Choose a threshold halfway between two values that occur in the rows."""
    X, y = table
    x = np.sort(X.iloc[:, 0].to_numpy())
    cuts = (x[1:] + x[:-1]) / 2
    below = np.array([[np.sum((x <= c) & (y == k)) for k in (0, 1)] for c in cuts])
    scores = np.abs(below[:, 0] - below[:, 1])[None, :]
    ledger = Ledger(Fraction(1), "add-remove")
    allowed = np.ones(scores.shape, bool)
    chosen = selection.choose(scores, allowed, 2, query_budget(ledger, "cut", Fraction(1)), SecretSource())
    return {"cut": cuts[chosen]}


def exact_stop(table: Table) -> dict:
    """Split the root only if the exact number of rows is at least 20."""
    X, y = table
    trees = np.zeros(len(y), int)
    if len(y) >= 20:
        trees = (X.iloc[:, 0].to_numpy() > 0.5).astype(int)
    return {"labels": labels_of(count(trees, y, 2))}


def exact_beta(table: Table) -> dict:
    """Add noise to the leaves, but compute the tree's coefficient in the sum of trees (beta) from exact counts."""
    X, y = table
    leaves = (X.iloc[:, 0].to_numpy() > 0.5).astype(int)
    counts, ledger = count(leaves, y, 2), Ledger(Fraction(1), "add-remove")
    noisy = release.noisy_table(counts, 1, query_budget(ledger, "leaves", Fraction(1)), SecretSource())
    values = np.sign(noisy[:, 1] - noisy[:, 0])
    beta = float(values @ (counts[:, 1] - counts[:, 0])) / 100
    return {"values": beta * values}


def exact_beta_for_weights(table: Table) -> dict:
    """Give the rows of a second tree an exact weight that depends on all rows."""
    X, y = table
    beta = np.clip(4 * np.mean(y) - 1.5, 0, 1)
    weight = np.full(len(y), round(1000 * beta))
    leaf_table, ledger = np.zeros((1, 2), np.int64), Ledger(Fraction(1), "add-remove")
    np.add.at(leaf_table, (0, y), weight)
    noisy = release.noisy_table(leaf_table, 1024, query_budget(ledger, "leaves", Fraction(1)), SecretSource())
    return {"values": noisy}


def only_leaves_with_rows(table: Table) -> dict:
    """Release labels of leaves with rows only, so that a row decides whether its leaf is released."""
    X, y = table
    leaves = np.minimum((X.iloc[:, 0].to_numpy() * 50).astype(int), 49)
    counts = count(leaves, y, 50)
    labels = labels_of(counts)
    return {"labels": {i: labels[i] for i in np.flatnonzero(counts.any(axis=1)).tolist()}}


def bounds_of_rows(table: Table) -> dict:
    """Take the range of an attribute from the rows."""
    X, y = table
    x = X.iloc[:, 0].to_numpy()
    middle = (x.min() + x.max()) / 2
    return {"cut": middle, "labels": labels_of(count((x > middle).astype(int), y, 2))}


def size_in_the_rate(table: Table) -> dict:
    """Draw labels at an ε that depends on the number of rows, although this number is private here."""
    X, y = table
    trees = release.assign_rows(X.index.to_numpy(), N_TREES, SecretSource())
    return {"labels": labels_of(count(trees, y), epsilon=Fraction(40, 40 + len(y)))}


def a_row_counts_twice(table: Table) -> dict:
    X, y = table
    trees = release.assign_rows(X.index.to_numpy(), N_TREES, SecretSource())
    return {"labels": labels_of(2 * count(trees, y))}


def two_trees_for_a_row(table: Table) -> dict:
    """Count every row in its tree and in the next tree, but charge the ledger for one tree."""
    X, y = table
    trees = release.assign_rows(X.index.to_numpy(), N_TREES, SecretSource())
    return {"labels": labels_of(count(trees, y) + count((trees + 1) % N_TREES, y))}


def unpaid(table: Table) -> dict:
    """Release counts with a query budget that no ledger has charged."""
    X, y = table
    counts = count(np.zeros(len(y), int), y, 1)
    return {"noisy": release.noisy_table(counts, 1, QueryBudget(Fraction(1, 50), 1), SecretSource())}


def direct_sampler_call(table: Table) -> dict:
    """Call the sampler directly, so that no sensitivity is declared and no budget is charged."""
    X, y = table
    counts = count(np.zeros(len(y), int), y, 1)
    return {"noisy": samplers.draw_noisy_counts(counts, Fraction(40), SecretSource())}


# For each faulty fit, the kinds of findings that a replay must report. It may report more.
FAULTS = {
    unpaid: {"unpaid"},
    direct_sampler_call: {"undeclared"},
    by_position: {"trees", "sensitivity", "loss"},
    seeded: {"source"},
    same_noise_twice: {"release"},
    values_of_rows_as_candidates: {"public"},
    exact_stop: {"branch"},
    exact_beta: {"release"},
    exact_beta_for_weights: {"sensitivity", "loss"},
    only_leaves_with_rows: {"release"},
    bounds_of_rows: {"release"},
    size_in_the_rate: {"public"},
    a_row_counts_twice: {"sensitivity", "loss"},
    two_trees_for_a_row: {"trees", "sensitivity", "loss"},
}
