"""A domain loaded from a file equals the saved one, and no part becomes public without a source."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.tables.csv_codebook import codebook, read_codebook
from dpforest.tables.date_columns import date_attributes
from dpforest.tables.domain import Domain, DomainError, Feature
from dpforest.tables.read_parts import with_sources
from tests.conftest import examples
from tests.ui.app_words import words
from ui.explore.loaded import Loaded, domain_of_json, entries_of, merge_file
from ui.shared import tables
from ui.shared.downloads import as_csv
from ui.shared.sources import is_source

NAMES = st.text(
    st.sampled_from("a;\"',=+-@\t\r\n é\\") | st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8
)
WORDS = NAMES.map("the form, page two: {}".format).filter(is_source)
READ = st.just("") | NAMES.map(str.strip)
NUMBERS = st.floats(-1e12, 1e12) | st.integers(-(2**40), 2**40).map(float)


@st.composite
def features(draw, name):
    source = draw(st.sampled_from(["asserted", "data"]))
    parts = {
        f"{part}_{what}": value
        for part in ("type", "missing")
        for kind in [draw(st.sampled_from(["asserted", "data"]))]
        for what, value in (("source", kind), ("note", draw(WORDS if kind == "asserted" else READ)))
    }
    entry = {"source": source, "source_note": draw(WORDS if source == "asserted" else READ), **parts}
    if draw(st.booleans()):
        low, high = sorted(draw(st.lists(NUMBERS, min_size=2, max_size=2, unique=True)))
        value = draw(st.none() | NUMBERS)
        rule = draw(st.sampled_from(["category", "refuse"])) if value is None else "value"
        return Feature(name, "numeric", low, high, draw(st.booleans()), missing=rule, missing_value=value, **entry)
    categories = tuple(draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)))
    value = draw(st.none() | st.sampled_from(categories))
    rule = draw(st.sampled_from(["category", "refuse"])) if value is None else "value"
    return Feature(name, "categorical", categories=categories, missing=rule, missing_value=value, **entry)


@st.composite
def domains(draw):
    label, *names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    classes = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    known = draw(st.booleans())
    return Domain(
        tuple(draw(features(name)) for name in names),
        tuple(classes),
        label,
        "asserted" if known else "data",
        draw(WORDS) if known else "",
    )


def as_read(domain: Domain) -> Domain:
    """Return the domain of an upload before a file is loaded: read from rows, with other bounds and categories."""
    read = []
    for f in domain.features:
        unsourced = {"source": "data", "source_note": "", "missing": "refuse", "missing_value": None}
        values = {"low": f.low / 2, "high": f.high / 2 + 1, "integer": False} if f.kind == "numeric" else {}
        if f.kind == "categorical":
            values = {"categories": (*f.categories[1:], "only here")}
        sources = {"type_source": "data", "type_note": "", "missing_source": "data", "missing_note": ""}
        read.append(replace(f, **unsourced, **values, **sources))
    return replace(domain, features=tuple(read), classes_source="data", classes_note="")


def plain_sources(domain: Domain) -> Domain:
    """Return the domain without sources of type and of missing cells that repeat the source of the bounds."""
    return replace(domain, features=tuple(with_sources(feature, {}) for feature in domain.features))


def from_codebook(onto: Domain, text: str, **how) -> Loaded:
    return merge_file(onto, (), read_codebook(text.encode()), **how)


def from_json(onto: Domain, domain: Domain, **how) -> Loaded:
    content = json.loads(json.dumps(domain.to_dict()))
    file = domain_of_json(content)
    return merge_file(onto, (), entries_of(content, file), file, **how)


@settings(derandomize=True, deadline=None, max_examples=examples(250))
@given(domains())
def test_both_files_come_back_as_the_same_domain(domain):
    """Both file formats keep names, values and notes with separators, quotes, line breaks or spreadsheet formulas."""
    domain = plain_sources(domain)
    for loaded in (from_json(as_read(domain), domain), from_codebook(as_read(domain), as_csv(codebook(domain)))):
        assert not loaded.mistakes
        assert loaded.domain == domain
        assert loaded.domain.leaks() == domain.leaks()


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(domains())
def test_no_part_becomes_public_without_a_source(domain):
    """If a codebook has no column of sources, every part still counts as read from the rows."""
    table = codebook(domain).drop(columns=["source", "source of type", "source of missing"])
    loaded = from_codebook(as_read(domain), as_csv(table))
    assert not loaded.mistakes
    assert len(loaded.domain.leaks()) == len(as_read(domain).leaks())


AGE = Feature("age", "numeric", 18, 94, True, source="data", type_source="data", missing_source="data")
CITY = Feature("city", "categorical", categories=("Bonn", "Ulm"), source="data")
PEOPLE = Domain((AGE, CITY), (0, 1), "ill", reading="a survey", reading_source="data", columns_source="data")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("age,numeric,0,120,,yes", "Line 2, column 'source': 'yes' does not say how everybody knows this"),
        ("age,numeric,0,120,,the lowest and max", "Line 2, column 'source'"),
        ("age,numeric,,,,the law on voting", "'age' has words but no low and high"),
        ("age,numeric,0,,,the law on voting", "'age' has words but no low and high"),
        ("city,categorical,,,,the map of the town", "'city' has words but no categories"),
        ("city,numeric,0,,,", "Line 2"),
        ("ill,numeric,0,1,,", "'ill' is the label; list its classes"),
        ("salary,numeric,0,1,,", "names no column of this table"),
    ],
)
def test_a_line_that_cannot_be_loaded_is_the_only_mistake(line, says):
    loaded = from_codebook(PEOPLE, f"name,kind,low,high,categories,source\n{line}\n")
    assert len(loaded.mistakes) == 1 and says in loaded.mistakes[0], loaded.mistakes


def test_attributes_outside_the_file_stay_and_unknown_ones_are_named():
    lines = (
        "name,low,high,categories,source",
        "age,0,120,,people live so long",
        "salary,0,9,,",
        "ill,,,0; 1; 2,the form has a box",
    )
    loaded = from_codebook(PEOPLE, "\n".join(lines))
    age, city = loaded.domain.features
    assert (age.low, age.high, age.leaks(), age.source_note) == (0, 120, [], "people live so long")
    assert city == CITY and loaded.names == ("age",)
    assert loaded.domain.classes == (0, 1, "2"), "numbers stay numbers"
    assert (loaded.domain.classes_source, loaded.domain.classes_note) == ("asserted", "the form has a box")
    notes = " ".join(loaded.notes)
    assert "does not have 'salary'" in notes and "Not in the file: 'city'" in notes
    only = from_codebook(PEOPLE, "name,low,high\nage,0,120\n", exactly=True).domain
    assert only.names == ("age",) and only.columns_source == "data"
    assert only.features[0].source == "data", "other bounds without words are no source"


def test_a_changed_bound_loses_words_that_were_about_another_one():
    known = replace(AGE, low=0, high=120, source="asserted", source_note="people live so long")
    now = replace(PEOPLE, features=(known, CITY))
    same = from_codebook(now, "name,low,high\nage,0,120\n").domain.features[0]
    assert same == known, "an empty cell changes nothing"
    assert from_codebook(now, "name,low,high\nage,0,99\n").domain.features[0].source == "data"
    documented = replace(known, source="documented", type_source="", missing_source="")
    there = replace(now, features=(documented, CITY))
    again = from_codebook(there, as_csv(codebook(there))).domain
    assert again == plain_sources(there), "a document's words stay a document's"


def test_a_json_without_words_is_not_believed():
    public = replace(AGE, source="asserted", source_note="yes", type_source="", missing_source="")
    from_file = from_json(PEOPLE, replace(PEOPLE, features=(public, CITY)))
    assert len(from_file.mistakes) == 1 and "'yes' does not say how" in from_file.mistakes[0]
    half = {
        "features": [
            {
                "name": "age",
                "kind": "numeric",
                "low": 0,
                "high": 120,
                "source": "asserted",
                "source_note": "people live so long",
            }
        ]
    }
    loaded = merge_file(
        PEOPLE, (), entries_of({**PEOPLE.to_dict(), **half}, domain_of_json({**PEOPLE.to_dict(), **half}))
    )
    assert len(loaded.domain.features[0].leaks()) == 2, "its type and its missing cells are not in the file"
    for wrong in ([1], {}, {**PEOPLE.to_dict(), "features": [{"name": "age"}]}, {**PEOPLE.to_dict(), "more": 1}):
        with pytest.raises(DomainError, match="This JSON is no domain as this page writes it"):
            domain_of_json(wrong)


def test_a_file_cannot_mark_its_sources_as_documented():
    """The contents of a loaded file count as asserted by the user. Only bundled tables have documented sources."""
    read = Domain((Feature("age", "numeric", 3, 88),), ("a", "b"), "who", classes_source="data")
    known = Feature("age", "numeric", 0, 120, source="documented", source_note="the census form, page two")
    claims = Domain((known,), ("a", "b"), "who", classes_source="documented", classes_note="the census form, page two")
    loaded = from_json(read, claims).domain
    assert loaded.features[0].source == loaded.classes_source == "asserted"
    assert loaded.features[0].source_note == "the census form, page two"
    assert from_json(claims, claims).domain == claims


def test_gaps_of_a_codebook_are_not_filled_from_the_rows():
    """If a codebook does not state missing cells or whole numbers, the app does not take them from the rows."""
    read = Feature("age", "numeric", 3, 88, integer=True, missing="refuse", source="data")
    loaded = from_codebook(
        Domain((as_read(Domain((read,))).features[0],)), "name,low,high,source\nage,0,120,the law on voting"
    )
    (age,) = loaded.domain.features
    assert (age.low, age.high, age.integer, age.missing) == (0, 120, False, "category")
    assert not age.leaks()


def test_a_changed_value_needs_a_new_source():
    known = Domain((Feature("age", "numeric", 17, 90, source="documented", source_note="UCI"),), ("a", "b"), "who")
    file = {**known.to_dict(), "features": [{**known.to_dict()["features"][0], "high": 67.25}]}
    assert merge_file(known, (), entries_of(file, domain_of_json(file)), domain_of_json(file)).mistakes
    long = Domain(
        (Feature("age", "numeric", 17, 90, source="documented", source_note="the census form, page two"),),
        ("a", "b"),
        "who",
    )
    file = {**long.to_dict(), "features": [{**long.to_dict()["features"][0], "high": 67.25}]}
    assert (
        merge_file(long, (), entries_of(file, domain_of_json(file)), domain_of_json(file)).domain.features[0].source
        == "asserted"
    )


def test_numbers_beyond_any_are_a_sentence():
    file = Domain((Feature("age", "numeric", 17, 90),), ("a", "b"), "who").to_dict()
    file["features"][0]["low"] = -int("9" * 400)
    with pytest.raises(DomainError):
        domain_of_json(file)


def test_how_the_file_is_written_is_not_loaded():
    other = replace(PEOPLE, reading="another survey", reading_source="asserted", reading_note="the export program")
    after = tables.kept(PEOPLE, from_json(PEOPLE, other).domain)
    assert (after.reading, after.reading_source, after.reading_note) == ("a survey", "data", "")
    same = replace(other, reading="a survey", columns_source="asserted", columns_note="the plan of the study")
    after = tables.kept(PEOPLE, from_json(PEOPLE, same).domain)
    assert (after.reading_source, after.reading_note) == ("asserted", "the export program")
    assert after.columns_note == "the plan of the study"
    fewer = from_json(replace(PEOPLE, features=(AGE,)), same).domain
    assert fewer.columns_source == "data", "the loaded text was about other columns"


CSV = "age;city;ill\n" + "".join(
    f"{20 + i % 60};{('Bonn', 'Ulm')[i % 2]};{'ja' if i % 3 else 'nein'}\n" for i in range(120)
)
BOOK = (
    "name,kind,low,high,categories,source\nage,numeric,0,120,,people live so long\n"
    "city,categorical,,,Bonn; Kiel; Ulm,the map of the towns\nill,,,,ja; nein,the form has a box\n"
)


@pytest.mark.slow
def test_a_file_is_looked_at_and_loaded_on_a_press(app):
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("people.csv", CSV.encode()).run()
    app.session_state["tab"] = "Data"
    app.run()

    def uploader():
        return next(widget for widget in app.file_uploader if widget.label == "Domain or codebook")

    uploader().upload("book.csv", BOOK.replace("0,120", "0,many").encode()).run()
    assert not app.exception and "column 'high'\\: 'many' is not a number" in app.warning[0].value
    assert not [widget for widget in app.button if widget.key == "load_domain"]
    uploader().upload("book.csv", BOOK.encode()).run()
    assert not app.exception and "schemas" not in app.session_state, "nothing before the press"
    assert "2 columns now have a source." in words(app)
    app.button(key="load_domain").click().run()
    assert [message.value for message in app.success] == ["Loaded. 2 columns now have a source."]
    (domain,) = app.session_state["schemas"].values()
    assert {f.source_note for f in domain.features} == {"people live so long", "the map of the towns"}
    assert domain.classes_note == "the form has a box" and domain.reading_source == domain.columns_source == "data"
    assert "people" not in json.dumps(app.query_params), "neither the name of the table nor words of the file"
    file = json.dumps(domain.to_dict()).encode()
    next(widget for widget in app.button if widget.label == "Undo all edits").click().run()
    assert not app.success
    uploader().upload("domain.json", file).run()
    app.button(key="load_domain").click().run()
    assert next(iter(app.session_state["schemas"].values())) == domain


def test_reading_rules_come_with_a_json_file_and_stay_with_a_codebook():
    note = {"source": "asserted", "source_note": "the form, page two"}
    crp = Feature("crp", "numeric", 0, 9, missing_words=("k.A.",), signs=("%",), missing="category", **note)
    town = Feature("town", "categorical", categories=("a", "b"), spellings={"A": "a"}, **note)
    dates = date_attributes("admitted", "DD.MM.YYYY", first="2020-01-01", last="2029-12-31", **note)
    file = Domain((crp, town, *dates), ("a", "b"), "who", "asserted", "the form, page two", class_spellings={"A": "a"})
    plain = Domain((replace(crp, missing_words=(), signs=()), replace(town, spellings=())), ("a", "b"), "who")
    admitted = Feature("admitted", "categorical", categories=("x",), missing="category")
    content = json.loads(json.dumps(file.to_dict()))
    loaded = merge_file(plain, (admitted,), entries_of(content, domain_of_json(content)), domain_of_json(content))
    assert loaded.domain == file and not loaded.mistakes and loaded.domain.leaks() == []
    assert from_codebook(file, as_csv(codebook(file))).domain == file
    absent = from_json(plain, file)
    assert absent.domain.names == ("crp", "town") and "does not have" in absent.notes[0]
    unsourced = {
        **content,
        "features": [{**entry, "source": "data", "source_note": ""} for entry in content["features"]],
    }
    read = merge_file(
        plain, (admitted,), entries_of(unsourced, domain_of_json(unsourced)), domain_of_json(unsourced)
    ).domain
    assert len(read.leaks()) == len(read.features)
    elsewhere = {**content, "features": [{**content["features"][2], "name": "crp"}]}
    assert (
        "does not have the column 'admitted'"
        in merge_file(plain, (), entries_of(elsewhere, domain_of_json(elsewhere))).mistakes[0]
    )
