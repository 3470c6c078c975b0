"""The pages show a ledger in μ² as shares, and as ε at its δ. The tests write the ledgers by hand."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpforest.book.sums import Cost
from dpforest.privacy.certificate import certify
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.loss import PrivacyLoss, mu_for
from dpforest.risk.guarantee import Guarantee
from tests.ui.app_words import words
from tests.ui.test_session_ledger import EXCHANGED, FIRST, GAUSS
from ui.choose import report
from ui.explore import budget_tab, curve_panel
from ui.forest.forests import EPSILONS
from ui.releasing.release import after_this
from ui.shared.wording import sum_text

DELTA = 1e-6
LEAKS = "The bounds were read from the rows."


def booster(share: Fraction | int = 1, neighbors: str = "add-remove", reasons: tuple[str, ...] = ()):
    """Return certificate and ledger of a booster at ε = 1 that spends this share of its μ²."""
    ledger = Ledger(mu_for(1, DELTA), neighbors)
    whole = ledger.budget.amount * share / ledger.rows**2
    for what, part, times in (("number of rows", "0.06", 1), ("gradients", "0.94", 300)):
        each = PrivacyLoss.gaussian(Fraction(part) * whole / times)
        ledger.charge(what, "rounded Gaussian", 1, each, times, "sequential")
    ledger.close()
    return certify(ledger, mechanism="m", delta=DELTA, nominal_epsilon=Fraction(1), reasons=reasons), ledger


# ---------------------------------------------------------------- the Budget tab


def budget_page(neighbors: str) -> None:
    """Show the Budget tab; streamlit runs this source as a page."""
    from tests.ui.test_gaussian_ledger import booster
    from ui.explore import budget_tab
    from ui.forest.forests import ForestSettings
    from ui.shared import tables
    from ui.shared.sidebar import Choice

    data = tables.bundled("zoo")
    settings = ForestSettings("noisy counts", "certified", 1.0, 3, 5, neighbors)
    choice = Choice(tables.bundled_table(data, data.label), settings)
    budget_tab.show(choice, *booster(neighbors=neighbors))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_budget_tab_shows_shares_of_mu_squared(neighbors):
    page = AppTest.from_function(budget_page, args=(neighbors,), default_timeout=600).run()
    assert not page.exception
    text = words(page)
    assert (
        "add up in μ², not in ε, so the picture shows shares of μ². The whole budget is μ² = 0.05603, which is ε = 1 at"
        in text
    )
    assert "- Number of rows: asked **once** at μ² = 0.00" in text and "costs **6 % of μ²**." in text
    assert "**300 answers in sequence** on the same rows, each at μ² = " in text and "cost **94 % of μ²**." in text
    assert ("counts twice in μ, which is four times in μ²" in text) == (neighbors == "replace-one")
    assert "A release would use up 100 % of μ², which is ε = 1 at δ = 10⁻⁶, added up in exact fractions" in text
    assert list(page.dataframe[0].value)[3:] == ["μ² each", "how many", "composition", "μ² together"]
    assert page.dataframe[0].value["μ² together"].tolist() == ["0.003362", "0.05267"]
    assert "Gaussian differential privacy with μ = 0.236705, which is ε = 1 at δ = 1e-06" in page.code[0].value


def test_the_budget_tab_shows_the_share_that_a_release_would_use():
    _, quarter = booster(Fraction(1, 4))  # a quarter of μ², which is half of μ
    assert "use up 25 % of μ², which is ε = 0.4753 at δ = 10⁻⁶, added" in budget_tab.used_up(quarter, DELTA)
    pure = Ledger(Fraction(1, 2))
    pure.charge("labels", "permute-and-flip", 1, Fraction(1, 3), 1, "sequential")
    assert budget_tab.used_up(pure).startswith("A release would use up ε = 1/3 of 1/2, added up")
    assert budget_tab.ledger_table(pure)["ε together"].tolist() == ["1/3"]


# ---------------------------------------------------------------- the curve


def test_repeats_add_up_in_mu_squared():
    """The costs of repeated releases add up in μ², so their total ε is not proportional to the number of releases."""
    _, ledger = booster(Fraction(1, 4), "replace-one")
    price = curve_panel.price(16, np.array(EPSILONS), ledger, DELTA)
    sixteen = PrivacyLoss.gaussian(4 * ledger.budget.mu_squared).epsilon(DELTA)  # 16 releases at a quarter of μ²
    total = sum(mu_for(e, DELTA).mu_squared for e in EPSILONS)
    whole = PrivacyLoss.gaussian(4 * total).epsilon(DELTA)
    assert 2 < sixteen < Fraction("2.3") and 32 < whole < 16 * sum(EPSILONS) / 4
    assert f"16 forests at ε = 1 would cost ε = {sum_text(sixteen)} at δ = 10⁻⁶, and all 288 of the curve" in price
    assert f"of the curve would cost ε = {sum_text(whole)} at δ = 10⁻⁶ (replace-one). The lines without noise" in price
    assert price.endswith("What Gaussian noise costs adds up in μ², not in ε.")


# ---------------------------------------------------------------- the board


def board_page(neighbors: str) -> None:
    """Show the guarantee in the report for the privacy board; streamlit runs this source as a page."""
    import streamlit as st

    from tests.ui.test_gaussian_ledger import LEAKS, booster
    from ui.choose import report

    st.session_state["found"] = report.guarantee(*booster(neighbors=neighbors, reasons=(LEAKS,)), True)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_what_would_be_promised_if_the_schema_were_public(neighbors):
    page = AppTest.from_function(board_page, args=(neighbors,), default_timeout=600).run()
    assert not page.exception and page.session_state["found"].kind == "none"
    page.toggle(key="if_public").set_value(True).run()
    assert not page.exception
    assert page.session_state["found"] == Guarantee(1, DELTA, neighbors, mu_for(1, DELTA).mu_squared)


def test_what_is_promised():
    assert report.guarantee(*booster(), False) == Guarantee(1, DELTA, mu_squared=mu_for(1, DELTA).mu_squared)


# ---------------------------------------------------------------- the release


def release_page() -> None:
    """Show the release button, with earlier releases in the session; streamlit runs this source as a page."""
    import streamlit as st

    from tests.ui.test_gaussian_ledger import booster
    from ui.forest.forests import ForestSettings
    from ui.releasing import release
    from ui.shared import tables
    from ui.shared.sidebar import Choice

    data = tables.bundled("zoo")
    certificate, ledger = booster()
    settings = ForestSettings("noisy counts", "certified", 1.0, 3, 5, "add-remove")
    choice = Choice(tables.bundled_table(data, data.label), settings)
    release.button(choice, certificate, ledger, st.sidebar, is_useless=False)


def test_the_dialog_says_what_a_gaussian_release_costs():
    page = AppTest.from_function(release_page, default_timeout=600)
    page.session_state["releases"] = [replace(GAUSS, table_key="zoo", file=b"")]
    page.run()
    next(b for b in page.button if b.label == "Release this forest").click().run()
    assert not page.exception
    text = "\n".join(m.value for m in page.markdown)
    assert "It costs **ε = 1 at δ = 10⁻⁶** (adding or removing one row), which cannot be taken back." in text
    twice = PrivacyLoss.gaussian(2 * GAUSS.mu_squared).epsilon(DELTA)
    assert 1 < twice < Fraction(3, 2)
    assert f"will have spent **ε = {sum_text(twice)} at δ = 10⁻⁶** (adding or removing one row)" in text
    assert [b.label for b in page.button if b.label.startswith("Release for")] == ["Release for ε = 1 at δ = 10⁻⁶"]


def test_the_sum_after_a_release():
    sentence = after_this([FIRST], Cost(Fraction(1), "add-remove"))
    assert "will have spent **ε = 1.5** (adding or removing one row) on the people in people.csv." in sentence
    assert after_this([EXCHANGED], Cost(Fraction(1), "add-remove")).endswith(
        "**ε = 2.1** (a row exchanged) on the people in people (2).csv. A release for “adding or removing "
        "one row” counts "
        "twice for “a row exchanged”."
    )
    assert "**ε = 1.5 at δ = 10⁻⁶** (adding or removing one row)" in after_this(
        [FIRST], Cost(GAUSS.loss, "add-remove"), DELTA
    )
    assert "**ε = 1.5 at δ = 10⁻⁶** (adding or removing one row)" in after_this(
        [GAUSS], Cost(Fraction(1, 2), "add-remove")
    )
    assert "counts twice (a Gaussian release in μ) for “a row exchanged”." in after_this(
        [EXCHANGED], Cost(GAUSS.loss, "add-remove"), DELTA
    )
