"""The Budget tab: the ledger as a chart and a table, and the certificate as text."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import streamlit as st

from dpforest import plotting
from dpforest.book.releasing import CHOSEN_BY_LOOKING
from dpforest.plotting.budget import share_of
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger, LedgerEntry, unit_noun
from dpforest.privacy.loss import PURE, PrivacyLoss
from dpforest.privacy.rationals import text_up
from ui.releasing import session_ledger
from ui.releasing.release import certificate_text, released_here
from ui.shared import figures
from ui.shared.glossary import tip
from ui.shared.loss_words import at_delta, caution_on_delta
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.tables import n_persons
from ui.shared.wording import epsilon_text, plain

COMPOSED = (
    "In sequence: each question is about the same rows, so the costs add up (sequential composition). In parallel: "
    "each question is about other rows, so a row pays once (parallel composition)."
)
NOT_LISTED = (
    "The ledger lists the questions that are answered with noise and paid for. It does not list the following, and ε "
    "does not cover them: reading the file; bounds and categories that were taken from the rows; the exact number of "
    "rows on this page; everything else on this screen (held-out accuracies, trees, leaves); forests as published or "
    "without privacy; and other releases. The certificate states the conditions under which a release keeps its ε."
)


def show(choice: Choice, certificate: Certificate, ledger: Ledger) -> None:
    """Draw the ledger and the certificate that a release would have, and the releases of this session."""
    if ledger.budget is not None:
        is_pure = ledger.kind == PURE
        titled(
            "Where ε goes" if is_pure else "Where the budget goes",
            "Simulated",
            help="The width of a block is its cost. Blocks next to each other are **in sequence**: each asks the same "
            "rows again, so costs add up. Stacked blocks are **in parallel**: each asks other rows, so a row pays for "
            "only one of them.",
        )
        line = f"on the line from 0 to {'ε' if is_pure else 'all of μ²'}"
        chart(
            plotting.budget_picture(ledger),
            f"The charges of the ledger as blocks {line}.",
            title="Where the budget goes",
        )
        if not is_pure:
            st.markdown(in_mu_squared(ledger.budget, certificate.delta))
        st.markdown("\n".join(f"- {_sentence(entry, ledger.budget, ledger.unit)}" for entry in ledger.entries))
        if any(entry.part for entry in ledger.entries):
            noun = unit_noun(ledger.unit)
            st.caption(
                f"An independent draw puts each {noun} into one of two parts: one part grows the trees, and the other "
                "decides their leaves. So the parts are in parallel: together they cost as much as the dearer part."
            )
        figures.table(
            ledger_table(ledger),
            "The ledger",
            hide_index=True,
            alt="The ledger: what a release asks of the rows, and its cost.",
            column_config={
                "sensitivity": st.column_config.TextColumn(help=tip("sensitivity")),
                "composition": st.column_config.TextColumn(help=COMPOSED),
            },
        )
        st.caption(used_up(ledger, certificate.delta))
        st.caption(NOT_LISTED)
    else:
        st.info(
            "This forest has no privacy budget, because it has no privacy guarantee.",
            icon=":material/receipt_long:",
        )
    for releases in session_ledger.groups().values():
        st.caption(session_ledger.sentence(releases))
    if choice.settings.certified:
        titled("The certificate that a release would carry", "Simulated")
    else:
        titled("What the certificate of this forest says", "Not certified")
    if caution := caution_on_delta(certificate.delta, n_persons(choice.table), choice.table.domain.unit):
        st.warning(caution, icon=":material/warning:")
    st.code(
        certificate_text(certificate, None if choice.table.is_public else CHOSEN_BY_LOOKING),
        language=None,
        wrap_lines=True,
    )
    released_here()


def in_mu_squared(budget: PrivacyLoss, delta: float) -> str:
    """Explain why the picture of a Gaussian budget shows shares of μ², and state the whole budget.

    μ is the parameter of Gaussian differential privacy.
    """
    return (
        "The costs of Gaussian noise add up in μ², not in ε, so the picture shows shares of μ². The whole budget is "
        f"μ² = {epsilon_text(budget.amount)}, which is ε = {epsilon_text(budget.epsilon(delta))}{at_delta(delta)}."
    )


def used_up(ledger: Ledger, delta: float = 0.0) -> str:
    """State how much of its budget a release would spend."""
    if ledger.budget is None or ledger.kind == PURE:
        used = f"ε = {ledger.spent} of {ledger.epsilon}"
    else:
        at = f"ε = {epsilon_text(ledger.loss.epsilon(delta))}{at_delta(delta)}"
        used = f"{share_of(ledger.loss, ledger.budget)} of μ², which is {at}"
    return (
        f"A release would use up {used}, added up in exact fractions, and never more. The single costs are rounded up."
    )


def _sentence(entry: LedgerEntry, budget: PrivacyLoss, unit: str | None) -> str:
    """State in markdown how many answers an entry of the ledger pays for, and what they cost."""
    if budget.kind == PURE:
        each, total = f"ε = {epsilon_text(entry.epsilon_each)}", f"ε = {epsilon_text(entry.epsilon)}"
        counts = "twice"
    else:
        assert entry.each is not None and entry.loss is not None  # a Gaussian loss has a price for each question
        each, total = f"μ² = {epsilon_text(entry.each.amount)}", f"{share_of(entry.loss, budget)} of μ²"
        counts = "twice in μ, which is four times in μ²"
    twice = f" An exchanged {unit_noun(unit)} counts {counts}: once removed, once added." if entry.rows == 2 else ""
    if entry.composition == "sequential":
        answers = "asked **once**, which costs" if budget.kind == PURE else f"asked **once** at {each}, which costs"
        if entry.times > 1:
            answers = f"**{entry.times:,} answers in sequence** on the same rows, each at {each}, together cost"
        return f"{_capitalized(entry.what)}: {answers} **{total}**.{twice}"
    once = (
        "every row counts in only one answer"
        if unit is None
        else "all rows of a person together count as at most one row"
    )
    return (
        f"{_capitalized(entry.what)}: **{entry.times:,} answers in parallel**, each at {each}. {_capitalized(once)}, "
        f"so all cost **{total}**, not {entry.times:,} times as much.{twice}"
    )


def _fraction(value: Fraction) -> str:
    """Write a fraction as it is if its denominator is at most 1,000. Write any other fraction as a decimal, rounded up.

    >>> _fraction(Fraction(1, 2)), _fraction(Fraction(5303300859, 1250000000))
    ('1/2', '4.2427')
    """
    return str(value) if value.denominator <= 1_000 else text_up(value, 5)


def _capitalized(text: str) -> str:
    """Return a text as markdown, with a capital as its first letter."""
    return plain(text[:1].upper() + text[1:], 120)


def ledger_table(ledger: Ledger) -> pd.DataFrame:
    """Return a row for each kind of question that a release asks of the rows. Costs in μ² are rounded up."""
    unit, amount = ("ε", str) if ledger.kind == PURE else ("μ²", epsilon_text)
    return pd.DataFrame(
        [
            {
                "what": entry.what + (f" ({entry.part})" if entry.part else ""),
                "mechanism": entry.mechanism,
                "sensitivity": _fraction(entry.sensitivity),
                f"{unit} each": "none" if entry.each is None else amount(entry.each.amount),
                "how many": entry.times,
                "composition": {"parallel": "in parallel", "sequential": "in sequence"}[entry.composition],
                f"{unit} together": "none" if entry.loss is None else amount(entry.loss.amount),
            }
            for entry in ledger.entries
        ]
    )
