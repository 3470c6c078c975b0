"""A class that votes: each browser has one vote, phones follow the leader, and nobody else can lead."""

from html import escape
from types import SimpleNamespace

import pytest
import segno
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.ui.app_words import words
from tests.ui.phone_client import HOST, Phone
from ui.learn import class_mode
from ui.learn import wall as wall_of_class
from ui.learn.rooms import (
    AT_ONCE,
    ENDS_AFTER,
    LETTERS,
    MOST_PHONES,
    MOST_ROOMS,
    MOST_ROOMS_OF_ADDRESS,
    NEXT_AFTER,
    Refused,
    Rooms,
    Vote,
)
from ui.learn.steps import STEPS
from ui.learn.voting_listener import VotingListener
from ui.server import browser_cookie


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_new_answer_replaces_the_earlier_one_and_late_answers_do_not_count():
    rooms = Rooms()
    code = rooms.open("teacher")
    assert len(code) == 4 and set(code) <= set(LETTERS) and not set("AEIOUYL0123456789") & set(LETTERS)
    for phone in ("anna", "ben"):
        rooms.join(code, phone)
        assert rooms.vote(code, phone, 0, 1, n_answers=3)
    assert rooms.vote(code, "ben", 0, 2, n_answers=3)
    assert rooms.counted(code, "teacher", 0, n_answers=3) == [0, 1, 1]
    assert not rooms.vote(code, "ben", 0, 3, n_answers=3) and not rooms.vote(code, "ben", 1, 0, n_answers=3)
    rooms.go(code, "teacher", 0, is_shown=True)
    assert not rooms.vote(code, "ben", 0, 0, n_answers=3)
    assert rooms.state_of(code).n_answers == 2
    assert (rooms.vote_of(code, "anna", 0), rooms.vote_of(code, "ben", 0)) == (Vote(1, 1), Vote(2, 2))
    assert rooms.vote_of(code, "carl", 0) is None and rooms.vote_of(code, None, 0) is None


def test_one_browser_votes_thirty_times_and_counts_once():
    rooms = Rooms()
    code = rooms.open("teacher")
    for i in range(30):
        rooms.join(code, "anna")  # as if anna's browser loaded the page again, or opened another tab
        assert rooms.vote(code, "anna", 0, i % 2, n_answers=2)
    assert rooms.counted(code, "teacher", 0, n_answers=2) == [0, 1]


def test_a_browser_that_has_not_joined_has_no_vote():
    rooms = Rooms()
    code = rooms.open("teacher")
    assert not rooms.vote(code, "anna", 0, 0, n_answers=2)
    assert not rooms.vote("ABCD", "anna", 0, 0, n_answers=2)
    assert rooms.state_of(code).n_answers == 0


def test_only_the_browser_that_opened_a_room_leads_and_counts():
    rooms = Rooms()
    code = rooms.open("teacher")
    rooms.join(code, "anna")
    rooms.vote(code, "anna", 0, 0, n_answers=2)
    for wrong in ("", "teache", "anna", "é"):
        rooms.go(code, wrong, 5, is_shown=True)
        rooms.close(code, wrong)
        assert rooms.counted(code, wrong, 0, n_answers=2) == [] and rooms.led_by(wrong) is None
    assert rooms.state_of(code).step == 0 and not rooms.state_of(code).is_shown
    rooms.close(code, "teacher")
    assert rooms.state_of(code) is None


def test_a_room_ends_after_an_hour_without_the_page_of_its_leader():
    clock = Clock()
    rooms = Rooms(clock)
    code = rooms.open("teacher")
    rooms.join(code, "anna")
    clock.now = ENDS_AFTER - 1
    rooms.stay(code, "teacher")
    clock.now += ENDS_AFTER - 1
    rooms.stay(code, "anna")  # anna does not lead, so the room ends on time
    assert rooms.vote(code, "anna", 0, 0, n_answers=2)
    clock.now += 1
    assert rooms.state_of(code) is None and rooms.led_by("teacher") is None
    assert not rooms.vote(code, "anna", 0, 0, n_answers=2)


def test_an_ended_room_is_removed_from_memory():
    """An ended room disappears from memory as soon as anybody uses any room."""
    clock = Clock()
    rooms = Rooms(clock)
    code = rooms.open("teacher", "10.0.0.1")
    rooms.join(code, "anna", "10.0.0.2")
    assert rooms.vote(code, "anna", 0, 0, n_answers=2) and "anna" in str(vars(rooms))
    clock.now = ENDS_AFTER
    rooms.led_by("somebody else")
    assert not any(word in str(vars(rooms)) for word in ("anna", "teacher", "10.0.0"))


def test_a_full_server_refuses_new_rooms_and_closes_no_old_one():
    clock = Clock()
    rooms = Rooms(clock)
    first = rooms.open("teacher", "10.0.0.1")
    others = [rooms.open(f"pupil {i}", f"10.0.1.{i}") for i in range(MOST_ROOMS - 1)]
    for i in range(MOST_ROOMS):
        clock.now += 1
        with pytest.raises(Refused, match=f"{MOST_ROOMS} rooms open"):
            rooms.open(f"somebody {i}", f"10.0.2.{i}")
    assert rooms.led_by("teacher") == first and all(rooms.state_of(code) for code in others)
    clock.now = ENDS_AFTER - 1
    rooms.stay(first, "teacher")
    clock.now += 1
    assert rooms.open("somebody", "10.0.2.1") and rooms.led_by("teacher") == first  # the other rooms have ended


def test_an_address_can_open_a_few_rooms_and_a_browser_only_one():
    rooms = Rooms()
    codes = [rooms.open(f"teacher {i}", "10.0.0.1") for i in range(MOST_ROOMS_OF_ADDRESS)]
    with pytest.raises(Refused, match="from your network address"):
        rooms.open("another", "10.0.0.1")
    assert rooms.open("another", "10.0.0.2")
    again = rooms.open("teacher 0", "10.0.0.1")
    assert rooms.state_of(codes[0]) is None and rooms.led_by("teacher 0") == again and rooms.state_of(codes[1])


def test_a_class_with_one_address_joins_at_once_and_a_flood_does_not():
    clock = Clock()
    rooms = Rooms(clock)
    code = rooms.open("teacher", "10.0.0.1")
    assert AT_ONCE >= 40
    for i in range(AT_ONCE):
        rooms.join(code, f"phone {i}", "10.0.0.2")
    with pytest.raises(Refused, match="Keep this page open"):
        rooms.join(code, "one more", "10.0.0.2")
    rooms.join(code, "phone 0", "10.0.0.2")  # this phone joined before
    rooms.join(code, "elsewhere", "10.0.0.3")
    clock.now += NEXT_AFTER
    rooms.join(code, "one more", "10.0.0.2")
    with pytest.raises(Refused):
        rooms.join(code, "yet one more", "10.0.0.2")
    assert rooms.state_of(code).n_phones == AT_ONCE + 2


def test_a_full_room_takes_no_more_phones():
    rooms = Rooms()
    code = rooms.open("teacher")
    for i in range(MOST_PHONES):
        rooms.join(code, f"phone {i}", f"address {i}")
        assert rooms.vote(code, f"phone {i}", 0, 0, n_answers=2)
    with pytest.raises(Refused, match="no more can join"):
        rooms.join(code, "one more", "another address")
    assert not rooms.vote(code, "one more", 0, 0, n_answers=2)
    assert rooms.vote(code, "phone 0", 0, 1, n_answers=2)
    assert rooms.counted(code, "teacher", 0, n_answers=2) == [MOST_PHONES - 1, 1]


@pytest.fixture(autouse=True)
def browsers(monkeypatch):
    """Give each page of a test the cookie of a named browser, because AppTest has no browser.

    The function `page` below opens a page in such a browser.
    """

    def context() -> SimpleNamespace:
        name = st.session_state.get("browser_of_test")
        cookies = {"dpforest_browser": browser_cookie._signed(name)} if name else {}
        return SimpleNamespace(cookies=cookies, headers=[], remote_ip=f"address of {name}")

    monkeypatch.setattr("streamlit.runtime.context._get_client_context", context)


def page(browser: str = "", **settings: str) -> AppTest:
    opened = AppTest.from_file("../../app.py", default_timeout=600).switch_page("pages/5_Lesson.py")
    opened.session_state["browser_of_test"] = browser
    for name, value in settings.items():
        opened.query_params[name] = value
    return opened.run()


def press(opened: AppTest, label: str) -> AppTest:
    next(button for button in opened.button if button.label == label).click().run()
    assert not opened.exception
    return opened


NETWORK = ["192.168.1.7", "10.8.0.2"]  # addresses of the machine in the tests


@pytest.fixture
def rooms(monkeypatch):
    """Yield the rooms of a server on a machine that has two addresses, whatever the network of the tests is."""
    rooms = Rooms(clock := Clock())
    listener = VotingListener(rooms, host=HOST, ports=(0,), stays=0)
    monkeypatch.setattr(class_mode, "ROOMS", rooms)
    monkeypatch.setattr(class_mode, "LISTENER", listener)
    for module in (class_mode, wall_of_class):
        monkeypatch.setattr(module, "lan_addresses", lambda: NETWORK)
    yield rooms
    clock.now = ENDS_AFTER
    assert listener.join(10)


@pytest.fixture
def wall(rooms):
    return press(page("teacher"), "Open a room")


def letters() -> str:
    return class_mode.ROOMS.led_by("teacher")


def phone() -> Phone:
    return Phone(class_mode.LISTENER.port).open(letters())


def how_to_join(wall: AppTest) -> str:
    return " ".join(html.proto.body for html in wall.get("html"))


def test_phones_vote_and_follow_the_wall_which_draws_bars_with_the_answer(wall):
    code, right = letters(), next(i for i, a in enumerate(STEPS[0].answers) if a.right)
    phones = [phone() for _ in range(5)]
    for i, each in enumerate(phones):
        assert each.vote(code, right if i else 0)["question"] == STEPS[0].question
    assert "5 phones joined, **5** answered" in words(wall.run())
    assert "▇" not in words(wall)  # the wall shows no bars, because a growing bar would show who chose what
    press(wall, "Show without guessing")
    assert "4 ✓" in words(wall) and "This tally has no noise" in words(wall)
    assert phones[0].state(code)["feedback"] and phones[0].state(code)["right"] == right
    press(wall, "Next →")
    assert phones[0].state(code)["question"] == STEPS[1].question


def test_bars_of_four_are_not_drawn(wall):
    for _ in range(4):
        phone().vote(letters(), 0)
    press(wall, "Show without guessing")
    assert "4 have answered" in words(wall) and "▇" not in words(wall)


def test_the_wall_shows_address_letters_and_a_qr_code_of_both(wall):
    port = class_mode.LISTENER.port
    link = f"http://{NETWORK[0]}:{port}/{letters()}"
    shown = how_to_join(wall)
    assert f"{NETWORK[0]}:{port}" in shown and letters() in shown and f'alt="QR code of {link}"' in shown
    assert escape(segno.make(link, error="m").svg_data_uri(border=3, light="white")) in shown
    other = wall.radio(key="chosen_address").set_value(NETWORK[1]).run()
    assert f"http://{NETWORK[1]}:{port}/{letters()}" in how_to_join(other)
    press(wall, "Hide the QR code").run()
    assert "<img" not in how_to_join(wall) and f"{letters()}** · {NETWORK[1]}:{port}" in words(wall)


def test_a_computer_without_a_network_opens_no_room_and_offers_to_count_hands(rooms, monkeypatch):
    monkeypatch.setattr(class_mode, "lan_addresses", list)
    alone = press(page("teacher"), "Open a room")
    assert "is in no network" in " ".join(w.value for w in alone.warning) and "Count hands" in words(alone)
    assert rooms.n_open() == 0 and class_mode.LISTENER.port is None


def test_the_wall_says_that_the_network_is_gone(wall, monkeypatch):
    monkeypatch.setattr(wall_of_class, "lan_addresses", list)
    assert "no network now: raise hands" in words(wall.run()) and "<img" not in how_to_join(wall)


def test_a_closed_room_closes_the_listener(wall):
    press(wall, "Show without guessing")
    press(wall, "Close it")  # also while the answer is shown
    assert "Room" not in words(wall) and class_mode.LISTENER.join(10)


def test_letters_on_the_lesson_page_lead_to_the_page_for_votes(wall):
    guest = page("pupil")
    field = next(each for each in guest.text_input if "its letters" in each.label)
    field.set_value(letters().lower()).run()
    (link,) = guest.get("link_button")
    assert link.proto.url == f"http://localhost:{class_mode.LISTENER.port}/{letters()}"
    field.set_value("![]").run()
    assert "There is no room" in " ".join(w.value for w in guest.warning) and not guest.get("link_button")


def test_a_browser_without_the_cookie_opens_no_room(rooms):
    alone = press(page(), "Open a room")
    assert "Allow cookies" in " ".join(w.value for w in alone.warning) and rooms.n_open() == 0


def test_nothing_on_the_wall_gives_a_right_to_lead(wall):
    """Only the cookie decides who leads the room, also after a reload. The address names nothing but the step."""
    assert set(wall.query_params) <= {"step", "at", "shown"}
    shown = {name: wall.query_params[name][0] for name in wall.query_params}
    other = page("pupil", **shown, room=letters())
    assert not any(button.label == "Close it" for button in other.button) and not how_to_join(other).count("<img")
    same = page("teacher", **shown)
    assert any(button.label == "Close it" for button in same.button)
    everything = repr(wall.main) + repr(wall.sidebar) + repr(wall.query_params) + how_to_join(wall)
    assert "teacher" not in everything and browser_cookie._signed("teacher") not in everything


def test_the_leader_comes_back_to_where_the_class_is(wall):
    """A leader who opens the room's address, or comes back from another page, is at the current step of the class."""
    code = letters()
    press(wall, "Next →")
    press(wall, "Show without guessing")
    again = page("teacher")
    assert STEPS[1].question in words(again) and STEPS[1].take_away in words(again)
    seen = class_mode.ROOMS.state_of(code)
    assert (seen.step, seen.is_shown) == (1, True)
    elsewhere = again.switch_page("pages/8_Glossary.py").run()
    elsewhere.switch_page("pages/5_Lesson.py").run()
    assert STEPS[1].question in words(elsewhere) and class_mode.ROOMS.state_of(code).step == 1


def test_a_link_that_shows_an_answer_does_not_move_the_class(wall):
    """An address with another step does not move the class, because every pupil can make such a link."""
    code = letters()
    press(wall, "Next →")
    for step in ("1", "8"):
        opened = page("teacher", step=step, shown="1", at="300")
        assert STEPS[1].question in words(opened) and STEPS[1].take_away not in words(opened)
        seen = class_mode.ROOMS.state_of(code)
        assert (seen.step, seen.is_shown) == (1, False)


def test_a_refused_room_gets_a_reason(wall):
    code = letters()
    for i in range(MOST_ROOMS - 1):
        class_mode.ROOMS.open(f"pupil {i}", f"10.0.0.{i}")
    late = press(page("late"), "Open a room")
    assert f"{MOST_ROOMS} rooms open" in " ".join(w.value for w in late.warning)
    assert letters() == code


def test_no_visitor_can_delete_the_rooms(wall):
    """Clearing the caches of Streamlit, which every visitor can do, keeps the rooms."""
    st.cache_data.clear()
    st.cache_resource.clear()
    assert letters()


@pytest.mark.parametrize("other", ["app.py", "pages/4_Releases.py"])
def test_a_server_for_the_lesson_alone_shuts_pages_that_read_files(monkeypatch, other):
    monkeypatch.setenv("DPFOREST_LESSON_ONLY", "1")
    opened = AppTest.from_file("../../app.py", default_timeout=600)
    opened = (opened if other == "app.py" else opened.switch_page(other)).run()
    assert not opened.exception and "open for the lesson only" in " ".join(info.value for info in opened.info)
    assert not opened.file_uploader and not opened.get("plotly_chart")
    assert STEPS[0].question in words(page())
