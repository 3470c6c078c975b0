"""What a browser is told before Streamlit's own scripts: where the server is, and that Back is the page before.

Streamlit looks for its server below each page's address first, which leaves errors in the browser's console. It makes a
step for Back of every control that is moved, empties the address before it changes pages, and of the address that Back
leads to forgets what the page before has, too. Here a page is one step, and Back is as good as the page's link.

What `front_end` asks for ahead stands at the end of the page's head.
"""

from __future__ import annotations

import json
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config

from ui.server import front_end

_SCRIPT: Final = """<script>
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
# A page as it is, whole: not packed, and not "the same as before".
_NOT_PASSED_ON: Final = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


class FirstScript:
    """Puts the script at the head of the page that Streamlit serves for every address of a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not _may_be_page(scope["path"]):
            await self._app(scope, receive, send)
            return
        asked = [header for header in scope["headers"] if header[0] not in _NOT_PASSED_ON]
        start: Message | None = None
        body = b""

        async def with_script(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await _send_page(start, body, send)

        await self._app({**scope, "headers": asked}, receive, with_script)


def _may_be_page(path: str) -> bool:
    """Whether it can be a page's address: files have an ending, and what Streamlit's scripts ask for is below these."""
    return "." not in path.rpartition("/")[2] and not {"_stcore", "media", "component", "static"} & set(path.split("/"))


def _is_page(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    is_plain = "content-encoding" not in headers
    return start["status"] == 200 and is_plain and headers.get("content-type", "").startswith("text/html")


async def _send_page(start: Message, body: bytes, send: Send) -> None:
    path = str(config.get_option("server.baseUrlPath") or "").strip("/")
    script = _SCRIPT.replace("$path", json.dumps(f"/{path}" if path else ""))
    page = body.replace(b"<head>", b"<head>" + script.encode(), 1)
    page = page.replace(b"</head>", front_end.tags().encode() + b"</head>", 1)
    headers = MutableHeaders(raw=start["headers"])
    headers["content-length"] = str(len(page))
    del headers["etag"]
    await send(start)
    await send({"type": "http.response.body", "body": page})
