"""A class that votes: rooms keep whole numbers only, phones follow whoever leads, and nobody else does."""

import pytest
from app_words import words
from streamlit.testing.v1 import AppTest

from ui.learn import class_mode
from ui.learn.rooms import FORGOTTEN_AFTER, LETTERS, MOST_ROOMS, MOST_VOTES, Rooms
from ui.learn.steps import STEPS


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_changed_mind_moves_its_vote_and_late_ones_do_not_count():
    rooms = Rooms()
    code, key = rooms.open()
    assert len(code) == 4 and set(code) <= set(LETTERS) and not set("ILO01") & set(LETTERS)
    assert rooms.vote(code, 0, None, 1, n_answers=3) and rooms.vote(code, 0, None, 1, n_answers=3)
    assert rooms.vote(code, 0, 1, 2, n_answers=3)
    assert rooms.counted(code, key, 0) == [0, 1, 1]
    assert not rooms.vote(code, 0, None, 3, n_answers=3) and not rooms.vote(code, 1, None, 0, n_answers=3)
    rooms.go(code, key, 0, shown=True)
    assert not rooms.vote(code, 0, None, 0, n_answers=3)
    assert rooms.seen(code).n_answers == 2


def test_only_the_key_leads_and_counts():
    rooms = Rooms()
    code, key = rooms.open()
    rooms.vote(code, 0, None, 0, n_answers=2)
    for wrong in ("", key[:-1], key + "x", "é"):
        rooms.go(code, wrong, 5, shown=True)
        rooms.close(code, wrong)
        assert rooms.counted(code, wrong, 0) == [] and not rooms.leads(code, wrong)
    assert rooms.seen(code).step == 0 and not rooms.seen(code).shown
    rooms.close(code, key)
    assert rooms.seen(code) is None


def test_rooms_end_three_hours_after_their_last_use_and_there_are_only_so_many():
    clock = Clock()
    rooms = Rooms(clock)
    first, key = rooms.open()
    clock.now = FORGOTTEN_AFTER - 1
    assert rooms.vote(first, 0, None, 0, n_answers=2)
    clock.now += FORGOTTEN_AFTER - 1
    assert rooms.seen(first)
    clock.now += 1
    assert rooms.seen(first) is None and not rooms.leads(first, key)
    several = []
    for _ in range(MOST_ROOMS + 1):
        clock.now += 1
        several.append(rooms.open()[0])
    assert rooms.seen(several[0]) is None and all(rooms.seen(code) for code in several[1:])


def test_a_question_takes_so_many_votes_and_no_more():
    rooms = Rooms()
    code, _ = rooms.open()
    counted = [rooms.vote(code, 0, None, 0, n_answers=2) for _ in range(MOST_VOTES + 1)]
    assert counted == [True] * MOST_VOTES + [False]
    assert rooms.vote(code, 0, 0, 1, n_answers=2)  # a changed mind is none more


def page(**settings: str) -> AppTest:
    opened = AppTest.from_file("../../app.py", default_timeout=600).switch_page("pages/5_Lesson.py")
    for name, value in settings.items():
        opened.query_params[name] = value
    return opened.run()


def press(opened: AppTest, label: str) -> AppTest:
    next(button for button in opened.button if button.label == label).click().run()
    assert not opened.exception
    return opened


def letters(wall: AppTest) -> str:
    said = wall.query_params["room"]
    return said if isinstance(said, str) else said[0]


@pytest.fixture
def wall():
    class_mode.rooms.clear()
    return press(page(), "Open a room")


def test_phones_vote_follow_and_are_told_about_their_own_answer(wall):
    code, step = letters(wall), STEPS[0]
    names, right = list(step.lettered), next(i for i, a in enumerate(step.answers) if a.right)
    phones = [page(room=code.lower()) for _ in range(5)]
    for i, phone in enumerate(phones):
        assert step.question in words(phone) and step.answers[right].feedback not in words(phone)
        phone.radio[0].set_value(names[right if i else 0]).run()
        assert not phone.exception
    assert "**5** answered" in words(wall.run())
    assert "▇" not in words(wall)  # bars that grow would tell who pressed what
    press(wall, "Show without guessing")
    assert "4 ✓" in words(wall) and "This tally has no noise" in words(wall)
    for i, phone in enumerate(phones):
        said = words(phone.run())
        assert step.answers[right if i else 0].feedback in said and step.take_away in said
        assert phone.radio[0].disabled
    press(wall, "Next →")
    assert STEPS[1].question in words(phones[0].run()) and step.question not in words(phones[0])


def test_bars_of_four_are_not_drawn(wall):
    code = letters(wall)
    for _ in range(4):
        page(room=code).radio[0].set_value(next(iter(STEPS[0].lettered))).run()
    press(wall, "Show without guessing")
    assert "4 of the room have answered" in words(wall) and "▇" not in words(wall)


def test_a_room_that_is_closed_or_never_was_says_so_and_lets_go(wall):
    code = letters(wall)
    phone = page(room=code)
    press(wall, "Close it")
    assert "room" not in wall.query_params and "Room" not in words(wall)
    assert "or it is closed" in " ".join(w.value for w in phone.run().warning)
    stranger = page(room="![x](http://e.org)", host="guessed")
    assert not stranger.exception and "or it is closed" in " ".join(w.value for w in stranger.warning)
    press(stranger, "Go through the lesson alone")
    assert STEPS[0].question in words(stranger)


def test_a_link_to_copy_leaves_room_and_key_out(wall):
    said = [code.value for code in wall.code]
    assert said and not any("room=" in text or "host=" in text for text in said)


@pytest.mark.parametrize("other", ["app.py", "pages/4_Use_a_forest.py"])
def test_a_server_for_the_lesson_alone_shuts_pages_that_read_files(monkeypatch, other):
    monkeypatch.setenv("DPFOREST_LESSON_ONLY", "1")
    opened = AppTest.from_file("../../app.py", default_timeout=600)
    opened = (opened if other == "app.py" else opened.switch_page(other)).run()
    assert not opened.exception and "open for the lesson only" in " ".join(info.value for info in opened.info)
    assert not opened.file_uploader and not opened.get("plotly_chart")
    assert STEPS[0].question in words(page())
