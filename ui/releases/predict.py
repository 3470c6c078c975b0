"""Parts of the page Releases that show a released forest and predict new rows with it."""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.explain import AddedScores
from dpforest.limits import MAX_UPLOAD_MB
from dpforest.new_rows import predict_csv as predict_rows
from dpforest.plotting.style import number, percent
from dpforest.privacy.ledger import unit_noun
from dpforest.tables.datasets import TableError
from dpforest.tables.domain import DomainError
from dpforest.tables.features import Feature, plural, text
from dpforest.trees.forest import ForestFormatError, ReleasedForest
from dpforest.voting import CLIPPED_LOGISTIC
from ui import state
from ui.releasing.release import certificate_text
from ui.releasing.session_ledger import releases_in_session
from ui.server import uploads
from ui.shared import cache, figures, tables
from ui.shared.attribute_effects import show_effects
from ui.shared.downloads import offer_csv
from ui.shared.loss_words import at_delta
from ui.shared.page import Badge, sorry, titled
from ui.shared.wording import epsilon_text, plain

FILE = "a file"
MOST_ROWS = 1_000  # largest number of rows that the page shows; the download has all rows
WHAT_IS_CHECKED: Final = (
    "**Checked here:** the file's certificate, its ledger of questions, and its trees agree with each other. "
    "**Not checked, because no file can show it:** whether the noise was really drawn as stated, and whether the "
    "assumptions on the certificate are true. Ask the person who made it."
)


def choose_forest() -> tuple[ReleasedForest | None, bool]:
    """Ask for a released forest. Return the forest or None, and whether the user attaches it as a file."""
    of_session = {f"release {r.number}: {r.title}": r for r in reversed(releases_in_session())}
    picked = FILE
    if of_session:
        picked = st.segmented_control(
            "Forest from",
            [*of_session, FILE],
            default=next(iter(of_session)),
            required=True,
            format_func=lambda name: plain(name, 120),
        )
    if picked != FILE:
        file = of_session[picked].file
        digest = hashlib.sha256(file).hexdigest()
    else:
        upload = st.file_uploader("Released forest (JSON)", type=["json", "gz"], max_upload_size=MAX_UPLOAD_MB)
        if upload is None:
            return None, True
        file, digest = upload.getvalue(), tables.digest_of(upload)
    try:
        return _loaded(digest, file), picked == FILE
    except ForestFormatError as problem:
        sorry(problem)
        return None, True


@cache.for_session(max_entries=2, spinner="Reading the forest …")
def _loaded(digest: str, _data: bytes) -> ReleasedForest:
    return ReleasedForest.from_bytes(_data)


def describe(forest: ReleasedForest, *, from_file: bool) -> None:
    """Show the forest, its privacy and its columns.

    For a forest from a file, the page says that only the file states the guarantee, because the app cannot check it.
    """
    domain = forest.domain
    classes = ", ".join(plain(c, 20) for c in domain.classes[:8])
    trees, leaves = plural(forest.trees.n_trees, "tree"), plural(forest.trees.n_leaves, "leaf", "leaves")
    st.markdown(
        f"**{trees}**, {leaves}, predicts **{plain(domain.label)}** "
        f"({classes}{', …' if len(domain.classes) > 8 else ''}){'. According to the file,' if from_file else ' at'} "
        f"ε = {epsilon_text(forest.certificate.epsilon)}{at_delta(forest.certificate.delta)}."
    )
    for note in forest.notes:
        st.info(plain(note, 600), icon=":material/build:")
    titled("What the file says about its privacy" if from_file else "Certificate", _badge(forest, from_file))
    certificate = certificate_text(forest.certificate, forest.about.get("caution"))
    st.code(_as_stated(certificate) if from_file else certificate, language=None, wrap_lines=True)
    st.caption(f"{_privacy_sentence(forest, from_file)} {WHAT_IS_CHECKED if from_file else ''}".strip())
    with st.expander(f"The {plural(domain.n_features, 'column')} it reads"):
        columns = pd.DataFrame([{"column": f.name, "values": _bounds_or_values(f)} for f in domain.features])
        figures.table(
            columns,
            "Columns that the forest reads",
            public=forest.certificate.certified,
            hide_index=True,
            alt="Columns that the forest reads, with their bounds or values.",
        )


def _as_stated(certificate: str) -> str:
    """Return the text of a certificate that a file states.

    Files of earlier versions say "asserted by you", but whoever reads the file is not the one who asserted it.
    """
    return f"According to the file: {certificate}".replace("asserted by you: ", "asserted by the curator: ")


def _badge(forest: ReleasedForest, from_file: bool) -> Badge:
    if not forest.certificate.certified:
        return "Not certified"
    return "According to the file" if from_file else "Released"


def explain(forest: ReleasedForest, *, from_file: bool) -> None:
    """Show how attributes change the scores of an additive forest. Nothing but the forest is needed for this."""
    if forest.voting != CLIPPED_LOGISTIC or not st.toggle("Show what moves its scores", key=state.EXPLAINED):
        return
    kept, scores = state.SCORES_OF.value  # kept, so that they are computed once for each forest
    try:
        if kept is not forest:
            scores = AddedScores.of(forest)
            state.SCORES_OF.value = forest, scores
        show_effects(scores, _badge(forest, from_file))
    except ValueError as problem:
        sorry(problem)


def _bounds_or_values(feature: Feature) -> str:
    if feature.low is None or feature.high is None:
        return "; ".join(feature.categories)
    return f"{number(feature.low)} to {number(feature.high)}"


def _privacy_sentence(forest: ReleasedForest, from_file: bool) -> str:
    """Return a sentence about what the forest may reveal.

    The sentence is empty for a forest without certified privacy, because its certificate already says so.
    """
    if not forest.certificate.certified:
        return ""
    promised = "ε and δ allow" if forest.certificate.delta else "ε allows"
    but = ", except through its settings (see CAUTION)" if forest.about.get("caution") else ""
    who = "If this is true, the forest" if from_file else "It"
    return f"{who} reveals no more about any one {unit_noun(forest.certificate.unit)} than {promised}{but}."


def predict_csv(forest: ReleasedForest) -> None:
    """Ask for a CSV file, read its rows by the forest's domain, and predict each row that fits the domain."""
    st.markdown("##### Predict new rows", anchors=False)
    file = st.file_uploader(
        "New rows (CSV)", type=["csv", "tsv", "txt", "data"], max_upload_size=MAX_UPLOAD_MB, key=state.NEW_ROWS
    )
    if file is None:
        st.caption(f"Columns are matched by name; other columns are kept but not used. {uploads.shortage()}")
        return
    try:
        csv = tables.uploaded(tables.digest_of(file), file.getvalue(), file.name)
        result = predict_rows(forest, csv)
    except (TableError, DomainError) as problem:
        sorry(problem)
        return
    is_predicted, predictions = result.is_predicted, result.next_to(csv.table, forest.domain.label)
    share_column = predictions.columns[1]
    titled(
        f"{plural(int(is_predicted.sum()), 'prediction')}",
        "Do not share",
        help="Your rows are next to them, so keep them where your rows are kept.",
    )
    if not is_predicted.all():
        n = int((~is_predicted).sum())
        sorry(
            f"{plural(n, 'row')} of {len(is_predicted):,} {'does' if n == 1 else 'do'} not fit and "
            f"{'is' if n == 1 else 'are'} not predicted; the table says why."
        )
    if n := result.n_clipped:
        st.info(
            f"{plural(n, 'value')} {'lies' if n == 1 else 'lie'} outside the public bounds of the forest and "
            f"{'was' if n == 1 else 'were'} read as the nearest bound.",
            icon=":material/straighten:",
        )
    _show_accuracy(forest, csv.table[is_predicted], result.predicted[is_predicted])
    figures.table(
        predictions.head(MOST_ROWS),
        "Predictions",
        hide_index=True,
        column_config={share_column: st.column_config.NumberColumn(format="percent")},
        alt="The new rows with their predicted class and its share.",
    )
    if len(predictions) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS:,} rows; all are in the download.")
    # The file is made on demand, because a file from an earlier run may be gone when the browser requests it.
    offer_csv("Download predictions", lambda: predictions, "DO_NOT_SHARE_predictions.csv")


def _show_accuracy(forest: ReleasedForest, table: pd.DataFrame, predicted: np.ndarray) -> None:
    """Show the share of right predictions, if the file of new rows also has the label column."""
    if forest.domain.label in table.columns and len(table):
        truth = [text(v) for v in table[forest.domain.label]]
        if forest.domain.class_spellings:  # a spelling counts as the class that it means
            class_indices = forest.domain.listed_labels(table[forest.domain.label])
            truth = [text(forest.domain.classes[i]) if i >= 0 else t for i, t in zip(class_indices, truth, strict=True)]
        right = float(np.mean([t == text(p) for t, p in zip(truth, predicted, strict=True)]))
        st.markdown(
            f"The file holds **{plain(forest.domain.label)}** as well: {percent(right)} of the predictions agree. "
            "Predictions of rows that the forest was fitted on agree more often than predictions of new rows."
        )
