"""The smallest sufficient ε, at which a forest reaches a wanted value in a wanted share of its releases.

The answer is right for known laws. It counts as sure only after a valid test on further simulated releases (a check).
A check looks at its results several times. A margin allows for the chance in held-out rows.
"""

import numpy as np
import pytest
from scipy import stats

from dpforest.evaluation.smallest_epsilon import (
    CONFIDENCE,
    LOOKS,
    N_FIRST,
    Reach,
    check_share,
    held_out_margin,
    least_n,
    releases_needed,
    share_at_least,
    smallest_epsilon,
)

EPSILONS = np.geomspace(0.01, 10, 18)
MOST = LOOKS[-1] * releases_needed(0.9, len(LOOKS) * 2**5)  # no check of these tests needs more releases


def answer(shares, needed: float = 0.75, share: float = 0.9, n: float | None = None, seed: int = 0, most: int = MOST):
    """Return the answer for a forest whose releases have the value 0.8 or 0.6.

    `shares` holds the probability of 0.8 at each ε.
    """
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((N_FIRST, 18)) < shares, 0.8, 0.6)
    further = {e: np.where(rng.random(MOST) < p, 0.8, 0.6)[:most] for e, p in zip(EPSILONS, shares, strict=True)}
    return smallest_epsilon("a", Reach.of(EPSILONS, values, share, n), needed, share, n, further.__getitem__)


def test_the_answer_is_the_first_epsilon_that_enough_releases_reach():
    answered = answer((np.arange(18) >= 9).astype(float))
    assert answered.epsilon == EPSILONS[9]
    assert answered.is_sure and answered.check.reached == answered.check.releases == releases_needed(0.9, 6)
    assert answered.value == pytest.approx(0.8) and not answered.failed
    never = answer(np.zeros(18))
    assert never.epsilon is None and never.value is None and not never.is_sure and not never.is_open


def test_the_spread_of_one_release_is_that_of_many_on_a_smooth_curve():
    """A variance can be estimated from a single release at each ε: the mean of 4,000 estimates is within 5 %."""
    rng, curve = np.random.default_rng(0), np.linspace(0.5, 0.9, 18)
    reached = [Reach.of(EPSILONS, curve[None] + 0.01 * rng.standard_normal((1, 18)), 0.9, None) for _ in range(4000)]
    variance = np.mean([((r.mean - r.nearly_all) / stats.norm.ppf(0.99)) ** 2 for r in reached], axis=0)
    np.testing.assert_allclose(variance, 1e-4, rtol=0.05)


def test_few_releases_give_an_answer_that_is_not_sure():
    answered = answer(np.ones(18), most=5)
    assert answered.epsilon == EPSILONS[0] and answered.is_open and not answered.is_sure
    assert (answered.check.reached, answered.check.releases, answered.check.until) == (5, 5, releases_needed(0.9, 6))


def test_an_answer_only_gets_surer():
    """With more releases, the answer never moves to a smaller ε, and once it is sure, it does not change."""
    shares = np.linspace(0.5, 1.0, 18)
    states = [answer(shares, most=n) for n in range(0, MOST, 7)]
    assert all(a.epsilon <= b.epsilon for a, b in zip(states, states[1:], strict=False))
    sure = [each for each in states if each.is_sure]
    assert sure and all((a.epsilon, a.check) == (sure[0].epsilon, sure[0].check) for a in states[-len(sure) :])


def test_after_a_failed_check_the_next_epsilon_is_checked():
    first = np.full((N_FIRST, 18), 0.8)
    further = {epsilon: np.full(MOST, 0.6 if epsilon < EPSILONS[3] else 0.8) for epsilon in EPSILONS}
    answered = smallest_epsilon("a", Reach.of(EPSILONS, first, 0.9, None), 0.75, 0.9, None, further.__getitem__)
    assert answered.epsilon == EPSILONS[3] and answered.is_sure
    assert [epsilon for epsilon, _ in answered.failed] == EPSILONS[:3].tolist()
    assert all(check.has_failed and not check.is_sure for _, check in answered.failed)
    assert answered.check.releases == releases_needed(0.9, len(LOOKS) * 2**4)  # a later check has less error to spend


def test_a_sure_epsilon_is_rarely_wrong():
    """If releases reach the value slightly too rarely at every ε, at most 5 % of the answers claim to be sure.

    If each answer claims so with probability at most 0.05, more than 52 of 500 answers do so with probability below
    1e-6. So a false alarm of the test is that unlikely.
    """
    wrong = sum(answer(np.full(18, 0.899), seed=seed).is_sure for seed in range(500))
    assert stats.binom.sf(52, 500, 1 - CONFIDENCE) < 1e-6
    assert 0 < wrong <= 52


@pytest.mark.parametrize("share", [0.8, 0.9, 0.95])
def test_the_errors_of_all_looks_add_up_to_less_than_five_percent(share):
    """The probability that a check is wrong at any of its looks, computed exactly, is at most half of the 5 %."""
    looks = [times * releases_needed(share, 2 * len(LOOKS)) for times in LOOKS]
    law, sure = np.array([1.0]), 0.0  # law of the number of releases that reach the value, while the check goes on
    for n in range(1, looks[-1] + 1):
        law = np.convolve(law, [1 - share, share])
        if n in looks:
            is_sure = np.array([share_at_least(k, n, n_tried=2 * len(LOOKS)) >= share for k in range(n + 1)])
            sure += law[is_sure].sum()
            law = np.where(is_sure, 0.0, law)
    assert 0 < sure <= (1 - CONFIDENCE) / 2


def test_the_checks_of_several_forests_share_the_error():
    """If nine forests are checked, each check may spend a ninth of the error, so its first look needs more releases."""
    n = releases_needed(0.9, 9 * 2 * len(LOOKS))
    assert n > releases_needed(0.9, 2 * len(LOOKS))
    assert check_share(np.ones(n, bool), 0.9, n_forests=9).is_sure
    assert not check_share(np.ones(n - 1, bool), 0.9, n_forests=9).is_sure


def test_the_largest_epsilon_is_checked_if_it_may_reach_the_value_without_room():
    """If releases at the largest ε reach a value 19 times in 20, a check may confirm the wanted 9 in 10.

    The rule that chooses an ε to check asks for a larger reserve, so the largest ε is an exception.
    """
    rng = np.random.default_rng(1)
    values = 0.76 + 0.01 * stats.norm.ppf(0.95) + 0.01 * rng.standard_normal((N_FIRST, 18)) - np.linspace(0.2, 0, 18)
    reach = Reach.of(EPSILONS, values, 0.9, None)
    assert reach.epsilons_to_check(0.76) in ([EPSILONS[-1]], []) and reach.at_largest_epsilon > reach.nearly_all[-1]
    assert (
        reach.epsilons_to_check(reach.at_largest_epsilon) == [EPSILONS[-1]]
        and reach.epsilons_to_check(reach.at_largest_epsilon + 1e-6) == []
    )


def test_a_check_ends_as_soon_as_it_cannot_succeed():
    n = LOOKS[-1] * releases_needed(0.9, 6)
    most = next(f for f in range(n) if share_at_least(n - f - 1, n, n_tried=6) < 0.9)  # largest number of failures
    assert check_share(np.zeros(most + 1, bool), 0.9).has_failed
    assert not check_share(np.zeros(most, bool), 0.9).has_failed
    last = check_share(np.arange(n) >= most, 0.9)
    assert last.is_sure and last.releases == n


def test_the_bound_is_clopper_and_pearsons():
    assert share_at_least(59, 59) == pytest.approx(0.05 ** (1 / 59))
    for s, n in ((1, 1), (7, 20), (58, 60)):
        p = share_at_least(s, n, n_tried=18)
        assert stats.binom.sf(s - 1, n, p) == pytest.approx(0.05 / 18)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95])
def test_releases_needed_are_the_fewest(share):
    n = releases_needed(share, 18)
    assert share_at_least(n, n, n_tried=18) >= share > share_at_least(n - 1, n - 1, n_tried=18)


def test_the_margin_is_the_lower_end_of_wilsons_interval():
    """The lower end p solves Wilson's equation (a - p)² n = z² p (1 - p)."""
    for a, n in ((0.8, 900), (0.5, 31), (1.0, 40), (0.0, 7)):
        low = a - float(held_out_margin([a], n)[0])
        z = stats.norm.ppf(CONFIDENCE)
        assert (a - low) ** 2 * n == pytest.approx(z**2 * low * (1 - low), abs=1e-9)
        assert low + 1e-12 >= 0 and low <= a


def test_the_margin_is_taken_off():
    margin = float(held_out_margin([0.8], 100)[0])
    assert answer(np.ones(18), 0.8 - margin - 1e-9, n=100).is_sure
    assert answer(np.ones(18), 0.8 - margin + 1e-9, n=100).epsilon is None
    assert answer(np.ones(18), 0.8).is_sure


def two_scores(rng: np.random.Generator, rows: tuple[int, int], law: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the rows of both classes, in 4,000 tables. `law` sets the variance of the AUC."""
    tied = {"all or nothing": 0.8, "one row decides": 0.97}[law]
    return tuple((rng.random((4000, n)) < p).astype(float) for n, p in zip(rows, (1 - tied, tied), strict=True))


@pytest.mark.parametrize("law", ["all or nothing", "one row decides"])
@pytest.mark.parametrize("rows", [(90, 10), (30, 30)])
def test_no_measure_is_less_precise_than_its_number_of_rows_says(rows, law):
    """The variance of a measure with mean v is at most v (1 - v) / n, with n from `least_n`.

    The variance of 4,000 draws is within 15 % of the true variance.
    """
    zeros, ones = two_scores(np.random.default_rng(3), rows, law)
    labels = np.repeat([0, 1], rows)
    balanced = ((zeros == 0).mean(axis=1) + (ones == 1).mean(axis=1)) / 2
    auc = ((ones[:, :, None] > zeros[:, None, :]) + 0.5 * (ones[:, :, None] == zeros[:, None, :])).mean(axis=(1, 2))
    for measure, values in (("balanced_accuracy", balanced), ("auc", auc)):
        mean = values.mean()
        assert values.var() <= 1.15 * mean * (1 - mean) / least_n(measure, labels)


def test_a_value_that_rounding_moves_is_reached():
    reach = Reach.of(EPSILONS, np.full((3, 18), 0.55 - 1e-16), 0.9, None)
    assert smallest_epsilon("a", reach, 0.55, 0.9, None, lambda epsilon: np.full(60, 0.55 - 1e-16)).is_sure


def test_an_unknown_measure_is_refused():
    with pytest.raises(ValueError, match="measure"):
        least_n("f1", np.array([0, 1]))


def test_one_class_has_the_precision_of_an_accuracy():
    assert least_n("auc", np.zeros(7, int)) == least_n("balanced_accuracy", np.zeros(7, int)) == 7


@pytest.mark.parametrize("needed, share", [(0, 0.9), (1.01, 0.9), (0.8, 0), (0.8, 1), (float("nan"), 0.9)])
def test_a_value_out_of_range_is_refused(needed, share):
    reach = Reach.of(EPSILONS, np.ones((3, 18)), 0.9, None)
    with pytest.raises(ValueError, match="is not a "):
        smallest_epsilon("a", reach, needed, share, None, lambda epsilon: np.ones(0))


def test_a_forest_may_need_the_largest_epsilon():
    reach = Reach.of(EPSILONS, np.ones((3, 18)), 0.9, None)
    assert smallest_epsilon("a", reach, 1.0, 0.9, None, lambda epsilon: np.ones(60)).epsilon == EPSILONS[0]
    steep = np.tile(np.where(np.arange(18) == 17, 1.0, 0.5), (3, 1))
    answered = smallest_epsilon("a", Reach.of(EPSILONS, steep, 0.9, None), 1.0, 0.9, None, lambda epsilon: np.ones(60))
    assert answered.epsilon == EPSILONS[-1] and answered.is_sure
