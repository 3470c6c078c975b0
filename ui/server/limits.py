"""Limits that an administrator sets: the number of open sessions, their idle time, and the memory of the server.

Limits on uploads are in `uploads.py`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_SESSIONS: Final = "DPFOREST_MAX_SESSIONS"
IDLE_MINUTES: Final = "DPFOREST_IDLE_MINUTES"
MAX_MEMORY: Final = "DPFOREST_MAX_MEMORY_MB"
_DEFAULT_SESSIONS: Final = 100
_MB: Final = 1024 * 1024
_PROCESSES: Final = Path("/proc")
_OF_CONTAINER: Final = Path("/sys/fs/cgroup/memory.max")
_SHARE_OF_CONTAINER: Final = 0.9  # the rest is for the work of sessions that are already open


@dataclass(frozen=True)
class ServerLimits:
    """Limits on sessions and on memory.

    Parameters
    ----------
    sessions : int
        Largest number of open sessions. Each open tab of a browser has a session.
    idle_minutes : int
        Minutes without an action of the user after which a session ends; 0 for no limit.
    memory : int or None
        Number of bytes. While the server uses more, it takes no further session and no further file. None for no
        limit.
    """

    sessions: int = _DEFAULT_SESSIONS
    idle_minutes: int = 0
    memory: int | None = None

    @classmethod
    def of_environment(cls) -> ServerLimits:
        """Return the limits that the environment variables set.

        Without `DPFOREST_MAX_MEMORY_MB`, the limit on memory is nine tenths of the container's memory.

        Raises
        ------
        ValueError
            If a variable is not a number in its range.
        """
        memory = _number(MAX_MEMORY, 0, 256, 10_000_000)
        return cls(
            _number(MAX_SESSIONS, _DEFAULT_SESSIONS, 1, 10_000),
            _number(IDLE_MINUTES, 0, 0, 10_000),
            memory * _MB if memory else _memory_of_container(),
        )

    def no_memory(self) -> str:
        """Return a message if the server uses more than `memory` bytes; otherwise an empty text."""
        if self.memory is None or used_memory() <= self.memory:
            return ""
        return "The server uses all of the memory that it may use."


def used_memory() -> int:
    """Return the memory of this process and its workers, in bytes; 0 without `/proc`, as on Windows and macOS."""
    children: dict[int, list[int]] = {}
    size_of: dict[int, int] = {}
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            pages = int((folder / "statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):  # the process has ended meanwhile
            continue
        children.setdefault(parent, []).append(int(folder.name))
        size_of[int(folder.name)] = pages * os.sysconf("SC_PAGE_SIZE")
    processes = [os.getpid()]
    for process in processes:
        processes += children.get(process, [])
    return sum(size_of.get(process, 0) for process in processes)


def _memory_of_container() -> int | None:
    """Return `_SHARE_OF_CONTAINER` of the memory that the container may use; None without a limit."""
    try:
        return int(_SHARE_OF_CONTAINER * int(_OF_CONTAINER.read_text()))
    except (OSError, ValueError):  # there is no container, or it has no limit
        return None


def _number(name: str, default: int, least: int, most: int) -> int:
    """Return the number in an environment variable, or `default` if the variable is not set or empty."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise ValueError(f"{name} is {text[:40]!r}. It must be a whole number from {least:,} to {most:,}.")
    return int(text)
