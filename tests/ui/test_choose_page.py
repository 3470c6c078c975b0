"""The page Choose ε: its answer equals the engine's, its tabs show the chosen forest, and its sentences are true."""

import json
import math
import re

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpforest.evaluation.smallest_epsilon import N_FIRST, Reach, least_n, smallest_epsilon
from tests.ui.app_words import words
from tests.ui.test_explore_page import button
from ui.choose import answers as page_answers
from ui.choose import membership, report, wish_controls
from ui.choose.answers import Answers
from ui.forest.forests import EPSILONS, FORESTS
from ui.jobs import baselines
from ui.jobs.lines import settings_of
from ui.jobs.results import SweepResult, gathered
from ui.jobs.sweep_job import Line, sweep_job
from ui.shared import tables

KINDS = ["one greedy tree", "RF-E"]
SMALL = "congressional_voting"  # tests with many releases use this table


@pytest.fixture
def choose(monkeypatch):
    """Return a function that opens the page with two forests."""
    monkeypatch.setattr(wish_controls, "kinds", lambda: KINDS)

    def opened(**query) -> AppTest:
        page = AppTest.from_file("../../app.py", default_timeout=600)
        page.switch_page("pages/2_Choose_epsilon.py")
        page.query_params.update({"data": SMALL, "sure": "8 in 10 releases", **query})
        page.run()
        assert not page.exception
        return page

    return opened


def engine_answer(kind: str, needed: float, share: float, measure: str = "accuracy", name: str = SMALL):
    """Return the answer that the engine computes from the app's releases. Simulate as many as the check needs."""
    data = tables.bundled(name)
    table = tables.bundled_table(data, data.label)
    line = sweep_job(table, Line(settings_of(table, kind, "certified", "add-remove")))
    list(line.work(N_FIRST))
    n = least_n(measure, baselines.baselines_of(table).labels)
    rows = [row for row in line.rows(N_FIRST) if math.isfinite(row["epsilon"])]
    first = np.array([row[measure] for row in sorted(rows, key=lambda row: (row["repeat"], row["epsilon"]))])
    reach = Reach.of(np.array(EPSILONS), first.reshape(N_FIRST, -1), share, n, len(KINDS))

    def further(epsilon: float) -> np.ndarray:
        job = sweep_job(table, Line(line.line.settings, (epsilon,)))
        list(job.work(N_FIRST + 400))
        return np.array([row[measure] for row in job.rows(N_FIRST + 400) if row["epsilon"] == epsilon])[N_FIRST:]

    return smallest_epsilon(kind, reach, needed, share, n, further, len(KINDS))


def looked_at(page: AppTest) -> tuple[str, float]:
    return page.selectbox(key="looked_at").value, page.select_slider(key="look_eps").value


@pytest.mark.parametrize(
    ("measure", "key", "need"),
    [pytest.param("accuracy", "need", "80.0", marks=pytest.mark.slow), ("AUC", "need_auc", "0.8")],
)
def test_the_answer_equals_that_of_the_engine_and_is_selected(choose, measure, key, need):
    page = choose(needed=measure, **{key: need})
    value, column = (float(need) / 100, "accuracy") if key == "need" else (float(need), "auc")
    first = min((engine_answer(kind, value, 0.8, column) for kind in KINDS), key=lambda a: a.epsilon or math.inf)
    assert first.is_sure
    asked = f"{need} %" if key == "need" else need
    assert f"**Smallest ε for {asked}:** **{first.epsilon:g}**, with **{first.forest}**" in words(page)
    assert f"is checked: {first.check.reached} of {first.check.releases} further simulated releases reach" in words(
        page
    )
    assert looked_at(page) == (first.forest, first.epsilon)
    curve, dots = (json.loads(chart.proto.spec) for chart in page.get("plotly_chart")[:2])
    assert f"{first.forest} at ε = {first.epsilon:g}" in json.dumps(dots, ensure_ascii=False)
    assert "less the margin" in json.dumps(curve, ensure_ascii=False)


def test_the_figure_of_a_forest_is_that_of_explore(choose):
    page = choose(need="80.0", looked_at="RF-E", look_eps="1")
    curve = json.loads(page.get("plotly_chart")[0].proto.spec)
    text = next(text for trace in curve["data"] for text in trace.get("text", []) if "ε = 1:" in text)
    data = tables.bundled(SMALL)
    table = tables.bundled_table(data, data.label)
    result = gathered([sweep_job(table, Line(settings_of(table, "RF-E", "certified", "add-remove")))])
    mean = float(result.private("accuracy")[:, list(result.epsilons).index(1.0)].mean())
    assert f"ε = 1: {100 * mean:.1f} % on average" in text


def test_a_value_that_guessing_reaches_is_not_checked(choose):
    text = words(choose(margin="false", need="61.0"))
    assert "**61.0 % needs no forest and no ε.**" in text and "The line is" in text and "The check of" not in text


def test_without_further_releases_no_answer_is_sure(choose, monkeypatch):
    monkeypatch.setattr(Answers, "check", lambda self, forests, place: iter(()))
    text = words(choose(need="70.0"))
    assert "The check of " in text and "so at least" not in text


def test_releases_of_the_choice_have_no_part_in_the_check():
    data = tables.bundled(SMALL)
    table = tables.bundled_table(data, data.label)
    line = sweep_job(table, Line(settings_of(table, "RF-E", "certified", "add-remove")))
    list(line.work(N_FIRST + 2))
    further = page_answers._check_values(line, 1.0, "accuracy")
    rows = [row for row in line.rows(N_FIRST + 2) if row["epsilon"] == 1.0]
    assert further[:2].tolist() == [row["accuracy"] for row in rows[N_FIRST:]]


def test_a_first_look_says_that_it_is_one():
    data = tables.bundled(SMALL)
    table = tables.bundled_table(data, data.label)
    line = sweep_job(table, Line(settings_of(table, "RF-E", "certified", "add-remove")))
    list(line.work(N_FIRST))
    rows, labels = line.rows(N_FIRST), baselines.baselines_of(table).labels
    wish = wish_controls.Wish(0.9, "certified", "add-remove", True, 0.5, 1)
    one, few = [[row for row in rows if row["repeat"] == 0], [r for r in rows if r["epsilon"] in (0.05, 10, math.inf)]]
    for some, n, first_look, partial in ((one, 1, True, False), (few, 3, True, True), (rows, 3, False, False)):
        shown = Answers({"RF-E": line}, SweepResult(some, n, 1), 0.8, wish, labels)
        assert (shown.is_first_look, shown.is_partial) == (first_look, partial)
        assert not shown.sorted()[0].is_sure or not first_look


def test_the_recommended_forest_is_opened_at_the_shown_epsilon(choose):
    page = choose(need="80.0", looked_at="RF-E", look_eps="0.1")
    assert "At ε = 0.1 and for" in words(page)
    button(page, "Look at it").click().run()
    assert not page.exception and looked_at(page) == ("one greedy tree", 0.1) and "**this forest**" in words(page)


def test_the_shown_forest_can_be_released_here(choose):
    page = choose(need="80.0")
    button(page, "Release this forest").click().run()
    assert not page.exception
    assert button(page, f"Release for ε = {looked_at(page)[1]:g}")


def test_the_selected_epsilon_follows_the_answer_until_it_is_moved(choose):
    page = choose(need="65.0")
    low = looked_at(page)[1]
    page.slider(key="need").set_value(80.0).run()
    assert looked_at(page)[1] > low
    page.select_slider(key="look_eps").set_value(5.0).run()
    page.slider(key="need").set_value(65.0).run()
    assert looked_at(page)[1] == 5.0 and not page.exception


def test_an_accuracy_that_no_forest_reaches_gets_a_message(choose):
    page = choose(need="99.5")
    assert "We cannot show that a forest reaches 99.5 %" in words(page)
    assert looked_at(page)[1] == 1.0


def test_pure_epsilon_has_bounds_and_a_claim_has_none(choose):
    text = words(choose(need="80.0", look_eps="1"))
    assert "more than 2.72 times" in text and "No bound is proved" not in text
    text = words(choose(need="80.0", mode="as published"))
    assert "Not certified" in text and "No bound is proved" in text and "more than 2.72 times" not in text


def test_a_leaking_schema_promises_nothing(choose):
    page = choose(data="magic", look_eps="1", need="70.0")
    text = words(page)
    assert "no forest on this table would be certified" in text and "No bound is proved" in text
    assert "2.72" not in text and "no exception" not in text
    page.toggle(key="if_public").set_value(True).run()
    text = words(page)
    assert "Not promised now. If the schema of this table were public" in text and "2.72" in text


@pytest.mark.slow
def test_under_replace_one_only_values_are_mentioned(choose):
    def questions(page: AppTest) -> list[str]:
        return [option for control in page.segmented_control for option in control.options]

    assert "who is in the table" in questions(choose(look_eps="1", need="80.0"))
    assert "who is in the table" not in questions(choose(neighbors="a row exchanged", look_eps="1", need="80.0"))


@pytest.mark.slow
def test_the_report_holds_the_sentences_of_the_page(choose, monkeypatch):
    made = []
    monkeypatch.setattr(
        report.ReportButton, "draw", lambda self, is_early: made.append(self._make(self._table, self._column))
    )
    choose(choose_tab="Report", need="80.0", rows_each="3", prior="10 %")
    html = made[-1]
    first = min((engine_answer(kind, 0.8, 0.8) for kind in KINDS), key=lambda a: a.epsilon or math.inf)
    assert f"{first.epsilon:g}" in html and "80.0 %" in html and first.forest in html
    assert "NOT certified" not in html
    choose(choose_tab="Report", need="80.0", mode="as published")
    assert "NOT certified" in made[-1] and "What is promised" not in made[-1]


@pytest.mark.slow
def test_the_report_has_rates_by_group_if_they_are_wanted(choose, monkeypatch):
    page, pages = choose(choose_tab="Report", data="cmc", need="45.0"), []
    assert page.toggle(key="report_groups").value is False and "groups_by" not in [box.key for box in page.selectbox]

    def pressed(label, page, *more, **settings):
        pages.extend([page] if label == "Download the report" else [])

    monkeypatch.setattr(st, "download_button", pressed)
    page.toggle(key="report_groups").set_value(True).run()
    page.selectbox(key="groups_by").select("Wifes_religion").run()
    assert not page.exception and "by “Wifes_religion”" in pages[-1] and "Not covered by ε" in pages[-1]
    sizes = re.findall(r"<td>[01]</td>\s*<td class=\"n\">([\d,]+)</td>", pages[-1])
    assert len(sizes) == 2 and sum(map(int, sizes)) == 442
    page.toggle(key="report_groups").set_value(False).run()
    assert "Not covered by ε" not in pages[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_an_attack_is_run_and_stays_until_the_record_changes(choose, kind, monkeypatch):
    for name in ("SECONDS", "GREEDY_SECONDS"):
        monkeypatch.setattr(membership, name, 0.5)
    page = choose(choose_tab="Attack it", need="80.0", looked_at=kind, look_eps="1")
    assert "guesses**" not in words(page)
    button(page, "Attack this record").click().run()
    assert not page.exception and "guesses**" in words(page)
    page.run()
    assert "guesses**" in words(page)
    button(page, "Take the").click().run()
    assert not page.exception
    page.number_input(key="member_row").set_value(7).run()
    assert not page.exception and "guesses**" not in words(page)


@pytest.mark.slow
def test_the_need_for_more_data_is_computed(choose):
    page = choose(data="zoo", choose_tab="More data", need="50.0")
    button(page, "Work it out").click().run()
    assert not page.exception
    assert "for an average accuracy of 50.0 %" in words(page) or "No number" in words(page) or "rows" in words(page)
    assert len(page.get("plotly_chart")) == 4
    assert "as accurate as at ε = " in words(page) or "as accurate at ε = " in words(page)


def test_without_an_answer_there_is_no_button_to_it(choose):
    page = choose(need="100.0", look_eps="10")
    assert "at any ε that we simulate (up to 10)" in words(page)
    assert [b.label for b in page.button if b.label.startswith("Look at the answer")] == []


@pytest.mark.slow
def test_more_data_name_their_forest_and_compare_no_guesses(choose):
    page = choose(data="zoo", choose_tab="More data", need="60.0", look_eps="0.05")
    name = page.selectbox(key="looked_at").value
    assert f"Accuracy with more rows: {name}" in words(page)
    button(page, "Work it out").click().run()
    text = words(page)
    assert not page.exception and "**No number of rows can be given.** At ε = 0.05" in text
    page.run()
    assert words(page).count("Rows in exchange for ε") == text.count("Rows in exchange for ε")


@pytest.mark.parametrize(("kind", "epsilon", "shown"), [("one greedy tree", "0.012", 0.012), ("RF-E", "25", 10.0)])
def test_more_data_show_only_epsilons_that_are_simulated(choose, kind, epsilon, shown):
    page = choose(data="zoo", choose_tab="More data", need="50.0", looked_at=kind, look_eps=epsilon)
    button(page, "Work it out").click().run()
    assert not page.exception
    assert ("so these figures are for ε = 10 instead of 25" in words(page)) == (epsilon == "25")
    drawn = str(page.session_state["figures"]["Rows in exchange for ε"].drawn)
    assert f"ε = {shown:g}" in drawn and "ε = 25" not in drawn


def test_the_share_of_releases_starts_at_nine_in_ten(choose):
    page = AppTest.from_file("../../app.py", default_timeout=600)
    page.switch_page("pages/2_Choose_epsilon.py")
    page.query_params.update({"data": SMALL, "need": "80.0"})
    page.run()
    assert page.selectbox(key="sure").value == "9 in 10 releases"
    checked = re.search(r"is checked: (\d+) of (\d+) further simulated releases .* So at least ([\d.]+) %", words(page))
    assert int(checked[2]) >= 46 and 90 <= float(checked[3]) <= 100 * int(checked[1]) / int(checked[2])


def test_every_forest_is_compared():
    assert wish_controls.kinds() == list(FORESTS)


def test_nothing_stops_the_work(choose):
    page = choose(need="80.0")
    assert not any(b.label in ("Stop", "Go on") for b in page.button)


@pytest.mark.parametrize("measure", ["accuracy", "balanced accuracy", "AUC"])
def test_each_measure_has_a_slider_from_guessing_on(choose, measure):
    page = choose(needed=measure)
    slider = page.slider(key="need_auc" if measure == "AUC" else "need")
    assert slider.label == ("AUC" if measure == "AUC" else measure.capitalize()) + " that you need"
    assert slider.min == {"accuracy": 61.0, "balanced accuracy": 50.0, "AUC": 0.5}[measure]
    assert slider.min < slider.value < slider.max


def test_held_out_rows_of_one_class_get_a_message(choose):
    page = choose(data="upload a CSV")
    rows = "\n".join(f"{i % 7},{'q' if i == 3 else 'p'}" for i in range(40))
    page.file_uploader[0].upload("rare.csv", f"a,c\n{rows}\n".encode()).run()
    assert not page.exception and "guessing" in words(page)


@pytest.mark.parametrize("room", ["What it means", "More data"])
def test_the_largest_epsilon_may_be_needed(choose, room):
    page = choose(data="zoo", need="100.0", choose_tab=room)
    assert not page.exception and "100.0 %" in words(page)
