"""Effects of attributes on the scores of an additive forest, and the chance that noise reverses a prediction."""

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
from ui.shared.controls import drop_unknown
from ui.shared.page import Badge, chart, titled
from ui.shared.wording import plain

PUBLIC: Final = ("Released", "According to the file")
_EFFECT: Final = (
    "The mean score if everybody had this value of the attribute, where both answers to every other question have the "
    "same weight. It is computed without any rows."
)


def show_effects(added: AddedScores, badge_kind: Badge) -> None:
    """Draw how far attributes move the scores, and the effect of one attribute. Only the released forest is needed."""
    domain = added.domain
    names = [feature.name for feature in domain.features]
    titled(
        "What moves the scores",
        badge_kind,
        help="How far each attribute typically moves the score of a record, in log-odds: what its questions add on the "
        "record's path, as for a single record, but over artificial records. It follows from the released forest and "
        "costs nothing more.",
    )
    sizes, noise = added.typical_parts
    chart(
        pictures.typical_parts(names, sizes, noise),
        "How far each attribute typically moves a score.",
        title="What moves the scores",
        public=badge_kind in PUBLIC,
        key="importances",
    )
    marks = " An orange mark shows what noise alone would cause: a bar that ends near its mark may be noise."
    st.caption(
        "Of one release: another one draws other noise and may put the attributes in another order."
        + (marks if added.noise > 0 else "")
    )
    titled("The effect of one attribute", badge_kind, help=_EFFECT)
    order = [names[i] for i in np.argsort(-sizes, kind="stable")]
    drop_unknown(state.EFFECT_OF, order)
    with st.container(horizontal=True):
        name = st.selectbox("Attribute", order, key=state.EFFECT_OF, width=420)
        label = domain.classes[-1]
        if domain.n_classes > 2:
            drop_unknown(state.EFFECT_ON, domain.classes)
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


def reversal_sentence(added: AddedScores, scores: np.ndarray) -> str:
    """Return a sentence about the chance that noise alone would have reversed a prediction; empty if it is unknown."""
    chance = reversal_chance(added, scores)
    if math.isnan(chance):
        return ""
    share = flip_percent(chance)
    return (
        f"Noise alone would have reversed it in {share if share.startswith('under') else f'about {share}'} of releases."
    )


def reversal_chance(added: AddedScores, scores: np.ndarray) -> float:
    """Return the probability that noise reverses the lead of the best class over the second; NaN if it is unknown.

    The probability is Φ(−lead / deviation): Φ is the distribution function of the normal distribution, and the
    deviation is that of the lead's noise. All classes but these two are ignored.
    """
    first, second = np.sort(scores)[::-1][:2]
    if added.domain.n_classes == 2:  # the two scores are equal except for their signs, and so is their noise
        lead, deviation = abs(first), added.score_noise
    else:
        # `score_noise` is for a score minus the mean score of all classes. Divided by `centered`, it is for one score.
        centered = math.sqrt(1 - 1 / added.domain.n_classes)
        lead, deviation = first - second, added.score_noise / centered * math.sqrt(2)
    return math.nan if not deviation else float(norm.sf(lead / deviation))
