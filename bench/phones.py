"""Phones that vote at once: `python bench/phones.py [--phones 60] [--rooms 1] [--steps 5] [--cut 0.2] [--busy]`.

The program starts the listener for phones in a process, opens rooms, and leads them from step to step. Simulated phones
act like the page for votes: they ask for the state every 1.5 s, send each answer until the server confirms it, and
wait longer after each failure. A share of the connections is cut, half of them before the request is complete, and half
after it, so that the server counts the vote but its answer gets lost. In each step, a third of the phones change their
answer and a tenth of them load the page again. A sixth of the phones join after the first step.

The report has the time of a poll, from opening the connection to the end of the answer, and the number of lost votes.
A vote is lost if the server confirmed it and counts another answer when the step ends. A vote is late if the phone
still tries to send it then. With `--busy`, the process of the listener also draws charts of the lesson without a pause,
as if a teacher clicked all the time. This program is not part of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from processes import ROOT

sys.path.insert(0, str(ROOT))

# Seconds, as in ui/learn/phone_page/phone.js.
EVERY, FIRST_WAIT, LONGEST_WAIT, LONGEST_WAIT_OF_VOTE, TIME_LIMIT = 1.5, 0.5, 8.0, 2.0, 6.0
QUESTION, ANSWER = 12.0, 3.0  # seconds that a question is open, and that its answer is shown
CHOICE = 4.0  # seconds from a new question within which a phone chooses
HOST = "127.0.0.1"


@dataclass
class Phone:
    """The state of the page on one phone."""

    code: str
    cookie: str = ""
    step: int = -1
    number: int = 0
    waiting: dict[str, int] | None = None
    chosen: dict[int, int] = field(default_factory=dict)  # last answer of each step
    plans: list[tuple[float, int]] = field(default_factory=list)  # when the phone will choose which answer
    reload_at: float = float("inf")

    @property
    def token(self) -> str:
        """The token of the browser, from its cookie."""
        return self.cookie.partition("=")[2].partition(".")[0]


@dataclass
class Counts:
    """Times and failures of the requests of all phones."""

    polls: list[float] = field(default_factory=list)  # seconds of each request for the state
    votes: list[float] = field(default_factory=list)  # seconds of each request with a vote
    cut: int = 0  # connections that the phones cut
    failed: int = 0  # requests that failed although the phone did not cut them


def serve(link: Connection, rooms_wanted: int, busy: bool) -> None:
    """Run the listener, and carry out the commands that arrive on `link`, until a command is None."""
    from ui.learn import lesson_charts
    from ui.learn.rooms import Rooms
    from ui.learn.steps import STEPS
    from ui.learn.voting_listener import VotingListener

    rooms = Rooms()
    codes = [rooms.open(f"teacher {i}") for i in range(rooms_wanted)]
    listener = VotingListener(rooms, host=HOST, ports=(0,))
    listener.start()
    if busy:

        def draw() -> None:
            while True:
                for step in STEPS:
                    lesson_charts.draw(step.key, step.control.start, True, 0)

        threading.Thread(target=draw, daemon=True).start()
    link.send((listener.port, codes))
    while (command := link.recv()) is not None:
        step, is_shown, tokens = command
        votes = [rooms.vote_of(code, token, step) for code, token in tokens]
        for i, code in enumerate(codes):
            rooms.go(code, f"teacher {i}", step, is_shown=is_shown)
        link.send([None if vote is None else vote.answer for vote in votes])
    for i, code in enumerate(codes):
        rooms.close(code, f"teacher {i}")
    link.send(listener.join(30))


async def request(port: int, method: str, path: str, cookie: str, body: bytes, cut: str) -> tuple[bytes, bytes]:
    """Send a request, and return the head and the body of the answer.

    Raises
    ------
    ConnectionAbortedError
        If the connection is cut "before" or "after" the request is complete.
    """
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nCookie: {cookie}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n" if body else "\r\n"
        content = head.encode() + body
        writer.write(content[: len(content) - 3] if cut == "before" else content)
        await writer.drain()
        if cut:
            if cut == "after":
                await asyncio.sleep(0.02)  # the request arrives, and its answer gets lost
            writer.transport.abort()
            raise ConnectionAbortedError
        received = await reader.read(-1)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    answer_head, _, answer_body = received.partition(b"\r\n\r\n")
    return answer_head, answer_body


async def exchange(phone: Phone, port: int, cut: float, counts: Counts) -> None:
    """Send one request of the page."""
    cut_at = random.choice(("before", "after")) if random.random() < cut else ""
    sent, start = phone.waiting, time.perf_counter()
    kind = "vote" if sent else "state"
    body = json.dumps(sent).encode() if sent else b""
    counts.cut += bool(cut_at)
    method = "POST" if sent else "GET"
    head, received = await asyncio.wait_for(
        request(port, method, f"/{phone.code}/{kind}", phone.cookie, body, cut_at), TIME_LIMIT
    )
    if not head.startswith(b"HTTP/1.1 200"):
        raise OSError(head[:40])
    (counts.votes if sent else counts.polls).append(time.perf_counter() - start)
    take(phone, json.loads(received), sent)


def take(phone: Phone, state: dict[str, Any], sent: dict[str, int] | None) -> None:
    """Update the phone by a state of the room, as `settle` of the page does, and plan answers to a new question."""
    phone.number = state["number"]
    if waiting := phone.waiting:
        if (
            state["step"] != waiting["step"]
            or state["shown"]
            or (sent is waiting and state["mine"] == waiting["answer"])
        ):
            phone.waiting = None
        elif state["number"] >= waiting["number"] and not state["why_not"]:
            phone.waiting = waiting | {"number": state["number"] + 1}
    if state["step"] != phone.step and not state["shown"]:
        phone.step, now = state["step"], time.perf_counter()
        n_answers = len(state["answers"])
        phone.plans = [(now + CHOICE * random.random(), random.randrange(n_answers))]
        if random.random() < 1 / 3:
            phone.plans.append((phone.plans[0][0] + 2 * random.random(), random.randrange(n_answers)))
        if random.random() < 0.1:
            phone.reload_at = now + CHOICE * random.random()


def choose(phone: Phone) -> None:
    """Choose the answers whose time has come."""
    while phone.plans and phone.plans[0][0] <= time.perf_counter():
        answer = phone.plans.pop(0)[1]
        number = max(phone.number, phone.waiting["number"] if phone.waiting else 0) + 1
        phone.waiting = {"step": phone.step, "answer": answer, "number": number}
        phone.chosen[phone.step] = answer


async def page(phone: Phone, port: int, cut: float, counts: Counts, ended: asyncio.Event, first_wait: float) -> None:
    """Open the page, and talk to the server until the lesson ends."""
    await asyncio.sleep(first_wait)
    failures, is_open = 0, False
    while not ended.is_set():
        try:
            if not is_open or time.perf_counter() > phone.reload_at:
                head, _ = await request(port, "GET", f"/{phone.code}", phone.cookie, b"", "")
                for line in head.decode().split("\r\n"):
                    if line.startswith("Set-Cookie: "):
                        phone.cookie = line.removeprefix("Set-Cookie: ").partition(";")[0]
                is_open, phone.reload_at = True, float("inf")
            await exchange(phone, port, cut, counts)
            failures = 0
        except ConnectionAbortedError:
            failures += 1
        except (OSError, TimeoutError):
            failures, counts.failed = failures + 1, counts.failed + 1
        longest = LONGEST_WAIT_OF_VOTE if phone.waiting else LONGEST_WAIT
        wait = min(FIRST_WAIT * 2 ** (failures - 1), longest) if failures else EVERY
        until = time.perf_counter() + wait * random.uniform(0.8, 1.2)
        while time.perf_counter() < until and not ended.is_set():
            choose(phone)
            if phone.waiting and not failures:
                break
            await asyncio.sleep(0.02)


async def lesson(settings: argparse.Namespace, port: int, codes: list[str], link: Connection) -> tuple[Counts, list]:
    """Lead the rooms through the steps. Return the counts, and for each step: votes, lost and late ones."""
    counts, ended = Counts(), asyncio.Event()
    phones = [Phone(codes[i % len(codes)]) for i in range(settings.phones)]
    joins_late = QUESTION + ANSWER + 1
    pages = [
        asyncio.create_task(page(phone, port, settings.cut, counts, ended, joins_late * (i % 6 == 5) + random.random()))
        for i, phone in enumerate(phones)
    ]

    async def go(step: int, is_shown: bool, tokens: list[tuple[str, str]]) -> list[int | None]:
        link.send((step, is_shown, tokens))
        return await asyncio.to_thread(link.recv)

    results = []
    for step in range(settings.steps):
        await go(step, False, [])
        await asyncio.sleep(QUESTION)
        tokens = [(phone.code, phone.token) for phone in phones]
        late = [phone.waiting is not None for phone in phones]
        chosen = [phone.chosen.get(step) for phone in phones]
        counted = await go(step, True, tokens)
        n_lost = sum(a != b and not is_late for a, b, is_late in zip(chosen, counted, late, strict=True))
        results.append((sum(answer is not None for answer in chosen), n_lost, sum(late)))
        print("step {}: {} phones voted, {} votes lost, {} late".format(step, *results[-1]), flush=True)
        await asyncio.sleep(ANSWER)
    ended.set()
    await asyncio.gather(*pages)
    return counts, results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--phones", type=int, default=60)
    parser.add_argument("--rooms", type=int, default=1)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--cut", type=float, default=0.2, help="share of connections that are cut")
    parser.add_argument("--busy", action="store_true", help="draw charts in the process of the listener")
    settings = parser.parse_args()
    random.seed(0)
    context = multiprocessing.get_context("spawn")
    link, other = context.Pipe()
    server = context.Process(target=serve, args=(other, settings.rooms, settings.busy), daemon=True)
    server.start()
    port, codes = link.recv()
    counts, results = asyncio.run(lesson(settings, port, codes, link))
    link.send(None)
    assert link.recv(), "The listener did not stop."
    for name, seconds in (("polls", counts.polls), ("votes", counts.votes)):
        median, most = (1_000 * np.quantile(seconds, share) for share in (0.5, 0.95))
        longest = 1_000 * max(seconds)
        print(f"{len(seconds):,} {name}: median {median:.1f} ms, 95 % within {most:.1f} ms, at most {longest:.0f} ms")
    print(f"{counts.cut:,} connections cut, {counts.failed} other failures")
    print("{:,} answers, {} lost, {} late".format(*(sum(column) for column in zip(*results, strict=True))))


if __name__ == "__main__":
    main()
