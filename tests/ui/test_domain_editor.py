"""The editor of the public domain: a cleared, pasted or mistyped cell becomes a value or gets a message."""

import json
from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpforest.tables.datasets import read_csv, suggest_domain
from dpforest.tables.date_columns import date_attributes
from dpforest.tables.dates import DATE_PARTS
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature
from ui.explore import data_tab, edited_cells
from ui.explore.edited_cells import CELLS, SOURCE
from ui.forest.forests import ForestSettings
from ui.shared.sidebar import Choice
from ui.shared.tables import Table

HEAD = "age,whole,city,town,ill"
ROWS = [f"{i % 50}.5,{i % 9},{'AB'[i % 2]},{'CD'[i % 3 > 0]},{'01'[i % 2]}" for i in range(60)]
AGE, WHOLE, CITY = range(3)  # rows of the editor
LARGE = 10**400  # too large for a float


def tab() -> None:
    """Show the Data tab alone."""
    import streamlit as st

    from ui.explore import data_tab
    from ui.shared import tables

    choice_of, table = st.session_state["choice_of"], st.session_state["table"]
    data_tab.show(choice_of(tables._edited(table)))


@pytest.fixture(scope="module")
def opened() -> Callable[..., AppTest]:
    """Return a function that opens the tab on a small upload, with all or some of its columns."""
    settings = ForestSettings("majority labels", "certified", 1.0, 3, 5, "add-remove")
    csv = read_csv("\n".join([HEAD, *ROWS]).encode(), name="people.csv")

    def open_tab(keep: Callable[[Feature], bool] = lambda _: True) -> AppTest:
        domain = suggest_domain(csv, "ill")
        domain = replace(domain, features=tuple(f for f in domain.features if keep(f)))
        table = Table("digest", "people.csv", csv.table[[*domain.names, "ill"]], "ill", domain)
        app = AppTest.from_function(tab, default_timeout=60)
        app.session_state["table"] = table
        app.session_state["choice_of"] = lambda edited: Choice(replace(table, domain=edited), settings)
        return app.run()

    return open_tab


def applied(page: AppTest, row: int, cell: str, value: object) -> AppTest:
    """Edit one cell as a browser reports it, press "Apply my changes", and return the page."""
    (editor,) = [e for e in page.main if e.type == "dataframe" and e.proto.editing_mode != e.proto.READ_ONLY]
    next(button for button in page.button if button.label == "Apply my changes").click()
    states = page._tree.get_widget_states()
    state = states.widgets.add()
    state.id, state.string_value = editor.proto.id, json.dumps({"edited_rows": {row: {cell: value}}})
    return page._run(states)


def kept(page: AppTest) -> Domain | None:
    """Return the domain after applied changes; None if no change was applied."""
    schemas = page.session_state["schemas"] if "schemas" in page.session_state else {}  # noqa: SIM401 (it has no get)
    return next(iter(schemas.values()), None)


REFUSED = [
    (AGE, "lowest", None, "has no lower bound. Type a number"),
    (AGE, "lowest", "abc", "has no lower bound. Type a number"),
    (AGE, "lowest", LARGE, "has no lower bound. Type a number"),
    (AGE, "lowest", "inf", "must be a finite number"),
    (AGE, "lowest", 99, "must be below its upper bound"),
    (CITY, "lowest", 3, "takes values and no bounds"),
    (AGE, "highest", None, "has no upper bound. Type a number"),
    (AGE, "highest", ["1"], "has no upper bound. Type a number"),
    (AGE, "highest", -5, "must be below its upper bound"),
    (CITY, "highest", 0.5, "takes values and no bounds"),
    (CITY, "whole", True, "is not numeric. Clear its box"),
    (CITY, "values", None, "has no categories; list the values"),
    (CITY, "values", " ; ;", "has no categories; list the values"),
    (CITY, "values", "A; A", "lists the category 'A' twice"),
    (CITY, "values", "\ud800; B", "is not valid Unicode"),
    (AGE, "values", "1; 2", "takes bounds and no values"),
    (AGE, "missing", None, "No rule is set for missing cells"),
    (CITY, "missing", "perhaps", "'perhaps' is not a rule for missing cells"),
    (CITY, "missing", ["a separate value"], "is not a rule for missing cells"),
    (AGE, SOURCE, "yes", "A source has at least three words"),
    (CITY, SOURCE, 7, "A source has at least three words"),
]


def test_a_cell_that_makes_no_domain_gives_one_sentence(opened):
    page = opened()
    for row, cell, value, sentence in REFUSED:
        applied(page, row, cell, value)
        case = f"{cell} = {value!r:.40} in row {row}"
        assert not page.exception, case
        messages = [box.value.replace("\\", "") for box in page.warning]
        assert sum(sentence in one for one in messages) == 1, f"{case}: {messages}"
        assert kept(page) is None, case
    assert {cell for _, cell, _, _ in REFUSED} == {*CELLS} - {"use"}


REFUSED += [
    (AGE, "lowest", text, "Write 1300 or 1.3")
    for text in ("1,300", "-12,500", "1,300,000", "1.300,5", "1,300.5", "1.300.000")
]

READ = [
    (AGE, "use", None, lambda domain: "age" not in domain.names),
    (AGE, "use", "x", lambda domain: "age" in domain.names),
    (WHOLE, "whole", None, lambda domain: not domain.features[WHOLE].integer),
    (AGE, "whole", "x", lambda domain: domain.features[AGE].integer),
    (CITY, "whole", None, lambda domain: domain.features[CITY].categories == ("A", "B")),
    (CITY, "lowest", None, lambda domain: domain.features[CITY].categories == ("A", "B")),
    (AGE, "highest", "1e3", lambda domain: domain.features[AGE].high == 1_000),
    (AGE, "highest", "60,5", lambda domain: domain.features[AGE].high == 60.5),
    (AGE, "highest", " 60.5 ", lambda domain: domain.features[AGE].high == 60.5),
    (AGE, "highest", "60.125", lambda domain: domain.features[AGE].high == 60.125),
    (AGE, "lowest", "0,125", lambda domain: domain.features[AGE].low == 0.125),
    (AGE, "lowest", "\u22121,5", lambda domain: domain.features[AGE].low == -1.5),
    (AGE, "values", None, lambda domain: domain.features[AGE].high == 49.5),
    (CITY, "values", ["A", "C"], lambda domain: domain.features[CITY].source == "data"),
    (CITY, "values", 5, lambda domain: domain.features[CITY].categories == ("5",)),
    (CITY, "missing", "a separate value", lambda domain: domain.features[CITY].missing == "category"),
    (AGE, SOURCE, None, lambda domain: domain.features[AGE].source == "data"),
    (AGE, "column", None, lambda domain: domain.features[AGE].name == "age"),
    (AGE, "state", "documented", lambda domain: domain.features[AGE].source == "data"),
]


def test_a_cell_that_is_empty_or_of_another_type_is_read_where_that_makes_sense(opened):
    page = opened()
    for row, cell, value, holds in READ:
        page.session_state["schemas"] = {}
        applied(page.run(), row, cell, value)
        case = f"{cell} = {value!r} in row {row}"
        assert not page.exception and not page.warning, case
        domain = kept(page)
        assert domain is not None and holds(domain), case


def test_clearing_the_words_about_a_source_removes_the_assertion(opened):
    page = applied(opened(), AGE, SOURCE, "the questionnaire, page 2")
    assert kept(page).features[AGE].source == "asserted"
    applied(page, AGE, SOURCE, None)
    assert not page.exception and kept(page).features[AGE].source == "data"


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_column_that_is_empty_throughout_takes_no_odd_value(opened, kind):
    """Pandas cannot infer the type of an editor column whose cells are all empty. Odd values cause no error there."""
    page = opened(lambda feature: feature.kind == kind)
    odd = [("values", ["1"])] if kind == "numeric" else [("lowest", LARGE), ("highest", "x"), ("whole", ["x"])]
    for cell, value in odd:
        applied(page, 0, cell, value)
        assert not page.exception, cell


def test_the_same_number_in_another_notation_changes_nothing(opened):
    """“49,50” and 49.5 are the same bound, so the bound keeps its source if only the notation changes."""
    page = applied(opened(), AGE, SOURCE, "the questionnaire, page 2")
    applied(page, AGE, "highest", "49,50")
    assert not page.exception and kept(page).features[AGE].source == "asserted"


def test_bounds_are_shown_with_all_their_digits():
    shown = [edited_cells.bound_text(value) for value in (9.0, -0.0, 49.5, 0.1, 123456.789, 1e16, 1e-7, 1e300, None)]
    assert shown == ["9", "0", "49.5", "0.1", "123456.789", "1e+16", "1e-07", "1e+300", None]
    for value in (9.0, 49.5, 0.1, 1 / 3, 1e16, 1e-7, 1e300, 2.0**53):
        assert edited_cells.number(edited_cells.bound_text(value)) == value


def test_bounds_beyond_which_all_rows_lie_give_one_warning_with_the_name(opened):
    page = applied(opened(), AGE, "highest", "1000")
    assert not page.warning
    applied(page, AGE, "lowest", "100")
    (warning,) = page.warning
    assert "All numbers of age lie beyond its bounds" in warning.value and "whole" not in warning.value


ODD_CELLS = [
    None,
    pd.NA,
    float("nan"),
    "",
    " ",
    "abc",
    "1,300",
    "1e400",
    "-inf",
    "\u2212",
    "x" * 5_000,
    "a;b;;a",
    7,
    True,
]
PARTS_OF_DATES = date_attributes("visit", "YYYY-MM-DD", DATE_PARTS, first="2020-01-01", last="2029-12-31")
OF_EACH_KIND = (
    Feature("age", "numeric", 18, 94, missing_words=("k.A.",), signs=("%",)),
    Feature("town", "categorical", categories=("Bonn", "Ulm"), spellings=(("ULM", "Ulm"),)),
    Feature("dose", "numeric", 0, 5, missing="value", missing_value=2),
    *PARTS_OF_DATES,
)


@pytest.mark.parametrize("feature", OF_EACH_KIND, ids=lambda feature: feature.name)
def test_no_cell_of_any_attribute_raises_more_than_a_sentence(feature):
    """Whatever is deleted, pasted or typed in a cell, the result is an attribute or a sentence for the user."""
    before = data_tab._row(feature, True)
    for cell in edited_cells.CELLS:
        for value in ODD_CELLS:
            try:
                after = data_tab._edited_feature(feature, {**before, cell: value}, before)
            except DomainError as problem:
                assert str(problem).endswith(".") and len(str(problem)) < 6_000
            else:
                assert isinstance(after, Feature) and after.name == feature.name
