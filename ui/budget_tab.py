"""Where the budget goes: the ledger as a picture and a table, the certificate as text."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpforest import plotting
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from ui.page import chart, titled
from ui.release import LOOKED, certificate_text, released_here
from ui.sidebar import Choice
from ui.wording import epsilon_text


def show(choice: Choice, certificate: Certificate, ledger: Ledger) -> None:
    """The Budget tab."""
    if ledger.epsilon is not None:
        titled(
            "Where ε goes",
            "Simulated",
            help="Width is cost. Blocks side by side add up, because each asks the same rows again. Blocks on top of "
            "each other do not, because each row is asked by one of them only.",
        )
        chart(plotting.budget_picture(ledger), "The charges of the ledger as blocks on the line from 0 to ε.")
        st.markdown(" ".join(_sentence(entry) for entry in ledger.entries))
        st.dataframe(ledger_table(ledger), hide_index=True, alt="The ledger: every access to the data and its cost.")
        st.caption(f"Spent {ledger.spent} of {ledger.epsilon}, as exact fractions. A release never spends more.")
    else:
        st.info(
            "No budget is drawn on: what has no guarantee cannot be paid for with ε.", icon=":material/receipt_long:"
        )
    titled("The certificate a release would carry", "Simulated")
    st.code(certificate_text(certificate, None if choice.table.is_public else LOOKED), language=None, wrap_lines=True)
    released_here()


def _sentence(entry) -> str:
    each, total = epsilon_text(entry.epsilon_each), epsilon_text(entry.epsilon)
    twice = " An exchanged row counts twice: once as it leaves, once as it comes." if entry.rows == 2 else ""
    if entry.composition == "sequential":
        return (
            f"**{entry.times:,} times ε = {each}**, one after the other on the same rows, makes **ε = {total}**.{twice}"
        )
    return (
        f"**{entry.times:,} answers side by side**, each at ε = {each}: every row is in one of them only, so together "
        f"they cost **ε = {total}** and not {entry.times:,} times as much.{twice}"
    )


def ledger_table(ledger: Ledger) -> pd.DataFrame:
    """One row for each access."""
    return pd.DataFrame(
        [
            {
                "what": entry.what,
                "mechanism": entry.mechanism,
                "sensitivity": str(entry.sensitivity),
                "ε each": "none" if entry.epsilon_each is None else str(entry.epsilon_each),
                "how many": entry.times,
                "composed": {"parallel": "side by side", "sequential": "one after the other"}[entry.composition],
                "ε together": "none" if entry.epsilon is None else str(entry.epsilon),
            }
            for entry in ledger.entries
        ]
    )
