"""The script that runs before Streamlit's scripts is in every page and in no other response."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import streamlit

from ui.server import front_end
from ui.server.page_head import PageHead
from ui.server.streamlit_patches import styles

PAGE = b"<!doctype html><html><head><title>x</title></head><body></body></html>"


def served(path: str, kind: bytes = b"text/html; charset=utf-8", status: int = 200) -> tuple[dict[bytes, bytes], bytes]:
    """Return headers and body of a page. The server sends it in two parts, compressed if the client accepts that."""
    sent: list[dict[str, Any]] = []

    async def app(scope, receive, send) -> None:
        packed = any(name == b"accept-encoding" for name, _ in scope["headers"])
        headers = [(b"content-type", kind), (b"content-length", str(len(PAGE)).encode()), (b"etag", b"1")]
        headers += [(b"content-encoding", b"gzip")] if packed else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": PAGE[:20], "more_body": True})
        await send({"type": "http.response.body", "body": PAGE[20:]})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message) -> None:
        sent.append(dict(message))

    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"accept-encoding", b"gzip")]}
    asyncio.run(PageHead(app)(scope, receive, send))
    assert [message["type"] for message in sent].count("http.response.start") == 1
    return dict(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize("path", ["/", "/Compare", "/base/Choose_epsilon"])
def test_a_page_has_the_first_script_and_the_right_length(path):
    headers, body = served(path)
    assert body.startswith(b"<!doctype html><html><head><script>") and body.count(b"BACKEND_BASE_URL") == 1
    ahead = re.findall(rb'<link rel="modulepreload" crossorigin href="\./([^"]+)" />', body)
    assert ahead and all((Path(streamlit.__file__).parent / "static" / name.decode()).is_file() for name in ahead)
    plain = body.replace(front_end.tags().encode(), b"").replace(styles.PAGE.encode(), b"")
    assert plain.endswith(PAGE[PAGE.index(b"<title>") :])
    assert body.endswith(styles.PAGE.encode() + b"</body></html>")
    assert headers[b"content-length"] == str(len(body)).encode() and b"etag" not in headers


@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [
        ("/static/js/index.js", b"text/html", 200),
        ("/_stcore/health", b"text/html", 200),
        ("/media/abc", b"text/html", 200),
        ("/Compare", b"application/json", 200),
        ("/Compare", b"text/html", 404),
    ],
)
def test_nothing_else_is_touched(path, kind, status):
    assert served(path, kind, status)[1] == PAGE


@pytest.mark.parametrize(
    ("query", "to"), [(b"", b"./Releases"), (b"present=true&a=%C3%A9", b"./Releases?present=true&a=%C3%A9")]
)
def test_an_old_link_leads_to_the_page_by_its_new_name(query, to):
    sent: list[dict[str, Any]] = []

    async def send(message) -> None:
        sent.append(dict(message))

    scope = {"type": "http", "method": "GET", "path": "/base/Use_a_forest", "query_string": query, "headers": []}
    asyncio.run(PageHead(None)(scope, None, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 307 and dict(sent[0]["headers"])[b"location"] == to
