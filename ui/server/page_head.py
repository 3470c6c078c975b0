"""Middleware that inserts scripts into the head of each page, and the styles of all pages into its body.

`scripts.py` and `styles.py` in `ui/server/streamlit_patches` hold the scripts and the styles, and explain why the pages
need them. This middleware also redirects links with the old name of a page to its new name.
"""

from __future__ import annotations

from typing import Final

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server import front_end
from ui.server.idle import idle_script
from ui.server.streamlit_patches import scripts, styles
from ui.server.streamlit_patches.internals import NOT_PAGES

# The middleware removes these headers from a request, so that Streamlit sends the whole page, uncompressed.
_NOT_PASSED_ON: Final = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
_RENAMED: Final = {"Use_a_forest": "Releases"}  # names of pages in old links, and their current names


class PageHead:
    """Middleware that inserts one script at the start of a page's head, others at its end, and styles in the body.

    Parameters
    ----------
    idle_minutes : int
        Minutes without an action of the user after which a browser opens the page of `idle.py` instead; 0 for no limit.
    """

    def __init__(self, app: ASGIApp, idle_minutes: int = 0) -> None:
        self._app, self._idle_minutes = app, idle_minutes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not may_be_page(scope["path"]):
            await self._app(scope, receive, send)
            return
        if name := _RENAMED.get(scope["path"].rpartition("/")[2]):
            query = scope.get("query_string", b"").decode("latin-1")
            await RedirectResponse(f"./{name}?{query}" if query else f"./{name}")(scope, receive, send)
            return
        headers = [header for header in scope["headers"] if header[0] not in _NOT_PASSED_ON]
        start: Message | None = None
        body = b""

        async def collect_page(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await _send_page(start, body, send, self._idle_minutes)

        await self._app({**scope, "headers": headers}, receive, collect_page)


def may_be_page(path: str) -> bool:
    """Return whether a path may be that of a page: it has no file ending, and no part that is in `NOT_PAGES`."""
    return "." not in path.rpartition("/")[2] and not NOT_PAGES & set(path.split("/"))


def _is_page(start: Message) -> bool:
    """Return whether a response is a page of Streamlit that is not compressed."""
    headers = Headers(raw=start["headers"])
    is_plain = "content-encoding" not in headers
    return start["status"] == 200 and is_plain and headers.get("content-type", "").startswith("text/html")


async def _send_page(start: Message, body: bytes, send: Send, idle_minutes: int) -> None:
    base_path = str(st.get_option("server.baseUrlPath") or "")
    script = scripts.first_script(base_path) + idle_script(idle_minutes, base_path)
    page = body.replace(b"<head>", b"<head>" + script.encode(), 1)
    page = page.replace(b"</head>", front_end.tags().encode() + b"</head>", 1)
    # The styles are in the body. In the head they would come before the rules of Streamlit, which would override them.
    page = page.replace(b"</body>", styles.PAGE.encode() + b"</body>", 1)
    headers = MutableHeaders(raw=start["headers"])
    headers["content-length"] = str(len(page))
    del headers["etag"]
    await send(start)
    await send({"type": "http.response.body", "body": page})
