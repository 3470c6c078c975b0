"""Limits on the size of uploads. The tests call Streamlit's routes and its memory of files as a server does."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from streamlit import config
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette.starlette_routes import create_upload_routes

from ui.server import uploads
from ui.server.streamlit_patches import internals
from ui.server.uploads import MB, SESSION_FILES, Limits, Uploads

CHUNK = 64 * 1024
BEGIN = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'
END = b"\r\n--x--\r\n"


class Server:
    """Streamlit's routes for uploads, their memory, and three sessions."""

    def __init__(self, base: str = "") -> None:
        self.base, self.sessions, self.read = base, {"anna", "ben", "carl"}, 0
        self.uploaded_file_mgr = MemoryUploadedFileManager("/_stcore/upload_file")
        self._session_mgr = SimpleNamespace(get_session_info=lambda name: name if name in self.sessions else None)
        routes = create_upload_routes(self, self.uploaded_file_mgr, base)  # type: ignore[arg-type]
        self.app = Starlette(routes=routes, middleware=[Middleware(Uploads, running=lambda: self)])

    def is_active_session(self, session: str) -> bool:
        return session in self.sessions

    def held(self, session: str) -> int:
        return sum(len(file.data) for file in self.uploaded_file_mgr.file_storage.get(session, {}).values())

    async def ask(self, path: str, body: Iterator[bytes], method: str = "PUT", stated: int | None = None) -> int:
        """Return the status of the response; `read` counts the bytes of the body that the server requested."""
        status = 0
        headers = [(b"host", b"localhost"), (b"content-type", b"multipart/form-data; boundary=x")]
        if stated is not None:
            headers.append((b"content-length", str(stated).encode()))

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)  # lets other uploads continue
            chunk = next(body, b"")
            self.read += len(chunk)
            return {"type": "http.request", "body": chunk, "more_body": bool(chunk)}

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)

        await self.app(
            {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}, receive, send
        )
        return status

    async def send(self, session: str, file: str, size: int, stated: bool = True) -> int:
        path = f"{self.base}/_stcore/upload_file/{session}/{file}"
        return await self.ask(path, multipart(size), stated=len(BEGIN) + size + len(END) if stated else None)

    def put(self, session: str, file: str, size: int, stated: bool = True) -> int:
        return asyncio.run(self.send(session, file, size, stated))


def multipart(size: int) -> Iterator[bytes]:
    yield BEGIN
    for start in range(0, size, CHUNK):
        yield b"1" * min(CHUNK, size - start)
    yield END


@pytest.fixture(autouse=True)
def small_limits():
    """Limit files to 1 MB, so that a session can hold 2.5 MB and the server 5 MB."""
    before = {name: config.get_option(name) for name in ("server.maxUploadSize", "server.enableXsrfProtection")}
    config.set_option("server.maxUploadSize", 1)
    config.set_option("server.enableXsrfProtection", False)
    yield
    for name, value in before.items():
        config.set_option(name, value)


@pytest.mark.parametrize("base", ["", "/base"])
@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "POST"])
def test_a_server_for_the_lesson_only_accepts_and_reads_no_file(monkeypatch, base, method):
    monkeypatch.setenv("DPFOREST_LESSON_ONLY", "1")
    server = Server(base)
    path = f"{base}/_stcore/upload_file/anna/one"
    assert asyncio.run(server.ask(path, multipart(CHUNK), method)) == 404
    assert server.read == 0 and not server.uploaded_file_mgr.file_storage


def test_a_server_without_memory_reads_no_file():
    server = Server()
    server.app = Starlette(
        routes=create_upload_routes(server, server.uploaded_file_mgr, ""),  # type: ignore[arg-type]
        middleware=[Middleware(Uploads, running=lambda: server, no_memory=lambda: "The server is full.")],
    )
    assert server.put("anna", "one", CHUNK) == 413 and server.read == 0


def test_files_within_the_limits_arrive_whole():
    server = Server()
    assert [server.put("anna", name, 1_000_000) for name in ("one", "two")] == [204, 204]
    assert server.held("anna") == 2_000_000
    assert asyncio.run(server.ask("/_stcore/upload_file/anna/one", iter(()), "DELETE")) == 204
    assert server.held("anna") == 1_000_000


def test_the_stated_size_refuses_before_a_byte_is_read():
    server = Server()
    assert [server.put("anna", name, 1_000_000) for name in ("one", "two")] == [204, 204]
    server.read = 0
    assert server.put("anna", "three", 1_000_000) == 413
    assert server.read == 0 and server.held("anna") == 2_000_000


@pytest.mark.parametrize("lie", [None, 5])
def test_received_bytes_are_counted_whatever_the_request_states(lie):
    server = Server()
    assert [server.put("anna", name, 1_000_000) for name in ("one", "two")] == [204, 204]
    server.read = 0
    assert asyncio.run(server.ask("/_stcore/upload_file/anna/three", multipart(1_000_000), stated=lie)) == 413
    room = Limits.of_config().session - 2_000_000
    assert room < server.read <= room + 2 * CHUNK  # the server stopped reading at the limit
    assert server.held("anna") == 2_000_000


def test_uploads_at_the_same_time_are_counted_together():
    server = Server()

    async def all_at_once() -> list[int]:
        return await asyncio.gather(*(server.send("anna", f"f{i}", 1_000_000, stated=False) for i in range(4)))

    statuses = asyncio.run(all_at_once())
    assert set(statuses) <= {204, 413} and 413 in statuses
    assert server.held("anna") <= Limits.of_config().session
    assert server.put("ben", "one", 1_000_000) == 204  # refused files do not count toward the limit


def test_a_session_has_a_limit_on_its_files():
    server = Server()
    statuses = [server.put("anna", f"f{i}", 1) for i in range(SESSION_FILES + 1)]
    assert statuses == [204] * SESSION_FILES + [413]
    assert server.put("ben", "one", 1) == 204


def test_all_sessions_together_have_a_limit_and_a_session_that_ends_makes_room():
    server = Server()
    for session in ("anna", "ben"):
        assert [server.put(session, name, 1_000_000) for name in ("one", "two")] == [204, 204]
    assert server.put("carl", "one", 1_000_000) == 204
    assert server.put("carl", "two", 1_000_000) == 413
    server.sessions.remove("anna")  # the session has ended, but Streamlit has not removed its files yet
    assert server.put("carl", "two", 1_000_000) == 204
    assert server.held("anna") == 0 and server.held("ben") == server.held("carl") == 2_000_000


def test_a_session_that_ends_while_its_file_arrives_keeps_no_bytes():
    server = Server()

    def ends_meanwhile() -> Iterator[bytes]:
        for part in multipart(2 * CHUNK):
            server.sessions.discard("anna")
            yield part

    async def upload() -> int:
        return await server.ask("/_stcore/upload_file/anna/one", ends_meanwhile())

    assert asyncio.run(upload()) == 204 and not server.uploaded_file_mgr.file_storage


def test_the_page_reports_when_memory_is_short(monkeypatch):
    files = MemoryUploadedFileManager("")
    context = SimpleNamespace(uploaded_file_mgr=files, session_id="anna")
    monkeypatch.setattr(internals, "get_script_run_ctx", lambda: context)
    assert uploads.shortage() == ""
    files.add_file("anna", UploadedFileRec("one", "one.csv", "", bytes(2 * MB)))
    assert "can hold 2.5 MB of files, and yours holds 2 MB" in uploads.shortage()
    assert "Clear my data" in uploads.shortage()
    uploads.remove("one")
    assert uploads.shortage() == ""
    for session in ("ben", "carl"):
        files.add_file(session, UploadedFileRec("one", "one.csv", "", bytes(2 * MB + 1)))
    assert "other sessions leave too little" in uploads.shortage() and "Try again later" in uploads.shortage()


def test_trying_sizes_does_not_reveal_the_exact_size_of_the_files_of_others():
    """An attacker who tries sizes near the limit in two sessions learns the size of other files only roughly.

    The attacker cannot distinguish a file of 1 byte from a file of 50,000 bytes.
    """
    limits = Limits.of_config()
    wide = replace(limits, session=limits.server)

    def answers(n_bytes: int) -> list[bool]:
        files, seen = MemoryUploadedFileManager(""), []
        files.add_file("victim", UploadedFileRec("one", "one.csv", "", bytes(n_bytes)))
        for second in range(1_000_000, 1_100_000, 10_001):
            files.add_file("second", UploadedFileRec("one", "one.csv", "", bytes(second)))
            around = range(limits.server - second - 150_000, limits.server - second + 50_000, 5_000)
            seen += ["other sessions" in uploads.refusal(files, "first", wide, more) for more in around]
        return seen

    assert limits.block > 50_000
    assert answers(1) == answers(50_000) and set(answers(1)) == {True, False}
    assert answers(1) != answers(2 * limits.block)
