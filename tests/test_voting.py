"""From noisy leaves to votes: empty leaves, negative counts, ties, and random decisions.

Statistical tests have fixed seeds. With random seeds, each test would fail by chance with probability at most
`FALSE_ALARM`.
"""

import numpy as np
import pytest
from scipy import stats

from dpforest import voting
from dpforest.losses import m_alpha
from dpforest.privacy.simulators import simulate_laplace, simulate_noisy_counts
from tests.conftest import public_domain, random_codes

FALSE_ALARM = 1e-6
RULES = ("clamp", "paper")


def test_shares_are_the_counts_divided_by_their_sum():
    counts = np.array([[3, 1], [0, 4], [5, 5]])
    for rule in RULES:
        assert np.array_equal(voting.leaf_shares(counts, rule, 0), [[0.75, 0.25], [0, 1], [0.5, 0.5]])


def test_clamp_counts_negatives_as_zero_and_paper_discards_the_leaf():
    counts = np.array([[100, -1], [-2, 7], [6, 2]])
    clamped, paper = (voting.leaf_shares(counts, rule, 0) for rule in RULES)
    assert np.array_equal(clamped, [[1, 0], [0, 1], [0.75, 0.25]])
    assert np.array_equal(paper[2], [0.75, 0.25])
    assert ((paper[:2] > 0) & (paper[:2] < 1)).all()  # a random share, whatever the counts are
    with_other_counts = voting.leaf_shares(np.array([[1, -1], [-900, 3], [6, 2]]), "paper", 0)
    assert np.array_equal(paper, with_other_counts)


def test_with_more_classes_one_negative_discards_all_of_them():
    counts = np.array([[8, -1, 4]])
    assert voting.leaf_shares(counts, "clamp", 3).tolist() == [[8 / 12, 0, 4 / 12]]
    assert np.array_equal(voting.leaf_shares(counts, "paper", 3), voting.leaf_shares(np.zeros((1, 3), int), "paper", 3))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_silent_leaves_are_uniform_on_the_simplex(rule, n_classes):
    """The shares of empty leaves follow Beta(1, n_classes - 1), which is uniform for two classes. Votes are fair."""
    shares = voting.leaf_shares(np.zeros((20_000, n_classes), int), rule, seed=n_classes)
    assert np.allclose(shares.sum(axis=1), 1)
    for c in range(n_classes):
        assert stats.kstest(shares[:, c], "beta", args=(1, n_classes - 1)).pvalue > FALSE_ALARM / n_classes
    votes = np.bincount(voting.leaf_votes(shares), minlength=n_classes)
    assert stats.chisquare(votes).pvalue > FALSE_ALARM


def test_a_silent_leaf_keeps_its_share_whatever_the_others_hold():
    few, many = np.zeros((5, 2), int), np.zeros((50, 2), int)
    many[5:] = [7, 3]
    a, b = (voting.leaf_shares(counts, "clamp", 9) for counts in (few, many))
    assert np.array_equal(a, b[:5])
    assert not np.array_equal(a, voting.leaf_shares(few, "clamp", 10))


def test_an_empty_leaf_under_the_papers_rule_is_uniform_after_noise():
    """By the rule of Bojarski et al., an empty leaf has a uniform class share after noise.

    If both noisy counts are positive (in a quarter of the draws), their share is uniform. Otherwise, the leaf is
    discarded and draws a uniform share.
    """
    noisy = simulate_laplace(np.zeros((20_000, 2), int), 11.0, seed=1)
    theta = voting.leaf_shares(noisy, "paper", 2)[:, 0]
    assert stats.kstest(theta, "uniform").pvalue > FALSE_ALARM


def test_an_empty_leaf_with_clamped_counts_is_certain_in_half_of_the_draws():
    noisy = simulate_laplace(np.zeros((20_000, 2), int), 11.0, seed=1)
    theta = voting.leaf_shares(noisy, "clamp", 2)[:, 0]
    certain = (theta == 0) | (theta == 1)
    assert stats.binomtest(int(certain.sum()), len(theta), 0.5).pvalue > FALSE_ALARM
    assert stats.kstest(theta[~certain], "uniform").pvalue > FALSE_ALARM
    assert stats.binomtest(int((theta > 0.5).sum()), len(theta), 0.5).pvalue > FALSE_ALARM  # the vote stays fair


def test_the_papers_rule_discards_half_of_the_large_pure_leaves():
    counts = np.tile([1000, 0], (20_000, 1))
    noisy = simulate_noisy_counts(counts, 20.0, seed=4)
    q = np.exp(-1 / 20)
    wrong = {rule: int((voting.leaf_votes(voting.leaf_shares(noisy, rule, 5)) == 1).sum()) for rule in RULES}
    assert wrong["clamp"] == 0
    # With probability q / (1 + q), the second count is negative. Then the leaf is discarded, and its vote is random.
    assert stats.binomtest(wrong["paper"], len(counts), q / (1 + q) / 2).pvalue > FALSE_ALARM


def test_ties_go_to_the_class_listed_first():
    assert voting.leaf_votes(np.array([[0.5, 0.5], [0.2, 0.8], [0.4, 0.6]])).tolist() == [0, 1, 1]
    assert voting.leaf_votes(np.array([[0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3]])).tolist() == [1, 0]
    shares = np.array([[3, 3], [2, 4], [4, 2]]) / 6
    for rule in ("majority", "threshold"):
        assert voting.decide(shares, rule).tolist() == [0, 1, 0]


def test_a_coin_lands_on_each_class_with_its_share():
    shares = np.array([0.1, 0.6, 0.0, 0.3])
    codes = random_codes(public_domain(None, None), 30_000, seed=0)
    drawn = voting.decide(np.tile(shares, (len(codes), 1)), "probabilistic", voting.coins(codes, seed=8))
    frequencies = np.bincount(drawn, minlength=4)
    assert frequencies[2] == 0
    assert stats.chisquare(frequencies[[0, 1, 3]], len(codes) * shares[[0, 1, 3]]).pvalue > FALSE_ALARM


def test_the_coin_is_compared_with_the_cumulated_shares():
    shares = np.tile([0.25, 0.25, 0.5], (6, 1))
    coin = np.array([0.0, 0.2499, 0.25, 0.4999, 0.5, 1 - 2**-53])
    assert voting.decide(shares, "probabilistic", coin).tolist() == [0, 0, 1, 1, 2, 2]


def test_a_share_of_one_is_certain_even_with_the_last_coin():
    shares = np.array([[1.0, 0.0], [0.0, 1.0]])
    for coin in (0.0, 0.5, 1 - 2**-53):
        assert voting.decide(shares, "probabilistic", np.full(2, coin)).tolist() == [0, 1]


def test_coins_are_uniform_and_depend_on_the_codes_of_a_row():
    codes = random_codes(public_domain(None, 5, None), 20_000, seed=1)
    coins = voting.coins(codes, seed=3)
    assert stats.kstest(coins, "uniform").pvalue > FALSE_ALARM
    some = np.random.default_rng(0).permutation(len(codes))[:500]
    assert np.array_equal(voting.coins(codes[some], seed=3), coins[some])
    assert np.array_equal(voting.coins(np.concatenate([codes[:1]] * 3), seed=3), np.repeat(coins[:1], 3))


def test_another_seed_or_column_order_draws_new_coins():
    codes = random_codes(public_domain(None, None), 2_000, seed=2)
    coins = voting.coins(codes, seed=3)
    for other in (voting.coins(codes, seed=4), voting.coins(np.ascontiguousarray(codes[:, ::-1]), seed=3)):
        correlation = np.corrcoef(coins, other)[0, 1]
        # Without correlation, r sqrt(n) is standard normal, and |r| sqrt(n) exceeds 4.9 with probability 1e-6.
        assert abs(correlation) * np.sqrt(len(codes)) < 4.9


def test_neighboring_rows_get_unrelated_coins():
    codes = np.stack([np.arange(5_000), np.zeros(5_000)], axis=1).astype(np.uint16)
    steps = np.diff(voting.coins(codes, seed=0))
    # Differences of independent uniform numbers have a triangular law on [-1, 1].
    assert stats.kstest(steps[::2], "triang", args=(0.5, -1, 2)).pvalue > FALSE_ALARM


def test_neighboring_seeds_give_unrelated_numbers():
    numbers = np.stack([voting.uniform(seed, np.arange(4, dtype=np.uint64)) for seed in range(5_000)])
    assert ((numbers >= 0) & (numbers < 1)).all()
    for column in numbers.T:
        assert stats.kstest(column, "uniform").pvalue > FALSE_ALARM / 4
    assert np.abs(np.corrcoef(numbers, rowvar=False) - np.eye(4)).max() * np.sqrt(5_000) < 5.3  # six pairs, 1e-6 in all


# ---------------------------------------------------------------- additive trees


def test_the_two_classes_get_opposite_log_odds_of_a_leaf():
    values = np.array([0.5, -2.0, 0.0, 3.0])
    two = voting.additive_scores(values, np.ones(4, np.int16), 2)
    assert two.tolist() == [[-0.5, 0.5], [2.0, -2.0], [0, 0], [-3.0, 3.0]]
    three = voting.additive_scores(values, np.array([2, 0, 1, 0]), 3)
    assert three.tolist() == [[0, 0, 0.5], [-2.0, 0, 0], [0, 0, 0], [3.0, 0, 0]]


ALPHAS = (1e-6, 0.01, 0.1, 0.5, 1.0)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("size", [1e-18, 1e-12, 1e-6, 0.01, 1.0, 1e3, 1e6])
def test_shares_of_scores_are_shares_and_the_largest_is_that_of_the_class_predicted(alpha, n_classes, size):
    """Shares that are computed from additive scores lie in [0, 1], and the predicted class has the largest share.

    The inverse link is 1/2 for scores near 0, and rounds to 0 for very negative scores. In these cases, too, no share
    may be negative.
    """
    scores = np.random.default_rng(0).normal(size=(500, n_classes)) * size
    if n_classes == 2:
        scores[:, 0] = -scores[:, 1]
    for some in (scores, -np.abs(scores), np.abs(scores), np.zeros((1, n_classes)), np.full((1, n_classes), -size)):
        shares = voting.additive_shares(some, alpha)
        assert ((shares >= 0) & (shares <= 1)).all()
        assert np.allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-12)
        assert np.array_equal(shares.argmax(axis=1), voting.decide(some, "additive"))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_share_of_the_second_of_two_classes_is_the_inverse_link_and_rises_with_the_score(alpha):
    score = np.sort(np.concatenate([np.random.default_rng(1).normal(size=300) * s for s in (1e-9, 1e-3, 1, 40)]))
    share = voting.additive_shares(np.stack([-score, score], axis=1), alpha)[:, 1]
    assert np.allclose(share, m_alpha(alpha).inverse_link(score), rtol=0, atol=1e-8)
    assert (np.diff(share) >= 0).all()
    assert (np.diff(share) > 0).mean() > 0.99  # strictly increasing where the link distinguishes rows
    assert np.array_equal(share > 0.5, score > 0)


def test_shares_of_many_classes_are_those_of_their_links():
    scores = np.array([[2.0, -2.0, 0.0], [3.0, 3.0, -5.0]])
    link = m_alpha(1.0).inverse_link(scores)
    assert np.allclose(voting.additive_shares(scores, 1.0), link / link.sum(axis=1, keepdims=True), atol=1e-8)
    assert voting.decide(scores, "additive").tolist() == [0, 0]  # a tie goes to the first listed class
