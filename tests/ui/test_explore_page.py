"""The pages (AppTest): what they show, what they refuse, and what never leaves the session."""

import gzip
import json
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest

from dpforest import ReleasedForest
from dpforest.models.shape_rules import noisy_counts_shape
from dpforest.risk.success_rate import most_success
from dpforest.tables.datasets import read_csv, suggest_domain
from dpforest.tables.domain import Domain, DomainError, Feature
from dpforest.tables.out_of_domain import OutOfDomainWarning
from dpforest.tables.read_parts import assert_parts, read_parts, sources
from tests.conftest import every
from tests.ui.app_words import words
from tests.ui.desk import HIGHEST, LOWEST, answer, field, make_public, open_card
from ui.choose import membership
from ui.explore import data_tab, rows_fit
from ui.forest.forests import EPSILONS, FORESTS, ForestSettings, as_code
from ui.releasing import release
from ui.releasing.release import CHOSEN_BY_LOOKING
from ui.shared import tables
from ui.shared.sidebar import Choice
from ui.shared.tables import Table
from ui.shared.wording import plain

CSV = "age;city;<b>x</b>;ill\n" + "".join(
    f"{20 + i % 60};{('Bonn', 'Ulm', 'Kiel')[i % 3]};{i % 7},5;{'ja' if i % 60 > 25 else 'nein'}\n" for i in range(200)
)


@pytest.fixture
def with_upload(app) -> AppTest:
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("people.csv", CSV.encode()).run()
    return app


def asserted(domain: Domain, note: str) -> Domain:
    """Return the domain, in which all parts that were read from rows get this note as their source."""
    return assert_parts(domain, read_parts(domain), note)


def button(app: AppTest, label: str):
    return next(b for b in app.button if b.label.startswith(label))


def spec(app: AppTest, which: int = 0) -> dict:
    return json.loads(app.get("plotly_chart")[which].proto.spec)


def test_explore_shows_four_figures_and_the_curve(app):
    app.run()
    assert not app.exception
    text = words(app)
    for part in (
        "best of those tried: a usual random forest",
        "; your kind of forest without noise: ",
        "guessing, with no forest at all",
        "over 2 simulated releases",
        "are right (a coin: 50). Guesses at which of two values a row has: ≤ 81.7.",
    ):
        assert part in text
    assert "you are here" in json.dumps(spec(app))


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        # tests/ui/test_greedy_forests_page.py opens the boosted forest as published in every run.
        pytest.param(kind, mode, marks=pytest.mark.slow if (kind, mode) == ("boosted", "as published") else ())
        for kind, spec in FORESTS.items()
        for mode in spec.modes()
    ],
)
def test_every_forest_runs_in_its_modes(app, kind, mode):
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


@pytest.mark.parametrize("tab", ["Tree", "Leaves", "Budget", "Data", "Groups"])
def test_tabs(app, tab):
    app.query_params["tab"] = tab
    app.run()
    assert not app.exception
    assert "Do not share" in words(app)


def test_follow_one_record(app):
    app.run()
    app.toggle(key="follow").set_value(True).run()
    assert not app.exception
    assert "Record 1 in 5 trees" in words(app)
    assert "#CC79A7" in json.dumps([spec(app, i) for i in range(1, 4)])


def test_links_are_checked(app):
    app.query_params.update(
        {"eps": "0.1", "depth": "999", "forest": "nonsense", "neighbors": "x", "tab": "y", "label": "z"}
    )
    app.run()
    assert not app.exception
    assert app.select_slider[0].value == 0.1
    assert 1 <= app.slider[0].value <= 15
    assert app.sidebar.selectbox[2].value in FORESTS


@pytest.mark.parametrize("asked", ["-1", "nan", "![x](http://a.example/b.png)"])
def test_a_link_with_an_invalid_epsilon_gets_a_message(app, asked):
    app.query_params["eps"] = asked
    app.run()
    assert not app.exception
    assert "which is no number from 0.001 to 25. The page shows ε = 1." in words(app)
    assert "](http://a.example" not in words(app)
    app.select_slider(key="eps").set_value(0.5).run()
    assert "which is no number" not in words(app)


@pytest.mark.parametrize(("asked", "nearest"), [("40", "25"), ("0.0001", "0.001")])
def test_a_link_with_an_epsilon_out_of_range_gets_the_nearest_one_and_a_message(app, asked, nearest):
    app.query_params["eps"] = asked
    app.run()
    assert app.select_slider(key="eps").value == float(nearest)
    message = f"The link asks for ε: {asked}. Possible are 0.001 to 25, so the page takes {nearest}."
    assert [toast.value for toast in app.toast] == [message]
    assert not app.run().toast


@pytest.mark.parametrize("how", ["link", "typed"])
def test_any_epsilon_can_be_asked_for(app, how):
    """An ε from a link or a text field appears on the slider, the curve and the card. The slider can still be moved."""
    if how == "link":
        app.query_params["eps"] = "0.4"
    app.run()
    if how == "typed":
        app.text_input(key="eps_typed").set_value("0.4").run()
    assert not app.exception
    assert app.select_slider(key="eps").value == 0.4 == float(app.text_input(key="eps_typed").value)
    assert "What ε = 0.4 means" in words(app)
    (curve,) = [t for t in spec(app)["data"] if t.get("name") == "this forest, with noise"]
    assert any(text.startswith("ε = 0.4: ") for text in curve["text"])
    app.select_slider(key="eps").set_value(0.5).run()
    assert "What ε = 0.5 means" in words(app)
    assert app.text_input(key="eps_typed").value == "0.5"


@pytest.mark.slow
def test_one_number_after_another_can_be_typed(app):
    app.query_params["data"] = "zoo"
    app.run()
    for epsilon in (4.0, 8.0, 0.4, 8.0):
        app.text_input(key="eps_typed").set_value(f"{epsilon:g}").run()
        assert app.select_slider(key="eps").value == epsilon == float(app.text_input(key="eps_typed").value)
        assert f"What ε = {epsilon:g} means" in words(app) and not app.exception
    for refused in ("", "50", "-1", "much"):
        app.text_input(key="eps_typed").set_value(refused).run()
        assert app.select_slider(key="eps").value == 8.0 == float(app.text_input(key="eps_typed").value)
        assert (f"“{refused}” is no number from 0.001 to 25, so ε stays 8." in words(app)) == bool(refused)
    assert "is no number" not in words(app.run())
    app.text_input(key="eps_typed").set_value("0,4").run()
    assert app.select_slider(key="eps").value == 0.4 and "is no number" not in words(app)


@pytest.mark.parametrize(("asked", "shown"), [("0.40", 0.4), ("1.23456789", 1.23457), ("1.0000004", 1.0), ("4e0", 4.0)])
def test_the_shown_epsilon_is_the_used_one(app, asked, shown):
    """The forest uses exactly the shown ε. If a release used 1.0000004 and stated ε = 1, it would break its promise."""
    app.query_params["eps"] = asked
    app.run()
    assert not app.exception
    assert app.select_slider(key="eps").value == shown
    assert f"What ε = {shown:g} means" in words(app)


@pytest.mark.parametrize("epsilon", [0.001, 25.0])
@pytest.mark.parametrize("kind", FORESTS)
def test_every_forest_at_the_smallest_and_largest_epsilon(app, kind, epsilon):
    app.query_params.update({"forest": kind, "eps": f"{epsilon:g}", "depth": "2"})
    app.run()
    assert not app.exception
    assert f"What ε = {epsilon:g} means" in words(app)


def test_a_presentation_can_be_ended(app):
    app.query_params["present"] = "true"
    app.run()
    app.button(key="end_presentation").click().run()
    assert not app.exception
    assert "end_presentation" not in {button.key for button in app.button}


def test_depth_and_trees_follow_the_rule_until_a_slider_is_moved(app):
    app.query_params.clear()
    app.query_params.update({"data": "mushroom", "forest": "noisy counts"})
    app.run()

    def shape() -> tuple[int, int]:
        return app.slider(key="depth").value, app.select_slider(key="trees").value

    def rule(epsilon: float, n_rows: int = 8_124) -> tuple[int, int]:
        trees, depth = noisy_counts_shape(epsilon * n_rows * 0.98, 2, 22)
        return depth, trees

    assert shape() == rule(1.0) and "at ε = 1 and about 8,100 records: 16 trees of depth 9" in words(app)
    app.select_slider(key="eps").set_value(0.03).run()
    assert shape() == rule(0.03) != rule(1.0) and "at ε = 0.03" in words(app)
    assert not {"depth", "trees", "by_rule"} & set(app.query_params)
    app.slider(key="depth").set_value(5).run()
    assert not app.toggle(key="by_rule").value and shape() == (5, 4)
    app.select_slider(key="eps").set_value(1.0).run()
    assert shape() == (5, 4)  # numbers that a user has set stay, whatever the rule returns
    app.toggle(key="by_rule").set_value(True).run()
    assert shape() == rule(1.0)


@pytest.mark.parametrize(
    "shape_in_link", [{"depth": "5", "trees": "4"}, {"depth": "5", "trees": "4", "by_rule": "false"}]
)
def test_numbers_in_a_link_stay(app, shape_in_link):
    app.query_params.clear()
    app.query_params.update({"data": "mushroom", "forest": "noisy counts", **shape_in_link})
    app.run()
    assert app.slider(key="depth").value == 5 and app.select_slider(key="trees").value == 4
    assert not app.toggle(key="by_rule").value


@pytest.mark.parametrize("kind", every(3, [kind for kind, spec in FORESTS.items() if spec.is_published]))
def test_as_published_starts_with_the_settings_of_the_paper(app, kind):
    app.query_params.update({"data": "car", "forest": kind, "mode": "as published"})
    app.run()
    assert not app.exception and "As published: " in words(app)
    app.toggle(key="by_rule").set_value(False).run()
    assert not app.exception


def test_the_label_of_a_link_is_predicted(app):
    app.query_params.update({"data": "car", "label": "safety"})
    app.run()
    assert not app.exception and "predicts safety" in words(app)


def test_an_upload_stays_out_of_the_link_and_needs_confirming(with_upload):
    app = with_upload
    assert not app.exception
    assert set(app.query_params) <= {"data", "forest", "trees", "depth", "by_rule"}
    assert button(app, "Release").disabled
    assert "were read from the data" in words(app)
    assert "<b>x</b>" not in json.dumps(spec(app, 2))


def listed(app: AppTest, column: str) -> pd.DataFrame:
    """Return the content of the first table on the page that has this column."""
    return next(frame.value for frame in app.dataframe if column in frame.value.columns)


def schema(app: AppTest) -> Domain:
    """Return the edited domain."""
    return next(iter(app.session_state["schemas"].values()))


def data_tab_of(app: AppTest) -> AppTest:
    app.session_state["tab"] = "Data"
    return app.run()


def test_confirming_makes_it_certified_in_the_users_words(with_upload):
    app = make_public(with_upload)
    assert not app.exception
    assert not button(app, "Release").disabled
    app.session_state["tab"] = "Budget"
    app.run()
    assert "asserted by the curator: “the study protocol”" in "\n".join(c.value for c in app.main.code)


@pytest.mark.parametrize("no_source", ["", "yes", "ok ok ok", "asdf", "1a.", "page 2"])
def test_a_source_is_a_few_words(with_upload, no_source):
    app = answer(open_card(data_tab_of(with_upload), "city"), no_source)
    assert len(app.warning) == 1 and "“the questionnaire, page 2”" in app.warning[0].value
    assert button(app, "Release").disabled and "schemas" not in app.session_state
    if no_source:
        with pytest.raises(DomainError, match="three words"):
            edited(Feature("age", "numeric", 18, 94, source="data"), **{"how everybody knows this": no_source})
        with pytest.raises(DomainError, match="three words"):
            data_tab._edited_classes(Domain((Feature("age", "numeric", 0, 1),), (0, 1), "ill"), "0; 1", no_source)


@pytest.mark.slow  # test_cards.py answers each card in every run
def test_parts_of_the_domain_have_separate_sources(with_upload):
    """An answered card gives a source to its part of the domain only. All other parts still count as read from rows."""
    app = answer(open_card(data_tab_of(with_upload), "city"), "the list of towns")
    domain = schema(app)
    age, city, x = domain.features
    assert city.leaks() == [] and age.leaks() and x.leaks() and button(app, "Release").disabled
    assert {"bounds", "type", "missing", "classes", "reading", "columns"} <= {part.what for part in read_parts(domain)}
    open_card(app, "the label")
    assert "the file is UTF-8 text with ';' between columns and decimal commas" in words(app).replace("\\", "")
    answer(app, "our export program writes it so")
    domain = schema(app)
    assert domain.reading_note == domain.columns_note == domain.classes_note == "our export program writes it so"
    assert {part.what for part in read_parts(domain)} == {"bounds", "type", "missing"}
    make_public(app, "the code book of the study")
    assert schema(app).leaks() == [] and not button(app, "Release").disabled
    assert schema(app).features[1].source_note == "the list of towns"


@pytest.mark.slow
def test_an_edit_keeps_the_source_of_the_file_format(with_upload):
    app = answer(open_card(data_tab_of(with_upload), "the label"), "our export program writes it so")
    classes = next(field for field in app.text_input if field.label.startswith("Why the classes are public"))
    assert classes.value == "our export program writes it so"
    classes.set_value("a yes or no").run()
    assert "Apply or undo these changes first" in words(app)
    assert not any(b.label == "Use this range" for b in app.button), "a card would drop these edits"
    button(app, "Apply my changes").click().run()
    domain = schema(app)
    assert (domain.classes_source, domain.classes_note) == ("asserted", "a yes or no")
    assert (domain.reading_source, domain.reading_note) == ("asserted", "our export program writes it so")
    bare = Domain(domain.features, domain.classes, "ill", "asserted", "a yes or no")
    kept = tables.kept(domain, bare)
    assert (kept.reading, kept.reading_source, kept.columns_source) == (domain.reading, "asserted", "asserted")


def test_an_assertion_about_columns_does_not_cover_other_columns(choice):
    domain = choice.table.domain
    assert tables.kept(domain, domain) == domain and not domain.leaks()
    fewer = tables.kept(domain, replace(domain, features=domain.features[1:]))
    assert fewer.leaks() == ["Which columns are used was decided by what is in them."]
    documented = replace(domain, columns_source="")  # as if the choice of columns did not depend on the rows
    assert tables.kept(documented, replace(documented, features=domain.features[1:])).leaks() == []


def exact_bounds(app: AppTest) -> AppTest:
    """Answer all cards. The range of age is from the lowest to the highest age of the rows."""
    open_card(data_tab_of(app), "age")
    field(app, LOWEST).set_value("20")
    field(app, HIGHEST).set_value("79")
    answer(app, "the study protocol")
    return make_public(app)


@pytest.mark.slow  # tests/tables covers exact bounds in every run
def test_bounds_that_equal_a_cell_are_reported(with_upload):
    """Bounds that equal a cell cause a warning instead of a success message. A public table gets no such warning."""
    message = "20 and 79 are exactly the lowest and highest value of 'age'"
    app = exact_bounds(with_upload)
    assert listed(app, "rounder")["exactly in the rows"].tolist() == ["lowest and highest"] * 2
    assert message in app.warning[0].value and not app.success and not button(app, "Release").disabled
    next(c for c in app.checkbox if c.label.startswith("This table is public")).check().run()
    assert message not in words(app) and len(app.success) == 1 and not app.warning
    assert not any("rounder" in frame.value.columns for frame in app.dataframe)


@pytest.mark.slow  # tests/tables covers rounder bounds in every run
def test_rounder_bounds_count_as_read_until_they_have_a_source(with_upload):
    app = exact_bounds(with_upload)
    assert listed(app, "rounder")["rounder"].tolist() == ["0 to 120", "0 to 8"]
    button(app, "Fill in 2 rounder ranges").click().run()
    age, _, x = schema(app).features
    assert (age.low, age.high, x.low, x.high) == (0, 120, 0, 8) and age.source == x.source == "data"
    assert button(app, "Release").disabled and not app.success
    assert {part.what for part in read_parts(schema(app))} == {"bounds"}
    make_public(app, "people live so long")
    assert schema(app).leaks() == [] and len(app.success) == 1 and not app.warning


GAPS = b"x,outcome,y\n" + b"".join(f"{i % 90},{'' if i < 72 else i % 2},{i % 3 / 4}\n".encode() for i in range(200))


def test_rows_without_a_label_are_left_out_and_counted(app):
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("gaps.csv", GAPS).run()
    assert not app.exception
    assert "72 rows have no listed label and will be left out." in words(app)
    make_public(app, "the code book of the study")
    assert "**72 rows of 200 have no label that is listed and are left out**" in words(app)
    assert not app.exception and not button(app, "Release").disabled
    warnings.warn("told on the page, so not in the log of the server", OutOfDomainWarning, stacklevel=1)


def test_a_release_leaves_out_the_rows_that_its_figures_leave_out():
    csv = read_csv(GAPS, name="gaps.csv")
    domain = asserted(suggest_domain(csv, "outcome"), "the code book of the study")
    table = replace(Table("digest", csv.name, csv.table, "outcome", domain, csv=csv), frame=csv.read_with(domain))
    settings = ForestSettings("noisy counts", "certified", EPSILONS[-1], 1, 1, "add-remove")
    with pytest.warns(OutOfDomainWarning, match="72 rows have no label that is listed"):
        released = ReleasedForest.from_bytes(release.make(Choice(table, settings), 1, 1).file)
    read = tables._split.__wrapped__((), table)
    assert len(read.y_train) + len(read.y_test) == 128
    attacked = membership._read.__wrapped__((), table)
    classes = table.frame["outcome"].iloc[attacked.ids]
    # The classes of record 1, 2, ... as the page shows them.
    assert [str(domain.classes[i]) for i in attacked.y] == classes.tolist()
    noisy_sum = int(released.leaves.noisy_counts.sum())
    assert abs(noisy_sum - 128) < 10  # at ε = 10, noise that large has a probability below 1e-40


def test_cells_that_do_not_fit_and_what_the_rule_makes_of_them():
    a, b = Feature("a", "numeric", 0, 9), Feature("b", "categorical", categories=("x", "y"), missing="category")
    columns = pd.DataFrame({"a": [-5.0, np.nan, 3, 4], "b": ["x", "q", None, "x"]})
    cells, left_out = rows_fit.out_of_domain(Domain((a, b), (0, 1)), columns, pd.Series(["0", "1", "2", None]))
    assert left_out == 2
    assert cells.to_dict("split")["data"] == [
        ["a", "beyond the bounds", 1, "the nearest bound"],
        ["a", "missing", 1, "0"],
        ["b", "not listed", 1, "a separate value"],
        ["b", "missing", 1, "a separate value"],
    ]


def test_a_label_without_listed_rows_gets_a_message_and_can_be_undone(with_upload):
    app = with_upload
    app.session_state["tab"] = "Data"
    app.run()
    next(field for field in app.text_input if field.label.startswith("Classes of")).set_value("oui; non").run()
    button(app, "Apply my changes").click().run()
    assert not app.exception
    assert "Of 200 rows 0 have a label that is listed" in app.warning[0].value
    button(app, "Undo all edits").click().run()
    assert not app.exception and not app.warning


@pytest.fixture
def choice() -> Choice:
    """Return a choice of a small upload whose domain was confirmed."""
    csv = read_csv(CSV.encode(), name="people.csv")
    domain = asserted(suggest_domain(csv, "ill"), "the study protocol")
    table = Table("digest", "people.csv", csv.table, "ill", domain, csv=csv)
    return Choice(table, ForestSettings("majority labels", "certified", 0.5, 3, 5, "add-remove"))


def test_a_release_is_exact_fresh_and_cautioned(choice):
    first, second = release.make(choice, 1, 1), release.make(choice, 1, 2)
    assert first.certificate.startswith("CERTIFIED")
    assert first.certificate.splitlines()[1] == f"CAUTION: {CHOSEN_BY_LOOKING}"
    assert json.loads(gzip.decompress(first.file))["about"]["caution"] == CHOSEN_BY_LOOKING
    assert first.file != second.file
    assert first.epsilon == Fraction(1, 2)


def test_clear_my_data(with_upload, monkeypatch):
    app = make_public(with_upload)
    removed = []
    monkeypatch.setattr(
        MemoryUploadedFileManager, "remove_session_files", lambda files, session: removed.append(session)
    )
    button(app, "Clear my data").click().run()
    # Without this removal, Streamlit would keep the bytes of the file until the session ends.
    assert not app.exception and len(removed) == 1
    assert "schemas" not in app.session_state and "people.csv" not in words(app)


def test_a_file_that_takes_the_place_of_another_leaves_one_in_memory(with_upload, monkeypatch):
    """A new file removes the previous file from memory.

    After a visit to another page, the browser does not request this removal, so the app removes the file.
    """
    removed = []
    monkeypatch.setattr(MemoryUploadedFileManager, "remove_file", lambda files, session, file: removed.append(file))
    first = with_upload.session_state["attached"].file_id
    app = with_upload.switch_page("pages/8_Glossary.py").run().switch_page("app.py").run()
    assert "Attached: people.csv" in words(app) and removed == []
    app.file_uploader[0].upload("others.csv", CSV.replace("Bonn", "Kiel").encode()).run()
    assert not app.exception and "others.csv" in words(app) and removed == [first]


def test_a_released_forest_predicts_a_new_file(app, choice):
    app.run()
    app.session_state["releases"] = [release.make(choice, 1, 1)]
    app.run()
    assert "ε = 0.5** (adding or removing one row) in 1 release" in words(app)
    page = app.switch_page("pages/4_Releases.py").run()
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


def edited(feature: Feature, **changes) -> Feature:
    before = data_tab._row(feature, True)
    return data_tab._edited_feature(feature, {**before, **changes}, before)


def test_a_source_turns_a_read_part_into_an_assertion():
    age = Feature("age", "numeric", 18, 94, source="data")
    assert edited(age) == age
    confirmed = edited(age, lowest=0, highest=120, **{"how everybody knows this": "people live so long"})
    assert (confirmed.low, confirmed.high, confirmed.source) == (0, 120, "asserted")
    assert edited(age, lowest=0).source == "data"


def test_an_edited_domain_loses_its_document():
    age = Feature("age", "numeric", 0, 120, source="documented", source_note="the manual")
    assert edited(age, highest=99).source == "data"
    assert edited(age, missing="a separate value").source == "documented"
    assert edited(age, missing="a separate value").leaks() == [
        "Whether cells of 'age' are missing was read from the data."
    ]
    assert edited(age, whole=True).leaks() == ["That 'age' is whole numbers was read from the data."]
    pmf = edited(age, highest=99, **{"how everybody knows this": "the law on voting"})
    assert pmf.source_note == "the law on voting" and not pmf.leaks()


def test_the_source_of_an_attribute_covers_its_whole_line():
    read = suggest_domain(read_csv(CSV.encode()), "ill").features[0]
    assert len(sources(read)) == 3 and read.leaks()
    known = edited(read, lowest=0, highest=120, **{"how everybody knows this": "people live so long"})
    assert set(sources(known).values()) == {("asserted", "people live so long")}
    assert edited(known, lowest=1).leaks() == []  # the source in this row still applies
    typed = replace(known, type_source="documented", type_note="the manual")
    other = edited(typed, highest=99, **{"how everybody knows this": "the law on voting"})
    assert [note for _, note in sources(other).values()] == ["the law on voting", "the manual", "the law on voting"]
    assert len(read_parts(Domain((edited(known, **{"how everybody knows this": ""}),)))) == 3


def test_edited_values_and_classes():
    city = Feature("city", "categorical", categories=("Bonn", "Ulm"), source="data")
    assert edited(city, values=" Bonn;Ulm ; Kiel;").categories == ("Bonn", "Ulm", "Kiel")
    domain = Domain((city,), (0, 1), "ill")
    assert data_tab._edited_classes(domain, "0; 1; 2", "the coding sheet") == (
        (0, 1, "2"),
        "ill",
        "asserted",
        "the coding sheet",
    )
    with pytest.raises(DomainError, match="lower bound"):
        edited(Feature("age", "numeric", 0, 1), lowest=None)


def test_the_shown_code_runs():
    settings = ForestSettings(
        "majority labels", "certified", 1.0, 3, 5, "add-remove", (("leaf_mechanism", "permute-and-flip"),)
    )
    names: dict = {}
    exec(as_code(settings, "zoo", "type").rsplit("\n", 1)[0], names)
    assert names["forest"].certificate_.certified
    compile(as_code(settings, None, "it's"), "code", "exec")


def test_the_page_shows_its_settings_as_code(app):
    app.query_params.update({"eps": "0.5", "trees": "31"})
    app.run()
    (code,) = [c.value for c in app.sidebar.code if c.language == "python"]
    compile(code, "as code", "exec")
    assert "load_dataset('zoo')" in code and "epsilon=0.5" in code and "n_estimators=31" in code


def test_success_epsilons_and_plain_text_match_values_by_hand():
    assert most_success(1.0) == pytest.approx(0.7311, abs=1e-4)
    assert list(EPSILONS) == sorted(EPSILONS)
    assert "[" not in plain("[a](b)").replace("\\[", "")
