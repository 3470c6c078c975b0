"""The wall, which a projector shows to a class: how phones join a room, and how many have joined and answered."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Final
from urllib.parse import urlsplit

import segno
import streamlit as st

from dpforest.tables.features import plural
from ui import state
from ui.learn.rooms import Rooms
from ui.server.host_names import LOOPBACK
from ui.server.lan_addresses import lan_addresses
from ui.server.streamlit_patches import styles
from ui.shared.controls import drop_unknown

UPDATE_SECONDS: Final = 2.0  # seconds between two updates of the counts


def show(rooms: Rooms, code: str, browser: str, port: int | None, *, close: Callable[[], None]) -> None:
    """Draw the address, the letters and the counts of a room, and the QR code unless the leader has hidden it.

    Parameters
    ----------
    code : str
        Letters of the room.
    browser : str
        Token of the leader's browser (`browser_cookie`).
    port : int or None
        Port of the voting listener; None if it does not run.
    close : callable
        Closes the room.
    """
    st.html(styles.WALL)
    hosts = _hosts() if port is not None else []
    host = state.PHONE_ADDRESS.value if state.PHONE_ADDRESS.value in hosts else hosts[0] if hosts else ""
    shows_qr = state.HOW_TO_JOIN.value
    if host and port is not None and shows_qr:
        st.html(_how_to_join(host, port, code))
        address_text = ""
    else:
        address_text = f"{host}:{port} · " if host else "no network now: raise hands · "
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="room_status"):
        _counts(rooms, code, browser, address_text)
        if shows_qr:
            with st.popover("No phone gets in?"):
                _help(hosts, host)
        st.button(f"{'Hide' if shows_qr else 'Show'} the QR code", on_click=_show_qr, args=(not shows_qr,))
        with st.popover("Close the room"):
            st.caption("Phones then see that the room is closed. The server deletes all answers.")
            st.button("Close it", on_click=close)


def address(host: str, port: int, code: str = "") -> str:
    """Return the address of the voting listener or, with the letters `code`, of a room on it.

    >>> address("192.168.1.7", 8600, "BCDF")
    'http://192.168.1.7:8600/BCDF'
    """
    return f"http://{host}:{port}/{code}"


def host_of_page() -> str:
    """Return the host in the address of this page. A browser reaches the voting listener under this host, too."""
    host = urlsplit(st.context.url or "").hostname or LOOPBACK[0]
    return LOOPBACK[0] if host in LOOPBACK else host


def _hosts() -> list[str]:
    """Return the addresses of this machine. The one in the address of this page, if any, comes first."""
    hosts, page_host = lan_addresses(), host_of_page()
    return sorted(hosts, key=lambda host: host != page_host)


def _how_to_join(host: str, port: int, code: str) -> str:
    """Return the QR code, the address and the letters of a room, as HTML."""
    link = escape(address(host, port, code))
    picture = escape(segno.make(link, error="m", micro=False).svg_data_uri(border=3, light="white"))
    return (
        f'<div class="wall"><img src="{picture}" alt="QR code of {link}"><div><p>Scan the code. Or open: </p>'
        f'<p class="address">{escape(host)}:{port}</p><p>Then type: </p><p class="letters">{escape(code)}</p>'
        '<p class="note">Phones must be in the same network as this computer.</p></div></div>'
    )


@st.fragment(run_every=UPDATE_SECONDS)
def _counts(rooms: Rooms, code: str, browser: str, address_text: str) -> None:
    """Draw the numbers of phones and answers, and record that the page of the leader is open."""
    rooms.stay(code, browser)
    if (room_state := rooms.state_of(code)) is None:
        st.markdown(f"Room {code} is closed.")
        return
    joined = f"{plural(room_state.n_phones, 'phone')} joined"
    st.markdown(f"Room **{code}** · {address_text}{joined}, **{room_state.n_answers:,}** answered", width="content")


def _help(hosts: list[str], host: str) -> None:
    """Draw advice for phones that cannot open the page, and a choice of addresses if there are several."""
    if len(hosts) > 1:
        drop_unknown(state.CHOSEN_ADDRESS, hosts)
        question = "This computer has several addresses. Try another one:"
        st.radio(question, hosts, hosts.index(host), key=state.CHOSEN_ADDRESS, on_change=_take_address)
    st.markdown(
        "- Is the phone in the same network as this computer? A guest network often keeps devices apart. Then the "
        "hotspot of a phone helps.\n"
        "- Does the firewall of this computer ask? Let Python accept connections.\n"
        "- Otherwise close the room, and *Count hands* takes the numbers."
    )


def _take_address() -> None:
    # The session keeps the address, because Streamlit drops the value of a control that is not drawn.
    state.PHONE_ADDRESS.value = state.CHOSEN_ADDRESS.value


def _show_qr(shows_qr: bool) -> None:
    state.HOW_TO_JOIN.value = shows_qr
