"""The app warns of a δ that is not below 1/n: next to the control of δ, in the Budget tab and before a release."""

from dataclasses import replace

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpforest.privacy.certificate import large_delta_caution
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from tests.ui.test_use_page import choice, use_page
from ui.forest.forest_options import DELTA
from ui.releasing import release
from ui.shared.sidebar import Choice
from ui.shared.tables import Table

SAYS = "is not below 1/n for about"


def sidebar() -> None:
    import streamlit as st

    from ui.shared.sidebar import _forest

    _forest(st.session_state["table"], 1.0)


def compared() -> None:
    import streamlit as st

    from ui.compare.chart_and_table import about_delta

    about_delta(st.session_state["table"])


def budget() -> None:
    import streamlit as st

    from ui.explore import budget_tab

    chosen = st.session_state["choice"]
    budget_tab.show(
        chosen, *chosen.settings.estimator(chosen.table.domain).preview(chosen.table.domain, len(chosen.table.frame))
    )


def dialog() -> None:
    import streamlit as st

    from ui.releasing import release

    chosen = st.session_state["choice"]
    certificate, ledger = chosen.settings.estimator(chosen.table.domain).preview(
        chosen.table.domain, len(chosen.table.frame)
    )
    release._ask(chosen, certificate, ledger)


def of_rows(n: int) -> Table:
    feature = Feature("x", "numeric", 0, 1, source="asserted", source_note="drawn from the unit interval")
    domain = Domain((feature,), (0, 1), "y", "asserted", "a bit is 0 or 1")
    return Table("large", "large", pd.DataFrame({"x": 0.5, "y": 0}, index=range(n)), "y", domain)


def cautions(app: AppTest) -> list[str]:
    assert not app.exception
    return [box.value.replace("\u00a0", " ") for box in app.warning if SAYS in box.value.replace("\u00a0", " ")]


@pytest.mark.parametrize("page", [sidebar, compared])
@pytest.mark.parametrize(("n", "is_large"), [(999_999, False), (1_200_000, True)])
def test_where_delta_is_chosen(page, n, is_large):
    app = AppTest.from_function(page, default_timeout=60)
    app.query_params.update({"forest": "random-tree booster", "delta": "true"})
    app.session_state["table"] = of_rows(n)
    app.run()
    assert cautions(app) == ([large_delta_caution(DELTA, n)] if is_large else [])


def small(delta: float) -> Choice:
    chosen = choice("zoo", "random-tree booster")
    return Choice(chosen.table, replace(chosen.settings, options=(("delta", delta),)))


@pytest.mark.parametrize("page", [budget, dialog])
@pytest.mark.parametrize(("delta", "is_large"), [(0.02, True), (1e-6, False), (0.0, False)])
def test_in_the_budget_tab_and_before_a_release(page, delta, is_large):
    app = AppTest.from_function(page, default_timeout=60)
    app.session_state["choice"] = small(delta)
    app.run()
    assert cautions(app) == ([large_delta_caution(delta, 101)] if is_large else [])
    if page is budget:
        assert (SAYS in app.code[0].value) == is_large


def test_a_person_who_gets_the_file_sees_it_too(app):
    made = release.make(small(0.02), 1, 1)
    assert SAYS in made.certificate
    app.run()
    app.session_state["releases"] = [made]
    page = use_page(app)
    assert SAYS in page.code[0].value and not page.exception
