"""The attack that users watch: it draws releases, counts outputs, and shows how the lower bound on the loss rises."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpforest.audit.leaf_attack import (
    CONFIDENCE,
    RELEASE_COUNTS,
    SECONDS,
    LeafPair,
    LossEstimate,
    attack_leaf,
    can_be_proved,
)
from dpforest.plotting.audit import bound_chart, distinct_text
from dpforest.privacy.randomness import SecretSource
from ui import state
from ui.audit.audit_controls import FEWEST_ROWS, MOST_TELLING, Audit
from ui.audit.rule_words import proof_sentences
from ui.shared.page import drawn, titled

SEARCHING = "Looking for the telling output"
# While an attack runs, results of fewer releases are not drawn, because they come faster than the page can draw them.
FIRST_DRAWN = 10_000


def show(audit: Audit, pair_name: str, pair: LeafPair) -> None:
    """Draw a button that starts an attack, and the result. Moving a control ends a running attack."""
    titled(
        "Attack it",
        "Made-up tables",
        help="An attacker who does not know the formula draws releases of table A and of table B, sees which output "
        "differs most, and then counts that output in new releases.",
    )
    st.markdown(
        "**No proof needed: release both tables many times and count.** Counting can show that a promise is broken; it "
        "never proves that one is kept. Published rules draw floating-point numbers, like the author's "
        "program. Certified rules draw whole numbers from the operating system's entropy, like real releases."
    )
    if audit.published and pair_name == FEWEST_ROWS and not can_be_proved(pair):
        st.caption(
            f"These two tables exceed the promise by so little that {RELEASE_COUNTS[-1]:,} releases will hardly show "
            f"it. Choose “{MOST_TELLING}” above for a pair that shows more."
        )
    key = (audit, pair_name)
    if st.button("Attack it", type="primary", key="attack"):
        state.ATTACKED.value = (key, _run(pair))
    elif (attacked := state.ATTACKED.value) and attacked[0] == key:
        _draw(attacked[1], pair, st.empty(), st.empty())


def _run(pair: LeafPair) -> list[LossEstimate]:
    """Attack the pair while the user watches, and return the estimates, one for each look at the counts."""
    estimates: list[LossEstimate] = []
    bar, words, place = st.progress(0.0, SEARCHING), st.empty(), st.empty()
    for share, estimate in attack_leaf(pair, SecretSource(), seconds=SECONDS):
        if estimate is not None:
            estimates.append(estimate)
            if estimate.trials >= FIRST_DRAWN:
                _draw(estimates, pair, words, place)
        bar.progress(share, f"{estimates[-1].trials:,} releases of either table" if estimates else SEARCHING)
    if estimates and estimates[-1].trials < FIRST_DRAWN:
        _draw(estimates, pair, words, place)
    bar.empty()
    return estimates


def _draw(estimates: list[LossEstimate], pair: LeafPair, words: Any, place: Any) -> None:
    """Draw sentences on the latest estimate, and a chart of all estimates."""
    if not estimates:
        return
    latest = estimates[-1]
    words.markdown(
        f"{proof_sentences(pair, latest)} Confidence {100 * CONFIDENCE:.1f} %, for all points of the curve together."
    )
    drawn(
        bound_chart(estimates, pair),
        f"Proved after {latest.trials:,} releases of either table: a loss of at least "
        f"{distinct_text(latest.bound, pair.epsilon)}; the claim is {pair.epsilon:g}, "
        f"and the true loss of this pair is {distinct_text(pair.loss, pair.epsilon)}.",
        place,
        title="Loss that the attack proves",
        public=True,
    )
