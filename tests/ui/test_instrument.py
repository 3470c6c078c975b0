"""The instrument (the chart of Explore with its sliders) gets the current figures from the app.

When a user lets go of a slider, the instrument sets the controls of the page.
"""

import json
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.app_words import visit
from ui import state
from ui.explore import instrument
from ui.forest.boost_controls import ALPHAS, stop_of, stops
from ui.forest.forests import as_it_comes
from ui.forest.shape_controls import Shape
from ui.jobs import first_release
from ui.jobs.sweep_job import Line

NAMES = {"eps", "depth", "trees", "alpha", "alphas"}


@pytest.fixture(autouse=True)
def _few_releases(monkeypatch):
    monkeypatch.setattr(first_release, "LAST", 2)


def sent(page: AppTest) -> dict:
    """Return the data that the app sends to the component."""
    (component,) = page.get("bidi_component")
    return json.loads(component.proto.json or component.proto.mixed.json)


@pytest.mark.refined
def test_the_instrument_shows_the_figures_of_the_page():
    page = visit(forest="majority labels", data="nursery", eps="0.5")
    data = sent(page)
    place = data["curves"]["epsilons"].index(0.5)
    mean, line = data["curves"]["line"]["mean"][place], data["curves"]["line"]
    headline = [text.value for text in page.markdown if text.value.startswith("### ")]
    assert headline[0] == f"### {100 * mean:.1f} %".replace(" %", "\u00a0%")
    assert data["epsilon"]["value"] == 0.5 and data["byRule"]
    assert (data["depth"]["value"], data["trees"]["value"]) == (line["depth"][place], line["trees"][place])
    assert data["alpha"]["values"] == [] and "boosted" in data["alpha"]["why"]
    # There is a separate line for each depth of the slider, and for several numbers of trees.
    by_depth, by_trees = data["curves"]["byDepth"], data["curves"]["byTrees"]
    assert {"1", "4", str(data["depth"]["value"])} <= set(by_depth) and len(by_trees) > 3
    assert all(len(one["mean"]) == len(data["curves"]["epsilons"]) for one in (*by_depth.values(), *by_trees.values()))
    ends = [node for node in data["tree"]["nodes"] if node["flips"] and node["rows"]]
    assert ends and all(None not in node["flips"] for node in ends)


def test_the_tree_has_words_for_columns_and_classes():
    tree = sent(visit(forest="majority labels", data="car", depth="4", trees="5"))["tree"]
    asked = " ".join(node["asks"] for node in tree["nodes"])
    assert {"size of trunk", "cost of maintenance", "price"} & set(re.findall("[a-z]+(?: of [a-z]+)?", asked))
    assert "lug_boot" not in asked and "maint " not in asked and "unacceptable" in tree["classes"]


@pytest.mark.parametrize(
    ("control", "value", "numbers"),
    [
        ("epsilon", 3.0, {"eps": 3}),
        ("depth", 4, {"depth": 4}),
        ("trees", 5, {"trees": 5}),
        ("epsilon", 3.3, {}),
        ("depth", 99, {}),
        ("depth", True, {}),
        ("trees", "5", {}),
        ("alpha", "0.5", {"alpha": 0.5}),
        ("alpha", "falls level by level", {}),
        ("alpha", "<b>", {}),
        ("seed", 5, {}),
    ],
)
def test_a_finished_move_sets_the_control(control, value, numbers):
    """A finished move sets its control. AppTest cannot call the component's callback `_take`, so a button calls it."""
    page = AppTest.from_function(moving, default_timeout=600)
    page.session_state["move"] = {"values": {control: value}, "seq": 7}
    page.run()
    page.button[0].click().run()
    assert not page.exception
    linked = {name: v[0] if isinstance(v, list) else v for name, v in page.query_params.items()}
    assert {name: float(linked[name]) for name in numbers} == numbers
    has_name = state.ALPHAS in page.session_state and page.session_state[state.ALPHAS] == value
    assert numbers or has_name or not NAMES & set(linked)
    assert page.session_state["moves"] == 7


def test_moves_of_two_sliders_in_one_message_both_count():
    page = AppTest.from_function(moving, default_timeout=600)
    page.session_state["move"] = {"values": {"depth": 4, "trees": 5, "epsilon": 3.0}, "seq": 1}
    page.run()
    page.button[0].click().run()
    assert not page.exception
    linked = {name: v[0] if isinstance(v, list) else v for name, v in page.query_params.items()}
    assert {name: float(linked[name]) for name in ("depth", "trees", "eps")} == {"depth": 4, "trees": 5, "eps": 3}


def moving() -> None:
    """Draw the controls of Explore, and a button that calls the callback of the component with the move."""
    from types import SimpleNamespace

    import streamlit as st

    from ui import state
    from ui.explore.instrument import _take
    from ui.shared import sidebar
    from ui.shared.epsilon import choose_epsilon

    move = st.session_state["move"]
    if "alpha" in move["values"]:
        state.FOREST.value = "boosted"
    choice = sidebar.choose(choose_epsilon())

    def pressed() -> None:
        st.session_state[state.INSTRUMENT] = SimpleNamespace(moved=move)
        _take(choice.shape, choice.settings.mode)

    st.button("Move", on_click=pressed)


def test_each_alpha_has_a_stop():
    for mode in ALPHAS:
        values = stops(mode)
        for how in set(ALPHAS[mode].values()) - {"fixed", "hand"}:
            assert stop_of(how, mode) in values
        assert stop_of(0.3, mode) in values
        assert stop_of((0.5, 0.2), mode) == "drawn by hand"


def other_lines(kind: str, shape: Shape) -> dict[str, Line]:
    lines = instrument._other_lines(as_it_comes(kind, "certified", 1.0, "add-remove"), shape)
    return {slider: line for slider, _, line in lines}


@pytest.mark.refined
@pytest.mark.parametrize(("by_rule", "fixed"), [(True, (4, 9)), (False, (6, 16))])
def test_other_lines_start_from_the_shape_that_a_move_gives(by_rule, fixed):
    shape = Shape(6, 16, tuple(range(1, 16)), (1, 4, 9, 16, 100), by_rule, (4, 9))
    lines = other_lines("majority labels", shape)
    assert (lines["depth"].settings.trees, lines["trees"].settings.depth) == (fixed[1], fixed[0])
    assert max(fixed[1] * 2**depth for depth in lines["depth"].depths) <= instrument.MOST_LEAVES
    greedy = other_lines("one greedy tree", shape)
    assert greedy["depth"].depths == (5, 6, 7) and "trees" not in greedy and len(greedy["depth"].epsilons) <= 7


def test_each_alpha_has_a_line_and_the_neighbors_on_the_slider_come_first():
    settings = as_it_comes("boosted", "certified", 1.0, "add-remove")
    settings = replace(settings, options=(*settings.options, ("alpha", 0.3)))
    lines = instrument._alpha_lines(settings)
    order = [stop for _, stop, _ in lines]
    assert order[:2] == ["0.2", "0.4"] and {*order, "0.3"} == set(stops("certified"))
    alphas = {line.settings.option("alpha") for *_, line in lines}
    assert {"schedule", "noisy", "carried", 0.0, 1.0} <= alphas and len(alphas) == len(lines)
    assert instrument._alpha_lines(as_it_comes("majority labels", "certified", 1.0, "add-remove")) == []


def test_the_scripts_are_few_readable_and_never_read_markup():
    """The scripts have at most 800 lines, and call no function that reads text as markup. Browser tests run them."""
    assert {file.name for file in instrument.FRONT_END.glob("*.js")} == set(instrument.SCRIPTS)
    scripts = {name: (instrument.FRONT_END / name).read_text(encoding="utf-8") for name in instrument.SCRIPTS}
    assert len(scripts) <= 4 and sum(len(script.splitlines()) for script in scripts.values()) <= 800
    for name, script in scripts.items():
        for banned in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "var ",
        ):
            assert banned not in script, f"{name} has {banned}"
        assert max(map(len, script.splitlines())) <= 120 and "==" not in script.replace("===", "").replace("!==", "")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_scripts_together_are_a_module(tmp_path):
    module = tmp_path / "instrument.mjs"
    module.write_text(
        "\n".join((instrument.FRONT_END / name).read_text("utf-8") for name in instrument.SCRIPTS), "utf-8"
    )
    subprocess.run(["node", "--check", str(module)], check=True)
