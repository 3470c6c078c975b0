"""A server of the app, and a headless Chromium, for the scripts that take pictures."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
RESTING = "[data-testid=stApp][data-test-script-state=notRunning][data-test-connection-state=CONNECTED]"


@contextlib.contextmanager
def serve(url: str | None = None) -> Iterator[str]:
    """Run the app on a free port and yield its address. With `url`, use an app that is already running."""
    if url:
        yield url
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    options = ["--server.address", "127.0.0.1", "--server.headless", "true", "--server.fileWatcherType", "none"]
    process = subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        env={**os.environ, "DPFOREST_DATA_DIR": "off"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _wait(url: str, seconds: float = 60) -> None:
    end = monotonic() + seconds
    while monotonic() < end:
        with contextlib.suppress(OSError):
            if urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).read() == b"ok":
                return
        sleep(0.2)
    raise TimeoutError(f"the app did not start within {seconds:g} seconds")


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """Run headless Chromium: the installed one, or playwright's if none is installed."""
    system = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=system) if system else playwright.chromium.launch()
        try:
            yield browser
        finally:
            browser.close()


def idle(page: Page, seconds: float = 120) -> None:
    """Wait until the script of the app has ended and the page is drawn."""
    page.wait_for_timeout(250)
    page.wait_for_selector(RESTING, timeout=1000 * seconds)
    page.wait_for_timeout(250)
    page.wait_for_selector(RESTING, timeout=1000 * seconds)
