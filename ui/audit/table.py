"""Results of the audit of all forests, read from docs/audit.json."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from ui import state
from ui.shared import cache, figures
from ui.shared.controls import drop_unknown
from ui.shared.page import titled

_RESULTS = Path(__file__).parents[2] / "docs" / "audit.json"
_VERDICTS = {
    "holds": "holds",
    "BROKEN": "BROKEN",
    "caught": "claim is false",
    "nothing found": "nothing found",
}
_FORESTS = {
    "majority label": "Majority label",
    "random decision": "Random decision",
    "JPW": "JPW (random trees)",
    "RF-L": "RF-L (noisy counts)",
    "RF-E": "RF-E (labels)",
    "multinomial": "Multinomial",
    "boosted": "Boosted",
    "Friedman-Schuster": "One greedy tree",
    "random-tree booster": "Random-tree booster",
    "random-tree booster, δ": "Random-tree booster, δ = 10⁻⁶",
}
WORDS = {"add-remove": "adding or removing one row", "replace-one": "a row exchanged"}
_MODES = {"certified": "certified", "persons": "certified, persons", "as_published": "as published"}


@cache.for_everybody(data=True)
def results() -> dict[str, Any]:
    """Return the results of the last audit."""
    return json.loads(_RESULTS.read_text(encoding="utf-8"))


def show(neighbors: str) -> None:
    """Draw the results of all forests under one neighbor relation, at an ε that the user chooses."""
    if not _RESULTS.exists() or "computed" not in (audit := results())["rows"][0]:
        st.info("There are no results of an audit of all forests. `python -m dpforest.audit --write docs` makes them.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        with st.container(width="content"):
            titled("Every forest, attacked as a whole", "Made-up tables")
        epsilons = sorted({row["epsilon"] for row in audit["rows"]})
        drop_unknown(state.AUDITED_EPSILON, epsilons)
        epsilon = st.segmented_control(
            "Claimed ε",
            epsilons,
            default=1.0,
            required=True,
            format_func=lambda e: f"ε = {e:g}",
            key=state.AUDITED_EPSILON,
        )
    rows = [row for row in audit["rows"] if row["neighbors"] == neighbors and row["epsilon"] == epsilon]
    figures.table(
        as_table(rows),
        "Every forest, attacked as a whole",
        public=True,
        hide_index=True,
        width="stretch",
        height="content",
    )
    st.caption(
        f"For every weak point that we know of, the forest was fitted {audit['trials']:,} times or more to each of two "
        f"tables that differ in one row ({WORDS[neighbors]}). In rows with *persons*, the two tables differ in one "
        "person, who has seven rows. The column “attack proved” is a lower bound on the loss; it is wrong with a "
        "probability of at most one in a million. Above ε, it proves that the claim is false. Below ε it proves "
        "nothing. The verdict “holds” means: a proof says so, and no attack contradicts it. The verdict “nothing "
        "found” means: no attack broke the claim, but there is no proof that it holds. The column “loss computed” has "
        "two meanings. With random questions and ε for a row, it is the largest loss of any leaf with few rows, plus "
        "the ε that was spent before the leaves. Every other certified forest is fitted to one table. On the "
        "neighboring table the fit is repeated, and the noisy answers of the first fit are forced. For each question, "
        "the audit computes the largest log-ratio: the logarithm of how much more likely an answer is on one table "
        "than on the other. “Loss computed” is the largest sum of these log-ratios over the pairs of tables. (With "
        "Gaussian noise, the squares of the loss measure μ are summed instead, and the column states ε at δ = 10⁻⁶.) "
        "The true loss may be larger. As published, noise is drawn in floating-point numbers (the rounded numbers of "
        f"ordinary programs), for which no finite bound is proved. Made on {audit['date']}; repeat it with `python -m "
        "dpforest.audit`."
    )


def as_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the results as a table for display. Its numbers are text, because some cells are "no bound"."""
    return pd.DataFrame(
        {
            "forest": [_FORESTS.get(row["algorithm"], row["algorithm"]) for row in rows],
            "verdict": [_VERDICTS[row["verdict"]] for row in rows],
            "mode": [_MODES[row["mode"]] for row in rows],
            "attack proved": [
                f"≥ {math.floor(100 * row['bound']) / 100:.2f}" if row["bound"] > 0 else "nothing" for row in rows
            ],
            "loss computed": [
                "no finite bound" if row["computed"] == "infinity" else f"{row['computed']:.3g}" for row in rows
            ],
            "best attack": [_attack(row) for row in rows],
        }
    )


def _attack(row: dict[str, Any]) -> str:
    """Return the tables that the best attack tells apart and the event that it counts, with shortened numbers."""
    if row["bound"] == 0:
        return ""
    event = re.sub(r"structure is \d+", "a certain shape of the trees", row["event"].replace("<=", "≤"))
    return f"{row['canary']}: " + re.sub(r"-?\d+\.\d{3,}(e-?\d+)?", lambda number: f"{float(number[0]):.3g}", event)
