"""What a step of the lesson consists of. No streamlit in here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["Made-up tables", "From a formula", "Simulated", "Curator only"]
LETTERS = "ABCDEF"
EXPLORE, CHOOSE_EPSILON, AUDIT = "app.py", "pages/2_Choose_epsilon.py", "pages/3_Audit.py"


@dataclass(frozen=True)
class AnswerOption:
    """An answer to choose from, and the feedback to whoever chose it."""

    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Control:
    """What can be moved once the answer is shown.

    Parameters
    ----------
    options : tuple of str
        As the link says them.
    start : str
    few : bool
        Drawn as buttons side by side, not as a slider.
    """

    label: str
    options: tuple[str, ...]
    start: str
    few: bool = False


@dataclass(frozen=True)
class Link:
    """A page of the app with some settings, and what differs there from what the step showed."""

    label: str
    page: str
    settings: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Step:
    """One step: something to read, a question, and what is shown once it is answered.

    Parameters
    ----------
    key : str
        Names its figure.
    reveal : str
        What is true, to everybody, whatever they predicted.
    aside : str
        What can be opened by those who want to know more.
    """

    key: str
    minutes: int
    badges: tuple[Kind, ...]
    title: str
    text: str
    question: str
    answers: tuple[AnswerOption, ...]
    control: Control
    reveal: str
    take_away: str
    links: tuple[Link, ...]
    aside: str = ""
    aside_title: str = "More"

    @property
    def lettered(self) -> dict[str, AnswerOption]:
        """Answers as they are offered: with a letter, to be called out in a room."""
        return {f"{letter}. {a.text}": a for letter, a in zip(LETTERS, self.answers, strict=False)}
