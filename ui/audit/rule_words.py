"""Texts of the Audit page: names of rules, numbers of any size, and the claims. This module does not use Streamlit.

A rule is a mechanism that releases the label or the counts of a leaf. The lead of a leaf is how many more rows its most
frequent class has than the next class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.audit.leaf_attack import LeafPair, LossEstimate, can_be_proved
from dpforest.audit.leaf_curves import LeafCurves, Verdict
from dpforest.plotting.audit import chance, distinct_text, raised, size
from dpforest.privacy.laws import NOISY_COUNTS, PUBLISHED
from dpforest.privacy.ledger import rows_changed
from dpforest.risk.rounding import factor_up


@dataclass(frozen=True)
class Rule:
    """The names of a rule, and the texts about it on the page."""

    mechanism: str
    short: str  # name in legends
    status: str  # whether the rule is certified, or where it was published
    brief: str  # words after the status, below the rule's name in the sidebar
    does: str  # predicate of a sentence whose subject is the rule


RULES = {
    "smooth sensitivity": Rule(
        "smooth-sensitivity",
        "smooth sensitivity",
        "as published in 2017",
        "noise that depends on the data",
        "draws the top label nearly always as soon as that class leads by a few rows",
    ),
    "smooth sensitivity, capped": Rule(
        "smooth-sensitivity-clamped",
        "smooth, capped",
        "as in the author's code",
        "the same noise, with a limit",
        "does the same, but never lets the other labels get rarer than about 1 in 10²¹",
    ),
    "permute-and-flip": Rule(
        "permute-and-flip",
        "permute-and-flip",
        "certified; the app's own choice",
        "tries the labels in random order",
        "goes through the labels in random order and takes each with a probability that falls with its distance from "
        "the top",
    ),
    "exponential": Rule(
        "exponential",
        "exponential",
        "certified",
        "each further row of a label multiplies its odds against any other label by the same factor",
        "draws a label; each further row of a label multiplies its odds against any other label by the same factor",
    ),
    "global 0/1": Rule(
        "global-01",
        "global 0/1",
        "certified",
        "looks only at which label is on top",
        "only looks at which label is on top, not by how much, and favors it a little",
    ),
    "noisy counts": Rule(
        NOISY_COUNTS,
        "noisy counts",
        "certified",
        "publishes all counts, with noise",
        "publishes every class count with random noise on it; the label is read from those",
    ),
}
_FEW = 100  # an event with fewer hits or fewer misses is reported as a count, not as a percentage
NAMES = {rule.mechanism: rule.short for rule in RULES.values()}


def times(log_ratio: float) -> str:
    """Return e^`log_ratio` as text, such as "2.72 times".

    >>> times(1.0), times(2.1313), times(0.01), times(110131.6)
    ('2.72 times', '8.43 times', '1.01005 times', '10⁴⁷⁸³⁰ times')
    """
    if log_ratio < 0.1:
        return f"{math.exp(log_ratio):.6g} times"
    if log_ratio < 13.8:
        value = math.exp(log_ratio)
        return f"{value:.3g} times" if value < 1000 else f"{value:,.0f} times"
    return f"10{raised(round(log_ratio / math.log(10)))} times"


def one_row(neighbors: str) -> str:
    """Describe in words how two neighboring tables differ."""
    return "one row more" if rows_changed(neighbors) == 1 else "one row exchanged"


def promise(epsilon: float, neighbors: str) -> str:
    """Return the meaning of ε as a sentence."""
    change = "adding or removing one row" if rows_changed(neighbors) == 1 else "exchanging one row"
    return (
        f"ε is a promise: {change} makes no output more than eᵋ times as likely. At ε = {epsilon:g} that is "
        f"at most {factor_up(epsilon)} times."
    )


def breaks(mechanism: str, curves: LeafCurves, neighbors: str) -> str:
    """State from which lead on a published rule's loss exceeds ε, and from which lead on its flip rate is too low.

    Return an empty text if the loss never exceeds ε.
    """
    first = curves.first_over[mechanism]
    if first is None:
        return ""
    where = f"from lead {first:,} to {first + 1:,}" if rows_changed(neighbors) == 1 else f"at a lead of {first:,}"
    row = "one row" if rows_changed(neighbors) == 1 else "one row exchanged"
    return (
        f" The promise already breaks {where}: there {row} changes the odds by more than eᵋ. From lead "
        f"{curves.crossing:,} on, the flip rate is below the floor, which alone shows the break."
    )


def story(mechanism: str, verdict: Verdict, curves: LeafCurves, neighbors: str) -> str:
    """Return a paragraph of markdown: the claim, the true loss, and what this project does instead."""
    eps = verdict.epsilon
    if mechanism in PUBLISHED:
        claimed = (
            "**Claimed:** in 2017 Fletcher and Islam published this rule with a proof that it keeps ε. An addendum of "
            "2021 withdrew the rule and suggested that the true cost “may be twice” ε."
        )
        why = (
            "The cause: the lead itself determines how little noise the rule adds, so the amount of noise reveals the "
            "lead."
        )
        if mechanism == "smooth-sensitivity":
            truth = (
                f"**What is true:** the loss has no limit, at any ε. {why} If the lead is large enough, one row "
                "changes the odds by more than any factor that you name. So no fixed multiple of ε bounds the "
                f"loss.{breaks(mechanism, curves, neighbors)}"
            )
        else:
            truth = (
                f"**What is true:** the author's code lets no label become more than e⁵⁰ times as likely as another, "
                f"which makes the loss finite but not ε: it is {size(verdict.loss)} where {eps:g} is "
                f"claimed. {why}{breaks(mechanism, curves, neighbors)}"
            )
        action = (
            "**What we did:** our certified forest draws its labels by permute-and-flip, which keeps ε exactly. With "
            "two classes and one row added or removed, no rule that keeps ε and treats classes alike flips less. The "
            "published rule is here for study and cannot be released."
        )
        return f"{claimed} {truth} {action}"
    half = "" if rows_changed(neighbors) == 1 else " An exchanged row is one removed and one added, so it runs at ε/2."
    checked = (
        "**What we did:** the proof is next to the formula in the code; the tests go through all small leaves and "
        "find no pair above ε; and a release draws in whole numbers from the operating system's entropy."
    )
    return {
        "permute-and-flip": (
            f"**Claimed:** McKenna and Sheldon (2020) proved that it keeps ε.{half} **True:** it does, and uses all of "
            "ε. With two classes and one row added or removed, its flip rate lies exactly on the floor, so "
            "nothing that "
            f"keeps ε can do better. {checked}"
        ),
        "exponential": (
            "**Claimed:** the addendum of 2021 prints this formula in the place of the withdrawn one (its words "
            f"describe permute-and-flip), and says that it keeps ε.{half} **True:** it does; its loss approaches ε "
            "when the lead grows, and never exceeds it. But it flips more labels than permute-and-flip, which costs "
            f"the same: up to twice as many. {checked}"
        ),
        "global-01": (
            "**Claimed:** Fletcher and Islam compared their rule with this one: the exponential mechanism with the "
            "largest possible sensitivity. **True:** it keeps ε and does not use all of it: the true loss is "
            f"{size(verdict.loss)} of {eps:g}. It does not look at the lead, so a leaf of a thousand rows flips as "
            f"often as a leaf of one. {checked}"
        ),
        NOISY_COUNTS: (
            f"**Claimed:** noise of scale 1/ε on every count keeps ε.{half} **True:** it does for exact noise, and "
            "uses all of ε; papers draw it in floating-point numbers, whose last digits can give a count "
            f"away. It publishes the counts themselves, and pays for that with more flips than permute-and-flip. "
            f"{checked}"
        ),
    }[mechanism]


def output_name(pair: LeafPair, outputs: tuple[int, ...]) -> str:
    """Return in words the outputs of all leaves (or of all noisy counts) of a pair."""
    if pair.mechanism == NOISY_COUNTS:
        words = [
            f"a noisy count of {'1 or more' if is_positive else '0 or less'} for class {c + 1}"
            for (_, c), is_positive in zip(pair.cells, outputs, strict=True)
        ]
        return " and ".join(words)
    if len(outputs) == 1:
        return f"the label “class {outputs[0] + 1}”"
    return " and ".join(f"“class {c + 1}” from leaf {i + 1}" for i, c in enumerate(outputs))


def event_name(pair: LeafPair, event: tuple[tuple[int, ...], ...]) -> str:
    """Return the event that the attacker counts, in words."""
    if len(event) == 1:
        return output_name(pair, event[0])
    n_outputs = pair.change.log_before.shape[1]
    if len(event[0]) == 1 and len(event) == n_outputs - 1:
        (other,) = set(range(n_outputs)) - {e[0] for e in event}
        return f"any label but “class {other + 1}”"
    if len(event) <= 3:
        return " or ".join(output_name(pair, e) for e in event)
    return f"one of {len(event)} outputs"


def proof_sentences(pair: LeafPair, look: LossEstimate) -> str:
    """Return sentences about the result of the attack: the event, how often it occurred, and the bound on the loss."""
    is_rare = min(*look.hits, *(look.trials - hits for hits in look.hits)) < _FEW
    a, b = (how_often(hits, look.trials) if is_rare else chance(hits / look.trials) for hits in look.hits)
    counted = (
        f"In {look.trials:,} releases of either table the attacker counted {event_name(pair, look.event)}: "
        f"{a} with table A, {b} with table B."
    )
    if look.bound > pair.epsilon:
        return (
            f"{counted} That **proves a loss of at least {distinct_text(look.bound, pair.epsilon)}**, where "
            f"ε = {pair.epsilon:g} is claimed."
        )
    if look.bound == 0:
        counted += " So small a difference could still be chance: nothing is proved."
    else:
        counted += f" That proves a loss of at least {distinct_text(look.bound, pair.epsilon)}."
    if pair.mechanism not in PUBLISHED:
        return counted if look.bound == 0 else f"{counted} It does not get above ε = {pair.epsilon:g}."
    if can_be_proved(pair):
        return f"{counted} So few releases do not show more than ε = {pair.epsilon:g} yet."
    return f"{counted} This pair is so close to the limit that even {look.trials:,} releases do not show it."


def how_often(hits: int, trials: int) -> str:
    """Return a number of hits in words, because a share such as "0 %" of few trials would read like a probability.

    >>> how_often(835, 1000), how_often(0, 1000), how_often(1000, 1000), how_often(1, 1000)
    ('835 times', 'never', 'every time', 'once')
    """
    if hits in (0, trials):
        return "every time" if hits else "never"
    return "once" if hits == 1 else f"{hits:,} times"
