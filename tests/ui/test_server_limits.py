"""Limits of the server: open sessions, memory, and idle users. The tests call the middleware as a server does."""

import asyncio
import os
import threading
from typing import Any

import pytest

from ui.server import limits as server_limits
from ui.server.idle import idle_page, idle_script
from ui.server.limits import IDLE_MINUTES, MAX_MEMORY, MAX_SESSIONS, ServerLimits, used_memory
from ui.server.sessions import Sessions

STREAM = "/_stcore/stream"


class Server:
    """The middleware before an app that accepts websockets and answers pages, as Streamlit does."""

    def __init__(self, **limits: Any) -> None:
        self.is_loaded = threading.Event()
        self.is_loaded.set()
        self.layer = Sessions(self._app, ServerLimits(**limits), self.is_loaded)

    async def _app(self, scope, receive, send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            while (await receive())["type"] != "websocket.disconnect":
                pass
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"a page"})

    async def page(self, path: str = "/", accept: bytes = b"text/html", query: bytes = b"") -> tuple[int, str]:
        """Return the status and the body of the response."""
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b""}

        async def send(message) -> None:
            sent.append(dict(message))

        headers = [(b"accept", accept)]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": headers}
        await self.layer(scope, receive, send)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


class Tab:
    """A tab of a browser: a websocket that stays open until `close`."""

    def __init__(self, server: Server) -> None:
        self.messages: asyncio.Queue = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        self.messages.put_nowait({"type": "websocket.receive"})
        self.task = asyncio.ensure_future(
            server.layer({"type": "websocket", "path": STREAM, "headers": []}, self.messages.get, self._send)
        )

    async def _send(self, message) -> None:
        self.sent.append(dict(message))

    async def close(self) -> None:
        self.messages.put_nowait({"type": "websocket.disconnect"})
        await self.task


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_page_beyond_the_limit_is_a_sentence_until_a_tab_closes():
    async def visit():
        server = Server(sessions=2)
        assert (await server.page())[0] == 200
        first, second = Tab(server), Tab(server)
        await settled()
        status, text = await server.page("/Compare")
        assert status == 503 and "All 2 places on this server are taken. Try again in some minutes." in text
        third = Tab(server)
        await settled()
        assert third.sent == [{"type": "websocket.close", "code": 1013}]
        await first.close()
        assert (await server.page())[0] == 200
        await second.close()

    asyncio.run(visit())


def test_no_session_opens_before_all_modules_are_frozen():
    async def visit():
        server = Server(sessions=2)
        server.is_loaded.clear()
        assert (await server.page())[0] == 200, "a page is sent meanwhile"
        tab = Tab(server)
        await settled()
        assert tab.sent == []
        server.is_loaded.set()
        async with asyncio.timeout(60):
            await tab.close()
        assert tab.sent == [{"type": "websocket.accept"}]

    asyncio.run(visit())


def test_pages_that_are_about_to_open_a_session_count():
    async def visit():
        server = Server(sessions=8)
        tabs = [Tab(server) for _ in range(6)]
        await settled()
        assert [(await server.page())[0] for _ in range(4)] == [200, 200, 503, 503]
        assert (await server.page("/_stcore/health"))[0] == (await server.page("/static/js/a.js"))[0] == 200
        assert (await server.page("/", b"*/*"))[0] == 200, "a program that reads no page takes no place"
        for tab in tabs[:1]:
            await tab.close()
        assert (await server.page())[0] == 200, "pages alone never fill the server"
        for tab in tabs[1:]:
            await tab.close()

    asyncio.run(visit())


def test_no_page_starts_without_memory():
    status, text = asyncio.run(Server(memory=1).page())
    assert status == 503 and "The server uses all of the memory that it may use." in text
    assert asyncio.run(Server(memory=10**15).page())[0] == 200


def test_the_memory_of_the_process_is_counted():
    block = bytearray(os.urandom(1024)) * 50_000  # about 51 MB, all of it written
    with_block = used_memory()
    assert with_block > len(block)
    del block
    assert used_memory() < with_block


def test_a_websocket_without_messages_is_closed():
    async def visit():
        server = Server(sessions=1, idle_minutes=-2 + 0.002 / 60)  # the browser gets two more minutes: 2 ms in all
        tab = Tab(server)
        await asyncio.wait_for(tab.task, 20)
        assert tab.sent[-1] == {"type": "websocket.close", "code": 1001}
        assert (await server.page())[0] == 200, "its place is free"

    asyncio.run(visit())


def test_an_idle_page_leads_back_and_to_no_other_host():
    assert idle_script(0, "") == "" and '"/forest/idle" + "?to="' in idle_script(60, "/forest/")
    for query, link in (
        ("to=%2FCompare%3Feps%3D2%26data%3Dadult", "/Compare?eps=2&amp;data=adult"),
        ("to=https%3A%2F%2Fevil.example", "/"),
        ("to=%2F%2Fevil.example", "/"),
        ("to=%2F%5Cevil.example", "/"),
        ("to=%2F%09%2Fevil.example", "/"),
        ("to=%2F%0A%2Fevil.example", "/"),
        ("to=%2F%22%3E%3Cscript%3E", "/&quot;&gt;&lt;script&gt;"),
        ("", "/"),
    ):
        text = bytes(idle_page(60, query).body).decode()
        assert f'<a href="{link}">Go on</a>' in text and "<script" not in text
    status, text = asyncio.run(Server(sessions=0, idle_minutes=60).page("/idle", query=b"to=%2FAudit"))
    assert status == 200 and "Nobody used this page for 60 minutes" in text and 'href="/Audit"' in text


@pytest.mark.parametrize(
    ("name", "text"), [(MAX_SESSIONS, "0"), (MAX_SESSIONS, "many"), (IDLE_MINUTES, "-1"), (MAX_MEMORY, "1.5")]
)
def test_a_wrong_limit_is_a_sentence(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(ValueError, match=f"{name} is '{text}'. It must be a whole number from"):
        ServerLimits.of_environment()


def test_limits_come_from_the_environment(monkeypatch, tmp_path):
    for name, text in ((MAX_SESSIONS, "40"), (IDLE_MINUTES, "60"), (MAX_MEMORY, "2000")):
        monkeypatch.setenv(name, text)
    assert ServerLimits.of_environment() == ServerLimits(40, 60, 2000 * 1024 * 1024)
    monkeypatch.delenv(MAX_MEMORY)
    (tmp_path / "memory.max").write_text("1000\n")
    monkeypatch.setattr(server_limits, "_OF_CONTAINER", tmp_path / "memory.max")
    assert ServerLimits.of_environment().memory == 900
    (tmp_path / "memory.max").write_text("max\n")
    assert ServerLimits.of_environment().memory is None
