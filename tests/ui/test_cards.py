"""The cards of the Data tab: proposals that do not come from the rows, and answers with a source."""

import json

import pandas as pd
import pytest

from dpforest.tables.csv_table import read_csv
from dpforest.tables.domain import Domain, DomainError, Feature
from dpforest.tables.public_ranges import public_range
from tests.ui.app_words import words
from tests.ui.desk import HIGHEST, LOWEST, RANGE, SOURCE, answer, chooser, confirm, field, open_card, press
from ui.explore import card_answers as answers
from ui.explore.bulk_cards import HIGH, LATER, LIST, LOW, OF_LISTS, OUT, WHOLE, WHY, _reason_of, with_ranges
from ui.explore.card_answers import NumberAnswer
from ui.explore.card_forms import BY_CURATOR
from ui.explore.cards import (
    CATEGORY,
    DATE,
    LEFT_OUT,
    LISTS,
    NUMBER,
    NUMBERS,
    cards,
    first_kind,
    propose,
    rare_values,
    values_of,
)
from ui.explore.stated_values import StatedValues, answered, one_range, targets

HEADER = ["admitted", "x1", "x2", "x3", "Alter", "CRP", "share", "smokes", "illness", "id", "remark", "ill"]
REMARK = "the patient said that the pain in knee back arm got worse after a walk so we gave rest tea and time"


def _row(i: int) -> list[str]:
    return [
        f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024",
        *(f"{(i * j) % 17}.5" for j in (1, 2, 3)),
        str(20 + i % 60),
        "Dr. Kuru" if i == 5 else "k.A." if i % 20 == 0 else str(i % 90),
        f"{i % 70} %",
        ("YES", "yes", "no", "no")[i % 4] if i < 20 else ("yes", "no")[i % 2],
        "Kuru" if i == 7 else ("flu", "cold")[i % 3 > 0],
        f"P{i:05d}",
        " ".join(f"{REMARK.split()[(i * k + k) % 21]}{i % 7}" for k in range(1, 9)) + f" on day {i}",
        ("ja", "nein")[i % 3 > 0],
    ]


CSV = "\n".join(",".join(row) for row in [HEADER, *(_row(i) for i in range(200))]).encode()


@pytest.fixture(scope="module")
def csv():
    return read_csv(CSV)


@pytest.fixture
def page(app):
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("people.csv", CSV).run()
    app.session_state["tab"] = "Data"
    return app.run()


def schema(page) -> Domain:
    return next(iter(page.session_state["schemas"].values()))


def attribute(page, name: str) -> Feature:
    return next(feature for feature in schema(page).features if feature.name == name)


# ---------------------------------------------------------------- without a page


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("admitted", DATE),
        ("x1", NUMBER),
        ("CRP", NUMBER),
        ("share", NUMBER),
        ("smokes", CATEGORY),
        ("id", LEFT_OUT),
        ("remark", LEFT_OUT),
    ],
)
def test_a_column_starts_with_the_kind_that_its_cells_suggest(csv, column, kind):
    proposal = propose(csv, column)
    used = [Feature(column, "categorical", categories=("a",))]
    assert first_kind(proposal, used) == kind
    confirmed = [Feature(column, "categorical", categories=("a",), source="asserted", source_note="the form")]
    assert first_kind(proposal, confirmed) == CATEGORY, "a confirmed kind stays"
    assert first_kind(proposal, []) == LEFT_OUT, "what is left out stays left out"


def test_a_range_is_proposed_by_the_name_alone():
    assert (public_range("Alter").low, public_range("Alter").high) == (0, 120)
    assert public_range("CRP") is None and public_range("smokes") is None


def test_values_with_few_rows_are_rare():
    counts = values_of(pd.Series(["flu"] * 40 + ["Kuru"] + [None] + ["cold"] * 9))
    assert dict(counts) == {"Kuru": 1, "cold": 9, "flu": 40} and rare_values(counts) == ["Kuru", "cold"]
    assert list(values_of(pd.Series([10, 9, 9]))) == ["9", "10"], "numbers are in the order of numbers"


def test_columns_keep_the_order_of_the_file():
    x, y, z = (Feature(name, "numeric", 0, 1) for name in "xyz")
    order = ["x", "y", "z"]
    domain = answers.without(Domain((x, y, z), (0, 1), "ill"), order, "y")
    assert domain.names == ("x", "z")
    domain = answers.with_dates(
        domain, order, "y", "DD.MM.YYYY", ["year", "month"], ("2020-01-01", "2029-12-31"), "the study's plan"
    )
    assert domain.names == ("x", "y (year)", "y (month)", "z") and domain.columns == ("x", "y", "z")
    assert [card.state for card in cards(order, domain)] == ["open", "ready", "open"]
    assert answers.with_list(domain, order, "y", ["a"], "the form of 2020").names == ("x", "y", "z")
    with pytest.raises(DomainError, match="only column"):
        answers.without(Domain((x,)), order, "x")
    with pytest.raises(DomainError, match="at least one part"):
        answers.with_dates(domain, order, "y", "DD.MM.YYYY", [], ("2020-01-01", "2029-12-31"), "the study's plan")


def test_a_spelling_of_a_value_that_is_not_listed_is_dropped():
    spelled = (("YES", "yes"), ("NO", "no"))
    domain = answers.with_list(
        Domain((Feature("a", "numeric", 0, 1),)), ["a"], "a", ["yes"], "the form", spellings=spelled
    )
    assert domain.features[0].spellings == (("YES", "yes"),)
    labeled = Domain(domain.features, ("yes", "no"), "ill")
    assert answers.with_classes(labeled, ["yes", "no"], spelled, "a yes or no").class_spellings == spelled


def test_many_attributes_change_only_the_parts_that_were_asked_about():
    known = Feature("b", "numeric", 0, 5, source="documented", source_note="the manual")
    before = Domain((known, Feature("c", "categorical", categories=("x",))), (0, 1), "y")
    about = targets(before, ["b"], {"bounds"})
    assert about == [("bounds", "b")]
    after = answered(before, about, StatedValues({"b": (0, 9)}, whole=True), ("asserted", "the law on it"))
    b, c = after.features
    assert (b.low, b.high, b.integer, b.source) == (0, 9, False, "asserted") and c == before.features[1]
    assert one_range([(0, 5), (-2, 3)]) == (-2, 5)


# ---------------------------------------------------------------- on the page


def test_each_column_has_a_card_and_the_progress_counts_columns(page):
    assert "3 of 11 columns are ready." in words(page), "the date, the identifier and the remark are left out"
    options = chooser(page).options
    assert options[:2] == ["several number columns at once (6)", "several lists at once (3)"]
    assert [o for o in options if o.startswith("x")] == ["x… (3 columns)"]
    assert {
        "admitted (left out, has dates)",
        "id (left out)",
        "remark (left out)",
        "Alter",
        "the label ill and the file",
    } <= set(options)
    assert not any("are public" in button.label for button in page.button), "nothing confirms everything at once"


def test_a_group_gets_one_range(page):
    answer(open_card(page, "x…"), "the scale of the device", 0, "64,5")
    assert {(f.low, f.high, f.source_note) for f in schema(page).features if f.name[0] == "x"} == {
        (0, 64.5, "the scale of the device")
    }
    assert "6 of 11 columns are ready." in words(page)


@pytest.mark.slow
def test_a_group_says_that_it_shares_its_rules_and_can_be_opened(page):
    open_card(page, "x…")
    assert "All of them get the same range, the same rules and the same source." in words(page)
    press(page, "Answer these columns one by one")
    assert {"x1", "x2", "x3"} <= set(chooser(page).options) and "x… (3 columns)" not in chooser(page).options
    answer(open_card(page, "x2"), "the scale of the device", 0, 30)
    assert [f.high for f in schema(page).features if f.name[0] == "x" and not f.leaks()] == [30]


def test_a_range_starts_with_what_the_name_suggests_and_never_with_the_rows(page):
    open_card(page, "Alter")
    assert (field(page, LOWEST).value, field(page, HIGHEST).value) == ("0", "120")
    assert "age in years" in words(page) and field(page, SOURCE).value.startswith("No person lives longer")
    press(page, RANGE)
    assert attribute(page, "Alter").leaks() == []
    open_card(page, "CRP")
    assert (field(page, LOWEST).value, field(page, HIGHEST).value) == ("", "")


@pytest.mark.parametrize(
    ("low", "high"), [("", "9"), ("1.300", ""), ("1,300", "2"), ("9", "1"), ("abc", "1"), ("inf", "1")]
)
def test_a_wrong_range_gets_a_sentence_and_nothing_is_lost(page, low, high):
    open_card(page, "CRP")
    field(page, LOWEST).set_value(low)
    field(page, HIGHEST).set_value(high)
    field(page, SOURCE).set_value("the manual of the device")
    press(page, RANGE)
    assert not page.exception and page.warning and "schemas" not in page.session_state
    assert (field(page, LOWEST).value, field(page, HIGHEST).value) == (low, high)


def test_a_value_of_one_person_is_rare_however_many_rows_have_it(app):
    rows = [f"p{i},{('flu', 'cold')[i % 2]},{'xy'[i % 2]}" for i in range(60)] + ["q,Kuru,x"] * 12 + ["p1,cold,y"]
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("persons.csv", "\n".join(["id,illness,ill", *rows]).encode()).run()
    app.session_state["tab"] = "Data"
    app.run()
    question = next(box for box in app.radio if box.label == "Whose rows are these?")
    question.set_value("All rows with the same “id” are one person").run()
    open_card(app, "illness")
    assert "“Kuru” (1 person)" in words(app) and next(area.value for area in app.text_area) == "cold; flu"


def test_a_changed_range_does_not_keep_the_proposed_reason(page):
    open_card(page, "Alter")
    field(page, HIGHEST).set_value("60")
    press(page, RANGE)
    assert "the reason that the app proposed no longer fits" in words(page) and "schemas" not in page.session_state
    rows = [{"column": "Alter", LOW: "0", HIGH: "60", WHOLE: True, WHY: _reason_of(public_range("Alter"))}]
    table = _Columns(Domain((Feature("Alter", "numeric", 1, 9),), (0, 1), "ill"))
    with pytest.raises(DomainError, match="how everybody knows the range of 'Alter'"):
        with_ranges(table, rows, "")
    after, _ = with_ranges(table, rows, "the rules of the club")
    assert after.features[0].source_note == "the rules of the club"


def test_cells_with_units_are_no_numbers(app):
    rows = "km,age,ill\n" + "".join(f"{i % 9}.5 mi,{i % 50},{'ab'[i % 2]}\n" for i in range(90))
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("ways.csv", rows.encode()).run()
    app.session_state["tab"] = "Data"
    open_card(app.run(), "km")
    next(group for group in app.segmented_control if group.label == "This column is").set_value(NUMBER).run()
    answer(app, "the map of the town")
    assert "Most cells of 'km' are no numbers" in words(app) and "schemas" not in app.session_state


def test_words_and_signs_among_numbers_are_rules_of_the_schema(page):
    answer(open_card(page, "CRP"), "the manual of the device", 0, 500)
    crp = attribute(page, "CRP")
    assert (crp.kind, crp.missing_words, crp.missing, crp.leaks()) == ("numeric", ("k.A.",), "category", [])
    assert "Kuru" not in str(crp.to_dict()), "a rare word is not public, and still counts as missing"
    answer(open_card(page, "share"), "a share in percent")
    assert attribute(page, "share").signs == ("%",) and attribute(page, "share").kind == "numeric"


def test_a_card_that_was_answered_still_offers_words_and_signs(page):
    def box(label):
        return next(box for box in page.multiselect if box.label == label)

    assert "holds no number (for example “k.A.”) counts as missing, which is a separate value." in words(page)
    open_card(page, "CRP")
    box("Words that mean a missing cell").set_value([])
    answer(page, "the manual of the device", 0, 500)
    assert attribute(page, "CRP").missing_words == ()
    open_card(page, "CRP")
    assert "k.A." in box("Words that mean a missing cell").options and not box("Words that mean a missing cell").value


@pytest.mark.parametrize(("rare", "listed"), [(False, ("cold", "flu")), (True, ("cold", "flu", "Kuru"))])
def test_a_rare_value_is_listed_only_by_hand(page, rare, listed):
    open_card(page, "illness")
    assert "“Kuru” (1 row)" in words(page) and next(area.value for area in page.text_area) == "cold; flu"
    answer(page, "the catalog of diagnoses", rare=rare)
    illness = attribute(page, "illness")
    assert (illness.categories, illness.missing) == (listed, "category")


def test_lists_are_answered_one_by_one_and_hold_nothing_rare(page):
    assert chooser(open_card(page, "several lists")).value == LISTS
    asked = lists_of(page)
    assert {name: box.value for name, box in asked.items()} == dict.fromkeys(("ill", "smokes", "illness"), LATER)
    labels = ["**ill** (the label): ja; nein", "**smokes**: no; yes", "**illness**: cold; flu"]
    assert [box.label for box in asked.values()] == labels and OUT not in asked["ill"].options
    notes = "\n".join(caption.value for caption in page.caption)
    assert "rows have it, so not in the list: “YES”" in notes and "so not in the list: “Kuru”" in notes
    field(page, OF_LISTS).set_value("the catalog of diagnoses")
    press(page, "Use these answers")
    assert "You answered “later” for every column." in words(page) and "schemas" not in page.session_state
    lists_of(page)["illness"].set_value(LIST)
    lists_of(page)["smokes"].set_value(OUT)
    lists_of(page)["ill"].set_value(LIST)
    press(page, "Use these answers")
    assert (attribute(page, "illness").categories, attribute(page, "illness").leaks()) == (("cold", "flu"), [])
    assert "smokes" not in schema(page).names and "Kuru" not in str(attribute(page, "illness").to_dict())
    assert (schema(page).classes, schema(page).classes_note) == (("ja", "nein"), "the catalog of diagnoses")
    open_card(page, "the label")
    assert field(page, SOURCE).value == BY_CURATOR, "the format of the file is no fact with another source"
    next(box for box in page.text_input if box.label.startswith("Its classes")).set_value("ja; nein; Kuru")
    press(page, "Confirm that this is public")
    assert "You changed the classes" in words(page) and schema(page).classes == ("ja", "nein")


def lists_of(page) -> dict:
    """Return the questions of the card about several lists, by column."""
    boxes = [box for box in page.radio if LIST in box.options]
    return {box.label.split("**")[1]: box for box in boxes}


def test_columns_are_left_out_without_a_source(page):
    open_card(page, "several lists")
    for name in ("smokes", "illness"):
        lists_of(page)[name].set_value(OUT)
    press(page, "Use these answers")
    assert not {"smokes", "illness"} & set(schema(page).names) and not page.exception


def test_texts_that_may_be_remarks_start_as_left_out(app):
    notes = ["the child is very afraid", "ask Dr. Kuru, 0171 234567", "no remark"]
    rows = "note,town,ill\n" + "".join(f"{notes[i % 3]!r},{'AB'[i % 2]},{'xy'[i % 2]}\n" for i in range(90))
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("notes.csv", rows.replace("'", '"').encode()).run()
    app.session_state["tab"] = "Data"
    app.run()
    open_card(app, "several lists")
    assert {name: box.value for name, box in lists_of(app).items()} == {"ill": LATER, "note": OUT, "town": LATER}
    field(app, OF_LISTS).set_value("the list of towns")
    lists_of(app)["note"].set_value(LATER)
    lists_of(app)["town"].set_value(LIST)
    press(app, "Use these answers")
    open_card(app, "note")
    kind = next(group for group in app.segmented_control if group.label == "This column is")
    assert kind.value == LEFT_OUT and "may be remarks" in words(app)
    kind.set_value(CATEGORY).run()
    assert field(app, SOURCE).value == "", "a source is offered again, and never filled in"
    (earlier,) = [group for group in app.pills if group.label.startswith("Or choose an earlier source")]
    assert earlier.options == ["the list of towns"]


def test_ranges_that_names_suggest_are_confirmed_together(page):
    assert chooser(page).value == NUMBERS
    assert "2 columns have a range that their names suggest" in words(page)
    assert "remark (sentences)" in "\n".join(caption.value for caption in page.caption)
    press(page, "Use these ranges")
    age, share = attribute(page, "Alter"), attribute(page, "share")
    assert (age.low, age.high, age.leaks(), share.low, share.high, share.leaks()) == (0, 120, [], 0, 1, [])
    assert (
        age.source_note.startswith("age in years: No person") and "A share lies between 0 and 1." in share.source_note
    )
    assert share.signs == ("%",) and attribute(page, "x1").leaks() and attribute(page, "CRP").leaks()


def test_a_spelling_is_merged_and_a_rare_one_only_by_hand(page):
    open_card(page, "smokes")
    (merged,) = [box for box in page.multiselect if box.label.startswith("Spellings that mean another value")]
    assert (merged.options, merged.value) == (["YES = yes (5 rows)"], []), "rare, so it is not chosen at first"
    answer(page, "a question with two answers")
    smokes = attribute(page, "smokes")
    assert (smokes.categories, smokes.spellings, smokes.missing) == (("no", "yes"), (), "category")
    open_card(page, "smokes")
    answer(page, "a question with two answers")
    assert attribute(page, "smokes") == smokes, "a second answer changes nothing"


def test_what_is_read_from_the_rows_is_no_default_of_a_statement(page):
    """A card fills in no answers from the rows about whole numbers, the rule for missing cells, or rare spellings."""
    open_card(page, "Alter")
    assert not any(box.value for box in page.checkbox if box.label == "Only whole numbers")
    assert next(box for box in page.radio if box.label == "Missing cells").value == "a separate value"


def test_rare_values_and_spellings_that_are_left_out_appear_nowhere(app):
    towns = ["Ulm"] * 60 + ["Bonn"] * 60 + ["GEHEIMDORF"] * 2 + ["Geheimdorf"]
    rows = "town,ill\n" + "".join(f"{town},{'ja' if i % 3 else 'nein'}\n" for i, town in enumerate(towns))
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("towns.csv", rows.encode()).run()
    app.session_state["tab"] = "Data"
    app.run()
    open_card(app, "town")
    answer(app, "the list of towns")
    assert "geheimdorf" not in json.dumps(schema(app).to_dict()).lower()


@pytest.mark.parametrize("classes", ["", "ja"])
def test_a_label_needs_two_classes(page, classes):
    open_card(page, "the label")
    next(box for box in page.text_input if box.label.startswith("Its classes")).set_value(classes)
    answer(page, "a yes or no")
    assert not page.exception and "needs at least 2 classes" in words(page) and "schemas" not in page.session_state


def test_the_card_of_the_file_names_all_columns(app):
    names = [f"laboratory_value_with_a_long_name_{j}" for j in range(60)]
    rows = ",".join([*names, "ill"]) + "\n"
    rows += "".join(",".join([*(str((i * j) % 7 / 2) for j in range(1, 61)), "ab"[i % 2]]) + "\n" for i in range(60))
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("wide.csv", rows.encode()).run()
    app.session_state["tab"] = "Data"
    app.run()
    open_card(app, "the label")
    assert names[-1] in words(app).replace("\\", "")


@pytest.mark.slow
def test_columns_called_like_cards_have_their_cards(app):
    rows = "x,the label ill and the file,ill\n" + "".join(f"{i % 9},{i % 7},{'ab'[i % 2]}\n" for i in range(60))
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("odd.csv", rows.encode()).run()
    app.session_state["tab"] = "Data"
    for title in ("the label ill and the file (a column)", "x"):
        answer(open_card(app.run(), title), "the form of the study")
    assert not app.exception and not [leak for feature in schema(app).features for leak in feature.leaks()]


def test_a_date_becomes_parts_once_its_ends_are_public(page):
    open_card(page, "admitted")
    next(group for group in page.segmented_control if group.label == "This column is").set_value(DATE).run()
    field(page, SOURCE).set_value("the years of the study")
    press(page, "Use these dates")
    assert "need a first and a later last date" in words(page)
    for box, day in zip(page.date_input, ((2020, 1, 1), (2029, 12, 31)), strict=True):
        box.set_value(pd.Timestamp(*day).date())
    press(page, "Use these dates")
    assert schema(page).names[:3] == ("admitted (year)", "admitted (month)", "admitted (weekday)")
    assert not [leak for feature in schema(page).features[:3] for leak in feature.leaks()]
    assert not page.exception


def test_the_kind_can_be_changed_by_hand(page):
    open_card(page, "Alter")
    next(group for group in page.segmented_control if group.label == "This column is").set_value(CATEGORY).run()
    assert next(area for area in page.text_area).value == "", "few rows have each age"
    answer(page, "people of this age", rare=True)
    assert attribute(page, "Alter").kind == "categorical" and "21" in attribute(page, "Alter").categories
    open_card(page, "Alter")
    next(group for group in page.segmented_control if group.label == "This column is").set_value(LEFT_OUT).run()
    press(page, "Leave it out")
    assert "Alter" not in schema(page).names and "Alter (left out)" in chooser(page).options


@pytest.mark.slow
def test_later_offers_the_next_card_and_then_starts_again(page):
    first = chooser(page).value
    press(page, "Later")
    assert chooser(page).value != first
    for _ in range(20):
        if chooser(page).value == first:
            break
        press(page, "Later")
    assert chooser(page).value == first


@pytest.mark.slow  # tests/browser answers all cards in every run
def test_all_cards_make_a_schema_without_leaks(page):
    confirm(page, "the form of the study")
    assert schema(page).leaks() == [] and "All 11 columns are ready" in words(page)
    assert not page.exception


def test_a_table_of_ranges_takes_the_rows_that_have_one(page):
    from ui.shared import tables

    page.run()
    domain = Domain((Feature("Alter", "numeric", 1, 9), Feature("dose", "numeric", 2, 3)), (0, 1), "ill")
    table = _Columns(domain)
    rows = [
        {"column": "Alter", LOW: "0", HIGH: "120", WHOLE: True, WHY: "No person lives longer."},
        {"column": "dose", LOW: None, HIGH: float("nan"), WHOLE: False, WHY: None},
    ]
    after, n = with_ranges(table, rows, "")
    assert (n, after.features[0].high, after.features[0].leaks()) == (1, 120, []) and after.features[1].leaks()
    rows[1] |= {LOW: "0", HIGH: "5,5"}
    with pytest.raises(DomainError, match="how everybody knows the range of 'dose'"):
        with_ranges(table, rows, "ok")
    after, n = with_ranges(table, rows, "the label of the drug")
    assert (n, after.features[1].high, after.features[1].source_note) == (2, 5.5, "the label of the drug")
    assert tables.fingerprint(after) != tables.fingerprint(domain)


class _Columns:
    """A stand-in for a table, with a domain and names of columns only."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.csv = read_csv(b"Alter,dose,ill\n1,2,0\n9,3,1\n")


def test_answers_need_a_source():
    with pytest.raises(DomainError, match="say where that is written"):
        answers.with_numbers(Domain((Feature("a", "numeric", 0, 1),)), ["a"], {"a": NumberAnswer(0, 1)}, "")
