"""Figures of risk hold the numbers of the formulas."""

import json
import math

import numpy as np
import pytest

from dpforest.plotting.risk import icon_grid, posterior_curve, trade_off_curve
from dpforest.plotting.style import NON_PRIVATE, PRIVATE
from dpforest.risk.guarantee import Guarantee
from dpforest.risk.tradeoff import DistinguishingGame, HundredGuesses

GUARANTEES = [
    Guarantee(0.01),
    Guarantee(1.0),
    Guarantee(10.0),
    Guarantee(1.0, 1e-6),
    Guarantee(0.5, 0.2),
    Guarantee(math.inf),
    Guarantee(1.0, 0, "replace-one"),
    Guarantee(700.0),
]
GAMES = [DistinguishingGame(g, q) for g in GUARANTEES for q in g.questions]
UNIT = DistinguishingGame(Guarantee(1.0))


def trace(figure, name):
    (match,) = [t for t in figure.data if t.name == name]
    return match


@pytest.mark.parametrize("game", GAMES)
def test_the_trade_off_curve_and_the_region_below_it(game):
    figure = trade_off_curve(game)
    limit = trace(figure, "limit")
    np.testing.assert_allclose(limit.y, game.misses(np.array(limit.x)), atol=1e-12)
    assert limit.line.color == (NON_PRIVATE if game.guarantee.kind == "none" else PRIVATE)
    region = trace(figure, "out of reach")
    assert region.fill == "toself" and list(region.x) == [*limit.x, 0, 0]
    assert list(region.y) == [*limit.y, 0, limit.y[0]]


def test_the_curve_has_its_corner_exactly():
    limit = trace(trade_off_curve(UNIT), "limit")
    corner = 1 / (1 + math.e)
    assert any(abs(x - corner) < 1e-12 and abs(y - corner) < 1e-12 for x, y in zip(limit.x, limit.y))


def test_attacks_are_marked_and_their_names_are_inert():
    figure = trade_off_curve(UNIT, attackers=[("<b>mine</b>", 0.3, 0.5), ("other", 0.9, 0.05)])
    assert [(t.x[0], t.y[0]) for t in figure.data if t.name == "attack"] == [(0.3, 0.5), (0.9, 0.05)]
    text = json.dumps(json.loads(figure.to_json()))
    assert "<b>mine</b>" not in text and "&lt;b&gt;mine&lt;/b&gt;" in text
    assert "30.0 %, misses 50.0 %" in text


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("prior", [0.01, 0.1, 0.5, 0.75, 0.995])
def test_icons_are_rounded_to_the_safe_side(game, prior):
    guesses = game.hundred_guesses(prior)
    assert (
        guesses.without + guesses.additional_right + guesses.wrong == 100
        and min(guesses.without, guesses.additional_right, guesses.wrong) >= 0
    )
    assert guesses.without + guesses.additional_right >= 100 * game.success(prior) - 1e-6
    assert guesses.without <= 100 * max(prior, 1 - prior) + 1e-6
    icons = [t for t in icon_grid(game, prior).data if t.mode == "markers"]
    assert [len(t.x) for t in icons] == [guesses.without, guesses.additional_right, guesses.wrong]
    assert len({(x, y) for t in icons for x, y in zip(t.x, t.y)}) == 100


def test_icons_match_golden_values():
    assert UNIT.hundred_guesses() == HundredGuesses(50, 24, 26)  # 73.1 % are right
    assert DistinguishingGame(Guarantee(1.0), "value").hundred_guesses() == HundredGuesses(50, 32, 18)
    assert UNIT.hundred_guesses(0.1) == HundredGuesses(90, 0, 10)
    assert DistinguishingGame(Guarantee(math.inf)).hundred_guesses(0.1) == HundredGuesses(90, 10, 0)
    key = [t.text[0].strip() for t in icon_grid(UNIT, 0.1).data if t.name == "key"]
    assert key == ["90 right<br>anyway", "10 wrong<br>at least"]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
def test_beliefs_before_and_after(game, prior):
    figure = posterior_curve(game, prior, failure=0.001)
    if game.guarantee.delta == 0.2:
        assert figure is None
        return
    low, high = game.posterior(prior, failure=0.001)
    assert list(trace(figure, "chosen").y) == pytest.approx([low, prior, high])
    most, least = trace(figure, "most"), trace(figure, "least")
    x = np.array(most.x)
    np.testing.assert_allclose(most.y, game.posterior(x, failure=0.001)[1])
    assert (np.array(least.y) <= x).all() and (np.array(most.y) >= x).all()
    assert "NaN" not in figure.to_json() and not any("nan" in text for text in most.text)


def test_pictures_have_a_small_height():
    for figure in (trade_off_curve(UNIT), icon_grid(UNIT), posterior_curve(UNIT)):
        assert 260 <= figure.layout.height <= 300
