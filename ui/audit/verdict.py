"""Parts of the Audit page: the verdict, two charts, and two small tables that differ in one row.

A rule is a mechanism that releases a leaf. The lead of a leaf is how many more rows its most frequent class has than
the next class.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.audit import leaf_attack, leaf_curves
from dpforest.audit.leaf_attack import LeafPair
from dpforest.audit.leaf_curves import LeafCurves, Verdict
from dpforest.plotting.audit import chance, flip_curves, loss_curves, raised, size
from dpforest.privacy.laws import NOISY_COUNTS
from dpforest.privacy.ledger import rows_changed
from ui.audit.audit_controls import MOST_TELLING, Audit
from ui.audit.rule_words import NAMES, one_row, output_name, times
from ui.shared import cache
from ui.shared.page import drawn, titled
from ui.shared.wording import share_text

_MOST_SEPARATE = 4  # with more classes than this, classes with equal numbers share a line


@cache.for_everybody(data=True, max_entries=64)
def curves_of(epsilon: float, n_classes: int, neighbors: str) -> LeafCurves:
    """Return the flip rates and losses of all rules by lead."""
    return leaf_curves.leaf_curves(epsilon, n_classes, neighbors)


@cache.for_everybody(data=True, max_entries=256)
def verdict_of(audit: Audit) -> Verdict:
    """Return the loss that the audited rule claims, and its true loss."""
    return leaf_curves.verdict(audit.mechanism, audit.epsilon, audit.n_classes, audit.neighbors)


@cache.for_everybody(data=True, max_entries=256)
def pair_of(audit: Audit, pair_name: str) -> LeafPair:
    """Return the pair of tables that the page shows and attacks."""
    find = leaf_attack.distinguishing_pair if pair_name == MOST_TELLING else leaf_attack.first_pair
    return find(audit.mechanism, audit.epsilon, audit.n_classes, audit.neighbors)


def headline(audit: Audit, result: Verdict) -> None:
    """Draw four boxes: the claimed loss, the true loss, δ, and the verdict."""
    eps = audit.epsilon
    question = "whether a row is there" if rows_changed(audit.neighbors) == 1 else "which of two values a row has"
    allowed = f"whoever is unsure (50 %) {question} can become {sure(eps)}"
    if math.isinf(result.loss):
        true_loss = (":red[∞]", "no limit: one row may change the odds by any factor")
    else:
        value = size(result.loss)
        true_loss = (value if result.holds else f":red[{value}]", f"from 50 % one can become {sure(result.loss)}")
    if result.holds:
        exceptions = ("δ = 0", "the promise holds for every output, without exception")
    elif result.delta > 0.999:
        exceptions = (
            "δ > 0.999",
            "for some pair of tables, the promise could hold only if nearly every release (δ) were left out",
        )
    else:
        share = at_least(100 * result.delta)
        exceptions = (
            f"δ ≥ {at_least(result.delta)}",
            f"for some pair of tables, the promise could hold only if at least {share} % of releases (δ) were left out",
        )
    verdict = (
        ("Kept", "this rule keeps what it promises")
        if result.holds
        else (":red[Broken]", "this does not have the privacy it claims")
    )
    with st.container(key="headline"):
        boxes = (
            ("Claimed", f"ε = {eps:g}", allowed),
            ("True loss", *true_loss),
            ("How badly", *exceptions),
            ("The promise", *verdict),
        )
        for column, (label, value, note) in zip(st.columns(4), boxes, strict=True):
            with column, st.container(border=True, height="stretch"):
                st.caption(label)
                st.markdown(f"### {value}", anchors=False)
                st.caption(note)


def flips(audit: Audit, curves: LeafCurves) -> None:
    """Draw the flip rate of all rules by lead, and the least flip rate that ε allows."""
    titled(
        "How often a label flips",
        "From a formula",
        help="A label flips when the leaf publishes another class than its most frequent one. The lead is the "
        "number of rows by which the most frequent class is ahead of all others. All other classes are empty here.",
    )
    drawn(
        flip_curves(curves, audit.mechanism, NAMES),
        f"Flip rates of {len(curves.flip)} rules by lead. From a lead of {curves.crossing:,} on the published rule "
        f"flips less than the floor that every rule with ε = {audit.epsilon:g} obeys.",
        title="How often a label flips",
        public=True,
        key="flips",
    )
    k = audit.n_classes
    step = "that is taken away" if rows_changed(audit.neighbors) == 1 else "that is exchanged for one of another leaf"
    st.caption(
        "**The least flip rate, in words:** take a leaf whose rows all have the same class, and a rule that treats "
        f"all classes alike. Without these rows the leaf can only guess, so in {chance((k - 1) / k)} of releases it "
        f"publishes a class other than theirs. Each row {step} may change that by a factor of eᵋ at most, and a leaf "
        "with a lead of j rows is j such steps away from an empty one. Such a rule keeps ε only if it flips in at "
        f"least e⁻ʲᵋ · {k - 1}/{k} of releases. A curve in the gray area breaks the promise."
    )


def losses(audit: Audit, curves: LeafCurves, result: Verdict) -> None:
    """Draw the loss of all rules by lead."""
    titled(
        "What one row costs",
        "From a formula",
        help=f"The privacy loss is the logarithm of the factor by which {one_row(audit.neighbors)} can change how "
        "likely an output is. A loss of 1 is a factor of e = 2.72, a loss of 2 is 7.39. The promise is that it "
        "never exceeds ε.",
    )
    first = curves.first_over[audit.mechanism]
    over = f"exceeds it from a lead of {first:,} on" if first is not None else "never exceeds it"
    drawn(
        loss_curves(curves, audit.mechanism, NAMES, result.loss),
        f"Privacy loss of {len(curves.loss)} rules by lead. {NAMES[audit.mechanism]} {over}, "
        f"ε = {audit.epsilon:g} being promised.",
        title="What one row costs",
        public=True,
        key="losses",
    )
    st.caption(
        "**How to read it:** the loss is the logarithm of a factor. 0 means that a row changes nothing, 1 that it "
        "makes some output e = 2.72 times as likely."
        + (
            ""
            if audit.n_classes == 2
            else " Here two classes are close and all others are far behind, which is the "
            "worst case. In the other figure, all others are empty."
        )
    )


def pair_title(audit: Audit) -> None:
    """Draw the title above the two small tables."""
    titled(
        "Two tables that break the promise" if audit.published else "Two tables that come close to what is allowed",
        "From a formula",
        help="Tables of a single leaf, made up. Everything else in the forest is the same.",
    )


def pair_tables(audit: Audit, pair: LeafPair) -> None:
    """Draw the two small tables, and the difference between their outputs."""
    one_more = rows_changed(audit.neighbors) == 1
    left, right = st.columns(2)
    for column, name, counts, log_p in (
        (left, "Table A", pair.change.before, pair.change.log_before),
        (right, f"Table B: {one_row(audit.neighbors)}", pair.change.after, pair.change.log_after),
    ):
        with column:
            st.markdown(f"**{name}**")
            st.table(
                table_of(pair, counts, log_p),
                hide_index=True,
                border="horizontal",
                alt=f"{name}: rows of each class and the chance of each output.",
            )
    st.markdown(output_sentence(pair))
    if not one_more and len(pair.change.before) == 2:
        st.caption("The exchanged row leaves leaf 2 and enters leaf 1; each leaf publishes its own label.")


def output_sentence(pair: LeafPair) -> str:
    """State the output whose probabilities in the two tables differ most, and these two probabilities."""
    p = float(np.exp(sum(pair.change.log_before[i, o] for i, o in enumerate(pair.change.outputs))))
    q = float(np.exp(sum(pair.change.log_after[i, o] for i, o in enumerate(pair.change.outputs))))
    eps, loss = pair.epsilon, pair.loss
    more, less = ("A", "B") if p > q else ("B", "A")
    a, b = (
        f"{chance(probability)}{_product(pair, log_p)}"
        for probability, log_p in ((p, pair.change.log_before), (q, pair.change.log_after))
    )
    text = (
        f"They differ most in {output_name(pair, pair.change.outputs)}: {a} with table A, {b} with table B. It is "
        f"**{times(loss)}** as likely with {more} as with {less}; ε = {eps:g} allows {times(eps)}"
    )
    if loss > eps * (1 + 1e-9):
        return f"{text}. That is **{times(loss - eps)}** what is allowed: the promise is broken."
    if loss > eps * (1 - 1e-9):
        return f"{text}: exactly what is allowed."
    return f"{text}. No pair of tables exceeds what ε allows."


def _product(pair: LeafPair, log_p: np.ndarray) -> str:
    """Return the product of probabilities that gives the probability of several outputs; empty for a single output."""
    parts = [chance(float(np.exp(log_p[i, o]))) for i, o in enumerate(pair.change.outputs)]
    return f" ({' × '.join(parts)})" if len(parts) > 1 else ""


def table_of(pair: LeafPair, counts: np.ndarray, log_p: np.ndarray) -> pd.DataFrame:
    """Return a table of row counts by class and of probabilities by output. The output of `output_sentence` is bold."""
    outputs = pair.change.outputs
    lines = []
    for leaf, row in enumerate(counts):
        first = {"leaf": f"{leaf + 1}"} if len(counts) > 1 else {}
        for c, end in _class_ranges(pair, leaf, len(row)):
            line = {
                **first,
                "class": f"{c + 1}" if end == c + 1 else f"{c + 1} to {end}, each",
                "rows": f"{row[c]:,}",
            }
            if pair.mechanism == NOISY_COUNTS:
                if (leaf, c) in pair.cells:
                    i = pair.cells.index((leaf, c))
                    noisy = "1 or more" if outputs[i] else "0 or less"
                    line["chance of the noisy count"] = f"**{noisy}: {chance(float(np.exp(log_p[i, outputs[i]])))}**"
                else:
                    line["chance of the noisy count"] = "the same in both"
            else:
                chance_text = chance(float(np.exp(log_p[leaf, c])))
                line["chance of this label"] = f"**{chance_text}**" if outputs[leaf] == c else chance_text
            lines.append(line)
    return pd.DataFrame(lines)


def _class_ranges(pair: LeafPair, leaf: int, n_classes: int) -> list[tuple[int, int]]:
    """Return (first class, last class + 1) of each line. With many classes, equal adjacent classes share a line."""
    change, is_counts = pair.change, pair.mechanism == NOISY_COUNTS
    log_probabilities = [] if is_counts else [change.log_before, change.log_after]

    def are_equal(a: int, b: int) -> bool:
        if n_classes <= _MOST_SEPARATE or (not is_counts and change.outputs[leaf] in (a, b)):
            return False
        return all(
            np.isclose(table[leaf, a], table[leaf, b], rtol=1e-9)
            for table in (change.before, change.after, *log_probabilities)
        )

    starts = [c for c in range(n_classes) if c == 0 or not are_equal(c - 1, c)]
    return list(zip(starts, [*starts[1:], n_classes], strict=True))


def at_least(value: float) -> str:
    """Return a lower bound rounded down to at most three significant digits.

    >>> at_least(0.1384), at_least(0.00101), at_least(13.84)
    ('0.138', '0.00101', '13.8')
    """
    scale = 10.0 ** (2 - math.floor(math.log10(value)))
    return f"{math.floor(value * scale + 1e-9) / scale:.3g}"


def sure(epsilon: float) -> str:
    """State how sure an attacker can become if the attacker was 50 % sure before the release.

    >>> sure(1.0), sure(0.01), sure(49.3)
    ('at most 73.2 % sure', 'at most 50.3 % sure', 'practically certain (1 wrong in 10²¹)')
    """
    if epsilon > 11.5:  # above this ε, the belief can exceed 99.999 %
        return f"practically certain (1 wrong in 10{raised(round(epsilon / math.log(10)))})"
    return f"at most {share_text(epsilon)} sure"
