"""The session's ledger adds costs for rows and for persons only where a proof covers the sum, and states where."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from streamlit.testing.v1 import AppTest

from dpforest.book.sums import Cost, added_up
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.loss import PrivacyLoss
from tests.ui.test_session_ledger import EXCHANGED, FIRST, GAUSS
from tests.ui.test_session_ledger import state as state  # a fixture
from tests.ui.test_use_page import choice
from ui.explore import budget_tab
from ui.releasing import release, session_ledger
from ui.releasing.release import after_this
from ui.releasing.session_ledger import explained, not_added, promise_of, sentence, spent
from ui.shared.sidebar import Choice

PERSON = replace(FIRST, number=5, title="visits.csv", table_key="visits", unit="patient_id", epsilon=Fraction(1))
PERSON_EXCHANGED = replace(PERSON, number=6, neighbors="replace-one", epsilon=Fraction(1, 4))
HOUSEHOLD = replace(PERSON, number=7, unit="household_id", epsilon=Fraction(2))


# ---------------------------------------------------------------- the rule, enumerated

Row = tuple[int, int, str]  # patient, household, and the other cells of the row
COLUMNS = {"patient_id": 0, "household_id": 1}
KINDS: list[Row] = list(product((0, 1), (0, 1), "ab"))


def persons(rows: list[Row], unit: str | None) -> Counter:
    """Count the rows by their cells, or (if there is a unit) the persons by the cells of all of their rows."""
    if unit is None:
        return Counter(rows)
    place = COLUMNS[unit]
    each = {row[place]: tuple(sorted(r for r in rows if r[place] == row[place])) for row in rows}
    return Counter(each.values())


def loss(one: list[Row], other: list[Row], costs: list[Cost]) -> Fraction:
    """Return the privacy loss between two tables, if each release is a histogram with geometric noise.

    Each cost states the unit (rows or persons) and the ε of a histogram. A cost under replace-one pays for two bins,
    because the exchange of a person changes two bins.
    """
    total = Fraction(0)
    for cost in costs:
        before, after = persons(one, cost.unit), persons(other, cost.unit)
        changed = sum(((before - after) + (after - before)).values())
        assert isinstance(cost.loss, Fraction)
        total += cost.loss * changed / (1 if cost.neighbors == "add-remove" else 2)
    return total


def tables() -> Iterator[list[Row]]:
    for n in range(3):
        yield from (list(rows) for rows in combinations_with_replacement(KINDS, n))


@pytest.mark.parametrize("relations", list(product(["add-remove", "replace-one"], repeat=3)))
@pytest.mark.parametrize("units", [(None, "patient_id", "patient_id"), (None, "patient_id", "household_id")])
def test_the_sum_over_units_is_reached_and_never_exceeded(units, relations):
    """If a row is exchanged for another row with the same identifiers, the largest possible loss is the sum."""
    costs = [Cost(Fraction(e), *of) for e, *of in zip((1, 3, 7), relations, units, strict=True)]
    total, relation = added_up(costs)
    pairs = [(one, other) for one in KINDS for other in KINDS if one[:2] == other[:2]]
    worst = max(loss([*rest, one], [*rest, other], costs) for rest in tables() for one, other in pairs)
    assert worst == total and relation == "replace-one"


def test_what_no_sum_over_units_covers():
    """Adding a row may cost more than the ε of a row plus the ε of a person.

    So the sum over units covers only the exchange of a row for another row with the same identifiers.
    """
    costs = [Cost(Fraction(1), "add-remove"), Cost(Fraction(3), "add-remove", "patient_id")]
    rest, row = [(0, 0, "a")], (0, 0, "b")
    (total, _), k = added_up(costs), 10
    assert loss(rest, [*rest, row], costs) == 1 + 2 * 3 > 1 + 3
    assert loss([*rest, (1, 0, "a")], [*rest, row], costs) == 2 * 1 + 3 * 3 > total
    assert loss([], [row] * k, costs) == k * 1 + 3 > total
    with pytest.raises(ValueError, match="different units of privacy"):
        added_up(costs, relation="add-remove")


# ---------------------------------------------------------------- sums of releases


def test_costs_for_persons_add_up_as_costs_for_rows_do():
    assert spent([PERSON, PERSON]) == (2, "add-remove")
    assert spent([PERSON, PERSON_EXCHANGED]) == (Fraction(9, 4), "replace-one")
    assert spent([FIRST, PERSON]) == (3, "replace-one")
    assert spent([PERSON, HOUSEHOLD]) == (6, "replace-one")
    assert spent([EXCHANGED, PERSON_EXCHANGED]) == (Fraction(7, 20), "replace-one")
    gauss = replace(GAUSS, unit="patient_id")
    exchanged = PrivacyLoss.gaussian(4 * GAUSS.mu_squared).epsilon(1e-6)
    assert spent([FIRST, gauss]) == (1 + exchanged, "replace-one")


def test_the_guarantee_of_a_sum_names_its_unit():
    assert promise_of([PERSON, PERSON_EXCHANGED]).unit == "patient_id"
    assert promise_of([FIRST, EXCHANGED]).unit is None
    of_a_row = promise_of([FIRST, PERSON])
    assert (of_a_row.epsilon, of_a_row.neighbors, of_a_row.unit) == (3, "replace-one", None)
    assert of_a_row.steps == ((1, 1), (2, 1))
    assert promise_of([PERSON, HOUSEHOLD]).unit is None


def test_clearing_keeps_the_unit_so_that_later_releases_add_up(state):
    state["releases"] = [PERSON, replace(FIRST, people=2)]
    session_ledger.forget_tables()
    (cleared, row) = session_ledger.releases()
    assert (cleared.unit, row.unit) == ("patient_id", None)
    assert spent([cleared, PERSON]) == (2, "add-remove")


# ---------------------------------------------------------------- words


def test_a_sum_for_persons_mentions_persons():
    for group in ([PERSON], [PERSON, PERSON_EXCHANGED], [PERSON_EXCHANGED]):
        text = "\n".join([sentence(group), explained(group), session_ledger.table(group).to_csv()])
        assert "row" not in text.replace("a table", "") and "person" in text and "not added" not in text
    assert "**ε = 1** (adding or removing one person, by patient\\_id) in 1 release." in sentence([PERSON])
    mixed = sentence([PERSON, PERSON_EXCHANGED])
    assert "**ε = 2.25 = 2 × 1 + 0.25** (a person exchanged, by patient\\_id)" in mixed
    assert mixed.endswith(" A release for “adding or removing one person” counts twice.")
    assert (
        "For “a person exchanged” (replace-one), the cost counts twice, because one person leaves and one comes: ε = 2"
        in explained([PERSON])
    )
    assert "whether a person is in the table, at most 73.2 are right" in explained([PERSON])
    assert session_ledger.table([PERSON])["ε"].tolist() == [
        "1 for adding or removing one person",
        "for adding or removing one person",
    ]


def test_sums_for_rows_and_for_persons_are_shown_apart():
    text = sentence([FIRST, PERSON, PERSON])
    assert "on people.csv: **ε = 0.5** (adding or removing one row) in 1 release." in text
    assert "on visits.csv: **ε = 2** (adding or removing one person, by patient\\_id) in 2 releases." in text
    assert "Releases for a row and for a person (all rows with the same **patient\\_id**) are **not added**." in text
    assert (
        "If one row is exchanged for another with the same **patient\\_id**, all these releases together cost ε = 5."
        in text
    )
    assert text.endswith(
        "For a person with all of their rows, no sum is known, because a release for a row counts once for each of "
        "these rows."
    )
    assert not_added([FIRST, EXCHANGED]) == not_added([PERSON]) == ""


def test_sums_for_persons_of_two_columns_are_shown_apart():
    text = sentence([PERSON, HOUSEHOLD])
    assert "**ε = 1** (adding or removing one person, by patient\\_id)" in text
    assert "**ε = 2** (adding or removing one person, by household\\_id)" in text
    assert (
        "same **patient\\_id**) and for a person (all rows with the same **household\\_id**) are **not added**" in text
    )
    assert (
        "for another with the same **patient\\_id** and **household\\_id**, all these releases together cost ε = 6."
        in text
    )
    assert text.endswith("no sum is known, because rows with the same value of one column may differ in the other.")


def test_a_sum_over_units_is_explained_for_each_unit_and_for_a_row():
    text = explained([FIRST, PERSON])
    assert text.startswith("Release 1: At ε = 0.5, ") and "Release 5: At ε = 1, " in text and "not added" in text
    assert text.endswith(
        "With all of them, of 100 guesses between two values of a row in the table, at most 88.1 are right."
    )
    table = session_ledger.table([FIRST, PERSON])
    assert table["adds"].tolist() == ["1", "2", "**3**"]
    assert table["ε"].tolist() == [
        "0.5 for adding or removing one row",
        "1 for adding or removing one person",
        "for a row exchanged",
    ]


def test_the_sum_after_a_release_is_for_its_unit():
    person = Cost(Fraction(1), "add-remove", "patient_id")
    text = after_this([PERSON], person)
    assert text.endswith("will have spent **ε = 2** (adding or removing one person) on the people in visits.csv.")
    assert after_this([PERSON_EXCHANGED], person).endswith(
        "**ε = 2.25** (a person exchanged) on the people in visits.csv. A release for “adding or removing "
        "one person” counts "
        "twice for “a person exchanged”."
    )
    text = after_this([FIRST, PERSON], person)
    assert (
        "will have spent **ε = 2** (adding or removing one person) on the people in people.csv and visits.csv. Releases"
        in text
    )
    assert "together cost ε = 5." in text and "no sum is known" in text
    text = after_this([GAUSS], person)
    assert (
        "**ε = 1** (adding or removing one person) on the people in people.csv." in text
        and "together cost ε = 4." in text
    )
    assert "at δ = 10⁻⁶. For a person with all of their rows, no sum" in text


def test_the_budget_tab_mentions_persons():
    ledger = Ledger(Fraction(1, 2), "replace-one", unit="patient_id")
    ledger.charge("labels", "permute-and-flip", 1, Fraction(1, 4), 9, "parallel")
    text = budget_tab._sentence(ledger.entries[0], ledger.budget, ledger.unit)
    assert (
        "All rows of a person together count as at most one row" in text and "An exchanged person counts twice" in text
    )


# ---------------------------------------------------------------- the dialog and the sidebar


def visits() -> Choice:
    """Return a choice whose table has two rows of each patient."""
    zoo = choice("zoo", trees=3)
    frame = zoo.table.frame.assign(patient_id=[f"p{i // 2}" for i in range(len(zoo.table.frame))])
    domain = replace(zoo.table.domain, unit="patient_id")
    return replace(zoo, table=replace(zoo.table, key="visits", title="Visits", frame=frame, domain=domain))


def release_page() -> None:
    """Show the sums, and the release button or the result of a release; streamlit runs this source as a page."""
    import streamlit as st

    from tests.ui.test_units_in_ledger import visits
    from ui.releasing import release, session_ledger
    from ui.shared import tables

    of_visits = visits()
    domain = of_visits.table.domain
    preview = of_visits.settings.estimator(domain).preview(domain, tables.n_persons(of_visits.table))
    if "just_released" in st.session_state:
        release._dialog(of_visits, *preview, is_useless=False)
    else:
        release.button(of_visits, *preview, st.sidebar, is_useless=False)
    session_ledger.in_sidebar()


def test_a_release_for_persons_after_one_for_rows():
    """The dialog states the cost for a person before and after the release. The sidebar shows separate sums."""
    page = AppTest.from_function(release_page, default_timeout=600)
    page.session_state["releases"] = [replace(FIRST, number=1, file=b"", table_key="visits", title="Visits")]
    page.run()
    next(b for b in page.button if b.label == "Release this forest").click().run()
    assert not page.exception
    text = "\n".join(m.value for m in page.markdown)
    assert "It costs **ε = 1** (adding or removing one person), which cannot be taken back." in text
    assert (
        "An earlier forest came from these rows (release 1), so they hold the same people." in text
        and "costs add up" not in text
    )
    assert (
        "will have spent **ε = 1** (adding or removing one person) on the people in Visits. Releases for a row" in text
    )
    made = release.make(visits(), 1, 2)  # the button of the dialog calls this function
    assert made.cost == Cost(PrivacyLoss.pure(1), "add-remove", "patient_id")
    page.session_state["releases"] = [*page.session_state["releases"], made]
    page.session_state["just_released"] = made
    page.run()
    assert not page.exception
    text = "\n".join(m.value for m in page.markdown)
    assert "has spent **ε = 1** (adding or removing one person) on the people in Visits. Releases for a row" in text
    (caption,) = [c.value for c in page.sidebar.caption if "Spent in this session" in c.value]
    assert "**ε = 1** (adding or removing one person, by patient\\_id) in 1 release. Releases for a row and" in caption
