"""From the answer to a release: one press that opens Explore with the forest that is looked at."""

from __future__ import annotations

from ui.shared.between_pages import hand_over
from ui.shared.forests import Settings


def offer(settings: Settings) -> None:
    """The way there, in the main column."""
    said = f"{settings.kind} at ε = {settings.epsilon:g}" + (" and δ = 10⁻⁶" if settings.delta else "")
    hand_over(
        settings,
        f"**Take to Explore**: {said}",
        "Opens Explore with this forest, its depth and trees by rule, ready to be looked at and released.",
    )
