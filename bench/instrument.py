"""Speed of the instrument (the chart of Explore) while a user drags: `python bench/instrument.py [--quick]`.

The program runs headless Chromium. For each forest on three tables, it drags the sliders of ε, depth and trees over 85
positions, and prints:

- *script*: milliseconds of JavaScript for each drawn frame (goal: 95 % of frames at most 8);
- *frames*: milliseconds between two animation frames during the drag (goal: 95 % at most 33, with software rendering);
- *first picture*: seconds from the address, or from the choice of the forest, to the first curve;
- *complete*: seconds until all lines and flip rates have arrived and the page rests.

The tables are breast_wisconsin, Adult, and an upload of 50,000 rows and 60 columns. Kernels are already compiled. This
program is not part of the tests.
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import numpy as np
from app_latency import CHROMIUM, IDLE, URL, app
from page_waits import large_table
from playwright.sync_api import Page, sync_playwright

MOVES = 85
SLIDERS = ("Privacy budget ε", "Depth", "Trees")
FORESTS = (
    *("majority labels", "noisy counts", "random-tree booster", "boosted", "multinomial", "one greedy tree"),
    *("JPW", "RF-L", "RF-E"),
)
PICTURE = ".instrument .dot"
# Records the time between animation frames until `window.recording` is false.
RECORD = """
window.instrumentFrames = []; window.intervals = []; window.recording = true;
const tick = (now, before) => {
  if (before !== null) window.intervals.push(now - before);
  if (window.recording) requestAnimationFrame((next) => tick(next, now));
};
requestAnimationFrame((now) => tick(now, null));
"""


def drag(page: Page) -> tuple[list[float], list[float]]:
    """Drag each slider that can move. Return script times and intervals between frames, in milliseconds."""
    script, intervals = list[float](), list[float]()
    movable = [name for name in SLIDERS if page.get_by_role("slider", name=name).is_enabled()]
    for name in movable:
        slider = page.get_by_role("slider", name=name)
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        value, maximum = (float(slider.evaluate(f"slider => slider.{attribute}")) for attribute in ("value", "max"))
        page.mouse.move(box["x"] + 8 + value / maximum * (box["width"] - 16), middle)
        page.mouse.down()
        page.evaluate(RECORD)
        for move in range(MOVES // len(movable) + 1):
            share = abs(move / 10 % 2 - 1)  # position on the slider, which moves from one end to the other and back
            page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), middle)
        page.evaluate("window.recording = false")
        script += page.evaluate("window.instrumentFrames")
        intervals += page.evaluate("window.intervals")
        page.mouse.move(box["x"] + 8 + value / maximum * (box["width"] - 16), middle)  # back to the value of the start
        page.mouse.up()
    return script, intervals


def report(name: str, page: Page, start: float) -> None:
    """Print a line of measurements of a page that the program opened at the time `start`."""
    page.wait_for_selector(PICTURE, timeout=300_000)
    first = time.perf_counter() - start
    page.wait_for_timeout(500)
    page.wait_for_selector(IDLE, timeout=300_000)
    complete = time.perf_counter() - start
    script, intervals = drag(page)
    columns = [f"{np.median(v):5.1f} {np.percentile(v, 95):5.1f} {max(v):6.1f}" for v in (script, intervals)]
    print(f"{name:40} {len(script):4} {columns[0]}   {columns[1]}   {first:6.2f} {complete:6.1f}", flush=True)


def main() -> None:
    forests = FORESTS[:1] if "--quick" in sys.argv else FORESTS
    print(f"{'':40} {'n':>4} {'script: median 95 % most':>19}   {'frames: median 95 % most':>19}    first complete")
    with app(), sync_playwright() as playwright, TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for table in ("breast_wisconsin", "adult"):
            for forest in forests:
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                start = time.perf_counter()
                page.goto(f"{URL}/?{urlencode({'data': table, 'forest': forest})}", wait_until="commit")
                report(f"{table}, {forest}", page, start)
                page.close()
        for forest in forests:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{URL}/?{urlencode({'data': 'upload a CSV', 'forest': forest})}")
            page.wait_for_selector(IDLE, timeout=300_000)
            page.locator("input[type=file]").set_input_files(large_table(Path(folder)))
            report(f"50,000 × 60, {forest}", page, time.perf_counter())
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
