"""The controls of the Audit page. They have keys of their own: what is chosen on Explore stays as it is."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpforest.limits import MIN_CLASSES
from dpforest.privacy.laws import PUBLISHED
from ui.audit.words import RULES
from ui.shared.controls import LINKED, known
from ui.shared.forests import EPSILONS, NEIGHBOURS

FEWEST, TELLING = "fewest rows", "most telling"
MOST_CLASSES = 10


@dataclass(frozen=True)
class Audit:
    """What is audited."""

    mechanism: str
    epsilon: float
    n_classes: int
    neighbours: str

    @property
    def published(self) -> bool:
        return self.mechanism in PUBLISHED


def choose() -> Audit:
    """Draw the controls in the sidebar."""
    with st.sidebar:
        known("rule", RULES)
        name = st.radio(
            "How a leaf draws its label", list(RULES), key="rule", bind=LINKED,
            captions=[f"{rule.status}: {rule.brief}" for rule in RULES.values()],
        )  # fmt: skip
        known("claimed", EPSILONS)
        epsilon = st.select_slider(
            "Privacy promised: ε", EPSILONS, 1.0, format_func=lambda e: f"{e:g}", key="claimed", bind=LINKED,
            help="With one row more or less (or exchanged), no output may become more than eᵋ times as likely, or as "
            "unlikely.",
        )  # fmt: skip
        with st.container(horizontal=True, horizontal_alignment="distribute", key="ends"):
            st.caption("← stricter", width="content")
            st.caption("looser →", width="content")
        n_classes = st.slider(
            "Classes", MIN_CLASSES, MOST_CLASSES, key="classes", bind=LINKED, help="How many labels there are."
        )
        neighbours = st.radio(
            "What must be hard to notice", list(NEIGHBOURS), key="relation", bind=LINKED,
            help="One row more or less in the table (add-remove), or one row exchanged for another (replace-one).",
        )  # fmt: skip
    return Audit(
        RULES.get(name, RULES["smooth sensitivity"]).mechanism,
        min(EPSILONS, key=lambda e: abs(e - float(epsilon))),
        min(max(int(n_classes), MIN_CLASSES), MOST_CLASSES),
        NEIGHBOURS.get(neighbours, "add-remove"),
    )


def choose_pair(audit: Audit) -> str:
    """Which of the violating pairs: there are many for a published rule, none for a certified one."""
    if not audit.published:
        return FEWEST
    known("pair", (FEWEST, TELLING))
    return st.segmented_control(
        "Which pair", [FEWEST, TELLING], default=FEWEST, required=True, key="pair", bind=LINKED,
        help="The smallest tables that break the promise; or those with which an attacker proves most in a few million "
        "releases.",
    )  # fmt: skip
