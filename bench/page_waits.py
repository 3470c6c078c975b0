"""Waiting times on the pages, in headless Chromium; a suite of `run.py`, and also a program.

First, a visitor who has seen another table on Explore opens the pages Choose ε and Compare with the table Adult. The
clock starts when the browser requests the page, so the times include loading. The clock stops at the first answer and
when the server has finished; on Choose ε, it also stops when the page shows “Checked:”. Second, the visitor moves a
marker on each page. Third, the visitor uploads a table of 50,000 rows and 60 columns, which this program makes, and
waits for the first curve of each forest. Kernels are already compiled. This program is not part of the tests.
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from app_latency import CHROMIUM, IDLE, URL, app, press
from measure import AT_MOST, FULL, QUICK, Effort, Results, seconds
from playwright.sync_api import Page, sync_playwright

CURVE = "[data-testid=stMain] .js-plotly-plot .scatterlayer path"
DRAWN = f"[...document.querySelectorAll('{CURVE}')].map((path) => path.getAttribute('d')).join('')"
CHOOSE, COMPARE = f"{URL}/Choose_epsilon?data=adult", f"{URL}/Compare?data=adult"
ROWS, COLUMNS = 50_000, 60
RANDOM = ("majority labels", "noisy counts", "RF-L")
FORESTS = (*RANDOM, "boosted", "multinomial", "one greedy tree", "random-tree booster")


def seconds_until(page: Page, selector: str, start: float) -> float:
    """Wait for an element of the page, and return the seconds since `start`."""
    page.wait_for_selector(selector, state="attached", timeout=300_000)
    return time.perf_counter() - start


def time_page(page: Page, results: Results, name: str, url: str, answer: str) -> None:
    """Open a page, and record the seconds to its first answer and until the page is at rest."""
    start = time.perf_counter()
    page.goto(url, wait_until="commit")
    results.add(f"{name}: first answer", seconds_until(page, answer, start))
    page.wait_for_timeout(500)
    results.add(f"{name}: complete", seconds_until(page, IDLE, start))


def visit_explore(page: Page) -> None:
    """Open Explore, wait until it is complete, and stay five seconds, as a visitor does before opening another page."""
    page.goto(URL)
    page.wait_for_selector(CURVE, state="attached", timeout=300_000)
    page.wait_for_selector(IDLE, timeout=300_000)
    page.wait_for_timeout(5_000)


def choose(page: Page, results: Results) -> None:
    """Measure Choose ε on a server that has computed nothing for Adult."""
    visit_explore(page)
    start = time.perf_counter()
    time_page(page, results, "Choose ε", CHOOSE, "text=/^Smallest ε for/")
    results.add("Choose ε: checked", seconds_until(page, "text=Checked:", start))
    for key in ("ArrowRight", "ArrowLeft"):
        results.add("Choose ε: marker", press(page, "at ε", key))


def compare(page: Page, results: Results) -> None:
    """Measure Compare on a server that has computed nothing for Adult."""
    visit_explore(page)
    time_page(page, results, "Compare", COMPARE, CURVE)
    for key in ("ArrowRight", "ArrowLeft"):
        results.add("Compare: marker", press(page, "Privacy budget ε", key))


def large_table(folder: Path) -> Path:
    """Write a table of numbers, whose class depends on two of its columns and on noise."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((ROWS, COLUMNS)).round(4), columns=[f"x{j}" for j in range(COLUMNS)])
    table["class"] = np.where(table["x0"] + table["x1"] > 1 + 0.2 * rng.standard_normal(ROWS), "yes", "no")
    table.to_csv(folder / "large.csv", index=False)
    return folder / "large.csv"


def large(page: Page, results: Results) -> None:
    """Measure the time to the first curve of each kind of forest, after the app has read the uploaded file."""
    page.goto(f"{URL}/?data=upload+a+CSV&forest=JPW")
    with TemporaryDirectory() as folder:
        page.locator("input[type=file]").set_input_files(large_table(Path(folder)))
        page.wait_for_selector(CURVE, state="attached", timeout=300_000)
    for forest in FORESTS:
        page.wait_for_selector(IDLE, timeout=300_000)
        before = page.evaluate(DRAWN)
        box = page.get_by_role("combobox", name="Forest", exact=True)
        box.scroll_into_view_if_needed()  # now, because scrolling closes an open list
        box.click()
        box.fill(forest)
        page.get_by_role("option", name=forest, exact=True).wait_for()
        start = time.perf_counter()
        box.press("Enter")
        page.wait_for_function(f"before => ![before, ''].includes({DRAWN})", arg=before, timeout=300_000)
        results.add(f"{ROWS:,} rows × {COLUMNS}, {forest}", time.perf_counter() - start)


def page_waits(results: Results, folder: Path, effort: Effort) -> None:
    """Run the suite, with a separate server for each page."""
    for work in (choose, compare, large) * (1 if effort is QUICK else 3):
        with app(), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            work(browser.new_page(viewport={"width": 1440, "height": 900}), results)
            browser.close()
    goals = {"Choose ε: first answer": 2, "Choose ε: checked": 10, "Compare: complete": 15}
    goals |= {"Choose ε: marker": 0.5, "Compare: marker": 0.5}
    goals |= {f"{ROWS:,} rows × {COLUMNS}, {forest}": 1 if forest in RANDOM else 2 for forest in FORESTS}
    for name, values in results.samples.items():
        if name.startswith(("Choose", "Compare", f"{ROWS:,}")):
            goal = (AT_MOST, float(goals[name])) if name in goals else None
            detail = f"{len(values)} times, {seconds(min(values))} to {seconds(max(values))}"
            results.figure("17 waits on pages", name, results.median(name), "s", goal, detail)


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        page_waits(Results(), Path(name), QUICK if "--quick" in sys.argv else FULL)
