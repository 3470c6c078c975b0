"""Sentences about what a guarantee means for one row (or one person, if the table has a unit of privacy).

A guarantee is a pure ε, an ε with a δ, or no bound. Upper bounds are rounded up, and lower bounds down. Sentences are
markdown. They quote nothing of the data except the name of the column that identifies persons. This module does not use
Streamlit.
"""

from __future__ import annotations

import math

from dpforest.plotting.audit import raised
from dpforest.privacy.ledger import ADD_REMOVE, unit_noun, unit_words
from dpforest.risk.guarantee import MEMBERSHIP, VALUE, Guarantee
from dpforest.risk.rounding import factor_up, percent_down, percent_up
from dpforest.risk.tradeoff import DistinguishingGame
from ui.shared.wording import epsilon_text, of_100, plain

FAILURE = 0.001  # share of releases in which a bound on beliefs may fail if δ > 0
ALARMS = 0.05  # false alarm rate at which `errors` describes the trade-off curve
QUESTIONS = {MEMBERSHIP: "who is in the table", VALUE: "which value a row has"}


def protected_noun(guarantee: Guarantee, rows: int = 1) -> str:
    """Return "person" if the unit of privacy is a person or a person has several `rows`, and "row" otherwise.

    >>> protected_noun(Guarantee(1.0)), protected_noun(Guarantee(1.0), 3)
    ('row', 'person')
    >>> protected_noun(Guarantee(1.0, unit="patient_id"))
    'person'
    """
    return "person" if rows > 1 else unit_noun(guarantee.unit)


def meaning(guarantee: Guarantee) -> str:
    """State the guarantee in words."""
    noun = unit_noun(guarantee.unit)
    if guarantee.kind == "none":
        return (
            f"**No bound is proved.** No proved limit holds for what such a release reveals about a {noun}: "
            "an attacker may become certain, and be right every time."
        )
    comparison = (
        f"with any one {noun} in the table as without it, nor without it as with it"
        if guarantee.neighbors == ADD_REMOVE
        else f"with one value of a {noun} in the table as with another"
    )
    text = f"No release is more than {factor_up(guarantee.epsilon)} times (eᵋ) as likely {comparison}"
    if guarantee.kind == "approximate":
        return (
            f"**{text}, plus δ = {small(guarantee.delta)}.** That is weaker than ε alone: a rule that publishes each "
            "row outright with probability δ keeps this promise too, so δ must be far below one in the number of rows."
        )
    return f"**{text}.** This has no exceptions (δ = 0)."


def belief(game: DistinguishingGame, prior: float) -> str:
    """State what an attacker may believe after the release, given the attacker's belief before (`prior`)."""
    noun = protected_noun(game.guarantee, game.rows)
    if prior == 0.5:
        statement = "is in the table" if game.question == MEMBERSHIP else "in the table has value A, not B"
        start = f"An attacker who was 50 % sure that a {noun} {statement}"
    else:
        statement = "is in the table" if game.question == MEMBERSHIP else "in the table has value A rather than B"
        start = f"An attacker who was {percent_up(prior)} sure that a {noun} {statement}"
    if game.guarantee.kind == "none":
        return f"{start} may become certain, one way or the other."
    bounds = belief_bounds(game, prior)
    if bounds is None:
        return (
            f"{start} may come to believe anything: δ = {small(game.grouped.delta)} is too large "
            f"for bounds that hold in all but 1 of {1 / FAILURE:,.0f} releases."
        )
    most, least = percent_up(bounds[1]), percent_down(bounds[0])
    text = (
        f"{start} can become **{'' if most.startswith('practically') else 'at most '}{most} sure**, and "
        f"{'may fall to' if least.startswith('practically') else 'stays at least'} {least} sure."
        " The box below states when these bounds do not hold."
    )
    if game.guarantee.kind == "approximate":
        text += (
            " Not after every release: because of δ, each of the two bounds may fail in up to 1 of "
            f"{1 / FAILURE:,.0f} releases."
        )
    return text


def belief_bounds(game: DistinguishingGame, prior: float) -> tuple[float, float] | None:
    """Return the bounds of `DistinguishingGame.posterior`, or None if δ is too large for a bound."""
    if game.guarantee.kind != "none" and game.grouped.delta >= FAILURE:
        return None
    low, high = game.posterior(prior, failure=FAILURE)
    return float(low), float(high)


def frequency(game: DistinguishingGame, prior: float) -> str:
    """State how many of 100 guesses about rows or persons are right, with and without the release."""
    subject = f"Of 100 {protected_noun(game.guarantee, game.rows)}s"
    without, right = max(prior, 1 - prior), game.success(prior)
    chance = percent_up(prior)
    if game.question == MEMBERSHIP:
        chance_text = (
            "is as likely to be in the table as not" if prior == 0.5 else f"is in the table with a chance of {chance}"
        )
        start = f"{subject}, each {chance_text}."
        likelier = "“in the table”" if prior > 0.5 else "“not in the table”"
    else:
        chance_text = "as likely value A as B" if prior == 0.5 else f"value A with a chance of {chance}, else B"
        start = f"{subject} in the table, each has {chance_text}."
        likelier = "A" if prior > 0.5 else "B"
    guess = "tossing a coin" if prior == 0.5 else f"always guessing {likelier}"
    without_text = f"{start} By {guess}, an attacker guesses about {of_100(without)} of them right"
    if game.guarantee.kind == "none":
        return f"{without_text}; with the release, perhaps **all 100**."
    if right <= without + 1e-12:
        return f"{without_text}. With the release it is **no more than that**: the best guess stays the same."
    most = of_100(right)
    return f"{without_text}; with the release, **{'at most ' if most[0].isdigit() else ''}{most}** on average."


def errors(game: DistinguishingGame) -> str:
    """Describe one point of the trade-off curve: the most true alarms at a false alarm rate of `ALARMS`."""
    alarms, noun = f"{100 * ALARMS:g}", protected_noun(game.guarantee, game.rows)
    if game.question == MEMBERSHIP:
        wrong = f"an attacker who accepts {alarms} false alarms among 100 {noun}s that are not in the table"
        right = "that are"
    else:
        wrong = f"an attacker who says A of {alarms} of 100 {noun}s that have B"
        right = "that have A"
    missed = math.floor(1000 * float(game.misses(ALARMS)) + 1e-7) / 10
    if missed < 0.1:
        return f"With this release, {wrong} may miss next to none of those {right}."
    caught = math.ceil(1000 * float(game.hits(ALARMS)) - 1e-7) / 10
    return (
        f"With this release, {wrong} finds **at most {caught:g} of 100** {right}, and misses at least {missed:g}. "
        f"Guessing finds {alarms}."
    )


def not_covered(guarantee: Guarantee) -> str:
    """State what ε does not protect. The text is empty if the guarantee has no bound."""
    noun = unit_noun(guarantee.unit)
    if guarantee.kind == "none":
        return ""
    return (
        "**What ε does not hide: what holds for a whole group.** If a forest shows that smokers often have cancer, "
        "readers will think so of every smoker, in the table or not. Most likely they would think the same if any "
        f"one {noun} had been left out. ε limits what a release reveals *because of* one {noun}, not what it "
        "teaches about all."
    )


def conditions(guarantee: Guarantee, rows: int = 1) -> str:
    """State the assumptions of the sentences. The text is empty if the guarantee has no bound."""
    if guarantee.kind == "none":
        return ""
    larger = ", at a larger δ" if guarantee.delta else ""
    scope = (
        f"**This holds for {plain(unit_words(guarantee.unit), 80)}.**"
        if guarantee.unit is not None
        else f"**This holds for one row.** A person with three rows has three times the ε{larger}."
        if rows == 1
        else f"**All this is for a person with {rows:,} rows**, who has {rows:,} times the ε of one row{larger}."
    )
    noun = protected_noun(guarantee, rows)
    return (
        f"{scope} The attacker may know every other row and own any computer. The bounds on belief may fail for an "
        f"attacker who does not know the other {noun}s, but expects some of them to be like this {noun}, as with "
        f"twins. Then the release tells about those {noun}s, and through them about this one."
    )


def odds_factor(game: DistinguishingGame) -> tuple[str, str]:
    """Return the factor by which odds may change, and its formula.

    >>> odds_factor(DistinguishingGame(Guarantee(1.0)))
    ('× 2.72', 'e^1')
    >>> odds_factor(DistinguishingGame(Guarantee(0.5), VALUE, rows=3))
    ('× 20.09', 'e^3, as 6 × ε = 3')
    """
    if game.guarantee.kind == "none":
        return "no limit", "no bound on the odds is proved"
    k, epsilon = game.steps, game.grouped.epsilon
    power = f"e^{epsilon_text(epsilon)}"
    return f"× {factor_up(epsilon)}", power if k == 1 else f"{power}, as {k} × ε = {epsilon_text(epsilon)}"


def at_least(share: float) -> str:
    """Write a lower bound in a few words.

    >>> at_least(0.26894), at_least(1e-9)
    ('at least 26.8 %', 'or down to practically 0 %')
    """
    text = percent_down(share)
    return f"or down to {text}" if text.startswith("practically") else f"at least {text}"


def small(probability: float) -> str:
    """Write a probability, as a power of ten if it is below 0.01.

    >>> small(1e-6), small(0.00025), small(0.05)
    ('10⁻⁶', '2.5 × 10⁻⁴', '0.05')
    """
    if probability >= 0.01:
        return f"{probability:.3g}"
    power = math.floor(math.log10(probability) + 1e-12)
    digits = f"{probability / 10.0**power:.2g}"
    return f"10{raised(power)}" if digits == "1" else f"{digits} × 10{raised(power)}"
