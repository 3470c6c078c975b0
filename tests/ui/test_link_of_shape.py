"""Depth and number of trees in the link: a link says both once somebody has moved one of them."""

import pytest
from streamlit.testing.v1 import AppTest


def opened(**query: str) -> AppTest:
    app = AppTest.from_file("../../app.py", default_timeout=120)
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
    """A part of a link can be lost; 1 is the worst guess for it, and nothing would show it."""
    by_rule = shape(opened())
    app = opened(by_rule="false", depth="3")
    assert shape(app)[0] == 3 and shape(app)[1] > 1 and abs(shape(app)[1] - by_rule[1]) <= 2


def test_where_one_question_uses_up_all_attributes_there_is_no_depth_to_choose():
    """One attribute of many categories, as published: a slider from 1 to 1 would be an exception."""
    rows = "\n".join(f"c{i % 700},{'yes' if i % 3 else 'no'}" for i in range(2_100))
    app = opened(data="upload a CSV", forest="majority labels", mode="as published")
    app.file_uploader[0].upload("wide.csv", f"a,label\n{rows}\n".encode()).run()
    assert not app.exception and not any(slider.key == "depth" for slider in app.slider)
    assert any("No tree grows deeper than 1" in caption.value for caption in app.caption)


@pytest.mark.parametrize("move", ["toggle", "trees", "depth", "link", "α by hand"])
def test_numbers_set_by_hand_do_not_follow_from_the_private_number_of_records(move):
    """A certified release publishes them as settings, so the app may not fill them in from the exact rule."""
    shapes = []
    for n_rows in (280, 8_400):
        rows = "\n".join(f"c{i % 7},{i % 10},{'yes' if i % 3 else 'no'}" for i in range(n_rows))
        link = {"forest": "majority labels"}
        if move == "link":
            link |= {"by_rule": "false", "trees": "11"}
        app = opened(data="upload a CSV", **link)
        app.file_uploader[0].upload("people.csv", f"a,b,label\n{rows}\n".encode()).run()
        by_rule = shape(app)
        if move == "toggle":
            app.toggle(key="by_rule").set_value(False).run()
        elif move == "trees":
            app.select_slider(key="trees").set_value(11).run()
        elif move == "depth":
            app.slider(key="depth").set_value(2).run()
        elif move == "α by hand":
            app.selectbox(key="forest").select("boosted").run()
            by_rule = shape(app)
            app.selectbox(key="alphas").select("drawn by hand").run()
        assert not app.exception and app.toggle(key="by_rule").value is (move == "α by hand")
        shapes.append((by_rule, shape(app)))
    (few, chosen), (many, same) = shapes
    assert chosen[0] == same[0] and (move == "link" or few != many)
    assert chosen[1] == same[1] or move == "α by hand"  # trees are by rule there, and a release asks for their number
