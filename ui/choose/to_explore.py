"""From the answer to a release: one press that opens Explore with the forest that is looked at."""

from __future__ import annotations

import streamlit as st

from ui.shared.forests import FORESTS, Settings

_KEPT = ("data", "label", "neighbours", "mode")  # controls that both pages have


def offer(settings: Settings) -> None:
    """The way there. All that Explore is to say stands in the address, so that Back leads here again."""
    said = f"{settings.kind} at ε = {settings.epsilon:g}" + (" and δ = 10⁻⁶" if settings.delta else "")
    st.page_link(
        "app.py", label=f"**Take to Explore**: {said}", icon=":material/arrow_forward:", query_params=address(settings),
        help="Opens Explore with this forest, its depth and trees by rule, ready to be looked at and released.",
    )  # fmt: skip


def address(settings: Settings) -> dict[str, str]:
    """Explore's settings for this forest, without those that are as by default."""
    kept = {key: st.query_params[key] for key in _KEPT if key in st.query_params}
    own = {"forest": settings.kind, "eps": f"{settings.epsilon:g}", "by_rule": "true"}
    for option in FORESTS[settings.kind].options:
        if option.switch and option.choices[settings.mode]:
            own[option.key] = "true" if settings.option(option.parameter) else "false"
    return {**kept, **own}
