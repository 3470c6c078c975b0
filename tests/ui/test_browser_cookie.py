"""The cookie that identifies a browser: the server sets it once, and no script or other site can read or set it."""

import asyncio
from typing import Any

import pytest

from ui.server import browser_cookie
from ui.server.browser_cookie import BrowserCookie

HEALTH = "/_stcore/health"


def cookies(
    path: str = HEALTH, host: str = "localhost:8501", sent: str = "", method: str = "GET", scheme: str = "http"
) -> list[str]:
    """Return the cookies that the server sets for a request whose header `Cookie` is `sent`."""
    answer: list[dict[str, Any]] = []

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"set-cookie", b"other=1")]})

    async def send(message) -> None:
        answer.append(message)

    headers = [(b"host", host.encode()), (b"cookie", sent.encode())]
    scope = {"type": "http", "method": method, "path": path, "headers": headers, "scheme": scheme}
    asyncio.run(BrowserCookie(app)(scope, None, send))  # type: ignore[arg-type]
    values = [value.decode() for name, value in answer[0]["headers"] if name == b"set-cookie"]
    assert values[0] == "other=1"
    return values[1:]


def pair(cookie: str) -> str:
    return cookie.split(";")[0]


def test_a_browser_gets_one_token_and_keeps_it():
    (first,) = cookies()
    assert cookies(sent=pair(first)) == []
    assert cookies(sent=f"a=b; {pair(first)}; _streamlit_xsrf=2|1|2|3") == []
    (other,) = cookies()
    assert pair(other) != pair(first)


def test_no_script_reads_the_token_and_it_is_gone_with_the_browser():
    (cookie,) = cookies()
    assert cookie.split("; ")[1:] == ["Path=/", "HttpOnly", "SameSite=Lax"]
    (cookie,) = cookies(scheme="https")
    assert cookie.split("; ")[1:] == ["Path=/", "HttpOnly", "SameSite=Lax", "Secure"]


def test_only_a_request_that_carries_the_cookie_gets_none():
    """The server sets no cookie if a request already carries it.

    With `SameSite=Lax`, browsers send the cookie if a link on another site starts a GET, but not with a POST.
    """
    assert len(cookies()) == 1 and cookies(method="POST") == []


@pytest.mark.parametrize("path", ["/", "/Lesson", "/_stcore/host-config", "/static/js/index.js"])
def test_responses_that_a_cache_may_store_carry_no_token(path):
    assert cookies(path) == []
    assert len(cookies("/base/_stcore/health")) == 1


def test_two_servers_of_a_machine_do_not_take_each_others_cookie():
    (cookie,) = cookies(host="localhost:8501")
    assert len(cookies(host="localhost:8502", sent=pair(cookie))) == 1
    assert {pair(cookies(host=host)[0]).split("=")[0] for host in ("school.example", "[::1]:80", "[::1]")} == {
        "dpforest_browser",
        "dpforest_browser_80",
    }


@pytest.mark.parametrize(
    "change", [lambda v: "", lambda v: "0" + v[1:], lambda v: v[:-1], lambda v: v + "é", lambda v: "."]
)
def test_a_changed_token_is_refused(change, monkeypatch):
    name, _, value = pair(cookies()[0]).partition("=")
    while value.startswith("0"):
        value = pair(cookies()[0]).partition("=")[2]

    class Context:
        headers = {"Host": "localhost:8501"}
        cookies = {name: value}

    monkeypatch.setattr(browser_cookie.st, "context", Context)
    assert browser_cookie.this_browser() == value.partition(".")[0]
    Context.cookies = {name: change(value)}
    assert browser_cookie.this_browser() is None
    Context.cookies = {}
    assert browser_cookie.this_browser() is None
