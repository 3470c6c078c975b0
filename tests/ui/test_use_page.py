"""The page that uses released forests: it reads each forest, whatever its settings, and refuses all other files."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dpforest import ReleasedForest, load_dataset
from dpforest.trees.forest import ForestFormatError
from dpforest.trees.leaves import LabelLeaves
from tests.conftest import every
from tests.ui.app_words import words
from ui.forest.forests import FORESTS, ForestSettings
from ui.releasing import release
from ui.shared import sidebar, tables
from ui.shared.downloads import as_csv
from ui.shared.sidebar import Choice

DATA = Path(__file__).parents[1] / "data"


def choice(name: str, kind: str = "majority labels", depth: int = 3, trees: int = 5, epsilon: float = 1.0) -> Choice:
    data = load_dataset(name)
    table = tables.bundled_table(data, data.label)
    options = (("n_bound", 1_000),) if kind == "boosted" else ()
    return sidebar.Choice(table, ForestSettings(kind, "certified", epsilon, depth, trees, "add-remove", options))


def use_page(app: AppTest) -> AppTest:
    return app.switch_page("pages/4_Releases.py").run()


@pytest.mark.slow
def test_a_deep_forest_of_few_attributes_is_released_and_used(app):
    """The page reads a deep forest of few attributes, which failed in an earlier version.

    An example is the address /?data=breast_wisconsin&depth=14.
    """
    app.query_params.update({"data": "breast_wisconsin", "depth": "14", "trees": "21"})
    app.run()
    next(b for b in app.button if b.label == "Release this forest").click().run()
    assert not app.exception
    assert any("The file will have about" in element.value for element in app.markdown)
    # The button of the dialog calls this function.
    made = release.make(choice("breast_wisconsin", depth=14, trees=21), 1, 1)
    app.session_state["releases"] = [made]
    page = use_page(app)
    assert not page.exception and not page.warning
    assert "CERTIFIED" in page.code[0].value and "21 trees" in words(page)
    table = load_dataset("breast_wisconsin").table
    page.file_uploader[0].upload("new.csv", table[:50].to_csv(index=False).encode()).run()
    assert not page.exception
    assert len(page.dataframe[-1].value) == 50
    assert ReleasedForest.from_bytes(made.file).trees.depth == 14


@pytest.mark.parametrize("kind", FORESTS)
def test_a_released_file_was_read_back(kind):
    chosen = choice("congressional_voting", kind)
    made = release.make(chosen, 1, 1)
    assert made.file and made.file_name.endswith(".json.gz")
    forest = ReleasedForest.from_bytes(made.file)
    assert forest.certificate.certified
    assert release.read_back(forest, made.file, chosen.table.columns()) == made.file


def test_a_file_that_predicts_otherwise_is_not_offered():
    chosen = choice("congressional_voting")
    one, other = (ReleasedForest.from_bytes(release.make(chosen, 1, n).file) for n in (1, 2))
    flipped = np.where(one.leaves.labels == 0, 1, 0).astype(np.uint8)
    object.__setattr__(other, "leaves", LabelLeaves(flipped))
    with pytest.raises(ForestFormatError, match="predicts differently"):
        release.read_back(one, other.to_bytes(), chosen.table.columns())
    with pytest.raises(ForestFormatError, match="damaged|not a released forest"):
        release.read_back(one, one.to_bytes()[:-9], chosen.table.columns())


@pytest.mark.parametrize(
    "chosen",
    [
        choice("nursery", trees=100),
        choice("adult", depth=8, trees=100, epsilon=0.1),
        choice("adult", "noisy counts", depth=8, trees=11),
        choice("pendigits", "noisy counts", depth=10, trees=31, epsilon=10),
        choice("zoo", "JPW"),
        choice("pendigits", depth=12, trees=50),
        choice("congressional_voting", "boosted"),
        choice("mushroom", "multinomial", depth=4, trees=10),
    ],
    ids=lambda chosen: f"{chosen.table.key}, {chosen.settings.kind}",
)
def test_the_dialog_announces_the_file_size(chosen):
    """The file size that the dialog announces before the release is right within 20 %."""
    expected = release._simulated_size.__wrapped__((), chosen)
    made = len(release.make(chosen, 1, 1).file)
    assert abs(made - expected) < 0.2 * made


def test_sizes_of_files_in_words():
    assert [release.size_text(n) for n in (10, 999_999, 1_000_000, 99_960_000, 123e6)] == [
        "1 KB",
        "1,000 KB",
        "1.0 MB",
        "100.0 MB",
        "123 MB",
    ]


@pytest.mark.parametrize(
    "name", every(2, ["v1_labels.json", "v1_overflow.json", "v2_boosted.json.gz", "v2_single_leaf.json.gz"])
)
def test_files_of_both_versions_are_used(app, name):
    page = use_page(app.run())
    page.file_uploader[0].upload(name, (DATA / name).read_bytes()).run()
    assert not page.exception and not page.warning
    assert "Mechanism:" in page.code[0].value
    notes = [info.value for info in page.info if "earlier version" in info.value]
    assert len(notes) == ("overflow" in name)


def everything(page: AppTest) -> str:
    """Return all text of the main part of the page, including boxes and code."""
    return "\n".join([words(page), *(code.value for code in page.main.code)])


def test_the_page_attributes_the_privacy_claims_to_the_file(app):
    """The page ascribes all claims to the file, because a file cannot show whether noise was drawn."""
    made = release.make(choice("breast_wisconsin"), 1, 1)
    page = use_page(app.run())
    page.file_uploader[0].upload("forest.json.gz", made.file).run()
    assert not page.exception
    assert page.code[0].value.startswith("According to the file: CERTIFIED: pure differential privacy with ε = 1")
    text = everything(page)
    assert "According to the file, ε = 1." in text
    assert (
        "**Checked here:** the file's certificate, its ledger of questions, and its trees agree with each other" in text
    )
    assert "whether the noise was really drawn as stated" in text
    assert "If this is true, the forest reveals no more about any one row" in text
    badges = [m.value for m in page.main.markdown if "-badge[" in m.value]
    assert any("According to the file" in badge for badge in badges)
    assert not any(claim in badge for badge in badges for claim in ("Released", "certified", "Verified"))


def test_a_forest_of_this_session_needs_no_such_words(app):
    """The page states the claims itself, because the app made the forest and knows that it drew the noise."""
    app.session_state["releases"] = [release.make(choice("breast_wisconsin"), 1, 1)]
    page = use_page(app.run())
    assert not page.exception and page.code[0].value.startswith("CERTIFIED: pure differential privacy with ε = 1")
    text = everything(page)
    assert "ccording to the file" not in text and "Not checked" not in text and ":blue-badge[Released]" in text


def test_assertions_are_the_curators_and_not_the_readers(app):
    """The page ascribes assertions to the curator, also in older files that say "asserted by you"."""
    chosen = choice("breast_wisconsin")
    part = {"source": "asserted", "source_note": "the form of the clinic"}
    features = tuple(replace(f, **part) for f in chosen.table.domain.features)
    table = replace(chosen.table, domain=replace(chosen.table.domain, features=features))
    made = release.make(Choice(table, chosen.settings), 1, 1).file
    new = gzip.decompress(made).decode()
    old = new.replace("asserted by the curator: ", "asserted by you: ")
    assert old != new
    page = use_page(app.run())
    for number, file in enumerate((new, old)):
        page.file_uploader[0].upload(f"forest_{number}.json", file.encode()).run()
        assert not page.exception and not page.warning
        text = everything(page)
        assert "asserted by the curator: “the form of the clinic”" in text and "asserted by you" not in text


def test_other_files_get_one_sentence_each(app):
    page = use_page(app.run())
    whole = (DATA / "v2_labels.json.gz").read_bytes()
    text = gzip.decompress(whole)
    content = json.loads(text)
    lone = {**content, "about": {"caution": "\ud800"}}
    files = [
        b"",
        b"{}",
        b"\0\1",
        b"\x1f\x8b",
        whole[:-5],
        whole + b"x",
        text[:-5],
        text[:5],
        gzip.compress(whole),
        bytes(range(256)) * 40,
        b"[" * 50_000,
        b"null",
        json.dumps({**content, "version": 9}).encode(),
        json.dumps(lone).encode(),
        json.dumps({**content, "depth": 10**9}).encode(),
        b'{"format": "dpforest released forest", "version": 2}',
        b'{"format": "dpforest released forest", "version": 1}',
    ]
    for number, file in enumerate(files):
        page.file_uploader[0].upload(f"forest_{number}.json.gz", file).run()
        assert not page.exception, file[:80]
        assert len(page.warning) == 1 and page.warning[0].value.endswith("."), file[:80]


@pytest.fixture
def use(app) -> AppTest:
    return use_page(app.run())


TEXT = gzip.decompress((DATA / "v2_counts.json.gz").read_bytes()).decode()


@settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_texts_of_a_file_are_shown_or_refused(use, data):
    """The page shows or refuses any text in names, categories, notes and mechanisms, without an error."""
    content = json.loads(TEXT)
    odd = data.draw(st.one_of(st.text(max_size=30), st.sampled_from(["$x$", "<b>", "]()", "\0", "a" * 900, "\u202e"])))
    feature = data.draw(st.sampled_from(content["domain"]["features"]))
    place, key = data.draw(
        st.sampled_from(
            [
                (feature, "name"),
                (feature, "source_note"),
                (content["domain"], "label"),
                (content["about"], "caution"),
                (content["certificate"], "mechanism"),
                (content["domain"]["classes"], 0),
                (content["about"], "estimator"),
            ]
        )
    )
    place[key] = odd
    use.file_uploader[0].upload("forest.json", json.dumps(content).encode()).run()
    assert not use.exception
    assert len(use.warning) == 1 or "Mechanism:" in use.code[0].value


def test_a_forest_too_large_to_be_read_is_refused_on_the_page(app):
    app.query_params.update({"data": "breast_wisconsin", "depth": "15", "trees": "300"})
    app.run()
    assert not app.exception
    assert "9,830,400 leaves, more than the 6,000,000" in app.warning[0].value
    assert not [b for b in app.button if b.label == "Release this forest"]


def test_downloaded_predictions_can_be_uploaded_again(app):
    """Downloaded predictions can be uploaded for new predictions, although the file already has such columns."""
    made = release.make(choice("breast_wisconsin"), 1, 1)
    app.session_state["releases"] = [made]
    page = use_page(app)
    rows = load_dataset("breast_wisconsin").table[:20]
    for times in range(3):
        page.file_uploader[0].upload(f"{times}.csv", as_csv(rows).encode()).run()
        assert not page.exception
        assert not page.warning
        rows = page.dataframe[-1].value
    assert rows.columns[:6].tolist() == [
        "predicted Class (3)",
        "share of votes (3)",
        "predicted Class (2)",
        "share of votes (2)",
        "predicted Class",
        "share of votes",
    ]
    assert [str(p) for p in rows["predicted Class (3)"]] == [str(p) for p in rows["predicted Class"]]


@pytest.mark.parametrize(
    ("text", "message"), [("a;b\n1;2\n3;4\n", "none of the columns"), ("Mitoses,b\n1,2\n3,4\n", "not all 9 of")]
)
def test_a_table_with_missing_columns_gets_a_message(app, text, message):
    app.session_state["releases"] = [release.make(choice("breast_wisconsin"), 1, 1)]
    page = use_page(app)
    page.file_uploader[0].upload("other.csv", text.encode()).run()
    assert not page.exception and message in page.warning[0].value and " more" in page.warning[0].value


def test_a_released_booster_shows_its_important_attributes(app):
    app.session_state["releases"] = [release.make(choice("breast_wisconsin", "random-tree booster"), 1, 1)]
    page = use_page(app)
    assert "What moves the scores" not in words(page)
    page.toggle(key="explained").set_value(True).run()
    assert not page.exception
    assert "What moves the scores" in words(page)
    assert "Above 0 the forest leans to" in words(page)
