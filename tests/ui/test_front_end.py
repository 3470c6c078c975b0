"""The server sends the front end's files from memory."""

import asyncio
import re
from typing import Any

import pytest

from ui.server import front_end
from ui.server.front_end import FrontEnd


def served(path: str, method: str = "GET") -> tuple[int, dict[bytes, bytes], bytes]:
    """Return status, headers and body of a response. A request that the front end does not answer gets status 404."""
    sent: list[dict[str, Any]] = []

    async def inner_app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message) -> None:
        sent.append(dict(message))

    scope = {"type": "http", "method": method, "path": path, "headers": []}
    asyncio.run(FrontEnd(inner_app)(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def test_the_code_of_charts_and_all_that_it_imports_is_kept():
    files = front_end.files()
    (charts,) = [name for name in files if name.startswith("PlotlyChart.")]
    assert len(files[charts]) > 1_000_000
    for content in files.values():
        imported = re.findall(rb'(?:from|import)"\./([^"]+)"', content[:20_000])
        assert {name.decode() for name in imported} <= set(files)


@pytest.mark.parametrize("before", ["", "/base"])
def test_kept_files_are_served_as_scripts_that_browsers_store(before):
    name, content = next(iter(front_end.files().items()))
    status, headers, body = served(f"{before}/static/js/{name}")
    assert (status, body) == (200, content)
    assert headers[b"content-type"].startswith(b"text/javascript") and b"immutable" in headers[b"cache-control"]


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/static/js/nothing.js", "GET"),
        ("/static/js/../app.py", "GET"),
        ("/Compare", "GET"),
        ("/media/{name}", "GET"),
        ("/static/js/{name}", "POST"),
    ],
)
def test_all_other_requests_go_to_the_server(path, method):
    assert served(path.format(name=next(iter(front_end.files()))), method)[0] == 404
