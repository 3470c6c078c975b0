"""The random-tree booster from inside: accuracy by round, attributes, and one prediction taken apart."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st
from scipy.stats import norm

from dpforest.evaluation.forest_view import ForestView
from dpforest.explain import AddedScores
from dpforest.plotting import rounds as pictures
from dpforest.plotting.style import flip_percent, percent
from dpforest.plotting.words import value_text
from dpforest.tables.features import plural
from dpforest.trees.routing import leaves_of_rows
from ui.shared.controls import known
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.tables import read_by, split
from ui.shared.wording import plain

MOST_ROWS = 4_000  # held out, for the accuracy by round
MOST_ROUNDS = 60  # at which it is drawn


def show(choice: Choice, view: ForestView) -> None:
    """Below the tree: rounds, importances, effects."""
    assert view.added is not None
    _by_round(choice, view)
    attributes(view.added, "Simulated")


def _by_round(choice: Choice, view: ForestView) -> None:
    parts = split(read_by(choice.table, choice.settings))
    codes, truth = parts.X_test[:MOST_ROWS], parts.y_test[:MOST_ROWS]
    at, accuracy = accuracy_by_round(view, codes, truth)
    floor = float((truth == np.bincount(parts.y_train).argmax()).mean())
    titled(
        "Accuracy by round", "Curator only",
        help="Each round asks one question of all rows: in which direction are the records of each leaf of the next "
        "tree still wrong? ε is divided evenly among the rounds. Dotted: always naming the most frequent class.",
    )  # fmt: skip
    chart(
        pictures.accuracy_by_round(at, accuracy, floor),
        f"Accuracy after each round, from {percent(accuracy[0])} to {percent(accuracy[-1])}.", key="by_round",
    )  # fmt: skip
    st.caption(
        f"One simulated release of {plural(view.trees.n_trees, 'round')}, on {len(truth):,} records held out. A "
        "release contains all rounds, so whoever has it can draw this curve for records of their own at no cost."
    )


def accuracy_by_round(view: ForestView, codes: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """After how many rounds, and the share of rows told rightly by then."""
    assert view.added is not None
    n_trees = view.trees.n_trees
    at = np.unique(np.linspace(1, n_trees, min(MOST_ROUNDS, n_trees)).astype(int))
    scores, accuracy = np.zeros((len(truth), view.domain.n_classes)), []
    for before, after in zip(np.append(0, at[:-1]), at, strict=True):
        some = view.trees.between(int(before), int(after))
        own = view.added.leaf_scores[int(view.trees.leaf_start[before]) :]
        scores += own[leaves_of_rows(some, view.domain, codes)].sum(axis=0)
        accuracy.append(float((scores.argmax(axis=1) == truth).mean()))
    return at, np.array(accuracy)


def attributes(added: AddedScores, badge_kind) -> None:
    """What attributes do to scores: from the forest alone."""
    domain = added.domain
    names = [feature.name for feature in domain.features]
    titled(
        "What moves the scores", badge_kind,
        help="How far each attribute by itself moves the scores, as a share, less what noise alone would. It follows "
        "from the released forest and costs nothing more. What attributes do only together is not in it.",
    )  # fmt: skip
    shares = added.importances()
    if not shares.any():
        st.caption("No attribute by itself moves the scores further than noise alone would.")
    else:
        chart(pictures.importances(names, shares), "Shares of the attributes in what moves scores.", key="importances")
    titled("The effect of one attribute", badge_kind, help=_EFFECT)
    order = [names[i] for i in np.argsort(-shares, kind="stable")]
    known("effect_of", order)
    with st.container(horizontal=True):
        name = st.selectbox("Attribute", order, key="effect_of", width=420, format_func=lambda n: plain(n, 60))
        label = domain.classes[-1]
        if domain.n_classes > 2:
            known("effect_on", domain.classes)
            label = st.selectbox(
                "Score of", domain.classes, key="effect_on", width=240, format_func=lambda c: plain(c, 40)
            )  # fmt: skip
    place, of_class = names.index(name), domain.classes.index(label)
    codes = pictures.codes_shown(domain.features[place])
    scores, noise = added.effect(place, codes)
    chart(
        pictures.effect(domain.features[place], codes, scores[:, of_class], noise),
        f"Mean score of {label} by {name}, from {scores[:, of_class].min():+.2f} to {scores[:, of_class].max():+.2f}.",
        key="effect",
    )
    shown = "" if math.isnan(added.noise) or not added.noise else " The band is two standard deviations of the noise."
    st.caption(f"Above 0 the forest leans to “{plain(label, 30)}”.{shown}")


_EFFECT = (
    "The mean score if everybody had this value of the attribute, where all other questions are answered either way "
    "with the same weight. No rows are looked at."
)


def verdict(added: AddedScores, codes: np.ndarray, truth: int) -> None:
    """What the rounds add up to for one record, and how likely noise alone turned it."""
    classes, parts = added.domain.classes, added.taken_apart(codes)
    scores = added.base + parts.sum(axis=0)
    winner = int(scores.argmax())
    right = "which is right" if winner == truth else f"but it is {plain(classes[truth])}"
    st.markdown(
        f"The scores speak for **{plain(classes[winner])}** ({scores[winner]:+.3f}), {right}. "
        f"{noise_alone(added, scores)}"
    )
    features = added.domain.features
    names = [f"{f.name} = {value_text(f, int(code))}" for f, code in zip(features, codes, strict=True)]
    chart(
        pictures.parts_of_score(names, parts[:, winner]),
        f"What each attribute adds to the score of {classes[winner]}.", key="parts",
    )  # fmt: skip
    st.caption(
        f"What each attribute adds to the score of “{plain(classes[winner], 30)}”; before any question it is "
        f"{added.base[winner]:+.3f}."
    )


def noise_alone(added: AddedScores, scores: np.ndarray) -> str:
    """How likely noise alone is to turn a prediction, in a sentence: Φ(−lead / its deviation), to first order."""
    chance = chance_of_a_turn(added, scores)
    if math.isnan(chance):
        return ""
    return f"Noise alone would have turned it in about {flip_percent(chance)} of releases."


def chance_of_a_turn(added: AddedScores, scores: np.ndarray) -> float:
    """Probability that noise moves the lead of the first class over the next to the other side; NaN if not known."""
    first, second = np.sort(scores)[::-1][:2]
    if added.domain.n_classes == 2:  # one number and its negative, with one noise
        lead, deviation = abs(first), added.score_noise
    else:
        centred = math.sqrt(1 - 1 / added.domain.n_classes)
        lead, deviation = first - second, added.score_noise / centred * math.sqrt(2)
    return math.nan if not deviation else float(norm.sf(lead / deviation))
