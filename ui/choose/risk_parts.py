"""The section on what ε means for a row or person: figures, charts, sentences, and the control of the prior belief.

The prior belief is how sure an attacker is before the release.
"""

from __future__ import annotations

import streamlit as st

from dpforest.plotting.risk import icon_grid, posterior_curve, trade_off_curve
from dpforest.privacy.ledger import unit_noun
from dpforest.risk.guarantee import MEMBERSHIP, Guarantee
from dpforest.risk.rounding import percent_up
from dpforest.risk.tradeoff import DistinguishingGame
from ui import state
from ui.choose import risk_words as words
from ui.shared.controls import LINKED, drop_unknown
from ui.shared.page import drawn, titled
from ui.shared.wording import of_100

PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)


def prior_control() -> float:
    """Ask for an attacker's belief before the release, and return it, from 0 to 1. A link stores it as "prior"."""
    drop_unknown(state.PRIOR, PRIORS)
    value = st.select_slider(
        "Attacker’s belief before the release",
        PRIORS,
        0.5,
        format_func=lambda p: f"{100 * p:g} %",
        key=state.PRIOR,
        bind=LINKED,
        help="How sure the attacker was before the release that a row is in the table, or that a row of the table has "
        "a certain value. If a column of identifiers is declared, the belief is about a person instead of a row. 50 % "
        "is a coin toss.",
    )
    return min(PRIORS, key=lambda p: abs(p - float(value)))


def show(guarantee: Guarantee, prior: float, *, rows: int = 1) -> None:
    """Draw the section on what ε means for one row or person.

    Parameters
    ----------
    guarantee : Guarantee
        Guarantee of the release.
    prior : float
        Value of `prior_control`.
    rows : int
        Number of rows of one person.
    """
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(width="content"):
            titled(f"What this means for one {words.protected_noun(guarantee, rows)}")
        game = DistinguishingGame(guarantee, _question(guarantee), rows)
    st.markdown(words.meaning(guarantee))
    _figures(game, prior)
    columns = st.columns(3, gap="medium")
    with columns[0]:
        _guesses(game, prior)
    with columns[1]:
        _errors(game)
    with columns[2]:
        _beliefs(game, prior)
    if guarantee.kind != "none":
        with st.container(border=True):
            st.markdown(words.not_covered(guarantee))
            st.markdown(words.conditions(guarantee, rows))


def _question(guarantee: Guarantee) -> str:
    """Return the question that the attacker answers.

    If the guarantee covers membership, the user chooses: who is in the table, or which value a row has.
    """
    if MEMBERSHIP not in guarantee.questions:
        nouns = f"{unit_noun(guarantee.unit)}s"
        st.caption(f"The number of {nouns} is public here, so the attacker guesses a value.", width="content")
        return guarantee.questions[0]
    names = {words.QUESTIONS[q]: q for q in guarantee.questions}
    drop_unknown(state.GUESS, names)
    chosen = st.segmented_control(
        "What is guessed",
        list(names),
        default=next(iter(names)),
        required=True,
        key=state.GUESS,
        bind=LINKED,
        label_visibility="collapsed",
        help=f"Changing a value of a {unit_noun(guarantee.unit)} in the table is one removal and one addition, so it "
        "costs at most 2ε" + (", at a larger δ." if guarantee.delta else "."),
    )
    return names.get(chosen or "", MEMBERSHIP)


def _figures(game: DistinguishingGame, prior: float) -> None:
    """Draw four boxes with numbers: odds, belief, right guesses, and exceptions."""
    bounds = words.belief_bounds(game, prior)
    times, formula = words.odds_factor(game)
    without, right = max(prior, 1 - prior), game.success(prior)
    exceptions = {
        "pure": ("none", "δ = 0: the bound on odds holds after every release"),
        "approximate": (
            "rare" if bounds is not None else "not rare",
            f"plus δ = {words.small(game.grouped.delta)}: beliefs may exceed the bounds"
            if game.guarantee.delta
            else "",
        ),
        "none": ("–", "no bound is proved"),
    }[game.guarantee.kind]
    with st.container(key="headline_risk"):
        boxes = (
            ("Odds change at most", times, formula),
            (
                f"Belief after, at most ({percent_up(prior)} before)",
                "100 %" if bounds is None else percent_up(bounds[1]),
                "no bound holds" if bounds is None else words.at_least(bounds[0]),
            ),
            (
                "Right guesses of 100, at most",
                of_100(right),
                f"mean over all releases; {of_100(without)} without a release. After some releases, an attacker is "
                "surer.",
            ),
            ("Exceptions", *exceptions),
        )
        for column, (label, value, note) in zip(st.columns(4), boxes, strict=True):
            with column, st.container(border=True, height="stretch"):
                st.caption(label)
                st.markdown(f"### {value}", anchors=False)
                st.caption(note)


def _guesses(game: DistinguishingGame, prior: float) -> None:
    titled(
        "100 guesses",
        "From a formula",
        help="The number of right guesses with the release is rounded up, and the number without it is rounded down.",
    )
    guesses = game.hundred_guesses(prior)
    drawn(
        icon_grid(game, prior),
        f"A hundred guesses: {guesses.without} are right anyway, at most {guesses.additional_right} more with the "
        f"release, at least {guesses.wrong} are wrong.",
        title="100 guesses",
        public=True,
        key="risk_guesses",
    )
    st.markdown(words.frequency(game, prior))


def _errors(game: DistinguishingGame) -> None:
    titled(
        "Errors",
        "From a formula",
        help="Fewer misses cost more false alarms. No attack gets below the line, whatever it "
        "computes. (Wasserman and Zhou 2010; Dong, Roth and Su 2022.)",
    )
    drawn(
        trade_off_curve(game),
        f"Misses against false alarms. {words.errors(game)}".replace("**", ""),
        title="Errors of an attacker",
        key="risk_errors",
        public=True,
    )
    st.markdown(words.errors(game))


def _beliefs(game: DistinguishingGame, prior: float) -> None:
    titled(
        "Beliefs",
        "From a formula",
        help="Bayes’ rule: the odds after a release are the odds before, times the ratio of the probabilities of this "
        "release in both cases.",
    )
    figure = posterior_curve(game, prior, failure=words.FAILURE)
    belief = words.belief(game, prior)
    if figure is not None:
        drawn(
            figure,
            f"Belief after the release against belief before. {belief}".replace("**", ""),
            title="Beliefs before and after",
            public=True,
            key="risk_beliefs",
        )
    st.markdown(belief)
