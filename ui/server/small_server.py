"""A small HTTP server for a network that nobody guards.

It limits the number of connections, their rate, the time of each connection, and the size of a request.
Each connection has one request and one thread, so a phone that loses its network leaves nothing behind. The server
closes a connection beyond the limits without an answer. It writes no log, because a log would list network addresses.
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
MOST_OF_ADDRESS: Final = 150  # open connections of one address; the phones of a class may share it
# Limits for one address: its 300 phones send a request every 1.5 s, and may all start together.
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
                if len(connections) >= most:  # the oldest connection makes room
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
        """End connections that have been open for more than `most_seconds`, so that nobody can hold them open."""
        latest = time.monotonic() - most_seconds
        with self._lock:
            for request, (_, start) in self._open.items():
                if start < latest:
                    _end(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print an error of the program, but not that of a broken connection. Name no network address."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, "a client")


def _end(request: socket) -> None:
    with suppress(OSError):
        request.shutdown(SHUT_RDWR)  # the thread of the connection then reads its end, and closes it


class _FirstBytes(RawIOBase):
    """The bytes that arrive at a socket. Reading more than `MOST_REQUEST` bytes fails."""

    def __init__(self, connection: socket) -> None:
        self._connection, self._left = connection, MOST_REQUEST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            raise ConnectionAbortedError("the request is too long")  # a request that is cut off must not look complete
        n_read = self._connection.recv_into(buffer, min(len(buffer), self._left))
        self._left -= n_read
        return n_read


class SmallHandler(BaseHTTPRequestHandler):
    """Handler that checks the headers of one request and sends one answer. A subclass defines `get` and `post`.

    `Host` must be an IP address or a name of this machine, as a protection against DNS rebinding. `Origin`, if it is
    sent, must name this server, so that a page of another site cannot vote for a visitor.
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
        """Send an answer with the content type `kind`. In names of further headers, underscores become hyphens."""
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
        """Return whether `Host` and `Origin` are allowed. If not, send an error."""
        hosts = self.headers.get_all("Host") or [""]
        allowed = len(hosts) == 1 and self.server.names.include(hosts[0])
        if not (allowed and is_same_site(self.headers.get("Origin"), hosts[0])):
            self.send_error(403)
            return False
        return True
