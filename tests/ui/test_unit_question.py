"""The question “Whose rows are these?” and its effects, for an upload with several rows per person (AppTest)."""

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpforest.tables.datasets import read_csv, suggest_domain
from tests.ui.app_words import words
from ui import state
from ui.explore import unit_question
from ui.shared import tables

N, MOST = 240, 12
SAME = unit_question.same_person("patient_id")


def csv() -> bytes:
    """Return rows of 150 patients, of whom the first has the most rows."""
    rng = np.random.default_rng(0)
    patient = np.concatenate([np.zeros(MOST, int), np.arange(150), rng.integers(1, 150, N - MOST - 150)])
    rows = [f"P{p:03d},{p % 60},{'yes' if (p + i) % 3 else 'no'}" for i, p in enumerate(patient)]
    return ("patient_id,age,ill\n" + "\n".join(rows) + "\n").encode()


@pytest.fixture
def page(app):
    app.query_params["data"] = "upload a CSV"
    app.session_state["tab"] = "Data"
    app.run()
    app.file_uploader[0].upload("clinic.csv", csv()).run()
    return app


def question(page):
    return next(widget for widget in page.radio if widget.label == "Whose rows are these?")


def column(page):
    return next(widget for widget in page.selectbox if widget.label == "The column that identifies persons")


def domain(page):
    (edited,) = page.session_state[state.SCHEMAS].values()
    return edited


def test_nothing_is_inferred_but_the_page_warns_of_repeats(page):
    assert not page.exception
    assert question(page).value is None
    (warning,) = [w.value for w in page.warning if "patient\\_id" in w.value or "patient_id" in w.value]
    assert f"Up to {MOST + 1} rows have the same value" in warning and f"ε = {MOST + 1}" in warning
    assert state.SCHEMAS not in page.session_state or not page.session_state[state.SCHEMAS]


def test_a_named_column_is_the_unit_of_all_figures(page):
    question(page).set_value("One person can have several rows").run()
    assert not page.exception
    assert column(page).value is None and "patient_id (looks like an identifier)" in column(page).options
    column(page).select("patient_id").run()
    assert not page.exception
    assert domain(page).unit == "patient_id" and domain(page).names == ("age",)
    assert "150 persons in 240 rows" in words(page)
    assert any(f"up to {MOST + 1} here" in caption.value for caption in page.caption)
    question(page).set_value("Each row is a different person").run()
    assert not page.exception
    assert domain(page).unit is None


def test_the_column_that_repeats_is_offered_with_the_question(page):
    assert [*question(page).options] == [unit_question.EACH_ROW, SAME, unit_question.SEVERAL]
    question(page).set_value(SAME).run()
    assert not page.exception
    assert domain(page).unit == "patient_id" and "150 persons in 240 rows" in words(page)
    page.run()
    assert question(page).value == SAME and not [box for box in page.selectbox if box.label.startswith("The column")]
    question(page).set_value(unit_question.SEVERAL).run()
    assert not page.exception and column(page).value == "patient_id" and domain(page).unit == "patient_id"


def test_the_answer_that_rows_are_persons_is_kept(page):
    question(page).set_value("Each row is a different person").run()
    assert not page.exception
    assert len(page.session_state[state.ROWS_ARE_PERSONS]) == 1
    page.run()
    assert question(page).value == "Each row is a different person"


def test_several_rows_without_a_column_cannot_be_released(page):
    """The answer "several rows, no column" replaces the earlier answer that each row is a person, and stays."""
    question(page).set_value("Each row is a different person").run()
    question(page).set_value("One person can have several rows").run()
    assert not page.exception
    assert any("Choose the column that identifies persons" in warning.value for warning in page.warning)
    assert not page.session_state[state.ROWS_ARE_PERSONS]
    assert len(page.session_state[state.PERSONS_WITHOUT_COLUMN]) == 1
    for tab in ("Budget", "Data"):
        page.query_params["tab"] = page.session_state["tab"] = tab
        page.run()
    assert question(page).value == "One person can have several rows"
    table = uploaded("k" * 64, read_csv(csv()), None)
    asking = AppTest.from_function(only_the_question, default_timeout=600)
    asking.session_state["table"], asking.session_state[state.PERSONS_WITHOUT_COLUMN] = table, {table.key}
    asking.run()
    assert asking.text[0].value == "False" and not asking.checkbox and len(asking.warning) == 1
    column(page).select("patient_id").run()
    assert domain(page).unit == "patient_id" and not page.session_state[state.PERSONS_WITHOUT_COLUMN]


def only_the_question() -> None:
    """Ask the question as the release dialog does, and show whether the unit of privacy is known."""
    import streamlit as st

    from ui.releasing import release

    st.text(str(release._confirm_persons(st.session_state["table"])))


@pytest.mark.parametrize(("unit", "answered"), [(None, False), (None, True), ("patient_id", False)])
def test_a_release_needs_the_unit_or_a_confirmation(unit, answered):
    read = read_csv(csv())
    table = uploaded("k" * 64, read, unit)
    app = AppTest.from_function(only_the_question, default_timeout=600)
    app.session_state["table"] = table
    if answered:
        app.session_state[state.ROWS_ARE_PERSONS] = {table.key}
    app.run()
    assert not app.exception
    if unit is not None or answered:
        assert not app.checkbox and app.text[0].value == "True"
        return
    (confirm,) = app.checkbox
    assert confirm.label.startswith("Each row is a different person.") and app.text[0].value == "False"
    confirm.check().run()
    assert app.text[0].value == "True"


def uploaded(key, read, unit):
    domain = suggest_domain(read, "ill")
    return tables.Table(key, "clinic.csv", read.table, "ill", replace(domain, unit=unit), csv=read)


def test_leaves_have_persons_and_rows(page):
    question(page).set_value("One person can have several rows").run()
    column(page).select("patient_id").run()
    page.query_params["tab"] = page.session_state["tab"] = "Leaves"
    page.run()
    assert not page.exception
    (leaves,) = [table.value for table in page.dataframe if "leaf" in table.value]
    assert leaves.columns[2:4].tolist() == ["persons", "rows"]
    assert leaves.filter(like="persons with label").columns.tolist() == [
        "persons with label no",
        "persons with label yes",
    ]
    assert np.allclose(leaves.filter(like="persons with label").sum(axis=1), leaves["persons"], atol=0.002)
    assert leaves["persons"].sum() == pytest.approx(105, abs=0.5)  # seven tenths of 150 persons are not held out
    assert 105 < leaves["rows"].sum() < 240 and (leaves["rows"] >= leaves["persons"] - 0.01).all()
    text = words(page)
    assert "Per person: **" in text and "A leaf counts once for each person in it" in text and "Per row" not in text
    assert "each of these rows counts as 1/k person" in text and "Do not share" in text


def test_without_a_unit_leaves_have_rows_only(page):
    question(page).set_value("Each row is a different person").run()
    page.query_params["tab"] = page.session_state["tab"] = "Leaves"
    page.run()
    assert not page.exception
    (leaves,) = [table.value for table in page.dataframe if "leaf" in table.value]
    assert "rows" in leaves and not [name for name in leaves if "person" in name or "record" in name]
    assert (leaves.filter(like="rows with label").sum(axis=1) == leaves["rows"]).all()
    text = words(page)
    assert "Per row: **" in text and "A leaf counts once for each row in it" in text.replace("the ", "")
    assert "per person" not in text.lower()


def looks() -> None:
    """Store which columns look like identifiers; streamlit runs this source as a page."""
    import streamlit as st

    from dpforest.tables.datasets import read_csv, suggest_domain
    from ui.explore.unit_question import candidates
    from ui.shared.tables import Table

    rows = [f"{i % 7},P-{i},{'<5' if i % 9 == 0 else i + 0.25},{'yes' if i % 3 else 'no'}" for i in range(1_200)]
    csv = read_csv("\n".join(["x,patient,crp,ill", *rows]).encode())
    table = Table("limits", "limits", csv.table, "ill", suggest_domain(csv, "ill", ["x"]), csv=csv)
    st.session_state["looks"] = dict(candidates(table))


def test_measurements_beyond_a_limit_do_not_look_like_identifiers():
    app = AppTest.from_function(looks, default_timeout=60).run()
    assert not app.exception and app.session_state["looks"] == {"patient": True, "crp": False, "x": False}
