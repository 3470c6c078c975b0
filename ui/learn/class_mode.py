"""Class mode: phones join a room with four letters. The page that opened the room leads, and the phones vote."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dpforest.tables.features import plural
from ui import state
from ui.learn import progress, show_of_hands
from ui.learn.rooms import ENDS_AFTER, LEAST_DRAWN, Refused, Rooms
from ui.learn.step import Step
from ui.learn.steps import STEPS
from ui.server.browser_cookie import this_browser
from ui.shared.page import sorry
from ui.shared.wording import unbroken

ROOM: Final = "room"  # parameter in the link
EVERY: Final = 2.0  # seconds between two updates of the room's state on a page
NO_COOKIE: Final = (
    "This browser did not keep the cookie that the server needs to count one vote for each phone. Allow cookies for "
    "this address, then reload the page."
)
# All rooms of this server. They are not in a cache of Streamlit, because every visitor can clear these caches.
ROOMS: Final = Rooms()


def led() -> tuple[str, str] | None:
    """Return the letters of the room that this page leads, and the token of this browser; None if it leads no room."""
    code = st.query_params.get(ROOM) or state.LED_ROOM.value
    browser = this_browser() if code else None
    if not code or browser is None or not ROOMS.leads(code, browser):
        return None
    state.LED_ROOM.value = code  # kept here, because a visit to another page empties the address
    st.query_params[ROOM] = code
    return code, browser


def joined() -> str | None:
    """Return the letters of the room that this page has joined as a phone, or None."""
    code = st.query_params.get(ROOM)
    return code.upper() if code and led() is None else None


def resume() -> None:
    """Open a new page of the leader at the room's step instead of the link's step.

    A student may send the teacher a link to another step with its answer shown. The phones of the class must not follow
    this link. Call this function before `progress.take_the_link`.
    """
    is_new = state.PAGE_DRAWN.value != progress.TITLE
    room = led() if is_new else None
    if room is None or (seen := ROOMS.seen(room[0])) is None:
        return
    if not seen.shown:
        progress.revealed().discard(STEPS[seen.step].key)
    step, shown = str(seen.step), "1" if seen.shown else "0"
    if (st.query_params.get(progress.STEP, "0"), st.query_params.get(progress.SHOWN, "0")) != (step, shown):
        st.query_params.pop(progress.AT, None)
        st.query_params.update({progress.STEP: step, progress.SHOWN: shown})
        st.rerun()  # run again, because controls read the address at the start of a run


def offer(step: Step) -> None:
    """Offer two ways to count the votes of a class: raised hands, and phones."""
    if led() is not None:
        with st.popover("Close the room"):
            st.caption("Phones then see that the room is closed. The server deletes all answers.")
            st.button("Close it", on_click=_close)
        return
    show_of_hands.count(step)
    with st.popover("Let phones vote"):
        st.markdown(
            "A room has four letters. Phones that open its address see the question, answer it, and follow your steps. "
            "For each browser, the server keeps a random number and the answers. It also counts how many browsers "
            "joined from each network address. It keeps all this in memory until you close the room. If this page was "
            f"closed for {ENDS_AFTER // 60} minutes, the next use of any room deletes it. You can lead from this "
            "browser only. A new room ends the room that you led before."
        )
        if _is_local():
            st.caption(
                "Phones reach this app only if it listens to the network. Start it with "
                "`DPFOREST_LESSON_ONLY=1 scripts/run --server.address 0.0.0.0` and open the *Network URL* that it "
                "prints. Everybody on the network can then reach it. `DPFOREST_LESSON_ONLY=1` closes all pages that "
                "read files."
            )
        st.button("Open a room", type="primary", on_click=_open)
        if why := state.NO_ROOM.pop():
            sorry(why)


def lead(step: Step, shown: bool) -> None:
    """Move the room to this page's step. Show its letters, its address, and how many phones joined and answered."""
    if (room := led()) is None:
        return
    ROOMS.go(*room, STEPS.index(step), shown=shown)
    _room_status(*room, _address(room[0]))


def counted(step: Step) -> None:
    """Draw bars of the phones' answers once there are at least `LEAST_DRAWN` answers."""
    if (room := led()) is None:
        return
    votes = ROOMS.counted(*room, STEPS.index(step), n_answers=len(step.answers))
    if not votes:
        return
    if sum(votes) < LEAST_DRAWN:
        st.caption(
            f"{sum(votes)} have answered. With fewer than {LEAST_DRAWN} answers, bars would show who gave which."
        )
        return
    show_of_hands.draw(step, votes)
    st.caption(f"This tally has no noise. “{max(votes)} said so, {max(votes) - 1} after Ben left”: what did Ben say?")


@st.fragment(run_every=EVERY)
def _room_status(code: str, browser: str, address: str) -> None:
    ROOMS.stay(code, browser)
    if (seen := ROOMS.seen(code)) is None:
        st.markdown(f"Room {code} is closed.")
        return
    phones = plural(seen.n_phones, "phone")
    st.markdown(f"Room **{code}** · {address} · {phones} joined, **{seen.n_answers:,}** answered")


@st.fragment(run_every=EVERY)
def phone(code: str) -> None:
    """Draw the whole page of a phone: the question of the room's step, and the right answer once it is shown."""
    seen = ROOMS.seen(code)
    if seen is None:
        shown = code if len(code) <= 12 else f"{code[:11]}…"  # `sorry` escapes special characters
        sorry(f"There is no room {shown}, or it is closed. Ask for the four letters, or go on by yourself.")
        st.button("Go through the lesson alone", on_click=_leave)
        return
    step, browser = STEPS[seen.step], this_browser()
    st.markdown(f"Room **{code}** · step {seen.step} of {len(STEPS) - 1}")
    st.markdown(f"#### {step.title}", anchors=False)
    st.markdown(unbroken(step.text))
    st.markdown(unbroken(f"**{step.question}**"))
    names, answer = list(step.lettered), ROOMS.answer_of(code, browser, seen.step)
    why_not = _why_not_joined(code, browser)
    key = state.VOTE(code, seen.step)
    # each tab of this browser shows the answer that the room counts for the browser
    key.value = None if answer is None else names[answer]
    st.radio(
        step.question,
        names,
        None,
        key=key,
        label_visibility="collapsed",
        disabled=seen.shown or bool(why_not),
        on_change=_take,
        args=(key, code, seen.step, names),
    )
    if state.TOO_LATE.pop():
        st.caption("Your answer came too late, so it was not counted.")
    if seen.shown:
        _show_answer(step, answer)
    elif why_not:
        sorry(why_not)
    else:
        st.caption(
            "You can change your answer until the right one is shown. The page shows nobody who gave which answer."
        )


def _why_not_joined(code: str, browser: str | None) -> str:
    """Let this browser join the room. Return the reason why it may not vote, or an empty text if it may."""
    if browser is None:
        return NO_COOKIE
    try:
        ROOMS.join(code, browser, st.context.ip_address or "")
    except Refused as why:
        return str(why)
    return ""


def _take(key: state.Key, code: str, step: int, names: list[str]) -> None:
    browser, answer = this_browser(), key.value
    if browser is not None and answer in names:
        is_counted = ROOMS.vote(code, browser, step, names.index(answer), n_answers=len(names))
        state.TOO_LATE.value = not is_counted


def _show_answer(step: Step, mine: int | None) -> None:
    names, answers = list(step.lettered), list(step.answers)
    right = next(i for i, answer in enumerate(answers) if answer.right)
    if mine is not None:
        mark = "✓" if mine == right else "✗"
        st.markdown(unbroken(f"{mark} {names[mine]} (your answer). {answers[mine].feedback}"))
    if mine != right:
        st.markdown(unbroken(f"**✓ {names[right]}**"))
    st.markdown(unbroken(f"**{step.take_away}**"))


def _open() -> None:
    if (browser := this_browser()) is None:
        state.NO_ROOM.value = NO_COOKIE
        return
    try:
        state.LED_ROOM.value = ROOMS.open(browser, st.context.ip_address or "")
    except Refused as why:
        state.NO_ROOM.value = str(why)
    else:
        progress.hands().clear()


def _close() -> None:
    if (room := led()) is not None:
        ROOMS.close(*room)
    state.LED_ROOM.pop()
    st.query_params.pop(ROOM, None)


def _leave() -> None:
    st.query_params.pop(ROOM, None)


def _address(code: str) -> str:
    return f"{(st.context.url or '').split('?')[0].rstrip('/')}?{ROOM}={code}"


def _is_local() -> bool:
    return any(name in (st.context.url or "") for name in ("//localhost", "//127.0.0.1"))
