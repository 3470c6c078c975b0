"""What the audit of all forests found: the table that is kept in docs/audit.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from ui.page import titled

_KEPT = Path(__file__).parents[1] / "docs" / "audit.json"
_MODES = {"certified": "certified", "as_published": "as published"}


@st.cache_data(show_spinner=False)
def kept() -> dict[str, Any]:
    """The last audit."""
    return json.loads(_KEPT.read_text(encoding="utf-8"))


def show(neighbours: str) -> None:
    """All forests under one relation, at an ε to choose."""
    audit = kept()
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        with st.container(width="content"):
            titled("Every forest, attacked as a whole", "Made-up tables")
        epsilons = sorted({row["epsilon"] for row in audit["rows"]})
        epsilon = st.segmented_control(
            "Claimed ε", epsilons, default=1.0, required=True, format_func=lambda e: f"ε = {e:g}", key="audited_epsilon"
        )
    rows = [row for row in audit["rows"] if row["neighbours"] == neighbours and row["epsilon"] == epsilon]
    st.dataframe(as_table(rows), hide_index=True, width="stretch", height="content")
    st.caption(
        f"Two tables that differ in one row ({neighbours}) were each fitted {audit['trials']:,} times or more, for "
        "every known weak point of a forest. *Attack proved* is a lower bound on the loss, and above the true loss in "
        "one of a million such attacks at most. Above ε, it proves that the claim is false. Below ε it proves nothing "
        "by itself: certified forests rest on proofs, and on *loss computed*, the worst that going through all small "
        f"leaves, or replaying fits, has shown. Made on {audit['date']}; repeat it with `python -m dpforest.audit`."
    )


def as_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """For people: numbers as texts, so that "no limit" can stand among them."""
    return pd.DataFrame(
        {
            "forest": [row["algorithm"] for row in rows],
            "mode": [_MODES[row["mode"]] for row in rows],
            "loss computed": ["no limit" if row["exact"] == "infinity" else f"{row['exact']:.3g}" for row in rows],
            "attack proved": [f"≥ {row['bound']:.2f}" if row["bound"] > 0 else "nothing" for row in rows],
            "verdict": [_verdict(row) for row in rows],
            "what gave it away": [f"{row['canary']}: {row['event']}" if row["bound"] > 0 else "" for row in rows],
        }
    )


def _verdict(row: dict[str, Any]) -> str:
    if row["mode"] == "certified":
        return "holds"
    return "claim is false" if row["verdict"] == "caught" else "nothing found"
