"""Functions that operate the app like a person, and that read what it shows."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import ConsoleMessage, Download, Locator, Page, Request, expect

IDLE = "[data-testid=stApp][data-test-script-state=notRunning][data-test-connection-state=CONNECTED]"
# Time limit in milliseconds for a page whose worker process also fits the models without privacy.
FITTING = 120_000
COMPILING = 300_000  # milliseconds; the first start on a machine compiles the kernels
# Time limit of a wait in milliseconds. It is longer than a busy machine needs; a wait ends once its condition holds.
TIMEOUT = 90_000
UPLOAD = "upload a CSV"
INSTRUMENT = ".instrument"  # the drawing of Explore; it is in a shadow root, which selectors of Playwright can enter
TABS = ("Tree", "Leaves", "Budget", "Data")

BROWSER = pytest.mark.browser

expect.set_options(timeout=TIMEOUT)


class Watch:
    """Collects exceptions, console errors and requests to other hosts from the watched pages."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc
        self._pages: list[Page] = []
        self.faults: list[str] = []
        self._events: dict[str, Callable[[Any], None]] = {
            "request": self._request,
            "console": self._console,
            "pageerror": lambda error: self.faults.append(f"script error: {error}"),
        }

    def over(self, page: Page) -> Page:
        self._pages.append(page)
        for event, noted in self._events.items():
            page.on(event, noted)  # type: ignore[call-overload]
        return page

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self._host:
            self.faults.append(f"request to another host: {request.url}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def close(self) -> None:
        """Check that the pages show no exception. Then leave the pages, which ends their sessions."""
        for page in self._pages:
            exceptions = page.locator("[data-testid=stException]").all_inner_texts()
            self.faults += [f"exception on the page: {text}" for text in exceptions]
            page.goto("about:blank")
            for event, noted in self._events.items():
                page.remove_listener(event, noted)
        assert not self.faults, "\n".join(self.faults)


class Figure(NamedTuple):
    """One of the four figures at the top of a page."""

    label: str
    value: str
    note: str

    @property
    def number(self) -> float:
        """The first number in the value."""
        match = re.search(r"\d+(\.\d+)?", self.value)
        assert match, f"no number in {self}"
        return float(match[0])


ANSWERS = re.compile("^(Use (this|these) (range|list)|Use these answers|Confirm that this is public)")
SOURCE = re.compile("^How does everybody know (this|the public lists)")


def idle(page: Page, timeout: float = TIMEOUT) -> None:
    """Wait until the script ends. Then check that the page shows no exception."""
    page.wait_for_selector(IDLE, timeout=timeout)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


@contextmanager
def rerun(page: Page) -> Iterator[None]:
    """After the `with` block, wait until the script has run once more, to its end."""
    before = page.evaluate("window.scriptRuns")
    yield
    page.wait_for_function("before => window.scriptRuns > before", arg=before)
    idle(page)


def chart_ready(page: Page, timeout: float = TIMEOUT) -> None:
    """Wait until the page shows its figures and its chart and has finished all refinements."""
    page.wait_for_selector(".st-key-headline h3", timeout=timeout)
    page.wait_for_selector(f"{INSTRUMENT} .dot", timeout=timeout)
    idle(page, timeout)


def titled(start: str) -> str:
    """Return the selector of a chart whose description starts with this text."""
    return f":has([aria-label^='{start}'])"


class Explore:
    """The Explore page in one browser window."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.main = page.locator("[data-testid=stMain]")
        self.sidebar = page.locator("[data-testid=stSidebar]")
        self.headline = page.locator(".st-key-headline")
        self.curve_chart = Chart(page, ":has([aria-label*='ccuracy goes from'])")
        self.overview, self.focus = Chart(page, ".st-key-overview"), Chart(page, ".st-key-focus_chart")

    # Navigation

    def open(self, **settings: Any) -> Explore:
        """Open the page with these settings in its address; the default forest is "majority labels"."""
        self.visit(f"{self.url}/?{urlencode({'forest': 'majority labels', **settings})}")
        chart_ready(self.page)
        return self

    def visit(self, link: str) -> None:
        self.page.goto(link)
        expect(self.sidebar.get_by_role("combobox", name="Data", exact=True)).to_be_visible()
        idle(self.page)

    def settings(self) -> dict[str, str]:
        """Return the settings in the address."""
        return {key: values[-1] for key, values in parse_qs(urlsplit(self.page.url).query).items()}

    def go_to(self, page_name: str) -> None:
        self.sidebar.get_by_role("link", name=page_name, exact=True).click()

    # Controls, by keyboard

    def slider(self, name: str) -> Locator:
        return self.page.get_by_role("slider", name=re.compile(f"^{re.escape(name)}"))

    def shows(self, name: str, value: object) -> None:
        """Check the value of a slider. Sliders of the instrument add the accuracy after the value."""
        shown = re.compile(rf"^{re.escape(str(value))}(:|$)")
        expect(self.slider(name)).to_have_attribute("aria-valuetext", shown)

    def value(self, name: str) -> str:
        """Return the value of a slider."""
        return (self.slider(name).get_attribute("aria-valuetext") or "").split(":")[0]

    def exact_values(self) -> Locator:
        """Open the controls with exact values, and return them. Escape closes them."""
        self.page.get_by_role("button", name="Exact values").click()
        return self.page.locator("[data-testid=stPopoverBody]")

    def curve_in_sight(self) -> None:
        """Check that the ε slider and the axis of the first chart are visible without scrolling."""
        self.page.locator(f"{INSTRUMENT} .curve .tick, .js-plotly-plot .xtitle").first.wait_for(state="attached")
        if self.page.locator(INSTRUMENT).count():
            expect(self.page.locator(f"{INSTRUMENT} .curve .tick").last).to_be_in_viewport(ratio=1)
            expect(self.slider("Privacy budget ε")).to_be_in_viewport(ratio=1)
            return
        title = self.page.locator(".js-plotly-plot .xtitle").first
        expect(title).to_contain_text("ε")
        expect(title).to_be_in_viewport(ratio=1)
        expect(self.page.get_by_test_id("stSlider").filter(has_text="ε").first).to_be_in_viewport(ratio=1)

    def small_words(self, least: int) -> list[str]:
        """Return the words in charts that are smaller than `least` pixels."""
        small = "t => t.textContent.trim() && parseFloat(getComputedStyle(t).fontSize) < least"
        return self.page.locator(".js-plotly-plot svg text").evaluate_all(
            f"(texts, least) => texts.filter({small}).map(t => t.textContent)", least
        )

    def choose(self, name: str, option: str) -> None:
        """Choose an option in a select box, and check that the box shows it."""
        expect(self.answer(name, option)).to_have_value(option)

    def answer(self, name: str, option: str) -> Locator:
        """Choose an option in a select box that may disappear after the choice. Return the box."""
        box = self.page.get_by_role("combobox", name=name, exact=True)
        box.scroll_into_view_if_needed()  # scrolling would close the list
        box.click()
        expect(self.page.get_by_role("listbox")).to_be_visible()
        box.fill(option)
        expect(self.page.get_by_role("option", name=option, exact=True)).to_be_visible()
        box.press("Enter")
        return box

    def chosen(self, name: str) -> str:
        """Return the option that a select box shows."""
        return self.page.get_by_role("combobox", name=name, exact=True).input_value()

    def pick(self, name: str) -> None:
        """Choose a radio button or a segment of a control."""
        self.page.get_by_role("radio", name=name, exact=True).press("Space")

    def fine_settings(self) -> None:
        fold = self.sidebar.get_by_text("Fine settings")
        fold.click()
        expect(self.page.get_by_role("radio", name="a row exchanged")).to_be_visible()
        fold.hover()  # hovering waits until all animations end

    def tab(self, name: str) -> Locator:
        """Open a tab, wait until the script has filled its panel, and return the panel."""
        tab = self.page.get_by_role("tab", name=name, exact=True)
        panel = self.page.get_by_role("tabpanel", name=name, exact=True)
        if tab.get_attribute("aria-selected") != "true":
            tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        expect(panel.locator("[data-testid=stElementContainer]").first).to_be_visible()
        idle(self.page)
        return panel

    def edit(self, row: int, column: int, text: str) -> None:
        """Select a cell of the public domain with the arrow keys and replace its text."""
        table = self.page.get_by_role("region", name="The public domain")
        cell = table.get_by_test_id(f"glide-cell-{column}-{row}")
        expect(table.get_by_test_id(f"glide-cell-1-{row}")).to_be_attached()  # cells out of sight do not exist
        idle(self.page)  # a redrawn table loses the selected cell
        grid, read_only = table.locator(".dvn-scroller"), _GRID_HEADER + _GRID_ROW * row + _GRID_ROW // 2
        inside = table.locator(":focus")
        for _ in range(5):  # a busy table can miss a click, and the arrow keys would then act elsewhere
            # A click counts only if the mouse enters the table from outside.
            self.page.mouse.move(1, 1)
            grid.hover(position={"x": 120, "y": _GRID_HEADER // 2})
            grid.click(position={"x": 120, "y": read_only})
            with suppress(AssertionError):
                expect(inside).to_be_attached(timeout=2_000)
                break
        expect(inside).to_be_attached()
        self.page.keyboard.press("ArrowRight")
        picked = table.locator(f"[role=gridcell][aria-selected=true][data-testid$='-{row}']")
        expect(picked).to_be_attached()
        while (at := int((picked.get_attribute("data-testid") or "").split("-")[2])) != column:
            step = 1 if at < column else -1
            self.page.keyboard.press("ArrowRight" if step > 0 else "ArrowLeft")
            expect(table.get_by_test_id(f"glide-cell-{at + step}-{row}")).to_have_attribute("aria-selected", "true")
        self.page.keyboard.press("Enter")
        field = self.page.locator("#portal").locator("input, textarea")
        expect(field).to_be_focused()
        field.fill(text)
        with rerun(self.page):
            field.press("Enter")
        expect(cell).to_have_text(text)

    def confirm(self, source: str) -> None:
        """Answer all cards of the Data tab. Give `source` as the source of each range that is not common knowledge."""
        panel = self.tab("Data")
        for _ in range(20):  # more cards than any table of these tests has
            if panel.get_by_text(re.compile("^All .* ready")).count():
                break
            self.answer_card(panel, source)
        expect(panel.get_by_text("Every bound and category below has a source")).to_be_visible()
        idle(self.page)

    def answer_card(self, panel: Locator, source: str, **ranges: str) -> None:
        """Answer the open card, and confirm every list of categories. An empty range becomes `ranges`, or 0 to 100."""
        for end, number in ({"Lowest": "0", "Highest": "100"} | ranges).items():
            box = panel.get_by_role("textbox", name=f"{end} possible number")
            if box.count() and (end in ranges or not box.input_value()):
                box.fill(number)
        button = panel.get_by_role("button", name=ANSWERS)
        if button.inner_text() == "Use these answers":
            for option in panel.get_by_test_id("stForm").get_by_text("public list", exact=True).all():
                option.click()
        if (field := panel.get_by_role("textbox", name=SOURCE)).count():
            field.fill(source)
        with rerun(self.page):
            button.click()

    def release(self, asks: str = "draws exact noise once") -> Locator:
        """Press the release button, confirm in the dialog, and return the dialog with the result."""
        self.sidebar.get_by_role("button", name="Release this forest").click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_contain_text(asks)
        confirm_rows(dialog)
        dialog.get_by_role("button", name=re.compile("^Release for ε")).click()
        expect(dialog.get_by_role("button", name="Download the forest")).to_be_visible()
        idle(self.page)
        return dialog

    def link(self) -> str:
        """Return the link that "Copy link" shows."""
        button = self.sidebar.get_by_role("button", name="Copy link")
        button.click()
        link = self.page.locator("[data-testid=stPopoverBody]").get_by_role("code").inner_text()
        self.page.keyboard.press("Escape")
        return link.strip()

    def upload(self, name: str, data: bytes) -> None:
        """Attach a file in the sidebar."""
        self.sidebar.locator("[data-testid=stFileUploaderDropzoneInput]").set_input_files(
            {"name": name, "mimeType": "text/csv", "buffer": data}
        )

    @contextmanager
    def refigured(self) -> Iterator[None]:
        """After the `with` block, check that the figures at the top of the page have changed."""
        before = self.headline.inner_text()
        yield
        expect(self.headline).not_to_have_text(before, use_inner_text=True)
        idle(self.page)

    def download(self, name: str, within: Locator | None = None) -> tuple[str, str]:
        """Press a download button, and return the name and the text of its file."""
        with self.page.expect_download() as waiting:
            (within or self.page).get_by_role("button", name=name).click()
        return read(waiting.value)

    # Contents of the page

    def figures(self) -> list[Figure]:
        boxes = self.headline.locator("[data-testid=stColumn]").all()
        blocks = [box.inner_text().replace("\u00a0", " ").splitlines() for box in boxes]
        texts = [[line.strip() for line in lines if line.strip()] for lines in blocks]
        return [Figure(lines[0], lines[1], " ".join(lines[2:])) for lines in texts]

    def curve(self) -> dict[float, float]:
        """Return the accuracy at each ε of the drawn curve."""
        lines = [trace for trace in self.curve_chart.traces() if trace["mode"] == "lines+markers"]
        assert len(lines) == 1
        return dict(zip(lines[0]["x"], lines[0]["y"], strict=True))

    def here(self) -> tuple[float, float]:
        """Return ε and accuracy of the point "you are here"."""
        (point,) = [t for t in self.curve_chart.traces() if t["mode"] == "markers" and len(t["x"]) == 1]
        return point["x"][0], point["y"][0]

    def badge(self, text: str) -> Locator:
        """Return the first badge with this text."""
        return self.main.locator(".stMarkdownBadge").filter(has_text=re.compile(f"^{re.escape(text)}$")).first

    def reds(self) -> list[str]:
        """Return every visible red element: text, borders, backgrounds and marks in charts."""
        return self.page.evaluate(_REDS)


def read(download: Download) -> tuple[str, str]:
    data = download.path().read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return download.suggested_filename, data.decode("utf-8")


class Chart:
    """A plotly chart. Each access locates the chart again, because the page may have replaced it."""

    def __init__(self, page: Page, selector: str) -> None:
        self._page = page
        self._selector = f"[data-testid=stElementContainer][data-stale=false]{selector} .js-plotly-plot"

    def traces(self) -> list[dict[str, Any]]:
        """Return type, mode, x, y, z, text, customdata and colors of each trace."""
        return self._drawing.evaluate(_TRACES)

    def nodes(self) -> list[int]:
        """Return the tree nodes that are drawn."""
        return [int(c) for trace in self.traces() for c in trace["customdata"]]

    def place(self, node: int) -> tuple[float, float]:
        """Return the position of a node on the screen, in pixels."""
        self._drawing.scroll_into_view_if_needed()
        x, y = self._drawing.evaluate(_PLACE, node)
        return x, y

    @property
    def _drawing(self) -> Locator:
        return self._page.locator(self._selector)

    @contextmanager
    def redrawn(self) -> Iterator[None]:
        """After the `with` block, wait until the chart has changed."""
        now = f"gd => JSON.stringify(({_TRACES})(gd))"
        before = self._drawing.evaluate(now)
        yield
        self._page.wait_for_function(
            f"""([selector, before]) => {{
              const gd = document.querySelector(selector);
              return gd && gd._fullData && ({now})(gd) !== before;
            }}""",
            arg=[self._selector, before],
        )
        idle(self._page)


COUNT_RUNS = """
window.scriptRuns = 0;
new MutationObserver(changes => {
  for (const {target, oldValue} of changes)
    if (oldValue === "running" && target.dataset.testScriptState === "notRunning") window.scriptRuns += 1;
}).observe(document, {subtree: true, attributeOldValue: true, attributeFilter: ["data-test-script-state"]});
"""

_GRID_HEADER, _GRID_ROW = 35, 35  # pixels, in an editable table

_TRACES = """gd => gd._fullData.map(t => {
  const list = v => v && v.length !== undefined && typeof v !== "string"
    ? Array.from(v, c => c && c.length === 1 ? c[0] : c) : [];
  return {type: t.type, mode: t.mode || "", x: list(t.x), y: list(t.y), z: list(t.z).map(list), text: list(t.text),
          customdata: list(t.customdata), color: t.marker ? list(t.marker.color) : []};
})"""

_PLACE = """(gd, node) => {
  const box = gd.getBoundingClientRect(), layout = gd._fullLayout;
  for (const t of gd._fullData) {
    const i = t.customdata ? Array.from(t.customdata, c => Number(c)).indexOf(node) : -1;
    if (i >= 0) return [box.left + layout._size.l + layout.xaxis.l2p(t.x[i]),
                        box.top + layout._size.t + layout.yaxis.l2p(t.y[i])];
  }
  throw new Error(`node ${node} is not in the drawing`);
}"""

_REDS = """() => {
  const red = color => {
    const [r, g, b, a = 1] = (color.match(/[\\d.]+/g) || []).map(Number);
    if (!color.startsWith("rgb") || a < 0.1 || r < Math.max(g, b) || r - Math.min(g, b) < 60) return false;
    const hue = (60 * (g - b) / (r - Math.min(g, b)) + 360) % 360;
    return hue <= 32 || hue >= 340;
  };
  const found = [];
  for (const e of document.querySelectorAll("[data-testid=stApp] *")) {
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!box.width && !box.height || style.visibility === "hidden" || style.opacity === "0") continue;
    const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join("");
    const colors = [style.backgroundColor];
    if (text) colors.push(style.color);
    if (e instanceof SVGElement) colors.push(style.fill, style.stroke);
    if (parseFloat(style.borderTopWidth)) colors.push(style.borderTopColor);
    if (colors.some(red)) found.push(`${e.tagName} ${text || e.getAttribute("class")}: ${colors.filter(red)}`);
  }
  return found;
}"""


def confirm_rows(dialog) -> None:
    """Confirm in the release dialog that each row is a different person, if it asks."""
    dialog.get_by_role("button", name=re.compile("^Release for ε")).wait_for()
    question = dialog.get_by_text(re.compile("^Each row is a different person"))
    if question.count():
        question.click()
