"""Theorems on votes against stored values, simulation and enumeration, and two figures of the page Theory."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from dpforest import load_dataset
from dpforest.losses import m_alpha
from dpforest.models.depth_rules import untested_features
from dpforest.simulation.splits import split_table
from dpforest.tables.rows import read_rows
from dpforest.theory.boosting_bounds import RULES, error_after_trees, trees_for_error
from dpforest.theory.brute_force import drawn_untested, largest_move
from dpforest.theory.measurements import empty_leaves_at, right_tree_counts, root_edge
from dpforest.theory.multinomial import levels_to_halve, side_left
from dpforest.theory.votes import (
    average_bound,
    empty_share,
    even_vote_right,
    majority_bound,
    private_error_bound,
    proof_probability,
    rows_to_prove,
    trees_to_beat,
    vote_right,
    vote_slack,
)
from ui.learn.theory_numbers import rounded

DATA = json.loads((Path(__file__).parents[2] / "data" / "theory.json").read_text(encoding="utf-8"))


def test_votes_of_random_trees():
    assert majority_bound(0.1, 0.1) == pytest.approx(0.25) and average_bound(0.1, 0.1) == pytest.approx(0.45)
    slacks = [round(vote_slack(k, 1372, 1 - 1 / 1372), 3) for k in (50, 101, 200, 500, 1000)]
    assert slacks == [0.38, 0.267, 0.19, 0.12, 0.085]
    assert math.isinf(majority_bound(0.01, 0.5))


@pytest.mark.parametrize(("error", "tree_error", "rows"), [(0.482, 0.143, 5686), (0.346, 0.073, 489), (0.5, 0.2, 50)])
def test_trees_to_beat_is_the_least(error, tree_error, rows):
    k = trees_to_beat(error, tree_error, rows)
    assert (
        majority_bound(tree_error, vote_slack(k, rows)) < error <= majority_bound(tree_error, vote_slack(k - 1, rows))
    )


def test_a_vote_is_never_bounded_below_twice_a_trees_error():
    assert trees_to_beat(0.2, 0.1, 100) is None
    assert majority_bound(0.1, vote_slack(10**9, 100)) > 0.2


def test_bounds_hold_for_the_stored_measurements():
    for measured in (table["goodness"] for table in DATA["tables"].values() if "goodness" in table):
        counts = np.array(measured["rows_by_trees_right"])
        goodness = np.arange(len(counts)) / (len(counts) - 1)
        for k, error in measured["vote_error"].items():
            d = vote_slack(int(k), measured["rows"])
            if d < 0.5:
                sharper = counts[goodness < 0.5 + d].sum() / counts.sum()
                assert error <= sharper <= majority_bound(1 - (goodness * counts).sum() / counts.sum(), d)


def test_each_table_has_one_guessing_rate():
    """All metrics on training rows use the same rows, so the page Theory states one guessing rate for each table."""
    for name, measured in DATA["tables"].items():
        assert len({measured[m]["guessing"] for m in ("goodness", "boosted") if m in measured}) <= 1, name
    assert sum("goodness" in measured for measured in DATA["tables"].values()) >= 8


def test_the_private_proof():
    assert [f"{max(proof_probability(n, k, 3, 0.3, 10, 1.0) for k in (51, 521, 2001)):.3g}" for n in (1e7, 1e8)] == [
        "0.989",
        "1",
    ]
    assert rows_to_prove(range(50, 3000, 3), 3, 0.3, 10, 1.0, 0.9) == pytest.approx(7.39e6, rel=1e-3)
    first = rows_to_prove([521], 3, 0.3, 10, 1.0)
    before, after = (proof_probability(first * by, 521, 3, 0.3, 10, 1.0) for by in (0.999, 1.001))
    assert before < 0 < after
    assert rows_to_prove([11], 3, 0.3, 10, 1.0) is None
    assert private_error_bound(0.0, 0.1, 40) == pytest.approx(0.0625) and private_error_bound(0.0, 0.3, 10) >= 0.5


def test_empty_leaves_are_as_many_as_drawing_leaves_empty():
    q, n, k = np.array([0.6, 0.3, 0.09, 0.01]), 200, 10
    rng = np.random.default_rng(0)
    mine = rng.binomial(n, 1 / k, 20_000)
    simulated = np.mean([(rng.multinomial(rows, q) == 0).mean() for rows in mine])
    assert empty_share(q / k, n) == pytest.approx(simulated, abs=0.005)


def test_a_vote_is_right_as_often_as_when_it_is_held():
    chances = np.array([0.9, 0.6, 0.55, 0.3])
    votes = (np.random.default_rng(0).random((200_000, 4)) < chances).mean(axis=1)
    assert vote_right(chances) == pytest.approx((votes > 0.5).mean() + (votes == 0.5).mean() / 2, abs=0.004)
    for n in (1, 2, 10, 101):
        assert even_vote_right(0.6, n) == pytest.approx(vote_right(np.full(n, 0.6)))


@pytest.mark.parametrize(("features", "depth"), [(10, 7), (5, 5), (30, 21)])
def test_untested_features_are_as_many_as_drawn_paths_leave(features, depth):
    assert drawn_untested(features, depth, 20_000) == pytest.approx(untested_features(features, depth), abs=0.05)


def test_consistency():
    assert [levels_to_halve(10, b, b) for b in (0, 1, 10)] == [63, 142, 827_846]
    assert side_left(63, 10, 0, 0) <= 0.5 < side_left(62, 10, 0, 0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("weight", [0.5, 0.2])
def test_error_after_trees_inverts_the_number_of_trees(rule, weight):
    k = trees_for_error(0.3, 0.5, 0.1, rule, mean_weight=weight)
    after, before = (error_after_trees(0.3, 0.5, n, rule, weight) for n in (k, k - 1))
    assert after <= 0.1 + 1e-12 and before > 0.1 + 1e-12


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [2, 3, 60])
def test_the_largest_change_by_a_row_agrees_with_trying_all_leaves(alpha, n):
    assert largest_move(alpha, n) == pytest.approx(float(m_alpha(alpha).sensitivity(n)), abs=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: majority_bound(0.6, 0.1),
        lambda: vote_slack(0, 10),
        lambda: vote_slack(10, 10, 1.0),
        lambda: proof_probability(100, 10, 3, 0.5, 10, 1.0),
        lambda: empty_share([1.2], 3),
        lambda: vote_right([-0.1]),
        lambda: side_left(-1, 3, 0, 0),
        lambda: error_after_trees(0.5, 1.0, 3, "guessed"),
    ],
)
def test_inputs_outside_of_every_theorem_are_refused(wrong):
    with pytest.raises(ValueError):
        wrong()


def test_two_stored_measurements_are_reproduced():
    def rows(name):
        data = load_dataset(name)
        domain = data.domain.on_scale("linear")
        return domain, split_table(domain, data.X, data.y)

    measured = DATA["tables"]
    domain, _ = rows("breast_wisconsin")
    data = load_dataset("breast_wisconsin")
    read = read_rows(domain, data.X, data.y)
    assert rounded(right_tree_counts(domain, read.codes, read.y)) == measured["breast_wisconsin"]["goodness"]
    assert rounded(root_edge(domain, read.codes, read.y)) == measured["breast_wisconsin"]["root_edge"]
    tests = [column > cut for column in read.codes.T for cut in np.unique(column)]
    right = [np.array([side[read.y == c].mean() for c in (0, 1)]) for side in tests]
    assert max(abs(a - b) for a, b in right) == pytest.approx(
        measured["breast_wisconsin"]["root_edge"]["edge"], abs=1e-6
    )
    assert rounded(empty_leaves_at(*rows("nursery"), 4, 100)) == measured["nursery"]["empty"]["4"]["100"]
