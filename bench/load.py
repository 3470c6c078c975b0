"""Time of reruns for many users at once: `python bench/load.py [--sessions 30] [--every 10] [--minutes 30]
[--page Audit] [--uploads 10] [--megabytes 20] [--hostile] [--log FILE]`.

The program starts the app in a process and opens it in many sessions. Each session has a separate websocket, and sends
the same messages as Streamlit's front end. Each session moves one control at a fixed interval: on Explore mostly ε,
depth or trees, and sometimes forest or label. The program measures two times:

- *rerun*: from sending the move until the new figures and their chart arrive; this is the time that a person waits;
- *finished*: from sending the move until the script ends, with all refinements. A new move interrupts a run that has
  not ended, so this time is known only for some runs. The report states for how many.

If the figures of a session have not arrived when its next move is due, the session waits for them and moves late. The
report counts late moves. The sessions run on the same machine as the server, so the report states which share of the
processors' time the sessions take. This program is not part of the tests.

With `--hostile`, every session adds to each move a choice that no select box of the page offers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
from processes import ROOT
from streamlit_client import Run, Tab

TIMEOUT = 120  # seconds until a session counts as lost
WARM_UP = 0.2  # first part of the run, as a share of its time, in which growth of memory does not count
GOAL = 1.0  # seconds, for the median rerun

# Tables and forests of the sessions. About half of them have Adult and the default forest. Some have a forest that the
# app must fit separately for each ε.
PEOPLE = (
    *[("adult", "majority labels")] * 6,
    ("mushroom", "majority labels"),
    ("adult", "boosted"),
    *[("adult", "noisy counts")] * 2,
    ("magic", "majority labels"),
    ("magic", "multinomial"),
    *[("adult", "majority labels")] * 5,
    ("nursery", "noisy counts"),
    ("adult", "one greedy tree"),
    *[("adult", "noisy counts")] * 2,
    ("pendigits", "majority labels"),
    ("cmc", "boosted"),
    ("adult", "multinomial"),
    *[("adult", "majority labels")] * 3,
    ("car", "RF-L"),
    ("adult", "JPW"),
    ("wdbc", "one greedy tree"),
)
SLIDERS = {"Privacy budget ε": 9, "Depth": 5, "Trees": 4}  # the numbers are relative frequencies of moves
DETOURS = ("Forest", "Label")  # one move in ten changes one of these controls; a later move changes it back


@dataclass
class Totals:
    """Reruns, errors and memory of all sessions."""

    reruns: dict[str, list[float]] = field(default_factory=dict)  # by control: seconds from each move to new figures
    finished: list[float] = field(default_factory=list)
    late: int = 0  # moves that had to wait for the figures of the last move
    lost: int = 0  # moves without new figures within `TIMEOUT`
    dropped: int = 0  # connections that the server closed
    errors: Counter = field(default_factory=Counter)
    memory: list[tuple[float, float]] = field(default_factory=list)  # (seconds, MB)

    def add(self, control: str, run: Run) -> None:
        """Add the times and errors of the run that a move of this control has started."""
        self.errors.update(run.errors)
        if run.first_chart is None:
            self.lost += 1
        else:
            self.reruns.setdefault(control, []).append(run.first_chart - run.sent)
        if run.ended is not None:
            self.finished.append(run.ended - run.sent)


class Person:
    """One simulated user with one session."""

    def __init__(self, number: int, url: str, page: str, hostile: bool, file: bytes = b"") -> None:
        data, forest = PEOPLE[number % len(PEOPLE)]
        self._file, data = file, "upload a CSV" if file else data
        self._rng = random.Random(number)
        self._tab = Tab(url, page, hostile=hostile) if page else Tab(url, hostile=hostile, data=data, forest=forest)
        self._detour: str | None = None  # control of `DETOURS` that a later move must change back

    async def play(self, every: float, until: float, totals: Totals) -> None:
        """Open the page, and move a control every `every` seconds until the time `until`."""
        tab = self._tab
        await asyncio.sleep(self._rng.uniform(0, every))
        await tab.open()
        control, run, due = "opening the page", tab.run, time.monotonic() + every
        if self._file:
            await tab.until("ended", TIMEOUT)
            control, run = "uploading", await tab.upload("rows.csv", self._file)
        while True:
            await tab.until("first_chart", TIMEOUT)
            totals.late += time.monotonic() > due + 0.1
            await asyncio.sleep(max(due - time.monotonic(), 0))
            totals.add(control, run)
            if tab.dropped or time.monotonic() > until:
                break
            due = max(due, time.monotonic()) + every
            control, steps = self._next()
            run = await tab.move(control, steps)
        totals.dropped += tab.dropped
        await tab.close()

    def _next(self) -> tuple[str, int]:
        """Return the next control and its number of steps."""
        rng, widgets = self._rng, self._tab.widgets
        if self._detour is not None and rng.random() < 0.3:
            control, self._detour = self._detour, None
            return control, -1
        detours = [d for d in DETOURS if d in widgets and self._detour is None]
        if detours and rng.random() < 0.1:
            self._detour = rng.choice(detours)
            return self._detour, 1
        sliders = {s: SLIDERS.get(s, 5) for s, (_, kind) in widgets.items() if kind == "slider"}
        return rng.choices(list(sliders), list(sliders.values()))[0], rng.choice((-2, -1, 1, 2))


async def watch(server: psutil.Process, until: float, totals: Totals, verbose: bool) -> None:
    """Record the server's memory every ten seconds, and print it if `verbose`."""
    start = time.monotonic()
    while time.monotonic() < until:
        totals.memory.append((time.monotonic() - start, server.memory_info().rss / 2**20))
        if verbose:
            reruns = [s for seconds in totals.reruns.values() for s in seconds]
            median_text = f", median rerun {np.median(reruns):.2f} s of {len(reruns)}" if reruns else ""
            print(f"  {totals.memory[-1][0]:6.0f} s  {totals.memory[-1][1]:6.0f} MB{median_text}", flush=True)
        await asyncio.sleep(10)


def table_of(megabytes: int) -> bytes:
    """Return a CSV of this size with eight columns and a label."""
    rng = np.random.default_rng(0)
    n = megabytes * 2**20 // 48
    numbers, words = rng.normal(50, 15, (n, 5)).round(2), rng.choice(["red", "green", "blue"], (n, 3))
    ill = np.where(numbers[:, 0] + rng.normal(0, 10, n) > 50, "yes", "no")
    lines = [",".join([*map(str, row), *word, label]) for row, word, label in zip(numbers, words, ill, strict=True)]
    return "\n".join(["a,b,c,d,e,f,g,h,ill", *lines]).encode()


@contextmanager
def app(port: int) -> Iterator[tuple[str, psutil.Process, tempfile._TemporaryFileWrapper]]:
    """Run `streamlit run app.py` until the block ends. Yield its address, its process and its log."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1", "--server.headless", "true", "--server.fileWatcherType", "none"]
    url = f"http://127.0.0.1:{port}"
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "DPFOREST_DATA_DIR": "off"}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            for _ in range(600):
                if process.poll() is not None:
                    raise RuntimeError(f"the app did not start; is port {port} taken?")
                with suppress(OSError):
                    urllib.request.urlopen(f"{url}/_stcore/health", timeout=1)
                    break
                time.sleep(0.1)
            yield url, psutil.Process(process.pid), log
        finally:
            process.terminate()
            process.wait()


async def load(url: str, server: psutil.Process, arguments: argparse.Namespace) -> Totals:
    """Run all sessions, and return the measurements."""
    totals = Totals()
    first_tab = Tab(url)  # its first run compiles all kernels that are not compiled yet
    await first_tab.open()
    await first_tab.until("first_chart", 600)
    await first_tab.close()
    server.cpu_percent()
    until = time.monotonic() + 60 * arguments.minutes
    file = table_of(arguments.megabytes) if arguments.uploads else b""
    people = [
        Person(i, url, arguments.page, arguments.hostile, file if i < arguments.uploads else b"")
        for i in range(arguments.sessions)
    ]
    await asyncio.gather(
        watch(server, until, totals, arguments.verbose), *(p.play(arguments.every, until, totals) for p in people)
    )
    return totals


def report(totals: Totals, cpu: dict[str, float], tracebacks: int) -> bool:
    """Print the measurements. Return whether they meet the goals."""
    moves = {control: s for control, s in totals.reruns.items() if control not in ("opening the page", "uploading")}
    reruns = [s for seconds in moves.values() for s in seconds]
    for control, seconds in sorted(totals.reruns.items(), key=lambda item: -len(item[1])):
        print(f"  {control:20} {_spread(seconds)}")
    print(f"rerun, move sent to new figures: {_spread(reruns)}")
    print(f"finished, move sent to the end of the script: {_spread(totals.finished)}; the next move ended the others")
    n_errors = sum(totals.errors.values()) + tracebacks
    print(f"later than the next move {totals.late}, never answered {totals.lost}, connections dropped {totals.dropped}")
    print(f"exceptions on pages {sum(totals.errors.values())}, tracebacks in the log {tracebacks}")
    for error, n in totals.errors.most_common(5):
        print(f"  {n} times {error[:200]}")
    growth, per_minute = slope(totals.memory)
    print(
        f"memory {totals.memory[0][1]:.0f} MB at first, {totals.memory[-1][1]:.0f} MB at the end, most "
        f"{max(mb for _, mb in totals.memory):.0f} MB; after warm-up {growth:+.0f} MB, {per_minute:+.2f} MB a minute"
    )
    thirds = np.array_split([mb for _, mb in totals.memory], 3)
    print("median memory in each third of the time: " + ", ".join(f"{np.median(third):.0f} MB" for third in thirds))
    print("processors in use: " + ", ".join(f"{name} {share:.2f}" for name, share in cpu.items()))
    return bool(np.median(reruns) < GOAL and not (n_errors or totals.lost or totals.dropped))


def slope(memory: list[tuple[float, float]]) -> tuple[float, float]:
    """Fit a line to the memory after the warm-up. Return the line's growth in MB until the end, and per minute."""
    later = np.array([m for m in memory if m[0] >= WARM_UP * memory[-1][0]])
    if len(later) < 3:
        return np.nan, np.nan
    per_second = float(np.polyfit(later[:, 0], later[:, 1], 1)[0])
    return per_second * (later[-1, 0] - later[0, 0]), 60 * per_second


def _spread(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    middle, high, top = np.quantile(seconds, [0.5, 0.95, 1])
    return f"median {middle:.2f} s, p95 {high:.2f} s, longest {top:.2f} s, n = {len(seconds)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two moves of one session")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--page", default="", help="page as in its address, such as Audit; Explore if empty")
    parser.add_argument("--port", type=int, default=8597)
    parser.add_argument("--uploads", type=int, default=0, help="number of sessions that upload a table")
    parser.add_argument("--megabytes", type=int, default=20, help="size of each uploaded table")
    parser.add_argument("--hostile", action="store_true", help="also send choices that are not offered")
    parser.add_argument("--log", default="", help="file for the server's output")
    parser.add_argument("--verbose", action="store_true", help="print memory and median every ten seconds")
    arguments = parser.parse_args()
    with app(arguments.port) as (url, server, log):
        start, cpu_start = time.monotonic(), time.process_time()
        totals = asyncio.run(load(url, server, arguments))
        seconds = time.monotonic() - start
        cpu = {"app": server.cpu_percent() / 100, "these sessions": (time.process_time() - cpu_start) / seconds}
        log.flush()
        with open(log.name, errors="replace") as text:
            log_text = text.read()
        tracebacks = log_text.split("Traceback (most recent call last)")[1:]
        if arguments.log:
            Path(arguments.log).write_text(log_text, encoding="utf-8")
    print(f"{arguments.sessions} sessions, a move every {arguments.every:g} s each, {seconds / 60:.1f} minutes")
    met = report(totals, cpu, len(tracebacks))
    if tracebacks:
        print(f"the last traceback:{tracebacks[-1]}")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
