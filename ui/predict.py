"""A released forest in the hands of whoever received it."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.domain import DomainError
from dpforest.features import Feature, text
from dpforest.limits import MAX_UPLOAD_MB
from dpforest.plotting.style import number, percent
from dpforest.tables import TableError
from dpforest.trees.forest import ForestFormatError, ReleasedForest
from ui import tables
from ui.page import sorry, titled
from ui.release import releases
from ui.wording import epsilon_text, plain, plural

FILE = "a file"
SHOWN = 1_000


def choose_forest() -> ReleasedForest | None:
    """One released in this session, or a JSON file."""
    own = {f"release {r.number}: {r.title}": r for r in reversed(releases())}
    picked = (
        st.segmented_control("Forest from", [*own, FILE], default=next(iter(own), FILE), required=True) if own else FILE
    )
    if picked != FILE:
        return ReleasedForest.from_json(own[picked].json)
    file = st.file_uploader("Released forest (JSON)", type=["json"], max_upload_size=MAX_UPLOAD_MB)
    if file is None:
        return None
    try:
        return _loaded(tables.digest_of(file), file.getvalue())
    except ForestFormatError as problem:
        sorry(problem)
        return None


@st.cache_resource(scope="session", max_entries=2, show_spinner=False)
def _loaded(digest: str, _data: bytes) -> ReleasedForest:
    return ReleasedForest.from_json(_data)


def describe(forest: ReleasedForest) -> None:
    """What it is, what it promises, what it expects."""
    domain = forest.domain
    classes = ", ".join(plain(c, 20) for c in domain.classes[:8])
    trees, leaves = plural(forest.trees.n_trees, "tree"), plural(forest.trees.n_leaves, "leaf", "leaves")
    st.markdown(
        f"**{trees}**, {leaves}, predicts **{plain(domain.label)}** "
        f"({classes}{', …' if len(domain.classes) > 8 else ''}) at ε = {epsilon_text(forest.certificate.epsilon)}."
    )
    titled("Certificate", "Released" if forest.certificate.certified else "Not certified")
    st.code(str(forest.certificate) + _caution(forest), language=None, wrap_lines=True)
    st.caption("The file says this of itself. Who sent it to you should confirm it.")
    with st.expander(f"The {plural(domain.n_features, 'column')} it reads"):
        columns = pd.DataFrame([{"column": f.name, "values": _values(f)} for f in domain.features])
        st.dataframe(columns, hide_index=True, alt="Columns that the forest reads, with their bounds or values.")


def _values(feature: Feature) -> str:
    if feature.low is None or feature.high is None:
        return "; ".join(feature.categories)
    return f"{number(feature.low)} to {number(feature.high)}"


def _caution(forest: ReleasedForest) -> str:
    return f"\nCAUTION: {forest.about['caution']}" if "caution" in forest.about else ""


def predict_csv(forest: ReleasedForest) -> None:
    """Read a CSV against the forest's own domain and predict every row."""
    st.markdown("##### Predict new rows", anchors=False)
    file = st.file_uploader(
        "New rows (CSV)", type=["csv", "tsv", "txt", "data"], max_upload_size=MAX_UPLOAD_MB, key="new_rows"
    )
    if file is None:
        st.caption("Columns are matched by name; further columns are kept and not used.")
        return
    try:
        csv = tables.uploaded(tables.digest_of(file), file.getvalue(), file.name)
        # Cell by cell, as the rows of the fit were read, but with the marks of this file. Labels are not needed.
        rows = csv.read_with(replace(forest.domain, classes=(), label="", reading=csv.reading))
        predicted = forest.predict(rows)
        shares = forest.class_shares(rows)
    except (TableError, DomainError) as problem:
        sorry(problem)
        return
    label = forest.domain.label or "label"
    out = csv.table.copy()
    out.insert(0, f"predicted {label}", predicted)
    out.insert(1, "share of votes", shares.max(axis=1))
    titled(
        f"{plural(len(out), 'prediction')}",
        "Curator only",
        help="They stand beside your rows, so keep them where your rows are kept.",
    )
    _score(forest, csv.table, predicted)
    st.dataframe(
        out.head(SHOWN), hide_index=True,
        column_config={"share of votes": st.column_config.NumberColumn(format="percent")},
        alt="The new rows with their predicted class and the share of votes for it.",
    )  # fmt: skip
    if len(out) > SHOWN:
        st.caption(f"The first {SHOWN:,} rows; all are in the download.")
    buffer = io.StringIO()
    out.to_csv(buffer, index=False)
    st.download_button(
        "Download predictions", buffer.getvalue(), "CURATOR_ONLY_predictions.csv", "text/csv", on_click="ignore"
    )


def _score(forest: ReleasedForest, table: pd.DataFrame, predicted: np.ndarray) -> None:
    """Accuracy, where the file holds the answers."""
    if forest.domain.label in table.columns:
        truth = [text(v) for v in table[forest.domain.label]]
        right = float(np.mean([t == text(p) for t, p in zip(truth, predicted, strict=True)]))
        st.markdown(
            f"The file holds **{plain(forest.domain.label)}** as well: {percent(right)} of the predictions agree."
        )
