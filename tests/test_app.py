"""The pages in process (AppTest): what they say, what they refuse, and what never leaves the session."""

import gzip
import json
from fractions import Fraction

import pytest
from app_words import words
from streamlit.testing.v1 import AppTest

from dpforest.domain import Domain, DomainError, Feature
from dpforest.tables import read_csv, suggest_domain
from ui import data_tab, release
from ui.forests import EPSILONS, FORESTS, Settings, as_code
from ui.release import LOOKED
from ui.sidebar import Choice
from ui.tables import Table
from ui.wording import guess_share, plain

CSV = "age;city;<b>x</b>;ill\n" + "".join(
    f"{20 + i % 60};{('Bonn', 'Ulm', 'Kiel')[i % 3]};{i % 7},5;{'ja' if i % 60 > 25 else 'nein'}\n" for i in range(200)
)
BAD_FILES = {
    "empty": b"",
    "header only": b"a,b,c\n",
    "one row": b"a,c\n1,x\n",
    "one class": b"a,c\n" + b"".join(b"%d,x\n" % i for i in range(80)),
    "binary": bytes(range(256)) * 20,
    "same name twice": b"a,a,c\n1,2,x\n3,4,y\n",
}


@pytest.fixture
def with_upload(app) -> AppTest:
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("people.csv", CSV.encode()).run()
    return app


def button(app: AppTest, label: str):
    return next(b for b in app.button if b.label.startswith(label))


def spec(app: AppTest, which: int = 0) -> dict:
    return json.loads(app.get("plotly_chart")[which].proto.spec)


def test_explore_shows_four_figures_and_the_curve(app):
    app.run()
    assert not app.exception
    text = words(app)
    for part in (
        "other kinds of forest may do better",
        "the floor: no forest at all",
        "over 2 simulated releases",
        "73.2 % · 88.1 %",
    ):
        assert part in text
    assert "you are here" in json.dumps(spec(app))


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("mode", ["certified", "as published"])
def test_every_forest_runs_in_both_modes(app, kind, mode):
    app.query_params.update({"forest": kind, "mode": mode, "depth": "3"})
    app.run()
    assert not app.exception
    assert any(b.label == "Release this forest" for b in app.button) == (mode == "certified")


def test_as_published_shows_its_true_loss_and_why(app):
    app.query_params["mode"] = "as published"
    app.run()
    text = words(app)
    assert ":red[∞]" in text and "Not certified" in text and "claimed" in text
    assert "without bound" in text


@pytest.mark.parametrize("tab", ["Tree", "Leaves", "Budget", "Data"])
def test_tabs(app, tab):
    app.query_params["tab"] = tab
    app.run()
    assert not app.exception
    assert "Curator only" in words(app)


def test_follow_one_record(app):
    app.run()
    app.toggle(key="follow").set_value(True).run()
    assert not app.exception
    assert "Record 1 in 5 trees" in words(app)
    assert "#CC79A7" in json.dumps([spec(app, i) for i in range(1, 4)])


def test_links_are_checked(app):
    app.query_params.update(
        {"eps": "0.1", "depth": "999", "forest": "nonsense", "neighbours": "x", "tab": "y", "label": "z"}
    )
    app.run()
    assert not app.exception
    assert app.select_slider[0].value == 0.1
    assert 1 <= app.slider[0].value <= 15
    assert app.sidebar.selectbox[2].value in FORESTS


def test_depth_follows_the_papers_rule_until_it_is_moved(app):
    app.run()
    by_rule = app.slider[0].value
    app.sidebar.selectbox[2].select("RF-L").run()
    assert app.slider[0].value == 6 != by_rule
    app.slider[0].set_value(4).run()
    app.sidebar.selectbox[2].select("majority labels").run()
    assert app.slider[0].value == 4


def test_another_label(app):
    app.query_params.update({"data": "car", "label": "safety"})
    app.run()
    assert not app.exception and "predicts safety" in words(app)


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_get_one_sentence_each(app, name):
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("bad.csv", BAD_FILES[name]).run()
    assert not app.exception
    assert len(app.warning) == 1 and app.warning[0].value.endswith(".")


def test_an_upload_stays_out_of_the_link_and_needs_confirming(with_upload):
    app = with_upload
    assert not app.exception
    assert set(app.query_params) <= {"data", "trees"}
    assert button(app, "Release").disabled
    assert "were read from the data" in words(app)
    assert "<b>x</b>" not in json.dumps(spec(app, 2))


def confirmed(app: AppTest) -> AppTest:
    app.session_state["tab"] = "Data"
    app.run()
    app.text_input(key="confirm_words").set_value("the study protocol").run()
    app.button(key="confirm_all").click().run()
    return app


def test_confirming_makes_it_certified_in_the_users_words(with_upload):
    app = confirmed(with_upload)
    assert not app.exception
    assert not button(app, "Release").disabled
    app.session_state["tab"] = "Budget"
    app.run()
    assert "asserted by you: “the study protocol”" in "\n".join(c.value for c in app.main.code)


def test_confirming_needs_words(with_upload):
    app = with_upload
    app.session_state["tab"] = "Data"
    app.run()
    app.button(key="confirm_all").click().run()
    assert len(app.warning) == 1 and button(app, "Release").disabled


def test_a_source_is_a_few_words(with_upload):
    app = with_upload
    app.session_state["tab"] = "Data"
    app.run()
    app.text_input(key="confirm_words").set_value("1a.").run()
    app.button(key="confirm_all").click().run()
    assert len(app.warning) == 1 and button(app, "Release").disabled
    with pytest.raises(DomainError, match="few words"):
        edited(Feature("age", "numeric", 18, 94, source="data"), **{"where this is known from": "x"})


def test_bounds_that_are_the_rows_own_are_said(with_upload):
    said = "20 and 79 are exactly the lowest and highest value of 'age'"
    app = confirmed(with_upload)
    assert said in app.warning[0].value
    next(c for c in app.checkbox if c.label.startswith("This table is public")).check().run()
    assert said not in words(app)


def test_a_label_with_missing_cells_is_explained(app):
    app.query_params["data"] = "upload a CSV"
    app.run()
    rows = "".join(f"{i % 9},{('' if i < 72 else i % 2)},{'ab'[i % 2]}\n" for i in range(200))
    app.file_uploader[0].upload("gaps.csv", f"x,outcome,y\n{rows}".encode()).run()
    assert not app.exception
    assert "'outcome', which 72 rows leave empty" in words(app)


@pytest.fixture
def choice() -> Choice:
    """A small upload whose domain was confirmed."""
    csv = read_csv(CSV.encode(), name="people.csv")
    domain = data_tab._asserted(suggest_domain(csv, "ill"), "the study protocol")
    table = Table("digest", "people.csv", csv.table, "ill", domain, csv=csv)
    return Choice(table, Settings("majority labels", "certified", 0.5, 3, 5, "add-remove"))


def test_a_release_is_exact_fresh_and_cautioned(choice):
    first, second = release.make(choice, 1, 1), release.make(choice, 1, 2)
    assert first.certificate.startswith("CERTIFIED")
    assert first.certificate.splitlines()[1] == f"CAUTION: {LOOKED}"
    assert json.loads(gzip.decompress(first.file))["about"]["caution"] == LOOKED
    assert first.file != second.file
    assert first.epsilon == Fraction(1, 2)


def test_clear_my_data(with_upload):
    app = confirmed(with_upload)
    button(app, "Clear my data").click().run()
    assert not app.exception
    assert "schemas" not in app.session_state and "people.csv" not in words(app)


def test_a_released_forest_predicts_a_new_file(app, choice):
    app.run()
    app.session_state["releases"] = [release.make(choice, 1, 1)]
    app.run()
    assert "ε = 0.5** (a row more or less) in 1 release" in words(app)
    page = app.switch_page("pages/4_Use_a_forest.py").run()
    assert not page.exception and "CERTIFIED" in page.code[0].value
    page.file_uploader[0].upload("new.csv", CSV.encode()).run()
    assert not page.exception
    assert len(page.dataframe[-1].value) == 200
    gaps = CSV.replace("Bonn", "Paris", 3).replace("20;", ";", 1).encode()
    page.file_uploader[0].upload("gaps.csv", gaps).run()
    assert not page.exception and "3 rows of 200 do not fit" in page.warning[0].value
    first = page.dataframe[-1].value.iloc[0, 0]
    assert first == "not predicted: age is missing or no number; city is missing or not listed"
    assert page.dataframe[-1].value.iloc[1, 0] in ("ja", "nein")
    old = CSV.replace("20;", "999;", 1).encode()
    page.file_uploader[0].upload("old.csv", old).run()
    assert not page.exception and any("1 value lies outside the public bounds" in info.value for info in page.info)
    page.file_uploader[0].upload("wrong.csv", b"a,b\n1,2\n3,4\n").run()
    assert not page.exception and len(page.warning) == 1


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00\x01", b'{"format": "dpforest released forest", "version": 1}'])
def test_what_is_not_a_forest_is_said_in_one_sentence(app, content):
    page = app.run().switch_page("pages/4_Use_a_forest.py").run()
    page.file_uploader[0].upload("forest.json", content).run()
    assert not page.exception and len(page.warning) == 1


def edited(feature: Feature, **changes) -> Feature:
    before = data_tab._row(feature, True)
    return data_tab._edited_feature(feature, {**before, **changes}, before)


def test_words_turn_what_was_read_into_an_assertion():
    age = Feature("age", "numeric", 18, 94, source="data")
    assert edited(age) == age
    confirmed = edited(age, lowest=0, highest=120, **{"where this is known from": "people live so long"})
    assert (confirmed.low, confirmed.high, confirmed.source) == (0, 120, "asserted")
    assert edited(age, lowest=0).source == "data"


def test_an_edited_domain_loses_its_document():
    age = Feature("age", "numeric", 0, 120, source="documented", source_note="the manual")
    assert edited(age, highest=99).source == "data"
    assert edited(age, missing="own value").source == "documented"
    assert edited(age, highest=99, **{"where this is known from": "the law"}).source_note == "the law"


def test_edited_values_and_classes():
    city = Feature("city", "categorical", categories=("Bonn", "Ulm"), source="data")
    assert edited(city, values=" Bonn;Ulm ; Kiel;").categories == ("Bonn", "Ulm", "Kiel")
    domain = Domain((city,), (0, 1), "ill")
    assert data_tab._edited_classes(domain, "0; 1; 2", "coding sheet") == (
        (0, 1, "2"),
        "ill",
        "asserted",
        "coding sheet",
    )
    with pytest.raises(DomainError, match="lower bound"):
        edited(Feature("age", "numeric", 0, 1), lowest=None)


def test_code_runs():
    settings = Settings(
        "majority labels", "certified", 1.0, 3, 5, "add-remove", (("leaf_mechanism", "permute-and-flip"),)
    )
    names: dict = {}
    exec(as_code(settings, "zoo", "type").rsplit("\n", 1)[0], names)
    assert names["forest"].certificate_.certified
    compile(as_code(settings, None, "it's"), "code", "exec")


def test_wording():
    assert guess_share(1.0) == pytest.approx(0.7311, abs=1e-4)
    assert list(EPSILONS) == sorted(EPSILONS)
    assert "[" not in plain("[a](b)").replace("\\[", "")
