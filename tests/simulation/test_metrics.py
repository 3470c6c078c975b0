"""Metrics against those of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as reference

from dpforest.simulation.metrics import METRICS, auc, flipped_share, from_shares, from_votes


def votes_and_rows(n_trees: int, n: int, seed: int):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    v = rng.binomial(n_trees, 0.3 + 0.3 * y)
    histogram = np.zeros((n_trees + 1, 2), int)
    np.add.at(histogram, (v, y), 1)
    return histogram, v, y


@pytest.mark.parametrize("n_trees", [1, 2, 7, 100])
def test_metrics_of_two_classes_equal_those_of_scikit_learn(n_trees):
    histogram, v, y = votes_and_rows(n_trees, 500, n_trees)
    predicted = (2 * v > n_trees).astype(int)
    share = np.clip(v / n_trees, 0.5 / n_trees, 1 - 0.5 / n_trees)
    for positive in (0, 1):
        measures = from_votes(histogram, positive)
        assert tuple(measures) == METRICS
        assert measures["accuracy"] == pytest.approx(reference.accuracy_score(y, predicted))
        assert measures["balanced_accuracy"] == pytest.approx(reference.balanced_accuracy_score(y, predicted))
        assert measures["auc"] == pytest.approx(reference.roc_auc_score(y, v))
        assert measures["f1"] == pytest.approx(reference.f1_score(y, predicted, pos_label=positive))
        assert measures["log_loss"] == pytest.approx(reference.log_loss(y, share))


@pytest.mark.parametrize("n_trees", [2, 7, 100])
def test_metrics_of_a_histogram_and_of_rows_are_equal(n_trees):
    histogram, v, y = votes_and_rows(n_trees, 300, 5)
    shares = np.stack([n_trees - v, v], axis=1) / n_trees
    by_rows = from_shares(shares, y, shares.argmax(axis=1), step=0.5 / n_trees)
    for name, value in from_votes(np.stack([histogram, 2 * histogram])).items():
        assert value == pytest.approx([by_rows[name]] * 2)


def test_metrics_of_many_classes_equal_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    shares = rng.dirichlet(np.ones(4), 400)
    predicted = shares.argmax(axis=1)
    measures = from_shares(shares, y, predicted)
    assert measures["f1"] == pytest.approx(reference.f1_score(y, predicted, average="macro"))
    assert measures["balanced_accuracy"] == pytest.approx(reference.balanced_accuracy_score(y, predicted))
    assert measures["auc"] == pytest.approx(reference.roc_auc_score(y, shares, multi_class="ovr", average="macro"))
    assert measures["log_loss"] == pytest.approx(reference.log_loss(y, shares))


def test_the_calibration_error_is_the_error_of_the_shares():
    y = np.array([1] * 7 + [0] * 3)
    right, bold = np.tile([0.3, 0.7], (10, 1)), np.tile([0.1, 0.9], (10, 1))
    assert from_shares(right, y, np.ones(10, int))["calibration"] == pytest.approx(0)
    assert from_shares(bold, y, np.ones(10, int))["calibration"] == pytest.approx(0.2)


def test_classes_that_do_not_occur_leave_auc_undefined():
    assert np.isnan(auc(np.arange(3.0), np.ones(3, bool)))
    measures = from_votes(np.array([[4, 0], [1, 0]]))
    assert np.isnan(measures["auc"]) and measures["accuracy"] == pytest.approx(0.8) == measures["balanced_accuracy"]
    measures = from_shares(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 0]), np.array([0, 1]))
    assert np.isnan(measures["auc"]) and measures["balanced_accuracy"] == 0.5


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_if_no_leaf_holds_a_row_no_row_is_flipped(shape):
    flipped = flipped_share(np.zeros((0, 2)), np.zeros(shape, int))
    assert flipped.shape == shape[1:] and (flipped == 0).all()
