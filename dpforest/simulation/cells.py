"""Cells of a grid of depths and numbers of trees, and the privacy loss that a certificate would state for each cell."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeVar

from sklearn.base import clone

from dpforest.models.base import ForestClassifier
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.privacy.rationals import float_up
from dpforest.tables.domain import Domain

Classifier = TypeVar("Classifier", bound=ForestClassifier)


def cells_of(
    forest: ForestClassifier, depths: Iterable[int] | None, trees: Iterable[int] | None
) -> list[tuple[int | None, int | None]]:
    """Return depth and number of trees of each cell. None means that the forest keeps its parameter.

    Parameters
    ----------
    forest : ForestClassifier
        Forest whose parameters decide which axes the grid has.
    depths : iterable of int, optional
        Depths of the grid. Ignored if the forest has no `max_depth`.
    trees : iterable of int, optional
        Numbers of trees of the grid. Ignored if the forest has no `n_estimators`.

    Returns
    -------
    list of (int or None, int or None)
        One pair for each cell, sorted by depth and then by number of trees.
    """
    parameters = forest.get_params()
    grid_depths = sorted(set(depths)) if depths is not None and "max_depth" in parameters else [None]
    grid_trees = sorted(set(trees)) if trees is not None and "n_estimators" in parameters else [None]
    return [(d, t) for d in grid_depths for t in grid_trees]


def at_cell(forest: Classifier, depth: int | None, trees: int | None) -> Classifier:
    """Return a clone of a forest with the depth and the number of trees of a cell."""
    settings = {"max_depth": depth, "n_estimators": trees}
    return clone(forest).set_params(**{k: v for k, v in settings.items() if v is not None})


def planned_rows(forest: ForestClassifier, n_labeled: int, n_given: int) -> int:
    """Return the number of rows from which a simulated release plans its depth and number of trees.

    A release plans from the number of all rows if this number is public. If it is private (in a certified release, if
    neighbors differ by adding or removing a row), the release plans from a noisy count of the rows whose label is one
    of the domain's classes.

    Parameters
    ----------
    forest : ForestClassifier
        Forest that is released.
    n_labeled : int
        Number of rows whose label is one of the domain's classes.
    n_given : int
        Number of all rows of the table.

    Returns
    -------
    int
        `n_labeled` if the number of rows is private, otherwise `n_given`.
    """
    return n_labeled if forest.mode == "certified" and forest.neighbors == ADD_REMOVE else n_given


def promises_of(
    forest: ForestClassifier,
    domain: Domain,
    epsilons: list[float],
    cells: list[tuple[int | None, int | None]],
    n_rows: int,
) -> dict[tuple, tuple[bool, float]]:
    """Return for each ε and cell whether a release would be certified, and its privacy loss.

    Parameters
    ----------
    forest : ForestClassifier
        Forest to release. Parameters other than ε, depth and number of trees are the same in all cells.
    domain : Domain
        Public schema of the table.
    epsilons : list of float
        Budgets, each above 0.
    cells : list of (int or None, int or None)
        Result of `cells_of`.
    n_rows : int
        Number of fitted rows, which `ForestClassifier.preview` receives.

    Returns
    -------
    dict from (ε, depth, trees) to (bool, float)
        Whether the release would be certified, and the loss, rounded up. The loss is ∞ if no bound is known.
    """
    # The loss of a certified forest does not depend on its number of trees, so a preview with one tree gives it.
    promises, known_losses = {}, dict[tuple, Fraction | None]()
    for depth, trees in cells:
        for epsilon in epsilons:
            n_trees = 1 if forest.mode == "certified" and trees is not None else trees
            if (key := (epsilon, depth, n_trees)) not in known_losses:
                model = at_cell(forest, depth, n_trees).set_params(domain=domain, epsilon=epsilon, random_state=None)
                known_losses[key] = model.preview(domain, n_rows)[0].loss
            loss = known_losses[key]
            promises[epsilon, depth, trees] = (False, math.inf) if loss is None else (True, float_up(loss))
    return promises
