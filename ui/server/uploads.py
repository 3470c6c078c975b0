"""Limits on uploads, checked before and while the server reads a file. The server keeps every upload in memory.

Anybody who reaches the server can send files to it, even from a page without a file field. Streamlit limits only the
size of one file (`server.maxUploadSize`). This module also limits the files of one session, and of all sessions
together. These limits are multiples of `server.maxUploadSize`, so one option adapts all limits to a larger machine.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.server.streamlit_patches.internals import (
    UPLOAD_ROUTE,
    MemoryUploadedFileManager,
    current_runtime,
    files_of_this_session,
    has_ended,
)

MB: Final = 1024 * 1024
# Largest number of files of a session. The pages have eight file fields. Four more files are a reserve for
# replacements: the server removes a replaced file only after its replacement has arrived.
SESSION_FILES: Final = 12
# Largest size of all files of a session, in units of `server.maxUploadSize`: a table, a replacement that arrives, and
# half a unit for files of domains and forests.
SESSION_SIZE: Final = 2.5
# Largest size of all files of the server, in units of `server.maxUploadSize`. It is enough for two sessions at their
# limit, or for many sessions with files of usual size.
SERVER_SIZE: Final = 5
# A block is `server.maxUploadSize` divided by this number. The size of each session is rounded up to whole blocks.
BLOCKS: Final = 20


def lesson_only() -> bool:
    """Return whether the server offers the lesson only. Then no page reads a file, and it refuses all uploads."""
    return os.environ.get("DPFOREST_LESSON_ONLY") == "1"


@dataclass(frozen=True)
class Limits:
    """Limits for one file, one session and the whole server, and the size of a block (`BLOCKS`), all in bytes."""

    file: int
    session: int
    server: int
    block: int

    @classmethod
    def of_config(cls) -> Limits:
        largest = int(st.get_option("server.maxUploadSize")) * MB
        return cls(largest, int(SESSION_SIZE * largest), SERVER_SIZE * largest, largest // BLOCKS)


@dataclass(eq=False)
class _Upload:
    """A file that is arriving, and the number of bytes that have arrived."""

    session: str
    size: int = 0


class _Refused(Exception):
    """Raised if an upload is refused. The message states the reason."""


class Uploads:
    """Middleware that refuses uploads beyond the limits, and every upload if the server offers the lesson only.

    Files that have arrived are counted in Streamlit's store of uploads, so that a removed file no longer counts.

    Parameters
    ----------
    running : callable
        Returns the Streamlit runtime.
    no_memory : callable
        Returns a message if the server has no memory for another file; otherwise an empty text.
    """

    def __init__(
        self, app: ASGIApp, running: Callable[[], Any] = current_runtime, no_memory: Callable[[], str] = str
    ) -> None:
        self._app, self._running, self._no_memory = app, running, no_memory
        self._limits = Limits.of_config()
        self._arriving: list[_Upload] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_upload = scope["type"] == "http" and UPLOAD_ROUTE in scope["path"]
        if is_upload and lesson_only():
            await PlainTextResponse("Not found", 404)(scope, receive, send)
        elif is_upload and scope["method"] == "PUT":
            await self._take(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["path"].partition(f"{UPLOAD_ROUTE}/")[2].partition("/")[0]
        upload = _Upload(session)

        async def counted() -> Message:
            message = await receive()
            upload.size += len(message.get("body", b""))
            self._check(session)
            return message

        self._remove_of_ended()
        self._arriving.append(upload)
        try:
            if why := self._no_memory():
                raise _Refused(f"{why} Try again in some minutes.")
            self._check(session, _stated_size(scope))
            await self._app(scope, counted, send)
        except _Refused as why:
            await PlainTextResponse(str(why), 413)(scope, receive, send)
        finally:
            self._arriving.remove(upload)
            self._remove_of_ended()  # if the session has ended meanwhile, nothing else would remove this file

    def _remove_of_ended(self) -> None:
        """Remove files of sessions that have ended, because Streamlit removes them only when a later session ends."""
        server = self._running()
        for session in list(server.uploaded_file_mgr.file_storage):
            if has_ended(server, session):
                server.uploaded_file_mgr.remove_session_files(session)

    def _check(self, session: str, stated: int = 0) -> None:
        why = refusal(self._running().uploaded_file_mgr, session, self._limits, stated, self._arriving)
        if why:
            raise _Refused(why)


def refusal(
    files: MemoryUploadedFileManager, session: str, limits: Limits, more: int = 0, arriving: Iterable[_Upload] = ()
) -> str:
    """Return a message that says why the server refuses `more` bytes from a session; empty if it accepts them.

    `arriving` are the uploads of all sessions that are not complete yet.
    """
    sizes, n_files = Counter[str](), 0
    for key, session_files in list(files.file_storage.items()):
        sizes[key] += sum(len(file.data) for file in list(session_files.values()))
        n_files += len(session_files) if key == session else 0
    size_before = sizes[session]
    for upload in arriving:
        sizes[upload.session] += upload.size
        n_files += upload.session == session
    sizes[session] += more
    if n_files > SESSION_FILES:
        return f"A session can hold {SESSION_FILES} files, and yours has no room for another."
    if sizes[session] > limits.session:
        return f"A session can hold {_mb(limits.session)} of files, and yours holds {_mb(size_before)}."
    # Sizes are counted in whole blocks, so that an attacker who tries several sizes cannot learn the exact size of
    # other people's files.
    if sum(-(-size // limits.block) * limits.block for size in sizes.values()) > limits.server:
        return f"The server can hold {_mb(limits.server)} of files, and other sessions leave too little room."
    return ""


def shortage() -> str:
    """Return a warning if the server might refuse the next file of this session; empty if it accepts any size."""
    if (files_and_session := files_of_this_session()) is None:
        return ""
    (files, session), limits = files_and_session, Limits.of_config()
    why = refusal(files, session, limits, limits.file, [_Upload(session)])
    remedy = (
        "To make room, press *Clear my data* on Explore." if files.file_storage.get(session) else "Try again later."
    )
    return f"{why} The server may refuse another file (error 413). {remedy}" if why else ""


def remove(file_id: str) -> None:
    """Remove a file of this session."""
    if (files_and_session := files_of_this_session()) is not None:
        files_and_session[0].remove_file(files_and_session[1], file_id)


def remove_all() -> None:
    """Remove all files of this session. A browser asks the server only to remove a single file."""
    if (files_and_session := files_of_this_session()) is not None:
        files_and_session[0].remove_session_files(files_and_session[1])


def _stated_size(scope: Scope) -> int:
    """Return the header Content-Length, or 0 if it is missing or no number. Then only the bytes that arrive count."""
    text = Headers(scope=scope).get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _mb(size: int) -> str:
    return f"{size / MB:,.1f}".removesuffix(".0") + " MB"
