"""Rooms in which a class votes: whole numbers for each answer, and nothing of anybody. No streamlit in here.

Not kept: names, sessions, addresses, times of votes, who gave which answer. In memory only.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

LETTERS: Final = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # none that can be taken for another
N_LETTERS: Final = 4
FORGOTTEN_AFTER: Final = 3 * 3600  # seconds without use
MOST_ROOMS: Final = 20
MOST_VOTES: Final = 1_000  # of one question
LEAST_DRAWN: Final = 5  # answers; of fewer, bars would tell who gave which


@dataclass(frozen=True)
class Seen:
    """What anybody may see of a room: the step, whether its answer is shown, and how many have answered."""

    step: int
    shown: bool
    n_answers: int


@dataclass
class _Room:
    key: str
    used: float
    step: int = 0
    shown: bool = False
    tally: dict[int, list[int]] = field(default_factory=dict)


class Rooms:
    """All rooms of a server. Every method may be called by several threads.

    Parameters
    ----------
    now : callable
        Seconds of a clock that never goes back.

    Examples
    --------
    >>> rooms = Rooms()
    >>> code, key = rooms.open()
    >>> rooms.vote(code, 0, None, 1, n_answers=3), rooms.vote(code, 0, 1, 2, n_answers=3)
    (True, True)
    >>> rooms.seen(code), rooms.counted(code, key, 0)
    (Seen(step=0, shown=False, n_answers=1), [0, 0, 1])
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock, self._rooms = now, threading.Lock(), dict[str, _Room]()

    def open(self) -> tuple[str, str]:
        """A new room: its letters, and the key of whoever leads it. The room that was used longest ago makes way."""
        with self._lock:
            for code in [code for code in self._rooms if self._is_over(code)]:
                del self._rooms[code]
            while len(self._rooms) >= MOST_ROOMS:
                del self._rooms[min(self._rooms, key=lambda code: self._rooms[code].used)]
            while (code := "".join(secrets.choice(LETTERS) for _ in range(N_LETTERS))) in self._rooms:
                pass
            self._rooms[code] = _Room(secrets.token_urlsafe(9), self._now())
            return code, self._rooms[code].key

    def close(self, code: str, key: str) -> None:
        """Forget a room, if this is its key."""
        if self.leads(code, key):
            with self._lock:
                self._rooms.pop(code, None)

    def seen(self, code: str) -> Seen | None:
        """None where there is no such room, or no more."""
        with self._lock:
            room = self._of(code)
            return None if room is None else Seen(room.step, room.shown, sum(room.tally.get(room.step, ())))

    def leads(self, code: str, key: str) -> bool:
        """Whether this is the key of that room."""
        with self._lock:
            room = self._of(code)
            return room is not None and secrets.compare_digest(room.key.encode(), key.encode())

    def go(self, code: str, key: str, step: int, *, shown: bool) -> None:
        """Where the one who leads is; of others nothing happens."""
        if self.leads(code, key):
            with self._lock:
                if (room := self._of(code)) is not None:
                    room.step, room.shown, room.used = step, shown, self._now()

    def vote(self, code: str, step: int, old: int | None, new: int, *, n_answers: int) -> bool:
        """Count an answer, in place of the one that the same tab gave before; False where it comes too late."""
        with self._lock:
            room = self._of(code)
            if room is None or room.step != step or room.shown or not 0 <= new < n_answers:
                return False
            votes = room.tally.setdefault(step, [0] * n_answers)
            if old is None and sum(votes) >= MOST_VOTES:
                return False
            if old is not None:
                votes[old] -= 1
            votes[new] += 1
            room.used = self._now()
            return True

    def counted(self, code: str, key: str, step: int) -> list[int]:
        """Answers of a step, for whoever leads; empty for others."""
        if not self.leads(code, key):
            return []
        with self._lock:
            room = self._of(code)
            return list(room.tally.get(step, ())) if room else []

    def _of(self, code: str) -> _Room | None:
        return None if code not in self._rooms or self._is_over(code) else self._rooms[code]

    def _is_over(self, code: str) -> bool:
        return self._now() - self._rooms[code].used >= FORGOTTEN_AFTER
