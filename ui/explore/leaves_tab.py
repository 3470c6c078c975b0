"""The Leaves tab: a histogram of the rates at which noise flips the labels of leaves, and a table of the leaves."""

from __future__ import annotations

from html import unescape

import numpy as np
import pandas as pd
import streamlit as st

from dpforest import plotting
from dpforest.plotting.style import flip_percent
from dpforest.plotting.words import path_text
from dpforest.simulation.label_flips import relabeled_share
from dpforest.simulation.views import ForestView
from dpforest.tables.units import MOST_ROWS
from ui import state
from ui.explore import rounds_tab
from ui.explore.tree_tab import choose_tree
from ui.shared import figures
from ui.shared.controls import drop_unknown
from ui.shared.downloads import as_csv
from ui.shared.glossary import tip
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice

SCOPES = ("the whole forest", "one tree")
MOST_LEAVES = 1_000  # largest number of leaves in the table
N_DRAWS = 200  # number of times that noise is drawn for the simulated flip rate
NO_DATA = "no rows: the released label is pure noise"


def show(choice: Choice, view: ForestView) -> None:
    """Draw a histogram of the flip rates of all leaves, sentences about it, and a table of leaves."""
    n_counted, flip, counted = view.n_counted, view.flip, view.counted
    has_rows = n_counted > 0
    titled(
        "How often labels flip",
        "Do not share",
        help="A label flips when noise changes the class that a leaf favors. A flip in a large leaf affects more "
        f"{counted}, but the labels of small leaves flip more often.",
    )
    shares = {f"share of {counted}": False, "share of leaves": True}
    drop_unknown(state.SHARES, shares)
    chosen = st.segmented_control(
        "The bars show the",
        list(shares),
        default=next(iter(shares)),
        required=True,
        key=state.SHARES,
        persist_state="session",
    )
    chart(
        plotting.flip_histogram(
            flip, n_counted, view.domain.n_classes, view.rows_of_persons, by_leaf=shares.get(chosen, False)
        ),
        f"Histogram of the flip rate of leaves: {chosen}.",
        title="How often labels flip",
    )
    known_flip = has_rows & np.isfinite(flip)
    mean = float(np.average(flip[known_flip], weights=n_counted[known_flip])) if known_flip.any() else 0.0
    relabeled, epsilon = relabeled_share(view.noise), f"ε = {choice.settings.epsilon:g}"
    if relabeled is None:
        what_flips = "the sign of the leaf’s step" if view.added is not None else "the label of the leaf"
        st.markdown(
            f"On average over all {counted}, noise at {epsilon} changes {what_flips} in **{flip_percent(mean)}** of "
            "releases."
        )
    else:
        st.markdown(
            f"At {epsilon}, noise changes the label of a leaf in this share of releases, on "
            f"average:\n{_both_rates(mean, relabeled, int(has_rows.sum()), counted)}"
        )
    if n_empty := int((~has_rows).sum()):
        st.markdown(empty_words(n_empty, len(has_rows), "number" if view.added is not None else "label"))
    if view.rows_of_persons is not None:
        st.markdown(
            f"If a person has k rows, each of these rows counts as 1/k person in its leaf. At most {MOST_ROWS} rows of "
            "a person are used."
        )
    if view.added is not None:
        st.markdown(rounds_tab.flips_of_records(choice, view))
    if view.leaf_values is not None:
        st.caption(
            "Every leaf of this forest holds a number, not a label. Its sign is the class that the leaf votes for, "
            "and a label flips when noise reverses the sign. The number depends on the rows' weights for and against "
            "the class that the tree is about, not on counts, because later trees weigh rows differently. The table "
            "has two rates: by a formula (for noise in real numbers), and estimated from redraws."
        )
    if view.added is not None:
        st.caption(
            "These leaves hold numbers, not labels: how far they move the score of each class. Here a label flips when "
            "noise reverses the sign of a leaf's step (with more than two classes, when another class gets the largest "
            "step)."
        )
    titled("Leaf by leaf", "Do not share")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        drop_unknown(state.SCOPE, SCOPES)
        scope = st.segmented_control(
            "Leaves of", SCOPES, default=SCOPES[0], required=True, key=state.SCOPE, persist_state="session"
        )
        tree = choose_tree(view) if scope == SCOPES[1] else None
    start = view.trees.leaf_start
    leaves = np.arange(view.trees.n_leaves) if tree is None else np.arange(start[tree], start[tree + 1])
    listed_leaves = leaves[
        np.argsort(-np.nan_to_num(flip[leaves] * n_counted[leaves], nan=-1.0), kind="stable")[:MOST_LEAVES]
    ]
    figures.table(
        leaf_table(view, listed_leaves),
        "Leaf by leaf",
        hide_index=True,
        height=380,
        column_config={
            "flips (closed form)": st.column_config.NumberColumn(format="percent"),
            "flips (simulated)": st.column_config.NumberColumn(
                format="percent", help=f"Share of {N_DRAWS} redraws of the noise in which the label flips."
            ),
            "lead": st.column_config.NumberColumn(help=tip("lead")),
            "path": st.column_config.TextColumn(width="large"),
        },
        alt=f"Leaves with their {'persons and ' * (counted == 'persons')}rows, lead, labels, and flip rate.",
    )
    st.caption(
        f"{len(listed_leaves):,} of {len(leaves):,} leaves, sorted by flip rate times number of {counted}, the "
        f"largest first. “flips (simulated)” is the share in {N_DRAWS} redraws of the noise, and should lie near "
        "“flips (closed form)”, which a formula gives."
    )
    st.download_button(
        "Download all leaves of this selection (do not share)",
        data=lambda: as_csv(leaf_table(view, leaves)),
        file_name="DO_NOT_SHARE_leaves.csv",
        mime="text/csv",
        on_click="ignore",
    )


def _both_rates(per_one: float, per_leaf: float, n_full: int, counted: str) -> str:
    """State and explain two mean flip rates: over rows (or over persons, given a unit of privacy), and over leaves."""
    return (
        f"- Per {counted.removesuffix('s')}: **{flip_percent(per_one)}**. A leaf counts once for each "
        f"{counted.removesuffix('s')} in it. A change between classes that tie for first place does not count.\n"
        f"- Per leaf: **{flip_percent(per_leaf)}**. Each of the {n_full:,} leaves with rows counts once, so small "
        "leaves, whose labels flip most, count as much as large ones. A change between tied classes "
        "counts, too, as in figure 8 of Fletcher and Islam."
    )


def empty_words(n_empty: int, n_leaves: int, published: str) -> str:
    """State how many leaves are empty and what they publish.

    >>> empty_words(1, 2, "label").split(",")[0]
    '1 of the 2 leaves is empty and publishes a label at random'
    """
    leaves = "leaves is empty and publishes" if n_empty == 1 else "leaves are empty and publish"
    return (
        f"{n_empty:,} of the {n_leaves:,} {leaves} a {published} at random, because a missing {published} would reveal "
        "that a leaf is empty."
    )


def leaf_table(view: ForestView, leaves: np.ndarray) -> pd.DataFrame:
    """Return the exact figures of the given leaves, with a row for each leaf. Only the curator may see them.

    If the table has a unit of privacy, such as persons with several rows, each leaf has a number of persons and a
    number of rows. The columns of the classes then count persons.
    """
    trees, classes = view.trees, [str(c) for c in view.domain.classes]
    tree_of = np.searchsorted(trees.leaf_start, leaves, side="right") - 1
    true_labels = view.true_labels[leaves]
    tree_numbers, tree_index = np.unique(tree_of, return_inverse=True)
    names = np.array([[str(c) for c in view.domain_of(int(t)).classes] for t in tree_numbers], dtype=object)
    table = pd.DataFrame({"tree": tree_of + 1, "leaf": leaves - trees.leaf_start[tree_of] + 1})
    if view.rows_of_persons is not None:
        table["persons"] = view.n_counted[leaves].round(3)
    table["rows"] = view.n_rows[leaves]
    table["flips (closed form)"] = view.flip[leaves]
    simulated = view.simulated_flip(leaves, N_DRAWS)
    table["flips (simulated)"] = np.where(view.n_rows[leaves] > 0, simulated, np.nan)
    table["true label"] = np.where(true_labels < 0, NO_DATA, names[tree_index, true_labels])
    table["released label"] = names[tree_index, view.labels[leaves]]
    if view.leaf_values is not None:
        table["adds to the score"] = view.leaf_values[leaves]
        table["weight against"], table["weight for"] = view.noise.evidence[leaves].T
    if view.added is not None:
        for k in range(len(classes)) if len(classes) > 2 else (1,):
            table[f"adds to the score of {classes[k]}"] = view.added.leaf_scores[leaves, k]
    else:
        table["lead"] = view.gap[leaves].round(3)
    for k, name in enumerate(classes):
        table[f"{view.counted} with label {name}"] = view.counts[leaves, k].round(3)
    if len(np.unique(tree_of)) == 1 and len(leaves):
        tree = trees.select(int(tree_of[0]))
        nodes = tree.leaf_nodes[leaves - trees.leaf_start[tree_of[0]]]
        table["path"] = [unescape(path_text(tree, view.domain, int(node))) for node in nodes]
    return table
