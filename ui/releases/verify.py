"""The part of the page Releases that checks whether a release record describes a forest file."""

from __future__ import annotations

import streamlit as st

from dpforest.book import RecordError, ReleaseRecord, verify
from dpforest.limits import MAX_UPLOAD_MB
from ui.releasing.record_question import downloads
from ui.shared.loss_words import at_delta
from ui.shared.page import sorry
from ui.shared.wording import plain, sum_text


def show() -> None:
    """Ask for a forest file and a record, and show whether they belong together."""
    with st.expander(
        "Check a released forest against its release record", icon=":material/fact_check:", key="check_file"
    ):
        left, right = st.columns(2)
        file = left.file_uploader("Released forest", ["json", "gz"], max_upload_size=MAX_UPLOAD_MB)
        text = right.file_uploader("Its record (JSON)", "json", max_upload_size=5)
        if text is None:
            return
        try:
            record = ReleaseRecord.from_json(text.getvalue())
        except RecordError as problem:
            sorry(problem)
            return
        _describe(record)
        if file is None:
            st.caption("Attach the forest as well to check it.")
        elif problems := verify(file.getvalue(), record):
            sentences = "\n".join(f"- {plain(problem, 600)}" for problem in problems)
            st.warning(f"**The file and the record do not belong together.**\n{sentences}", icon=":material/warning:")
        else:
            st.success(
                "The file matches this record: SHA-256, ε, δ, unit, estimator and sources are the same. This check "
                "does not show who wrote the record.",
                icon=":material/check:",
            )
        downloads(record, "verified")


def _describe(record: ReleaseRecord) -> None:
    approver = f" Approver: {plain(record.approver, 80)}." if record.approver else ""
    st.markdown(
        f"**{plain(record.title, 80)}**, booked on {record.time[:10]}. Purpose: {plain(record.purpose, 300)}. "
        f"Responsible: {plain(record.owner, 80)}.{approver} Privacy cost: ε = "
        f"{sum_text(record.epsilon)}{at_delta(record.delta)} for one {record.unit}. People: "
        f"{plain(record.population, 80)}."
    )
