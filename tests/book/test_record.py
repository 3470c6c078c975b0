"""A release record survives JSON, refuses invalid values, belongs to one forest file, and prints as a safe page."""

import gzip
import hashlib
import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from dpforest import MajorityLabelForestClassifier, RandomTreeBoosterClassifier, ReleasedForest
from dpforest.book import (
    Book,
    Cost,
    PopulationLoss,
    RecordError,
    ReleaseRecord,
    SchemaSource,
    check_words,
    page,
    record_of,
    verify,
)
from dpforest.book.record_fields import FIELDS, SOURCE_RULES, SUM_RULES, VALUE_RULE
from dpforest.book.record_file import _short, loss_sentence
from dpforest.risk.guarantee import Guarantee, guarantee_of
from tests.models.random_forests import DOMAIN, table

WARD = "patients of ward 3, 2025"
WORDS = {"title": "First forest", "purpose": "Triage.\nResearch.", "owner": "Dr. A. Weiß", "approver": "Board 7"}
REASON = "It is far below one in a million patients."
HOSTILE = [
    '<script>alert("x")</script>',
    "<img src=https://example.org/x onerror='alert(1)'>",
    "# Title *bold* [link](javascript:x) `code` $x$ :red[y]",
    "👩‍👩‍👧 family 🏥",
    "عيادة الأمل",
    "a\u202egnp.exe\u2066",
    "&lt;already&gt; \x00\x1b[31m",
]


def released(folder: Path, estimator, *, groups=None, rows_per_person=None, **parameters):
    """Release a forest, and return its record and its file. The population has an earlier release at ε = 1/3."""
    model = estimator(**{"domain": DOMAIN, "n_estimators": 3, "max_depth": 2, **parameters})
    book = Book(folder / "book.sqlite")
    book.add_population(WARD, cap=5, rows_per_person=rows_per_person)
    book.book(WARD, Cost(Fraction(1, 3), model.neighbors, model.domain.unit), title="earlier")
    account = book.account(WARD)
    file = model.fit(*table(), groups, account=account).released_.to_bytes()
    book.book(WARD, Cost(Fraction(1), model.neighbors, model.domain.unit), title="later")
    reason = REASON if model.certificate_.delta else ""
    facts = {**WORDS, "delta_reason": reason, "chosen_by_looking": True}
    return record_of(model, file, book.population(WARD), account.booking, **facts), file


@pytest.fixture(scope="module")
def pure(tmp_path_factory):
    return released(tmp_path_factory.mktemp("pure"), MajorityLabelForestClassifier, epsilon=1.25)


@pytest.fixture(scope="module")
def gaussian(tmp_path_factory):
    folder, options = tmp_path_factory.mktemp("gaussian"), {"epsilon": 2, "delta": 1e-6, "neighbors": "replace-one"}
    return released(folder, RandomTreeBoosterClassifier, **options)


@pytest.fixture(scope="module")
def persons(tmp_path_factory):
    options = {"domain": replace(DOMAIN, unit="patient"), "groups": np.arange(120) // 2, "rows_per_person": 2}
    return released(tmp_path_factory.mktemp("persons"), MajorityLabelForestClassifier, **options)


@pytest.fixture(params=["pure", "gaussian", "persons"])
def release(request):
    return request.getfixturevalue(request.param)


# ---------------------------------------------------------------- facts


def test_a_record_survives_json(release):
    record, _ = release
    text = record.to_json()
    assert ReleaseRecord.from_json(text) == record == ReleaseRecord.from_json(text.encode())
    assert ReleaseRecord.from_json(text).to_json() == text and text.isascii()
    assert ReleaseRecord.from_dict(json.loads(text)) == record


def test_the_record_of_a_pure_loss(pure):
    record, file = pure
    assert (record.unit, record.unit_column, record.epsilon, record.delta) == ("row", None, Fraction(5, 4), 0.0)
    assert record.mu_squared is None and record.cap == 5 and record.population == WARD and record.chosen_by_looking
    before, after = record.sum_before, record.sum_after
    assert (before.epsilon, before.pure_epsilon, before.mu_squared) == (Fraction(1, 3), Fraction(1, 3), 0)
    assert (after.epsilon, after.neighbors, after.unit_column) == (Fraction(19, 12), "add-remove", None)
    assert record.sha256 == hashlib.sha256(file).hexdigest()
    # The attacker's success follows from the entries of the ledger, which depend on a noisy number of rows. This
    # success is at most the one that ε alone allows.
    start = "whether a row is in the data: the guess is right with a probability of at most "
    share = float(record.loss.split(start)[1].partition(" %.")[0])
    assert 50 < share <= 77.8 and f"{start}77.8 %." in loss_sentence(Guarantee(record.epsilon))
    assert record.loss == loss_sentence(guarantee_of(ReleasedForest.from_bytes(file).certificate))
    assert record.settings["estimator"] == "MajorityLabelForestClassifier" and record.settings["n_estimators"] == 3
    values = "0 to 1; numbers; missing cells: none expected"
    assert SchemaSource("f0", "domain", "documented", "made up", values) in record.sources
    assert record.sources[-1] == SchemaSource("y", "classes", "documented", "made up", "0; 1; 2")


def test_the_record_of_a_gaussian_loss(gaussian):
    record, _ = gaussian
    assert (record.epsilon, record.delta, record.neighbors) == (2, 1e-6, "replace-one")
    assert record.sum_after.mu_squared == record.mu_squared > 0 and record.sum_after.pure_epsilon == Fraction(1, 3)
    assert record.sum_after.epsilon == pytest.approx(2 + 1 / 3) and record.sum_after.delta == 1e-6
    assert record.sum_before.delta == 0 and "which of two values a row has" in record.loss


def test_the_record_of_persons(persons):
    record, _ = persons
    assert (record.unit, record.unit_column, record.rows_per_person) == ("person", "patient", 2)
    assert record.sum_after.unit_column == "patient" and "whether a person is in the data" in record.loss


def test_rows_and_persons_have_one_sum_in_the_record(tmp_path):
    book = Book(tmp_path / "book.sqlite")
    book.add_population(WARD, rows_per_person=2)
    book.book(WARD, Cost(Fraction(1, 3), "add-remove"), title="for rows")
    model = MajorityLabelForestClassifier(domain=replace(DOMAIN, unit="patient"), n_estimators=2, max_depth=1)
    account = book.account(WARD)
    file = model.fit(*table(), np.arange(120), account=account).released_.to_bytes()
    record = record_of(model, file, book.population(WARD), account.booking, **WORDS, chosen_by_looking=False)
    assert (record.sum_before.epsilon, record.sum_before.unit_column) == (Fraction(1, 3), None)
    assert record.sum_after.epsilon == record.sum_after.pure_epsilon == Fraction(5, 3) and record.cap is None


def test_a_record_needs_the_booking_of_its_fit(tmp_path):
    book = Book(tmp_path / "book.sqlite")
    book.add_population(WARD)
    other = book.book(WARD, Cost(Fraction(1, 3), "add-remove"), title="other")
    model = MajorityLabelForestClassifier(domain=DOMAIN, n_estimators=2, max_depth=1).fit(*table())
    for booking, message in ((None, "has no booking"), (other, "not the one of this forest")):
        with pytest.raises(RecordError, match=message):
            record_of(model, b"", book.population(WARD), booking, **WORDS, chosen_by_looking=False)


def test_the_sentence_about_loss_is_rounded_up():
    assert loss_sentence(Guarantee(30.0)).count("with a probability of practically 100 %.") == 2
    assert "at most 73.2 %. A guess between two values of a row" in loss_sentence(Guarantee(Fraction(1)))
    assert loss_sentence(Guarantee(Fraction(1))).endswith("at most 81.7 %.")


def test_a_sum_with_too_many_digits_is_rounded_up():
    long = Fraction(10**250 + 1, 3 * 10**250)
    assert long <= _short(long) <= long + Fraction(1, 10**12) and _short(Fraction(1, 3)) == Fraction(1, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"owner": " "}, "“owner” must be a text of 1 to 200 characters in one line"),
        ({"title": "two\nlines"}, "“title” must be"),
        ({"purpose": "x" * 2_001}, "“purpose” must be"),
        ({"delta_reason": "why"}, "but δ is 0"),
        ({"delta": 1e-6}, "The reason for δ is empty"),
    ],
)
def test_words_are_checked_before_the_release(change, message):
    with pytest.raises(RecordError, match=message):
        check_words(**{**WORDS, "delta_reason": "", "delta": 0.0, **change})
    check_words(**{**WORDS, "approver": ""}, delta_reason=REASON, delta=1e-6)


# ---------------------------------------------------------------- strictness

WRONG = [None, True, 3, -1.5, "", "x" * 20_000, "1/0", "2/4", "\ud800", [], ["x"], {}, {"x": 1}]
ALLOWED = {  # values of `WRONG` that a field may have
    "approver": [""],
    "delta_reason": [""],
    "unit_column": [None, "1/0", "2/4"],
    "rows_per_person": [None, 3],
    "mu_squared": [None],
    "cap": [None],
    "chosen_by_looking": [True],
    "column": [""],
    "value": ["", "x" * 20_000],
}
TEXTS = {"title", "purpose", "owner", "approver", "population", "loss", "booking", "dpforest_version", "part", "note"}


def content_with(record: ReleaseRecord, path: tuple, value) -> dict:
    content = json.loads(record.to_json())
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


PATHS = [
    *((name,) for name in FIELDS),
    *(("sum_after", name) for name in SUM_RULES),
    *(("sources", 0, name) for name in SOURCE_RULES | VALUE_RULE),
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ".".join(map(str, path)))
def test_a_wrong_value_is_refused(pure, path):
    name = path[-1]
    allowed = [*ALLOWED.get(name, []), *(["1/0", "2/4"] if name in TEXTS | {"column", "delta_reason", "value"} else [])]
    for value in WRONG:
        if any(value is each or (value == each and type(value) is type(each)) for each in allowed):
            continue
        with pytest.raises(RecordError, match=f"“{name}” must|“sources” must be an object|must be an object|has no f"):
            ReleaseRecord.from_dict(content_with(pure[0], path, value))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ".".join(map(str, path)))
def test_a_missing_field_is_refused(pure, path):
    content = json.loads(pure[0].to_json())
    place = content
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    with pytest.raises(RecordError, match=f"has no field “{path[-1]}”.*get it again from the owner"):
        ReleaseRecord.from_dict(content)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", "0"),
        ("delta", 1),
        ("delta", math.nan),
        ("unit", "table"),
        ("neighbors", "swap"),
        ("rows_per_person", 0),
        ("settings", {"estimator": "x", "y": math.inf}),
        ("settings", {"estimator": "x", "y": [1]}),
        ("settings", {"max_depth": 3}),
        ("time", "2026-13-27T14:30:00+00:00"),
        ("time", "2026-11-27T14:30:00+01:00"),
        ("time", "2026-11-27"),
        ("sha256", "A" * 64),
        ("extra", 1),
    ],
)
def test_values_out_of_range_are_refused(pure, name, value):
    with pytest.raises(RecordError, match=name):
        ReleaseRecord.from_dict(content_with(pure[0], (name,), value))


def test_contradictions_between_fields_are_refused(pure, gaussian):
    for path, value, message in (
        (("unit",), "person", "“unit_column” must name a column"),
        (("mu_squared",), "1/2", "“mu_squared” must be null"),
        (("delta",), 1e-6, "“mu_squared” must be"),
        (("delta_reason",), "why", "but δ is 0"),
        (("sources", 0, "source"), "data", "documented"),
    ):
        with pytest.raises(RecordError, match=message):
            ReleaseRecord.from_dict(content_with(pure[0], path, value))
    with pytest.raises(RecordError, match="The reason for δ is empty"):
        replace(gaussian[0], delta_reason="")


@pytest.mark.parametrize("text", ["", "{", "\x00", "[" * 100_000, b"\xff\xfe\x01", '{"a": ' + "9" * 5_000 + "}"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(RecordError, match="not valid JSON"):
        ReleaseRecord.from_json(text)


def test_other_json_is_refused(pure):
    text = pure[0].to_json()
    for other in ("[]", "null", "{}", '{"format": "dpforest book"}'):
        with pytest.raises(RecordError, match="not a release record"):
            ReleaseRecord.from_json(other)
    for version in ("3", "true", '"1"', "1.0", "null"):
        with pytest.raises(RecordError, match="format version .* reads the versions 1 and 2. Use the dpforest that"):
            ReleaseRecord.from_json(text.replace('"version": 2,', f'"version": {version},'))
    for constant in ("NaN", "Infinity", "-Infinity"):
        with pytest.raises(RecordError, match=f"has {constant} where a number must be"):
            ReleaseRecord.from_json(text.replace('"delta": 0.0', f'"delta": {constant}'))
    with pytest.raises(RecordError, match="“delta” must be a number from 0 to below 1"):
        ReleaseRecord.from_json(text.replace('"delta": 0.0', '"delta": 1e999', 1))
    with pytest.raises(RecordError, match="twice"):
        ReleaseRecord.from_json(text.replace("{", '{"title": "other",', 1))


def test_a_record_of_version_1_keeps_its_bytes_and_its_file(pure):
    record, file = pure
    content = json.loads(record.to_json()) | {"version": 1}
    for source in content["sources"]:
        del source["value"]
    old = ReleaseRecord.from_dict(content)
    assert json.loads(old.to_json()) == content and verify(file, old) == []
    assert "records of version 1 do not state them" in Seen(page(old)).words
    with pytest.raises(RecordError, match="must not have a field 'value'"):
        ReleaseRecord.from_dict(json.loads(record.to_json()) | {"version": 1})


def test_another_range_is_noticed(pure):
    record, file = pure
    wider = record.sources[0]._replace(value="0 to 9; numbers; missing cells: none expected")
    changed = replace(record, sources=(wider, *record.sources[1:]))
    assert any("different sources of the schema" in problem for problem in verify(file, changed))
    assert "0 to 9; numbers" in Seen(page(changed)).words


def test_a_sum_below_its_losses_is_refused(pure):
    with pytest.raises(RecordError, match="“epsilon” of “sum_after” is smaller than the sum of its losses"):
        ReleaseRecord.from_dict(content_with(pure[0], ("sum_after", "epsilon"), "0"))


@pytest.mark.parametrize("setting", [{"max_depth": "9"}, {"max_depth": 9.0}, {"epsilon": "1/100"}, {"epsilon": 0.01}])
def test_settings_of_other_types_are_compared_too(pure, setting):
    record, file = pure
    problems = verify(file, replace(record, settings={**record.settings, **setting}))
    assert len(problems) == 1 and "settings of the record state" in problems[0]


def test_a_record_with_only_the_first_bound_is_accepted(pure):
    record, file = pure
    first, mark, _ = record.loss.partition(" A guess between two values")
    assert mark and verify(file, replace(record, loss=first)) == []


# ---------------------------------------------------------------- the file of a record


def test_the_released_file_is_the_one_of_the_record(release):
    record, file = release
    assert verify(file, record) == verify(file, ReleaseRecord.from_json(record.to_json())) == []


def test_a_changed_byte_is_noticed(pure):
    record, file = pure
    changed = bytearray(file)
    changed[len(file) // 2] ^= 1
    problems = verify(bytes(changed), record)
    assert problems[0].startswith("The file does not match the record: the SHA-256 of the file is")
    assert "cannot be read as a forest" in problems[1]
    repacked = gzip.compress(gzip.decompress(file), 1, mtime=0)
    assert len(verify(repacked, record)) == 1


def test_the_file_of_another_forest_is_noticed(pure, gaussian):
    problems = verify(gaussian[1], pure[0])
    assert problems[0].startswith("The file does not match") and any("states ε = 2, but the" in p for p in problems)
    assert any("states no μ²" in p for p in problems) and any("estimator = Random" in p for p in problems)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"epsilon": Fraction(1, 2)}, "states ε = 5/4, but the record states ε = 1/2."),
        ({"neighbors": "replace-one"}, "states neighbors = add-remove, but"),
        ({"unit": "person", "unit_column": "patient"}, "states unit = one row, but the record states unit = a person"),
        ({"sources": (SchemaSource("f0", "domain", "asserted", "x"),)}, "different sources of the schema"),
        ({"settings": {"estimator": "Other"}}, "the record states estimator = Other"),
    ],
)
def test_a_changed_record_with_the_right_hash_is_noticed(pure, change, sentence):
    record, file = pure
    (problem,) = verify(file, replace(record, **change))
    assert sentence in problem


def test_a_record_of_an_earlier_version_is_still_right(pure):
    """An older record states the attacker's success that ε alone allows, which is a valid and larger bound."""
    record, file = pure
    assert verify(file, replace(record, loss=loss_sentence(Guarantee(record.epsilon)))) == []
    assert verify(file, replace(record, loss=loss_sentence(Guarantee(Fraction(1, 2))))) != []


def test_a_changed_delta_with_the_right_hash_is_noticed(gaussian):
    record, file = gaussian
    (problem,) = verify(file, replace(record, delta=1e-9))
    assert "states δ = 1e-06, but the record states δ = 1e-09" in problem
    (problem,) = verify(file, replace(record, mu_squared=record.mu_squared / 2))
    assert "μ²" in problem


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"loss": "An attacker learns nothing."}, "does not follow from the certificate"),
        ({"settings": {"estimator": "MajorityLabelForestClassifier", "epsilon": 0.01}}, "another ε"),
        (
            {"settings": {"estimator": "MajorityLabelForestClassifier", "neighbors": "replace-one"}},
            "another neighbor relation",
        ),
    ],
)
def test_a_record_that_contradicts_itself_is_noticed(pure, change, sentence):
    record, file = pure
    (problem,) = verify(file, replace(record, **change))
    assert sentence in problem


def test_a_sum_below_the_loss_of_the_release_is_refused(release):
    record, _ = release
    nothing = PopulationLoss(Fraction(0), 0.0, record.neighbors, None, Fraction(0), Fraction(0))
    with pytest.raises(RecordError, match="smaller than that of “sum_before”, or than the loss itself"):
        replace(record, sum_after=nothing)


def test_a_file_that_is_no_forest_with_the_right_hash_is_noticed(pure):
    record = replace(pure[0], sha256=hashlib.sha256(b"x").hexdigest())
    (problem,) = verify(b"x", record)
    assert problem.startswith("The file cannot be read as a forest")


# ---------------------------------------------------------------- the page


class Seen(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.words += data


TAGS = {*("html", "head", "meta", "title", "style", "body", "h1", "h2", "table", "tr", "th", "td", "footer", "code")}
ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "dir", "scope", "class"}


def test_the_page_has_all_facts_and_no_resources(release):
    record, _ = release
    html = page(record)
    seen = Seen(html)
    assert seen.tags == TAGS and seen.attributes == ATTRIBUTES
    assert not re.search(r"https?:|url\(|@import|<script|javascript:|src=|href=", html)
    facts = [*WORDS.values(), WARD, record.loss, record.neighbors, record.sha256, record.booking, record.time]
    assert [fact for fact in facts if fact not in seen.words] == []
    assert hashlib.sha256(record.to_json().encode()).hexdigest() in seen.words
    assert "ssh-keygen -Y sign -f ~/.ssh/id_ed25519 -n dpforest record.json" in seen.words
    assert (REASON in seen.words) == ("10⁻⁶" in seen.words) == bool(record.delta)
    assert "size: A4" in html and "Signature" in seen.words and "Approver" in seen.words


@pytest.mark.parametrize("words", HOSTILE)
def test_words_are_shown_as_they_are(pure, words):
    texts = dict.fromkeys(("title", "purpose", "owner", "approver", "population", "loss", "booking"), words)
    sources = (SchemaSource(words, "domain", "asserted", words),)
    record = replace(pure[0], **texts, sources=sources, settings={"estimator": words, words: words})
    assert ReleaseRecord.from_json(record.to_json()) == record
    html = page(record)
    seen = Seen(html)
    assert seen.tags == TAGS and seen.attributes == ATTRIBUTES
    shown = "".join(c if c not in "\u202e\u2066\x00\x1b" else f"\\u{ord(c):04x}" for c in words)
    assert seen.words.count(shown) >= 10
    assert not set("\u202e\u2066\x00\x1b") & set(html)
