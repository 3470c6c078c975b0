"""Sentences about risk: golden ones, no promise where there is none, and never a number that flatters."""

import math
import re

import pytest
from streamlit.testing.v1 import AppTest

from dpforest.risk.guarantee import Guarantee, hits, success
from ui.choose import risk_words as words
from ui.choose.risk_parts import PRIORS

PURE, DELTA, NONE = Guarantee(1.0), Guarantee(1.0, 1e-6), Guarantee(math.inf)
REPLACED = Guarantee(1.0, 0, "replace-one")
EVERY = [
    Guarantee(epsilon, delta, neighbours)
    for epsilon in (0.001, 0.01, 0.3, 1.0, 5.0, 10.0, 40.0)
    for delta in (0.0, 1e-6, 0.01)
    for neighbours in ("add-remove", "replace-one")
]


def all_of(guarantee, prior=0.5, rows=1) -> str:
    said = [words.meaning(guarantee), words.not_covered(guarantee), words.conditions(guarantee, rows)]
    for question in guarantee.questions:
        said += [
            words.belief(guarantee, prior, question, rows),
            words.frequency(guarantee, prior, question, rows),
            words.errors(guarantee, question, rows),
            *words.odds_factor(guarantee, question, rows),
        ]
    return " ".join(said)


def test_golden_sentences():
    assert words.frequency(PURE, 0.5, "membership") == (
        "Of 100 people, each is as likely in the table as not. By tossing a coin, an attacker is right about 50 of "
        "them; with the release, **at most 73.2** on average."
    )
    assert words.frequency(PURE, 0.1, "membership") == (
        "Of 100 people, each is in the table with a chance of 10 %. By always guessing “not in the table”, an attacker "
        "is right about 90 of them. With the release it is **no more than that**: the best guess stays the same."
    )
    assert words.belief(PURE, 0.5, "membership") == (
        "Whoever was unsure (50 %) whether somebody is in the table or not can become **at most 73.2 % sure**, and "
        "stays at least 26.8 % sure."
    )
    assert "at most 88.1 % sure" in words.belief(PURE, 0.5, "value")
    assert "at most 73.2 % sure" in words.belief(REPLACED, 0.5, "value")
    assert "finds **at most 13.6 of 100**" in words.errors(PURE, "membership")
    assert words.odds_factor(PURE, "value", 3) == ("× 404", "e^6, as 6 × ε = 6")


def test_sentences_differ_by_the_kind_of_guarantee():
    assert "no exception (δ = 0)" in words.meaning(PURE) and "δ = 10⁻⁶" in words.meaning(DELTA)
    assert "exception" not in all_of(DELTA) and "weaker" in words.meaning(DELTA)
    for question in DELTA.questions:
        assert "may fail in up to 1 of 1,000 releases" in words.belief(DELTA, 0.5, question)
        assert "fail" not in words.belief(PURE, 0.5, question)
    large = Guarantee(1.0, 0.01)
    assert words.believed(large, 0.5, "membership") is None
    assert "may come to believe anything" in words.belief(large, 0.5, "membership")


@pytest.mark.parametrize("prior", PRIORS)
def test_without_a_bound_nothing_sounds_like_a_promise(prior):
    said = all_of(NONE, prior)
    assert "No bound is proved" in said and "certain" in said
    for promised in ("at most", "at least", "no more than", "ε limits", "no exception", "stays"):
        assert promised not in said


def test_replace_one_does_not_speak_of_membership():
    said = words.meaning(REPLACED) + all_of(REPLACED).replace(words.not_covered(REPLACED), "")
    assert "or not" not in said and "is in the table" not in said and "without it" not in said
    with pytest.raises(ValueError, match="nothing about membership"):
        words.belief(REPLACED, 0.5, "membership")


@pytest.mark.parametrize("guarantee", EVERY)
def test_no_number_flatters(guarantee):
    for question in guarantee.questions:
        for prior in PRIORS:
            said = re.search(r"at most ([\d.]+)\*\* on average", words.frequency(guarantee, prior, question))
            if said:
                assert float(said[1]) >= 100 * success(guarantee, prior, question) - 1e-6
            believed = words.believed(guarantee, prior, question)
            said = re.search(
                r"at most ([\d.]+) % sure.*at least ([\d.]+) % sure", words.belief(guarantee, prior, question)
            )
            if said:
                assert float(said[2]) <= 100 * believed[0] + 1e-6 and float(said[1]) >= 100 * believed[1] - 1e-6
        found = re.search(r"at most ([\d.]+) of 100\*\*", words.errors(guarantee, question))
        if found:
            assert float(found[1]) >= 100 * float(hits(guarantee, words.ALARMS, question)) - 1e-6


def test_what_is_not_covered_and_what_is_taken_for_granted():
    for guarantee in (PURE, DELTA, REPLACED):
        assert "smokers" in words.not_covered(guarantee)
        assert "One row is one person" in words.conditions(guarantee)
        assert "a person with 3 rows" in words.conditions(guarantee, 3) and "twins" in words.conditions(guarantee)
    assert "95.3 %" in words.belief(PURE, 0.5, "membership", 3)


@pytest.mark.parametrize("guarantee", [*EVERY, NONE])
def test_words_that_are_not_used(guarantee):
    said = all_of(guarantee).lower()
    for word in ("safe", "anonymous", "nan", "inf"):
        assert not re.search(rf"\b{word}\b", said)


def section(epsilon, delta, neighbours, rows):
    """The script of a page that shows nothing else."""
    from dpforest.risk.guarantee import Guarantee
    from ui.choose import risk_parts

    risk_parts.show(Guarantee(epsilon, delta, neighbours), risk_parts.prior_control(), rows=rows)


@pytest.mark.parametrize("guarantee", [PURE, DELTA, REPLACED, NONE, Guarantee(1.0, 0.01), Guarantee(10.0)])
def test_the_section_is_drawn(guarantee):
    app = AppTest.from_function(section, args=(guarantee.epsilon, guarantee.delta, guarantee.neighbours, 1)).run()
    assert not app.exception
    said = " ".join(m.value for m in app.markdown)
    question = guarantee.questions[0]
    assert words.meaning(guarantee) in said and words.frequency(guarantee, 0.5, question) in said
    assert words.errors(guarantee, question) in said and words.belief(guarantee, 0.5, question) in said
    assert words.not_covered(guarantee) in said and words.conditions(guarantee) in said
    app.select_slider(key="prior").set_value(0.1).run()
    assert words.belief(guarantee, 0.1, question) in " ".join(m.value for m in app.markdown)
    if len(guarantee.questions) == 2:
        app.button_group(key="guess").set_value(words.QUESTIONS["value"]).run()
        assert not app.exception
        assert words.belief(guarantee, 0.1, "value") in " ".join(m.value for m in app.markdown)
