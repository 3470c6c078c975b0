"""Every technical term on a page has an entry in the glossary, and the sentences of entries are short."""

import re
from functools import cache

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.test_plain_words import SHOWN, texts
from ui.shared.glossary import GLOSSARY, tip

# Terms of the app that a first-year student does not know. Each is part of an entry's title in the glossary.
NEEDS_AN_ENTRY = (
    "sensitivity",
    "permute-and-flip",
    "exponential mechanism",
    "smooth sensitivity",
    "mechanism",
    "in parallel",
    "in sequence",
    "ledger",
    "certificate",
    "membership",
    "noise",
    "leaf",
    "flip",
    "lead",
    "budget",
    "prior",
    "odds",
    "schema",
    "simulated",
    "release",
    "balanced accuracy",
    "certified",
    "as published",
    "without privacy",
    "floor",
    "attribute",
    "label",
    "record",
    "empty leaf",
)
MOST_WORDS = 30  # largest number of words of a sentence, or of its part up to a colon or a semicolon
SENTENCE = re.compile(r"(?<=[.?!:;])[\"”)*]*\s+")
WORD = re.compile(r"[^\W\d_]{2,}")
TERMS = " ".join(GLOSSARY).lower()


@pytest.mark.parametrize("file", [f for f in SHOWN if f.suffix == ".py"], ids=lambda file: file.name)
def test_sentences_are_short(file):
    sentences = [part for text in texts(file) if " " in text for part in SENTENCE.split(text)]
    assert [part for part in sentences if len(WORD.findall(part)) > MOST_WORDS] == []


@cache
def shown_text() -> str:
    return "\n".join(text for file in SHOWN for text in texts(file) if file.name != "glossary.py").lower()


@pytest.mark.parametrize("word", NEEDS_AN_ENTRY)
def test_words_of_the_field_have_an_entry_and_are_used(word):
    assert word in shown_text(), "the app no longer uses this word; remove it from the list"
    assert word in TERMS


def test_the_page_lists_all_terms_and_searches_them():
    page = AppTest.from_file("../../app.py", default_timeout=600).switch_page("pages/8_Glossary.py").run()
    assert not page.exception
    assert [m.value.split("**")[1] for m in page.main.markdown if m.value.startswith("**")] == list(GLOSSARY)
    page.text_input(key="word").set_value("Laplace").run()
    assert "**discrete Laplace**" in page.main.markdown[2].value and len(page.main.caption) < 4
    page.text_input(key="word").set_value("no such word").run()
    assert "Clear the field" in page.main.markdown[-1].value


def test_a_tooltip_holds_the_short_and_the_exact_text():
    assert tip("odds") == (
        "“3 to 1” instead of 75 %. Exactly: p/(1 − p). A release multiplies them by P/Q: its probability with the row, "
        "divided by that without it."
    )


@pytest.mark.parametrize("term", GLOSSARY)
def test_a_person_is_protected_only_by_a_column_of_identifiers(term):
    text = " ".join(GLOSSARY[term])
    assert not re.search(r"some(body|one)|any(body|one)|nobody|people|with(out)? you\b", text)
    if re.search(r"(?<!\(or )\bpersons?\b", text):
        assert "identifier" in text
