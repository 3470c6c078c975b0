"""Rooms in which a class votes. This module does not use Streamlit.

The server identifies a browser by a random token (`ui/server/browser_cookie.py`). The browser that opened a room leads
it. Each other browser has one vote per question. A room keeps three things in memory: the tokens that joined, the
answers of each token, and how many browsers recently joined from each network address. It keeps no names, no times of
votes, and no record of which token joined from which address. When the leader closes the room, the server deletes it.
If the leader's page has been closed for an hour, the server deletes the room as soon as anybody uses any room.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

LETTERS: Final = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # without letters and digits that look alike
N_LETTERS: Final = 4
ENDS_AFTER: Final = 3600  # seconds after which a room ends if the leader's page is closed; longer than a lesson
MOST_ROOMS: Final = 20
MOST_ROOMS_OF_ADDRESS: Final = 5  # one phone must not take all rooms, but several teachers may share an address
MOST_PHONES: Final = 300  # largest number of phones in a room, as in a lecture
AT_ONCE: Final = 40  # phones that may join in a short time from one address, which a whole class may share
NEXT_AFTER: Final = 5.0  # seconds until one more phone may join from an address that reached `AT_ONCE`
LEAST_DRAWN: Final = 5  # least number of answers that are drawn; bars of fewer could reveal who gave which answer


class Refused(Exception):
    """Raised if a request is refused. The message states the reason and what to do."""


@dataclass(frozen=True)
class Seen:
    """Public state of a room: its step, whether the answer is shown, and how many phones answered and joined."""

    step: int
    shown: bool
    n_answers: int
    n_phones: int


@dataclass
class _Room:
    leader: str
    address: str
    used: float  # time when the leader's page was last open
    step: int = 0
    shown: bool = False
    phones: set[str] = field(default_factory=set)
    answers: dict[int, dict[str, int]] = field(default_factory=dict)  # for each step, the answer of each phone
    # For each address: a count of recent phones, and when it was updated. The count falls by one in `NEXT_AFTER`
    # seconds.
    joined_from: dict[str, tuple[float, float]] = field(default_factory=dict)


class Rooms:
    """All rooms of a server. Several threads may call the methods at the same time.

    Parameters
    ----------
    now : callable
        Seconds of a clock that never goes back.

    Examples
    --------
    >>> rooms = Rooms()
    >>> code = rooms.open("teacher")
    >>> for phone in ("one", "two"):
    ...     rooms.join(code, phone)
    >>> rooms.vote(code, "one", 0, 1, n_answers=3), rooms.vote(code, "two", 0, 0, n_answers=3)
    (True, True)
    >>> rooms.vote(code, "two", 0, 2, n_answers=3)  # replaces the earlier answer
    True
    >>> rooms.seen(code), rooms.counted(code, "teacher", 0, n_answers=3)
    (Seen(step=0, shown=False, n_answers=2, n_phones=2), [0, 1, 1])
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock, self._rooms = now, threading.Lock(), dict[str, _Room]()

    def open(self, browser: str, address: str = "") -> str:
        """Open a room that this browser leads, and return its letters. An earlier room of this browser ends.

        Raises
        ------
        Refused
            If the server or this address already has its largest number of rooms. No existing room is closed to make
            space.
        """
        with self._lock:
            self._delete_ended()
            kept = {code: room for code, room in self._rooms.items() if room.leader != browser}
            if len(kept) >= MOST_ROOMS:
                raise Refused(
                    f"This server already has {MOST_ROOMS} rooms open, which is its limit. A room ends when its leader "
                    f"closes it, or {ENDS_AFTER // 60} minutes after the leader's page was last open. Try again then."
                )
            if sum(room.address == address for room in kept.values()) >= MOST_ROOMS_OF_ADDRESS:
                raise Refused(
                    f"{MOST_ROOMS_OF_ADDRESS} rooms are open from your network address, which is the limit. "
                    "Try again when one of them has ended."
                )
            self._rooms = kept
            while (code := "".join(secrets.choice(LETTERS) for _ in range(N_LETTERS))) in kept:
                pass
            kept[code] = _Room(browser, address, self._now())
            return code

    def close(self, code: str, browser: str) -> None:
        """End a room if this browser leads the room."""
        with self._lock:
            if self._led(code, browser):
                del self._rooms[code]

    def leads(self, code: str, browser: str | None) -> bool:
        """Return whether this browser leads that room."""
        with self._lock:
            return self._led(code, browser) is not None

    def stay(self, code: str, browser: str) -> None:
        """Record that the leader's page is open, so that the room does not end."""
        with self._lock:
            if (room := self._led(code, browser)) is not None:
                room.used = self._now()

    def go(self, code: str, browser: str, step: int, *, shown: bool) -> None:
        """Move the room to the leader's step. Do nothing if this browser does not lead the room."""
        with self._lock:
            if (room := self._led(code, browser)) is not None:
                room.step, room.shown, room.used = step, shown, self._now()

    def seen(self, code: str) -> Seen | None:
        """Return the public state of a room; None if the room does not exist or has ended."""
        with self._lock:
            if (room := self._of(code)) is None:
                return None
            return Seen(room.step, room.shown, len(room.answers.get(room.step, ())), len(room.phones))

    def join(self, code: str, browser: str, address: str = "") -> None:
        """Let a browser vote in a room. Do nothing if the browser has already joined, or if there is no such room.

        Raises
        ------
        Refused
            If the room is full, or too many phones joined from this address in a short time.
        """
        with self._lock:
            room = self._of(code)
            if room is None or browser in room.phones:
                return
            if len(room.phones) >= MOST_PHONES:
                raise Refused(
                    f"This room has {MOST_PHONES} phones, and no more can join. You can follow, but not vote."
                )
            now = self._now()
            n_recent, updated = room.joined_from.get(address, (0.0, now))
            n_recent = max(0.0, n_recent - (now - updated) / NEXT_AFTER)
            if n_recent > AT_ONCE - 1:
                raise Refused(
                    f"More than {AT_ONCE} phones joined from your network address in a short time. Now one more can "
                    f"join every {NEXT_AFTER:.0f} seconds. Keep this page open: it joins by itself."
                )
            room.joined_from[address] = (n_recent + 1, now)
            room.phones.add(browser)

    def vote(self, code: str, browser: str, step: int, answer: int, *, n_answers: int) -> bool:
        """Count this answer instead of the browser's earlier answer, if any. Return whether the answer is counted."""
        with self._lock:
            room = self._of(code)
            if room is None or browser not in room.phones or room.step != step or room.shown:
                return False
            if not 0 <= answer < n_answers:
                return False
            room.answers.setdefault(step, {})[browser] = answer
            return True

    def answer_of(self, code: str, browser: str | None, step: int) -> int | None:
        """Return this browser's answer to a step; None if it has not answered."""
        with self._lock:
            room = self._of(code)
            return None if room is None or browser is None else room.answers.get(step, {}).get(browser)

    def counted(self, code: str, browser: str, step: int, *, n_answers: int) -> list[int]:
        """Return how many browsers gave each answer of a step.

        The list is empty if nobody answered, or if this browser does not lead the room.
        """
        with self._lock:
            room = self._led(code, browser)
            counts = Counter(room.answers.get(step, {}).values()) if room else Counter[int]()
            return [counts[i] for i in range(n_answers)] if counts else []

    def _led(self, code: str, browser: str | None) -> _Room | None:
        room = self._of(code)
        return room if room is not None and room.leader == browser else None

    def _of(self, code: str) -> _Room | None:
        self._delete_ended()
        return self._rooms.get(code)

    def _delete_ended(self) -> None:
        """Delete the rooms whose leader's page has been closed for `ENDS_AFTER` seconds, with all their answers."""
        oldest = self._now() - ENDS_AFTER
        self._rooms = {code: room for code, room in self._rooms.items() if room.used > oldest}
