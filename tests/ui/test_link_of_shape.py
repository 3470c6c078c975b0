"""Depth and number of trees in a link: the link holds the two numbers once a user has moved one of them."""

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest

from tests.conftest import every
from tests.ui.app_words import controls, visit
from ui.jobs import first_release


def opened(**query: str) -> AppTest:
    app = controls()
    app.query_params.update(query)
    return app.run()


def shape(app: AppTest) -> tuple[int, int]:
    return app.slider(key="depth").value, app.select_slider(key="trees").value


@pytest.mark.parametrize(("depth", "trees"), [(3, None), (1, None), (None, 1)])
def test_one_move_puts_both_numbers_into_the_link(depth, trees):
    app = opened()
    assert not {"by_rule", "depth", "trees"} & set(app.query_params)
    if depth:
        app.slider(key="depth").set_value(depth).run()
    else:
        app.select_slider(key="trees").set_value(trees).run()
    link = {name: value[0] if isinstance(value, list) else value for name, value in app.query_params.items()}
    assert link["by_rule"] == "false"
    assert (int(link["depth"]), int(link["trees"])) == shape(app)
    again = opened(**link)
    assert not again.exception and shape(again) == shape(app)
    app.toggle(key="by_rule").set_value(True).run()
    assert not {"by_rule", "depth", "trees"} & set(app.query_params)


def test_a_link_without_one_of_the_numbers_takes_the_number_of_the_rule():
    """If a link lacks depth or number of trees, the page uses a number close to the number of the rule, and not 1."""
    by_rule = shape(opened())
    app = opened(by_rule="false", depth="3")
    assert shape(app)[0] == 3 and shape(app)[1] > 1 and abs(shape(app)[1] - by_rule[1]) <= 2


@pytest.mark.parametrize(
    ("asked", "shown", "messages"),
    [
        ({"trees": "17"}, {"trees": 17}, []),
        ({"trees": "42", "depth": "3"}, {"trees": 42, "depth": 3}, []),
        ({"trees": "5000"}, {"trees": 300}, ["trees: 5000. Possible are 1 to 300, so the page takes 300."]),
        ({"depth": "20"}, {"depth": 15}, ["depth: 20. Possible are 1 to 15, so the page takes 15."]),
        ({"depth": "0", "trees": "9"}, {"depth": 1}, ["depth: 0. Possible are 1 to 15, so the page takes 1."]),
        ({"trees": "-4"}, {}, ["trees: -4. Possible are 1 to 300, so the page takes another number."]),
    ],
)
def test_a_link_gets_its_numbers_or_the_nearest_ones_and_a_message(asked, shown, messages):
    app = opened(forest="majority labels", **asked)
    depth, trees = shape(app)
    assert {name: {"depth": depth, "trees": trees}[name] for name in shown} == shown
    assert [toast.value for toast in app.toast] == [f"The link asks for {message}" for message in messages]
    app.run()
    assert shape(app) == (depth, trees) and not app.toast, "the message appears once"


def test_where_one_question_uses_up_all_attributes_there_is_no_depth_to_choose():
    """If a single test uses up all attributes, the page has no depth slider: a slider from 1 to 1 raises an error."""
    rows = "\n".join(f"c{i % 700},{'yes' if i % 3 else 'no'}" for i in range(2_100))
    app = opened(data="upload a CSV", forest="majority labels", mode="as published")
    app.file_uploader[0].upload("wide.csv", f"a,label\n{rows}\n".encode()).run()
    assert not app.exception and not any(slider.key == "depth" for slider in app.slider)
    assert any("No tree grows deeper than 1" in caption.value for caption in app.caption)


@pytest.mark.parametrize(
    "move", every(8, ["relation", "toggle", "mode", "public", "depth", "link", "trees", "α by hand"])
)
def test_numbers_set_by_hand_do_not_follow_from_the_private_number_of_records(move, monkeypatch):
    """Depth and trees that a user has set do not depend on the number of rows, because a release publishes them."""
    monkeypatch.setattr(first_release, "LAST", 2)
    shapes = []
    for n_rows in (280, 8_400):
        rows = "\n".join(f"c{i % 7},{i % 10},{'yes' if i % 3 else 'no'}" for i in range(n_rows))
        link = {"forest": "majority labels"}
        if move == "link":
            link |= {"by_rule": "false", "trees": "11"}
        app = visit(data="upload a CSV", **link) if move == "public" else opened(data="upload a CSV", **link)
        app.file_uploader[0].upload("people.csv", f"a,b,label\n{rows}\n".encode()).run()
        by_rule = shape(app)
        if move == "toggle":
            app.toggle(key="by_rule").set_value(False).run()
        elif move == "trees":
            app.select_slider(key="trees").set_value(11).run()
        elif move == "depth":
            app.slider(key="depth").set_value(2).run()
        elif move == "relation":  # under "a row exchanged", the rule uses the exact number of rows
            app.radio(key="neighbors").set_value("a row exchanged").run()
            app.toggle(key="by_rule").set_value(False).run()
            app.radio(key="neighbors").set_value("adding or removing one row").run()
        elif move == "mode":
            app.radio(key="mode").set_value("as published").run()
            app.toggle(key="by_rule").set_value(False).run()
            app.radio(key="mode").set_value("certified").run()
        elif move == "public":
            app.session_state["tab"] = "Data"
            app.run()
            next(box for box in app.checkbox if "This table is public" in box.label).check().run()
            app.toggle(key="by_rule").set_value(False).run()
            next(box for box in app.checkbox if "This table is public" in box.label).uncheck().run()
            assert app.toggle(key="by_rule").value
            app.toggle(key="by_rule").set_value(False).run()
        elif move == "α by hand":
            app.selectbox(key="forest").select("boosted").run()
            by_rule = shape(app)
            app.selectbox(key="alphas").select("drawn by hand").run()
        assert not app.exception and app.toggle(key="by_rule").value is (move == "α by hand")
        shapes.append((by_rule, shape(app)))
    (few, chosen), (many, same) = shapes
    assert chosen[0] == same[0] and (move == "link" or few != many)
    # If a user sets only α, the rule decides the number of trees, so a release queries the number of rows.
    assert chosen[1] == same[1] or move == "α by hand"


@pytest.mark.parametrize("order", [1, -1])
def test_a_press_sent_before_the_page_answers_is_kept(order):
    """No key press is lost if the browser sends it before the page has answered the first press.

    The first press turns off the toggle for the rule, and puts the number into the link.
    """
    app = opened()
    for depth in (3, 4, 5):
        app.query_params.pop("depth", None)
        app.toggle(key="by_rule").set_value(True)
        app.slider(key="depth").set_value(depth)
        states = app._tree.get_widget_states()
        app._run(WidgetStates(widgets=list(states.widgets)[::order]))
        slider = app.slider(key="depth")
        assert slider.value == depth and not slider.proto.set_value, "the page moves the slider, which undoes a press"
        assert str(depth) in app.query_params["depth"]  # AppTest returns a text, or a list of one text
