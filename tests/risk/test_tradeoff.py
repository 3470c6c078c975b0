"""Bounds on beliefs and attacks: they hold for random laws, and some laws attain them exactly."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from dpforest.risk.guarantee import Guarantee
from dpforest.risk.tradeoff import DistinguishingGame

PRIORS = (0.01, 0.2, 0.5, 0.731, 0.9, 0.999)
EPSILONS = (0.01, 0.1, 1.0, 3.0, 10.0)


def laws(rng, n_tables: int, n_outputs: int, spread: float) -> np.ndarray:
    """Return a law of outputs for each table. Each law is close to the law of the table before."""
    log = np.cumsum(rng.uniform(-spread, spread, (n_tables, n_outputs)), axis=0)
    weights = rng.dirichlet(np.ones(n_outputs)) * np.exp(log)
    return weights / weights.sum(axis=1, keepdims=True)


def neighbors_delta(chain: np.ndarray, epsilon: float) -> float:
    """Return the least δ such that all neighbors in a chain of laws are (ε, δ)-close."""
    pairs = [(p, q) for a, b in itertools.pairwise(chain) for p, q in ((a, b), (b, a))]
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in pairs)


def every_test(n_outputs: int) -> np.ndarray:
    """Return all sets of outputs on which a test may answer yes, as rows of 0 and 1."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=n_outputs)))


def games_of(n_steps: int, epsilon: float, delta: float = 0.0) -> Iterator[DistinguishingGame]:
    """Yield a game of each kind with this number of steps. In a game, an attacker tells two tables apart."""
    yield DistinguishingGame(Guarantee(epsilon, delta), "membership", n_steps)
    yield DistinguishingGame(Guarantee(epsilon, delta, "replace-one"), "value", n_steps)
    if n_steps % 2 == 0:
        yield DistinguishingGame(Guarantee(epsilon, delta), "value", n_steps // 2)


@pytest.mark.parametrize("n_steps", [1, 2, 3, 4])
@pytest.mark.parametrize("share", [1.0, 0.7, 0.3])  # ε as a share of the largest loss; δ covers the rest
def test_no_test_on_random_laws_beats_the_bounds(n_steps, share):
    rng = np.random.default_rng(100 * n_steps + int(10 * share))
    sets = every_test(7)
    for spread in (0.05, 0.5, 2.0) * 10:
        chain = laws(rng, n_steps + 1, 7, spread)
        epsilon = share * float(np.abs(np.diff(np.log(chain), axis=0)).max())
        delta = neighbors_delta(chain, epsilon) if share < 1 else 0.0
        false_alarms, hits = np.minimum(sets @ chain[0], 1), sets @ chain[-1]
        ratio = chain[-1] / chain[0]
        for game in games_of(n_steps, epsilon, delta):
            assert (hits <= game.hits(false_alarms) + 1e-9).all()
            assert (hits - false_alarms).max() <= 2 * game.success() - 1 + 1e-9
            for prior in PRIORS:
                best = np.maximum(prior * chain[-1], (1 - prior) * chain[0]).sum()
                assert best <= game.success(prior) + 1e-9
                after = prior * ratio / (prior * ratio + 1 - prior)
                if share == 1:
                    low, high = game.posterior(prior)
                    assert (after >= low - 1e-9).all() and (after <= high + 1e-9).all()
                for failure in (0.02, 0.1, 0.5):
                    if game.grouped.delta < failure:
                        low, high = game.posterior(prior, failure=failure)
                        for pmf in (chain[0], chain[-1]):
                            assert pmf[after > high + 1e-9].sum() <= failure
                            assert pmf[after < low - 1e-9].sum() <= failure


def best_tests(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of false alarms and hits of the most powerful tests (Neyman and Pearson).

    Random mixtures of these tests attain the rates in between.
    """
    with np.errstate(divide="ignore"):
        order = np.argsort(-np.where(q > 0, p / np.where(q > 0, q, 1), np.inf), kind="stable")
    return np.cumsum(q[order]), np.cumsum(p[order])


def response(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the laws of randomized response that reveals the truth with probability δ (Kairouz, Oh and Viswanath)."""
    true, false = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    return np.array([delta, true, false, 0]), np.array([0, false, true, delta])


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01, 0.3])
def test_randomized_response_attains_every_bound(epsilon, delta):
    p, q = response(epsilon, delta)
    game = DistinguishingGame(Guarantee(epsilon, delta))
    false_alarms, hits = best_tests(p, q)
    np.testing.assert_allclose(game.hits(np.minimum(false_alarms, 1)), hits, atol=1e-12)
    for prior in PRIORS:
        assert game.success(prior) == pytest.approx(np.maximum(prior * p, (1 - prior) * q).sum(), abs=1e-12)
        assert game.success(prior) == pytest.approx(
            max(
                (math.exp(epsilon) + delta) / (1 + math.exp(epsilon)),
                prior + (1 - prior) * delta,
                1 - prior + prior * delta,
            )
        )
        if not delta:
            after = sorted(prior * p[1:3] / (prior * p[1:3] + (1 - prior) * q[1:3]))
            np.testing.assert_allclose(game.posterior(prior), after, rtol=1e-12)


@pytest.mark.parametrize("n_steps", [1, 2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_geometric_mechanism_attains_the_bounds_over_several_steps(n_steps, epsilon):
    def pmf(count):  # a count with geometric noise, clamped to 0..n_steps (Ghosh, Roughgarden, Sundararajan 2009)
        a, z = math.exp(-epsilon), np.arange(n_steps + 1)
        p = a ** abs(z - count) * (1 - a) / (1 + a)
        p[[0, -1]] = a ** abs(z[[0, -1]] - count) / (1 + a)
        return p

    p, q = pmf(n_steps), pmf(0)
    assert p.sum() == pytest.approx(1) and neighbors_delta(np.array([p, pmf(n_steps - 1)]), epsilon) < 1e-12
    false_alarms, hits = best_tests(p, q)
    for game in games_of(n_steps, epsilon):
        np.testing.assert_allclose(game.hits(np.minimum(false_alarms, 1)), hits, atol=1e-12)
        for prior in PRIORS:
            best = np.maximum(prior * p, (1 - prior) * q).sum()
            assert game.success(prior) == pytest.approx(best, abs=1e-12)
            high = prior * p[-1] / (prior * p[-1] + (1 - prior) * q[-1])
            assert game.posterior(prior)[1] == pytest.approx(high)


def test_the_posterior_with_delta_fails_exactly_at_its_failure_rate():
    epsilon, delta, failure = 1.0, 0.01, 0.04
    t = epsilon - math.log(1 - delta / failure)
    p = np.array([failure, 1 - failure])  # the first output has the largest odds that the bound allows, and uses all δ
    q = np.array([failure * math.exp(-t), 1 - failure * math.exp(-t)])
    assert neighbors_delta(np.array([p, q]), epsilon) == pytest.approx(delta)
    after = 0.5 * p[0] / (0.5 * p[0] + 0.5 * q[0])
    assert DistinguishingGame(Guarantee(epsilon, delta)).posterior(0.5, failure=failure)[1] == pytest.approx(after)


@pytest.mark.parametrize(
    "epsilon, member, value, half",
    [
        (0.01, 0.5025, 0.5050, 0.0050),
        (0.1, 0.5250, 0.5498, 0.0500),
        (1, 0.7311, 0.8808, 0.4621),
        (10, 1.0, 1.0, 0.9999),
    ],
)
def test_bounds_match_golden_values(epsilon, member, value, half):
    game, value_game = DistinguishingGame(Guarantee(epsilon)), DistinguishingGame(Guarantee(epsilon), "value")
    assert game.posterior(0.5)[1] == pytest.approx(member, abs=5e-5)
    assert value_game.posterior(0.5)[1] == pytest.approx(value, abs=5e-5)
    assert game.success() == pytest.approx(member, abs=5e-5)
    assert value_game.success() == pytest.approx(1 - math.exp(-epsilon) / 2)  # two steps of ε
    assert 2 * game.success() - 1 == pytest.approx(half, abs=5e-5) == pytest.approx(math.tanh(epsilon / 2), abs=5e-5)
    replaced = DistinguishingGame(Guarantee(epsilon, 0, "replace-one"), "value")
    assert replaced.posterior(0.5) == game.posterior(0.5)
    assert replaced.success() == game.success()


def test_the_curve_is_symmetric_and_straight_between_its_kinks():
    for arguments in (
        (Guarantee(0.7), "value", 2),
        (Guarantee(0.5, 0.05), "membership", 5),
        (Guarantee(2.0, 1e-3), "value", 1),
    ):
        game = DistinguishingGame(*arguments)
        bends = game.kinks()
        rate = np.unique(np.r_[np.linspace(0, 1, 501), bends])
        beta = game.misses(rate)
        np.testing.assert_allclose(beta, np.interp(rate, bends, game.misses(bends)), atol=1e-12)
        assert (np.diff(beta) <= 1e-12).all()
        falling = beta > 0
        np.testing.assert_allclose(game.misses(beta[falling]), rate[falling], atol=1e-9)


def test_a_release_that_cannot_change_the_best_answer_has_the_success_of_the_prior():
    game = DistinguishingGame(Guarantee(0.1))
    assert game.success(0.1) == pytest.approx(0.9)
    assert game.success(0.5) > 0.5
    assert DistinguishingGame(Guarantee(0.1, 0.2)).success(0.1) == pytest.approx(
        0.92
    )  # the release reveals a fifth of the members


def test_invalid_questions_and_numbers_of_rows_are_refused():
    assert DistinguishingGame(Guarantee(1.0), "value", 3).steps == 6
    with pytest.raises(ValueError, match="replace-one does not cover membership"):
        DistinguishingGame(Guarantee(1.0, 0, "replace-one"))
    with pytest.raises(ValueError, match="question='name' is not known"):
        DistinguishingGame(Guarantee(1.0), "name")
    for rows in (0, 1.5, -1):
        with pytest.raises(ValueError, match="whole number from 1"):
            DistinguishingGame(Guarantee(1.0), rows=rows)


def test_several_rows_of_a_person():
    grouped = lambda *game, rows: DistinguishingGame(*game, rows=rows).grouped
    assert grouped(Guarantee(0.5), rows=4) == Guarantee(2.0)
    assert grouped(Guarantee(0.5), "value", rows=4).epsilon == 4.0
    replaced = Guarantee(0.5, 1e-6, "replace-one")
    assert grouped(replaced, "value", rows=2).delta == pytest.approx(1e-6 * (1 + math.exp(0.5)))
    assert grouped(Guarantee(0.0, 0.1), rows=3).delta == pytest.approx(0.3)
    assert grouped(Guarantee(1.0, 0.5), rows=900).kind == "none"


@pytest.mark.parametrize("guarantee", [Guarantee(math.inf), Guarantee(1.0, 1.0), Guarantee(math.inf, 0.1)])
def test_without_a_bound_nothing_is_promised(guarantee):
    for question in ("membership", "value"):
        game = DistinguishingGame(guarantee, question)
        assert guarantee.kind == "none" and game.success(0.3) == 1 == game.success()
        assert game.posterior(0.3) == (0, 1)
        assert game.misses([0, 0.2, 1]).tolist() == [0, 0, 0]


def test_a_huge_loss_is_a_loss_like_others():
    for epsilon in (100.0, 601.0, 110131.6):
        assert DistinguishingGame(Guarantee(epsilon), "value", 1000).success(0.3) == pytest.approx(1)
        low, high = DistinguishingGame(Guarantee(epsilon)).posterior(np.array([0.001, 0.5]))
        assert (low < 1e-30).all() and (high > 1 - 1e-12).all()
    many = DistinguishingGame(Guarantee(0.001), "value", 1000)
    assert many.success() == pytest.approx(1 - math.exp(-1) / 2, abs=2e-4)


def test_probabilities_that_are_refused():
    for prior in (0, 1, -0.1, math.nan):
        with pytest.raises(ValueError, match="prior"):
            DistinguishingGame(Guarantee(1.0)).posterior(prior)
    with pytest.raises(ValueError, match="rates from 0 to 1"):
        DistinguishingGame(Guarantee(1.0)).hits(1.1)
    for failure in (0.0, 1e-6, 1.5):
        with pytest.raises(ValueError, match="no bound on beliefs holds for every release"):
            DistinguishingGame(Guarantee(1.0, 1e-6)).posterior(0.5, failure=failure)
    with pytest.raises(ValueError, match="no bound on beliefs"):  # the δ of two steps exceeds `failure`
        DistinguishingGame(Guarantee(1.0, 1e-6), "value").posterior(0.5, failure=3e-6)
