"""The app as a person handles it: what can be pressed, and what can be read."""

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
FITTING = 120_000  # milliseconds; the ceiling of a large table is fitted once a process, beside what is refined
COMPILING = 300_000  # milliseconds; the first start on a machine compiles the kernels
TIMEOUT = 90_000  # milliseconds: more than a busy machine takes; what is there is not waited for
UPLOAD = "upload a CSV"
TABS = ("Tree", "Leaves", "Budget", "Data")

BROWSER = pytest.mark.browser

expect.set_options(timeout=TIMEOUT)


class Watch:
    """Over some pages: exceptions, errors on the console, requests to other hosts."""

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
        """Look at the pages a last time and leave them, which ends their sessions."""
        for page in self._pages:
            exceptions = page.locator("[data-testid=stException]").all_inner_texts()
            self.faults += [f"exception on the page: {text}" for text in exceptions]
            page.goto("about:blank")
            for event, noted in self._events.items():
                page.remove_listener(event, noted)
        assert not self.faults, "\n".join(self.faults)


class Figure(NamedTuple):
    """One of the four figures on top."""

    label: str
    value: str
    note: str

    @property
    def number(self) -> float:
        """The first number in it."""
        match = re.search(r"\d+(\.\d+)?", self.value)
        assert match, f"no number in {self}"
        return float(match[0])


def idle(page: Page, timeout: float = TIMEOUT) -> None:
    """Until the script has run to its end; then nothing on the page may be an exception."""
    page.wait_for_selector(IDLE, timeout=timeout)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


@contextmanager
def rerun(page: Page) -> Iterator[None]:
    """After what is done in here the script must run once more, to its end."""
    before = page.evaluate("window.scriptRuns")
    yield
    page.wait_for_function("before => window.scriptRuns > before", arg=before)
    idle(page)


def chart_ready(page: Page, timeout: float = TIMEOUT) -> None:
    """Until the figures, the chart and all refinements are there."""
    page.wait_for_selector(".st-key-headline h3", timeout=timeout)
    page.wait_for_selector(".js-plotly-plot .plot-container", timeout=timeout)
    idle(page, timeout)


def titled(start: str) -> str:
    """Selector of a chart by how its description starts."""
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

    # Going there

    def open(self, **settings: Any) -> Explore:
        """Open the page with some settings in the address, at the forest that most tests are about."""
        self.visit(f"{self.url}/?{urlencode({'forest': 'majority labels', **settings})}")
        chart_ready(self.page)
        return self

    def visit(self, link: str) -> None:
        self.page.goto(link)
        expect(self.sidebar.get_by_role("combobox", name="Data", exact=True)).to_be_visible()
        idle(self.page)

    def settings(self) -> dict[str, str]:
        """What the address says."""
        return {key: values[-1] for key, values in parse_qs(urlsplit(self.page.url).query).items()}

    def go_to(self, page_name: str) -> None:
        self.sidebar.get_by_role("link", name=page_name, exact=True).click()

    # Handling it, by keyboard

    def slider(self, name: str) -> Locator:
        return self.page.get_by_role("slider", name=re.compile(f"^{re.escape(name)}"))

    def curve_in_sight(self) -> None:
        """The slider of ε and the first chart's axis with its title are on the screen, before anything is scrolled."""
        title = self.page.locator(".js-plotly-plot .xtitle").first
        expect(title).to_contain_text("ε")
        expect(title).to_be_in_viewport(ratio=1)
        expect(self.page.get_by_test_id("stSlider").filter(has_text="ε").first).to_be_in_viewport(ratio=1)

    def small_words(self, least: int) -> list[str]:
        """What charts say in smaller type than that, in pixels."""
        small = "t => t.textContent.trim() && parseFloat(getComputedStyle(t).fontSize) < least"
        return self.page.locator(".js-plotly-plot svg text").evaluate_all(
            f"(texts, least) => texts.filter({small}).map(t => t.textContent)", least
        )

    def choose(self, name: str, option: str) -> None:
        """In a select box: go there, type, and press Enter."""
        expect(self.answer(name, option)).to_have_value(option)

    def answer(self, name: str, option: str) -> Locator:
        """The same in one that may go away once it is answered."""
        box = self.page.get_by_role("combobox", name=name, exact=True)
        box.scroll_into_view_if_needed()  # scrolling would close the list
        box.click()
        expect(self.page.get_by_role("listbox")).to_be_visible()
        box.fill(option)
        expect(self.page.get_by_role("option", name=option, exact=True)).to_be_visible()
        box.press("Enter")
        return box

    def chosen(self, name: str) -> str:
        """What a select box shows."""
        return self.page.get_by_role("combobox", name=name, exact=True).input_value()

    def pick(self, name: str) -> None:
        """A radio button or a segment of a control."""
        self.page.get_by_role("radio", name=name, exact=True).press("Space")

    def fine_settings(self) -> None:
        fold = self.sidebar.get_by_text("Fine settings")
        fold.click()
        expect(self.page.get_by_role("radio", name="a row exchanged")).to_be_visible()
        fold.hover()  # hovering waits until nothing moves any more

    def tab(self, name: str) -> Locator:
        """Open a tab; its panel, which is empty until the script has run with it open."""
        tab = self.page.get_by_role("tab", name=name, exact=True)
        panel = self.page.get_by_role("tabpanel", name=name, exact=True)
        if tab.get_attribute("aria-selected") != "true":
            tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        expect(panel.locator("[data-testid=stElementContainer]").first).to_be_visible()
        idle(self.page)
        return panel

    def edit(self, row: int, column: int, text: str) -> None:
        """A cell of the public domain: go there with the arrow keys, and type over it."""
        table = self.page.get_by_role("region", name="The public domain")
        cell = table.get_by_test_id(f"glide-cell-{column}-{row}")
        expect(cell).to_be_attached()
        idle(self.page)  # a table that is drawn again while somebody is in it forgets where
        grid, read_only = table.locator(".dvn-scroller"), _GRID_HEADER + _GRID_ROW * row + _GRID_ROW // 2
        inside = table.locator(":focus")
        for _ in range(5):  # a busy table misses a press, and the arrows would go elsewhere
            self.page.mouse.move(1, 1)  # a press counts only where the mouse was seen to come from elsewhere
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
        """Everything that was read from the rows, as it stands, with its source in words."""
        panel = self.everything()
        panel.get_by_label("Where is this known from?").fill(source)
        panel.get_by_role("button", name="These are public").click()
        expect(panel.get_by_text("All of this has a source")).to_be_visible()
        idle(self.page)

    def everything(self) -> Locator:
        """On the Data tab, ask about everything that is left, with the ranges as they stand."""
        panel = self.tab("Data")
        if self.chosen("Now about") != "everything that is left":
            with rerun(self.page):
                self.choose("Now about", "everything that is left")
        as_they_stand = panel.get_by_role("radio", name="as they stand", exact=True)
        if as_they_stand.count() and as_they_stand.get_attribute("aria-checked") != "true":
            with rerun(self.page):
                as_they_stand.click()
        return panel

    def release(self, asks: str = "This draws exact noise once") -> Locator:
        """Press the button and, in the dialog that asks, the one that spends; the dialog with what came of it."""
        self.sidebar.get_by_role("button", name="Release this forest").click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_contain_text(asks)
        dialog.get_by_role("button", name=re.compile("^Release for ε")).click()
        expect(dialog.get_by_role("button", name="Download the forest")).to_be_visible()
        idle(self.page)
        return dialog

    def link(self) -> str:
        """What "Copy link" offers."""
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
        """After what is done in here the figures on top must be others."""
        before = self.headline.inner_text()
        yield
        expect(self.headline).not_to_have_text(before, use_inner_text=True)
        idle(self.page)

    def download(self, name: str, within: Locator | None = None) -> tuple[str, str]:
        """(name, text) of the file behind a button."""
        with self.page.expect_download() as waiting:
            (within or self.page).get_by_role("button", name=name).click()
        return read(waiting.value)

    # Reading it

    def figures(self) -> list[Figure]:
        boxes = self.headline.locator("[data-testid=stColumn]").all()
        blocks = [box.inner_text().replace("\u00a0", " ").splitlines() for box in boxes]
        texts = [[line.strip() for line in lines if line.strip()] for lines in blocks]
        return [Figure(lines[0], lines[1], " ".join(lines[2:])) for lines in texts]

    def curve(self) -> dict[float, float]:
        """ε to accuracy, as drawn."""
        lines = [trace for trace in self.curve_chart.traces() if trace["mode"] == "lines+markers"]
        assert len(lines) == 1
        return dict(zip(lines[0]["x"], lines[0]["y"], strict=True))

    def here(self) -> tuple[float, float]:
        """Where "you are here" stands: ε and accuracy."""
        (point,) = [t for t in self.curve_chart.traces() if t["mode"] == "markers" and len(t["x"]) == 1]
        return point["x"][0], point["y"][0]

    def badge(self, text: str) -> Locator:
        """The first badge that says this."""
        return self.main.locator(".stMarkdownBadge").filter(has_text=re.compile(f"^{re.escape(text)}$")).first

    def reds(self) -> list[str]:
        """All that is red and can be seen: texts, borders, backgrounds, marks in charts."""
        return self.page.evaluate(_REDS)


def read(download: Download) -> tuple[str, str]:
    data = download.path().read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return download.suggested_filename, data.decode("utf-8")


class Chart:
    """A plotly chart, found anew at each look: the page may draw it anew, and keep the old one until it is done."""

    def __init__(self, page: Page, selector: str) -> None:
        self._page = page
        self._selector = f"[data-testid=stElementContainer][data-stale=false]{selector} .js-plotly-plot"

    def traces(self) -> list[dict[str, Any]]:
        """What is drawn: type, mode, x, y, z, text, customdata and colors of each trace."""
        return self._drawing.evaluate(_TRACES)

    def nodes(self) -> list[int]:
        """The tree nodes that are drawn."""
        return [int(c) for trace in self.traces() for c in trace["customdata"]]

    def place(self, node: int) -> tuple[float, float]:
        """Where a node is on the screen."""
        self._drawing.scroll_into_view_if_needed()
        x, y = self._drawing.evaluate(_PLACE, node)
        return x, y

    @property
    def _drawing(self) -> Locator:
        return self._page.locator(self._selector)

    @contextmanager
    def redrawn(self) -> Iterator[None]:
        """After what is done in here it must show something else."""
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

_GRID_HEADER, _GRID_ROW = 35, 35  # pixels, of an editable table

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
