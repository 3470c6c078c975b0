"""JavaScript for the head of a page. It corrects Streamlit's history and addresses, and loads its files early."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import streamlit

FOLDER: Final = Path(streamlit.__file__).parent / "static" / "static" / "js"

# Reason: Streamlit first looks for its server below each page's address, which leaves errors in the browser's console.
# For every moved control, Streamlit adds a step to the browser's history. Before it changes pages, it removes the
# settings from the address. When the button Back opens an address, Streamlit drops the settings that the previous
# address also has. With this script, a page is one step of the history, and Back opens a page in the same way as a
# click on its link.
# Gain: no errors in the console (without the script, two for each page), and Back leads to the previous page.
# Test: `test_the_front_end_knows_what_the_first_script_sets`, and tests/browser/test_links.py with a browser
_FIRST: Final = """<script>
(() => {
  const base = location.origin + $path;
  window.__streamlit = {BACKEND_BASE_URL: base};
  const push = history.pushState.bind(history);
  let before = new URL(location.href);
  for (const kind of ["click", "keydown"])
    addEventListener(kind, () => { before = new URL(location.href); }, true);
  history.pushState = (state, title, url) => {
    if (new URL(url ?? location.href, location.href).pathname === location.pathname)
      return history.replaceState(state, title, url);
    if (before.pathname === location.pathname) history.replaceState(state, title, before);
    return push(state, title, url);
  };
  addEventListener("popstate", (event) => {
    const path = (link) => new URL(link.getAttribute("href"), base + "/").pathname;
    const links = [...document.querySelectorAll("[data-testid=stSidebar] a[data-testid=stPageLink-NavLink]")];
    const there = links.find((link) => path(link) === location.pathname);
    if (!there) return;
    event.stopImmediatePropagation();
    history.replaceState({}, "", location.pathname);
    there.click();
  }, true);
})();
</script>"""

# Reason: Streamlit's front end requests the code of buttons when it draws the first button, and the code of charts, the
# largest file, when it draws the first chart. It requests each file only after the previous one.
# Gain: a second visitor has the first chart after 9.7 s, not 14.0 s (`chart` of the benchmark, medians of 5 pairs, less
# in 4; a very busy machine).
# Test: `test_the_front_end_has_a_file_for_each_element_that_is_loaded_early`
LOADED_EARLY: Final = (
    "Html",
    "PageLink",
    "Checkbox",
    "Selectbox",
    "Radio",
    "Slider",
    "Button",
    "NumberInput",
    "ButtonGroup",
    "DownloadButton",
    "Progress",
    "PlotlyChart",  # last, because it is the largest
)

# Reason: Streamlit draws a page piece by piece. First it draws a narrow column, then the sidebar, which moves all other
# parts, and then gray boxes, which are lower than the controls that replace them.
# Gain: a page appears as a whole. At 1440×900 the layout shift of the nine pages was 0.26 to 0.87; with this script and
# with the styles in the page, it is at most 0.05 (`bench/layout.py`).
# Test: `test_the_front_end_has_each_part_that_the_last_script_names`, and tests/browser/test_layout.py with a browser
_SHOW_WHOLE: Final = """<style>html:not([data-whole]) [data-testid=stApp] * {visibility: hidden !important}</style>
<script>
(() => {
  let before = "", since = 0;
  const look = (now) => {
    const main = document.querySelector("[data-testid=stMainBlockContainer]");
    const parts = main ? main.querySelectorAll("[data-testid=stElementContainer]").length : 0;
    const skeletons = [...document.querySelectorAll("[data-testid=stSkeleton]")];
    const drawn = `${parts} ${skeletons.length} ${main?.offsetWidth}`;
    if (drawn !== before) [before, since] = [drawn, now];
    const isWhole = parts > 2 && document.querySelector("[data-testid=stSidebar]")
      && !skeletons.some((box) => box.getBoundingClientRect().top < innerHeight) && now - since > $rest;
    if (isWhole || now > $latest) document.documentElement.dataset.whole = "";
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
</script>"""
REST: Final = 120  # milliseconds without a new part, after which a page counts as drawn
LATEST: Final = 6_000  # milliseconds after which a page is shown in any case

# The front end opens its first websocket, requests the page, and waits. The script uses this wait to run the files of
# `LOADED_EARLY`: it replaces the browser's class `WebSocket` until the first websocket is open.
_LOAD_EARLY: Final = """<script>
(() => {
  const Socket = window.WebSocket;
  const run = () => { for (const file of $files) import(new URL(file, document.baseURI).href); };
  window.WebSocket = class extends Socket {
    constructor(...given) {
      super(...given);
      window.WebSocket = Socket;
      this.addEventListener("open", () => setTimeout(run), {once: true});
    }
  };
})();
</script>"""


def first_script(base_path: str) -> str:
    """Return the script for the start of a page's head.

    Parameters
    ----------
    base_path : str
        `server.baseUrlPath`, with or without slashes around it.
    """
    path = base_path.strip("/")
    return _FIRST.replace("$path", json.dumps(f"/{path}" if path else ""))


def show_whole_script() -> str:
    """Return a style that hides a page, and a script that shows it when all parts on the first screen are drawn."""
    return _SHOW_WHOLE.replace("$rest", str(REST)).replace("$latest", str(LATEST))


def early_files() -> list[str]:
    """Return the names of the files of the elements in `LOADED_EARLY`; an element without a file is left out."""
    return [path.name for element in LOADED_EARLY for path in sorted(FOLDER.glob(f"{element}.*.js"))[:1]]


def early_script() -> str:
    """Return the script for the end of a page's head that runs `early_files` while the server makes the page."""
    return _LOAD_EARLY.replace("$files", json.dumps([f"./static/js/{name}" for name in early_files()]))
