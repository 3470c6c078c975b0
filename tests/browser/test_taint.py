"""Foreign text stays text: names in files and links create no link, request or format, and reverse no text."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from dpforest import Domain, Feature, RandomTreeBoosterClassifier
from tests.browser.driver import BROWSER, Explore, chart_ready, idle

pytestmark = BROWSER

EVIL = "evil.example"
# Each string contains "acted" in some markup. An element whose whole text is "acted" shows that the markup worked.
COLUMNS = (
    f"[acted](http://{EVIL}/)",
    f"![acted](http://{EVIL}/p)",
    f"http://{EVIL}/bare",
    f"www.{EVIL}/w",
    f"i@{EVIL}",
    ":red[acted]",
    ":material/skull:",
    ":skull: **acted**",
    "$$acted$$ `acted`",
    f"<img src=http://{EVIL}/p onerror=acted()>",
    f"<a href='http://{EVIL}'>acted</a>",
    "<b>acted</b> %{x}",
    "<script>acted()</script>",
    "&lt;b&gt;",
    "# acted",
    "- acted",
    "1. acted",
    "\u202edetca\u200b",
)
CATEGORIES = (f"[acted](//{EVIL})", f"<a href='//{EVIL}'>acted</a>", "*acted*", f"http://{EVIL}/c", "\u202ey")
CLASSES = ("<i>acted</i>", ":blue[acted]")
LABEL = f"**acted** www.{EVIL}"
FILE = f"**acted** www.{EVIL} <b>acted<b>.csv"
NOTE = " ".join(COLUMNS)
FOREST, ROWS = "Released forest (JSON)", "New rows (CSV)"
HIDDEN = dict.fromkeys(map(ord, "\u2060\u200b\u00a0"))  # characters without width, and the non-breaking space

_ACTED = """evil => {
  const faults = [];
  const own = e => [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join("").trim();
  for (const e of document.querySelectorAll("body *")) {
    const text = own(e), address = ["href", "xlink:href", "src"].map(name => e.getAttribute(name) || "").join(" ");
    if (/^(acted|skull|:?\\u{1f480})$/u.test(text)) faults.push(`${e.tagName} with markup: ${e.outerHTML}`);
    if (address.includes(evil)) faults.push(`${e.tagName} to another host: ${address}`);
    if (/\\u{1f480}/u.test(text)) faults.push(`an emoji: ${text}`);
    if (e.matches("iframe, object, embed, .katex, [onerror]")) faults.push(e.outerHTML);
    if (/[\\u202a-\\u202e\\u2066-\\u2069]/.test(text) && !e.closest("[role=gridcell], [role=columnheader]"))
      faults.push(`${e.tagName} reversed: ${text}`);
  }
  if (window.acted && !(window.acted instanceof Element)) faults.push("a script ran");
  return faults;
}"""


class Taint:
    """Collects faults of the pages, and all texts that they showed."""

    def __init__(self, page: Page) -> None:
        self._page, self.faults, self._seen = page, list[str](), list[str]()

    def look(self, where: str) -> None:
        """Collect faults without stopping at the first one, so that the test reports all of them."""
        self.faults += [f"{where}: {fault[:300]}" for fault in self._page.evaluate(_ACTED, EVIL)]
        for part in ("body", ".js-plotly-plot svg.main-svg", "[role=gridcell], [role=columnheader]"):
            self._seen += [text or "" for text in self._page.locator(part).all_text_contents()]

    def shown(self, text: str) -> bool:
        """Return whether a page showed this text, letter for letter."""
        expected = text.translate(HIDDEN)
        return any(expected in seen.translate(HIDDEN) for seen in self._seen)

    def close(self, *texts: str) -> None:
        assert not self.faults, "\n".join(self.faults)
        assert not [text for text in texts if not self.shown(text)], "not shown as it is"


def _table(n: int = 240) -> list[list[str]]:
    """Return rows of two numbers, and of categories in all other columns. The first number decides the class."""
    draw = random.Random(5)
    rows = []
    for i in range(n):
        first, second = draw.random(), draw.random()
        words = [CATEGORIES[(i + 2 * c + (first > 0.5)) % len(CATEGORIES)] for c in range(len(COLUMNS) - 2)]
        rows.append([f"{first:.3f}", f"{second:.3f}", *words, CLASSES[int(first > 0.5)]])
    return rows


def _csv(rows: list[list[str]]) -> bytes:
    lines = [[*COLUMNS, LABEL], *rows]
    return "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines).encode()


def _attach(page: Page, title: str, name: str, data: bytes) -> None:
    uploader = page.locator("[data-testid=stFileUploader]").filter(has_text=title)
    uploader.locator("[data-testid=stFileUploaderDropzoneInput]").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": data}
    )


def test_names_in_a_table_stay_text(explore: Explore) -> None:
    """Names with markup stay text in all tabs of Explore, for two kinds of forests, in Compare and in Choose ε."""
    taint = Taint(explore.page)
    explore.visit(f"{explore.url}/?data=upload+a+CSV&trees=5")
    explore.upload(FILE, _csv(_table()))
    for forest in ("", "majority labels"):
        if forest:
            explore.choose("Forest", forest)
        chart_ready(explore.page)
        for name in explore.page.get_by_role("tab").all_inner_texts():
            explore.tab(name)
            taint.look(f"{forest or 'default forest'}, {name}")
    for name in ("Compare forests", "Choose ε"):
        explore.go_to(name)
        expect(explore.main.get_by_text("240 rows · predicts")).to_be_visible()
        expect(explore.page.locator("[data-testid=stElementContainer][data-stale=true]")).to_have_count(0)
        expect(explore.page.locator(".js-plotly-plot .plot-container").first).to_be_visible()
        taint.look(name)
    taint.close(*COLUMNS[:-1], *CLASSES, LABEL, FILE)


def _released() -> dict[str, Any]:
    """Return the JSON of a forest that was fitted on a table with markup in its names."""
    rows = pd.DataFrame(_table(), columns=[*COLUMNS, LABEL])
    numbers = list(COLUMNS[:2])
    rows[numbers] = rows[numbers].astype(float)
    features = [
        Feature(name, "numeric", 0.0, 1.0, source="asserted", source_note=NOTE)
        if name in numbers
        else Feature(name, "categorical", categories=CATEGORIES, source="asserted", source_note=NOTE)
        for name in COLUMNS
    ]
    domain = Domain(features, CLASSES, LABEL, "asserted", NOTE)
    forest = RandomTreeBoosterClassifier(domain=domain, n_estimators=5, max_depth=3).fit(
        rows[list(COLUMNS)], rows[LABEL]
    )
    return json.loads(forest.released_.to_json())


def _tainted(content: dict[str, Any], certified: bool) -> bytes:
    """Put markup into every free text of a forest's file, and into the assumptions that follow from these texts."""
    certificate = content["certificate"]
    before = certificate["assumptions"][: -len(Domain.from_dict(content["domain"]).assumptions())]
    content["about"] |= {"criterion": COLUMNS[2], "split_score": COLUMNS[3], "caution": NOTE}
    for feature in content["domain"]["features"]:
        feature.update(missing_note=NOTE, missing_source="asserted", type_note=NOTE, type_source="asserted")
    of_table = {f"{what}_source": "asserted" for what in ("reading", "columns")}
    content["domain"].update(of_table, reading=NOTE, reading_note=NOTE, columns_note=NOTE)
    certificate.update(certified=certified, assumptions=[*before, *Domain.from_dict(content["domain"]).assumptions()])
    if not certified:
        certificate.update(reasons=[NOTE, *COLUMNS], true_epsilon="infinity")
    return json.dumps(content).encode()


@pytest.mark.slow
def test_texts_in_a_forest_file_stay_text(explore: Explore) -> None:
    """Markup in a forest's file stays text in its certificate, explanation, predictions and error messages."""
    page, taint = explore.page, Taint(explore.page)
    page.goto(f"{explore.url}/Releases")
    expect(page.get_by_text("A released forest is a JSON file")).to_be_visible()
    content = _released()
    for certified in (False, True):
        _attach(page, FOREST, f"{FILE}.json", _tainted(deepcopy(content), certified))
        expect(page.get_by_role("code").first).to_contain_text("CERTIFIED")
        expect(page.get_by_role("code").first).to_contain_text("NOT CERTIFIED" if not certified else COLUMNS[-2])
        idle(page)
        taint.look("certificate")
    page.get_by_text("Show what moves its scores").click()
    expect(page.locator(".js-plotly-plot .plot-container").first).to_be_visible()
    idle(page)
    taint.look("what moves its scores")
    page.get_by_text("columns it reads").click()
    _attach(page, ROWS, FILE, _csv(_table(20)))
    expect(page.get_by_text("20 predictions")).to_be_visible()
    idle(page)
    taint.look("predictions")
    for where, why, text in (
        ("version", "format version", NOTE),
        ("voting", "voting", NOTE),
        (NOTE, "not known", 1),
        ("seed", "wrong", NOTE),
        ("negative_rule", "negative_rule", NOTE),
        ("voting", "not JSON", "\ud800"),
        ("about", "about.estimator", {"estimator": NOTE}),
    ):
        _attach(page, FOREST, f"{FILE}.json", json.dumps(content | {where: text}).encode())
        expect(page.get_by_role("alert").filter(has_text=why)).to_be_visible()
        idle(page)
        taint.look(f"refused: {why}")
    taint.close(*COLUMNS[:-1], *CLASSES, LABEL)


def test_texts_in_a_link_stay_text(explore: Explore) -> None:
    """Markup in a link stays text on every page. Half a character in a link causes no error."""
    taint = Taint(explore.page)
    named = (
        "forest relation eps depth trees tab by_rule also_delta sure need forests mode pair rule compare_tab choose_tab"
    )
    asked = urlencode({**dict.fromkeys(named.split(), NOTE), f"{NOTE}\u202e": NOTE})
    for place in ("Audit", "Releases", "", "Compare", "Choose_epsilon"):
        half = "%ED%A0%80" if place == "Choose_epsilon" else ""
        explore.page.goto(f"{explore.url}/{place}?{asked}&eps=%ED%A0%80&data={half}zoo")
        expect(explore.sidebar.get_by_role("link", name="Audit")).to_be_visible()
        expect(explore.main.locator("[data-testid=stMarkdown]").first).to_be_visible()
        if place == "":
            chart_ready(explore.page)
        elif place in ("Audit", "Releases"):
            idle(explore.page)
        taint.look(place or "Explore")
    taint.close()
