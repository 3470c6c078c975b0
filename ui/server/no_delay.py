"""Answers leave at once: the server's sockets do not wait for the browser between two parts of an answer.

Streamlit opens its socket in a way that asyncio does not take for TCP, so Nagle's algorithm stays on: the second part
of an answer waits until the browser has said that the first came, which it puts off for 40 ms. A page takes a hundred
answers. Connections take the setting of the socket that listens.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

MOST_FILES: Final = 1024


def send_at_once() -> int:
    """Set it on every TCP socket of this process that listens; gives how many these are."""
    n = 0
    for listening in _listening():
        with listening, suppress(OSError):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            n += 1
    return n


def _listening() -> Iterator[socket.socket]:
    """A second handle on each socket, to be closed."""
    for number in [number for number in range(3, MOST_FILES) if _is_socket(number)]:
        found = socket.socket(fileno=os.dup(number))
        is_tcp = found.type == socket.SOCK_STREAM and found.family in (socket.AF_INET, socket.AF_INET6)
        if is_tcp and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            yield found
        else:
            found.close()


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False
