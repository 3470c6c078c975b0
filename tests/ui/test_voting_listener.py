"""The listener on which phones vote: real sockets, several rooms, broken networks, and requests that it refuses."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import ExitStack, suppress

import pytest

from tests.ui.phone_client import HOST, Phone
from ui.learn.rooms import AT_ONCE, ENDS_AFTER, LEAST_DRAWN, Rooms
from ui.learn.steps import STEPS
from ui.learn.voting_listener import VotingListener
from ui.server.lan_addresses import lan_addresses
from ui.server.small_server import MOST_BODY, MOST_OF_ADDRESS, SmallHandler, SmallServer

JSON = {"Content_Type": "application/json"}
RIGHT = next(i for i, answer in enumerate(STEPS[0].answers) if answer.right)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class School:
    """Rooms with a listener that stops as soon as the last room has ended."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.rooms = Rooms(self.clock)
        self.listener = VotingListener(self.rooms, host=HOST, ports=(0,), stays=0)

    def open(self, teacher: str = "teacher") -> str:
        code = self.rooms.open(teacher)
        self.listener.start()
        return code

    def phone(self, code: str = "") -> Phone:
        assert self.listener.port
        phone = Phone(self.listener.port)
        return phone.open(code) if code else phone


@pytest.fixture
def school():
    school = School()
    yield school
    school.clock.now += ENDS_AFTER
    assert school.listener.join(10)


def test_a_phone_votes_reloads_and_changes_its_answer(school):
    code = school.open()
    phone = school.phone(code)
    first = phone.state(code)
    assert first["question"] and first["answers"] == list(STEPS[0].lettered)
    assert (first["mine"], first["number"], first["why_not"]) == (None, 0, "")
    assert phone.vote(code, 1)["mine"] == 1
    assert phone.open(code.lower()).state(code)["mine"] == 1  # after a reload, and with small letters
    changed = phone.vote(code, 2, number=2)
    assert (changed["mine"], changed["number"]) == (2, 2)
    assert school.rooms.counted(code, "teacher", 0, n_answers=4) == [0, 0, 1, 0]
    assert school.rooms.state_of(code).n_phones == 1


def test_a_repeated_or_late_copy_of_an_answer_changes_nothing(school):
    """A phone in a bad network sends an answer again. A copy of its earlier answer may arrive after a newer one."""
    code = school.open()
    phone = school.phone(code)
    for _ in range(3):
        assert phone.vote(code, 1, number=1)["mine"] == 1
    assert phone.vote(code, 2, number=2)["mine"] == 2
    late = phone.vote(code, 1, number=1)
    assert (late["mine"], late["number"]) == (2, 2)
    assert phone.vote(code, 3, number=2)["mine"] == 2  # another tab of the same browser was first
    assert school.rooms.counted(code, "teacher", 0, n_answers=4) == [0, 0, 1, 0]


def test_two_rooms_share_the_listener_and_nothing_else(school):
    one, two = school.open("one"), school.open("two")
    phones = [school.phone(code) for code in (one, one, two)]
    for phone, code in zip(phones, (one, one, two), strict=True):
        phone.vote(code, 0)
    school.rooms.go(two, "two", 3, is_shown=False)
    assert phones[0].state(one)["title"] == STEPS[0].title and phones[2].state(two)["title"] == STEPS[3].title
    assert [school.rooms.state_of(code).n_phones for code in (one, two)] == [2, 1]
    school.rooms.close(one, "one")
    assert phones[0].ask("GET", f"/{one}/state") == (404, b'{"closed": true}')
    assert phones[0].vote(one, 0) == {"closed": True}
    assert phones[2].vote(two, 1, step=3)["mine"] == 1  # the other room goes on


def test_a_late_joiner_sees_the_present_question(school):
    code = school.open()
    school.rooms.go(code, "teacher", 4, is_shown=True)
    late = school.phone(code)
    assert late.state(code)["title"] == STEPS[4].title and late.state(code)["take_away"]
    school.rooms.go(code, "teacher", 5, is_shown=False)
    assert late.vote(code, 0, step=4)["mine"] is None  # the class is at another step
    assert late.vote(code, 0, step=5)["mine"] == 0


def test_the_right_answer_and_bars_come_with_the_reveal_and_bars_only_from_five_answers(school):
    code = school.open()
    phones = [school.phone(code) for _ in range(LEAST_DRAWN)]
    for phone in phones[1:]:
        hidden = phone.vote(code, RIGHT)
        assert not {"right", "feedback", "take_away", "bars"} & hidden.keys()
    school.rooms.go(code, "teacher", 0, is_shown=True)
    shown = phones[1].state(code)
    assert (shown["right"], shown["bars"]) == (RIGHT, []) and shown["feedback"] and shown["take_away"]
    assert phones[0].vote(code, 0)["mine"] is None  # too late
    school.rooms.go(code, "teacher", 0, is_shown=False)
    phones[0].vote(code, 0)
    school.rooms.go(code, "teacher", 0, is_shown=True)
    assert sorted(phones[0].state(code)["bars"]) == [0, 0, 1, LEAST_DRAWN - 1]


def test_a_browser_without_the_cookie_follows_and_has_no_vote(school):
    code = school.open()
    for cookie in ("", "dpforest_browser=a.b", f"dpforest_browser_{school.listener.port}=a.b", 'x="; ='):
        phone = school.phone()
        phone.cookie = cookie
        assert "Allow cookies" in phone.vote(code, 0)["why_not"] and phone.state(code)["question"]
    assert (school.rooms.state_of(code).n_phones, school.rooms.state_of(code).n_answers) == (0, 0)


@pytest.mark.parametrize("foreign", ['prefs={"a":1}', "flag", "a b=1"])
def test_a_cookie_of_another_server_of_this_machine_stops_nobody_from_voting(school, foreign):
    """Cookies ignore ports, so a browser also sends those of other programs on the same computer."""
    code = school.open()
    phone = school.phone(code)
    phone.cookie = f"{foreign}; {phone.cookie}"
    assert phone.vote(code, 1)["mine"] == 1


def test_headers_beyond_the_limit_are_no_request(school):
    """If the server read only the first headers, it would not see a foreign `Origin` behind them."""
    port = school.phone(school.open()).port
    with socket.create_connection((HOST, port), timeout=10) as connection, suppress(OSError):
        padding = "".join(f"X-{i}: {'a' * 1000}\r\n" for i in range(17))
        request = f"GET / HTTP/1.1\r\nHost: {HOST}:{port}\r\n{padding}Origin: http://evil.example\r\n\r\n"
        connection.sendall(request.encode())
        assert b"200 OK" not in connection.recv(1000)


def test_phones_beyond_the_limit_of_an_address_follow_and_join_later(school):
    code = school.open()
    for i in range(AT_ONCE):
        school.rooms.join(code, f"phone {i}", HOST)
    phone = school.phone(code)
    assert "it joins by itself" in phone.vote(code, 0)["why_not"]
    school.clock.now += 60
    assert phone.vote(code, 0)["mine"] == 0


def test_the_listener_stops_with_the_last_room_and_frees_its_port(school):
    code = school.open()
    port = school.listener.port
    assert school.phone(code)
    school.rooms.close(code, "teacher")
    assert school.listener.join(10) and school.listener.port is None
    with socket.create_server((HOST, port)):
        pass
    assert school.phone(school.open())  # the next room starts the listener again


def test_the_listener_stops_when_the_page_of_the_leader_was_closed_for_an_hour(school):
    school.open()
    school.clock.now = ENDS_AFTER
    assert school.listener.join(10)


REFUSED = {
    "a name of another site": (403, "GET", "/{code}/state", None, {"Host": "evil.example"}),
    "no name": (403, "GET", "/{code}", None, {"Host": ""}),
    "a page of another site": (403, "POST", "/{code}/vote", b"{}", JSON | {"Origin": "http://evil.example"}),
    "a large body": (413, "POST", "/{code}/vote", b" " * (MOST_BODY + 1), JSON),
    "a very large body": (413, "POST", "/{code}/vote", None, JSON | {"Content_Length": "999999999"}),
    "a body of unknown length": (411, "POST", "/{code}/vote", None, JSON | {"Transfer_Encoding": "chunked"}),
    "a body of no length": (411, "POST", "/{code}/vote", None, JSON | {"Content_Length": "-1"}),
    "a form": (415, "POST", "/{code}/vote", b"step=0", {"Content_Type": "application/x-www-form-urlencoded"}),
    "no JSON": (400, "POST", "/{code}/vote", b"[" * MOST_BODY, JSON),
    "no vote": (400, "POST", "/{code}/vote", b'{"step": 0, "answer": 0}', JSON),
    "a text": (400, "POST", "/{code}/vote", b'{"step": 0, "answer": "0", "number": 1}', JSON),
    "a bool": (400, "POST", "/{code}/vote", b'{"step": 0, "answer": true, "number": 1}', JSON),
    "an unknown step": (400, "POST", "/{code}/vote", b'{"step": 99, "answer": 0, "number": 1}', JSON),
    "an unknown answer": (400, "POST", "/{code}/vote", b'{"step": 0, "answer": 99, "number": 1}', JSON),
    "a wrong number": (400, "POST", "/{code}/vote", b'{"step": 0, "answer": 0, "number": 0}', JSON),
    "another page": (404, "GET", "/Explore", None, {}),
    "a file": (404, "GET", "/../../app.py", None, {}),
    "a page of the app": (404, "GET", "/_stcore/health", None, {}),
    "a vote for nothing": (404, "POST", "/", b"{}", JSON),
    "another method": (501, "PUT", "/{code}/vote", b"{}", JSON),
}


def test_the_listener_refuses_everything_else(school):
    code = school.open()
    phone = school.phone(code)
    for what, (status, method, path, body, headers) in REFUSED.items():
        assert phone.ask(method, path.format(code=code), body, **headers)[0] == status, what
    assert school.rooms.state_of(code).n_answers == 0
    for host in (f"{HOST}:{school.listener.port}", "192.168.1.7", "localhost", f"{socket.gethostname()}.local"):
        assert phone.ask("GET", f"/{code}/state", Host=host)[0] == 200, host


def test_broken_connections_harm_nobody(school, capfd):
    code = school.open()
    phone = school.phone(code)
    vote = b'{"step": 0, "answer": 1, "number": 1}'
    start = (
        f"POST /{code}/vote HTTP/1.1\r\nHost: {HOST}\r\nCookie: {phone.cookie}\r\nContent-Type: application/json\r\n"
    )
    whole = f"{start}Content-Length: {len(vote)}\r\n\r\n".encode() + vote
    for sent in (b"", b"GET", whole[:60], whole[:-5], b"\x16\x03\x01\x02\x00", b"\r\n" * 9, b"A" * 99_999):
        with socket.create_connection((HOST, school.listener.port)) as cut:
            cut.sendall(sent)
    assert phone.state(code)["mine"] is None
    with socket.create_connection((HOST, school.listener.port)) as cut:
        cut.sendall(whole)  # the answer gets lost on its way back
        cut.shutdown(socket.SHUT_WR)
        assert cut.recv(1)
    assert phone.vote(code, 1)["mine"] == 1 and school.rooms.counted(code, "teacher", 0, n_answers=4) == [0, 1, 0, 0]
    assert "Traceback" not in capfd.readouterr().err


def test_an_encrypted_connection_ends_at_once_so_that_the_browser_tries_without(school):
    school.open()
    with socket.create_connection((HOST, school.listener.port), timeout=5) as encrypted:
        encrypted.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        with suppress(ConnectionResetError):
            assert encrypted.recv(1) == b""


def test_one_address_cannot_hold_all_connections_and_slow_ones_end():
    with ExitStack() as stack, SmallServer(HOST, 0, SmallHandler) as server:
        held = []
        for _ in range(MOST_OF_ADDRESS):
            held.append(stack.enter_context(socket.create_connection(server.server_address, timeout=5)))
            server.handle_request()
        refused = stack.enter_context(socket.create_connection(server.server_address, timeout=5))
        server.handle_request()
        assert refused.recv(1) == b""
        server.end_slow(most_seconds=-1)
        for connection in held:
            assert connection.recv(1) == b""


def test_the_page_has_a_strict_policy_and_writes_texts_as_texts(school):
    code = school.open()
    response, page = school.phone().request("GET", f"/{code}")
    policy = dict(rule.split(" ", 1) for rule in response.headers["Content-Security-Policy"].split("; "))
    (nonce,) = re.fullmatch(r"'nonce-([\w-]+)'", policy["script-src"]).groups()
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'" and policy["style-src"] == policy["script-src"]
    text = page.decode()
    assert text.count(f'nonce="{nonce}"') == 2 and "{nonce}" not in text
    assert nonce not in school.phone().request("GET", "/")[1].decode()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|https?://| on\w+=", text)
    assert code not in text and not response.headers["Access-Control-Allow-Origin"]
    assert "HttpOnly" in response.headers["Set-Cookie"] and "SameSite" in response.headers["Set-Cookie"]


def test_sixty_phones_vote_at_once_and_no_vote_is_lost(school):
    code = school.open()
    failed: list[BaseException] = []

    def votes(i: int) -> None:
        try:
            phone = school.phone(code)
            assert phone.vote(code, i % 4)["mine"] == i % 4
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=votes, args=(i,)) for i in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and school.rooms.counted(code, "teacher", 0, n_answers=4) == [15, 15, 15, 15]


def test_no_address_of_this_machine_is_a_loopback_address():
    assert not any(address.startswith(("127.", "169.254.", "0.")) for address in lan_addresses())
