"""Friedman and Schuster's tree as published: its scores, the law of a cut, when it stops, and what it costs."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from dpforest import Domain, Feature
from reproduce.friedman_schuster import PublishedTree, score

NUMBER = Feature("x", "numeric", low=0, high=100)
LETTER = Feature("a", "categorical", categories=("p", "q", "r"))


def domain(*features):
    return Domain(features, classes=("no", "yes"), label="y")


@pytest.mark.parametrize(("criterion", "golden"), [("max", 7.0), ("gini", -1.5), ("entropy", -3.245112)])
def test_scores(criterion, golden):
    """Children (4, 0) and (1, 3), by hand: 4 + 3; 4 (1 - 1/16 - 9/16); 4 H(1/4)."""
    assert score(np.array([[[4.0, 0.0], [1.0, 3.0]]]), criterion)[0] == pytest.approx(golden)


@pytest.mark.parametrize("criterion", ["max", "gini", "entropy"])
def test_no_row_moves_a_score_by_more_than_its_sensitivity(criterion):
    generator = np.random.default_rng(0)
    tree = PublishedTree(domain(NUMBER), criterion=criterion)
    for _ in range(300):
        table = generator.integers(0, 6, (3, 2)).astype(float)
        more = table.copy()
        more[generator.integers(3), generator.integers(2)] += 1
        moved = abs(score(more[None], criterion)[0] - score(table[None], criterion)[0])
        assert moved <= tree.sensitivity(int(table.sum())) + 1e-9


def test_answers_on_a_path_share_epsilon():
    """Two numbers and a category, five levels: (2 + 2) 5 + 2 answers; without numbers 2 (5 + 1)."""
    other = Feature("z", "numeric", low=0, high=1)
    assert PublishedTree(domain(NUMBER, other, LETTER), epsilon=1.1).share == pytest.approx(1.1 / 22)
    assert PublishedTree(domain(LETTER), epsilon=1.2).share == pytest.approx(1.2 / 12)


def test_a_cut_is_drawn_by_score_and_room():
    """Chi-square of 4,000 cuts over the three parts that two values make; false alarms 1e-6."""
    tree = PublishedTree(domain(NUMBER), epsilon=40.0, depth=1)
    tree._codes, tree._y = np.array([[10], [10], [10], [40], [40]]), np.array([0, 0, 0, 1, 1])
    tree._generator = np.random.default_rng(1)
    top = tree.domain.features[0].n_codes - 1
    cuts = np.array([tree._cut(np.arange(5), 0, (0, top)) for _ in range(4_000)])
    room, right = np.array([10, 30, top - 40]), np.array([3, 5, 3])
    law = room * np.exp(tree.share * (right - 5) / 2)
    found = np.histogram(cuts, [0, 10, 40, top])[0]
    assert found.sum() == 4_000
    assert chisquare(found, 4_000 * law / law.sum()).pvalue > 1e-6


def test_it_stops_where_noise_drowns_the_count_and_not_before():
    generator = np.random.default_rng(2)
    x = generator.uniform(0, 100, 2_000)
    frame, label = pd.DataFrame({"x": x}), np.where(x > 50, "yes", "no")
    poor = PublishedTree(domain(NUMBER), epsilon=0.001).fit(frame, label)
    rich = PublishedTree(domain(NUMBER), epsilon=100.0).fit(frame, label)
    assert not poor.root.children
    assert (rich.predict(frame) == label).mean() > 0.99


def test_a_category_is_asked_once_on_a_path():
    frame = pd.DataFrame({"a": ["p", "q", "r"] * 500})
    tree = PublishedTree(domain(LETTER), epsilon=50.0).fit(frame, np.where(frame.a == "q", "yes", "no"))
    assert len(tree.root.children) == 3 and not any(child.children for child in tree.root.children)
    assert tree.predict(frame.iloc[:3]).tolist() == ["no", "yes", "no"]


def test_a_gain_ratio_is_refused():
    with pytest.raises(ValueError, match="criterion='gain ratio' is not one of max, gini, entropy"):
        PublishedTree(domain(LETTER), criterion="gain ratio")
