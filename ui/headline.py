"""The header line and the four figures that matter."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpforest.plotting.curve import series, spread_over
from dpforest.plotting.style import percent
from dpforest.privacy.certificate import Certificate
from dpforest.risk import factor_up
from dpforest.simulation import Curve
from ui.forests import EPSILONS, FORESTS
from ui.page import badge
from ui.sidebar import Choice
from ui.wording import epsilon_text, plain, plural, share_text, value_epsilon


def header(choice: Choice) -> None:
    """What is looked at, in one line."""
    table, settings = choice.table, choice.settings
    title = plain(table.short_title, 50)
    facts = [
        plural(len(table.frame), "row"),
        plural(table.domain.n_features, "attribute"),
        f"predicts {plain(table.label, 30)}",
    ]
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"):
        st.markdown(f"**{title}** · {' · '.join(facts)}", width="content")
        held = "" if settings.certified else " claimed"
        with st.container(horizontal=True, width="content", gap="small"):
            badge("Simulated", f" at ε = {settings.epsilon:g}{held}, {settings.neighbours}")
            badge("Curator only")
    st.caption(
        "A release adds noise so that nobody can tell whether any one person was in the table. "
        "Smaller ε: more noise, more privacy."
        if settings.certified
        else "This is a paper's own mechanism. What it claims about ε and what is true stand below."
    )


def is_skewed(curve: Curve) -> bool:
    """Whether always guessing one class looks better than it is."""
    return curve.floor > curve.floor_balanced + 0.1


class Figures:
    """Accuracy, ceiling, floor, and what ε means; drawn once, then refined in place."""

    def __init__(self, choice: Choice, certificate: Certificate, curve: Curve) -> None:
        self._choice, self._certificate = choice, certificate
        self._elements = []
        with st.container(key="headline"):
            for column, (label, value, note, help) in zip(st.columns(4), self._texts(curve), strict=True):
                with column, st.container(border=True, height="stretch"):
                    self._elements.append(
                        (st.caption(label, help=help), st.markdown(f"### {value}", anchors=False), st.caption(note))
                    )

    def refine(self, curve: Curve) -> None:
        """The same figures, surer."""
        for (_, value_element, note_element), (_, value, note, _) in zip(
            self._elements, self._texts(curve), strict=True
        ):
            value_element.markdown(f"### {value}", anchors=False)
            note_element.caption(note)

    def _texts(self, curve: Curve) -> list[tuple[str, str, str, str | None]]:
        """(label, value, note, help) of each."""
        at = EPSILONS.index(self._choice.settings.epsilon)
        values, ceiling, floor = series(curve, "accuracy")
        shown = is_skewed(curve)
        classes = self._choice.table.domain.classes
        return [
            (
                "Accuracy",
                percent(values[:, at].mean()),
                _spread(values[:, at]) + _balanced(curve.balanced[:, at], shown),
                "Share of held-out records predicted rightly. Each simulated release redraws trees, noise, and which "
                "row goes to which tree; ± is the standard deviation over releases.",
            ),
            (
                "Without privacy",
                percent(float(ceiling.mean())),
                (
                    "the ceiling: the best questions and true leaves; chance may do a little better"
                    if FORESTS[self._choice.settings.kind].is_greedy
                    else "the ceiling: the same trees without noise; other kinds of forest may do better"
                )
                + _balanced(curve.ceiling_balanced, shown),
                "A forest of the same kind and size, grown without noise, with all rows in every tree.",
            ),
            (
                f"Always “{plain(classes[curve.floor_class], 20)}”",
                percent(floor),
                "the floor: no forest at all" + _balanced(curve.floor_balanced, shown),
                "What always naming the most frequent class gets right."
                + (" High because classes are skewed; balanced accuracy counts every class alike." if shown else ""),
            ),
            _broken(self._certificate) if not self._choice.settings.certified
            else _meaning(self._choice, self._certificate),
        ]  # fmt: skip


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
    settings = choice.settings
    member = min(certificate.true_epsilon, settings.epsilon)
    value = value_epsilon(member, settings.neighbours)
    holds = certificate.certified
    return (
        f"What ε = {settings.epsilon:g} {'means' if holds else 'would mean'}",
        f"{share_text(member)} · {share_text(value)}",
        ("" if holds else "not promised, as the schema was read from the rows; once it is public: ")
        + f"unsure (50 %) whether somebody is in the table, one can become at most {share_text(member)} sure; unsure "
        f"between two values of theirs, at most {share_text(value)}",
        "Differential privacy bounds odds. Whatever somebody believed before, the release multiplies the odds that a "
        f"row is in the table by {_factor(member)} at most, and the odds that somebody in it has one value rather than "
        f"another by {_factor(value)} at most. Shown for a guess that stood at 50:50.",
    )


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:g} = {factor_up(epsilon)}"


def broken_promise(certificate: Certificate) -> None:
    """Why a published mechanism does not have the privacy it claims."""
    with st.container(border=True):
        badge("Not certified")
        st.markdown(" ".join(plain(reason, 600) for reason in certificate.reasons[:1]))
        if len(certificate.reasons) > 1:
            with st.expander(f"{len(certificate.reasons) - 1} more reasons"):
                for reason in certificate.reasons[1:]:
                    st.markdown(f"- {plain(reason, 600)}")
        st.caption("Shown to compare with the paper. It draws on no budget and cannot be released.")
