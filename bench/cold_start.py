"""Time from the command that starts the app to the first chart in a browser, with no code compiled before.

This is a suite of `run.py`, and also a program. Each round copies the project without the files that Python and numba
have compiled. It starts the app in the copy, and opens the app in a running Chromium once the port answers. The round
then starts the app in the same copy again (a warm restart), and opens it for a second visitor. The program measures
when the port answers, when the page requests its first run, and when the curve is drawn. This program is not part of
the tests.
"""

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import AT_MOST, FULL, QUICK, Effort, Results, seconds
from playwright.sync_api import Browser, sync_playwright
from processes import ROOT

PORT = 8596
URL = f"http://127.0.0.1:{PORT}"
CHROMIUM = "/usr/bin/chromium"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
CURVE = "[data-testid=stMain] .js-plotly-plot .scatterlayer path"


def copy_of_project(folder: Path) -> Path:
    """Copy all files that git tracks or would track. Git ignores compiled code, so the copy has none."""
    files = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(files, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@contextmanager
def app(folder: Path) -> Iterator[float]:
    """Run `streamlit run app.py` in a folder. Once the port answers, yield the time at which the command started."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(PORT)]
    command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["DPFOREST_DATA_DIR"] = "off"
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while True:
            if process.poll() is not None:
                raise RuntimeError(f"the app did not start; is port {PORT} taken?")
            try:
                urllib.request.urlopen(f"{URL}/_stcore/health", timeout=1)
                break
            except OSError:
                time.sleep(0.02)
        yield start
    finally:
        process.terminate()
        process.wait()


def first_chart(browser: Browser, start: float) -> dict[str, float]:
    """Return the seconds from `start` until the port answers, the page runs, and its curve is drawn."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    times = {"port": time.perf_counter() - start}
    page.goto(URL, wait_until="commit")
    page.wait_for_selector("[data-testid=stApp]", state="attached", timeout=120_000)
    times["app"] = time.perf_counter() - start
    page.wait_for_selector(CURVE, state="attached", timeout=120_000)
    times["curve"] = time.perf_counter() - start
    page.close()
    return times


def cold_start(results: Results, folder: Path, effort: Effort) -> None:
    """Run the suite: a cold start, a warm start, and a second visitor."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        for _ in range(max(effort.slow_rounds, 3)):
            with TemporaryDirectory() as name:
                copy = copy_of_project(Path(name))
                for state in ("cold", "warm"):
                    with app(copy) as start:
                        for milestone, value in first_chart(browser, start).items():
                            results.add(f"{state} start, {milestone}", value)
                        if state == "warm":
                            visit = first_chart(browser, time.perf_counter())
                            results.add("second visitor, curve", visit["curve"])
        browser.close()
    for state, goal in (("cold start", (AT_MOST, 5.0)), ("warm start", None), ("second visitor", None)):
        values = results.samples[f"{state}, curve"]
        milestones = [milestone for milestone in ("port", "app") if f"{state}, {milestone}" in results.samples]
        detail = "".join(
            f"{milestone} after {seconds(results.median(f'{state}, {milestone}'))}, " for milestone in milestones
        )
        detail += f"{len(values)} rounds, {seconds(min(values))} to {seconds(max(values))}"
        results.figure(
            "16 first chart", f"{state}: to the first chart", results.median(f"{state}, curve"), "s", goal, detail
        )


if __name__ == "__main__":
    cold_start(Results(), Path(), QUICK if "--quick" in sys.argv else FULL)
