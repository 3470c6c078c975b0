"""The Tree tab: a click opens a part of the tree, its questions lead back up, and a record can be followed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.driver import BROWSER, Chart, Explore, idle

pytestmark = BROWSER


@pytest.fixture
def tree(explore: Explore) -> Explore:
    return explore.open(data="breast_wisconsin", depth=7, trees=21)


def _click(explore: Explore, chart: Chart, node: int) -> None:
    explore.page.mouse.click(*chart.place(node))


def test_a_click_into_the_overview_opens_a_part_of_the_tree(tree: Explore) -> None:
    """The drawing starts at the clicked node, or at the parent of a clicked leaf, and questions lead back up."""
    panel = tree.page.get_by_role("tabpanel")
    expect(panel).to_contain_text("questions from the root")
    from_root = tree.focus.nodes()
    assert from_root[0] == 0 and {1, 2} <= set(from_root)

    overview = tree.overview.traces()[-1]
    node = next(int(n) for n, level in zip(overview["customdata"], overview["y"], strict=True) if level == 2)
    with tree.focus.redrawn():
        _click(tree, tree.overview, node)
        expect(panel).to_contain_text("questions from here on")
    assert tree.focus.nodes()[0] == node
    assert 0 not in tree.focus.nodes()

    with tree.focus.redrawn():
        below = next(n for n in tree.focus.traces()[2]["customdata"][1:])
        _click(tree, tree.focus, int(below))
    assert tree.focus.nodes()[0] == below

    with tree.focus.redrawn():
        panel.get_by_role("button", name=re.compile("^root: ")).click()
        expect(panel).to_contain_text("questions from the root")
    assert tree.focus.nodes() == from_root

    leaf = next(int(n) for n, level in zip(overview["customdata"], overview["y"], strict=True) if level == 7)
    with tree.focus.redrawn():
        _click(tree, tree.overview, leaf)
        expect(panel).to_contain_text("questions from here on")
    assert tree.focus.nodes()[0] == (leaf - 1) // 2  # all tests of this tree are binary
    assert leaf in tree.focus.nodes()


def test_a_tree_is_read_by_keyboard(tree: Explore) -> None:
    panel = tree.page.get_by_role("tabpanel")
    with tree.focus.redrawn():
        panel.get_by_role("radio", name="yes").or_(panel.get_by_role("button", name="yes", exact=True)).first.focus()
        tree.page.keyboard.press("Enter")
        expect(panel).to_contain_text("questions from here on")
    assert tree.focus.nodes()[0] == 2


@pytest.mark.slow
def test_any_question_of_the_overview_is_reached_by_keyboard(tree: Explore) -> None:
    panel = tree.page.get_by_role("tabpanel")
    box = panel.get_by_role("combobox", name="Read from a question")
    box.focus()
    tree.page.keyboard.type("level 3")
    tree.page.get_by_role("option").first.wait_for()
    with tree.focus.redrawn():
        tree.page.keyboard.press("Enter")
        expect(panel).to_contain_text("questions from here on")
    assert tree.focus.nodes()[0] in range(7, 15)  # the nodes of this level, as all tests are binary
    assert box.evaluate("box => box === document.activeElement"), "the next one is a few keys away"


@pytest.mark.slow
def test_epsilon_keeps_the_node_and_recolors_it(tree: Explore) -> None:
    overview = tree.overview.traces()[-1]
    node = next(int(n) for n, level in zip(overview["customdata"], overview["y"], strict=True) if level == 3)
    with tree.focus.redrawn():
        _click(tree, tree.overview, node)
        expect(tree.page.get_by_role("tabpanel")).to_contain_text("questions from here on")
    nodes, colors = tree.focus.nodes(), tree.focus.traces()[2]["color"]
    with tree.refigured():
        tree.slider("Privacy budget ε").press("Home")
    assert tree.focus.nodes() == nodes, "the attributes that are asked about do not depend on ε"
    assert tree.focus.traces()[2]["color"] != colors
    with tree.focus.redrawn():
        tree.slider("Depth").press("ArrowLeft")
    assert tree.focus.nodes()[0] == 0, "another structure is read from its root"


def test_a_followed_record_shows_its_path_and_votes(tree: Explore) -> None:
    """A record's path appears in both drawings. Each tree's vote is a square, and a click on it opens the tree."""
    panel = tree.page.get_by_role("tabpanel")
    with tree.overview.redrawn(), tree.focus.redrawn():
        tree.page.get_by_role("switch", name="Follow one record").press("Space")
        expect(panel).to_contain_text("Record 1 in 21 trees")
    votes = Chart(tree.page, ".st-key-votes")
    assert sorted(votes.nodes()) == list(range(21))
    (path,) = [t for t in tree.overview.traces() if t["mode"] == "lines+markers"]
    assert path["y"] == list(range(8)), "from the root to a leaf"
    share = re.search(r"(\d+) % of the trees vote for", panel.inner_text())
    assert share and int(share[1]) >= 50  # there are two classes
    before = panel.inner_text()
    tree.page.get_by_role("spinbutton", name="Held-out record").fill("17")
    tree.page.get_by_role("spinbutton", name="Held-out record").press("Enter")
    # The path of record 17 may equal that of record 1.
    expect(panel).to_contain_text("Record 17 in 21 trees")
    idle(tree.page)
    assert panel.inner_text() != before
    with tree.overview.redrawn():
        _click(tree, votes, 4)
        expect(panel).to_contain_text("Tree 5 of 21")
    idle(tree.page)
    expect(tree.page.get_by_role("spinbutton", name="Tree", exact=True)).to_have_value("5")


@pytest.mark.slow
def test_depth_width_and_tree_can_be_chosen(tree: Explore) -> None:
    expect(tree.page.get_by_role("radio", name="depth 3")).to_be_checked()
    for depth in (2, 5):
        with tree.focus.redrawn():
            tree.pick(f"depth {depth}")
        drawn = tree.focus.traces()[2]
        assert max(drawn["x"]) == depth
        assert len(drawn["x"]) == 2 ** (depth + 1) - 1
    with tree.overview.redrawn():
        tree.pick("all leaves alike")
    with tree.overview.redrawn(), tree.focus.redrawn():
        tree.page.get_by_role("spinbutton", name="Tree", exact=True).press("ArrowUp")
        expect(tree.page.get_by_role("tabpanel")).to_contain_text("Tree 2 of 21")


@pytest.mark.slow
def test_redrawn_noise_flips_other_leaves(tree: Explore) -> None:
    panel = tree.page.get_by_role("tabpanel")
    with tree.refigured():
        tree.slider("Privacy budget ε").press("Home")
    flips = set[str]()
    for draw in range(2, 6):
        panel.get_by_role("button", name="Draw the noise again").click()
        expect(panel).to_contain_text(f"In draw {draw} of the noise")
        turned = re.search(r"of the noise (\d+) of its", panel.inner_text())
        assert turned
        flips.add(turned[1])
    assert len(flips) > 1, "the same number of flips four times over would be no new noise"
