"""The state of a room as JSON, for a phone. It has the right answer only after the leader has shown this answer."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ui.learn.rooms import Refused, Rooms
from ui.learn.steps import STEPS
from ui.shared.wording import unbroken

NO_COOKIE: Final = (
    "This browser did not keep the cookie that the server needs to count one vote for each phone. Allow cookies for "
    "this address, then reload the page."
)
MOST_CHANGES: Final = 1_000_000  # largest number that a browser may give to one of its answers
_MARKED: Final = re.compile(r":\w+\[(.+?)\]|\*{1,2}(.+?)\*{1,2}")


def state_of(rooms: Rooms, code: str, browser: str | None, address: str) -> dict[str, Any] | None:
    """Let a browser join a room, and return what its page shows; None if the room does not exist or has ended.

    Returns
    -------
    dict
        `mine` and `number` are this browser's vote. `why_not` is the reason why it may not vote, or empty. `right`,
        `feedback`, `take_away` and `bars` come only with the right answer.
    """
    why_not = _join(rooms, code, browser, address)
    if (room_state := rooms.state_of(code)) is None:
        return None
    step, vote = STEPS[room_state.step], rooms.vote_of(code, browser, room_state.step)
    state = {
        "step": room_state.step,
        "last": len(STEPS) - 1,
        "title": step.title,
        "text": plain_text(step.text),
        "question": plain_text(step.question),
        "answers": [plain_text(name) for name in step.lettered],
        "mine": None if vote is None else vote.answer,
        "number": 0 if vote is None else vote.number,
        "shown": room_state.is_shown,
        "why_not": why_not,
    }
    if room_state.is_shown:
        state["right"] = next(i for i, answer in enumerate(step.answers) if answer.right)
        state["feedback"] = "" if vote is None else plain_text(step.answers[vote.answer].feedback)
        state["take_away"] = plain_text(step.take_away)
        state["bars"] = rooms.bars(code, n_answers=len(step.answers))
    return state


def take_vote(rooms: Rooms, code: str, browser: str, body: bytes) -> bool:
    """Count the vote in the body of a request. Return False if the body is no vote."""
    try:
        vote = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(vote, dict) or vote.keys() != {"step", "answer", "number"}:
        return False
    step, answer, number = vote["step"], vote["answer"], vote["number"]
    if not all(type(value) is int for value in vote.values()) or not 0 <= step < len(STEPS):
        return False
    n_answers = len(STEPS[step].answers)
    if not (0 <= answer < n_answers and 1 <= number <= MOST_CHANGES):
        return False
    rooms.vote(code, browser, step, answer, n_answers=n_answers, number=number)
    return True


def plain_text(markdown: str) -> str:
    """Return a text of the lesson without the signs of Markdown, because a phone shows text only.

    >>> plain_text("For *changing* an answer, :gray[not] **two** 5 % × 3")
    'For changing an answer, not two 5\\xa0% × 3'
    """
    return unbroken(_MARKED.sub(lambda match: match[1] or match[2], markdown))


def _join(rooms: Rooms, code: str, browser: str | None, address: str) -> str:
    """Let a browser join a room. Return the reason why it may not vote, or an empty text."""
    if browser is None:
        return NO_COOKIE
    try:
        rooms.join(code, browser, address)
    except Refused as why:
        return str(why)
    return ""
