"""Panel of the Data tab: the public scale of a numeric attribute, and the distribution of the rows on the scale."""

from __future__ import annotations

import streamlit as st

from dpforest.plotting.scale import scale_picture
from dpforest.simulation.views import ForestView
from dpforest.tables.features import plural
from dpforest.trees.released_scale import CELLS, TOP, scale_histograms
from ui import state
from ui.forest.forests import FORESTS
from ui.shared.controls import drop_unknown
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.tables import read_by, split


def show(choice: Choice, view: ForestView) -> None:
    """Draw where the rows lie on the public scale of a chosen attribute, and the noisy scale of a simulated release."""
    table = read_by(choice.table, choice.settings)
    numeric = [feature for feature in table.domain.features if feature.kind == "numeric"]
    if not numeric:
        return
    titled(
        "Where the rows lie on the public scale",
        "Do not share",
        help="The public scale averages two positions of a value: on a linear scale (equal steps) and on a logarithmic "
        "one (equal factors). The scale is cut into intervals of equal width; ticks are values. A forest "
        "that spends no ε to learn where the rows lie draws its questions as if each interval held equally many "
        "rows. If it spends ε, noisy histograms show which intervals hold more rows, and the forest asks there more "
        "often.",
    )
    names = [feature.name for feature in numeric]
    drop_unknown(state.SCALE_OF, names)
    name = st.selectbox("Column", names, key=state.SCALE_OF, width=420)
    index = names.index(name) if name in names else 0
    cells = scale_histograms(table.domain, split(table).X_train)[index]
    released = None if view.scale is None else view.scale.shares[index] / TOP
    chart(
        scale_picture(numeric[index], cells / max(cells.sum(), 1), released),
        f"Share of the rows in each of {CELLS} cells of {names[index]}, and how likely questions are asked there.",
        title="Where the rows lie on the public scale",
        key="scale_picture",
    )
    st.caption(_sentence(choice, view, len(numeric)))


def _sentence(choice: Choice, view: ForestView, n_numeric: int) -> str:
    epsilon = choice.settings.epsilon
    if not choice.settings.certified:
        return "As published, the scale is linear from bound to bound, and no question asks where the rows lie."
    if view.scale is None:
        return (
            f"No ε is spent on where the rows lie: at ε = {epsilon:g} and with this number of rows, the share of ε for "
            f"each of {plural(n_numeric, 'numeric column')} would be too small for the noise. So questions are "
            "drawn as if all intervals held equally many rows."
        )
    kind = FORESTS[choice.settings.kind]
    is_mixed = kind.chooses_questions and kind.estimator.scale_rule.public_weight
    mixed = ", mixed with the public scale (weight three tenths), because rare values may matter" if is_mixed else ""
    return (
        f"The line is the noisy scale of one simulated release at ε = {epsilon:g}{mixed}. Another release draws other "
        "noise. The Budget tab states the scale’s cost."
    )
