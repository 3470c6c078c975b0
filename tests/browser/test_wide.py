"""A user makes the schema of 57 numeric columns public in a few steps; no value of a single row leaves the session."""

from __future__ import annotations

import json
import random
import re

import pytest
from playwright.sync_api import expect

from tests.browser.driver import BROWSER, SOURCE, Explore, chart_ready, idle

pytestmark = BROWSER

NAMES = (
    [f"word_freq_{word}" for word in "abcdefghijklmnopqrstuvwxyzäöüßéèêëàâîïôûçñõãåø"]
    + [f"char_freq_{mark}" for mark in ("semicolon", "paren", "bracket", "bang", "dollar", "hash")]
    + [f"capital_run_length_{what}" for what in ("average", "longest", "total")]
    + [f"word_freq_{word}" for word in ("make", "address")]
)
LARGEST_CELL = "87.6543"  # the largest value of a column, in one row only


def mails(n: int = 300) -> bytes:
    draw = random.Random(3)
    lines = [",".join([*NAMES, "kind"])]
    for i in range(n):
        kind = i % 2
        cells = [f"{draw.expovariate(3 - kind):.4f}" for _ in NAMES]
        cells[0] = LARGEST_CELL if i == 7 else cells[0]
        lines.append(",".join([*cells, ("spam", "ham")[kind]]))
    return "\n".join(lines).encode()


@pytest.mark.slow  # tests/ui covers this in every run
def test_57_columns_are_made_public_in_a_few_steps(explore: Explore) -> None:
    assert len(NAMES) == 57
    explore.visit(f"{explore.url}/?data=upload+a+CSV&trees=5&depth=3&by_rule=false&tab=Data")
    explore.upload("Postfach Nord.csv", mails())
    chart_ready(explore.page)
    panel = explore.tab("Data")
    steps = 0

    def answer(source: str, **ranges: str) -> None:
        """Answer the next card, and count the steps that a person needs."""
        nonlocal steps
        field = panel.get_by_role("textbox", name=SOURCE)
        steps += len(ranges) + 1 + (field.input_value() != source)
        field.fill(source)
        explore.answer_card(panel, source, **ranges)

    expect(panel).to_contain_text("0 of 57 columns are ready.")
    answer("a share in percent, by definition", Lowest="0", Highest="100")
    expect(panel).to_contain_text("48 of 57 columns are ready.")
    answer("a share in percent, by definition", Lowest="0", Highest="99")
    answer("the mail server cuts at this length", Lowest="0", Highest="20000")
    expect(panel).to_contain_text("57 of 57 columns are ready. Also open: the label and the file.")
    answer("the manual of the mail filter")
    expect(panel.get_by_text("Every bound and category below has a source")).to_be_visible()
    assert steps <= 15

    assert not re.search("Postfach|freq|spam|87", explore.link())
    name, text = explore.download("Download as JSON")
    assert "CURATOR" not in name and LARGEST_CELL not in text
    assert {f["source_note"] for f in json.loads(text)["features"]} == {
        "a share in percent, by definition",
        "the mail server cuts at this length",
    }
    name, text = explore.download("Codebook as CSV")
    assert name == "codebook.csv" and LARGEST_CELL not in text and len(text.splitlines()) == 59
    dialog = explore.release()
    _, forest = explore.download("Download the forest", dialog)
    assert LARGEST_CELL not in forest and "Postfach" not in forest
    idle(explore.page)
