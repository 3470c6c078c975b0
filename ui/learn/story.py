"""The story of the lesson: its title, a line for each step, the forest of each step, and the ending.

This module does not use Streamlit.
"""

from __future__ import annotations

from typing import Final

from dpforest.risk.guarantee import MEMBERSHIP
from dpforest.risk.rounding import percent_up
from ui.learn import lesson_facts

TITLE: Final = "Thirty secrets"
LINES: Final = {
    "class": "Ann is in a class of thirty. Her school wants to publish how the class did, as counts only.",
    "leaf": "The counts gave Ann’s secret away. So the school publishes labels, and lets each leaf lie now and then.",
    "promise": "Ann asks the school: what does ε = 1 promise me?",
    "votes": "Now the school needs a forest for its applications, and many trees decide together.",
    "budget": "Ann’s row is among the applications. Do a hundred trees cost her a hundred times ε?",
    "depth": "The principal wants deeper trees, because they ask more questions.",
    "proof": "A paper offers the school another rule, with a proof. Ann counts.",
    "rebuild": "Back to the class of thirty: the attacker returns, and this time the counts are noisy.",
    "choose": "The principal must now sign an ε. So must a hospital and a bank.",
}
# The forest of each step. Explore has other forests, so its numbers differ.
FORESTS: Final = {
    "class": "Made-up forest of this lesson: random trees of depth 3, all students in each. It is not in Explore.",
    "leaf": "One leaf, no forest: permute-and-flip, the rule of Explore’s “majority labels”.",
    "promise": "One leaf, no forest: permute-and-flip, the rule of Explore’s “majority labels”.",
    "votes": "Random trees with a branch for every answer. Explore’s trees branch in two, so its numbers differ.",
    "budget": "Random trees with a branch for every answer. Explore’s trees branch in two, so its numbers differ.",
    "depth": "Random trees with a branch for every answer. Explore’s trees branch in two, so its numbers differ.",
    "proof": "One leaf, no forest: the rule of 2017, which Audit attacks.",
    "rebuild": "Made-up forest of this lesson: random trees of depth 3, all students in each. It is not in Explore.",
    "choose": "One greedy tree of depth 5 with fixed settings. In Explore and Choose ε, a rule may set the depth.",
}
ENDING: Final = "What you can now say about ε"
LAST_LINE: Final = "The school publishes its forest, and Ann knows what it can tell about her row."


def sentences() -> list[str]:
    """Return what a class can say about ε after the lesson, with its numbers.

    >>> sentences()[0]
    'ε bounds odds: 1 : 1 about a row becomes at most e^ε : 1. At ε = 1, 50 % sure becomes at most 73.2 % sure.'
    """
    measured = lesson_facts.measurements()["class"]
    exact = measured["exact"][-1]["right"]
    noisy = measured["noisy"][measured["epsilon"].index(1.0)]["right"]
    most = percent_up(lesson_facts.most_right(1.0, MEMBERSHIP))
    return [
        f"ε bounds odds: 1 : 1 about a row becomes at most e^ε : 1. At ε = 1, 50 % sure becomes at most {most} sure.",
        f"Exact counts of ten trees gave away {exact:.0f} of 30 secrets. At ε = 1, the same attack gets {noisy:.1f} "
        f"right on average, no attack more than {lesson_facts.most_rebuilt(1.0):.1f}, and a coin 15.",
        "Same rows: ε adds up. Different rows: only the largest ε counts. Every further question leaves fewer rows in "
        "a leaf to hide among.",
        "Counting can show that a promise is broken; only a proof can show that it is kept. No ε is right by "
        "itself: say aloud what it costs in wrong predictions, and what it allows an attacker.",
    ]
