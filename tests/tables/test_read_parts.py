"""Parts of a schema that were read from rows: all are listed, and asserting one part changes no other part."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.tables.csv_format import CsvFormat
from dpforest.tables.datasets import read_csv, suggest_domain
from dpforest.tables.domain import Domain, Feature
from dpforest.tables.read_parts import assert_parts, read_parts, sources, with_sources

EXACTLY = settings(derandomize=True, deadline=None, max_examples=200)
SOURCE = st.sampled_from(["data", "asserted", "documented"])


@st.composite
def domains(draw) -> Domain:
    features = []
    for name in "abc":
        of_values, of_type, of_missing = draw(SOURCE), draw(st.sampled_from(["", "data", "asserted"])), draw(SOURCE)
        given_sources = {
            "source": of_values,
            "source_note": "the manual",
            "type_source": of_type,
            "type_note": "the other manual",
            "missing_source": of_missing if draw(st.booleans()) else "",
            "missing_note": "a third one",
        }
        kinds = (
            Feature(name, "numeric", 0, 9, **given_sources),
            Feature(name, "categorical", categories=("x", "y"), missing="category", **given_sources),
        )
        features.append(kinds[draw(st.booleans())])
    reading = draw(st.sampled_from(["", "the file is written so", CsvFormat("Latin-1", ";", ",", ("a",))]))
    return Domain(
        tuple(features),
        ("no", "yes"),
        "ill",
        draw(SOURCE),
        "a note",
        reading,
        draw(SOURCE),
        "a note",
        draw(st.sampled_from(["", "data", "asserted"])),
        "a note",
    )


@EXACTLY
@given(domains())
def test_there_is_something_to_assert_exactly_if_something_leaks(domain):
    assert bool(read_parts(domain)) == bool(domain.leaks())
    assert assert_parts(domain, read_parts(domain), "a b c").leaks() == []
    assert assert_parts(domain, (), "a b c").leaks() == domain.leaks()


@EXACTLY
@given(domains(), st.data())
def test_asserting_some_parts_leaves_the_others_unchanged(domain, data):
    parts = read_parts(domain)
    some = [part for part in parts if data.draw(st.booleans())]
    asserted = assert_parts(domain, some, "a b c")
    assert set(read_parts(asserted)) == set(parts) - set(some)
    for before, after in zip(domain.features, asserted.features, strict=True):
        chosen = {part.what for part in some if part.name == before.name}
        for what, source in sources(before).items():
            assert sources(after)[what] == (("asserted", "a b c") if what in chosen else source)
        old = {key: value for key, value in before.to_dict().items() if "source" not in key and "note" not in key}
        new = {key: value for key, value in after.to_dict().items() if "source" not in key and "note" not in key}
        assert old == new
    assert (asserted.classes, asserted.reading, asserted.label) == (domain.classes, domain.reading, domain.label)


@EXACTLY
@given(domains())
def test_parts_that_were_not_read_cannot_be_asserted(domain):
    """Asserting a part of another schema, or a part that has a source, changes nothing."""
    asserted = assert_parts(domain, read_parts(domain), "a b c")
    assert assert_parts(asserted, read_parts(domain), "other words now") == asserted


def test_everything_read_from_a_file_is_a_part():
    csv = read_csv("größe;stadt;nr;ill\n1,5;Köln;1;no\n2,5;Ulm;1;yes\n3,5;;1;no\n".encode("latin-1"))
    domain = suggest_domain(csv, "ill")
    assert [(part.what, part.name, part.value) for part in read_parts(domain)] == [
        ("bounds", "größe", "1.5 to 3.5"),
        ("type", "größe", "numbers"),
        ("missing", "größe", "none expected"),
        ("categories", "stadt", "Köln; Ulm"),
        ("type", "stadt", "categories"),
        ("missing", "stadt", "a separate value"),
        ("classes", "", "no; yes"),
        ("reading", "", str(csv.reading)),
        ("columns", "", "größe; stadt"),
    ]
    assert assert_parts(domain, read_parts(domain), "our own export").leaks() == []


def test_a_type_does_not_become_public_with_its_bounds():
    age = Feature("age", "numeric", 0, 120, integer=True)  # type and bounds were read from the data
    bounded = with_sources(age, {"bounds": ("asserted", "people live so long")})
    assert (bounded.type_source, bounded.missing_source) == ("data", "data")
    assert len(bounded.leaks()) == 2
    with pytest.raises(ValueError, match="say where that is written"):
        with_sources(age, {"bounds": ("asserted", " ")})
    assert replace(bounded, type_source="", missing_source="").leaks() == []
