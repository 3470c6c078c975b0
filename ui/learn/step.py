"""The parts of a step of the lesson. This module does not use Streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["Made-up tables", "From a formula", "Simulated", "Do not share"]
LETTERS = "ABCDEF"
EXPLORE, CHOOSE_EPSILON, AUDIT = "app.py", "pages/2_Choose_epsilon.py", "pages/3_Audit.py"


@dataclass(frozen=True)
class AnswerOption:
    """A possible answer to the question of a step, and the feedback to people who choose it."""

    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Control:
    """The control of a step. The user can move it only after the answer is shown.

    Parameters
    ----------
    options : tuple of str
        Values of the control, as texts of the link.
    start : str
        Value until the user moves the control.
    few : bool
        Whether the control is a row of buttons instead of a slider.
    """

    label: str
    options: tuple[str, ...]
    start: str
    few: bool = False


@dataclass(frozen=True)
class Link:
    """A link to a page of the app with some settings. `note` is a sentence about that page."""

    label: str
    page: str
    settings: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Step:
    """A step: a text, a question, and an answer that is shown once the user has answered.

    Parameters
    ----------
    key : str
        Name of the step and of its chart.
    goal : str
        Goal of the step, for teachers who read the code. The page does not show it.
    reveal : str
        The right answer, shown to everybody after the prediction.
    aside : str
        Further notes, in a section of the page that is closed at first.
    """

    key: str
    minutes: int
    goal: str
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
        """The answers, by the texts of their buttons. Each text starts with a letter that a class can call out."""
        return {f"{letter}. {a.text}": a for letter, a in zip(LETTERS, self.answers, strict=False)}
