"""JavaScript for the head of a page. It runs before Streamlit's scripts, and loads files of the front end early."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import streamlit

FOLDER: Final = Path(streamlit.__file__).parent / "static" / "static" / "js"

# Reason: Streamlit looks for its server below each page's address first, which leaves errors in the browser's console.
# For every moved control, Streamlit adds a step to the browser's history, and it empties the address before it changes
# pages. When Back opens an address, Streamlit drops the settings that the previous page also has. With this script, a
# page is one step of the history, and Back opens a page as the page's link does.
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

# Reason: the front end requests the code of buttons with the first button, and the code of charts, the largest file,
# with the first chart. Each file waits for the previous file.
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

# Reason: Streamlit draws a page piece by piece: first a narrow column, then the sidebar, which moves all else, then
# gray boxes, which are lower than the controls that replace them.
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

# The front end opens its first websocket, requests the page, and waits. During this wait the browser runs the files.
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
    """Return the style and the script that show a page when its first screen is drawn."""
    return _SHOW_WHOLE.replace("$rest", str(REST)).replace("$latest", str(LATEST))


def early_files() -> list[str]:
    """Return the names of the files that draw the elements in `LOADED_EARLY`, without elements that have no file."""
    return [path.name for element in LOADED_EARLY for path in sorted(FOLDER.glob(f"{element}.*.js"))[:1]]


def early_script() -> str:
    """Return the script for the end of a page's head. It runs the early files while the server makes the page."""
    return _LOAD_EARLY.replace("$files", json.dumps([f"./static/js/{name}" for name in early_files()]))
