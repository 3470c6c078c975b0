"""Rooms in which a class votes. This module does not use Streamlit.

A browser is known by a random token (`ui/server/browser_cookie.py`). The browser that opened a room leads it. Each
browser that joins has one vote per question. A room keeps three things in memory: the tokens that joined, the numbered
answer of each token to each question, and how many browsers recently joined from each network address. It keeps
no names, no times of votes, and no record of which token joined from which address. When the leader closes the room, it
is deleted. If the leader's page has been closed for an hour, the room is deleted as soon as anybody uses any room. The
listener for phones uses the rooms several times a second.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ui.server.rate_limit import RateLimit

# Letters that look like no other letter or digit. Without vowels, four of them are no word.
LETTERS: Final = "BCDFGHJKMNPQRSTVWXZ"
N_LETTERS: Final = 4
ENDS_AFTER: Final = 3600  # seconds after which a room ends if the leader's page is closed; longer than a lesson
MOST_ROOMS: Final = 20  # largest number of rooms of a server
MOST_ROOMS_OF_ADDRESS: Final = 5  # one phone must not take all rooms, but several teachers may share an address
MOST_PHONES: Final = 300  # largest number of phones in a room, as in a lecture
AT_ONCE: Final = 80  # phones that may join in a short time from one address, which two classes may share
NEXT_AFTER: Final = 5.0  # seconds until one more phone may join from an address that reached `AT_ONCE`
LEAST_DRAWN: Final = 5  # least number of answers that are drawn; bars of fewer could reveal who gave which answer


class Refused(Exception):
    """Raised if a request is refused. The message states the reason and what to do."""


@dataclass(frozen=True)
class RoomState:
    """Public state of a room: its step, whether the answer is shown, and how many phones answered and joined."""

    step: int
    is_shown: bool
    n_answers: int
    n_phones: int


class Vote(NamedTuple):
    """The answer of a browser. A browser numbers its answers, so that a late copy of an old answer does not count."""

    answer: int
    number: int


@dataclass
class _Room:
    leader: str
    address: str
    last_seen: float  # time when the leader's page was last open
    step: int = 0
    is_shown: bool = False
    phones: set[str] = field(default_factory=set)
    votes: dict[int, dict[str, Vote]] = field(default_factory=dict)  # for each step, the vote of each phone
    joins: RateLimit = field(default_factory=lambda: RateLimit(AT_ONCE, NEXT_AFTER))

    def counted(self, step: int, n_answers: int) -> list[int]:
        """Return the number of votes for each answer of a step."""
        counts = Counter(vote.answer for vote in self.votes.get(step, {}).values())
        return [counts[i] for i in range(n_answers)]


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
    >>> rooms.state_of(code), rooms.counted(code, "teacher", 0, n_answers=3)
    (RoomState(step=0, is_shown=False, n_answers=2, n_phones=2), [0, 1, 1])
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
            other_rooms = {code: room for code, room in self._rooms.items() if room.leader != browser}
            if len(other_rooms) >= MOST_ROOMS:
                raise Refused(
                    f"This server already has {MOST_ROOMS} rooms open, which is its limit. A room ends when its leader "
                    f"closes it, or {ENDS_AFTER // 60} minutes after the leader's page was last open. Try again then."
                )
            if sum(room.address == address for room in other_rooms.values()) >= MOST_ROOMS_OF_ADDRESS:
                raise Refused(
                    f"{MOST_ROOMS_OF_ADDRESS} rooms are open from your network address, which is the limit. "
                    "Try again when one of them has ended."
                )
            self._rooms = other_rooms
            while (code := "".join(secrets.choice(LETTERS) for _ in range(N_LETTERS))) in other_rooms:
                pass
            other_rooms[code] = _Room(browser, address, self._now())
            return code

    def n_open(self) -> int:
        """Return the number of open rooms."""
        with self._lock:
            self._delete_ended()
            return len(self._rooms)

    def led_by(self, browser: str) -> str | None:
        """Return the letters of the room that this browser leads; None if it leads no room."""
        with self._lock:
            self._delete_ended()
            return next((code for code, room in self._rooms.items() if room.leader == browser), None)

    def close(self, code: str, browser: str) -> None:
        """End a room if this browser leads the room."""
        with self._lock:
            if self._find_led(code, browser):
                del self._rooms[code]

    def stay(self, code: str, browser: str) -> None:
        """Record that the leader's page is open, so that the room does not end."""
        with self._lock:
            if (room := self._find_led(code, browser)) is not None:
                room.last_seen = self._now()

    def go(self, code: str, browser: str, step: int, *, is_shown: bool) -> None:
        """Move the room to the leader's step. Do nothing if this browser does not lead the room."""
        with self._lock:
            if (room := self._find_led(code, browser)) is not None:
                room.step, room.is_shown, room.last_seen = step, is_shown, self._now()

    def state_of(self, code: str) -> RoomState | None:
        """Return the public state of a room; None if the room does not exist or has ended."""
        with self._lock:
            if (room := self._find(code)) is None:
                return None
            return RoomState(room.step, room.is_shown, len(room.votes.get(room.step, ())), len(room.phones))

    def join(self, code: str, browser: str, address: str = "") -> None:
        """Let a browser vote in a room. Do nothing if the browser has already joined, or if there is no such room.

        Raises
        ------
        Refused
            If the room is full, or too many phones joined from this address in a short time.
        """
        with self._lock:
            room = self._find(code)
            if room is None or browser in room.phones:
                return
            if len(room.phones) >= MOST_PHONES:
                raise Refused(
                    f"This room has {MOST_PHONES} phones, and no more can join. You can follow, but not vote."
                )
            if not room.joins.allows(address, self._now()):
                raise Refused(
                    f"More than {AT_ONCE} phones joined from your network address in a short time. Now one more can "
                    f"join every {NEXT_AFTER:.0f} seconds. Keep this page open: it joins by itself."
                )
            room.phones.add(browser)

    def vote(
        self, code: str, browser: str, step: int, answer: int, *, n_answers: int, number: int | None = None
    ) -> bool:
        """Count this answer instead of the browser's earlier answer, if any. Return whether the answer is counted.

        It is counted only if the browser has joined the room, and the room is at this step and hides the right answer.

        Parameters
        ----------
        number : int, optional
            Number that the browser gave this answer. An answer with a smaller number than the counted one is late, and
            does not count. An answer with the same number is a repeated request. By default, the answer is the newest.
        """
        with self._lock:
            room = self._find(code)
            if room is None or browser not in room.phones or room.step != step or room.is_shown:
                return False
            if not 0 <= answer < n_answers:
                return False
            votes = room.votes.setdefault(step, {})
            before = votes.get(browser, Vote(-1, 0))
            answer_number = before.number + 1 if number is None else number
            if answer_number <= before.number:
                return before == Vote(answer, answer_number)
            votes[browser] = Vote(answer, answer_number)
            return True

    def vote_of(self, code: str, browser: str | None, step: int) -> Vote | None:
        """Return this browser's vote on a step; None if it has not voted."""
        with self._lock:
            room = self._find(code)
            return None if room is None or browser is None else room.votes.get(step, {}).get(browser)

    def counted(self, code: str, browser: str, step: int, *, n_answers: int) -> list[int]:
        """Return how many browsers gave each answer of a step.

        The list is empty if nobody answered, or if this browser does not lead the room.
        """
        with self._lock:
            counts = room.counted(step, n_answers) if (room := self._find_led(code, browser)) else []
            return counts if any(counts) else []

    def bars(self, code: str, *, n_answers: int) -> list[int]:
        """Return how many browsers gave each answer of the present step, for everybody to see.

        The list is empty until the right answer is shown, and if fewer than `LEAST_DRAWN` browsers answered.
        """
        with self._lock:
            room = self._find(code)
            counts = room.counted(room.step, n_answers) if room is not None and room.is_shown else []
            return counts if sum(counts) >= LEAST_DRAWN else []

    def _find_led(self, code: str, browser: str | None) -> _Room | None:
        room = self._find(code)
        return room if room is not None and room.leader == browser else None

    def _find(self, code: str) -> _Room | None:
        self._delete_ended()
        return self._rooms.get(code)

    def _delete_ended(self) -> None:
        """Delete the rooms whose leader's page has been closed for `ENDS_AFTER` seconds, with all their answers."""
        oldest = self._now() - ENDS_AFTER
        self._rooms = {code: room for code, room in self._rooms.items() if room.last_seen > oldest}
