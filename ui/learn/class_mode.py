"""Class mode: a room that phones join with four letters; one page leads, the others vote and follow."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui.learn import hands, state
from ui.learn.parts_of_steps import Step
from ui.learn.rooms import LEAST_DRAWN, Rooms, Seen
from ui.learn.steps import STEPS
from ui.shared import cache
from ui.shared.controls import is_pair, known, memory, stored
from ui.shared.page import sorry
from ui.shared.wording import plain, unbroken

ROOM, HOST = "room", "host"  # in the link; of a phone the first alone
EVERY: Final = 2.0  # seconds between two looks at the room


@cache.for_everybody()
def rooms() -> Rooms:
    """Of this server: numbers of answers, which everybody in a room sees, and nothing of anybody."""
    return Rooms()


def led() -> tuple[str, str] | None:
    """Letters and key of the room that this page leads."""
    given = (st.query_params.get(ROOM, ""), st.query_params.get(HOST, ""))
    code, key = given if all(given) else stored("led_room", is_pair, ("", ""))
    if not (code and rooms().leads(code, key)):
        return None
    st.session_state["led_room"] = (code, key)  # a visit to another page empties the address
    st.query_params.update({ROOM: code, HOST: key})
    return code, key


def joined() -> str | None:
    """Letters of the room that this page has joined, as a phone does."""
    code = st.query_params.get(ROOM)
    return code.upper() if code and led() is None else None


def offer(step: Step) -> None:
    """Two ways to count a class: raised hands, or phones."""
    if led() is not None:
        with st.popover("Close the room"):
            st.caption("Phones are told that it is closed. What was counted is forgotten.")
            st.button("Close it", on_click=_close)
        return
    hands.count(step)
    with st.popover("Let phones vote"):
        st.markdown(
            "A room has four letters. Phones that open its address see the question, answer it, and follow your steps. "
            "Kept is one number for each answer, in memory, until three hours after the last use."
        )
        if _is_this_machine():
            st.caption(
                "Phones reach this app only if it listens to the network: `scripts/run --server.address 0.0.0.0`, and "
                "you open it by this machine's address, too. Then everybody in the network reaches it: "
                "`DPFOREST_LESSON_ONLY=1` in front of it shuts all pages that read files."
            )
        st.button("Open a room", type="primary", on_click=_open)


def lead(step: Step, shown: bool) -> None:
    """Tell the room where this page is; the letters, the address and how many have answered."""
    if (own := led()) is None:
        return
    rooms().go(*own, STEPS.index(step), shown=shown)
    _wall(own[0], _address(own[0]))


def counted(step: Step) -> None:
    """Bars of what phones have answered, of five answers on."""
    if (own := led()) is None or not (votes := rooms().counted(*own, STEPS.index(step))):
        return
    if sum(votes) < LEAST_DRAWN:
        st.caption(f"{sum(votes)} of the room have answered. Bars of fewer than {LEAST_DRAWN} tell who said what.")
        return
    st.markdown("  \n".join(hands.bars(votes, [answer.right for answer in step.answers])))
    st.caption(f"This tally has no noise. “{max(votes)} said so, {max(votes) - 1} after Ben left”: what did Ben say?")


@st.fragment(run_every=EVERY)
def _wall(code: str, address: str) -> None:
    seen = rooms().seen(code)
    n = 0 if seen is None else seen.n_answers
    st.markdown(f"Room **{code}** · {address} · **{n:,}** answered" if seen else f"Room {code} is closed.")


@st.fragment(run_every=EVERY)
def phone(code: str) -> None:
    """The whole page of a phone: the question of the room's step, and what is true once it is shown."""
    seen = rooms().seen(code)
    if seen is None:
        sorry(f"There is no room {plain(code, 12)}, or it is closed. Ask for the four letters, or go on by yourself.")
        st.button("Go through the lesson alone", on_click=_leave)
        return
    step = STEPS[seen.step]
    st.markdown(f"Room **{code}** · step {seen.step} of {len(STEPS) - 1}")
    st.markdown(f"#### {step.title}", anchors=False)
    st.markdown(unbroken(step.text))
    st.markdown(unbroken(f"**{step.question}**"))
    names, mine = list(step.lettered), _given(code)
    before = mine.get(seen.step)
    known(f"vote_{code}_{seen.step}", [None, *names])
    answer = st.radio(
        step.question, names, before, key=f"vote_{code}_{seen.step}", label_visibility="collapsed", disabled=seen.shown
    )
    if answer is not None and not seen.shown and names.index(answer) != before:
        _take(code, seen, before, names.index(answer), len(names))
    if seen.shown:
        _shown(step, mine.get(seen.step))
    else:
        st.caption("You can change your answer until it is shown. Nobody sees whose it is; it is a show of hands.")


def _take(code: str, seen: Seen, before: int | None, answer: int, n_answers: int) -> None:
    if rooms().vote(code, seen.step, before, answer, n_answers=n_answers):
        _given(code)[seen.step] = answer
    else:
        st.caption("That came too late, or the room is full: it was not counted.")


def _shown(step: Step, mine: int | None) -> None:
    names, answers = list(step.lettered), list(step.answers)
    right = next(i for i, answer in enumerate(answers) if answer.right)
    if mine is not None:
        mark = "✓" if mine == right else "✗"
        st.markdown(unbroken(f"{mark} {names[mine]} (your answer). {answers[mine].feedback}"))
    if mine != right:
        st.markdown(unbroken(f"**✓ {names[right]}**"))
    st.markdown(unbroken(f"**{step.take_away}**"))


def _given(code: str) -> dict[int, int]:
    """This tab's own answers in a room, by step: gone with the tab."""
    return memory("votes", dict).setdefault(code, {})


def _open() -> None:
    st.session_state["led_room"] = rooms().open()
    state.hands().clear()


def _close() -> None:
    if (own := led()) is not None:
        rooms().close(*own)
    st.session_state.pop("led_room", None)
    st.query_params.pop(ROOM, None)
    st.query_params.pop(HOST, None)


def _leave() -> None:
    st.query_params.pop(ROOM, None)


def _address(code: str) -> str:
    return f"{(st.context.url or '').split('?')[0].rstrip('/')}?{ROOM}={code}"


def _is_this_machine() -> bool:
    return any(name in (st.context.url or "") for name in ("//localhost", "//127.0.0.1"))
