"""Figures for papers: SVG and PDF in print colors, drawn by a local Chromium that contacts no other host."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, Literal

import plotly.graph_objects as go
from plotly.io import to_json

from dpforest.plotting.style import NON_PRIVATE, ON_PAGE_ONLY, PRIVATE, escape

INK: Final = "#1B2229"
WIDTH, HEIGHT = 900, 450  # default size in pixels
SECONDS: Final = 40  # time limit of one figure, including the start of its browser
_SIZE: Final = 14  # size of text in pixels
_COLORS: Final = (PRIVATE, NON_PRIVATE, "#009E73", "#CC79A7", "#56B4E9", "#8F6FC4", "#7F8C99")
_MARGIN: Final = 16
_ONE_AT_A_TIME = threading.Lock()  # each figure starts a browser, which needs much memory
_PROCESS: Final = str(Path(__file__).with_name("paper_process.py"))


class PaperError(RuntimeError):
    """Raised if a figure cannot be drawn; the message says what to do."""


def missing() -> str:
    """Return a message that names missing software for drawing figures; empty if nothing is missing."""
    if find_spec("kaleido") is None:
        return (
            "SVG and PDF need the Python package kaleido on the computer that runs this app: "
            "pip install -r requirements.txt."
        )
    if not _browser():
        return (
            "SVG and PDF need Chromium or Chrome on the computer that runs this app: install it (on Debian and Ubuntu: "
            "apt install chromium), or set BROWSER_PATH to where it is."
        )
    return ""


def _browser() -> str | None:
    from choreographer.browsers.chromium import Chromium

    path = os.environ.get("BROWSER_PATH")
    if path:
        return path if os.access(path, os.X_OK) else None
    return Chromium.find_browser(skip_local=False)


def for_print(figure: go.Figure | dict[str, Any], title: str = "") -> dict[str, Any]:
    """Return a copy of a figure for print, as a dict for plotly.

    The copy has dark text on white, and lacks the marks that are only for the page (`ON_PAGE_ONLY`).

    Parameters
    ----------
    figure : Figure or dict
        Figure of a page; it stays unchanged.
    title : str
        Title above the figure on the page. If it reads "A against B", a y-axis without a name gets the name "A".

    >>> for_print(go.Figure(layout={"paper_bgcolor": "black", "font": {"color": "white"}}))["layout"]["paper_bgcolor"]
    'white'
    """
    raw = figure.to_dict() if isinstance(figure, go.Figure) else deepcopy(figure)
    paper = go.Figure(raw, skip_invalid=True)
    paper.data = [trace for trace in paper.data if trace.meta != ON_PAGE_ONLY]
    for kind in ("annotations", "shapes"):
        paper.layout[kind] = [mark for mark in paper.layout[kind] if mark.name != ON_PAGE_ONLY]
    margin = paper.layout.margin
    paper.update_layout(
        template="plotly_white",
        paper_bgcolor="white",
        plot_bgcolor="white",
        colorway=_COLORS,
        font={"color": INK, "size": _SIZE, "family": "Helvetica, Arial, 'Liberation Sans', sans-serif"},
        legend_font={"color": INK, "size": paper.layout.legend.font.size or _SIZE},
        width=paper.layout.width or WIDTH,
        height=paper.layout.height or HEIGHT,
        margin={side: max(margin[side] or 0, _MARGIN) for side in "lrtb"},
    )
    paper.for_each_annotation(lambda words: words.update(font_size=words.font.size or _SIZE))
    for axis in (*paper.select_xaxes(), *paper.select_yaxes()):
        axis.update(tickfont_color=INK, title_font_color=INK, title_font_size=axis.title.font.size or _SIZE)
    measure, separator, _ = title.partition(" against ")
    if separator and not paper.layout.yaxis.title.text:
        paper.update_yaxes(title_text=escape(measure), selector=0)
    return paper.to_dict()


def rendered(figure: go.Figure | dict[str, Any], kind: Literal["svg", "pdf"], title: str = "") -> bytes:
    """Draw a figure for print, and return the content of an SVG or PDF file.

    Parameters
    ----------
    figure : Figure or dict
        Figure to draw by `for_print`; it stays unchanged.
    kind : {"svg", "pdf"}
        Format of the file.
    title : str
        As for `for_print`.

    Raises
    ------
    PaperError
        If kaleido or the browser is missing, if another figure blocks the browser for `SECONDS`, or if the browser
        fails or takes longer than `SECONDS`.
    """
    if why := missing():
        raise PaperError(why)
    spec = for_print(figure, title)
    if not _ONE_AT_A_TIME.acquire(timeout=SECONDS):
        raise PaperError("Other figures are being drawn; try again in a minute.")
    try:
        return _draw(spec, kind)
    except subprocess.TimeoutExpired:
        raise PaperError(f"The figure was not drawn within {SECONDS} seconds; try again.") from None
    finally:
        _ONE_AT_A_TIME.release()


def _draw(spec: dict[str, Any], kind: str) -> bytes:
    """Draw a figure in a separate process. Its browser keeps its files in a new folder, which is removed afterwards."""
    folder = mkdtemp(prefix="dpforest_figure_")
    try:
        process = subprocess.run(
            [sys.executable, "-P", _PROCESS, kind, _browser() or ""],
            input=to_json(spec, validate=False).encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "TMPDIR": folder},
        )
    finally:
        _remove(folder)
    if process.returncode or not process.stdout:
        raise PaperError("The browser on this computer could not draw the figure; try again.")
    return process.stdout


def _remove(folder: str) -> None:
    """Remove a folder. Try again several times, because a browser that is ending may still write into it."""
    for pause in (0, 0.2, 0.5, 1.0, 2.0):
        time.sleep(pause)
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
