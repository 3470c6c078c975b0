"""Who may ask the app, and whom a page may ask: the guard by itself, called as a server calls it."""

import asyncio
from typing import Any

import pytest
from streamlit import config

from ui.shared.guards import Guard

OURS = "localhost:8501"


def asked(kind: str = "http", path: str = "/", **headers: str) -> list[dict[str, Any]]:
    """What comes back, message by message, for a request with these headers."""
    sent: list[dict[str, Any]] = []

    async def app(scope, receive, send) -> None:
        if kind == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"hello"})
        else:
            await send({"type": "websocket.accept"})

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect" if kind == "websocket" else "http.request", "body": b""}

    async def send(message) -> None:
        sent.append(dict(message))

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(Guard(app)({"type": kind, "method": "GET", "path": path, "headers": raw}, receive, send))
    return sent


def is_served(kind: str = "http", **headers: str) -> bool:
    first = asked(kind, **headers)[0]
    assert first["type"] in ("http.response.start", "websocket.accept", "websocket.close")
    assert first.get("status", 200) in (200, 403)
    return first["type"] == "websocket.accept" or first.get("status") == 200


@pytest.fixture
def listening_to_all():
    before = config.get_option("server.address")
    config.set_option("server.address", "0.0.0.0")  # only said, nothing listens here
    yield
    config.set_option("server.address", before)


@pytest.fixture(autouse=True)
def listening_to_this_machine():
    before = config.get_option("server.address")
    config.set_option("server.address", "localhost")
    yield
    config.set_option("server.address", before)


def test_no_other_host_is_asked_for_anything():
    headers = dict(asked(host=OURS)[0]["headers"])
    rules = dict(rule.split(" ", 1) for rule in headers[b"content-security-policy"].decode().split("; "))
    assert rules["img-src"] == "'self' data: blob:"
    assert rules["default-src"] == rules["connect-src"] == "'self'"
    assert not any(word.startswith(("http", "*", "ws")) for rule in rules.values() for word in rule.split())


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("host", [OURS, "127.0.0.1:8501", "[::1]:8501", "LOCALHOST"])
def test_the_app_answers_to_its_own_name(host, kind):
    assert is_served(kind, host=host)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8501", "", "127.0.0.1.nip.io", "[", "a]b:c"]
)
def test_it_answers_to_no_other(host, kind):
    assert not is_served(kind, host=host)


def test_who_listens_to_others_knows_under_which_names(listening_to_all):
    assert is_served(host="forests.example")


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:9999", f"http://{OURS}.evil.example", "http://["]
)
def test_pages_of_others_may_not_ask(origin, kind):
    assert not is_served(kind, host=OURS, origin=origin)


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_our_own_pages_may(kind):
    assert is_served(kind, host=OURS, origin=f"http://{OURS}")
    assert is_served(kind, host=OURS)  # programs that are no browsers say nothing


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/base/_stcore/metrics", "/_stcore/metrics/"])
def test_nobody_is_told_how_much_others_have_uploaded(path):
    assert asked(host=OURS, path=path)[0]["status"] == 404
    assert asked(host=OURS, path="/_stcore/health")[0]["status"] == 200
