"""Time from the release of a slider to the new chart, in headless Chromium.

This is a suite of `run.py`, and also a program. It starts the app on port 8598, opens the table Adult with 100 trees,
and presses an arrow key on a slider. The clock starts when the key is released, and stops when the page shows another
curve. A script in the page takes both times. Each move of depth or trees is to a setting that the server has not
computed before. This program is not part of the tests.
"""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from measure import AT_MOST, FULL, QUICK, Effort, Results, seconds
from playwright.sync_api import Page, sync_playwright
from processes import ROOT

PORT = 8598
URL = f"http://127.0.0.1:{PORT}"
CHROMIUM = "/usr/bin/chromium"
IDLE = "[data-testid=stApp][data-test-script-state=notRunning][data-test-connection-state=CONNECTED]"
EPSILON = "Privacy budget ε"

# Script that records when the accuracy curve, the first chart of the page, changes: its lines, or "you are here".
WATCH = """() => {
  const shown = () => {
    const chart = document.querySelector("[data-testid=stMain] .js-plotly-plot");
    if (!chart) return "";
    const paths = [...chart.querySelectorAll(".scatterlayer path, .shapelayer path")];
    const texts = [...chart.querySelectorAll(".annotation-text")].map(t => t.textContent);
    return paths.length ? [...paths.map(p => p.getAttribute("d") + p.getAttribute("transform")), ...texts].join() : "";
  };
  window.latency = {before: shown(), released: null, changed: null};
  const look = () => {
    const current = shown();
    if (latency.released === null || latency.changed !== null || ["", latency.before].includes(current)) return;
    latency.changed = performance.now();
    observer.disconnect();
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
  document.addEventListener("keyup", () => { latency.released = performance.now(); }, {capture: true, once: true});
}"""


@contextmanager
def app() -> Iterator[None]:
    """Run `streamlit run app.py` until the `with` block ends."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(PORT)]
    command += ["--server.address", "127.0.0.1", "--server.headless", "true", "--server.fileWatcherType", "none"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "DPFOREST_DATA_DIR": "off"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise RuntimeError(f"the app did not start; is port {PORT} taken?")
            try:
                urllib.request.urlopen(f"{URL}/_stcore/health", timeout=1)
                break
            except OSError:
                time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def open_page(page: Page, **settings: object) -> None:
    """Open the page with these settings, and wait until the chart is fully refined."""
    page.goto(f"{URL}/?{urlencode({'data': 'adult', 'trees': 100, 'forest': 'majority labels', **settings})}")
    page.wait_for_selector(".js-plotly-plot .scatterlayer path", state="attached", timeout=300_000)
    settle(page)


def settle(page: Page) -> None:
    """Wait until the script has ended, including all refinements."""
    page.wait_for_timeout(400)
    page.wait_for_selector(IDLE, timeout=300_000)
    page.wait_for_timeout(300)


def press(page: Page, slider: str, key: str, *, wait: bool = True) -> float:
    """Press a key on a slider, and return the seconds from the release of the key to the new curve."""
    handle = page.get_by_role("slider", name=slider)
    handle.focus()
    page.evaluate(WATCH)
    handle.press(key)
    page.wait_for_function("latency.changed !== null", timeout=60_000)
    if wait:
        settle(page)
    return page.evaluate("latency.changed - latency.released") / 1000


def move_sliders(page: Page, results: Results, rounds: int) -> None:
    """Time moves of three sliders for two forests: ε back and forth, depth and trees to settings new to the server."""
    open_page(page, eps="0.3")
    press(page, EPSILON, "ArrowRight")
    for i in range(2 * rounds):
        results.add("ε, majority labels", press(page, EPSILON, "ArrowRight" if i % 8 < 4 else "ArrowLeft"))
    for forest in ("majority labels", "noisy counts"):
        for start, relation in ((3, "adding or removing one row"), (2, "a row exchanged")):
            open_page(page, forest=forest, depth=start, neighbors=relation)
            for _ in range((rounds + 1) // 2):  # up to depth 8, because the cap on leaves stops deeper growth
                results.add(f"depth, {forest}", press(page, "Depth", "ArrowRight"))
        for depth in range(5, 5 + rounds):
            open_page(page, forest=forest, depth=depth, trees=75, neighbors="a row exchanged")
            results.add(f"trees 75 to 100, {forest}", press(page, "Trees", "ArrowRight"))


def hurry(page: Page, results: Results, rounds: int) -> None:
    """Time moves of the depth that are made while the server still refines the chart of the last move."""
    open_page(page, depth=2, mode="as published")
    for _ in range(min(rounds, 6)):
        results.add("depth while refining, as published", press(page, "Depth", "ArrowRight", wait=False))


def app_latency(results: Results, folder: Path, effort: Effort) -> None:
    """Run the suite on the table Adult with 100 trees, on a server that has already drawn the page."""
    with app(), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        move_sliders(page, results, effort.rounds)
        hurry(page, results, effort.rounds)
        browser.close()
    for name in [name for name in results.samples if name.startswith(("ε, ", "depth", "trees"))]:
        values = results.samples[name]
        detail = f"{len(values)} moves, {seconds(min(values))} to {seconds(max(values))}"
        goal = (AT_MOST, 0.5 if name.startswith("ε") else 1.0)
        results.figure("9 the app", f"{name}: slider released to new curve", results.median(name), "s", goal, detail)


if __name__ == "__main__":
    app_latency(Results(), Path(), QUICK if "--quick" in sys.argv else FULL)
