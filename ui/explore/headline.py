"""The header of the page Explore, and four figures: accuracy, best without privacy, guessing, and what ε means."""

from __future__ import annotations

from typing import Final

import numpy as np
import streamlit as st

from dpforest.plotting.curve import spread_over
from dpforest.plotting.style import percent
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, Ledger, unit_noun
from dpforest.risk.guarantee import MEMBERSHIP, VALUE, Guarantee
from dpforest.risk.rounding import factor_up
from dpforest.tables.features import plural
from ui.explore.stories import class_words, story
from ui.jobs.baselines import THIS_FOREST, Baselines
from ui.jobs.results import SweepResult, ceiling_of, is_no_better_than_guessing
from ui.shared.loss_words import at_delta, success_share, would_promise
from ui.shared.page import badge
from ui.shared.sidebar import Choice
from ui.shared.tables import counted
from ui.shared.wording import epsilon_text, plain, share_text, unbroken, value_epsilon

NOT_PUBLIC: Final = " ε does not limit this yet: some of what the forest uses was read from the rows (*Data* tab)."


def header(choice: Choice) -> None:
    """Write two lines: the table and what a forest learns from it, and what a release promises."""
    table, settings = choice.table, choice.settings
    subject = story(table)
    size = counted(table) if table.domain.unit else plural(len(table.frame), subject.one, subject.many)
    st.markdown(f"**{plain(table.short_title, 50)}** · {size} · {subject.question}", width="content")
    st.caption(
        f"The smaller ε (epsilon), the less sure an attacker can be {_question(settings.neighbors, subject.one)}."
        + (NOT_PUBLIC if table.domain.leaks() else "")
        if settings.certified
        else "The app shows this forest as it was published. Below are its claimed ε and what is known about its "
        "true loss."
    )


_PLAIN_NAMES: Final = {"random forest": "a usual random forest"}


def _question(neighbors: str, one: str) -> str:
    """Return what an attacker asks about one row, which depends on the neighbor relation. `one` is a noun for a row."""
    return f"whether one {one} is in the table" if neighbors == ADD_REMOVE else f"which of two values one {one} has"


def is_skewed(baselines: Baselines) -> bool:
    """Return whether one class is so frequent that always guessing it seems accurate."""
    return baselines.floor["accuracy"] > 1 / baselines.floor["classes"] + 0.1


class KeyFigures:
    """The four figures of the header: accuracy, best without privacy, guessing, and what ε means.

    They are drawn once, and `refine` updates them in place.
    """

    def __init__(
        self, choice: Choice, certificate: Certificate, ledger: Ledger, result: SweepResult, baselines: Baselines
    ) -> None:
        self._choice, self._certificate, self._ledger, self._baselines = choice, certificate, ledger, baselines
        self._elements = []
        with st.container(key="headline"):
            for column, (label, value, note, help) in zip(st.columns(4), self._texts(result), strict=True):
                with column, st.container(border=True, height="stretch"):
                    st.caption(label, help=help)
                    self._elements.append((st.markdown(f"### {value}", anchors=False), st.caption(note)))

    def refine(self, result: SweepResult) -> None:
        """Redraw the figures from a result with more simulated releases."""
        for (value_element, note_element), (_, value, note, _) in zip(self._elements, self._texts(result), strict=True):
            value_element.markdown(f"### {value}", anchors=False)
            note_element.caption(note)

    def _texts(self, result: SweepResult) -> list[tuple[str, str, str, str | None]]:
        """Return (label, value, note, help) of each figure."""
        index = list(result.epsilons).index(self._choice.settings.epsilon)  # results always include the current ε
        is_balanced_shown, floor = is_skewed(self._baselines), self._baselines.floor
        most_frequent = int(floor["class"])
        accuracy, balanced = (result.private(measure)[:, index] for measure in ("accuracy", "balanced_accuracy"))
        settings = self._choice.settings
        is_useless = is_no_better_than_guessing(result, self._baselines, settings.name, settings.epsilon)
        remark = " · no better than guessing" if is_useless else ""
        texts = [
            (
                "Accuracy",
                percent(float(accuracy.mean())),
                _spread(accuracy) + remark + _mean_over_classes(balanced, is_balanced_shown),
                "Share of held-out rows, set aside from the fit, that the forest gets right. A release is a forest "
                "that is published. A simulated release is drawn in the same way, with new trees and new noise, but is "
                "not published. ± is the standard deviation.",
            ),
            self._without_privacy(result, is_balanced_shown),
            (
                f"Always “{plain(class_words(self._choice.table)[most_frequent], 20)}”",
                percent(floor["accuracy"]),
                "guessing, with no forest at all" + _mean_over_classes(1 / floor["classes"], is_balanced_shown),
                "Share of held-out rows that are right if the guess is always the most frequent class."
                + (
                    " It is high because one class is frequent. “Mean over classes” (balanced accuracy) counts all "
                    "classes alike."
                    if is_balanced_shown
                    else ""
                ),
            ),
            _broken(self._certificate)
            if not self._choice.settings.certified
            else _meaning(self._choice, self._certificate, self._ledger),
        ]
        return [(label, unbroken(value), unbroken(note), help) for label, value, note, help in texts]

    def _without_privacy(self, result: SweepResult, is_balanced_shown: bool) -> tuple[str, str, str, str | None]:
        """Return the texts of the best model without privacy. The note states this forest's accuracy without noise."""
        without_noise = float(result.without_noise("accuracy").mean())
        same_forest = f"your kind of forest without noise: {percent(without_noise)}"
        help = (
            "The best of the models without privacy that the app tries, on the same held-out rows: scikit-learn's "
            "CART, scikit-learn's random forest (Breiman's), and a forest of the same kind as yours without noise. "
            "This last forest differs from yours in more than noise: every tree has all rows and, if a rule sets the "
            "depth, the largest depth that the rule allows. The page Compare also shows the other "
            "forests without noise."
        )
        best, balanced = (
            ceiling_of(result, [self._baselines], measure) for measure in ("accuracy", "balanced_accuracy")
        )
        if best is None:
            return "Without privacy", "…", f"still being fitted; {same_forest}", help
        name, value = THIS_FOREST if best.is_forest else _PLAIN_NAMES.get(best.name, best.name), best.value
        is_this = name == THIS_FOREST
        note = f"best of those tried: {name}{' without noise' if is_this else ''}"
        note += _mean_over_classes(balanced.value if balanced else 0.0, is_balanced_shown)
        return "Without privacy", percent(value), note if is_this else f"{note}; {same_forest}", help


def _spread(values: np.ndarray) -> str:
    """Return the standard deviation of shares over simulated releases, in percentage points, as text."""
    if len(values) == 1:
        return "one simulated release so far"
    return f"± {100 * spread_over(values):.1f} over {len(values)} simulated releases"


def _mean_over_classes(values: np.ndarray | float, is_balanced_shown: bool) -> str:
    return f" · mean over classes {percent(float(np.mean(values)))}" if is_balanced_shown else ""


def _broken(certificate: Certificate) -> tuple[str, str, str, str | None]:
    """Return the texts of the fourth figure for a forest as published, whose claimed ε does not hold."""
    claimed = epsilon_text(certificate.epsilon)
    note = "no finite bound is known on what the forest may reveal about a row"
    return f"Bound on the loss, where ε = {claimed} is claimed", ":red[∞]", note, None


def _meaning(choice: Choice, certificate: Certificate, ledger: Ledger) -> tuple[str, str, str, str | None]:
    """Return the texts of the fourth figure for a certified forest: how often an attacker's guess can be right."""
    settings, holds = choice.settings, certificate.certified
    promise = would_promise(certificate, ledger)
    return (
        f"What ε = {settings.epsilon:g}{at_delta(certificate.delta)} {'means' if holds else 'would mean'}",
        _out_of_100(success_share(promise, promise.questions[0])),
        _guess_sentence(promise, holds=holds),
        _belief_sentences(promise),
    )


def _out_of_100(share: str) -> str:
    """Return an upper bound on how many of 100 guesses are right.

    >>> _out_of_100("69.7"), _out_of_100("practically all")
    ('≤ 69.7 of 100', 'practically all of 100')
    """
    return f"{'≤ ' if share[:1].isdigit() else ''}{share} of 100"


def _guess_sentence(promise: Guarantee, *, holds: bool) -> str:
    """Return a note that explains the number of `_out_of_100`: which guesses of an attacker it counts.

    >>> _guess_sentence(Guarantee(1.0), holds=True)
    'guesses at whether a row is in the table are right (a coin: 50). Guesses at which of two values a row has: ≤ 81.7.'
    """
    noun = unit_noun(promise.unit)
    question, value_sentence = f"at which of two values a {noun} in the table has", ""
    if MEMBERSHIP in promise.questions:
        question = f"at whether a {noun} is in the table"
        most = _out_of_100(success_share(promise, VALUE)).removesuffix(" of 100")
        value_sentence = f" Guesses at which of two values a {noun} has: {most}."
    not_yet = "" if holds else " Not promised until all parts of the schema are public."
    return f"guesses {question} are right (a coin: 50).{value_sentence}{not_yet}"


def _belief_sentences(promise: Guarantee) -> str | None:
    """Return sentences that state how much an attacker's belief may change.

    The result is None if δ > 0, because rare releases may then change a belief without limit.

    >>> print(_belief_sentences(Guarantee(1.0)).partition(" Differential")[0])
    On average over the releases of this forest, an attacker is right in at most as many guesses as the card says; \
another forest may have another bound at the same ε. After any one release, an attacker who was 50 % sure that a row \
is in the table can become at most 73.2 % sure. If the attacker asks which of two values a row has, 50 % can become at \
most 88.1 %.
    """
    if promise.delta:
        return None
    noun, epsilon = unit_noun(promise.unit), float(promise.epsilon)
    epsilon_of_value = value_epsilon(epsilon, promise.neighbors)
    most_sure, factor = share_text(epsilon_of_value), _factor(epsilon_of_value)
    belief, sure_of_value, membership_odds = f"that a {noun} in the table has one of two values", "", ""
    if MEMBERSHIP in promise.questions:
        belief, most_sure = f"that a {noun} is in the table", share_text(epsilon)
        sure_of_value = (
            f" If the attacker asks which of two values a {noun} has, 50 % can become at most "
            f"{share_text(epsilon_of_value)}."
        )
        membership_odds = f"a {noun} is in the table by at most {_factor(epsilon)}. It changes the odds that "
    return (
        "On average over the releases of this forest, an attacker is right in at most as many guesses as the card "
        "says; another forest may have another bound at the same ε. After any one release, an attacker who was 50 % "
        f"sure {belief} can become at most {most_sure} sure.{sure_of_value} Differential privacy bounds how much a "
        f"release can multiply or divide odds: the odds that {membership_odds}a {noun} in the table has one value "
        f"rather than another by at most {factor}. This holds if what an attacker believes about other {noun}s does "
        f"not depend on this {noun}."
    )


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:g} = {factor_up(epsilon)}"


def broken_promise(certificate: Certificate) -> None:
    """Show why a published mechanism does not have the privacy that it claims."""
    with st.container(border=True):
        badge("Not certified")
        st.markdown(" ".join(plain(reason, 600) for reason in certificate.reasons[:1]))
        if len(certificate.reasons) > 1:
            with st.expander(plural(len(certificate.reasons) - 1, "more reason")):
                for reason in certificate.reasons[1:]:
                    st.markdown(f"- {plain(reason, 600)}")
        st.caption("The app shows this forest only for comparison: it has no privacy budget and cannot be released.")
