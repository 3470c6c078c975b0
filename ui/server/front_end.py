"""The scripts that draw what every page needs: asked for at once, run while the first page is made, sent from memory.

Streamlit's front end asks for the code of a button when the first button comes, and for that of charts, the largest of
all, when a chart does; each file waits for the one before. Where the server answers while it imports the engine, each
answer that is read from a file waits for Python's lock several times.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Final

import streamlit
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_FOLDER: Final = Path(streamlit.__file__).parent / "static" / "static" / "js"
# As their files begin, the largest last; what this version of Streamlit does not have is left out.
_DRAWN: Final = (
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
    "PlotlyChart",
)
_IMPORTED: Final = re.compile(rb'(?:\bfrom|\bimport)"\./([\w.-]+\.js)"')
_HEAD: Final = 20_000  # bytes of a file in which its imports stand
_HEADERS: Final = {"cache-control": "public, immutable, max-age=31536000"}  # as Streamlit's own: names tell versions

# The first socket is Streamlit's own; once it is open the page is asked for, and the browser waits.
_RUN: Final = """<script>
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


class FrontEnd:
    """Answers for these files by itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        content = None
        if scope["type"] == "http" and scope["method"] == "GET":
            folder, _, name = scope["path"].rpartition("/")
            content = files().get(name) if folder.endswith("static/js") else None
        if content is None:
            await self._app(scope, receive, send)
            return
        await Response(content, media_type="text/javascript", headers=_HEADERS)(scope, receive, send)


@cache
def tags() -> str:
    """For the head of a page: links to these files, and a script that runs them while the server makes the page."""
    links = "".join(f'<link rel="modulepreload" crossorigin href="./static/js/{name}" />' for name in files())
    return links + _RUN.replace("$files", json.dumps([f"./static/js/{name}" for name in _first()]))


@cache
def files() -> dict[str, bytes]:
    """What draws the elements of a page, and all that it imports, by name."""
    found: dict[str, bytes] = {}
    todo = _first()
    while todo:
        name = todo.pop()
        if name not in found and (_FOLDER / name).is_file():
            found[name] = (_FOLDER / name).read_bytes()
            todo += [imported.decode() for imported in _IMPORTED.findall(found[name][:_HEAD])]
    return found


def _first() -> list[str]:
    return [path.name for begin in _DRAWN for path in sorted(_FOLDER.glob(f"{begin}.*.js"))[:1]]
