"""The joint cost of releases on the same people: the sums, the groups of people, and the texts on the pages."""

import io
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpforest.book.sums import Cost, added_up, epsilon_under
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.loss import PrivacyLoss, mu_for
from dpforest.tables.datasets import read_csv
from tests.ui.app_words import words
from tests.ui.desk import make_public
from ui.explore import curve_panel
from ui.forest.forests import EPSILONS
from ui.releasing import session_ledger
from ui.releasing.session_ledger import Release, delta_of, explained, groups, spent

FIRST = Release(
    1, "people.csv", "noisy counts", "digest", True, 1, Fraction(1, 2), "add-remove", "CERTIFIED", b'{"forest": 1}'
)
SAVED_AGAIN = replace(FIRST, number=2, title="people (2).csv", table_key="another digest", epsilon=Fraction(1, 10))
EXCHANGED = replace(SAVED_AGAIN, neighbors="replace-one")
GAUSS = replace(FIRST, number=4, epsilon=Fraction(1), mu_squared=mu_for(1, 1e-6).mu_squared, delta=1e-6)
ZOO = replace(FIRST, number=3, title="Zoo", table_key="zoo", uploaded=False, people=2, epsilon=Fraction(3))


@pytest.fixture
def state(monkeypatch) -> dict:
    """Return a dictionary that replaces the session state of streamlit."""
    session: dict = {}
    monkeypatch.setattr(session_ledger.st, "session_state", session)
    return session


def sums() -> dict[tuple[int, ...], tuple[Fraction, str]]:
    return {tuple(r.number for r in group): spent(group) for group in groups().values()}


# ---------------------------------------------------------------- sums


def test_costs_on_the_same_people_add_up():
    assert spent([FIRST, SAVED_AGAIN]) == (Fraction(3, 5), "add-remove")
    assert spent([FIRST, EXCHANGED]) == (Fraction(11, 10), "replace-one")
    assert spent([EXCHANGED, EXCHANGED]) == (Fraction(1, 5), "replace-one")
    assert spent([FIRST], Cost(Fraction(1), "add-remove")) == (Fraction(3, 2), "add-remove")
    assert spent([FIRST], Cost(Fraction(1), "replace-one")) == (2, "replace-one")


def test_ten_tenths_are_one_and_thirds_are_exact():
    assert added_up([Cost(Fraction(1, 10), "add-remove")] * 10)[0] == 1
    assert added_up([Cost(Fraction(1, 3), "replace-one"), Cost(Fraction(1, 3), "add-remove")]) == (1, "replace-one")


def test_an_exchange_has_no_cost_under_add_remove():
    with pytest.raises(ValueError, match="no ε under add-remove"):
        epsilon_under(Fraction(1), "replace-one", "add-remove")


def test_one_more_release_never_lowers_a_sum():
    """One more release never lowers a sum, whichever neighbor relation it has."""
    for one in (FIRST, EXCHANGED):
        for more in (Cost(Fraction(1, 100), "add-remove"), Cost(Fraction(1, 100), "replace-one")):
            assert spent([one], more)[0] > spent([one])[0]


def test_gaussian_costs_add_up_in_mu_squared():
    """Four releases with μ cost as much as one release with 2μ. Their ε at δ is added to the ε of a pure release."""
    four = [replace(GAUSS, number=k) for k in range(4)]
    total, relation = spent(four)
    assert delta_of(four) == 1e-6 and relation == "add-remove"
    assert total == PrivacyLoss.gaussian(4 * GAUSS.mu_squared).epsilon(1e-6) < 4 * GAUSS.epsilon
    assert spent([FIRST, *four])[0] == Fraction(1, 2) + total
    exchanged = replace(GAUSS, neighbors="replace-one")
    both = PrivacyLoss.gaussian(5 * GAUSS.mu_squared).epsilon(1e-6)  # replace-one doubles the first μ: 4μ² + μ²
    assert spent([GAUSS, exchanged]) == (both, "replace-one")
    assert spent([FIRST, exchanged]) == (1 + exchanged.loss.epsilon(1e-6), "replace-one")
    assert spent([FIRST], Cost(GAUSS.loss, "add-remove"), delta=1e-6) == spent([FIRST, GAUSS])
    # The sum of both releases is stated at the larger δ.
    later = replace(GAUSS, delta=1e-4)
    assert spent([GAUSS, later])[0] == PrivacyLoss.gaussian(2 * GAUSS.mu_squared).epsilon(1e-4)
    with pytest.raises(ValueError, match="δ"):
        added_up([Cost(GAUSS.loss, "add-remove")])


def test_a_gaussian_sum_is_reported_at_its_delta():
    assert "**ε = 1 at δ = 10⁻⁶** (adding or removing one row) in 1 release." in session_ledger.sentence([GAUSS])
    mixed = [FIRST, GAUSS]
    assert "**ε = 1.5 at δ = 10⁻⁶**" in session_ledger.sentence(mixed)
    text = explained(mixed)
    assert (
        "at most 62.4 are right" in text and "counts twice in μ, because one row leaves and one comes: ε = 3." in text
    )
    # The text must not say “become”, because in rare releases, an attacker may become surer than the stated number.
    assert "become" not in text
    assert session_ledger.table(mixed)["adds"].tolist() == ["0.5", "μ² 0.056029", "**1.5** at δ = 10⁻⁶"]
    assert "δ" not in session_ledger.sentence([FIRST]) + explained([FIRST])


# ---------------------------------------------------------------- groups of people


def test_releases_can_be_merged_with_a_group_and_removed_from_it(state):
    state["releases"] = [FIRST, replace(EXCHANGED, people=2), replace(ZOO, people=3)]
    assert sums() == {
        (1,): (Fraction(1, 2), "add-remove"),
        (2,): (Fraction(1, 10), "replace-one"),
        (3,): (3, "add-remove"),
    }
    session_ledger.merge(1, 2)
    assert sums() == {(1, 2): (Fraction(11, 10), "replace-one"), (3,): (3, "add-remove")}
    session_ledger.merge(1, 3)
    assert sums() == {(1, 2, 3): (Fraction(71, 10), "replace-one")}
    session_ledger.take_out("another digest")
    assert sums() == {(1, 3): (Fraction(7, 2), "add-remove"), (2,): (Fraction(1, 10), "replace-one")}


def test_the_same_rows_stay_together(state):
    state["releases"] = [FIRST, replace(FIRST, number=2), replace(ZOO, people=1)]
    session_ledger.take_out("digest")
    assert set(sums()) == {(1, 2), (3,)}


def test_clearing_forgets_names_and_forests_but_no_cost(state):
    first = replace(FIRST, shape=(9, frozenset({"secret column"})))
    state["releases"] = [first, replace(first, number=4), replace(EXCHANGED, people=2), ZOO]
    before = sums()
    session_ledger.forget_tables()
    assert sums() == before and not session_ledger.releases_in_session()
    left = repr(state)
    assert not [
        secret for secret in ("people.csv", "people (2)", "digest", "CERTIFIED", "forest'", "secret") if secret in left
    ]
    assert [r.title for r in session_ledger.releases()] == [
        "cleared table 1",
        "cleared table 1",
        "cleared table 2",
        "Zoo",
    ]
    state["releases"].append(replace(FIRST, number=5))
    session_ledger.forget_tables()
    assert [r.title for r in session_ledger.releases()][-2:] == ["Zoo", "cleared table 3"]


# ---------------------------------------------------------------- words


def test_the_sum_is_explained():
    assert "at most 73.2 % sure; between two values of a row, at most 88.1 %" in explained([replace(FIRST, epsilon=1)])
    together = explained([FIRST, EXCHANGED])
    assert "from one forest at ε = 1.1" in together and "counts twice" in together and "75.1 %" in together
    one = replace(FIRST, epsilon=Fraction(1))
    assert "at most 73.2 are right; between two values of a row, at most 81.7" in explained([one])
    trees = replace(one, steps=((Fraction(1, 100), 100),))
    assert "at most 52 are right" in explained([trees]) and "at most 73.2 % sure" in explained([trees])
    assert "at most 55.2 are right" in explained([trees, GAUSS]) and "sure" not in explained([trees, GAUSS])
    assert "adding or removing one row" in explained([EXCHANGED])
    assert session_ledger.table([FIRST, EXCHANGED])["adds"].tolist() == ["1", "0.1", "**1.1**"]


def test_what_the_simulated_forests_would_cost():
    """The stated cost includes all simulated forests, each with the budget that a release of it would spend."""
    curve = 7, np.array(EPSILONS)
    ledger = Ledger(Fraction(1, 2), "replace-one")
    ledger.charge("labels", "permute-and-flip", 1, Fraction(1, 4), 1, "sequential")
    sentence = curve_panel.price(*curve, ledger)
    assert (
        "7 forests at ε = 0.5 would cost ε = 3.5, and all 126 of the curve would cost ε = 221.41 (replace-one)"
        in sentence
    )
    half = Ledger(Fraction(1, 2))
    half.charge("labels", "global-01", 1, Fraction(1, 4), 1, "sequential")
    assert "cost ε = 1.75, and all 126 of the curve would cost ε = 110.705 (add-remove)" in curve_panel.price(
        *curve, half
    )
    assert "no sum" in curve_panel.price(*curve, Ledger(None))


# ---------------------------------------------------------------- pages


def test_under_the_curve(app):
    app.run()
    assert (
        "These are simulated; nothing is released. Releasing 2 forests at ε = 1 would cost ε = 2, and all 36 of the "
        "curve would cost ε = 63.26" in words(app)
    )


@pytest.mark.parametrize("page", ["app.py", "pages/4_Releases.py"])
def test_the_sidebar_of_every_page(app, page):
    app.session_state["releases"] = [replace(FIRST, file=b""), replace(EXCHANGED, file=b""), replace(ZOO, file=b"")]
    app.run()
    if page != "app.py":
        app.switch_page(page).run()
    assert not app.exception
    text = "\n".join(c.value for c in app.sidebar.caption)
    assert "people.csv and people (2).csv: **ε = 1.1 = 2 × 0.5 + 0.1** (a row exchanged) in 2 releases" in text
    assert "Zoo: **ε = 3** (adding or removing one row) in 1 release" in text
    box = next(b for b in app.selectbox if b.label == "Release 3: are these the same people as in an earlier release?")
    assert box.options == ["no", "yes, as in releases 1, 2"]
    box.select_index(1).run()
    assert not app.exception
    (line,) = [c.value for c in app.sidebar.caption if c.value.startswith("**Spent")]
    assert "**ε = 7.1 = 2 × 3.5 + 0.1** (a row exchanged) in 3 releases" in line


def test_a_sum_gets_smaller_by_a_statement_only(app):
    app.session_state["releases"] = [replace(FIRST, file=b""), replace(SAVED_AGAIN, file=b"")]
    app.run()
    total = lambda: [c.value for c in app.sidebar.caption if c.value.startswith("**Spent")]
    before = total()
    box = next(b for b in app.selectbox if b.label == "Is a table in this sum by mistake?")
    assert box.options == ["no, the sum is right", "yes, people.csv", "yes, people (2).csv"]
    box.select_index(2).run()
    take_out = lambda: next(b for b in app.button if b.label == "Take it out of the sum")
    assert total() == before and take_out().disabled
    next(c for c in app.checkbox if c.label.startswith("I state that nobody in people (2).csv")).check().run()
    take_out().click().run()
    assert not app.exception and len(total()) == 2


def ask(app: AppTest) -> str:
    next(b for b in app.button if b.label == "Release this forest").click().run()
    assert not app.exception
    return "\n".join(m.value for m in app.markdown)


def test_the_dialog_shows_the_sum_beforehand(app):
    app.session_state["releases"] = [replace(EXCHANGED, file=b"")]
    app.query_params["eps"] = "1"
    text = ask(app.run())
    assert (
        "will have spent **ε = 2.1** (a row exchanged) on the people in people (2).csv." in text
        and "counts twice" in text
    )
    assert [r for r in app.radio if r.label.startswith("Do these rows hold the same people")]


@pytest.mark.parametrize(("epsilon", "warns"), [("0.01", True), ("10", False)])
def test_the_dialog_warns_if_the_forest_only_guesses(app, epsilon, warns):
    app.query_params.update({"data": "breast_wisconsin", "eps": epsilon, "forest": "noisy counts"})
    ask(app.run())
    assert any("names the most frequent class" in box.value for box in app.warning) == warns


def test_the_same_rows_are_the_same_people(app):
    app.session_state["releases"] = [replace(ZOO, file=b"")]
    text = ask(app.run())
    assert (
        "An earlier forest came from these rows" in text
        and "will have spent **ε = 4** (adding or removing one row)" in text
    )
    assert not [r for r in app.radio if r.label.startswith("Do these rows")]


# ---------------------------------------------------------------- the same rows in another file


def rows_of(csv: bytes) -> str:
    return session_ledger.digest_of_rows(read_csv(csv).table)


def test_rows_are_the_same_however_they_are_written():
    """The app recognizes rows after pandas or a spreadsheet has saved them, and after rows or columns are reordered."""
    lines = [(20 + i % 40, 1.5 * i, ("Ulm", "Bonn", "")[i % 3], "ja" if i % 7 > 3 else "nein") for i in range(60)]
    plain = "age,dose,city,ill\n" + "".join(f"{a},{d:g},{c},{y}\n" for a, d, c, y in lines)
    pandas = "age,dose,city,ill\n" + "".join(f"{float(a)},{d:.2f},{c},{y}\n" for a, d, c, y in lines)
    sheet = "ill;age;city;dose\n" + "".join(f"{y};{a};{c};{d:g}\n".replace(".", ",") for a, d, c, y in lines[::-1])
    assert rows_of(plain.encode()) == rows_of(pandas.encode()) == rows_of(sheet.encode("utf-16"))
    others = [
        plain.replace("ja", "nein", 1),
        plain.replace("age,dose", "dose,age", 1),
        "".join(plain.splitlines(keepends=True)[:-1]),
        plain.replace("Ulm", "", 1),
    ]
    assert len({rows_of(other.encode()) for other in (plain, *others)}) == 5


def test_rows_that_occur_twice_count_twice():
    one, two = "x,y\n1,a\n1,a\n2,b\n", "x,y\n1,a\n2,b\n2,b\n"
    frame = lambda csv: pd.read_csv(io.StringIO(csv))
    assert session_ledger.digest_of_rows(frame(one)) != session_ledger.digest_of_rows(frame(two))


@pytest.mark.slow  # the previous test compares the digests of rows in every run
def test_the_same_rows_in_another_file_are_not_split(app):
    """The app counts rows with 22.0 instead of 22 as the rows of release 1, without a question.

    For rows with another dose, it asks two questions.
    """
    line = "{},{},{}\n".format
    rows = [(20 + i % 30, i % 9, "ja" if i % 30 > 12 else "nein") for i in range(120)]
    first = "age,dose,ill\n" + "".join(line(*row) for row in rows)
    again = "age,dose,ill\n" + "".join(line(float(a), b, c) for a, b, c in rows)
    other = "age,dose,ill\n" + "".join(line(a, b + 1, c) for a, b, c in rows)
    app.session_state["releases"] = [
        replace(FIRST, table_key=rows_of(first.encode()), shape=(120, frozenset({"age", "dose", "ill"})))
    ]
    app.query_params["data"] = "upload a CSV"
    app.run()

    def asked(csv: str) -> str:
        next(widget for widget in app.file_uploader if widget.label == "CSV file").upload(
            "people.csv", csv.encode()
        ).run()
        app.session_state["tab"] = "Data"
        app.run()
        return ask(make_public(app, "the protocol of 2021"))

    text = asked(again)
    assert "An earlier forest came from these rows (release 1)" in text and "will have spent **ε = 1.5**" in text
    assert not [r for r in app.radio if r.label.startswith("Do these rows")]
    # The dialog suggests the people of the last release, so this line adds a release on other people.
    app.session_state["releases"] = [*app.session_state["releases"], ZOO]
    asked(other)
    assert [r for r in app.radio if r.label.startswith("Do these rows")]
    assert [c for c in app.checkbox if c.label.startswith("Same columns, same number of rows as release 1. I state")]
    assert next(b for b in app.button if b.label.startswith("Release for ε")).disabled


def test_files_of_one_name_are_distinguished(app):
    app.session_state["releases"] = [
        replace(FIRST, file=b"", shape=(9, frozenset("ab"))),
        replace(SAVED_AGAIN, title="people.csv", file=b"", shape=(9, frozenset("ab"))),
    ]
    app.run()
    box = next(b for b in app.selectbox if b.label == "Is a table in this sum by mistake?")
    assert box.options[1:] == ["yes, people.csv (release 1)", "yes, people.csv (release 2)"]
    box.select_index(2).run()
    captions = [c.value for c in app.caption if c.value.startswith("Same columns")]
    assert captions == ["Same columns, same number of rows as release 1: are these really different people?"]


def test_the_budget_tab_repeats_the_sum(app):
    app.query_params["tab"] = "Budget"
    app.run()
    captions = lambda: "\n".join(c.value for c in app.main.caption)
    assert "A release would use up ε = 1 of 1" in captions() and "Spent in this session" not in captions()
    app.session_state["releases"] = [replace(FIRST, file=b""), replace(EXCHANGED, file=b"")]
    app.run()
    assert "**Spent in this session** on people.csv and people (2).csv: **ε = 1.1 = 2 × 0.5 + 0.1**" in captions()
