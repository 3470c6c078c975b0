"""Guards of the app: a page requests nothing from other hosts, and the server refuses requests from other sites.

Pages show results that are computed from the user's rows. The first guard is a security policy. Without it, a name or a
category in a file could make the browser fetch a picture from another host, which would learn what the user looks at.

The second guard checks the headers of requests. Without it, a page of another site could connect to the app on the
user's machine, either by the app's name, or by a name of that site that leads to this machine (DNS rebinding).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server.host_names import HostNames
from ui.server.streamlit_patches.internals import METRICS_ROUTE

# The scripts of Streamlit and plotly need inline styles, workers from blobs, and eval for some charts.
_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "media-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "frame-src 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Middleware that refuses requests of other sites, to other host names and for metrics, and adds the policy."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        # The names are read only once: while Streamlit reads its options again, the options briefly have other values.
        self._names = HostNames.of_config()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not (self._names.include(host) and is_same_site(headers.get("origin"), host)):
            await _refuse(scope, receive, send)
            return
        if METRICS_ROUTE in scope["path"]:
            await PlainTextResponse("Not found", 404)(scope, receive, send)
            return

        async def with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, with_policy)


def is_same_site(origin: str | None, host: str) -> bool:
    """Return whether the header `Origin` is missing or names `host`.

    Browsers send this header with each websocket and each POST. A program that is no browser may omit it.
    """
    try:
        return origin is None or urlsplit(origin).netloc == host
    except ValueError:
        return False


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    response = PlainTextResponse(
        "This server does not answer requests for this name or from this page.", status_code=403
    )
    await response(scope, receive, send)
