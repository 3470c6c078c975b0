"""Data-dependent forests on the page (AppTest): their controls, their figures, and their release."""

import json

import pytest

from dpforest import ReleasedForest, load_dataset
from dpforest.privacy.ledger import BudgetError
from tests.ui.app_words import words
from ui.forest.boost_controls import ALPHAS, BOUNDS
from ui.forest.forests import FORESTS, ForestSettings, as_code
from ui.releasing import release
from ui.shared import sidebar, tables

GREEDY = [name for name, kind in FORESTS.items() if kind.is_fitted_anew and kind.is_published]


def figures(page) -> list[str]:
    """Return every chart as JSON text with unescaped characters."""
    return [json.dumps(json.loads(chart.proto.spec), ensure_ascii=False) for chart in page.get("plotly_chart")]


@pytest.mark.parametrize("mode", ["certified", pytest.param("as published", marks=pytest.mark.slow)])
@pytest.mark.parametrize("tab", ["Tree", "Leaves", "Budget"])
@pytest.mark.parametrize("kind", GREEDY)
def test_every_tab_of_every_greedy_forest(app, kind, tab, mode):
    app.query_params.update({"forest": kind, "tab": tab, "mode": mode})
    app.run()
    assert not app.exception
    assert not app.warning


@pytest.mark.parametrize("name", ALPHAS["certified"])
def test_each_strategy_for_alpha_is_drawn_and_shown_by_level(app, name):
    app.query_params.update({"data": "congressional_voting", "forest": "boosted", "alphas": name, "depth": "4"})
    app.run()
    assert not app.exception
    assert any("α 0" in figure for figure in figures(app))  # the figure in the sidebar
    assert any("level 3: α = " in figure for figure in figures(app))
    assert ("This drawing is an example" in words(app)) == (
        name in ("follows the error, with noise", "follows the error of the tree before")
    )


def test_alpha_drawn_by_hand_reaches_the_trees(app):
    app.query_params.update(
        {
            "data": "congressional_voting",
            "forest": "boosted",
            "alphas": "drawn by hand",
            "depth": "2",
            "a0": "0.3",
            "a1": "0.1",
        }
    )
    app.run()
    assert any("level 0: α = 0.300" in figure and "level 1: α = 0.100" in figure for figure in figures(app))


@pytest.mark.slow
def test_the_page_reports_where_no_reweighting_happens(app):
    app.query_params.update({"data": "congressional_voting", "forest": "boosted", "alphas": "fixed", "alpha": "0.1"})
    app.query_params.update({"beta": "from the noisy leaves", "m": "±10"})
    app.run()
    assert "No reweighting happens" in words(app)
    app.selectbox(key="beta").select("all trees alike").run()
    assert "No reweighting happens" not in words(app)


def test_questions_show_the_probability_with_which_they_were_drawn(app):
    app.query_params.update({"forest": "one greedy tree", "depth": "2"})
    app.run()
    assert any("drawn with probability" in figure and "of the impurity" in figure for figure in figures(app))
    assert "as likely it was as in a draw that ignores the data" in words(app)


def test_a_bound_on_the_rows_stands_on_the_certificate_and_must_hold(app):
    app.query_params.update({"data": "nursery", "forest": "boosted", "tab": "Budget", "trees": "1", "depth": "1"})
    app.run()
    assert any("at most 20,000 rows" in code.value for code in app.code)
    app.select_slider(key="bound").set_value(BOUNDS[0]).run()
    assert any("n_bound=1,000" in warning.value.replace("\\", "") for warning in app.warning)
    assert not app.exception


def test_a_broken_claim_shows_in_the_place_of_epsilon(app):
    app.query_params.update({"data": "congressional_voting", "forest": "boosted", "mode": "as published"})
    app.run()
    text = words(app)
    assert "Bound on the loss, where ε = 1 is claimed" in text
    assert "G1\\:" in text


def test_follow_a_record_through_boosted_trees(app):
    app.query_params.update({"data": "congressional_voting", "forest": "boosted"})
    app.run()
    app.toggle(key="follow").set_value(True).run()
    assert not app.exception
    assert "The trees add up to a score of" in words(app)


@pytest.mark.parametrize("kind", GREEDY)
def test_a_release_is_downloaded_and_uploaded_again(kind):
    data = load_dataset("congressional_voting")
    table = tables.bundled_table(data, data.label)
    options = (("n_bound", 1_000),) if kind == "boosted" else ()
    made = release.make(
        sidebar.Choice(table, ForestSettings(kind, "certified", 2.0, 3, 5, "add-remove", options)), 1, 1
    )
    forest = ReleasedForest.from_bytes(made.file)
    assert forest.certificate.certified
    assert forest.ledger.spent == 2
    assert (forest.predict(data.X) == data.y.to_numpy()).mean() > 0.6


@pytest.mark.parametrize("kind", GREEDY)
def test_the_code_of_a_greedy_forest_runs(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = tuple(
        (o.parameter, list(o.choices["certified"].values())[-1])
        for o in FORESTS[kind].options
        if o.choices["certified"]
    )
    exec(as_code(ForestSettings(kind, "certified", 1.0, 2, 3, "replace-one", options), "zoo", "type"), {})
    assert json.loads((tmp_path / "forest.json").read_text())["certificate"]["certified"]


def test_infinite_temperatures_can_be_written_as_code():
    options = (("label_temperature", float("inf")),)
    text = as_code(ForestSettings("multinomial", "as_published", 1.0, 4, 3, "add-remove", options), "zoo", "type")
    assert 'label_temperature=float("inf"),' in text
    compile(text, "code", "exec")


def test_budget_errors_are_sentences():
    assert issubclass(BudgetError, ValueError)  # the page shows any ValueError as a sentence
