"""A show of hands: the teacher types the number of votes for each answer, and bars appear with the right answer."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui import state
from ui.learn import progress
from ui.learn.step import LETTERS, Step
from ui.shared.controls import drop_out_of_bounds

MOST: Final = 1_000  # largest number of hands that can be typed for an answer
_WIDTH: Final = 14  # number of characters of the longest bar


def count(step: Step) -> None:
    """Draw a button that opens fields for the numbers of hands."""
    before = progress.hands().get(step.key, [0] * len(step.answers))
    with st.popover("Count hands"):
        st.caption("How many hands for each answer? The bars come when you reveal. Nothing is stored.")
        for i in range(len(step.answers)):
            drop_out_of_bounds(state.HANDS(step.key, i), 0, MOST)
        typed = [
            st.number_input(name, 0, MOST, n, key=state.HANDS(step.key, i))
            for i, (name, n) in enumerate(zip(step.lettered, before, strict=True))
        ]
    progress.hands()[step.key] = [int(n) for n in typed]


def show(step: Step) -> None:
    """Draw the bars if the teacher has typed any numbers of hands."""
    counted = progress.hands().get(step.key, [])
    if any(counted):
        draw(step, counted)


def draw(step: Step, counted: list[int]) -> None:
    """Draw a bar for the count of each answer."""
    st.markdown("  \n".join(bars(counted, [answer.right for answer in step.answers])))


def bars(counted: list[int], right: list[bool]) -> list[str]:
    """Return a line with a bar for each answer.

    >>> bars([7, 14], [False, True])
    [':gray[A ▇▇▇▇▇▇▇ 7]', '**B ▇▇▇▇▇▇▇▇▇▇▇▇▇▇ 14 ✓**']
    """
    lines = []
    for letter, n, is_right in zip(LETTERS, counted, right, strict=False):
        line = " ".join(part for part in (letter, "▇" * round(_WIDTH * n / max(counted)), f"{n:,}") if part)
        lines.append(f"**{line} ✓**" if is_right else f":gray[{line}]")
    return lines
