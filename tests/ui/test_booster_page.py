"""The random-tree booster on the pages (AppTest): its first view, the effect of δ, and its figures."""

import math
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpforest import ReleasedForest
from dpforest.explain import AddedScores
from dpforest.models.base import AUTO
from dpforest.risk.guarantee import guarantee_of
from dpforest.risk.rounding import percent_up
from dpforest.simulation.sweep import simulation_for
from tests.ui.app_words import words
from ui.choose import membership, report
from ui.choose import wish_controls as choose_controls
from ui.choose.answers import Answers
from ui.choose.wish_controls import Wish
from ui.compare import comparison_controls
from ui.compare.comparison_controls import Comparison
from ui.explore import headline, rounds_tab
from ui.explore.other_forests import OtherForests
from ui.forest.forests import EPSILONS, TREES, ForestSettings, as_code, as_it_comes
from ui.jobs import baselines
from ui.jobs.measures import scale_of
from ui.jobs.results import SweepResult, gathered
from ui.jobs.sweep_job import Line, Releases, sweep_job
from ui.releasing import release
from ui.shared import tables
from ui.shared.attribute_effects import reversal_chance
from ui.shared.loss_words import success_share
from ui.shared.sidebar import Choice

KIND = "random-tree booster"
DELTAS = (0.0, 1e-6)


@pytest.fixture
def page(app) -> AppTest:
    """Return Explore with the booster, on a small table."""
    del app.query_params["trees"]
    app.query_params.update({"data": "breast_wisconsin", "forest": KIND})
    return app


def settings(delta: float, epsilon: float = 1.0, trees: int | str = 8) -> ForestSettings:
    return ForestSettings(KIND, "certified", epsilon, AUTO, trees, "add-remove", (("delta", delta),))


def table():
    return tables.bundled_table(tables.bundled("breast_wisconsin"), "Class")


def test_the_booster_starts_without_delta(page):
    page.run()
    assert not page.exception
    assert page.sidebar.selectbox[2].value == KIND
    assert not page.toggle(key="delta").value
    assert "a public rule recommends" in words(page)
    assert "δ = 0: if two tables differ in one row (or person), any set of results is at most e^ε times" in words(page)
    assert "What ε = 1 means" in words(page)


@pytest.mark.slow
def test_the_card_is_the_same_whether_or_not_the_schema_is_public(page):
    """The figure states the limit that follows from the exact trade-off curve of Gaussian noise.

    ε and δ alone would give 73.2 %.
    """
    page.query_params["delta"] = "true"
    page.run()
    assert "≤ 54.8 of 100" in words(page)
    public = table()
    leaking = replace(public, domain=replace(public.domain, classes_source="data"))
    certificate, ledger = settings(1e-6).estimator(leaking.domain).preview(leaking.domain, len(leaking.frame))
    assert not certificate.certified
    _, value, note, _ = headline._meaning(Choice(leaking, settings(1e-6)), certificate, ledger)
    assert value == "≤ 54.8 of 100" and note.endswith("Not promised until all parts of the schema are public.")


def test_delta_changes_the_budget_tab_and_the_code(page):
    page.query_params.update({"delta": "true", "tab": "Budget"})
    page.run()
    text = words(page)
    assert page.toggle(key="delta").value
    assert "What ε = 1 at δ = 10⁻⁶ means" in text
    assert "The costs of Gaussian noise add up in μ², not in ε" in text
    assert "Number of rows: asked **once** at μ² = " in text
    assert "tree by tree: **" in text
    assert "δ = 1e-06" in page.code[0].value
    assert page.dataframe[0].value["what"].tolist()[0] == "number of rows"


def test_there_is_no_paper_that_it_could_be_published_as(page):
    page.query_params.update({"mode": "as published"})
    page.run()
    assert not page.exception
    assert page.sidebar.radio(key="mode").options == ["certified"]
    assert "Not certified" not in [badge.value for badge in page.main.get("badge")]


@pytest.mark.parametrize("delta", ["false", "true"])
@pytest.mark.parametrize(("data", "label"), [("breast_wisconsin", "Class"), ("zoo", "type")])
def test_the_tree_tab_explains_the_booster(page, data, label, delta):
    page.query_params.update({"data": data, "label": label, "delta": delta, "tab": "Tree"})
    page.session_state["follow"] = True
    page.run()
    assert not page.exception
    text = words(page)
    for expected in (
        "Accuracy by round",
        "What moves the scores",
        "The effect of one attribute",
        "The scores vote for",
        "Noise alone would have reversed it in ",
        "Before any question, the score is",
    ):
        assert expected in text, expected


@pytest.mark.parametrize("data", ["breast_wisconsin", "zoo"])
def test_the_leaves_tab_shows_both_flip_rates(page, data):
    page.query_params.update({"data": data, "tab": "Leaves"})
    page.run()
    assert not page.exception
    assert "changes the sign of the leaf’s step in **" in words(page)
    assert "and noise alone reverses it in about **" in words(page)
    assert "–" not in words(page).split("changes the sign of the leaf’s step", 1)[1].split("releases", 1)[0]


@pytest.mark.parametrize("delta", DELTAS)
def test_accuracy_by_round_ends_at_that_of_the_release(delta):
    data = table()
    estimator = settings(delta).estimator(data.domain)
    simulation = simulation_for(estimator, data.domain, tables.split(data))
    ((row,),) = simulation.pieces([1.0])
    view, held = simulation.view(1.0), tables.split(data)
    at, accuracy = rounds_tab.accuracy_by_round(view, held.X_test, held.y_test)
    assert at.tolist() == list(range(1, 9))
    assert accuracy[-1] == pytest.approx(row["accuracy"])


@pytest.mark.parametrize(("n_classes", "scores", "wanted"), [(2, [-2.0, 2.0], 0.0228), (3, [1.5, -0.5, -1.0], 0.1241)])
def test_how_likely_noise_alone_turns_a_prediction(n_classes, scores, wanted):
    """The chance matches values by hand. With three classes, the lead is a difference of two scores."""
    data = tables.bundled_table(tables.bundled("breast_wisconsin"), "Class")
    forest = settings(0.0, trees=1).estimator(data.domain).fit(data.columns(), data.frame["Class"]).released_
    added = AddedScores.of(forest)
    domain = tables.bundled("cmc").domain if n_classes == 3 else added.domain
    assert domain.n_classes == n_classes
    one = AddedScores(added.trees, domain, added.leaf_scores, noise=1.0)
    assert reversal_chance(one, np.array(scores)) == pytest.approx(wanted, abs=1e-4)
    unknown = AddedScores(added.trees, domain, added.leaf_scores)
    assert math.isnan(reversal_chance(unknown, np.array(scores)))


def test_the_simulation_reports_points_as_they_are_computed_and_keeps_them():
    """An interrupted repeat keeps its points, computes the missing points later, and gives the same figures."""
    data = table()
    line = Line(replace(settings(0.0, trees=3), epsilon=10.0), (0.1, 1.0, 10.0))
    jobs = [Releases(line, data.domain, lambda: [tables.split(data)], 1, len(data.frame)).job(line) for _ in range(2)]
    whole, ended = jobs
    for _ in whole.work(1):
        pass
    steps = ended.work(1)
    while not ended.so_far():
        next(steps)
    steps.close()
    first = ended.so_far()
    # The page first computes the ε of the slider, which is 10, and the values of ε near it.
    assert first and 0.1 not in first
    assert ended.n_done == 0
    seen: list[dict[float, float]] = []
    for _ in ended.work(1):
        seen.append(ended.so_far())
    assert all(first.items() <= so_far.items() for so_far in seen)
    assert sorted(seen[-1]) == [0.1, 1.0, 10.0, math.inf]
    assert gathered([ended]).pieces.equals(gathered([whole]).pieces)


def test_compare_also_has_the_booster_with_delta_if_selected():
    view = Comparison((KIND, "JPW"), True, "add-remove", 1.0, 2, 1, "accuracy", True)
    plain = [KIND, "JPW", "JPW, as published"]
    assert [line.name for line in comparison_controls.lines(view, table())] == plain
    lines = comparison_controls.lines(replace(view, delta=True), table())
    assert [line.name for line in lines] == [KIND, "JPW", f"{KIND}, δ = 10⁻⁶", "JPW, as published"]
    assert [line.settings.delta for line in lines] == [0.0, 0.0, 1e-6, 0.0]


def test_compare_explains_dash_dotted_lines():
    page = AppTest.from_file("../../app.py", default_timeout=600)
    page.switch_page("pages/1_Compare.py")
    page.query_params.update({"data": "breast_wisconsin", "also_delta": "true", "releases_each": "2"})
    page.query_params["forests"] = [KIND]
    page.run()
    assert not page.exception
    assert "Dash-dotted lines have a weaker promise" in words(page)
    shown = page.dataframe[0].value.set_index("forest")
    assert shown.loc[f"{KIND}, δ = 10⁻⁶", "true loss"] == "1 at δ = 10⁻⁶"
    assert shown.loc[KIND, "true loss"] == "1"


@pytest.mark.refined
def test_if_a_forest_learns_nothing_the_booster_is_offered_with_both_deltas():
    choice = Choice(table(), as_it_comes("JPW", "certified", 1.0, "add-remove"))
    others = OtherForests(choice)
    assert [other.name for other, _ in others._queue][:2] == [KIND, f"{KIND}, δ = 10⁻⁶"]
    others_of_booster = OtherForests(Choice(table(), as_it_comes(KIND, "certified", 1.0, "add-remove")))
    assert [other.name for other, _ in others_of_booster._queue][0] == f"{KIND}, δ = 10⁻⁶"


def test_the_gain_by_delta_is_below_the_curve(page):
    page.query_params.update({"eps": "0.5"})
    page.run()
    assert "With δ = 10⁻⁶ at ε = 0.5: " in words(page)
    page.toggle(key="delta").set_value(True).run()
    assert "With δ = 0 at ε = 0.5: " in words(page)


@pytest.mark.parametrize("delta", DELTAS)
def test_a_release_is_one_that_can_be_used(delta):
    made = release.make(Choice(table(), settings(delta)), 0, 1)
    forest = ReleasedForest.from_bytes(made.file)
    assert made.delta == delta == float(forest.certificate.delta)
    assert AddedScores.of(forest).noise > 0
    assert f"delta={delta!r}" in as_code(settings(delta), "breast_wisconsin", "Class")


def test_the_board_report_is_about_the_selected_forest(monkeypatch):
    """The report is about the selected δ: it has the curve and the δ of the booster at δ > 0, or at δ = 0."""
    data, wish = table(), Wish(0.8, "certified", "add-remove", True, 0.5, 1, delta=True)
    monkeypatch.setattr(choose_controls, "kinds", lambda: [KIND])
    lines = [sweep_job(data, Line(s, epsilons=(0.1, 1.0))) for s in choose_controls.forests(data, wish)]
    for line in lines:
        list(line.work(2))
    done = gathered(lines)
    seen = []
    monkeypatch.setattr(report, "render", lambda shown: seen.append(shown) or "")
    reference = baselines.baselines_of(data)
    answers = Answers({line.name: line for line in lines}, done, 0.9, wish, reference.labels)
    for line in lines:
        chosen = replace(line.line.settings, epsilon=1.0)
        certificate, _ = chosen.estimator(data.domain).preview(data.domain, len(data.frame))
        report.report(data, chosen, certificate, answers, scale_of("accuracy", [reference], done), reference)
    for shown, line in zip(seen, lines, strict=True):
        expected = done.cells.loc[line.line.name]["accuracy"]["mean"].groupby("epsilon").mean()
        assert [mean for _, mean, _, _ in shown.curve] == pytest.approx(expected[[0.1, 1.0]].tolist())
        assert float(shown.certificate.delta) == line.line.settings.delta
    assert seen[0].curve != seen[1].curve


def test_of_two_forests_with_one_epsilon_the_stronger_promise_comes_first():
    data, wish = table(), Wish(0.8, "certified", "add-remove", True, 0.5, 1, delta=True)
    lines = {f.name: sweep_job(data, Line(f)) for f in choose_controls.forests(data, wish) if f.kind == KIND}
    rows = [
        {"forest": name, "repeat": repeat, "fold": 0, "epsilon": epsilon, "accuracy": 0.95 if "δ" in name else 0.92}
        for name in lines
        for repeat in range(3)
        for epsilon in (*EPSILONS, np.inf)
    ]
    answers = Answers(lines, SweepResult(rows, 3, 1), 0.8, wish, np.zeros(900, int))
    assert [answer.forest for answer in answers.sorted()] == [KIND, f"{KIND}, δ = 10⁻⁶"]


@pytest.mark.parametrize("delta", DELTAS)
def test_the_limit_of_an_attack_equals_that_of_the_headline(delta):
    """In both places, the limit follows from the exact trade-off curve of Gaussian noise, not from ε alone."""
    chosen = as_it_comes(KIND, "certified", 1.0, "add-remove", delta=delta)
    certificate, ledger = chosen.estimator(table().domain).preview(table().domain, 500)
    assert certificate.certified
    limit = membership._success_limit(certificate, ledger)
    assert percent_up(limit) == f"{success_share(guarantee_of(certificate), 'membership')} %"
    assert limit < 0.6


def test_a_link_has_no_number_that_follows_from_the_exact_number_of_rows(page):
    """A link holds only numbers of trees that the slider offers.

    The number of trees of the rule would reveal the exact number of rows.
    """
    page.run()
    page.select_slider(key="eps").set_value(2.0).run()
    assert page.select_slider(key="trees").value not in TREES
    page.slider(key="depth").set_value(5).run()
    assert not page.exception
    assert page.select_slider(key="trees").value in TREES
    assert int(page.query_params["trees"]) in TREES


def test_the_page_explains_what_delta_means(page):
    """δ is not the chance that a release's likelihood ratio exceeds e^ε. That chance is larger: 20 in a million."""
    page.query_params.update({"delta": "true"})
    page.run()
    assert "the probability of the set may exceed this bound by 10⁻⁶ (one in a million)" in words(page)
    assert "Simulated at ε = 1 at δ = 10⁻⁶, add-remove" in words(page)
