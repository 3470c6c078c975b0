"""A phone in a test: it sends the requests of the page for votes over real sockets."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPResponse
from typing import Any

HOST = "127.0.0.1"


class Phone:
    """A browser that keeps its cookie. `address` is the address that it connects from."""

    def __init__(self, port: int, address: str = HOST) -> None:
        self.port, self._address, self.cookie = port, address, ""

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """Return the status and the body of the answer. Underscores in names of headers become hyphens."""
        response, received = self.request(method, path, body, **headers)
        return response.status, received

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection(HOST, self.port, timeout=10, source_address=(self._address, 0))
        try:
            sent = {"Cookie": self.cookie} | {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            received = response.read()
        finally:
            connection.close()
        if cookie := response.headers["Set-Cookie"]:
            self.cookie = cookie.partition(";")[0]
        return response, received

    def open(self, code: str) -> Phone:
        """Open the page of a room, and let it ask for the state once."""
        status, page = self.ask("GET", f"/{code}")
        assert status == 200 and b"<!DOCTYPE html>" in page
        assert self.state(code)
        return self

    def state(self, code: str) -> dict[str, Any]:
        return json.loads(self.ask("GET", f"/{code}/state")[1])

    def vote(self, code: str, answer: Any, *, step: int = 0, number: int = 1) -> dict[str, Any]:
        body = json.dumps({"step": step, "answer": answer, "number": number}).encode()
        status, received = self.ask("POST", f"/{code}/vote", body, Content_Type="application/json")
        assert status in (200, 404), status
        return json.loads(received)
