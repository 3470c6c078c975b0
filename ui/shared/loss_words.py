"""Words about the privacy loss of releases, and about the guarantee that a release would have."""

from __future__ import annotations

import re
from typing import Final

from dpforest.plotting.audit import raised
from dpforest.privacy.certificate import Certificate, large_delta_caution
from dpforest.privacy.ledger import Ledger, unit_noun
from dpforest.privacy.tradeoff_curve import steps_of
from dpforest.risk.guarantee import MEMBERSHIP, Guarantee, guarantee_of
from dpforest.risk.tradeoff import DistinguishingGame
from ui.shared.wording import of_100, share_text, sum_text, unbroken, value_epsilon

_POWER: Final = re.compile(r"^1e-(\d+)$")


def caution_on_delta(delta: float, n_rows: int, unit: str | None = None) -> str:
    """Return the certificate's caution about a δ of at least 1/`n_rows`, as markdown; empty for a smaller δ."""
    return unbroken(large_delta_caution(delta, n_rows, unit))


def at_delta(delta: float) -> str:
    """Return words that state δ, for a sentence in which they follow ε; empty if δ is 0.

    >>> at_delta(0), at_delta(1e-6), at_delta(0.001)
    ('', ' at δ = 10⁻⁶', ' at δ = 0.001')
    """
    return f" at δ = {_POWER.sub(lambda match: f'10{raised(-int(match[1]))}', sum_text(delta))}" if delta else ""


def would_promise(certificate: Certificate, ledger: Ledger) -> Guarantee:
    """Return the guarantee that a release would have with a public schema. It follows from the noise in the ledger."""
    if certificate.certified or not ledger.has_budget:
        return guarantee_of(certificate)
    steps, unit = steps_of(ledger), ledger.unit
    return Guarantee.of_loss(ledger.loss, ledger.neighbors, delta=certificate.delta, steps=steps, unit=unit)


def guess_words(promise: Guarantee) -> str:
    """Return in words how many of 100 guesses can be right if both answers are equally likely.

    >>> from fractions import Fraction
    >>> guess_words(Guarantee(Fraction(1), 0.0, "replace-one"))
    'of 100 guesses between two values of a row in the table, at most 73.2 are right'
    >>> guess_words(Guarantee(Fraction(1), steps=((Fraction(1, 100), 100),)))
    'of 100 guesses whether a row is in the table, at most 52 are right; between two values of a row, at most 54'
    """
    shares, noun = [success_share(promise, question) for question in promise.questions], unit_noun(promise.unit)
    if MEMBERSHIP not in promise.questions:
        return f"of 100 guesses between two values of a {noun} in the table, at most {shares[0]} are right"
    return (
        f"of 100 guesses whether a {noun} is in the table, at most {shares[0]} are right; between two values of a "
        f"{noun}, at most {shares[1]}"
    )


def success_share(promise: Guarantee, question: str) -> str:
    """Return how many of 100 guesses can be right if both answers are equally likely, rounded up.

    >>> [success_share(Guarantee(epsilon), MEMBERSHIP) for epsilon in (1, 20)]
    ['73.2', 'practically all']
    """
    return of_100(DistinguishingGame(promise, question).success())


def belief_words(promise: Guarantee) -> str:
    """Return how sure somebody who is 50 % sure can become after a release, as a sentence without its period.

    The text is empty if δ > 0, because rare releases may then change a belief without limit.

    >>> from fractions import Fraction
    >>> belief_words(Guarantee(Fraction(1), 0.0, "replace-one"))
    'Somebody who is 50 % sure which of two values a row in the table has can become at most 73.2 % sure'
    """
    if promise.delta:
        return ""
    epsilon, noun = float(promise.epsilon), unit_noun(promise.unit)
    value = f"at most {share_text(value_epsilon(epsilon, promise.neighbors))}"
    if MEMBERSHIP not in promise.questions:
        return f"Somebody who is 50 % sure which of two values a {noun} in the table has can become {value} sure"
    return (
        f"Somebody who is 50 % sure whether a {noun} is in the table can become at most {share_text(epsilon)} sure; "
        f"between two values of a {noun}, {value}"
    )
