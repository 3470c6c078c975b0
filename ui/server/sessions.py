"""Middleware that limits the number of sessions, and ends sessions whose users have left.

A session is one websocket: one open tab of a browser. If the server has no room, it sends a short text instead of a new
page. If a user does nothing for `ServerLimits.idle_minutes`, the browser opens the page of `idle.py`, so Streamlit ends
the session and frees its rows two minutes later. If a browser does not open that page, the server closes the websocket.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server.idle import IDLE_PAGE, idle_page, text_page
from ui.server.limits import ServerLimits
from ui.server.page_head import may_be_page
from ui.server.streamlit_patches.internals import SESSION_ROUTE

_OPENING: Final = 20  # seconds for which the server keeps room for a page that has not opened its websocket yet
# New pages keep at most one place in this many, so that requests that open no websocket cannot fill the server.
_MOST_OPENING: Final = 4
_GRACE: Final = 2  # minutes that a browser has to open the page of `idle.py` by itself
_TRY_AGAIN: Final = 1013  # code of a websocket that is closed because the server has no room
_GONE: Final = 1001  # code of a websocket that is closed because nobody uses it


class Sessions:
    """Middleware that refuses sessions beyond the limits, and closes idle ones.

    Parameters
    ----------
    app : ASGIApp
        The app behind this middleware.
    limits : ServerLimits
    is_loaded : threading.Event
        Set when the modules of the app are imported and frozen (`process.freeze_modules`). No session opens before.
    """

    def __init__(self, app: ASGIApp, limits: ServerLimits, is_loaded: threading.Event) -> None:
        self._app, self._limits, self._is_loaded = app, limits, is_loaded
        self._n_open = 0
        self._opening: list[float] = []  # when each page was sent that has not opened its websocket yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" and SESSION_ROUTE in scope["path"]:
            await self._session(scope, receive, send)
        elif not _is_page(scope):
            await self._app(scope, receive, send)
        elif scope["path"].endswith(IDLE_PAGE):
            query = scope.get("query_string", b"").decode("latin-1")
            await idle_page(self._limits.idle_minutes, query)(scope, receive, send)
        elif why := self._refusal():
            await text_page(why, "Try again", status=503)(scope, receive, send)
        else:
            self._opening.append(time.monotonic())
            await self._app(scope, receive, send)

    def _refusal(self) -> str:
        """Return a message that says why there is no room for another page; empty if there is room."""
        now = time.monotonic()
        self._opening = [sent_at for sent_at in self._opening if now - sent_at < _OPENING]
        n_kept = min(len(self._opening), max(self._limits.sessions // _MOST_OPENING, 1))
        if self._n_open + n_kept >= self._limits.sessions:
            return f"All {self._limits.sessions:,} places on this server are taken. Try again in some minutes."
        why = self._limits.no_memory()
        return f"{why} Try again in some minutes." if why else ""

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._n_open >= self._limits.sessions:
            await receive()
            await send({"type": "websocket.close", "code": _TRY_AGAIN})
            return
        del self._opening[:1]  # the page that was sent first is assumed to open this websocket
        self._n_open += 1
        try:
            if not self._is_loaded.is_set():
                await asyncio.to_thread(self._is_loaded.wait)
            await self._app(scope, self._until_idle(receive, send), send)
        finally:
            self._n_open -= 1

    def _until_idle(self, receive: Receive, send: Send) -> Receive:
        """Return `receive`, or a version of it that closes the websocket if no message comes for too long."""
        if not self._limits.idle_minutes:
            return receive
        longest = (self._limits.idle_minutes + _GRACE) * 60

        async def received() -> Message:
            try:
                return await asyncio.wait_for(receive(), longest)
            except TimeoutError:
                await send({"type": "websocket.close", "code": _GONE})
                return {"type": "websocket.disconnect", "code": _GONE}

        return received


def _is_page(scope: Scope) -> bool:
    """Return whether a browser asks for a page."""
    is_get = scope["type"] == "http" and scope["method"] == "GET"
    return is_get and may_be_page(scope["path"]) and "text/html" in Headers(scope=scope).get("accept", "")
