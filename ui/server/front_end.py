"""The scripts that draw what every page needs: asked for at once, run while the first page is made, sent from memory.

Streamlit's front end asks for the code of a button when the first button comes, and for that of charts, the largest of
all, when a chart does; each file waits for the one before. Where the server answers while it imports the engine, each
answer that is read from a file waits for Python's lock several times.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.server.streamlit_patches import scripts

_IMPORTED: Final = re.compile(rb'(?:\bfrom|\bimport)"\./([\w.-]+\.js)"')
_HEAD: Final = 20_000  # bytes of a file in which its imports stand
_HEADERS: Final = {"cache-control": "public, immutable, max-age=31536000"}  # as Streamlit's own: names tell versions


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
    return links + scripts.early_script()


@cache
def files() -> dict[str, bytes]:
    """What draws the elements of a page, and all that it imports, by name."""
    contents: dict[str, bytes] = {}
    todo = scripts.early_files()
    while todo:
        name = todo.pop()
        if name not in contents and (scripts.FOLDER / name).is_file():
            contents[name] = (scripts.FOLDER / name).read_bytes()
            todo += [imported.decode() for imported in _IMPORTED.findall(contents[name][:_HEAD])]
    return contents
