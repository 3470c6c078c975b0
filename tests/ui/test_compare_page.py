"""The page Compare: its figures equal those of a sweep, a stopped sweep stays stopped, and uploads stay private."""

import json
import re

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpforest import load_dataset
from dpforest.evaluation.headroom import Headroom
from dpforest.plotting.compare import MeasureScale
from dpforest.simulation.metrics import METRICS
from dpforest.simulation.pieces import unpacked
from dpforest.simulation.sweep import surface
from tests.conftest import every
from tests.ui.app_words import words
from tests.ui.test_explore_page import CSV, button
from ui.compare import rules_tab
from ui.compare.comparison_controls import HELD_OUT, WORST, Comparison
from ui.compare.insight import insight
from ui.explore import page as explore
from ui.forest.forests import EPSILONS, FORESTS, MODES
from ui.jobs import time_budget
from ui.jobs.lines import settings_of
from ui.jobs.results import SweepResult
from ui.jobs.sweep_job import Line, splits_of, sweep_job
from ui.shared import tables

FEW = {"data": "zoo", "forests": "RF-E,one greedy tree", "releases_each": "2"}


@pytest.fixture
def compare():
    def opened(**query) -> AppTest:
        page = AppTest.from_file("../../app.py", default_timeout=600)
        page.switch_page("pages/1_Compare.py")
        settings = {**FEW, **query}
        page.query_params.update({k: v.split(",") if k == "forests" else v for k, v in settings.items()})
        page.run()
        assert not page.exception
        return page

    return opened


def drawn(page: AppTest, which: int = 0) -> dict:
    return json.loads(page.get("plotly_chart")[which].proto.spec)


def numbers(values) -> np.ndarray:
    """Return the values of a figure as an array. Plotly may have encoded them as base64."""
    if isinstance(values, dict):
        import base64

        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return np.array(values, float)


def lines(page: AppTest) -> dict[str, np.ndarray]:
    return {t["name"]: numbers(t["y"]) for t in drawn(page)["data"] if t["mode"] == "lines+markers"}


def test_lines_table_and_sentences_equal_those_of_a_sweep(compare):
    page = compare(eps="3")
    data = load_dataset("zoo")
    table = tables.bundled_table(data, data.label)
    forests = {k: settings_of(table, k, "certified", "add-remove").estimator() for k in ("one greedy tree", "RF-E")}
    cells = surface(forests, data, epsilons=EPSILONS, repeats=2)
    for name, values in lines(page).items():
        accuracy = cells[(cells.forest == name) & np.isfinite(cells.epsilon)]
        assert np.allclose(values, accuracy.groupby("epsilon").accuracy.mean())
    shown = page.dataframe[0].value.set_index("forest")
    for name in forests:
        accuracy = cells[cells.forest == name].groupby("epsilon").accuracy.mean()
        assert shown.loc[name, "accuracy"] == pytest.approx(accuracy[3.0])
        assert shown.loc[name, "price of privacy"] == pytest.approx(100 * (accuracy[np.inf] - accuracy[3.0]))
    best = shown["accuracy"].idxmax()
    assert f"At ε = 3, **{best}** comes first: {100 * shown.accuracy.max():.1f} %" in words(page)
    assert "Each point is the mean of 2 simulated releases on one held-out set" in words(page)


def test_as_published_is_dashed_and_shows_its_true_loss(compare):
    page = compare(also_published="true", forests="boosted,RF-E", data="car")
    traces = {t["name"]: t for t in drawn(page)["data"] if t.get("name")}
    assert traces["boosted, as published"]["line"]["dash"] == "dash" and traces["boosted"]["line"]["dash"] == "solid"
    assert all("true loss: no finite bound is known" in text for text in traces["boosted, as published"]["text"])
    assert not any("loss" in text for text in traces["boosted"]["text"])
    assert "Not certified" in words(page)
    assert page.dataframe[0].value.set_index("forest").loc["boosted, as published", "true loss"] == "∞"
    assert "Not certified" not in words(compare(data="car"))


@pytest.mark.slow
def test_five_parts_hold_every_row_out_once(compare):
    page = compare(held_out="every row once, in 5 parts")
    assert "2 simulated releases on each of 5 splits" in words(page)


@pytest.mark.parametrize(
    "n, folds, text",
    [
        (1, 1, "1 simulated release on one held-out set"),
        (7, 5, "2 simulated releases on each of 5 splits, the last on 2 only"),
        (3, 5, "one simulated release on each of 3 splits"),
        (10, 5, "2 simulated releases on each of 5 splits"),
    ],
)
def test_a_result_states_what_its_points_rest_on(n, folds, text):
    assert SweepResult([], n, folds).rests_on == text


@pytest.mark.slow
def test_depth_and_trees_have_a_panel_a_forest(compare):
    spec = drawn(compare(compare_tab="Depth"), 1)
    assert {a["text"] for a in spec["layout"]["annotations"]} == {"RF-E", "one greedy tree"}
    assert sum(t["name"] == "depth 4" for t in spec["data"]) == 2
    spec = drawn(compare(compare_tab="Trees"), 1)
    assert {a["text"] for a in spec["layout"]["annotations"]} == {"RF-E"}


@pytest.mark.parametrize("epsilon", ["0.03", "1", "0.4"])
def test_the_map_names_the_best_depth_and_its_price_at_the_epsilon_of_the_slider(compare, epsilon):
    """The map works for any ε of the slider, whether or not the grid of the forest contains this ε."""
    page = compare(compare_tab="ε × depth", mapped="one greedy tree", eps=epsilon, forests="one greedy tree")
    heat = drawn(page, 1)["data"][0]
    values = numbers(heat["z"]) if isinstance(heat["z"], dict) else np.array(heat["z"])
    values = values.reshape(len(heat["y"]), -1)
    assert len(set(heat["x"])) == len(heat["x"]) and heat["x"] == sorted(heat["x"], key=float)
    at = heat["x"].index(epsilon)
    best = values[:, at].argmax()
    text = words(page)
    sentence = (
        f"At ε = {epsilon} the best depth for one greedy tree is **{heat['y'][best]}**: {100 * values[best, at]:.1f} %"
    )
    assert sentence in text
    assert text.count("; compared with that, the price of privacy is") + text.count("noise costs nothing here") == 1
    (frame,) = [s for s in drawn(page, 1)["layout"]["shapes"] if s["type"] == "rect"]
    assert (frame["x0"], frame["x1"]) == (at - 0.5, at + 0.5)


@pytest.mark.slow
def test_the_map_at_a_typed_epsilon_equals_one_sweep(compare):
    """Compare simulates the slider's ε separately, with the same numbers as a single sweep over the whole grid."""
    page = compare(compare_tab="ε × depth", mapped="RF-E", eps="0.4", forests="RF-E")
    heat = drawn(page, 1)["data"][0]
    shown = numbers(heat["z"]).reshape(len(heat["y"]), -1)
    data = load_dataset("zoo")
    table = tables.bundled_table(data, data.label)
    forest = settings_of(table, "RF-E", "certified", "add-remove").estimator()
    epsilons, depths = [float(e) for e in heat["x"]], [int(d) for d in heat["y"]]
    assert 0.4 in epsilons
    cells = surface({"RF-E": forest}, data, epsilons=epsilons, depths=depths, repeats=5)
    means = cells[np.isfinite(cells.epsilon)].groupby(["depth", "epsilon"]).accuracy.mean().unstack("epsilon")
    assert len(depths) > 5
    assert np.allclose(shown, means.to_numpy(float))


def test_without_a_forest_there_is_a_message(compare):
    page = compare()
    page.multiselect(key="forests").set_value([]).run()
    assert not page.exception and "Choose at least one" in words(page)


def test_a_table_with_bounds_from_the_data_gets_a_warning(compare):
    assert "no forest on this table would be certified" in words(compare(data="cmc"))


def test_two_uploads_of_one_shape_are_not_mixed_up(compare):
    page = compare(data="upload a CSV", forests="RF-E")
    page.file_uploader[0].upload("people.csv", CSV.encode()).run()
    first = lines(page)
    flipped = CSV.replace(";ja", ";x").replace(";nein", ";ja").replace(";x", ";nein").replace("Bonn", "Köln")
    page.file_uploader[0].upload("people.csv", flipped.encode()).run()
    assert not page.exception
    assert not np.array_equal(lines(page)["RF-E"], first["RF-E"])


def test_a_stopped_sweep_stays_stopped_until_somebody_goes_on(compare, monkeypatch):
    """A stopped sweep waits until a user presses “Go on”.

    The test sets the key of “Stop”, because this button is visible only during the work.
    """
    page = compare(forests="RF-E", data="nursery")
    assert not any(b.label in ("Stop", "Go on") for b in page.button)
    keys = []
    real = time_budget.stoppable
    monkeypatch.setattr(time_budget, "stoppable", lambda key, place: keys.append(key) or real(key, place))
    page.select_slider(key="releases_each").set_value(8).run()
    page.session_state["stopped"] = keys[-1]
    page.select_slider(key="releases_each").set_value(20).run()
    assert "mean of 20 simulated" in words(page)  # a moved control starts other work
    page.session_state["stopped"] = keys[-1]
    page.run()
    assert button(page, "Go on") and "Stopped." in words(page)
    button(page, "Go on").click().run()
    assert not any(b.label == "Go on" for b in page.button)


@pytest.mark.parametrize(
    ("kind", "mode"), [(kind, mode) for kind, compared in FORESTS.items() for mode in compared.modes()]
)
def test_every_forest_starts_from_what_explore_shows(app, kind, mode, monkeypatch):
    """Compare starts each forest with the default settings of Explore's sidebar."""
    asked = []

    def ask(table, line, **more):
        asked.append((table, line.settings))
        st.stop()

    monkeypatch.setattr(explore, "sweep_job", ask)
    app.query_params.clear()
    app.query_params.update({"data": "car", "forest": kind, "mode": mode})
    app.run()
    table, settings = asked[-1]
    ours = settings_of(table, kind, MODES[mode], "add-remove")
    theirs, compared = settings.parameters(), ours.parameters()
    if kind == "boosted":
        assert theirs.pop("alpha") in (0.0, "published")  # Compare does not set α, so it has the estimator's default
    assert compared == theirs


def some_cells(means: dict[str, float], spread: float = 0.01) -> SweepResult:
    rows = [
        {
            "forest": name,
            "epsilon": e,
            "depth": 1,
            "trees": 1,
            "repeat": r,
            "fold": 0,
            **dict.fromkeys(METRICS, value),
            "flips": 0.0,
            "empty": 0.0,
        }
        for name, m in means.items()
        for e in (1.0, 3.0)
        for r, value in enumerate((m - spread, m, m + spread))
    ]
    return SweepResult(rows, 3, 1)


def test_the_insight_names_the_best_its_equals_and_the_useless():
    view = Comparison(("a", "b", "c"), False, "add-remove", 1.0, 3, 1, "accuracy", True)
    scale = MeasureScale("accuracy", True, 0.6, 0.9)

    def insight_for(means: dict[str, float]) -> str:
        learns = {name: Headroom(0.6, 0.8, mean, 0.9, 0.01) for name, mean in means.items()}
        return insight(view, some_cells(means), scale, learns)

    text = insight_for({"a": 0.8, "b": 0.79, "c": 0.5})
    assert text.startswith("At ε = 1, **a** comes first: 80.0 %, 10.0 points below the best without privacy.")
    assert "in another release, b may be ahead of it." in text and text.endswith("Worse than guessing at this ε: c.")
    clear = insight_for({"a": 0.8, "b": 0.7})
    assert "overlaps" not in clear and "Worse than guessing" not in clear
    many = dict.fromkeys("bcde", 0.79)
    assert "in another release, all 4 others may be ahead of it" in insight_for({"a": 0.8, **many})
    assert "in another release, 4 of the 5 others may be ahead of it" in insight_for({"a": 0.8, **many, "f": 0.7})


@pytest.mark.slow
def test_a_measure_that_needs_two_classes_gets_a_message(compare):
    rows = "".join(f"{i % 9};{'yes' if i == 3 else 'no'}\n" for i in range(60))
    page = compare(data="upload a CSV", compared="AUC", forests="RF-E")
    page.file_uploader[0].upload("rare.csv", ("size;ill\n" + rows).encode()).run()
    for tab in ("Table", "Depth", "ε × depth"):
        page.query_params["compare_tab"] = tab
        page.run()
        assert not page.exception and "cannot be measured here" in words(page)
        assert "nan" not in words(page)


def settings_in_link(page: AppTest) -> dict:
    """Return the settings of single forests that the link of the page holds."""
    return json.loads("".join(page.query_params["own"])) if "own" in page.query_params else {}


def test_settings_of_one_forest_are_in_its_name_its_line_and_the_link(compare):
    page = compare(forests="one greedy tree,RF-E")
    by_rule = lines(page)
    page.selectbox(key="settings_of").set_value("RF-E").run()
    page.select_slider(key="setting_RF-E_depth").set_value(2).run()
    page.select_slider(key="setting_RF-E_trees").set_value(3).run()
    assert not page.exception and settings_in_link(page) == {"RF-E": {"depth": 2, "trees": 3}}
    drawn_lines = lines(page)
    assert np.array_equal(drawn_lines["one greedy tree"], by_rule["one greedy tree"])
    data = load_dataset("zoo")
    forest = FORESTS["RF-E"].estimator(max_depth=2, n_estimators=3)
    expected = surface({"own": forest}, data, epsilons=EPSILONS, repeats=2).groupby("epsilon").accuracy.mean()
    assert np.allclose(drawn_lines["RF-E (depth 2, 3 trees)"], expected[np.isfinite(expected.index)])
    page.select_slider(key="eps").set_value(0.1).run()  # a moved ε must not change the settings of the line
    row = page.dataframe[0].value.set_index("forest").loc["RF-E (depth 2, 3 trees)"]
    assert (row["depth"], row["trees"]) == (2, 3)
    button(page, "All forests with default settings").click().run()
    assert set(lines(page)) == set(by_rule) and settings_in_link(page) == {}
    assert page.select_slider(key="setting_RF-E_depth").value == "by rule"


def test_settings_of_one_forest_come_with_a_link_and_survive_another_page(compare):
    linked = '{"boosted":{"depth":3,"share":"30%"}}'
    page = compare(forests="boosted", own=linked)
    name = "boosted (depth 3, Share of ε for the questions: 30%)"
    assert set(lines(page)) == {name}
    assert page.select_slider(key="setting_boosted_depth").value == 3
    page.switch_page("pages/3_Audit.py").run()
    page.query_params.clear()
    page.switch_page("pages/1_Compare.py").run()
    assert not page.exception and name in lines(page)
    assert settings_in_link(page) == json.loads(linked)


@pytest.mark.parametrize(
    "linked",
    [
        '{"RF-E":{"depth":"2"}}',
        '{"RF-E":{"depth":99,"trees":0}}',
        '{"RF-E":{"voting":"majority"}}',
        '{"oak<b>":{"depth":2}}',
        "[",
        '{"RF-E":{"depth":true}}',
        '{"RF-E":3}',
        "[" * 3000,
        '{"JPW":{"leaf":[1]}}',
    ],
)
def test_unknown_settings_in_a_link_are_ignored_with_a_message(compare, linked):
    page = compare(forests="RF-E", own=linked)
    assert set(lines(page)) == {"RF-E"} and settings_in_link(page) == {}
    assert words(page).count("Ignored, because no forest has these settings of the link") == 1


@pytest.mark.parametrize("held_out", every(2, ["three tenths, once", "every row once, in 5 parts"]))
def test_the_code_of_the_grid_gives_the_page_its_numbers(compare, held_out):
    page = compare(
        forests="RF-E,one greedy tree", own='{"RF-E":{"depth":2}}', eps="4", also_published="true", held_out=held_out
    )
    (code,) = [c.value for c in page.sidebar.code if "surface(" in c.value]
    namespace: dict = {}
    exec(code.replace("n_jobs=-1", "n_jobs=1"), namespace)
    means = namespace["grid"].groupby(["forest", "epsilon"]).accuracy.mean()
    for name, values in lines(page).items():
        assert np.allclose(values, means[name][np.isfinite(means[name].index)])
    assert means["RF-E (depth 2)", 4.0] == pytest.approx(
        page.dataframe[0].value.set_index("forest").loc["RF-E (depth 2)", "accuracy"]
    )


@pytest.mark.slow
def test_alpha_has_a_line_for_each_strategy_and_states_which_differ(compare):
    page = compare(compare_tab="α and voting", eps="3", forests="RF-E")
    spec = drawn(page, 1)
    names = [t["name"] for t in spec["data"] if t["mode"] == "lines+markers"]
    assert names[:4] == ["α = 0", "α = 0.1", "α = 0.5", "α = 1"] and len(names) == 7
    assert "At ε = 3, “**α" in words(page) and "mean of 5 simulated releases" in words(page)


def test_voting_rules_have_a_line_each_and_equal_a_sweep(compare):
    """Each line is the forest of the sidebar with another voting rule, and all lines share their trees and noise."""
    forest = '{"noisy counts":{"depth":3,"trees":9,"voting":"majority"}}'
    page = compare(compare_tab="α and voting", varied="voting rule", eps="3", forests="RF-E,noisy counts", own=forest)
    drawn_lines = {t["name"]: t for t in drawn(page, 1)["data"] if t["mode"] == "lines+markers"}
    rules = {
        "evidence added up": "log-odds",
        "mean of shares": "threshold",
        "majority": "majority",
        "coin with the mean share": "probabilistic",
    }
    assert list(drawn_lines) == list(rules)
    data = load_dataset("zoo")
    forests = {
        name: FORESTS["noisy counts"].estimator(max_depth=3, n_estimators=9, voting=voting)
        for name, voting in rules.items()
    }
    expected = surface(forests, data, epsilons=[0.01, 0.03, 0.1, 0.3, 1, 3, 10], repeats=5)
    means = expected[np.isfinite(expected.epsilon)].groupby(["forest", "epsilon"]).accuracy.mean()
    for name, line in drawn_lines.items():
        assert np.allclose(numbers(line["y"]), means[name]), name
    text = words(page)
    assert re.search(r"At ε = 3, “\*\*(evidence|mean|majority|coin)", text) and "strategy" not in text
    assert "Noisy counts (depth 3, 9 trees), by how the forest combines the answers of its trees" in text
    assert page.query_params["varied"] in ("voting rule", ["voting rule"])


def test_an_old_link_to_alpha_opens_its_lines(compare):
    """A link from the time before voting rules, which compares values of α, still opens the lines of α."""
    page = compare(compare_tab="α", forests="RF-E")
    assert "Boosted trees, by how questions are judged" in words(page)
    assert page.segmented_control(key="varied").value == "α"


def test_strategies_that_differ_by_chance_are_reported_as_equal():
    def sentence_for(apart_by: float) -> str:
        rows = [
            {"forest": name, "epsilon": e, "repeat": r, "fold": 0, "n_test": 10_000, "accuracy": value + r / 1_000}
            for e in (0.1, 1.0)
            for r in range(5)
            for name, value in (("α = 0", 0.8), ("α = 1", 0.8 - apart_by * (e == 1)))
        ]
        done = SweepResult(rows, 5, 1)
        scale = MeasureScale("accuracy", True, None, None)
        return rules_tab.sentence(rules_tab.compare_lines(done, "accuracy", 10_000), 1.0, scale, "strategy")

    assert sentence_for(0.05).endswith(
        "Behind it by more than luck: α = 1 (5.0 points). At ε = 0.1, the smallest compared, no strategy is behind the "
        "best by more than luck."
    )
    assert sentence_for(0.004).endswith(" At every ε here, no strategy is behind the best by more than luck.")


def test_lines_are_compared_over_the_releases_that_all_of_them_have():
    """Lines are compared over the releases that all lines have.

    In this test, one line has additional lucky releases, which must not count.
    """
    rows = [
        {"forest": name, "epsilon": 1.0, "repeat": r, "fold": 0, "n_test": 10_000, "accuracy": value + (r >= 2) / 10}
        for name, value, n in (("α = 0", 0.80, 8), ("α = 1", 0.85, 2))
        for r in range(n)
    ]
    text = rules_tab.sentence(
        rules_tab.compare_lines(SweepResult(rows, 2, 1), "accuracy", 10_000),
        1.0,
        MeasureScale("accuracy", True, None, None),
        "strategy",
    )
    assert text.startswith("At ε = 1, “**α = 1**” comes first: 85.0 % over 2 simulated releases of each strategy.")


@pytest.mark.parametrize("held_out", ["three tenths, once", "every row once, in 5 parts"])
def test_the_worst_group_is_that_of_the_held_out_rows(compare, held_out):
    page = compare(data="cmc", compared=WORST, groups_by="Wifes_now_working?", held_out=held_out, eps="1")
    measured = lines(page)
    assert drawn(page)["layout"]["yaxis"]["tickformat"] == ".0%"
    page.selectbox(key="compared").select("accuracy").run()
    assert not page.exception
    for name, accuracy in lines(page).items():
        assert (measured[name] <= accuracy).all() and (measured[name] > 0).all()
    table = tables.bundled_table(tables.bundled("cmc"), tables.bundled("cmc").label)
    folds = HELD_OUT[held_out]
    job = sweep_job(table, Line(settings_of(table, "RF-E", "certified", "add-remove"), EPSILONS), folds)
    by_group = []
    for row in job.rows(job.n_done):
        if row["epsilon"] == 1:
            split = splits_of(table, folds)[row["fold"]]
            working = split.X_test[:, table.domain.names.index("Wifes_now_working?")]
            (right,) = unpacked([row["right"]], len(working))
            by_group.append(min(right[working == code].mean() for code in np.unique(working)))
    name = next(name for name in measured if name.startswith("RF-E"))
    assert measured[name][list(EPSILONS).index(1.0)] == pytest.approx(np.mean(by_group))


@pytest.mark.parametrize("tab", ["Table", "Depth", "ε × depth", "α and voting"])
def test_tabs_measure_the_worst_group(compare, tab):
    page = compare(data="breast_wisconsin", compared=WORST, compare_tab=tab, groups_by="Mitoses")
    assert not page.exception and "accuracy of the worst group" in words(page).lower()


def test_a_table_without_a_large_group_has_no_worst_group(compare):
    assert "No group of “legs” has 50 held-out members" in words(compare(compared=WORST, groups_by="legs"))
