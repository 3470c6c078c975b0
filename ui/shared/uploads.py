"""Limits on uploads, checked before and while the server reads a file: the server keeps every upload in memory.

Anybody who reaches the server can send files to it, also from a page that shows no field for files. Streamlit limits
one file (`server.maxUploadSize`); here the files of one session, and of all sessions together, are limited as well.
Sizes are multiples of `server.maxUploadSize`, so that one option fits the limits to a larger machine.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

MB: Final = 1024 * 1024
SESSION_FILES: Final = 12  # the pages have four fields; each may hold a file and its replacement, and four are spare
SESSION_SIZE: Final = 2.5  # largest files: one, its replacement while that arrives, and half for domains and forests
SERVER_SIZE: Final = 5  # largest files: two sessions at their limit, or many with files of usual size
BLOCKS: Final = 20  # of a largest file: in such steps the server counts what a session holds of its limit
_ROUTE: Final = "_stcore/upload_file"


def lesson_only() -> bool:
    """Whether the server is open for the lesson only: then no page reads a file, and no file is accepted."""
    return os.environ.get("DPFOREST_LESSON_ONLY") == "1"


@dataclass(frozen=True)
class Limits:
    """How much the server keeps, in bytes; the number of files is `SESSION_FILES`."""

    file: int
    session: int
    server: int
    block: int

    @classmethod
    def of_config(cls) -> Limits:
        largest = int(config.get_option("server.maxUploadSize")) * MB
        return cls(largest, int(SESSION_SIZE * largest), SERVER_SIZE * largest, largest // BLOCKS)


@dataclass(eq=False)
class _Upload:
    """A file on its way: what has arrived of it."""

    session: str
    size: int = 0


class _Refused(Exception):
    """The sentence says why."""


class Uploads:
    """Refuses what goes beyond the limits, and every upload where the server is open for the lesson only.

    Files that have arrived are counted where Streamlit keeps them, so that a file that is removed is counted no more.

    Parameters
    ----------
    running : callable
        Gives the Streamlit runtime.
    """

    def __init__(self, app: ASGIApp, running: Callable[[], Any] = runtime.get_instance) -> None:
        self._app, self._running = app, running
        self._limits = Limits.of_config()
        self._arriving: list[_Upload] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_upload = scope["type"] == "http" and _ROUTE in scope["path"]
        if is_upload and lesson_only():
            await PlainTextResponse("Not found", 404)(scope, receive, send)
        elif is_upload and scope["method"] == "PUT":
            await self._take(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["path"].partition(f"{_ROUTE}/")[2].partition("/")[0]
        upload = _Upload(session)

        async def counted() -> Message:
            message = await receive()
            upload.size += len(message.get("body", b""))
            self._check(session)
            return message

        self._remove_of_ended()
        self._arriving.append(upload)
        try:
            self._check(session, _stated_size(scope))
            await self._app(scope, counted, send)
        except _Refused as why:
            await PlainTextResponse(str(why), 413)(scope, receive, send)
        finally:
            self._arriving.remove(upload)
            self._remove_of_ended()  # a session that ended meanwhile would never remove this file

    def _remove_of_ended(self) -> None:
        """Remove files of sessions that have ended: Streamlit does so only when a later session leaves."""
        server = self._running()
        for session in list(server.uploaded_file_mgr.file_storage):
            if server._session_mgr.get_session_info(session) is None:
                server.uploaded_file_mgr.remove_session_files(session)

    def _check(self, session: str, stated: int = 0) -> None:
        why = refusal(self._running().uploaded_file_mgr, session, self._limits, stated, self._arriving)
        if why:
            raise _Refused(why)


def refusal(
    files: MemoryUploadedFileManager, session: str, limits: Limits, more: int = 0, arriving: Iterable[_Upload] = ()
) -> str:
    """Why `more` bytes are too many for a session that holds what it does; empty where they are not."""
    sizes, n_files = Counter[str](), 0
    for key, kept in list(files.file_storage.items()):
        sizes[key] += sum(len(file.data) for file in list(kept.values()))
        n_files += len(kept) if key == session else 0
    held = sizes[session]
    for upload in arriving:
        sizes[upload.session] += upload.size
        n_files += upload.session == session
    sizes[session] += more
    if n_files > SESSION_FILES:
        return f"A session may hold {SESSION_FILES} files, and this one has as many."
    if sizes[session] > limits.session:
        return f"A session may hold {_mb(limits.session)} of files, and this one holds {_mb(held)}."
    # In whole blocks, so that nobody who tries sizes learns those of other people's files to a byte.
    if sum(-(-size // limits.block) * limits.block for size in sizes.values()) > limits.server:
        return f"The server may hold {_mb(limits.server)} of files, and other sessions leave too little of that."
    return ""


def shortage() -> str:
    """What a person should know before the next upload: empty while a file of any allowed size is accepted."""
    if (here := _here()) is None:
        return ""
    (files, session), limits = here, Limits.of_config()
    why = refusal(files, session, limits, limits.file, [_Upload(session)])
    remedy = "*Clear my data*, on Explore, makes room." if files.file_storage.get(session) else "Try again later."
    return f"{why} Another file may be refused with error 413. {remedy}" if why else ""


def remove(file_id: str) -> None:
    """Remove a file of this session."""
    if (here := _here()) is not None:
        here[0].remove_file(here[1], file_id)


def remove_all() -> None:
    """Remove all files of this session: a browser does not ask for that."""
    if (here := _here()) is not None:
        here[0].remove_session_files(here[1])


def _here() -> tuple[MemoryUploadedFileManager, str] | None:
    """Where Streamlit keeps uploads, and the session that runs."""
    context = get_script_run_ctx()
    return None if context is None else (cast(MemoryUploadedFileManager, context.uploaded_file_mgr), context.session_id)


def _stated_size(scope: Scope) -> int:
    """Content-Length, 0 where there is none that can be read: what arrives is counted anyway."""
    text = Headers(scope=scope).get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _mb(size: int) -> str:
    return f"{size / MB:,.1f}".removesuffix(".0") + " MB"
