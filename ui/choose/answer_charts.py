"""Charts of the Choose ε page.

One chart shows accuracy or another measure of one forest against ε, with its margins. The other chart shows the
smallest ε of each forest.
"""

from __future__ import annotations

from typing import Any

from dpforest.plotting.choose import epsilon_by_forest, reach_curve
from dpforest.plotting.compare import MeasureScale
from dpforest.plotting.curve import mark_epsilons
from ui.choose.answer_words import by_forest
from ui.choose.answers import Answers
from ui.forest.forests import EPSILONS
from ui.shared.epsilon import OTHERS
from ui.shared.page import chart


def curve(answers: Answers, forest: str, epsilon: float, scale: MeasureScale, place: Any, key: str) -> Any:
    """Draw the curve of one forest.

    A run that draws the chart again needs another `key`, because Streamlit refuses a key twice in one run.
    """
    wish, means, reach = answers.wish, answers.means(forest), answers.reach(forest)
    figure = reach_curve(
        reach,
        means,
        answers.needed,
        epsilon,
        scale,
        certified=wish.certified,
    )
    mark_epsilons(figure, OTHERS)
    name = f"{scale.name[0].upper()}{scale.name[1:]}"
    alt = (
        f"{name} of {forest} goes from {scale.text(means[0])} at ε = {reach.epsilons[0]:g} to {scale.text(means[-1])} "
        f"at ε = {reach.epsilons[-1]:g}. Nearly every release reaches {scale.text(reach.nearly_all[-1])} there, and "
        f"{scale.text(reach.counted[-1])} less the margin."
    )
    return chart(figure, alt, place, title=f"{name} and its margins", key=key)


def dots(answers: Answers, forest: str, epsilon: float, scale: MeasureScale, place: Any, key: str) -> Any:
    """Draw a dot for each forest, at its smallest ε.

    A run that draws the chart again needs another `key`, because Streamlit refuses a key twice in one run.
    """
    sorted_answers, low, high = answers.sorted(), EPSILONS[0], EPSILONS[-1]
    figure = epsilon_by_forest(
        sorted_answers, low, high, chosen=forest, epsilon=epsilon, scale=scale, certified=answers.wish.certified
    )
    mark_epsilons(figure, OTHERS)
    title = "Smallest ε of each forest"
    return chart(figure, f"{title}. {by_forest(sorted_answers)}.", place, title=title, key=key)
