"""The header line and the four figures that matter."""

from __future__ import annotations

from typing import Final

import numpy as np
import streamlit as st

from dpforest.plotting.curve import spread_over
from dpforest.plotting.style import percent
from dpforest.privacy.certificate import Certificate
from dpforest.risk.guarantee import MEMBERSHIP, Guarantee, guarantee_of
from dpforest.risk.rounding import factor_up
from dpforest.tables.features import plural
from ui.explore.stories import story
from ui.jobs.baselines import THIS_FOREST, Baselines
from ui.jobs.results import SweepResult, ceiling_of, headroom_of
from ui.shared.loss_sums import at_delta, success_share, sure_words, would_promise
from ui.shared.page import badge
from ui.shared.sidebar import Choice
from ui.shared.wording import epsilon_text, plain, unbroken, value_epsilon

UNTIL: Final = " That holds once the schema is public (*Data* tab)."


def header(choice: Choice) -> None:
    """Write two lines: whose table it is and what a forest learns from it, and what a release promises."""
    table, settings = choice.table, choice.settings
    subject = story(table)
    who = plural(len(table.frame), subject.one, subject.many)
    st.markdown(f"**{plain(table.short_title, 50)}** · {who} · {subject.question}", width="content")
    st.caption(
        f"A forest, published with noise: ε limits how sure anybody can become whether one {subject.one} is in the "
        "table. Smaller ε: less sure." + (UNTIL if table.domain.leaks() else "")
        if settings.certified
        else "This is a mechanism as it was published. What is claimed about its ε and what is true stand below."
    )


def is_skewed(level: Baselines) -> bool:
    """Return whether classes are so skewed that always guessing one of them looks better than it is."""
    return level.floor["accuracy"] > 1 / level.floor["classes"] + 0.1


class Figures:
    """Four figures, drawn once and refined in place: accuracy, best without privacy, floor, and the meaning of ε."""

    def __init__(self, choice: Choice, certificate: Certificate, result: SweepResult, level: Baselines) -> None:
        self._choice, self._certificate, self._level = choice, certificate, level
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
        at = list(result.epsilons).index(self._choice.settings.epsilon)  # every result has this ε
        shown, floor = is_skewed(self._level), self._level.floor
        classes, most_frequent = self._choice.table.domain.classes, int(floor["class"])
        (headroom,) = headroom_of(result, [self._level], "accuracy").values()
        accuracy, balanced = (result.private(measure)[:, at] for measure in ("accuracy", "balanced_accuracy"))
        mean = float(accuracy.mean())
        guessing = " · no better than guessing" if mean <= headroom.floor + headroom.noise else ""
        texts = [
            (
                "Accuracy",
                percent(mean),
                _spread(accuracy) + guessing + _balanced(balanced, shown),
                "Share of held-out records predicted rightly. Each simulated release redraws trees, noise, and which "
                "row goes to which tree; ± is the standard deviation over releases.",
            ),
            self._without_privacy(result, shown),
            (
                f"Always “{plain(classes[most_frequent], 20)}”",
                percent(floor["accuracy"]),
                "guessing, with no forest at all" + _balanced(1 / floor["classes"], shown),
                "What always naming the most frequent class gets right."
                + (" High because classes are skewed; balanced accuracy counts every class alike." if shown else ""),
            ),
            _broken(self._certificate)
            if not self._choice.settings.certified
            else _meaning(self._choice, self._certificate),
        ]
        return [(label, unbroken(value), unbroken(note), help) for label, value, note, help in texts]

    def _without_privacy(self, result: SweepResult, shown: bool) -> tuple[str, str, str, str | None]:
        """Return the figure of the best model without privacy. Its note states this forest without noise."""
        without_noise = float(result.without_noise("accuracy").mean())
        forest = f"this forest without noise: {percent(without_noise)}"
        help = (
            "The best model known without privacy, on the same records. Tried are scikit-learn's CART, its random "
            "forest (Breiman's), and a forest of the same kind as yours without noise: all rows in every tree, and by "
            "rule the deepest trees that the rule knows. Compare shows the other forests without noise, too."
        )
        best, balanced = (ceiling_of(result, [self._level], measure) for measure in ("accuracy", "balanced_accuracy"))
        if best is None:
            return "Without privacy", "…", f"being fitted; {forest}", help
        name, value = THIS_FOREST if best.is_forest else best.name, best.value
        is_this = name == THIS_FOREST
        note = f"best of those tried: {name}{' without noise' if is_this else ''}"
        note += _balanced(balanced.value if balanced else 0.0, shown)
        return "Without privacy", percent(value), note if is_this else f"{note}; {forest}", help


def _spread(values: np.ndarray) -> str:
    if len(values) == 1:
        return "one simulated release so far"
    return f"± {100 * spread_over(values):.1f} over {len(values)} simulated releases"


def _balanced(values: np.ndarray | float, shown: bool) -> str:
    return f" · balanced {percent(float(np.mean(values)))}" if shown else ""


def _broken(certificate: Certificate) -> tuple[str, str, str, str | None]:
    claimed = epsilon_text(certificate.epsilon)
    note = "no finite bound is known on what it may reveal about a row"
    return f"True loss, where ε = {claimed} is claimed", ":red[∞]", note, None


def _meaning(choice: Choice, certificate: Certificate) -> tuple[str, str, str, str | None]:
    settings, delta, holds = choice.settings, certificate.delta, certificate.certified
    promise = guarantee_of(certificate) if holds else would_promise(settings.epsilon, delta, settings.neighbors)
    return (
        f"What ε = {settings.epsilon:g}{at_delta(delta)} {'means' if holds else 'would mean'}",
        success_share(promise, promise.questions[0]),
        _sure(promise, holds=holds),
        _odds(promise),
    )


def _sure(promise: Guarantee, *, holds: bool) -> str:
    """Describe the large number, and in a second paragraph how surely somebody's values may be guessed.

    >>> _sure(would_promise(1.0, 0.0, "add-remove"), holds=True).split("\\n\\n")[1]
    'unsure between two values of theirs, at most 88.1 %'
    """
    first = "" if holds else "not promised, as the schema was read from the rows; once it is public: "
    about_member, _, about_value = sure_words(promise).partition("; ")
    return first + about_member + (f"\n\n{about_value}" if about_value else "")


def _odds(promise: Guarantee) -> str | None:
    """Describe by how much a belief may change. None with a δ, since rare releases may change a belief by anything."""
    if promise.delta:
        return None
    value = _factor(value_epsilon(float(promise.epsilon), promise.neighbors))
    member = f"a row is in the table by {_factor(float(promise.epsilon))} at most, and the odds that "
    return (
        "Differential privacy bounds odds. Whatever somebody believed before, the release multiplies the odds that "
        f"{member if MEMBERSHIP in promise.questions else ''}somebody in it has one value rather than another by "
        f"{value} at most. Shown for a guess that stood at 50:50."
    )


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:g} = {factor_up(epsilon)}"


def broken_promise(certificate: Certificate) -> None:
    """Show why a published mechanism does not have the privacy that it claims."""
    with st.container(border=True):
        badge("Not certified")
        st.markdown(" ".join(plain(reason, 600) for reason in certificate.reasons[:1]))
        if len(certificate.reasons) > 1:
            with st.expander(f"{len(certificate.reasons) - 1} more reasons"):
                for reason in certificate.reasons[1:]:
                    st.markdown(f"- {plain(reason, 600)}")
        st.caption("Shown to compare with what was published. It draws on no budget and cannot be released.")
