"""The smallest sufficient ε: for known laws of accuracy, with valid lower bounds, and with held-out rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpforest.evaluation.smallest_epsilon import (
    CONFIDENCE,
    held_out_margin,
    releases_needed,
    share_at_least,
    smallest_epsilons,
)

EPSILONS = np.geomspace(0.01, 10, 18)


def pieces(reach: dict[str, np.ndarray], releases: int, seed: int = 0, n_test: int = 10**9) -> pd.DataFrame:
    """Return releases with accuracy 0.8 (with a known probability) or 0.6, and a model without privacy."""
    rng, epsilons = np.random.default_rng(seed), [*EPSILONS, np.inf]
    tables = []
    for name, shares in reach.items():
        table = {"forest": name, "epsilon": np.repeat(epsilons, releases), "n_test": n_test}
        table["repeat"] = np.tile(np.arange(releases), len(epsilons))
        reached = rng.random((len(epsilons), releases)) < np.array([*shares, 1.0])[:, None]
        tables.append(pd.DataFrame({**table, "accuracy": np.where(reached, 0.8, 0.6).ravel()}))
    return pd.concat(tables, ignore_index=True)


def test_forests_are_sorted_by_the_epsilon_that_they_need():
    late, early, never = np.zeros(18), np.zeros(18), np.zeros(18)
    late[9:], early[5:] = 1, 1
    never[17] = 0.5
    answers = smallest_epsilons(pieces({"late": late, "never": never, "early": early}, 80), 0.75, 0.9)
    assert [a.forest for a in answers] == ["early", "late", "never"]
    assert [a.epsilon for a in answers[:2]] == [pytest.approx(EPSILONS[5]), pytest.approx(EPSILONS[9])]
    assert answers[0].is_sure and answers[0].reached == answers[0].releases == 80 and answers[0].accuracy == 0.8
    last = answers[2]
    assert last.epsilon is None and last.accuracy is None and not last.is_sure and 20 < last.reached < 60


def test_few_releases_give_an_answer_that_is_not_sure():
    answer = smallest_epsilons(pieces({"a": np.ones(18)}, 5), 0.75, 0.9)[0]
    assert answer.epsilon == pytest.approx(0.01) and not answer.is_sure
    assert answer.at_least == pytest.approx(share_at_least(5, 5, n_tried=18))


def test_a_sure_epsilon_is_rarely_wrong():
    """If releases reach the accuracy slightly too rarely at every ε, at most 5 % of the answers claim to be sure.

    False alarm: if each answer claims so with probability at most 0.05, more than 52 of 500 answers do with probability
    below 1e-6.
    """
    wrong = sum(smallest_epsilons(pieces({"a": np.full(18, 0.899)}, 60, s), 0.75, 0.9)[0].is_sure for s in range(500))
    assert stats.binom.sf(52, 500, 1 - CONFIDENCE) < 1e-6
    assert wrong <= 52


def test_the_bound_is_clopper_and_pearsons():
    assert share_at_least(59, 59) == pytest.approx(0.05 ** (1 / 59))
    for s, n in ((1, 1), (7, 20), (58, 60)):
        p = share_at_least(s, n, n_tried=18)
        assert stats.binom.sf(s - 1, n, p) == pytest.approx(0.05 / 18)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95])
def test_releases_needed_are_the_fewest(share):
    n = releases_needed(share, 18)
    assert share_at_least(n, n, n_tried=18) >= share > share_at_least(n - 1, n - 1, n_tried=18)


def test_the_page_draws_as_many_releases_as_needed():
    from ui.choose.wish_controls import RELEASES
    from ui.shared.forests import EPSILONS as GRID
    from ui.shared.forests import FORESTS

    assert all(n >= releases_needed(share, len(GRID) * len(FORESTS)) for share, n in RELEASES.items())


def test_the_margin_is_the_lower_end_of_wilsons_interval():
    """The lower end p solves Wilson's equation (a - p)² n = z² p (1 - p)."""
    for a, n in ((0.8, 900), (0.5, 31), (1.0, 40), (0.0, 7)):
        low = a - float(held_out_margin([a], [n])[0])
        z = stats.norm.ppf(CONFIDENCE)
        assert (a - low) ** 2 * n == pytest.approx(z**2 * low * (1 - low), abs=1e-9)
        assert low + 1e-12 >= 0 and low <= a


def test_the_margin_is_taken_off():
    table = pieces({"a": np.ones(18)}, 60, n_test=100)
    margin = float(held_out_margin([0.8], [100])[0])
    assert smallest_epsilons(table, 0.8 - margin - 1e-9, 0.9)[0].epsilon is not None
    assert smallest_epsilons(table, 0.8 - margin + 1e-9, 0.9)[0].epsilon is None
    assert smallest_epsilons(table, 0.8, 0.9, margin=False)[0].epsilon is not None


@pytest.mark.parametrize("needed, share", [(0, 0.9), (1.01, 0.9), (0.8, 0), (0.8, 1), (float("nan"), 0.9)])
def test_an_accuracy_that_is_no_share_is_refused(needed, share):
    with pytest.raises(ValueError, match="is not an? "):
        smallest_epsilons(pieces({"a": np.ones(18)}, 2), needed, share)


def test_a_forest_may_need_the_largest_epsilon():
    table = pieces({"a": np.ones(18)}, 60)
    assert smallest_epsilons(table.assign(accuracy=1.0), 1.0, 0.9, margin=False)[0].epsilon == table["epsilon"].min()
    assert smallest_epsilons(table, 1.0, 0.9, margin=False)[0].epsilon is None
