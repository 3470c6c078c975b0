"""One tree: overview, the part that can be read, and one record on its way through."""

from __future__ import annotations

import zlib

import numpy as np
import streamlit as st

from dpforest import plotting
from dpforest.evaluation.forest_view import ForestView, NodeTable
from dpforest.limits import LEAF_CAP
from dpforest.models.base import AUTO
from dpforest.plotting.style import flip_percent, percent
from dpforest.plotting.words import ancestors, answer, question, value_text
from dpforest.tables.features import plural
from dpforest.trees.layout import LEAF
from dpforest.trees.routing import leaves_of_rows
from ui.explore import boosted_tab, rounds_tab
from ui.shared.forests import FORESTS
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.tables import n_learnt_from, read_by, split
from ui.shared.wording import plain

WIDTHS = ("as wide as its records", "all leaves alike")


def show(choice: Choice, view: ForestView) -> None:
    """The Tree tab."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tree = choose_tree(view)
        follow = st.toggle("Follow one record", key="follow", persist_state="session")
        row = _choose_row(choice) if follow else None
    nodes = view.nodes(tree)
    path = _followed(choice, view, tree, row) if row is not None else []
    structure = _structure(choice, tree, nodes)
    root = _root(structure, nodes)
    by_records = st.session_state.get("width", WIDTHS[0]) == WIDTHS[0]
    deepest = int(nodes.trees.level.max())
    titled(
        f"Tree {tree + 1} of {view.trees.n_trees}{_of_class(view, tree)}: {nodes.trees.n_leaves:,} leaves on "
        f"{plural(deepest + 1, 'level')}",
        "Curator only",
        help="One row for each level of the tree, the root on top. Colour is the rate at which the label of a leaf "
        "flips away from the most frequent class; above the leaves it is the mean over the records below.",
    )
    chart(
        plotting.tree_overview(nodes, view.domain_of(tree), root=root, path=path, by_records=by_records),
        f"Overview of tree {tree + 1}: a row for each level, coloured by the rate at which labels flip.",
        title="Overview of a tree",
        key="overview",
        on_select=lambda: _clicked("overview", structure),
        selection_mode="points",
    )
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(
            "Colour: rate at which labels flip; white: no data, the label is pure noise. Click anywhere to read the "
            "tree from there." + _stopped(choice, deepest, nodes), width="content",
        )  # fmt: skip
        st.segmented_control(
            "Width of a leaf", WIDTHS, default=WIDTHS[0], required=True, key="width", persist_state="session",
            label_visibility="collapsed",
        )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(width="content"):
            titled("Questions from here on" if root else "Questions from the root", "Curator only")
        levels = st.segmented_control(
            "Levels shown", [3, 4, 5, 6], default=4, required=True, key="levels", persist_state="session",
            format_func=lambda n: f"{n} levels", label_visibility="collapsed",
        )  # fmt: skip
    _breadcrumb(structure, view, nodes, root)
    with st.container(key="focus"):
        chart(
            plotting.focus_tree(nodes, view.domain_of(tree), root=root, levels=levels, path=path),
            f"Questions of tree {tree + 1} from the node chosen, with the label and flip rate of each leaf.",
            title="Questions of a tree",
            key="focus_chart",
            on_select=lambda: _clicked("focus_chart", structure),
            selection_mode="points",
        )
    if nodes.probability is not None:
        st.caption(
            "p: how likely this question was to be drawn; behind ×, how many times as likely as if the data had no "
            "say. Near ×1, noise has chosen. The label of a node tells how much of the impurity its question removes."
        )
        if _no_say(view):
            st.caption(
                "At this ε the data hardly have a say in any question, and then other ways to judge them (α, scores) "
                "change next to nothing. Raise ε, or ask for fewer trees and levels."
            )
    if view.added is not None:
        rounds_tab.show(choice, view)
    elif view.leaf_values is not None:
        boosted_tab.show(choice, view)


def _no_say(view: ForestView) -> bool:
    """Whether every question was about as likely to be drawn as by chance alone."""
    ratio = [p / c for trace in view.traces for p, c in zip(trace.probability, trace.chance, strict=True)]
    return max(float(r.max()) for r in ratio) < 1.5


def _of_class(view: ForestView, tree: int) -> str:
    """Which class a tree is about, where there is a booster for each."""
    if view.class_of_tree is None or view.domain.n_classes == 2:
        return ""
    return f", “{plain(view.domain.classes[int(view.class_of_tree[tree])], 20)}” or not"


def _stopped(choice: Choice, deepest: int, nodes: NodeTable) -> str:
    settings, table = choice.settings, choice.table
    by_rule = settings.certified and settings.depth == AUTO  # which goes by a noisy number of records
    asked = 0 if by_rule else settings.shape(read_by(table, settings).domain, n_learnt_from(table))[0]
    if deepest >= asked or FORESTS[settings.kind].is_fitted_anew:
        return ""
    return (
        f" It ends at level {deepest}, not {asked}: one more question would bring it over the public "
        f"limit of {LEAF_CAP:,} leaves."
    )


def choose_tree(view: ForestView) -> int:
    """Index of the tree to look at, the same in every tab."""
    n_trees = view.trees.n_trees
    if st.session_state.get("tree", 1) > n_trees:
        st.session_state["tree"] = 1
    number = st.number_input("Tree", 1, n_trees, key="tree", persist_state="session", width=130)
    return min(max(int(number), 1), n_trees) - 1


def _choose_row(choice: Choice) -> int:
    n = len(split(choice.table).y_test)
    if st.session_state.get("row", 1) > n:
        st.session_state["row"] = 1
    row = st.number_input(
        "Record held out", 1, n, key="row", persist_state="session", width=150,
        help="A record that the simulated release has not seen, by its number.",
    )  # fmt: skip
    return min(max(int(row), 1), n) - 1


def _followed(choice: Choice, view: ForestView, tree: int, row: int) -> list[int]:
    """Show the record, its votes and the verdict; give its path in this tree."""
    parts = split(choice.table)
    codes, truth = parts.X_test[row], int(parts.y_test[row])
    leaves = leaves_of_rows(view.trees, view.domain, codes[None])[:, 0]
    titled(f"Record {row + 1} in {plural(view.trees.n_trees, 'tree')}", "Curator only")
    if view.added is not None:
        rounds_tab.verdict(view.added, codes, truth)
    elif view.leaf_values is None:
        _verdict(view, leaves, truth)
    else:
        boosted_tab.verdict(view, leaves, truth)
    with st.expander("What the record says"):
        said = zip(view.domain.features, codes, strict=True)
        st.markdown(" · ".join(f"{plain(f.name)} **{plain(value_text(f, int(c)))}**" for f, c in said))
    if view.added is not None:
        return view.path(tree, codes)
    if view.leaf_values is None:
        chart(
            plotting.votes(view.labels[leaves], view.flip[leaves], view.domain.classes, tree=tree, truth=truth),
            "One square for each tree, grouped by the class it votes for, coloured by the flip rate of the leaf.",
            title="Votes on a record",
            key="votes",
            width=620,
            on_select=_voted,
            selection_mode="points",
        )
    else:
        chart(
            plotting.contributions(view.leaf_values[leaves], view.domain_of(tree).classes, tree=tree),
            "One bar for each tree: what its leaf adds to the score.",
            title="Votes on a record",
            key="votes",
            width=620,
            on_select=_voted,
            selection_mode="points",
        )
    return view.path(tree, codes)


def _verdict(view: ForestView, leaves: np.ndarray, truth: int) -> None:
    """How the trees vote, in a sentence."""
    labels, flip, classes = view.labels[leaves], view.flip[leaves], view.domain.classes
    share = np.bincount(labels, minlength=view.domain.n_classes) / len(labels)
    winner = int(share.argmax())
    verdict = "which is right" if winner == truth else f"but it is {plain(classes[truth])}"
    sure = flip[np.isfinite(flip)]
    st.markdown(
        f"{percent(share[winner], 0)} of the trees vote for **{plain(classes[winner])}**, {verdict}. "
        + (f"Its leaves flip in {flip_percent(float(sure.mean()))} of releases on average." if len(sure) else "")
    )


def _points(key: str) -> list:
    """Where a chart was clicked: the customdata of the points chosen."""
    points = st.session_state[key].selection.points
    return [int(np.ravel(point["customdata"])[0]) for point in points if "customdata" in point]


def _clicked(key: str, structure: tuple) -> None:
    if nodes := _points(key):
        st.session_state["focus"] = (structure, nodes[0])


def _voted() -> None:
    if trees := _points("votes"):
        st.session_state["tree"] = trees[0] + 1


def _structure(choice: Choice, tree: int, nodes: NodeTable) -> tuple:
    """What a node number belongs to: a tree with these questions."""
    own = nodes.trees
    questions = b"".join(np.ascontiguousarray(part).tobytes() for part in (own.kind, own.feature, own.threshold))
    return choice.table.schema_key, choice.settings.kind, tree, zlib.crc32(questions)


def _root(structure: tuple, nodes: NodeTable) -> int:
    """Node the focus drawing starts at; a leaf that was clicked is shown below its parent."""
    looked_at, node = st.session_state.get("focus", (None, 0))
    if looked_at != structure or not 0 <= node < nodes.trees.n_nodes:
        return 0
    return int(nodes.trees.parent[node]) if nodes.trees.kind[node] == LEAF else node


def _breadcrumb(structure: tuple, view: ForestView, nodes: NodeTable, root: int) -> None:
    """The questions and answers that lead to where the drawing starts; each leads back up."""
    steps = ancestors(nodes.trees, root)
    if len(steps) == 1:
        return
    with st.container(horizontal=True, gap="small"):
        for node, child in zip(steps, steps[1:], strict=False):
            text = f"{question(nodes.trees, view.domain, node)} {answer(nodes.trees, view.domain, child)}"
            st.button(
                f"{'root: ' if node == 0 else ''}{plain(_unescaped(text), 50)} ›", key=f"up_{node}", type="tertiary",
                on_click=lambda node=node: st.session_state.update(focus=(structure, node)),
            )  # fmt: skip


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
