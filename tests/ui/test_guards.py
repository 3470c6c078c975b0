"""The guard decides who may send requests to the app, and to which hosts a page may connect.

The tests call the guard as a server would.
"""

import asyncio
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest
from streamlit import config
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from ui.server.guards import Guard
from ui.server.host_names import HostNames, addresses

OURS = "localhost:8501"


def response_to(kind: str = "http", path: str = "/", **headers: str) -> list[dict[str, Any]]:
    """Return the messages of the response to a request with these headers."""
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
    first = response_to(kind, **headers)[0]
    assert first["type"] in ("http.response.start", "websocket.accept", "websocket.close")
    assert first.get("status", 200) in (200, 403)
    return first["type"] == "websocket.accept" or first.get("status") == 200


@pytest.fixture(autouse=True)
def listening_to_this_machine():
    yield from listening("localhost", [])


@pytest.fixture(params=["0.0.0.0", "::", "192.168.1.7", None])
def listening_to_others(request):
    yield from listening(request.param, [])


@pytest.fixture
def listening_by_a_list():
    yield from listening("0.0.0.0", ["Lesson.example", "*.school.example"])


def listening(address, names):
    """Set Streamlit's configuration for a server that listens at this address. The test starts no server."""
    options = {"server.address": address, "server.allowedHosts": names}
    before = {name: config.get_option(name) for name in options}
    for name, value in options.items():
        config.set_option(name, value)
    yield
    for name, value in before.items():
        config.set_option(name, value)


def test_pages_request_nothing_from_other_hosts():
    headers = dict(response_to(host=OURS)[0]["headers"])
    rules = dict(rule.split(" ", 1) for rule in headers[b"content-security-policy"].decode().split("; "))
    assert rules["img-src"] == "'self' data: blob:"
    assert rules["default-src"] == rules["connect-src"] == "'self'"
    assert not any(word.startswith(("http", "*", "ws")) for rule in rules.values() for word in rule.split())


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("host", [OURS, "127.0.0.1:8501", "[::1]:8501", "LOCALHOST"])
def test_the_app_answers_to_its_address(host, kind):
    assert is_served(kind, host=host)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8501", "", "127.0.0.1.nip.io", "[", "a]b:c"]
)
def test_the_app_answers_to_no_other_address(host, kind):
    assert not is_served(kind, host=host)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "host", ["evil.example:8501", "127.0.0.1.nip.io", "", "10.0.0.7@evil.example", "10.0.0.7.", "x:y"]
)
def test_a_server_on_a_network_answers_to_no_name_of_another_site(listening_to_others, host, kind):
    """A server refuses host names of other sites, because their owner can make them point to this machine.

    This attack is called DNS rebinding.
    """
    assert is_served(kind, host=host) == (host == "10.0.0.7.")


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_server_in_a_network_answers_to_addresses_and_to_names_of_its_machine(listening_to_others, kind):
    machine = socket.gethostname()
    for host in (
        "localhost:8501",
        "192.168.1.7:8501",
        "[fe80::1]:8501",
        machine,
        f"{machine.split('.')[0].upper()}.local",
    ):
        assert is_served(kind, host=host), host


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("host", "served"),
    [
        ("lesson.example:80", True),
        ("LESSON.example.", True),
        ("a.school.example", True),
        ("school.example", False),
        ("evilschool.example", False),
        ("lesson.example.evil.example", False),
        ("192.168.1.7", False),
    ],
)
def test_a_list_of_names_replaces_the_default_as_in_streamlit(listening_by_a_list, kind, host, served):
    assert is_served(kind, host=host) == served == is_host_allowed(host)


def test_the_server_prints_the_addresses_it_answers(listening_to_others):
    sentence = str(HostNames.of_config())
    assert socket.gethostname().lower() in sentence and "every IP address" in sentence
    assert "--server.allowedHosts" in sentence and "\n" not in sentence


def test_the_start_prints_addresses_without_asking_another_host(listening_to_others):
    """The app prints its addresses. Streamlit's greeting is off, because it would ask checkip.amazonaws.com."""
    settings = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())
    assert settings["logger"]["hideWelcomeMessage"] is True
    *_, network = addresses().splitlines()
    address = config.get_option("server.address")
    assert network.startswith(f"Network URL: http://{address if address == '192.168.1.7' else ''}")
    assert "//0.0.0.0" not in network and "//::" not in network


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:9999", f"http://{OURS}.evil.example", "http://["]
)
def test_pages_of_other_sites_may_not_send_requests(origin, kind):
    assert not is_served(kind, host=OURS, origin=origin)


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_pages_of_the_app_may_send_requests(kind):
    assert is_served(kind, host=OURS, origin=f"http://{OURS}")
    assert is_served(kind, host=OURS)  # a program that is no browser sends no origin


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/base/_stcore/metrics", "/_stcore/metrics/"])
def test_the_size_of_uploads_of_other_sessions_is_hidden(path):
    assert response_to(host=OURS, path=path)[0]["status"] == 404
    assert response_to(host=OURS, path="/_stcore/health")[0]["status"] == 200
