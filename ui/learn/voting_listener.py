"""The voting listener: a small server on a separate port, where the phones of a class vote in rooms (`rooms.py`).

The listener starts when the first room opens, and stops soon after the last room has ended. It serves a page
(`phone_page`) and the state of a room (`phone_state`), and takes votes. It serves no other part of the app, so the app
need not be open to the network.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from pathlib import Path
from typing import Final

from starlette.requests import cookie_parser

from ui.learn import phone_state
from ui.learn.rooms import N_LETTERS, Rooms
from ui.server.browser_cookie import checked, cookie_name, new_token
from ui.server.small_server import SmallHandler, SmallServer

EVERYWHERE: Final = "0.0.0.0"  # all networks of this machine, so that a new Wi-Fi address works too
# Ports to try in this order. The first is fixed, so that a firewall can allow it and a phone finds it again. 0 stands
# for any free port, if another program has the first.
PORTS: Final = (8600, 0)
# Seconds that the listener outlives the last room, so that the phones learn that the room is closed.
STAYS: Final = 6.0
_ROUTE: Final = re.compile(rf"/([A-Za-z0-9]{{{N_LETTERS}}})(/state|/vote)?")
_FILES: Final = Path(__file__).parent / "phone_page"
_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def _page() -> str:
    """Return the page of a phone, the same for all rooms. In each response, a new random text replaces `{nonce}`."""
    html, css, js = ((_FILES / f"phone.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    return html.replace("/* phone.css */", css).replace("/* phone.js */", js)


_PAGE: Final = _page()


class VotingListener:
    """Server of the rooms for phones. It runs while there is an open room.

    Parameters
    ----------
    rooms : Rooms
        Rooms in which the phones vote. The listener runs while one of them is open.
    host : str
        Address that the listener binds.
    ports : tuple of int
        Ports to try in this order; 0 stands for any free port.
    stays : float
        Seconds that the listener outlives the last room.
    """

    def __init__(
        self, rooms: Rooms, *, host: str = EVERYWHERE, ports: tuple[int, ...] = PORTS, stays: float = STAYS
    ) -> None:
        self._rooms, self._host, self._ports, self._stays = rooms, host, ports, stays
        self._lock = threading.Lock()
        self._server: SmallServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int | None:
        """Port of the listener; None if the listener does not run."""
        with self._lock:
            return None if self._server is None else self._server.port

    def start(self) -> None:
        """Start the listener if it does not run. It stops by itself after the last room.

        Raises
        ------
        OSError
            If the machine refuses every port.
        """
        with self._lock:
            if self._server is not None:
                return
            self._server = server = self._bind()
            self._thread = threading.Thread(target=self._serve, args=(server,), name="voting listener", daemon=True)
            self._thread.start()

    def join(self, seconds: float) -> bool:
        """Wait for at most `seconds` until the listener has stopped. Return whether no listener runs."""
        if (thread := self._thread) is not None:
            thread.join(seconds)
        return self.port is None

    def _bind(self) -> SmallServer:
        class Handler(_Handler):
            rooms = self._rooms

        for port in self._ports[:-1]:
            try:
                return SmallServer(self._host, port, Handler)
            except OSError:  # another program has the port
                continue
        return SmallServer(self._host, self._ports[-1], Handler)

    def _serve(self, server: SmallServer) -> None:
        last_open = time.monotonic()
        try:
            while True:
                server.handle_request()  # waits for at most `CHECK_EVERY` seconds
                server.end_slow()
                if self._rooms.n_open():
                    last_open = time.monotonic()
                elif time.monotonic() - last_open >= self._stays and self._stop(server):
                    return
        finally:
            self._stop(server, even_if_open=True)

    def _stop(self, server: SmallServer, *, even_if_open: bool = False) -> bool:
        """Close the port, unless a new room has opened meanwhile. Return whether the port is closed."""
        with self._lock:
            if self._rooms.n_open() and not even_if_open:
                return False
            server.server_close()
            if self._server is server:
                self._server = None
            return True


class _Handler(SmallHandler):
    """Serve the page at `/` and `/LETTERS`, and a room's state at `/LETTERS/state`. Take votes at `/LETTERS/vote`."""

    rooms: Rooms

    def get(self, path: str) -> None:
        route = _ROUTE.fullmatch(path)
        if path == "/" or (route and route[2] is None):
            self._answer_page()
        elif route and route[2] == "/state":
            self._answer_state(route[1].upper())
        else:
            self.send_error(404)

    def post(self, path: str, body: bytes) -> None:
        route, browser = _ROUTE.fullmatch(path), self._browser()
        if not route or route[2] != "/vote":
            self.send_error(404)
        elif self.headers.get_content_type() != "application/json":
            self.send_error(415)
        else:
            code, state = route[1].upper(), None
            if browser is not None:
                state = phone_state.state_of(self.rooms, code, browser, self.client_address[0])  # lets the phone join
                if state is not None and not phone_state.take_vote(self.rooms, code, browser, body):
                    self.send_error(400)
                    return
            self._answer_state(code)

    def _answer_page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        headers = {"Content_Security_Policy": _POLICY.replace("{nonce}", nonce)}
        if self._browser() is None:
            headers["Set_Cookie"] = f"{self._cookie_name}={new_token()}; Path=/; HttpOnly; SameSite=Lax"
        self.answer(200, _PAGE.replace("{nonce}", nonce).encode(), "text/html", **headers)

    def _answer_state(self, code: str) -> None:
        state = phone_state.state_of(self.rooms, code, self._browser(), self.client_address[0])
        status, content = (404, {"closed": True}) if state is None else (200, state)
        self.answer(status, json.dumps(content).encode(), "application/json")

    @property
    def _cookie_name(self) -> str:
        return cookie_name(f":{self.server.port}")

    def _browser(self) -> str | None:
        """Return the token of the browser; None if it sent none that this server issued."""
        # `SimpleCookie` stops at the first cookie that it cannot read. Another server of this machine may have set it.
        return checked(cookie_parser(self.headers.get("Cookie", "")).get(self._cookie_name))
