"""A small HTTP server for a network that nobody guards. It limits connections, their rate and time, and request sizes.

Each connection has one request and one thread, so a phone that loses its network leaves nothing behind. A connection
beyond the limits is closed without an answer. The server writes no log, because a log would list network addresses.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from io import BufferedReader, RawIOBase
from socket import SHUT_RDWR, socket
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final

from ui.server.guards import is_same_site
from ui.server.host_names import HostNames
from ui.server.rate_limit import RateLimit

MOST_CONNECTIONS: Final = 400  # open connections of the server; each has a thread
MOST_OF_ADDRESS: Final = 150  # open connections of one address, which a whole class may share
# Requests of one address: 300 phones send a request every 1.5 s, and may all start together.
REQUESTS_AT_ONCE: Final = 900
REQUESTS_PER_SECOND: Final = 300
MOST_SECONDS: Final = 10.0  # time limit for a request and its answer
SLOW: Final = 1.0  # seconds after which a connection makes room for a new one, if there is no other room
MOST_BODY: Final = 200  # bytes; a vote has about 40
MOST_REQUEST: Final = 16 * 1024  # bytes that the server reads of a request; browsers send about 600
CHECK_EVERY: Final = 0.25  # seconds between two checks for slow connections
_TLS: Final = b"\x16"  # first byte of an encrypted connection, which some browsers try first
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class SmallServer(ThreadingMixIn, TCPServer):
    """Server for one kind of handler. The constructor binds the port; `handle_request` accepts one connection.

    Raises
    ------
    OSError
        If the port is not free.
    """

    # On Windows, this option would let two servers share a port.
    allow_reuse_address = os.name != "nt"
    daemon_threads = True
    request_queue_size = 128  # connections that wait; a class opens the page within a second
    timeout = CHECK_EVERY

    def __init__(self, host: str, port: int, handler: type[SmallHandler]) -> None:
        self._lock = threading.Lock()
        self._open: dict[Any, tuple[str, float]] = {}  # address and start of each open connection
        self._rate = RateLimit(REQUESTS_AT_ONCE, 1 / REQUESTS_PER_SECOND)
        self.names = HostNames.of_network()
        super().__init__((host, port), handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether the server answers this connection. If not, `TCPServer` closes it."""
        address, now = str(client_address[0]), time.monotonic()
        with self._lock:
            of_address = {each: start for each, (other, start) in self._open.items() if other == address}
            everybody = {each: start for each, (_, start) in self._open.items()}
            if not self._rate.allows(address, now):
                return False
            for connections, most in ((of_address, MOST_OF_ADDRESS), (everybody, MOST_CONNECTIONS)):
                if len(connections) >= most:  # the slowest connection makes room
                    oldest = min(connections, key=connections.__getitem__)
                    if now - connections[oldest] < SLOW:
                        return False
                    self._open.pop(oldest, None)
                    _end(oldest)
                    break
            self._open[request] = (address, now)
        return True

    def close_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().close_request(request)

    def end_slow(self, most_seconds: float = MOST_SECONDS) -> None:
        """End connections that took too long, so that nobody can hold them open."""
        latest = time.monotonic() - most_seconds
        with self._lock:
            for request, (_, start) in self._open.items():
                if start < latest:
                    _end(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors of the program, but not the errors of a connection that broke."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, "a client")


def _end(request: socket) -> None:
    with suppress(OSError):
        request.shutdown(SHUT_RDWR)  # its thread then reads the end of the connection, and closes it


class _FirstBytes(RawIOBase):
    """The first `MOST_REQUEST` bytes that arrive at a socket."""

    def __init__(self, connection: socket) -> None:
        self._connection, self._left = connection, MOST_REQUEST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            raise ConnectionAbortedError("the request is too long")  # what is cut off must not pass for a whole request
        n_read = self._connection.recv_into(buffer, min(len(buffer), self._left))
        self._left -= n_read
        return n_read


class SmallHandler(BaseHTTPRequestHandler):
    """Checks the headers of one request and sends one answer. A subclass defines `get` and `post`.

    `Host` must be an address or a name of this machine, as a protection against DNS rebinding, and `Origin` must be
    this server, so that no other site can vote for a visitor.
    """

    protocol_version = "HTTP/1.1"
    timeout = MOST_SECONDS
    server: SmallServer
    rfile: BufferedReader

    def get(self, path: str) -> None:
        raise NotImplementedError

    def post(self, path: str, body: bytes) -> None:
        raise NotImplementedError

    def setup(self) -> None:
        super().setup()
        self.rfile = BufferedReader(_FirstBytes(self.connection))

    def handle(self) -> None:
        if self.rfile.peek(1)[:1] != _TLS:
            super().handle()

    def do_GET(self) -> None:
        if self._is_allowed():
            self.get(self.path.partition("?")[0])

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        is_number = length.isascii() and length.isdigit() and len(length) < 10
        if not self._is_allowed():
            return
        if "Transfer-Encoding" in self.headers or not is_number:
            self.send_error(411)
        elif int(length) > MOST_BODY:
            self.send_error(413)
            self.rfile.read(int(length))  # some clients read no answer before they have sent everything
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):  # otherwise the connection broke
                self.post(self.path.partition("?")[0], body)

    def answer(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        """Send an answer and its headers. Underscores in names of headers become hyphens."""
        self.close_connection = True
        self.send_response_only(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lengths = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        for name, value in (_HEADERS | lengths | named).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send a short answer without any part of the request."""
        self.answer(code, f"{int(code)} {self.responses.get(code, ('Error', ''))[0]}\n".encode(), "text/plain")

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""

    def _is_allowed(self) -> bool:
        hosts = self.headers.get_all("Host") or [""]
        allowed = len(hosts) == 1 and self.server.names.include(hosts[0])
        if not (allowed and is_same_site(self.headers.get("Origin"), hosts[0])):
            self.send_error(403)
            return False
        return True
