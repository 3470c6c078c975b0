"""A random token for each browser, in a cookie. All tabs of a browser share the token, and a reload keeps it.

The app needs the token to recognize the leader of a room: the teacher who opened the room in the lesson. The token
does not identify a person, and a browser deletes it when the browser closes. Only this server can issue a token,
because it signs tokens with a key that it draws at startup and never stores. No script can read the cookie. A private
window, or a program that sends a request without the cookie, gets another token.

The cookie is `SameSite=Lax`. With `Strict`, a browser that follows a link from another site would not send the cookie.
The server would then replace the cookie, and the teacher would lose the room.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server.streamlit_patches.internals import HEALTH_ROUTE

_KEY: Final = secrets.token_bytes(32)


class BrowserCookie:
    """Middleware that issues a token to a browser that has none, when the browser opens a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Every page requests the health route before it opens its websocket.
        opens_page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].endswith(HEALTH_ROUTE)
        if not opens_page or _has_token(scope):
            await self._app(scope, receive, send)
            return

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                secure = "; Secure" if scope.get("scheme") == "https" else ""
                name = cookie_name(Headers(scope=scope).get("host", ""))
                cookie = f"{name}={new_token()}; Path=/; HttpOnly; SameSite=Lax{secure}"
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        await self._app(scope, receive, with_cookie)


def this_browser() -> str | None:
    """Return the token of the browser that shows the page; None if the browser sent no valid cookie."""
    return checked(st.context.cookies.get(cookie_name(st.context.headers.get("Host", "") or ""), ""))


def _has_token(scope: Scope) -> bool:
    """Return whether a request has a cookie that this server signed."""
    request = HTTPConnection(scope)
    return checked(request.cookies.get(cookie_name(request.headers.get("host", "")), "")) is not None


def cookie_name(host: str) -> str:
    """Return the name of the cookie, which contains the port of the server.

    A browser shares cookies among all ports of a machine, so two servers on one machine need different names.
    """
    port = host.rpartition(":")[2]
    return f"dpforest_browser_{port}" if port.isascii() and port.isdigit() else "dpforest_browser"


def new_token() -> str:
    """Return the value of a new cookie: a random token, and its signature after a dot."""
    return _signed(secrets.token_hex(16))


def _signed(token: str) -> str:
    return f"{token}.{hmac.new(_KEY, token.encode(), hashlib.sha256).hexdigest()}"


def checked(value: object) -> str | None:
    """Return the token in the value of a cookie; None if this server did not sign it."""
    if not isinstance(value, str):
        return None
    token = value.partition(".")[0]
    return token if hmac.compare_digest(_signed(token).encode(), value.encode()) else None
