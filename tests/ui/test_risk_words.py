"""Sentences about risk: exact texts, no promise without a guarantee, and numbers that are rounded to the safe side."""

import math
import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from dpforest.risk.guarantee import Guarantee
from dpforest.risk.tradeoff import DistinguishingGame
from ui.choose import risk_words as words
from ui.choose.risk_parts import PRIORS

PURE, DELTA, NONE = Guarantee(1.0), Guarantee(1.0, 1e-6), Guarantee(math.inf)
REPLACED = Guarantee(1.0, 0, "replace-one")
MEMBER, VALUE = DistinguishingGame(PURE), DistinguishingGame(PURE, "value")
EVERY = [
    Guarantee(epsilon, delta, neighbors)
    for epsilon in (0.001, 0.01, 0.3, 1.0, 5.0, 10.0, 40.0)
    for delta in (0.0, 1e-6, 0.01)
    for neighbors in ("add-remove", "replace-one")
]


def games(guarantee, rows=1) -> list[DistinguishingGame]:
    return [DistinguishingGame(guarantee, question, rows) for question in guarantee.questions]


def all_of(guarantee, prior=0.5, rows=1) -> str:
    sentences = [words.meaning(guarantee), words.not_covered(guarantee), words.conditions(guarantee, rows)]
    for game in games(guarantee, rows):
        sentences += [
            words.belief(game, prior),
            words.frequency(game, prior),
            words.errors(game),
            *words.odds_factor(game),
        ]
    return " ".join(sentences)


def test_sentences_match_golden_texts():
    assert words.frequency(MEMBER, 0.5) == (
        "Of 100 rows, each is as likely to be in the table as not. By tossing a coin, an attacker guesses about 50 of "
        "them right; with the release, **at most 73.2** on average."
    )
    assert words.frequency(MEMBER, 0.1) == (
        "Of 100 rows, each is in the table with a chance of 10 %. By always guessing “not in the table”, an attacker "
        "guesses about 90 of them right. With the release it is **no more than that**: the best guess stays the same."
    )
    assert words.belief(MEMBER, 0.5) == (
        "An attacker who was 50 % sure that a row is in the table can become **at most 73.2 % sure**, and "
        "stays at least 26.8 % sure. The box below states when these bounds do not hold."
    )
    assert "at most 88.1 % sure" in words.belief(VALUE, 0.5)
    assert "at most 73.2 % sure" in words.belief(DistinguishingGame(REPLACED, "value"), 0.5)
    assert "finds **at most 13.6 of 100**" in words.errors(MEMBER)
    assert words.odds_factor(DistinguishingGame(PURE, "value", 3)) == ("× 404", "e^6, as 6 × ε = 6")


def test_sentences_differ_by_the_kind_of_guarantee():
    assert "no exceptions (δ = 0)" in words.meaning(PURE) and "δ = 10⁻⁶" in words.meaning(DELTA)
    assert "exception" not in all_of(DELTA) and "weaker" in words.meaning(DELTA)
    for game in games(DELTA):
        assert "may fail in up to 1 of 1,000 releases" in words.belief(game, 0.5)
    for game in games(PURE):
        assert "fail" not in words.belief(game, 0.5)
    large = DistinguishingGame(Guarantee(1.0, 0.01))
    assert words.belief_bounds(large, 0.5) is None
    assert "may come to believe anything" in words.belief(large, 0.5)


@pytest.mark.parametrize("prior", PRIORS)
def test_without_a_bound_no_sentence_promises_anything(prior):
    text = all_of(NONE, prior)
    assert "No bound is proved" in text and "certain" in text
    for promised in ("at most", "at least", "no more than", "ε limits", "no exception", "stays"):
        assert promised not in text


def test_replace_one_does_not_mention_membership():
    text = words.meaning(REPLACED) + all_of(REPLACED).replace(words.not_covered(REPLACED), "")
    assert "or not" not in text and "is in the table" not in text and "without it" not in text


@pytest.mark.parametrize("guarantee", EVERY)
def test_numbers_are_rounded_to_the_safe_side(guarantee):
    for game in games(guarantee):
        for prior in PRIORS:
            match = re.search(r"at most ([\d.]+)\*\* on average", words.frequency(game, prior))
            if match:
                assert float(match[1]) >= 100 * game.success(prior) - 1e-6
            believed = words.belief_bounds(game, prior)
            match = re.search(r"at most ([\d.]+) % sure.*at least ([\d.]+) % sure", words.belief(game, prior))
            if match:
                assert float(match[2]) <= 100 * believed[0] + 1e-6 and float(match[1]) >= 100 * believed[1] - 1e-6
        wrong_of_hundred = re.search(r"at most ([\d.]+) of 100\*\*", words.errors(game))
        if wrong_of_hundred:
            assert float(wrong_of_hundred[1]) >= 100 * float(game.hits(words.ALARMS)) - 1e-6


@pytest.mark.parametrize("guarantee", [*EVERY, NONE])
def test_sentences_mention_persons_only_with_a_unit_or_several_rows(guarantee):
    text = all_of(guarantee).replace("A person with three rows has three times the ε", "")
    assert not re.search(r"somebody|anybody|nobody|person|people", text)
    of_unit = replace(guarantee, unit="patient_id")
    assert guarantee.kind == "none" or "A person with three rows" not in all_of(of_unit)
    for game, protected in ((games(of_unit)[0], of_unit), (games(guarantee, 3)[0], guarantee)):
        assert words.frequency(game, 0.5).startswith("Of 100 persons")
        sentence = words.errors(game)
        assert "100 persons" in sentence and "row" not in sentence.removeprefix("With this release")
        assert words.protected_noun(protected, game.rows) == "person"


def test_sentences_on_exclusions_and_conditions():
    for guarantee in (PURE, DELTA, REPLACED):
        assert "smokers" in words.not_covered(guarantee)
        assert "This holds for one row" in words.conditions(guarantee)
        assert "a person with 3 rows" in words.conditions(guarantee, 3) and "twins" in words.conditions(guarantee)
    assert "95.3 %" in words.belief(DistinguishingGame(PURE, "membership", 3), 0.5)


@pytest.mark.parametrize("guarantee", [*EVERY, NONE])
def test_misleading_words_are_not_used(guarantee):
    text = all_of(guarantee).lower()
    for word in ("safe", "anonymous", "nan", "inf"):
        assert not re.search(rf"\b{word}\b", text)


def section(epsilon, delta, neighbors, rows):
    """Show only the section on risk; streamlit runs this source as a page."""
    from dpforest.risk.guarantee import Guarantee
    from ui.choose import risk_parts

    risk_parts.show(Guarantee(epsilon, delta, neighbors), risk_parts.prior_control(), rows=rows)


@pytest.mark.parametrize("guarantee", [PURE, DELTA, REPLACED, NONE, Guarantee(1.0, 0.01), Guarantee(10.0)])
def test_the_section_is_drawn(guarantee):
    app = AppTest.from_function(section, args=(guarantee.epsilon, guarantee.delta, guarantee.neighbors, 1)).run()
    assert not app.exception
    text = " ".join(m.value for m in app.markdown)
    game = games(guarantee)[0]
    assert words.meaning(guarantee) in text and words.frequency(game, 0.5) in text
    assert words.errors(game) in text and words.belief(game, 0.5) in text
    assert words.not_covered(guarantee) in text and words.conditions(guarantee) in text
    app.select_slider(key="prior").set_value(0.1).run()
    assert words.belief(game, 0.1) in " ".join(m.value for m in app.markdown)
    if len(guarantee.questions) == 2:
        app.button_group(key="guess").set_value(words.QUESTIONS["value"]).run()
        assert not app.exception
        assert words.belief(DistinguishingGame(guarantee, "value"), 0.1) in " ".join(m.value for m in app.markdown)
