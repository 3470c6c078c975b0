"""Scenes of the lesson: plain data, the same numbers as the chart of the step, and no answer before the guess."""

import json
import re

import pytest

from dpforest.risk import classroom
from dpforest.risk.guarantee import MEMBERSHIP
from tests.ui.app_words import words
from ui.learn import lesson_charts, lesson_facts, story
from ui.learn.class_attack import NOISE_SEED, attack
from ui.learn.scenes import scene
from ui.learn.steps import STEPS

BY_KEY = {step.key: step for step in STEPS}
ALL = [(step.key, at) for step in STEPS for at in step.control.options]


@pytest.mark.parametrize("key, at", ALL)
def test_a_scene_is_plain_data_and_the_same_each_time(key, at):
    """Arrays of numpy below the first level would become text, and a scene that changes would play again and again."""
    for shown in (False, True):
        data = scene(key, at, shown).data
        assert json.loads(json.dumps(data)) == data == scene(key, at, shown).data


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
def test_the_scene_hides_the_answer_before_the_guess(step):
    at = step.control.start
    hidden, shown = scene(step.key, at, False), scene(step.key, at, True)
    assert hidden.data != shown.data and hidden.alt != shown.alt
    last = step.control.options[-1]
    if step.key not in ("leaf", "proof"):  # these scenes start from a number of rows or releases, which is no answer
        assert scene(step.key, last, False).data == hidden.data


def test_the_attack_of_the_scene_ends_as_the_chart_says():
    for trees in BY_KEY["class"].control.options:
        assert attack(int(trees), None)[-1] == classroom.marks(int(trees), None, 0).tolist()
    below = lesson_charts.draw("class", "3", True)[2]
    assert "26 rebuilt correctly, 2 wrongly, 2 by a coin" in below and "26 secrets" in scene("class", "3", True).alt


def test_the_noise_of_the_scene_is_the_most_typical_of_its_seeds():
    measured = lesson_facts.measurements()["class"]
    means = [cell["right"] for cell in measured["noisy"]]
    failed, table = classroom.secrets(0), classroom.members(10)

    def distance(seed: int) -> float:
        published = (classroom.published_counts(failed, 10, epsilon, seed) for epsilon in measured["epsilon"])
        right = [classroom.marks_of(classroom.reconstruct(table, counts), failed).sum() for counts in published]
        return sum((a - b) ** 2 for a, b in zip(right, means, strict=True))

    some = {seed: distance(seed) for seed in (NOISE_SEED, *range(20))}
    assert min(some, key=some.__getitem__) == NOISE_SEED


@pytest.mark.parametrize("at", ["0.1", "1", "3"])
def test_the_attacker_stays_below_the_limit(at):
    """The guesses of the scene agree with their formula, which is below the bound for every attacker."""
    expected, limit = lesson_facts.guessed_right(float(at)), lesson_facts.most_right(float(at), MEMBERSHIP)
    (panel,) = scene("promise", at, True).data["panels"]
    hits = panel["draws"].count("1")
    assert expected <= limit and abs(hits - 100 * expected) <= 10  # two standard deviations of a hundred guesses
    assert panel["line"] == 100 * limit


def test_the_first_releases_are_those_that_the_chart_counts():
    first = lesson_facts.first_releases(100, 3)
    assert tuple(int(hits.sum()) for hits in first) == lesson_facts.count(100, 3).paper


def test_the_story_has_a_line_and_a_forest_for_each_step():
    assert list(story.LINES) == list(story.FORESTS) == [step.key for step in STEPS]
    people = r"\b(somebody|someone|anybody|anyone|nobody|persons?|people)\b"
    assert [line for line in (*story.LINES.values(), *story.sentences()) if re.search(people, line)] == []
    assert all(len(line) <= 110 for line in (*story.LINES.values(), *story.FORESTS.values()))


def test_the_ending_follows_the_last_step(app):
    app.query_params.update({"step": "8"})
    page = app.switch_page("pages/5_Lesson.py").run()
    (button,) = [button for button in page.main.button if button.label == "Next →"]
    page = button.click().run()
    assert not page.exception and page.query_params["step"] in ("end", ["end"])
    text = words(page)
    assert story.ENDING in text and "73.2 %" in text and "16.7 right" in text and "more than 18.7" in text
    (back,) = [button for button in page.main.button if button.label == "← Back"]
    assert "Step 8 of 8" in words(back.click().run())
