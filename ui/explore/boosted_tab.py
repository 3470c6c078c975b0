"""Charts of boosted trees, and the score of one record as a sentence.

The charts show α by level and the weights of the rows. α mixes the two losses by which splits are scored: the 0/1 loss
(α = 0) and Matsushita's loss (α = 1).
"""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpforest import plotting
from dpforest.plotting.style import flip_percent
from dpforest.simulation.views import ForestView
from dpforest.tables.features import plural
from ui.forest.boost_controls import what_measurements_say
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.wording import plain

MOST_TREES = 12  # largest number of trees for which the chart shows α


def show(choice: Choice, view: ForestView) -> None:
    """Draw the charts below the tree: α by level, and the row weights before each tree."""
    certified = choice.settings.certified
    titled(
        "α of each level",
        "Simulated" if certified else "Do not share",
        help="α sets how questions are judged: near 0 by correctly classified records, which needs little noise; near "
        "1 also by what pays off further down the tree. “Follows the error” starts at 1 and falls as the tree gets "
        "better.",
    )
    traces, names = list(view.traces), _names(view)
    if all(trace.alpha == traces[0].alpha for trace in traces):
        traces, names = traces[:1], [plural(len(traces), "tree") + (" alike" if len(traces) > 1 else "")]
    chart(
        plotting.alpha_by_level(traces[:MOST_TREES], names[:MOST_TREES]),
        "α of each level of each tree.",
        title="α of each level",
        key="alpha_levels",
    )
    if len(traces) > MOST_TREES:
        st.caption(f"… and {plural(len(traces) - MOST_TREES, 'further tree')}.")
    if certified:
        st.caption(what_measurements_say())
    titled(
        "How the rows are weighted",
        "Do not share",
        help="Before each tree, rows that the earlier trees misclassify weigh more. The thick line covers the middle "
        "half of the rows, the thin line all rows. The dotted line is the largest weight that a row may "
        "have; the noise is large enough for it.",
    )
    _, class_of_tree = view.boosters
    first = int(class_of_tree.min())  # with more than two classes, each class has a booster; draw only the first one
    traces = [trace for trace, c in zip(view.traces, class_of_tree, strict=True) if c == first]
    spread = max(trace.weight_spread for trace in traces)
    if spread < 1 / 512:
        assumed, n_bound = ".", choice.settings.option("n_bound")
        if n_bound:
            assumed = (
                f": {n_bound:,} are assumed. If everybody knows that there are fewer, lower “Public upper bound "
                "on the number of rows” in the fine settings."
            )
        st.info(
            f"No reweighting happens: in all {plural(len(traces), 'tree')} every row weighs one half. The trees' steps "
            "are so small that the weights do not change, so all trees learn from the same weights and differ only by "
            f"their noise. Steps grow with α and with fewer rows{assumed}",
            icon=":material/balance:",
        )
    else:
        chart(
            plotting.weight_spread(traces),
            "Spread of the rows' weights before each tree.",
            title="How the rows are weighted",
            key="weights",
        )
    if len(traces) < view.trees.n_trees:
        st.caption(
            f"This is the booster for “{plain(view.domain.classes[first], 20)}”. Each class has a separate booster."
        )


def _names(view: ForestView) -> list[str]:
    if view.domain.n_classes == 2:
        return [f"tree {t + 1}" for t in range(view.trees.n_trees)]
    _, class_of_tree = view.boosters
    return [f"{view.domain.classes[int(c)]}: tree {t + 1}" for t, c in enumerate(class_of_tree)]


def verdict(view: ForestView, leaves: np.ndarray, truth: int) -> None:
    """Show a sentence with the score of one record, the predicted class, and whether the prediction is right.

    `leaves` are the indices of the leaves that the record reaches, and `truth` is the index of its class.
    """
    leaf_values, class_of_tree = view.boosters
    values, classes = leaf_values[leaves], view.domain.classes
    if view.domain.n_classes == 2:
        total = float(values.sum())
        winner = int(total > 0)
        sentence = f"The trees add up to a score of **{total:+.3f}**, so they vote for **{plain(classes[winner])}**"
    else:
        scores = np.bincount(class_of_tree, weights=values, minlength=view.domain.n_classes)
        winner = int(scores.argmax())
        sentence = f"**{plain(classes[winner])}** has the largest score, {scores[winner]:+.3f}"
    verdict_words = "which is right" if winner == truth else f"but it is {plain(classes[truth])}"
    flip = view.flip[leaves]
    known_flips = flip[np.isfinite(flip)]
    if len(known_flips):
        verdict_words += f". Its leaves change sign in {flip_percent(float(known_flips.mean()))} of releases on average"
    st.markdown(f"{sentence}, {verdict_words}.")
