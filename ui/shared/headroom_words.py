"""Sentences about the cost of privacy. This module does not use Streamlit.

A forest has headroom if it predicts better than guessing, with or without noise. The curve of a forest without headroom
does not show what privacy costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpforest.evaluation.headroom import POINT, Headroom, cheap_from
from dpforest.plotting.style import percent
from ui.shared.wording import plain

GREEDY = "a forest that looks at the data (boosted, multinomial, one greedy tree)"
MOST_NAMED = 2  # largest number of attributes that a sentence names


def points(difference: float) -> str:
    """Return a difference of two shares in percentage points, as text.

    >>> points(0.0123), points(0.01)
    ('1.2 points', '1.0 points')
    """
    return f"{100 * difference:.1f} points"


def learns_nothing(
    headroom: Headroom, guess: str, measure: str, rows: int, *, certified: bool = True, noun: str = "row"
) -> str:
    """Return the message for a forest that, even without noise, is not clearly better than guessing.

    In this case, privacy is not the cause. The message is about one measure only, because the forest may do well by
    another measure.

    Parameters
    ----------
    guess : str
        Description of guessing, as markdown.
    measure : str
        Name of the measure on the page.
    rows : int
        Number of held-out rows, or of held-out persons if `noun` is "person".
    certified : bool
        Whether the forest has a privacy guarantee. If not, the message does not speak of privacy.
    noun : str
        The unit of privacy, "row" or "person".
    """
    if headroom.is_undecided:
        return (
            f"**Whether this forest learns anything here is unknown.** Without noise it is right in "
            f"{percent(headroom.nonprivate)}, {guess} in {percent(headroom.floor)}, and up to "
            f"{points(headroom.noise)} of that may be luck: only {rows:,} {noun}s are held out. What privacy costs "
            f"is unknown, too; more {noun}s would show it."
        )
    end = "A release would spend ε on predictions no better than guessing, which costs none."
    better = "makes it more often right" if measure == "accuracy" else f"raises its {measure}"
    return (
        f"**This forest learns nothing here that {better}.** At no ε is it better than {guess} "
        f"({percent(headroom.floor)}), nor is it without noise "
        f"({percent(headroom.nonprivate)}; up to {points(headroom.noise)} may be luck on {rows:,} held-out {noun}s). "
        f"{end if certified else ''}"
    )


def what_helps(
    headroom: Headroom, best_name: str | None, *, greedy: bool, wide: Sequence[tuple[str, float]] = ()
) -> str:
    """Return sentences that state whether the best model learns anything from this table, and what the user may try.

    Parameters
    ----------
    best_name : str or None
        Name of the best model without privacy; None while it is being fitted.
    greedy : bool
        Whether the trees choose their questions by the data.
    wide : sequence of (name, share)
        Attributes whose values are far from their public bounds, as `headroom.overwide_features` returns them.
    """
    if headroom.best is None or best_name is None:
        return "Whether there is anything to learn here is not known until the models are fitted."
    wide_names = ", ".join(f"“{plain(name, 30)}” in {_range_share(share)}" for name, share in wide[:MOST_NAMED])
    if len(wide) > MOST_NAMED:
        wide_names += f" (and {len(wide) - MOST_NAMED} more attributes like these)"
    narrower = "narrower public bounds (Data tab), where narrower ones are known without looking"
    if wide_names:
        narrower += f"; nine in ten rows have {wide_names} of the public range"
    if headroom.learnable:
        rows_phrase = "On the same few rows" if headroom.is_undecided else "There is something to learn:"
        other_forests = "random trees, which spend most of ε on their leaves" if greedy else GREEDY
        return (
            f"{rows_phrase} {best_name}, without privacy, gets {percent(headroom.best)}. What may help: "
            f"another depth; {other_forests}; {narrower}. (To see whether it at "
            "least ranks the rows, look at AUC on Compare.)"
        )
    best_result = (
        f"{best_name[:1].upper()}{best_name[1:]}, without any privacy, gets no further ({percent(headroom.best)})"
    )
    if wide_names:
        return f"{best_result}, but it reads numbers within the same public bounds. What may help: {narrower}."
    return f"{best_result}: these attributes seem to say little about the label."


def _range_share(share: float) -> str:
    """Return a share of the public range as text."""
    return "under 0.1 %" if share < 0.001 else percent(share)


def what_privacy_costs(
    epsilons: np.ndarray, means: np.ndarray, headroom: Headroom, best_name: str | None, what: str = "privacy"
) -> str:
    """Return a sentence about the cost of privacy along the curve of a forest that learns something.

    The cost of privacy is the difference between a forest and the same forest without noise. If another model is better
    without privacy, the sentence names this model, because the page shows its value as “Without privacy”.

    Parameters
    ----------
    means : array of shape (E,)
        Mean of the measure over simulated releases of the private forest, at each of E values of ε.
    what : str
        Cause of the cost: "privacy", or the noise of a forest that is not private.
    """
    last = f"ε = {epsilons[-1]:g}"
    if means.max() > headroom.nonprivate + POINT and np.isclose(means[-1], means.max(), atol=POINT):
        text = (
            f"From ε = {epsilons[np.flatnonzero(means > headroom.nonprivate)[0]]:g} on this forest does better with "
            "noise than without. Without noise its trees are the deepest that the rule knows; fewer or shallower "
            "ones may do better."
        )
    elif headroom.nonprivate <= headroom.floor + headroom.noise:
        text = f"With noise or without it is hardly better than guessing, so what {what} costs is unknown."
    elif (cheap_epsilon := cheap_from(epsilons, means, headroom)) is not None:
        text = f"From ε = {cheap_epsilon:g} on, {what} " + (
            f"costs this forest less than one point compared with a forest of its kind without noise "
            f"({percent(headroom.nonprivate)})."
            if headroom.negligible_loss >= POINT
            else "takes less than a quarter of what a forest of its kind learns without noise "
            f"({points(headroom.nonprivate - headroom.floor)} above guessing)."
        )
    elif means.max() > max(means[-1], headroom.floor + headroom.noise) + POINT:
        gap = headroom.nonprivate - means.max()
        compared = f"{points(gap)} below" if gap > 0 else "as accurate as"
        text = (
            f"This forest is most accurate at ε = {epsilons[means.argmax()]:g}, {compared} a forest of its kind "
            "without noise. "
        )
        text += f"At {last} it is {points(headroom.nonprivate - means[-1])} below that forest: "
        text += "perhaps this depth and number of trees suit a smaller ε better."
    elif headroom.floor + POINT < means[-1] <= headroom.floor + headroom.noise:
        luck = points(headroom.noise)
        text = f"Even at {last} it is not clearly better than guessing: {luck} may be luck on so few rows."
    elif means[-1] <= headroom.floor + headroom.noise:
        text = (
            f"Even at {last} guessing does as well as this forest; a forest of its kind without noise reaches "
            f"{percent(headroom.nonprivate)}."
        )
    else:
        text = (
            f"Even at {last}, this forest stays {points(headroom.nonprivate - means[-1])} below a forest of its kind "
            "without noise."
        )
    if headroom.best is not None and best_name is not None and headroom.best > headroom.nonprivate:
        text += f" The best model without privacy ({best_name}) reaches {percent(headroom.best)}."
    return text
