"""The scripts of common page elements. A page requests all of them together and runs them early.

Without this module, Streamlit's front end would request the code of buttons when it draws the first button, and the
code of charts, the largest file, when it draws the first chart. It would request each file only after the previous one.
The server keeps the scripts in memory. Reading them from the disk would be slow while the server imports modules,
because each read waits several times for Python's global interpreter lock.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.server.streamlit_patches import scripts

_IMPORTED: Final = re.compile(rb'(?:\bfrom|\bimport)"\./([\w.-]+\.js)"')
_HEAD: Final = 20_000  # number of bytes at the start of a script; they contain all of its imports
# Streamlit sends the same header. A script never changes, because the name of its file contains a hash.
_HEADERS: Final = {"cache-control": "public, immutable, max-age=31536000"}


class FrontEnd:
    """Middleware that serves the scripts that `files` returns from memory."""

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
    """Return the tags for a page's head: links to `files`, a script that runs them early, and one that shows the page.

    The last script shows the page only when it is drawn as a whole (`scripts.show_whole_script`).
    """
    links = "".join(f'<link rel="modulepreload" crossorigin href="./static/js/{name}" />' for name in files())
    return links + scripts.early_script() + scripts.show_whole_script()


@cache
def files() -> dict[str, bytes]:
    """Return the scripts of the elements in `scripts.LOADED_EARLY`, and all scripts that they import, by name."""
    contents: dict[str, bytes] = {}
    todo = scripts.early_files()
    while todo:
        name = todo.pop()
        if name not in contents and (scripts.FOLDER / name).is_file():
            contents[name] = (scripts.FOLDER / name).read_bytes()
            todo += [imported.decode() for imported in _IMPORTED.findall(contents[name][:_HEAD])]
    return contents
