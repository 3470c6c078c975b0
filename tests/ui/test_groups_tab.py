"""The Groups tab: its figures equal those of the curve, unusual columns are readable, and it is for the curator."""

import json

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpforest.evaluation.groups import OTHERS
from tests.ui.app_words import words
from ui.jobs import first_release

# Columns: almost only one value, 50 values, Markdown and HTML, missing cells, and numbers.
UGLY = "all;city;mark;gap;age;ill\n" + "".join(
    f"{'y' if i % 100 == 9 else 'x'};c{i % 50};{('**bold**', '<b>', '$x$', ':red[a]', 'rare')[4 if i == 7 else i % 4]};"
    f"{('', 'a', 'b')[i % 3]};{20 + i % 60};{'ja' if i % 60 > 25 and i % 4 else 'nein'}\n"
    for i in range(900)
)


@pytest.fixture
def tab(app) -> AppTest:
    app.query_params.update({"data": "cmc", "tab": "Groups"})
    return app


@pytest.fixture
def upload(app) -> AppTest:
    app.query_params.update({"data": "upload a CSV", "tab": "Groups"})
    app.run()
    app.file_uploader[0].upload("people.csv", UGLY.encode()).run()
    return app


def chosen(app: AppTest, column: str, rate: str = "") -> pd.DataFrame:
    """Choose a column and a rate. Return the table below the charts."""
    app.selectbox(key="groups_by").select(column)
    if rate:
        app.selectbox(key="group_rate").select(rate)
    app.run()
    assert not app.exception
    return next(table.value for table in app.dataframe if "rows" in table.value)


def test_groups_average_to_the_accuracy_of_the_curve(tab):
    table = chosen(tab.run(), "Wifes_religion")
    mean = (table["accuracy"] * table["rows"]).sum() / table["rows"].sum()
    assert f"### {mean:.1f} %" in words(tab).splitlines()


def test_each_class_of_three_has_an_error_rate(tab):
    table = chosen(tab.run(), "Wifes_age", "error of 1")
    assert [name for name in table if name.startswith("error of")] == ["error of 1", "error of 2", "error of 3"]
    assert "the highest and the lowest error of 1 differ" in words(tab)


@pytest.mark.parametrize(("epsilon", "is_named"), [("0.05", True), ("10", False)])
def test_a_loss_is_named_once_its_interval_excludes_0(tab, monkeypatch, epsilon, is_named):
    monkeypatch.setattr(first_release, "LAST", 8)
    tab.query_params.update({"data": "adult", "eps": epsilon, "groups_by": "age"})
    text = words(tab.run())
    assert not tab.exception and "the highest and the lowest accuracy differ" in text
    assert ("From ε = 10 to ε = 0.05, the group **50 to 69** loses the most accuracy" in text) == is_named


@pytest.mark.parametrize(("column", "n_groups"), [("all", 2), ("city", 1), ("mark", 5), ("gap", 3), ("age", 3)])
def test_ugly_columns_are_readable(upload, column, n_groups):
    chosen(upload, column, "false-negative rate")
    table = chosen(upload, column, "accuracy")
    assert len(table) == n_groups and table["rows"].sum() == 270
    figures = json.dumps([json.loads(chart.proto.spec) for chart in upload.get("plotly_chart")])
    assert "<b><" not in figures and (column != "mark" or "&lt;b&gt;" in figures)
    assert ("Fewer than two groups" in words(upload)) == (column in ("all", "city"))
    assert (OTHERS in list(table["group"])) == (column != "gap")


def test_a_column_of_another_table_is_dropped(tab):
    tab.query_params.update({"groups_by": "nobody", "group_rate": "error of 9"})
    tab.run()
    assert not tab.exception and tab.selectbox(key="group_rate").value == "accuracy"


# A table of 600 patients, who have one to four rows each.
VISITS = "patient_id,sex,age,ill\n" + "".join(
    f"P{p},{'fm'[p % 2]},{20 + (p + visit) % 60},{'yes' if (p + visit) % 3 else 'no'}\n"
    for p in range(600)
    for visit in range(1 + p % 4)
)


@pytest.mark.parametrize("mode", ["certified", pytest.param("as published", marks=pytest.mark.slow)])
def test_groups_count_persons_where_a_person_has_several_rows(app, mode):
    """A forest as published ignores persons. Its split holds out other rows than usual, but equally many persons."""
    app.query_params.update({"data": "upload a CSV", "mode": mode, "depth": "3"})
    app.session_state["tab"] = "Data"
    app.run()
    app.file_uploader[0].upload("visits.csv", VISITS.encode()).run()
    next(widget for widget in app.radio if widget.label == "Whose rows are these?").set_value(
        "One person can have several rows"
    ).run()
    next(widget for widget in app.selectbox if widget.label == "The column that identifies persons").select(
        "patient_id"
    ).run()
    app.query_params["tab"] = app.session_state["tab"] = "Groups"
    app.run()
    assert not app.exception and "patient_id" not in app.selectbox(key="groups_by").options
    app.selectbox(key="groups_by").select("sex").run()
    assert not app.exception
    table = next(table.value for table in app.dataframe if "persons" in table.value)
    assert table["group"].tolist() == ["f", "m"] and table["persons"].sum() == 180
    assert "is the number of its held-out persons" in words(app)
