"""The data of the instrument (the chart of Explore): curves over ε, and a tree whose leaves have exact flip rates."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    RandomTreeBoosterClassifier,
    load_dataset,
)
from dpforest.plotting.instrument import MOST_ENDS, Curves, drawn_tree, line_of
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import simulation_for
from dpforest.trees.layout import LEAF

EPSILONS = [0.1, 1.0, 10.0]


def simulated(kind, name="nursery", **parameters):
    data = load_dataset(name)
    simulation = simulation_for(kind(**parameters), data.domain, split_table(data.domain, data.X, data.y))
    return simulation, simulation.view(1.0)


def test_a_line_has_means_spreads_and_shapes_and_none_where_nothing_is_simulated():
    rows = [
        {"epsilon": 0.1, "accuracy": 0.5, "balanced_accuracy": np.nan, "depth": 3, "trees": 7},
        {"epsilon": 0.1, "accuracy": 0.7, "balanced_accuracy": 0.4, "depth": 3, "trees": 9},
        {"epsilon": 10.0, "accuracy": 0.9, "balanced_accuracy": 0.8, "depth": 5, "trees": 9},
    ]
    line = line_of(rows, EPSILONS)
    assert line["mean"] == [0.6, None, 0.9] and line["spread"] == [0.14142, None, 0.0]
    assert line["depth"] == [3, None, 5] and line["trees"] == [7, None, 9], "a number that the forest can have"
    assert line_of(rows, EPSILONS, "balanced_accuracy")["mean"] == [0.4, None, 0.8]
    curves = Curves(EPSILONS, line, {4: line}).to_dict()
    assert json.loads(json.dumps(curves, allow_nan=False))["byDepth"] == {"4": line}


@pytest.mark.parametrize("kind", [MajorityLabelForestClassifier, RandomDecisionForestClassifier])
def test_flip_rates_at_the_present_epsilon_are_those_of_the_view(kind):
    simulation, view = simulated(kind)
    for tree in (0, view.trees.n_trees - 1):
        leaves = slice(*view.trees.leaf_start[tree : tree + 2])
        np.testing.assert_array_equal(simulation.flips_at(view, tree, 1.0, 1.0), view.flip[leaves])
        low, high = (np.nansum(simulation.flips_at(view, tree, 1.0, epsilon)) for epsilon in (0.1, 10.0))
        assert low > np.nansum(view.flip[leaves]) > high


def test_a_forest_fitted_at_each_epsilon_has_flip_rates_at_one_epsilon_only():
    simulation, view = simulated(FriedmanSchusterClassifier)
    assert simulation.flips_at(view, 0, 1.0, 2.0) is None
    tree = drawn_tree(view, 0, EPSILONS, lambda epsilon: view.flip if epsilon == 1.0 else None)
    rates = [node["flips"] for node in tree["nodes"] if node["flips"] is not None]
    assert rates and all(low is None and high is None for low, _, high in rates)


def test_nodes_of_persons_also_have_rows():
    """With a unit of privacy, rates are means over persons, and each node holds its numbers of persons and of rows."""
    data = load_dataset("nursery")
    domain, person = replace(data.domain, unit="person"), np.arange(len(data.y)) // 7
    split = split_table(domain, data.X, data.y, groups=person)
    simulation = simulation_for(MajorityLabelForestClassifier(max_depth=2, n_estimators=3), domain, split)
    view = simulation.view(1.0)
    nodes = drawn_tree(view, 1, EPSILONS, lambda epsilon: simulation.flips_at(view, 1, 1.0, epsilon))["nodes"]
    ends, leaves = [node for node in nodes if node["below"]], slice(*view.trees.leaf_start[1:3])
    assert nodes[0]["rows_of_persons"] == view.n_rows[leaves].sum() == sum(node["rows_of_persons"] for node in ends)
    assert 5 < nodes[0]["rows_of_persons"] / nodes[0]["rows"] <= 7.1
    drawn = sum(node["flips"][1] * node["rows"] for node in ends if node["rows"])
    assert drawn == pytest.approx(np.nansum(view.flip[leaves] * view.n_counted[leaves]), abs=0.01)


@pytest.mark.parametrize(("depth", "name"), [(2, "nursery"), (11, "nursery"), (3, "breast_wisconsin")])
def test_a_drawn_tree_is_the_tree_of_the_view(depth, name):
    simulation, view = simulated(MajorityLabelForestClassifier, name, max_depth=depth, n_estimators=3)
    picture = drawn_tree(view, 1, EPSILONS, lambda epsilon: simulation.flips_at(view, 1, 1.0, epsilon))
    json.dumps(picture, allow_nan=False)
    nodes, table = picture["nodes"], view.nodes(1)
    ends = [node for node in nodes if node["below"]]
    assert len(ends) <= MOST_ENDS and picture["depth"] == table.trees.level.max()
    assert sum(node["below"] for node in ends) == np.sum(table.trees.kind == LEAF)
    assert sum(node["rows"] for node in ends) == pytest.approx(table.counts[0].sum())
    assert {node["rows_of_persons"] for node in nodes} == {None}
    leaves = slice(*view.trees.leaf_start[1:3])
    for place in range(len(EPSILONS)):
        flips, rows = simulation.flips_at(view, 1, 1.0, EPSILONS[place]), view.n_rows[leaves]
        drawn = sum(node["flips"][place] * node["rows"] for node in ends if node["rows"])
        assert drawn == pytest.approx(np.nansum(flips * rows), abs=1e-5 * rows.sum())
    # Leaves cover the width from left to right without gaps, and each child lies below its parent.
    edges = sorted((node["left"], node["right"]) for node in ends)
    assert edges[0][0] == 0 and edges[-1][1] == 1
    assert all(right == left for (_, right), (left, _) in zip(edges, edges[1:], strict=False))
    for node in nodes[1:]:
        parent = nodes[node["parent"]]
        assert node["level"] == parent["level"] + 1
        assert parent["left"] <= node["left"] < node["right"] <= parent["right"]


def test_texts_of_a_tree_are_plain_and_show_what_would_be_invisible():
    """Texts are not escaped, because the page inserts them as text. Invisible direction marks are made visible."""
    data = load_dataset("nursery")
    codes, labels = data.domain.encode(data.X), data.y
    name = "<b>Tom & Jerry</b>\u202e"
    first = data.domain.features[0].to_dict() | {"name": name}
    domain = type(data.domain).from_dict(
        data.domain.to_dict() | {"features": [first, *(f.to_dict() for f in data.domain.features[1:])]}
    )
    X = data.X.rename(columns={data.domain.features[0].name: name})
    assert np.array_equal(domain.encode(X), codes)
    simulation = simulation_for(MajorityLabelForestClassifier(), domain, split_table(domain, X, labels))
    view = simulation.view(1.0)
    trees = (drawn_tree(view, tree, [1.0], lambda epsilon: None) for tree in range(view.trees.n_trees))
    texts = {node["asks"] for tree in trees for node in tree["nodes"]}
    assert any("<b>Tom & Jerry</b>\\u202e" in text for text in texts)


def test_leaves_of_a_booster_show_their_value_and_its_noise():
    _, view = simulated(RandomTreeBoosterClassifier, "breast_wisconsin", n_estimators=3, max_depth=2)
    picture = drawn_tree(view, 2, [1.0], lambda epsilon: None)
    values = [node["value"] for node in picture["nodes"] if node["below"]]
    assert view.added is not None
    added = view.added.leaf_scores[slice(*view.trees.leaf_start[2:4]), 1]
    assert values == [f"{value:+.2g} ± {view.added.noise:.2g}" for value in added]
    _, view = simulated(BoostedForestClassifier, "breast_wisconsin", n_estimators=2, max_depth=2)
    nodes = drawn_tree(view, 0, [1.0], lambda epsilon: None)["nodes"]
    assert all(re.match(r"[+-][\d.]+ ± [\d.]+$", node["value"]) for node in nodes if node["below"])
    _, view = simulated(FriedmanSchusterClassifier)
    assert {node["value"] for node in drawn_tree(view, 0, [1.0], lambda epsilon: None)["nodes"]} == {""}
