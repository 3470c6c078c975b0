"""One held-out record: the votes of the trees, the verdict of the forest, and the path through a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from dpforest import plotting
from dpforest.plotting.style import flip_percent, percent
from dpforest.plotting.words import value_text
from dpforest.simulation.views import ForestView
from dpforest.tables.features import plural
from dpforest.trees.routing import leaves_of_rows
from ui import state
from ui.explore import boosted_tab, rounds_tab
from ui.shared.controls import drop_out_of_bounds
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.tables import read_by, split
from ui.shared.wording import plain


def choose_row(choice: Choice) -> int:
    """Ask for a held-out record by its number, and return the index of the record."""
    help_text = "A record that the simulated release has not seen, by its number."
    n_records = len(split(read_by(choice.table, choice.settings)).y_test)
    return ask_index("Held-out record", n_records, state.ROW, width=150, help=help_text)


def ask_index(label: str, n: int, key: state.Key, **settings: Any) -> int:
    """Draw a field for a number from 1 to `n`. Return the chosen number minus 1, which is an index from 0."""
    drop_out_of_bounds(key, 1, n)
    number = st.number_input(label, 1, n, key=key, persist_state="session", **settings)
    return min(max(int(number), 1), n) - 1


def show_record(choice: Choice, view: ForestView, tree: int, row: int) -> list[int]:
    """Show the record, its votes and the verdict. Return its path in this tree, as node numbers."""
    rows = split(read_by(choice.table, choice.settings))
    codes, truth = rows.X_test[row], int(rows.y_test[row])
    leaves = leaves_of_rows(view.trees, view.domain, codes[None])[:, 0]
    titled(f"Record {row + 1} in {plural(view.trees.n_trees, 'tree')}", "Do not share")
    if view.added is not None:
        rounds_tab.verdict(view.added, codes, truth)
    elif view.leaf_values is None:
        _verdict(view, leaves, truth)
    else:
        boosted_tab.verdict(view, leaves, truth)
    with st.expander("The values of this record"):
        cells = zip(view.domain.features, codes, strict=True)
        st.markdown(" · ".join(f"{plain(f.name)} **{plain(value_text(f, int(c)))}**" for f, c in cells))
    if view.added is not None:
        return view.path(tree, codes)
    if view.leaf_values is None:
        title = "Votes on a record"
        alt = "One square for each tree, grouped by the class it votes for, colored by the flip rate of the leaf."
        figure = plotting.votes(view.labels[leaves], view.flip[leaves], view.domain.classes, tree=tree, truth=truth)
    else:
        title, alt = "What trees add to a score", "One bar for each tree: what its leaf adds to the score."
        figure = plotting.contributions(view.leaf_values[leaves], view.domain_of(tree).classes, tree=tree)
    chart(figure, alt, title=title, key="votes", width=620, on_select=_select_tree, selection_mode="points")
    return view.path(tree, codes)


def _verdict(view: ForestView, leaves: np.ndarray, truth: int) -> None:
    """Show the vote of the trees, whether it is right, and how often noise flips the labels of the leaves."""
    labels, flip, classes = view.labels[leaves], view.flip[leaves], view.domain.classes
    share = np.bincount(labels, minlength=view.domain.n_classes) / len(labels)
    winner = int(share.argmax())
    verdict = "which is right" if winner == truth else f"but it is {plain(classes[truth])}"
    known_flips = flip[np.isfinite(flip)]
    st.markdown(
        f"{percent(share[winner], 0)} of the trees vote for **{plain(classes[winner])}**, {verdict}. "
        + (
            f"Its leaves flip in {flip_percent(float(known_flips.mean()))} of releases on average."
            if len(known_flips)
            else ""
        )
    )


def _select_tree() -> None:
    if trees := points("votes"):
        state.TREE.value = trees[0] + 1


def points(key: str) -> list:
    """Return the first number of Plotly's `customdata` for each point that the user clicked in a chart."""
    chosen: Any = st.session_state.get(key)
    points = chosen.selection.points if hasattr(chosen, "selection") else []
    numbers = [np.ravel(point["customdata"])[0] for point in points if "customdata" in point]
    return [int(number) for number in numbers if isinstance(number, int | float | np.integer | np.floating)]
