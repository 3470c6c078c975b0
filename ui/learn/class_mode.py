"""Class mode: phones vote in a room, which has four letters as its name. The browser that opened the room leads it."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui import state
from ui.learn import progress, show_of_hands, wall
from ui.learn.rooms import ENDS_AFTER, LEAST_DRAWN, N_LETTERS, Refused, Rooms
from ui.learn.step import Step
from ui.learn.steps import STEPS
from ui.learn.voting_listener import VotingListener
from ui.server.browser_cookie import this_browser
from ui.server.lan_addresses import lan_addresses
from ui.shared.page import sorry
from ui.shared.wording import plain

NO_COOKIE: Final = (
    "This browser did not keep the cookie by which the server knows who leads a room. Allow cookies for this address, "
    "then reload the page."
)
NO_NETWORK: Final = (
    "This computer is in no network, so phones cannot reach it. Connect it to the network of the phones and try again, "
    "or let the class raise hands: *Count hands* takes the numbers."
)
# All rooms of this server. They are not in a cache of Streamlit, because every visitor can clear these caches.
ROOMS: Final = Rooms()
LISTENER: Final = VotingListener(ROOMS)


def led_room() -> tuple[str, str] | None:
    """Return the letters of the room that this browser leads, and the token of the browser; None if it leads no room.

    Whether a browser leads a room depends only on its token, which is in a cookie. The address of the page gives no
    right to lead.
    """
    browser = this_browser()
    code = ROOMS.led_by(browser) if browser is not None else None
    return None if browser is None or code is None else (code, browser)


def resume() -> None:
    """Open a new page of the leader at the room's step instead of the link's step.

    A student may send the teacher a link to another step with its answer shown. The phones of the class must not follow
    this link. Call this function before `progress.take_the_link`.
    """
    is_new = state.PAGE_DRAWN.value != progress.TITLE
    room = led_room() if is_new else None
    if room is None or (room_state := ROOMS.state_of(room[0])) is None:
        return
    if not room_state.is_shown:
        progress.revealed().discard(STEPS[room_state.step].key)
    step, shown_text = str(room_state.step), "1" if room_state.is_shown else "0"
    if (st.query_params.get(progress.STEP, "0"), st.query_params.get(progress.SHOWN, "0")) != (step, shown_text):
        st.query_params.pop(progress.AT, None)
        st.query_params.update({progress.STEP: step, progress.SHOWN: shown_text})
        st.rerun()  # run again, because controls read the address at the start of a run


def offer(step: Step) -> None:
    """Offer two ways to count the votes of a class, raised hands and phones, unless phones vote already."""
    if led_room() is not None:
        return
    show_of_hands.count(step)
    with st.popover("Let phones vote"):
        st.markdown(
            "A room has four letters. Phones in the network of this computer open its address, see each question, "
            "answer it, and follow your steps. They reach nothing else of this app."
        )
        st.button("Open a room", type="primary", on_click=_open)
        if why := state.NO_ROOM.pop():
            sorry(why)
        st.caption(
            "For each browser, the server keeps a random number and the answers. It also counts how many browsers "
            "joined from each network address. It keeps all this in memory until you close the room, or until this "
            f"page was closed for {ENDS_AFTER // 60} minutes. You can lead from this browser only."
        )
        _join_field()


def _join_field() -> None:
    """Draw a field for the letters of a room that another browser leads, and a link to its page for votes."""
    letters = st.text_input(
        "Or vote in a room: its letters", max_chars=N_LETTERS, key=state.ROOM_LETTERS, placeholder="four letters"
    )
    if not (code := letters.strip().upper()):
        return
    if (port := LISTENER.port) is None or ROOMS.state_of(code) is None:
        sorry(f"There is no room {code}, or it is closed. Look at the letters on the wall.")
    else:
        st.link_button(f"Vote in room {plain(code)}", wall.address(wall.host_of_page(), port, code))


def lead(step: Step, is_shown: bool) -> None:
    """Move the room to this page's step. Draw the wall: how phones join, and how many joined and answered."""
    if (room := led_room()) is None:
        return
    ROOMS.go(*room, STEPS.index(step), is_shown=is_shown)
    try:
        LISTENER.start()  # it runs already, unless something has stopped it
    except OSError as why:
        sorry(_no_port(why))
    wall.show(ROOMS, *room, LISTENER.port, close=_close)


def draw_votes(step: Step) -> None:
    """Draw bars of the phones' answers once there are at least `LEAST_DRAWN` answers."""
    if (room := led_room()) is None:
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


def _open() -> None:
    if (browser := this_browser()) is None:
        state.NO_ROOM.value = NO_COOKIE
        return
    if not lan_addresses():
        state.NO_ROOM.value = NO_NETWORK
        return
    try:
        code = ROOMS.open(browser, st.context.ip_address or "")
    except Refused as why:
        state.NO_ROOM.value = str(why)
        return
    try:
        LISTENER.start()
    except OSError as why:
        ROOMS.close(code, browser)
        state.NO_ROOM.value = _no_port(why)
        return
    state.HOW_TO_JOIN.value = True
    progress.hands().clear()


def _close() -> None:
    if (room := led_room()) is not None:
        ROOMS.close(*room)


def _no_port(why: OSError) -> str:
    return f"This computer lets no server for phones start ({why.strerror or why}). *Count hands* takes raised hands."
