"""Sentences of the Choose ε page: the answer, how sure it is, and why an answer may not be needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpforest.evaluation.headroom import Headroom
from dpforest.evaluation.smallest_epsilon import N_FIRST, Answer, held_out_margin
from dpforest.plotting.compare import MeasureScale
from dpforest.risk.rounding import percent_down
from dpforest.tables.features import plural
from ui.choose.answers import Answers
from ui.choose.wish_controls import SURE
from ui.forest.forests import EPSILONS

# For each measure of the page: a way to guess classes that does not look at the rows.
GUESSING: Final = {
    "accuracy": "always naming the most frequent class",
    "balanced accuracy": "always naming one class",
    "AUC": "tossing a coin",
}
MOST_NAMED: Final = 2  # largest number of forests that the answer names besides the best one


def guessing(scale: MeasureScale) -> str:
    """Return a clause that states how to guess, and which value of the measure guessing gets.

    >>> guessing(MeasureScale("accuracy", True, 0.76, None)), guessing(MeasureScale("AUC", False, 0.5, None))
    ('Always naming the most frequent class gets 76.0 %', 'Tossing a coin gets 0.5')
    """
    name = GUESSING[scale.name]
    return f"{name[0].upper()}{name[1:]} gets {scale.text(scale.floor or 0.0)}"


def no_need(needed: float, scale: MeasureScale, headrooms: dict[str, Headroom]) -> str:
    """Explain why no ε is needed: guessing reaches the value, or no forest beats guessing. Otherwise return ""."""
    all_guess = all(headroom.has_none for headroom in headrooms.values())
    text = ""
    if all_guess:
        text = (
            f"**No forest here is better than guessing.** {guessing(scale)}, and no forest exceeds that by more than "
            "luck on the held-out rows, at any ε or without noise. So a release would spend ε on predictions no better "
            "than guessing, which costs none. "
        )
        if any(headroom.learnable for headroom in headrooms.values()):
            best = max(headroom.best for headroom in headrooms.values() if headroom.best is not None)
            text += (
                f"There is something to learn: without privacy scikit-learn's trees get {scale.text(best)}. Explore "
                "shows what other depths and narrower public bounds do. "
            )
    if needed <= (scale.floor or 0.0):
        guess = guessing(scale)
        return text + (
            f"**{scale.text(needed)} needs no forest and no ε.** {guess} without any rows. "
            f"{'' if all_guess else 'Ask for more.'}"
        )
    return text


def headline(answers: Answers, scale: MeasureScale) -> str:
    """State the smallest ε of all forests. How sure this answer is stands below the charts (`below_charts`)."""
    wish, needed = answers.wish, scale.text(answers.needed)
    share = next(text for text, value in SURE.items() if value == wish.share)
    if answers.is_partial:
        return f"**The first releases are being simulated.** The smallest ε for {needed} comes in a moment."
    first, *other_answers = answers.sorted()
    if first.epsilon is None:
        return (
            f"**We cannot show that a forest reaches {needed} in {share}** at any ε that we simulate (up to "
            f"{EPSILONS[-1]:g}). {_best_mean(answers, scale)}Ask for less, or see below what more data would do."
        )
    others = [a.forest for a in other_answers if a.epsilon == first.epsilon]
    others_text = (
        f" (also {', '.join(others) if len(others) <= MOST_NAMED else f'{len(others)} others'})" if others else ""
    )
    claimed = "" if wish.certified else ", as claimed"
    text = f"**{first.epsilon:g}**{claimed}, with **{first.forest}**{others_text}."
    if answers.is_first_look:
        return (
            f"**Smallest ε for {needed}:** about {text} This is a first look. The answer comes after {N_FIRST} "
            "simulated releases of each forest."
        )
    return f"**Smallest ε for {needed}:** {text} Its releases get {scale.text(first.value or 0.0)} on average."


def _best_mean(answers: Answers, scale: MeasureScale) -> str:
    """State the best forest's mean at the largest ε, and the margin to subtract because held-out rows are few."""
    best = max(answers.lines, key=lambda name: float(answers.means(name)[-1]))
    mean, rows = float(answers.means(best)[-1]), answers.margin_rows
    if mean <= answers.needed or rows is None:
        return f"At the largest ε the best forest gets {scale.text(mean)} on average ({best}). "
    margin = float(held_out_margin([mean], rows, len(answers.lines))[0])
    return (
        f"At the largest ε the best forest gets {scale.text(mean)} on average ({best}), but the margin for "
        f"{plural(len(answers.labels), 'held-out row')} takes {scale.gap(margin)} from that, and the luck of the noise "
        "takes more. "
    )


def _how_sure(answer: Answer, answers: Answers, scale: MeasureScale) -> str:
    """State the result of the check of an answer so far, and the last smaller ε that failed the check."""
    check, needed = answer.check, scale.text(answers.needed)
    assert check is not None
    reach = f"reach {needed}{', even with the margin for held-out rows subtracted' if answers.wish.margin else ''}"
    if check.is_sure:
        text = (
            f"{answer.forest} at ε = {answer.epsilon:g} is checked: {check.reached} of {check.releases} further "
            f"simulated releases {reach}. So at least {percent_down(check.at_least)} of all its releases reach it. The "
            "chance that at least one such statement about the forests here is wrong is at most 5 %."
        )
    else:
        so_far = f"so far {check.reached} of {check.releases} {reach}" if check.releases else "it starts now"
        text = (
            f"The check of {answer.forest} at ε = {answer.epsilon:g} takes {check.until} further simulated releases; "
            f"{so_far}."
        )
    for epsilon, failed in answer.failed[-1:]:
        n_missed = failed.releases - failed.reached
        text += f" At ε = {epsilon:g}, {n_missed} of {failed.releases} fell short."
    return text


def below_charts(answers: Answers, forest: str, scale: MeasureScale) -> str:
    """State how sure the answer is, and explain the line and the bands of the curve, and the dots of the forests."""
    first = answers.sorted()[0]
    is_needed = answers.needed > (scale.floor or 0.0)  # otherwise no release is simulated for a check
    is_checked = is_needed and first.check is not None and not (answers.is_partial or answers.is_first_look)
    text = f"{_how_sure(first, answers, scale)} " if is_checked else ""
    text += f"The line is {forest}: the mean of {answers.result.rests_on}. Dark band: luck of the noise. "
    if answers.margin_rows is not None:
        reach = answers.reach(forest)
        margin = float((reach.nearly_all - reach.counted).max())
        amount = f"{100 * margin:.1f} points" if scale.is_share else f"{margin:.3f}"
        rows = len(answers.labels)
        held_out = f"{plural(rows, 'row')} {'is' if rows == 1 else 'are'} held out"
        text += f"Light band: margin because only {held_out}, at most {amount}. "
    text += (
        f"An ε is enough where {'both bands are' if answers.margin_rows is not None else 'the band is'} above the "
        f"needed {scale.name}. "
    )
    return text + "Full dots are checked (95 % confidence); hollow dots are estimates."


def by_forest(answers: Sequence[Answer]) -> str:
    """Return the answers of all forests as a sentence, for screen readers."""
    return "; ".join(
        f"{a.forest}: {'not shown at any ε' if a.epsilon is None else f'from ε = {a.epsilon:g} on'}" for a in answers
    )
