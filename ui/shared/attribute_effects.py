"""Effects of attributes on the scores of an additive forest, and the chance that noise alone reverses a prediction."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import streamlit as st
from scipy.stats import norm

from dpforest.explain import AddedScores
from dpforest.plotting import rounds as pictures
from dpforest.plotting.style import flip_percent
from ui import state
from ui.shared.controls import known
from ui.shared.page import Badge, chart, titled
from ui.shared.wording import plain

PUBLIC: Final = ("Released", "According to the file")
_EFFECT: Final = (
    "The mean score if everybody had this value of the attribute, where both answers to every other question have the "
    "same weight. It is computed without any rows."
)


def attributes(added: AddedScores, badge_kind: Badge) -> None:
    """Draw the effects of the attributes on the scores. They are computed from the released forest alone."""
    domain = added.domain
    names = [feature.name for feature in domain.features]
    titled(
        "What moves the scores",
        badge_kind,
        help="How far each attribute by itself moves the scores, as a share, minus what noise alone would. It follows "
        "from the released forest and costs nothing more. It does not include what attributes do only together.",
    )
    shares = added.importances
    if not shares.any():
        st.caption("No attribute by itself moves the scores further than noise alone would.")
    else:
        chart(
            pictures.importances(names, shares),
            "Shares of the attributes in what moves scores.",
            title="What moves the scores",
            public=badge_kind in PUBLIC,
            key="importances",
        )
        st.caption(
            "These are shares of one release. Another release draws other noise and may order the attributes "
            "differently. An attribute at 0 % moves the scores no further than noise alone would. It may still matter, "
            "by itself or with others."
        )
    titled("The effect of one attribute", badge_kind, help=_EFFECT)
    order = [names[i] for i in np.argsort(-shares, kind="stable")]
    known(state.EFFECT_OF, order)
    with st.container(horizontal=True):
        name = st.selectbox("Attribute", order, key=state.EFFECT_OF, width=420)
        label = domain.classes[-1]
        if domain.n_classes > 2:
            known(state.EFFECT_ON, domain.classes)
            label = st.selectbox("Score of", domain.classes, key=state.EFFECT_ON, width=240)
    index, class_index = names.index(name), domain.classes.index(label)
    codes = pictures.codes_shown(domain.features[index])
    scores, noise = added.effect(index, codes)
    shown_scores = scores[:, class_index]
    chart(
        pictures.effect(domain.features[index], codes, shown_scores, noise),
        f"Mean score of {label} by {name}, from {shown_scores.min():+.2f} to {shown_scores.max():+.2f}.",
        title="The effect of one attribute",
        public=badge_kind in PUBLIC,
        key="effect",
    )
    band_note = (
        "" if math.isnan(added.noise) or not added.noise else " The band is two standard deviations of the noise."
    )
    st.caption(f"Above 0 the forest leans to “{plain(label, 30)}”.{band_note}")


def noise_alone(added: AddedScores, scores: np.ndarray) -> str:
    """Return a sentence on the chance that noise alone reverses a prediction: Φ(−lead / deviation), to first order."""
    chance = chance_of_a_turn(added, scores)
    if math.isnan(chance):
        return ""
    share = flip_percent(chance)
    return (
        f"Noise alone would have reversed it in {share if share.startswith('under') else f'about {share}'} of releases."
    )


def chance_of_a_turn(added: AddedScores, scores: np.ndarray) -> float:
    """Return the probability that noise reverses the lead of the best class over the second; NaN if it is unknown."""
    first, second = np.sort(scores)[::-1][:2]
    if added.domain.n_classes == 2:  # the two scores have opposite signs and the same noise
        lead, deviation = abs(first), added.score_noise
    else:
        centered = math.sqrt(1 - 1 / added.domain.n_classes)
        lead, deviation = first - second, added.score_noise / centered * math.sqrt(2)
    return math.nan if not deviation else float(norm.sf(lead / deviation))
