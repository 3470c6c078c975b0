"""The small trees next to the chart of Explore: the path of a record, and the vote of each tree on the record."""

import json

import numpy as np
import pytest

from dpforest import (
    BoostedForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomTreeBoosterClassifier,
    load_dataset,
)
from dpforest.plotting.small_trees import DEEPEST, MOST_TREES, small_trees
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import simulation_for

KINDS = [
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomTreeBoosterClassifier,
    BoostedForestClassifier,
]


def simulated(kind, name="nursery", **parameters):
    data = load_dataset(name)
    split = split_table(data.domain, data.X, data.y)
    return simulation_for(kind(**parameters), data.domain, split).view(1.0), split.X_test[7]


@pytest.mark.parametrize("kind", KINDS)
def test_each_path_runs_from_the_root_along_parents(kind):
    view, codes = simulated(kind)
    drawn = small_trees(view, codes)
    assert json.loads(json.dumps(drawn, allow_nan=False)) == drawn
    assert len(drawn["trees"]) == min(view.trees.n_trees, MOST_TREES)
    for tree, small in enumerate(drawn["trees"]):
        whole, nodes, path = view.path(tree, codes), small["nodes"], small["path"]
        assert path[0] == 0 and nodes[0][1:] == [0, -1] and len(path) == min(len(whole), DEEPEST + 1)
        assert all(nodes[child][2] == parent for parent, child in zip(path, path[1:], strict=False))
        assert all(0 <= x <= 99 and level <= DEEPEST for x, level, _ in nodes)


def test_votes_are_the_released_labels_of_the_leaves_that_the_row_reaches():
    view, codes = simulated(MajorityLabelForestClassifier, n_estimators=40)
    drawn = small_trees(view, codes)
    labels = []
    for tree in range(40):
        leaf = view.path(tree, codes)[-1]
        labels.append(int(view.nodes(tree).label[leaf]))
    assert [small["label"] for small in drawn["trees"]] == labels[:MOST_TREES]
    assert drawn["votes"] == np.bincount(labels, minlength=5).tolist() and sum(drawn["votes"]) == 40
    assert not any(small["added"] for small in drawn["trees"])


@pytest.mark.parametrize("kind", KINDS[2:])
def test_trees_of_a_booster_add_to_a_score_and_have_no_votes(kind):
    view, codes = simulated(kind)
    drawn = small_trees(view, codes)
    assert drawn["votes"] == []
    for small in drawn["trees"]:
        assert small["label"] >= 0 or float(small["added"]) <= 0
