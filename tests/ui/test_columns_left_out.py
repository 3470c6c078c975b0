"""Columns that a user leaves out (AppTest): a table with an unreadable column can still be used."""

import pytest

from tests.ui.app_words import words

ROWS = "\n".join(
    f"{i % 7},{'inf' if i == 3 else i},2020-01-{i % 28 + 1:02d},{'yes' if i % 3 else 'no'}" for i in range(60)
)
CSV = f"age,load,day,ill\n{ROWS}\n".encode()


@pytest.fixture
def page(app):
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("clinic.csv", CSV).run()
    return app


def left_out(page):
    return next(widget for widget in page.multiselect if widget.label == "Columns to leave out")


def test_a_table_that_is_refused_can_be_used_without_the_column(page):
    assert not page.exception
    assert any("'load' contains infinity" in warning.value for warning in page.warning)
    left_out(page).set_value(["load", "day"]).run()
    assert not page.exception
    assert not page.warning
    assert "60 rows · 1 attribute · predicts ill" in words(page)
    left_out(page).set_value(["day"]).run()
    assert any("'load' contains infinity" in warning.value for warning in page.warning)


def test_attributes_that_are_not_learned_from_are_named_in_the_sidebar(page):
    left_out(page).set_value(["load"]).run()
    assert not page.exception
    assert "Not learned from: day. The *Data* tab of Explore says why." in [c.value for c in page.sidebar.caption]
    left_out(page).set_value(["load", "day"]).run()
    assert not [c.value for c in page.sidebar.caption if "Not learned from" in c.value]


def test_the_sidebar_states_why_the_last_column_is_not_offered_as_label(app):
    app.query_params["data"] = "upload a CSV"
    app.run()
    rows = "".join(f"{i % 9},{'ab'[i % 2]},{i * i}\n" for i in range(80))
    app.file_uploader[0].upload("homes.csv", f"size,kind,price\n{rows}".encode()).run()
    assert not app.exception
    captions = [caption.value for caption in app.sidebar.caption if "Not offered" in caption.value]
    assert len(captions) == 1 and "'price' has 80 different values, and a label has at most 50" in captions[0]


def test_a_file_stays_the_same_whichever_columns_are_left_out(page):
    """A file keeps its identity, and so its spent budget, whichever columns the user leaves out."""

    def read() -> list[str]:
        return page.session_state["read_rows"][0][0].split("|")

    left_out(page).set_value(["load", "day"]).run()
    both = read()
    left_out(page).set_value(["load"]).run()
    assert not page.exception
    left_out(page).set_value(["day", "load", "age"]).run()
    assert any("give at least one column besides the label" in w.value or "attribute" in w.value for w in page.warning)
    left_out(page).set_value(["load", "day"]).run()
    assert read() == both
    assert len(both) == 3
