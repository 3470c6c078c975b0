"""Voting by log-odds: stored values, the limited influence of noise and of empty leaves, and files."""

import numpy as np
import pytest

from dpforest import RandomDecisionForestClassifier, load_dataset
from dpforest.trees.forest import ReleasedForest
from dpforest.voting import LogOdds, log_odds_scores, softmax

COUNTS = np.array([[40, 3], [0, -2], [12, 15], [5, 6]])
GOLDEN = {
    1_000.0: [[-0.52478, -1.882138], [-0.701949, -0.684422]],
    100.0: [[-0.459469, -1.708241], [-0.567475, -0.836914]],
}


@pytest.mark.parametrize("signal", GOLDEN)
def test_scores_match_golden_values(signal):
    """Scores match stored values, for two rows in different leaves of two trees, with noise of scale 4."""
    how = LogOdds.of_signal(4.0, signal)
    prior = how.prior(COUNTS)
    evidence = how.evidence(COUNTS, prior)
    scores = log_odds_scores(np.stack([evidence[0] + evidence[2], evidence[1] + evidence[3]]), prior, 2)
    assert scores == pytest.approx(np.array(GOLDEN[signal]), abs=1e-6)
    assert softmax(scores).sum(axis=1) == pytest.approx(1)
    assert (softmax(scores).argmax(axis=1) == scores.argmax(axis=1)).all()


def test_an_empty_leaf_adds_nothing():
    how = LogOdds(2.0, 1.0)
    prior = how.prior(np.array([[30, 10], [-3, 0], [0, 0]]))
    assert how.evidence(np.array([[-3, 0], [0, -9]]), prior) == pytest.approx(0)
    assert LogOdds.of_signal(0.0, np.inf).prior_weight == 0.5


def test_no_leaf_can_outvote_all_others():
    """No leaf can outvote all others, because a share of 0 counts as 1e-4."""
    how = LogOdds(0.0, 1e-9)
    prior = np.array([0.5, 0.5])
    assert how.evidence(np.array([[10**6, 0]]), prior).min() == pytest.approx(np.log(1e-4 / 0.5))


@pytest.mark.parametrize("settings", [{}, {"epsilon": None}, {"mode": "as_published"}, {"neighbors": "replace-one"}])
def test_a_forest_and_its_file_predict_by_log_odds(settings):
    data = load_dataset("nursery")
    model = RandomDecisionForestClassifier(domain=data.domain, voting="log-odds", random_state=0, **settings)
    model.fit(data.X, data.y)
    shares = model.predict_proba(data.X)
    assert shares.sum(axis=1) == pytest.approx(1) and model.score(data.X, data.y) > 0.5
    assert (np.asarray(data.domain.classes)[shares.argmax(axis=1)] == model.predict(data.X)).all()
    if isinstance(model.forest_, ReleasedForest):
        again = ReleasedForest.from_json(model.forest_.to_json(uncertified=True))
        assert again.leaves.log_odds == model.forest_.leaves.log_odds
        assert np.array_equal(again.class_shares(data.X), shares)


def test_log_odds_help_a_rare_class():
    """On Adult, voting by log-odds has an accuracy of about .81, and thresholds on the same counts about .775."""
    data = load_dataset("adult")
    scores = [
        RandomDecisionForestClassifier(domain=data.domain, voting=voting, random_state=0)
        .fit(data.X, data.y)
        .score(data.X, data.y)
        for voting in ("threshold", "log-odds")
    ]
    assert scores[1] > scores[0] + 0.02
