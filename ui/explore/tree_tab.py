"""The Tree tab: the questions of one tree near the root, and the whole tree at a glance."""

from __future__ import annotations

import zlib
from html import unescape

import numpy as np
import streamlit as st

from dpforest import plotting
from dpforest.limits import LEAF_CAP
from dpforest.models.budget import AUTO
from dpforest.plotting.focus import LEVEL, MOST_LEVELS
from dpforest.plotting.overview import counted_text
from dpforest.plotting.words import ancestors, answer, question
from dpforest.simulation.views import ForestView, NodeTable
from dpforest.tables.features import plural
from dpforest.trees.layout import LEAF
from ui import state
from ui.explore import boosted_tab, rounds_tab
from ui.explore.follow_record import ask_index, choose_row, points, show_record
from ui.forest.forests import FORESTS
from ui.shared.controls import drop_unknown
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.tables import planned_rows, read_by
from ui.shared.wording import plain, unbroken

LEAST_DEPTH, SHALLOW = 2, 3  # smallest and default depth of the drawing of questions
MOST_ANSWERS = 12  # largest number of answers that the pills below the drawing offer
MOST_QUESTIONS = 200  # largest number of questions that the select box offers
WIDTHS = ("as wide as its rows", "all leaves alike")


def show(choice: Choice, view: ForestView) -> None:
    """Draw the Tree tab: the questions from the root, and below them the whole tree at a glance."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tree = choose_tree(view)
        st.button(
            "Draw the noise again",
            key="noise_again",
            icon=":material/casino:",
            on_click=_draw_again,
            help="Another simulated release of the same questions and records: only the noise on the leaves is new.",
        )
        follow = st.toggle("Follow one record", key=state.FOLLOW, persist_state="session")
        row = choose_row(choice) if follow else None
    path = show_record(choice, view, tree, row) if row is not None else []
    drawn = state.NOISE_DRAWN.value
    nodes = view.nodes(tree, view.redraw(tree, drawn) if drawn else None)
    structure = _structure(choice, tree, nodes)
    _questions(choice, view, tree, nodes, structure, path)
    _whole_tree(choice, view, tree, nodes, structure, path)
    if view.added is not None:
        rounds_tab.show(choice, view)
    elif view.leaf_values is not None:
        boosted_tab.show(choice, view)


def _questions(
    choice: Choice, view: ForestView, tree: int, nodes: NodeTable, structure: tuple, path: list[int]
) -> None:
    """Draw the questions of a few levels, from the root or from the node that the user clicked."""
    root, deepest = _root(structure, nodes), int(nodes.trees.level.max())
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(width="content"):
            where = "from here on" if root else "from the root"
            titled(f"Tree {tree + 1} of {view.trees.n_trees}{_of_class(view, tree)}: questions {where}", "Do not share")
        depth = SHALLOW
        if deepest > LEAST_DEPTH:
            drop_unknown(state.LEVELS, range(LEAST_DEPTH, deepest + 1))
            depth = st.segmented_control(
                "Depth shown",
                range(LEAST_DEPTH, min(deepest, MOST_LEVELS - 1) + 1),
                default=min(SHALLOW, deepest),
                required=True,
                key=state.LEVELS,
                persist_state="session",
                format_func=lambda n: f"depth {n}",
                label_visibility="collapsed",
            )
    st.caption(unbroken(_how_drawn(choice, view) + _changed_labels(nodes)))
    _breadcrumb(structure, view, nodes, root)
    if path and root not in path:
        st.button(
            "Back to the branch of the record",
            key="to_record",
            type="tertiary",
            icon=":material/my_location:",
            on_click=_start_at,
            args=(structure, 0),
        )
    figure = plotting.focus_tree(nodes, view.domain_of(tree), root=root, levels=depth + 1, path=path)
    n_levels = round(figure.layout.xaxis.range[1])
    with st.container(key="focus"):
        chart(
            figure,
            f"Questions of tree {tree + 1}: each node with its classes, each leaf with its label and flip rate.",
            title="Questions of a tree",
            key="focus_chart",
            on_select=lambda: _clicked("focus_chart", structure),
            selection_mode="points",
            width="stretch" if n_levels <= SHALLOW + 1 else LEVEL * n_levels,
        )
    _answers(structure, view, nodes, root)
    st.caption(
        f"The bar shows the classes of the {view.counted} in a node. A larger dot means more {view.counted}; its "
        "color is the rate at which labels flip. Click a node to start there."
    )
    if nodes.probability is not None:
        st.caption(
            "p: the probability that this question was drawn; after ×, how many times as likely it was as in a draw "
            "that ignores the data. Near ×1, the question was drawn almost without regard to the data. Point at a "
            "node to see how much its question reduces the impurity (how mixed the classes are)."
        )
        if _ignores_data(view):
            st.caption(
                "At this ε the data hardly affect which questions are drawn. So another way to judge questions (α, "
                "scores) changes almost nothing. Raise ε, or ask for fewer trees and levels."
            )


def _whole_tree(
    choice: Choice, view: ForestView, tree: int, nodes: NodeTable, structure: tuple, path: list[int]
) -> None:
    """Draw all levels and leaves at a glance."""
    drop_unknown(state.WIDTH, WIDTHS)
    by_records = state.WIDTH.value in (None, WIDTHS[0])
    deepest = int(nodes.trees.level.max())
    titled(
        f"The whole tree: {plural(nodes.trees.n_leaves, 'leaf', 'leaves')} on {plural(deepest + 1, 'level')}",
        "Do not share",
        help="One stripe for each level of the tree, the root on top. Color is the rate at which the label of a leaf "
        "flips away from the most frequent class. For any other node, the color is the mean "
        f"rate over the {view.counted} of the table that reach it.",
    )
    chart(
        plotting.tree_overview(
            nodes, view.domain_of(tree), root=_root(structure, nodes), path=path, by_records=by_records
        ),
        f"Overview of tree {tree + 1}: a row for each level, colored by the rate at which labels flip.",
        title="Overview of a tree",
        key="overview",
        on_select=lambda: _clicked("overview", structure),
        selection_mode="points",
    )
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(
            "Color: rate at which labels flip; white: no data, the label is pure noise. Click anywhere to read the "
            "tree from there." + _stopped(choice, deepest, nodes),
            width="content",
        )
        st.segmented_control(
            "Width of a leaf",
            WIDTHS,
            default=WIDTHS[0],
            required=True,
            key=state.WIDTH,
            persist_state="session",
            label_visibility="collapsed",
        )
    _go_to(structure, view, nodes)


def _draw_again() -> None:
    state.NOISE_DRAWN.value += 1


def _how_drawn(choice: Choice, view: ForestView) -> str:
    """Return a sentence that states how the questions were drawn."""
    if FORESTS[choice.settings.kind].chooses_questions:
        return "Each question was drawn at random; one that separates the classes better was likelier to be drawn. " + (
            "The draw costs a part of ε. " if choice.settings.certified else "The draw uses a part of the claimed ε. "
        )
    if view.scale is not None:
        return (
            "These questions were drawn at random. Only the thresholds of questions about "
            "numbers depend on the rows, and only through noisy histograms. "
        )
    return "These questions were drawn at random, without a look at the rows; so they tell nothing and cost no ε. "


def _changed_labels(nodes: NodeTable) -> str:
    """Return a sentence that states how many labels noise changed in this draw, and how many it changes on average."""
    leaves = nodes.trees.leaf_nodes
    n_with_rows = int(np.isfinite(nodes.flip[leaves]).sum())
    if not n_with_rows:
        return "No leaf of this tree has rows: all labels are pure noise."
    drawn, n_changed = state.NOISE_DRAWN.value, int(nodes.is_flipped[leaves].sum())
    which_release = f"In draw {drawn + 1} of the noise," if drawn else "In this simulated release,"
    return (
        f"{which_release} noise changed {plural(n_changed, 'label')} of this tree's "
        f"{plural(n_with_rows, 'leaf', 'leaves')} with rows; on average it changes "
        f"{np.nansum(nodes.flip[leaves]):,.1f}."
    )


def _ignores_data(view: ForestView) -> bool:
    """Return whether each question was less than 1.5 times as likely to be drawn as in a draw without data."""
    ratio = [p / c for trace in view.traces for p, c in zip(trace.probability, trace.chance, strict=True)]
    return max(float(r.max()) for r in ratio) < 1.5


def _of_class(view: ForestView, tree: int) -> str:
    """Return the class of a tree, as words in a title, if each class has a booster; otherwise an empty text."""
    if view.class_of_tree is None or view.domain.n_classes == 2:
        return ""
    return f", “{plain(view.domain.classes[int(view.class_of_tree[tree])], 20)}” or not"


def _stopped(choice: Choice, deepest: int, nodes: NodeTable) -> str:
    """Return a sentence if the limit on leaves ended the tree before its depth; otherwise an empty text."""
    settings, table = choice.settings, choice.table
    by_rule = settings.certified and settings.depth == AUTO  # the rule sets the depth from a noisy row count
    depth = 0 if by_rule else settings.shape(read_by(table, settings).domain, planned_rows(table, settings))[0]
    if deepest >= depth or FORESTS[settings.kind].is_fitted_anew:
        return ""
    return (
        f" It ends at level {deepest}, not {depth}: one more question would bring it over the public "
        f"limit of {LEAF_CAP:,} leaves."
    )


def choose_tree(view: ForestView) -> int:
    """Ask for a tree, and return its index. All tabs show the same tree."""
    return ask_index("Tree", view.trees.n_trees, state.TREE, width=130)


def _clicked(key: str, structure: tuple) -> None:
    if nodes := points(key):
        _start_at(structure, nodes[0])


def _start_at(structure: tuple, node: int) -> None:
    """Make the drawing start at a node. This choice stays as long as the tree tests the same attributes."""
    state.FOCUS.value = (structure, node)


def _start_at_choice(structure: tuple, key: state.Key, nodes: list[int]) -> bool:
    """Make the drawing start at the node that a control chose, and return True.

    Return False if the user chose a node of the previous tree, which the browser may still show.
    """
    is_of_this_tree = not drop_unknown(key, nodes) and key.value is not None
    if is_of_this_tree:
        _start_at(structure, key.value)
    return is_of_this_tree


def _structure(choice: Choice, tree: int, nodes: NodeTable) -> tuple:
    """Return a key that identifies a tree, so that a stored node number is used only for its tree.

    The key depends on the tested attributes but not on thresholds: thresholds on the noisy scale move with ε, and the
    node that the user chose must stay.
    """
    attributes = b"".join(np.ascontiguousarray(part).tobytes() for part in (nodes.trees.kind, nodes.trees.feature))
    return choice.table.schema_key, choice.settings.kind, tree, zlib.crc32(attributes)


def _root(structure: tuple, nodes: NodeTable) -> int:
    """Return the node that the drawing starts at. A clicked leaf is drawn below its parent."""
    structure_of_node, node = state.FOCUS.value
    if structure_of_node != structure:
        return 0
    if type(node) is not int or not 0 <= node < nodes.trees.n_nodes:
        state.FOCUS.pop()
        return 0
    return int(nodes.trees.parent[node]) if nodes.trees.kind[node] == LEAF else node


def _breadcrumb(structure: tuple, view: ForestView, nodes: NodeTable, root: int) -> None:
    """Draw a button for each question above the first drawn node. A click makes the drawing start at that question."""
    steps = ancestors(nodes.trees, root)
    if len(steps) == 1:
        return
    with st.container(horizontal=True, gap="small"):
        for node, child in zip(steps, steps[1:], strict=False):
            text = f"{question(nodes.trees, view.domain, node)} {answer(nodes.trees, view.domain, child)}"
            st.button(
                f"{'root: ' if node == 0 else ''}{plain(unescape(text), 50)} ›",
                key=f"up_{node}",
                type="tertiary",
                on_click=_start_at,
                args=(structure, node),
            )


def _answers(structure: tuple, view: ForestView, nodes: NodeTable, root: int) -> None:
    """Offer the answers to the first question drawn, for users without a mouse."""
    tree = nodes.trees
    below = tree.first_child[root] + np.arange(tree.n_children[root])
    below = below[tree.kind[below] != LEAF]
    largest = np.sort(below[np.argsort(-nodes.counts[below].sum(axis=1), kind="stable")[:MOST_ANSWERS]]).tolist()
    if not largest:
        return
    key = state.DOWN(root)
    drop_unknown(key, largest)

    def go() -> None:
        _start_at_choice(structure, key, largest)

    st.pills(
        f"Read on from: {plain(unescape(question(tree, view.domain, root)), 50)}",
        largest,
        key=key,
        on_change=go,
        format_func=lambda node: plain(unescape(answer(tree, view.domain, node)), 24),
    )


def _go_to(structure: tuple, view: ForestView, nodes: NodeTable) -> None:
    """Offer the questions of the overview that most rows or persons reach, for users without a mouse."""
    tree = nodes.trees
    inner = np.flatnonzero(tree.kind != LEAF)
    if len(inner) < 2:
        return
    largest = inner[np.argsort(-nodes.counts[inner].sum(axis=1), kind="stable")[:MOST_QUESTIONS]]
    drop_unknown(state.TO_NODE, options := np.sort(largest).tolist())

    def go() -> None:
        if _start_at_choice(structure, state.TO_NODE, options):
            state.TO_NODE.value = None  # otherwise the box would still name this node after a click on another node

    def named(node: int) -> str:
        asked = unescape(question(tree, view.domain, node))  # a select box does not interpret HTML
        return f"level {tree.level[node]}: {asked} ({counted_text(nodes, view.domain, node)})"

    st.selectbox(
        "Read from a question",
        options,
        None,
        key=state.TO_NODE,
        on_change=go,
        format_func=named,
        placeholder=f"Choose one of {plural(len(options), 'question')}",
        help=f"Questions that most {view.counted} reach.",
    )
