"""With a unit of privacy, a simulated release counts the persons and the rows in each leaf."""

from dataclasses import replace

import numpy as np
import pytest

import dpforest
from dpforest.simulation.splits import Split, split_table
from dpforest.simulation.sweep import simulation_for
from dpforest.simulation.views import ForestView
from dpforest.tables.domain import Domain
from dpforest.trees.layout import LEAF
from dpforest.trees.routing import leaves_of_rows
from tests.conftest import public_domain

ALL_ROWS = [
    dpforest.RandomDecisionForestClassifier(n_estimators=3, max_depth=2),
    dpforest.FriedmanSchusterClassifier(max_depth=2),
    dpforest.BoostedForestClassifier(n_estimators=3, max_depth=2, n_bound=1_000),
    dpforest.RandomTreeBoosterClassifier(n_estimators=3, max_depth=2),
]
SOME_ROWS = [  # forests in which a random draw decides which rows are in the leaves of a tree
    dpforest.MajorityLabelForestClassifier(n_estimators=3, max_depth=2),
    dpforest.MultinomialForestClassifier(n_estimators=3, max_depth=2),
    dpforest.MultinomialForestClassifier(n_estimators=3, max_depth=2, partition="shared"),
]


def rows_of(n_rows: np.ndarray, unit: str | None = "person") -> tuple[Domain, Split]:
    """Return a domain, and a split of random rows. `n_rows` holds the number of rows of each person."""
    domain = replace(public_domain(None, None), unit=unit)
    person = np.repeat(np.arange(len(n_rows)), n_rows)
    X = np.random.default_rng(0).uniform(0, 1, (len(person), 2))
    y = np.array(domain.classes)[(X[:, 0] > 0.5).astype(int)]
    return domain, split_table(domain, X, y, groups=person if unit else None)


def view_of(forest, domain: Domain, split: Split) -> ForestView:
    return simulation_for(forest, domain, split).view(2.0)


@pytest.mark.parametrize("forest", ALL_ROWS, ids=lambda f: type(f).__name__)
def test_rows_in_leaves_are_those_that_trees_route_there(forest):
    domain, split = rows_of(np.arange(100) % 4 + 1)
    view = view_of(forest, domain, split)
    leaves = leaves_of_rows(view.trees, domain, split.X_train)
    assert np.array_equal(view.n_rows, np.bincount(leaves.ravel(), minlength=view.trees.n_leaves))
    weights = np.tile(split.units.weight / 1024, len(leaves))
    assert np.allclose(view.n_counted, np.bincount(leaves.ravel(), weights, minlength=view.trees.n_leaves))
    assert view.n_rows.sum() == view.trees.n_trees * len(split.y_train) > view.n_counted.sum()
    assert view.counted == "persons"


@pytest.mark.parametrize("forest", SOME_ROWS, ids=lambda f: f"{type(f).__name__} {f.partition}")
def test_each_leaf_has_four_rows_a_person_if_all_persons_have_four(forest):
    """The engine counts persons in leaves, and the simulation counts their rows, so the ratio must be four."""
    domain, split = rows_of(np.full(100, 4))
    view = view_of(forest, domain, split)
    assert view.n_rows.dtype == np.int64 and (view.n_rows > 0).any()
    assert np.array_equal(view.n_rows, 4 * view.n_counted)


def test_nodes_have_the_rows_of_their_leaves_and_gaps_are_in_persons():
    domain, split = rows_of(np.arange(100) % 4 + 1)
    view = view_of(ALL_ROWS[0], domain, split)
    table = view.nodes(1)
    leaves = slice(*view.trees.leaf_start[1:3])
    assert table.n_rows[0] == len(split.y_train) and (table.n_rows[1:3] > 0).all()
    assert np.array_equal(table.n_rows[table.trees.kind == LEAF], view.n_rows[leaves])
    low, high = np.sort(view.counts, axis=1).T
    assert np.allclose(view.gap, high - low) and view.gap.max() < len(split.y_train)


def test_without_a_unit_rows_are_counted():
    domain, split = rows_of(np.full(50, 2), unit=None)
    view = view_of(ALL_ROWS[0], domain, split)
    assert view.counted == "rows" and view.rows_of_persons is None
    assert np.array_equal(view.n_rows, view.counts.sum(axis=1))
    assert np.array_equal(view.nodes(0).n_rows, view.nodes(0).counts.sum(axis=1))
