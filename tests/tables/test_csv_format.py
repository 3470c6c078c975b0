"""The format of a CSV file as data: exact as JSON, and parsed from the sentences of earlier versions."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpforest import Domain, DomainError, Feature, MajorityLabelForestClassifier, ReleasedForest, read_csv
from dpforest.privacy.certificate import STANDING_ASSUMPTIONS
from dpforest.tables.csv_format import CsvFormat, format_in_old_words
from dpforest.tables.datasets import suggest_domain
from dpforest.tables.read_parts import assert_parts, read_parts
from dpforest.trees import forest_schema
from dpforest.trees.forest import ForestFormatError

DATA = Path(__file__).parents[1] / "data"
EXACTLY = settings(derandomize=True, deadline=None, max_examples=300, database=None)
ENCODINGS = ("UTF-8", "UTF-16", "UTF-16-LE", "UTF-16-BE", "UTF-32", "Latin-1")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
FORMATS = st.builds(
    CsvFormat,
    st.sampled_from(ENCODINGS),
    st.one_of(st.sampled_from(",;\t|'\"\\"), st.characters(exclude_categories=["Cs"])),
    st.sampled_from(".,"),
    st.lists(st.one_of(TEXTS, st.sampled_from(['")', "a]", "(points in [", "'", "\\"])), max_size=4),
)
AGE = Feature("age", "numeric", 0, 120, source="documented", source_note="the questionnaire")


def domain(reading) -> Domain:
    return Domain((AGE,), ("no", "yes"), "ill", "documented", "a form", reading, "asserted", "our export")


@EXACTLY
@given(FORMATS)
def test_a_format_is_exact_as_json(written):
    entry = json.loads(json.dumps(written.to_dict()))
    assert CsvFormat.from_dict(entry) == written
    forest_schema.check({**domain("").to_dict(), "reading": entry}, "domain")
    schema = domain(written)
    assert Domain.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert schema.to_dict()["reading"] == entry and schema.csv_format == written


@EXACTLY
@given(FORMATS, TEXTS, TEXTS)
def test_the_sentence_of_an_earlier_version_is_read_as_the_format(written, before, after):
    """A sentence in which an earlier version stated the format becomes the format.

    A text with other words stays text, but its format is still recognized.
    """
    assert format_in_old_words(str(written)) == written
    old = {**domain("").to_dict(), "reading": str(written)}
    assert Domain.from_dict(old) == domain(written) == domain(str(written))
    assert Domain.from_dict(old).assumptions() == domain(written).assumptions()
    assume("the file is" not in before)
    words = f"{before}; {written}, and so on (see [1]){after}"
    assert domain(words).reading == words and domain(words).csv_format == written
    assert Domain.from_dict(domain(words).to_dict()) == domain(words)


@EXACTLY
@given(TEXTS)
def test_other_words_stay_words(words):
    schema = domain(words)
    assert schema.reading == schema.to_dict()["reading"] == words
    assert schema.csv_format == CsvFormat()


@pytest.mark.parametrize(
    "words",
    [
        "the file is UTF-8 text with '\\q' between columns and decimal points",
        "the file is UTF-8 text with '\\N' between columns and decimal points",
        "the file is UTF-8 text with ';' between columns and decimal commas (points in [1",
        "the file is UTF-8 text with ';' between columns and decimal commas (points in " + "[" * 9_000,
    ],
)
def test_an_incomplete_sentence_is_not_read_as_a_format(words):
    schema = domain(words)
    assert schema.reading == words
    with pytest.raises(DomainError):
        _ = schema.csv_format


@pytest.mark.parametrize(
    "wrong",
    [
        {"encoding": 8},
        {"delimiter": ""},
        {"delimiter": ";;"},
        {"delimiter": None},
        {"decimal": ";"},
        {"point_columns": "age"},
        {"point_columns": [1]},
    ],
)
def test_invalid_formats_are_refused(wrong):
    with pytest.raises(DomainError, match=re.escape(f"not {next(iter(wrong.values()))!r}.")):
        CsvFormat(**wrong)


@pytest.mark.parametrize("reading", [None, 1, {}, ["UTF-8"]])
def test_a_reading_is_words_or_a_format(reading):
    with pytest.raises(DomainError, match="reading"):
        domain(reading)


def test_a_format_whose_sentence_no_certificate_holds_is_refused_before_a_fit():
    written = CsvFormat(decimal=",", point_columns=[f"column {j}" for j in range(900)])
    with pytest.raises(DomainError, match="but reading is too long; change the domain first"):
        forest_schema.check_domain(domain(written))
    forest_schema.check_domain(domain(replace(written, point_columns=written.point_columns[:600])))


class TestReleasedFiles:
    ROWS = "age;city;ill\n" + "".join(f"{j},5;{'BU'[j % 2]};{j % 3 % 2}\n" for j in range(60))

    def forest(self) -> ReleasedForest:
        csv = read_csv(self.ROWS.encode("utf-16"))
        schema = suggest_domain(csv, "ill")
        schema = assert_parts(schema, read_parts(schema), "our own export")
        rows = csv.read_with(schema)
        return (
            MajorityLabelForestClassifier(n_estimators=2, domain=schema, random_state=1)
            .fit(rows, rows["ill"])
            .released_
        )

    def test_the_format_is_an_object_in_a_file_and_is_read_back(self):
        forest = self.forest()
        text = forest.to_json(uncertified=True)
        assert json.loads(text)["domain"]["reading"] == {
            "encoding": "UTF-16",
            "delimiter": ";",
            "decimal": ",",
            "point_columns": [],
        }
        assert ReleasedForest.from_json(text).domain == forest.domain

    def test_a_file_with_the_sentence_is_the_same_forest(self):
        forest = self.forest()
        content = json.loads(forest.to_json(uncertified=True))
        content["domain"]["reading"] = "the file is UTF-16 text with ';' between columns and decimal commas"
        old = ReleasedForest.from_json(json.dumps(content))
        assert old.domain == forest.domain and old.certificate == forest.certificate
        assert old.to_json(uncertified=True) == forest.to_json(uncertified=True)

    def test_a_file_whose_format_is_longer_than_a_sentence_is_refused(self):
        content = json.loads(self.forest().to_json(uncertified=True))
        content["domain"]["reading"]["point_columns"] = ["x" * 5_000] * 2
        with pytest.raises(ForestFormatError, match=r"domain\.reading is too long"):
            ReleasedForest.from_json(json.dumps(content))

    @pytest.mark.parametrize("version", [1, 2])
    def test_golden_files_predict_the_same_with_the_sentence_and_with_the_object(self, version):
        data = (DATA / ("v1_counts.json" if version == 1 else "v2_counts.json.gz")).read_bytes()
        content = json.loads(data if version == 1 else gzip.decompress(data))
        expected = json.loads((DATA / f"v{version}_expected.json").read_text())["counts"]
        written = CsvFormat("Latin-1", ";", ",", ("age",))
        forests = []
        for reading in ("", str(written), written.to_dict()):
            content["domain"] |= {"reading": reading, "reading_source": "asserted", "reading_note": "our export"}
            stated = Domain.from_dict(content["domain"]).assumptions()
            # If the reader does not accept the sentence, it refuses the file.
            content["certificate"]["assumptions"] = [*STANDING_ASSUMPTIONS, *stated]
            forests.append(ReleasedForest.from_json(json.dumps(content)))
        plain, of_sentence, of_object = forests
        assert of_sentence.domain == of_object.domain == replace(of_object.domain, reading=written)
        rows = pd.DataFrame(expected["rows"], columns=list(plain.domain.names), dtype=object)
        for forest in forests:
            np.testing.assert_array_equal(forest.class_shares(rows), plain.class_shares(rows))
            np.testing.assert_array_equal(forest.predict(rows), plain.predict(rows))
