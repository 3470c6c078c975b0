"""One glossary: each word of the field that a page uses has an entry; sentences are short enough to be read aloud."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.test_plain_words import SHOWN, texts
from ui.shared.glossary import GLOSSARY, tip

# What a first-year student has not met, as it is written in the app; each is in a term of the glossary.
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
MOST_WORDS = 30  # of a sentence, or of a part that a colon or a semicolon ends
SENTENCE = re.compile(r"(?<=[.?!:;])[\"”)*]*\s+")
WORD = re.compile(r"[^\W\d_]{2,}")
TERMS = " ".join(GLOSSARY).lower()


@pytest.mark.parametrize("file", [f for f in SHOWN if f.suffix == ".py"], ids=lambda file: file.name)
def test_sentences_are_short(file):
    sentences = [part for text in texts(file) if " " in text for part in SENTENCE.split(text)]
    assert [part for part in sentences if len(WORD.findall(part)) > MOST_WORDS] == []


@pytest.mark.parametrize("word", NEEDS_AN_ENTRY)
def test_words_of_the_field_have_an_entry_and_are_used(word):
    shown = "\n".join(text for file in SHOWN for text in texts(file) if file.name != "glossary.py").lower()
    assert word in shown, "nobody says this any more: take it out of the list"
    assert word in TERMS


def test_the_page_lists_all_and_finds_some():
    page = AppTest.from_file("../../app.py", default_timeout=600).switch_page("pages/8_Glossary.py").run()
    assert not page.exception
    assert [m.value.split("**")[1] for m in page.main.markdown if m.value.startswith("**")] == list(GLOSSARY)
    page.text_input(key="word").set_value("Laplace").run()
    assert "**discrete Laplace**" in page.main.markdown[2].value and len(page.main.caption) < 4
    page.text_input(key="word").set_value("no such word").run()
    assert "Clear the field" in page.main.markdown[-1].value


def test_a_tooltip_holds_both_texts():
    assert tip("lead") == "By how many rows the most frequent class of a leaf is ahead. Exactly: n₍₁₎ − n₍₂₎ of a leaf."
