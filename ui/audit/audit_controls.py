"""The controls of the Audit page. ε and the neighbor relation are shared with the other pages."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpforest.limits import MIN_CLASSES
from dpforest.privacy.laws import PUBLISHED
from ui import state
from ui.audit.rule_words import RULES
from ui.shared.controls import LINKED, drop_out_of_bounds, drop_unknown
from ui.shared.sidebar import choose_neighbors

FEWEST_ROWS, MOST_TELLING = "fewest rows", "most telling"
MOST_CLASSES = 10


@dataclass(frozen=True)
class Audit:
    """The audited rule (how a leaf is released), its ε, the number of classes, and the neighbor relation."""

    mechanism: str
    epsilon: float
    n_classes: int
    neighbors: str

    @property
    def published(self) -> bool:
        """Whether the rule is a published one, whose claimed ε does not hold."""
        return self.mechanism in PUBLISHED


def choose(epsilon: float) -> Audit:
    """Draw the controls in the sidebar, and return their values."""
    with st.sidebar:
        drop_unknown(state.RULE, RULES)
        name = st.radio(
            "How a leaf draws its label",
            list(RULES),
            key=state.RULE,
            bind=LINKED,
            captions=[f"{rule.status}: {rule.brief}" for rule in RULES.values()],
        )
        drop_out_of_bounds(state.CLASSES, MIN_CLASSES, MOST_CLASSES)
        n_classes = st.slider(
            "Classes", MIN_CLASSES, MOST_CLASSES, key=state.CLASSES, bind=LINKED, help="How many labels there are."
        )
        neighbors = choose_neighbors()
    return Audit(
        RULES.get(name, RULES["smooth sensitivity"]).mechanism,
        epsilon,
        min(max(int(n_classes), MIN_CLASSES), MOST_CLASSES),
        neighbors,
    )


def choose_pair(audit: Audit) -> str:
    """Ask which pair of tables to show. Only a published rule has pairs on which its privacy loss exceeds ε."""
    if not audit.published:
        return FEWEST_ROWS
    drop_unknown(state.PAIR, (FEWEST_ROWS, MOST_TELLING))
    return st.segmented_control(
        "Which pair",
        [FEWEST_ROWS, MOST_TELLING],
        default=FEWEST_ROWS,
        required=True,
        key=state.PAIR,
        bind=LINKED,
        help="The smallest tables that break the promise, or those with which an attacker proves the largest loss in a "
        "few million releases.",
    )
