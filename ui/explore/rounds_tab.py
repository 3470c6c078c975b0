"""Charts of the random-tree booster: accuracy by round, effects of attributes, and the parts of one score."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dpforest.explain import AddedScores
from dpforest.plotting import rounds as pictures
from dpforest.plotting.style import flip_percent, percent
from dpforest.plotting.words import value_text
from dpforest.simulation.views import ForestView
from dpforest.tables.features import plural
from dpforest.trees.routing import leaves_of_rows
from ui.shared.attribute_effects import reversal_chance, reversal_sentence, show_effects
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.tables import read_by, split
from ui.shared.wording import plain

MOST_ROWS = 4_000  # largest number of held-out rows for accuracy by round and for flips
MOST_ROUNDS = 60  # largest number of points of the curve of accuracy by round


def show(choice: Choice, view: ForestView) -> None:
    """Draw the charts below the tree: accuracy by round, and the importances and effects of attributes."""
    assert view.added is not None
    _by_round(choice, view)
    show_effects(view.added, "Simulated")


def _by_round(choice: Choice, view: ForestView) -> None:
    parts = split(read_by(choice.table, choice.settings))
    codes, truth = parts.X_test[:MOST_ROWS], parts.y_test[:MOST_ROWS]
    rounds, accuracy = accuracy_by_round(view, codes, truth)
    floor = float((truth == np.bincount(parts.y_train).argmax()).mean())
    titled(
        "Accuracy by round",
        "Do not share",
        help="Each round asks all rows one question: in which direction is the score of each leaf of the next tree "
        "still wrong? ε is divided evenly among the rounds. Dotted: always naming the most frequent class.",
    )
    chart(
        pictures.accuracy_by_round(rounds, accuracy, floor),
        f"Accuracy after each round, from {percent(accuracy[0])} to {percent(accuracy[-1])}.",
        title="Accuracy by round",
        key="by_round",
    )
    st.caption(
        f"One simulated release of {plural(view.trees.n_trees, 'round')}, on {len(truth):,} held-out records. A "
        "release contains all rounds, so whoever has it can draw this curve for other records at no cost."
    )


def accuracy_by_round(view: ForestView, codes: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `MOST_ROUNDS` numbers of rounds, and the accuracy on the rows after each of these numbers."""
    assert view.added is not None
    n_trees = view.trees.n_trees
    rounds = np.unique(np.linspace(1, n_trees, min(MOST_ROUNDS, n_trees)).astype(int))
    scores, accuracy = np.zeros((len(truth), view.domain.n_classes)), []
    for before, after in zip(np.append(0, rounds[:-1]), rounds, strict=True):
        trees = view.trees.between(int(before), int(after))
        leaf_scores = view.added.leaf_scores[int(view.trees.leaf_start[before]) :]
        scores += leaf_scores[leaves_of_rows(trees, view.domain, codes)].sum(axis=0)
        accuracy.append(float((scores.argmax(axis=1) == truth).mean()))
    return rounds, np.array(accuracy)


def verdict(added: AddedScores, codes: np.ndarray, truth: int) -> None:
    """Show a record's score, the chance that noise alone reverses its prediction, and what each attribute adds."""
    classes, parts = added.domain.classes, added.taken_apart(codes)
    scores = added.base + parts.sum(axis=0)
    winner = int(scores.argmax())
    verdict_words = "which is right" if winner == truth else f"but it is {plain(classes[truth])}"
    st.markdown(
        f"The scores vote for **{plain(classes[winner])}** ({scores[winner]:+.3f}), {verdict_words}. "
        f"{reversal_sentence(added, scores)}"
    )
    features = added.domain.features
    names = [f"{f.name} = {value_text(f, int(code))}" for f, code in zip(features, codes, strict=True)]
    chart(
        pictures.parts_of_score(names, parts[:, winner], added.parts_noise(codes)),
        f"What each attribute adds to the score of {classes[winner]}.",
        title="What each attribute adds to the score",
        key="parts",
    )
    st.caption(
        f"What each attribute adds to the score of “{plain(classes[winner], 30)}”, by the same method as “What moves "
        f"the scores”. Before any question, the score is {added.base[winner]:+.3f}."
        + (" Error bars are two standard deviations of the noise." if added.noise > 0 else "")
    )


def flips_of_records(choice: Choice, view: ForestView) -> str:
    """State in a sentence how often noise alone reverses a prediction, on average over held-out records."""
    assert view.added is not None
    codes = split(read_by(choice.table, choice.settings)).X_test[:MOST_ROWS]
    leaves = leaves_of_rows(view.trees, view.domain, codes)
    scores = sum((view.added.leaf_scores[at] for at in leaves), np.zeros((len(codes), view.domain.n_classes)))
    mean = float(np.mean([reversal_chance(view.added, row) for row in scores]))
    return (
        f"The prediction of a record depends on all {plural(view.trees.n_trees, 'round')}, and noise alone reverses it "
        f"in about **{flip_percent(mean)}** of releases, on average over held-out records."
    )
