"""Where the budget goes: the ledger as a picture and a table, the certificate as text."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpforest import plotting
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from ui.shared import session_ledger
from ui.shared.page import chart, titled
from ui.shared.release import LOOKED, certificate_text, released_here
from ui.shared.sidebar import Choice
from ui.shared.wording import epsilon_text, plain

COMPOSED = (
    "In sequence: the same rows are asked again, and costs add up (sequential composition). In parallel: each asks "
    "other rows, and a row pays once (parallel composition)."
)
NOT_LISTED = (
    "The ledger lists the questions that are answered with noise and paid for. Not in it, and not paid for: reading "
    "the file, bounds and categories where they were taken from the rows, counting the rows, everything on this "
    "screen (held-out accuracies, trees, leaves), forests as published or without privacy, and other releases. What "
    "of these a release rests on stands in the certificate."
)


def show(choice: Choice, certificate: Certificate, ledger: Ledger) -> None:
    """The Budget tab."""
    if ledger.epsilon is not None:
        titled(
            "Where ε goes",
            "Simulated",
            help="Width is cost. Blocks in a row: **in sequence**, each asks the same rows again, so costs add up. "
            "Blocks in a stack: **in parallel**, each asks other rows, so a row pays for one of them only.",
        )
        chart(plotting.budget_picture(ledger), "The charges of the ledger as blocks on the line from 0 to ε.")
        st.markdown("\n".join(f"- {_sentence(entry)}" for entry in ledger.entries))
        if any(entry.part for entry in ledger.entries):
            st.caption(
                "Each row either grows the trees or decides their leaves, drawn by itself. So the two parts are in "
                "parallel: a row meets one of them only, and the dearer part is what both cost."
            )
        meaning = "Most that one row changes what is asked (a count, the score of a question); noise is in proportion."
        st.dataframe(
            ledger_table(ledger), hide_index=True, alt="The ledger: what a release asks of the rows, and its cost.",
            column_config={
                "sensitivity": st.column_config.TextColumn(help=meaning),
                "composition": st.column_config.TextColumn(help=COMPOSED),
            },
        )  # fmt: skip
        st.caption(
            f"A release would use up ε = {ledger.spent} of {ledger.epsilon}, added up in exact fractions; never more."
        )
        st.caption(NOT_LISTED)
    else:
        st.info(
            "No budget is drawn on: what has no guarantee cannot be paid for with ε.", icon=":material/receipt_long:"
        )
    for own in session_ledger.groups().values():
        st.caption(session_ledger.sentence(own))
    if choice.settings.certified:
        titled("The certificate a release would carry", "Simulated")
    else:
        titled("What its certificate says", "Not certified")
    st.code(certificate_text(certificate, None if choice.table.is_public else LOOKED), language=None, wrap_lines=True)
    released_here()


def _sentence(entry) -> str:
    each, total = epsilon_text(entry.epsilon_each), epsilon_text(entry.epsilon)
    twice = " An exchanged row counts twice: once as it leaves, once as it comes." if entry.rows == 2 else ""
    if entry.composition == "sequential":
        return (
            f"{_first_up(entry.what)}: "
            + (
                f"**{entry.times:,} times ε = {each}**, in sequence on the same rows, adds up to "
                if entry.times > 1
                else f"**once ε = {each}**, makes "
            )
            + f"**ε = {total}**.{twice}"
        )
    return (
        f"{_first_up(entry.what)}: **{entry.times:,} answers in parallel**, each at ε = {each}: every row is in one "
        f"of them only, so together they cost **ε = {total}** and not {entry.times:,} times as much.{twice}"
    )


def _first_up(text: str) -> str:
    return plain(text[:1].upper() + text[1:], 120)


def ledger_table(ledger: Ledger) -> pd.DataFrame:
    """One row for each kind of question that a release asks."""
    return pd.DataFrame(
        [
            {
                "what": entry.what + (f" ({entry.part})" if entry.part else ""),
                "mechanism": entry.mechanism,
                "sensitivity": str(entry.sensitivity),
                "ε each": "none" if entry.epsilon_each is None else str(entry.epsilon_each),
                "how many": entry.times,
                "composition": {"parallel": "in parallel", "sequential": "in sequence"}[entry.composition],
                "ε together": "none" if entry.epsilon is None else str(entry.epsilon),
            }
            for entry in ledger.entries
        ]
    )
