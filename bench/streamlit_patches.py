"""Measure the gain of each patch of Streamlit: `python bench/streamlit_patches.py [PATCH ...] [--pairs 5]`.

Each pair starts the app twice, once with the patch and once without it. The order alternates, so that other load on the
machine affects both starts equally. There are four measures. Each patch has the measure that shows its gain:

- *answers*: seconds for 100 small files over one connection;
- *reruns*: `--sessions` sessions move ε on Explore for `--seconds` seconds. Each session moves again once it has new
  figures. The results are the median seconds from a move to its figures, and the server's processor seconds for a move;
- *garbage*: processor seconds of a full garbage collection when all kernels are compiled;
- *chart*: seconds from the address to the first chart in a new Chromium, on a server that has drawn the page before.

This program is not part of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import numpy as np
import psutil
from app_latency import CHROMIUM
from playwright.sync_api import sync_playwright
from processes import ROOT, environment
from streamlit_client import Tab

PATCHES = "ui.server.streamlit_patches"
# For each patch, code that turns the patch off before the server starts, and the measure that shows the gain.
OFF = {
    "send_without_delay": ("process.send_without_delay = lambda: 0", "answers"),
    "read_options_without_lock": ("process.read_options_without_lock = lambda: None", "reruns"),
    "switch_threads_often": ("process.switch_threads_often = lambda: None", "reruns"),
    "freeze_modules": ("", "garbage"),
    "UncheckedFigure": ("internals.UncheckedFigure = lambda figure: figure", "reruns"),
    "LOADED_EARLY": ("scripts.LOADED_EARLY = ()", "chart"),
}
GARBAGE = """
import gc, time
import ui.explore.page
from ui.jobs.warm_up import steps
from ui.server.streamlit_patches import process
gc.collect()
if {freeze}: process.freeze_modules()
for step in steps().values(): step()
gc.collect()
before = time.thread_time(); gc.collect(); print(time.thread_time() - before)
"""
CURVE = "[data-testid=stMain] .js-plotly-plot .scatterlayer path"
START = """
import sys
from {patches} import internals, process, scripts
sys.argv = ["streamlit", "run", "app.py", "--server.port", "{port}", "--server.address", "127.0.0.1",
            "--server.headless", "true", "--server.fileWatcherType", "none"]
{off}
from streamlit.web import cli
cli.main()
"""


@contextmanager
def app(port: int, off: str) -> Iterator[tuple[str, psutil.Process]]:
    """Run the app until the `with` block ends; the code `off` turns a patch off. Yield the address and the process."""
    code = START.format(patches=PATCHES, port=port, off=off)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL) as run:
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                if run.poll() is not None:
                    raise RuntimeError(f"the app did not start; is port {port} taken?")
                with suppress(OSError):
                    urllib.request.urlopen(f"{url}/_stcore/health", timeout=1)
                    break
                time.sleep(0.1)
            yield url, psutil.Process(run.pid)
        finally:
            run.terminate()


def answers(url: str, n: int = 100) -> dict[str, float]:
    """Return the seconds for n small files over one connection, as a browser requests them."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    start = time.perf_counter()
    for _ in range(n):
        connection.request("GET", "/favicon.png")
        connection.getresponse().read()
    return {f"seconds for {n} answers": time.perf_counter() - start}


async def reruns(url: str, server: psutil.Process, sessions: int, seconds: float) -> dict[str, float]:
    """Return the measures of reruns. The clock starts when each session has drawn its page and kernels are compiled."""
    tabs = [Tab(url, data="adult", forest="majority labels") for _ in range(sessions)]
    for tab in tabs:
        await tab.open()
        await tab.until("first_chart", 300)
    await tabs[0].until("ended", 300)
    waits: list[float] = []
    until = time.monotonic() + seconds

    async def play(tab: Tab, number: int) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < until and not tab.dropped:
            run = await tab.move("Privacy budget ε", int(rng.choice((-2, -1, 1, 2))))
            await tab.until("first_chart", 120)
            if run.first_chart is not None:
                waits.append(run.first_chart - run.sent)

    before = sum(server.cpu_times()[:2])
    await asyncio.gather(*(play(tab, number) for number, tab in enumerate(tabs)))
    cpu_seconds = sum(server.cpu_times()[:2]) - before
    for tab in tabs:
        await tab.close()
    return {
        "median seconds to the figures": float(np.median(waits)),
        "95th percentile": float(np.quantile(waits, 0.95)),
        "processor seconds a move": cpu_seconds / len(waits),
    }


def garbage(freeze: bool) -> dict[str, float]:
    """Return the processor seconds of a garbage collection, with frozen objects if `freeze` is True."""
    code = GARBAGE.format(freeze=freeze)
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, check=True)
    return {"processor seconds for a collection": float(process.stdout.split()[-1])}


def chart(url: str) -> dict[str, float]:
    """Open the app for two visitors with empty caches. Return the seconds to the first chart of the second visitor."""
    with sync_playwright() as playwright:
        for _ in range(2):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--disable-gpu"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            start = time.perf_counter()
            page.goto(url, wait_until="commit")
            page.wait_for_selector(CURVE, state="attached", timeout=120_000)
            waited = time.perf_counter() - start
            page.wait_for_timeout(5000)
            browser.close()
    return {"seconds to the first chart": waited}


def measure(arguments: argparse.Namespace, name: str, side: str) -> dict[str, float]:
    """Return the measures of the app "with" or "without" a patch (`side`)."""
    off, measure_name = OFF[name]
    if measure_name == "garbage":
        return garbage(side == "with")
    with app(arguments.port, off if side == "without" else "") as (url, server):
        if measure_name == "answers":
            return answers(url)
        if measure_name == "chart":
            return chart(url)
        return asyncio.run(reruns(url, server, arguments.sessions, arguments.seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patches", nargs="*", choices=[[], *OFF], help="patches to measure; all by default")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--port", type=int, default=8596)
    arguments = parser.parse_args()
    for name in arguments.patches or OFF:
        results: dict[str, list[dict[str, float]]] = {"without": [], "with": []}
        for pair in range(arguments.pairs):
            for side in ("without", "with") if pair % 2 == 0 else ("with", "without"):
                results[side].append(measure(arguments, name, side))
        print(name)
        for key in results["with"][0]:
            values = {side: np.array([measures[key] for measures in results[side]]) for side in results}
            better = int(np.sum(values["with"] < values["without"]))
            print(
                f"  {key}: {np.median(values['without']):.3g} without, {np.median(values['with']):.3g} with, "
                f"less in {better} of {arguments.pairs} pairs",
                flush=True,
            )


if __name__ == "__main__":
    main()
