"""The guarantee of the chosen forest, and the report that a user hands to a privacy board."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

import numpy as np
import streamlit as st

from dpforest import __version__
from dpforest.plotting.board_report import BoardReport, RatesByGroup, render
from dpforest.plotting.compare import MeasureScale
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.risk.guarantee import Guarantee, guarantee_of
from ui import state
from ui.choose.answer_words import GUESSING
from ui.choose.answers import Answers
from ui.forest.forests import ForestSettings
from ui.jobs.baselines import Baselines
from ui.jobs.group_columns import GroupRates, choose_column
from ui.jobs.results import SweepResult, ceiling_of, headroom_of
from ui.jobs.sweep_job import promise as promise_of
from ui.shared import tables
from ui.shared.controls import LINKED
from ui.shared.loss_words import would_promise
from ui.shared.page import badge
from ui.shared.tables import Table
from ui.shared.wording import plain


def promise(table: Table, settings: ForestSettings) -> tuple[Certificate, Ledger]:
    """Return the certificate and the ledger of a release with these settings."""
    return promise_of(tables.fingerprint(table.domain), settings, tables.planned_rows(table, settings), table.domain)


def guarantee(certificate: Certificate, ledger: Ledger, leaks: bool) -> Guarantee:
    """Return the guarantee of a release.

    If there is no guarantee only because the schema was read from the rows, a switch lets the user see the guarantee
    that a release would have with a public schema.
    """
    if certificate.certified or not leaks or not ledger.has_budget:
        return guarantee_of(certificate)
    if st.toggle(
        "Show what would be promised if the schema were public",
        key=state.IF_PUBLIC,
        bind=LINKED,
        help="It is not promised now: bounds and categories that were read from the rows can give single rows away.",
    ):
        badge("Not certified")
        st.markdown("**Not promised now. If the schema of this table were public, this is what would hold:**")
        return would_promise(certificate, ledger)
    return guarantee_of(certificate)


def about_claims(certificate: Certificate) -> None:
    """Show why a published mechanism does not have the privacy that it claims."""
    with st.container(border=True):
        badge("Not certified")
        st.markdown(plain(certificate.reasons[0], 600))


def report(
    table: Table,
    settings: ForestSettings,
    certificate: Certificate,
    answers: Answers,
    scale: MeasureScale,
    baselines: Baselines,
    column: str = "",
) -> str:
    """Return the report for a privacy board, as HTML. If `column` is given, the report has the rates of its groups."""
    name, result, wish = settings.name, answers.result, answers.wish
    cells = result.cells.loc[name].reset_index()
    ceiling = ceiling_of(result, [baselines], wish.column)
    private = cells[np.isfinite(cells["epsilon"])].sort_values("epsilon")
    values = private[wish.column]
    parameters = settings.parameters()
    return render(
        BoardReport(
            title=table.short_title,
            rows=len(table.frame),
            persons=tables.n_persons(table) if table.domain.unit else None,
            attributes=table.domain.n_features,
            label=table.label,
            forest=settings.name,
            settings=tuple((name.replace("_", " "), _value_text(value)) for name, value in parameters.items()),
            date=f"{datetime.date.today():%-d %B %Y}",
            certificate=certificate,
            measure=scale,
            by_guessing=GUESSING[wish.measure],
            needed=answers.needed,
            share=wish.share,
            smallest=tuple(
                (a.forest if a.is_sure or a.epsilon is None else f"{a.forest} (estimate)", a.epsilon, a.value)
                for a in answers.sorted()
            ),
            curve=tuple(zip(private["epsilon"], values["mean"], values["low"], values["high"], strict=True)),
            ceiling=None if ceiling is None else ceiling.value,
            ceiling_name="" if ceiling is None else ceiling.words,
            headroom=headroom_of(result, [baselines], wish.column)[name],
            repeats=int(result.pieces.loc[result.pieces["forest"] == name, "repeat"].nunique()),
            splits=result.folds,
            band="8 in 10 simulated releases",
            prior=wish.prior,
            rows_per_person=1 if table.domain.unit else wish.rows_per_person,
            margin=wish.margin,
            groups=_rates_by_group(table, column, result, settings) if column else None,
            declared_public=table.is_public,
            versions=(
                ("dpforest", __version__),
                *((name, version(name)) for name in ("numpy", "numba", "scikit-learn")),
            ),
        )
    )


def _rates_by_group(table: Table, column: str, result: SweepResult, settings: ForestSettings) -> RatesByGroup:
    """Return the rates by group at the simulated ε that is nearest to the ε of the settings."""
    nearest = float(min(result.epsilons, key=lambda epsilon: abs(math.log(epsilon / settings.epsilon))))
    rates = GroupRates.of(table, settings, column).table(result.right(nearest, settings.name))
    return RatesByGroup(column, nearest, rates.to_dict("records"))


class ReportButton:
    """The description of the report, its options, and a download button that is drawn again with new figures.

    Parameters
    ----------
    table : Table
        The current table.
    make : callable
        Takes the table and the column whose groups the report shows ("" for none), and returns the report.
    """

    def __init__(self, table: Table, make: Callable[[Table, str], str]) -> None:
        self._table, self._make, self._n_drawn, self._column = table, make, 0, ""
        st.markdown(_ABOUT)
        if st.toggle("With accuracy by group", key=state.REPORT_GROUPS, bind=LINKED, help=_GROUPS):
            with st.container(width=420):
                self._column = choose_column(table)
        self._place = st.empty()

    def draw(self, *, is_early: bool) -> None:
        """Make the report, and draw its download button. If `is_early`, a caption says that ε is not checked yet.

        The report is made before the user presses the button, because code that runs on a press cannot read the
        session's caches.
        """
        self._n_drawn += 1
        name = "privacy_report.html" if self._table.is_public else "DO_NOT_SHARE_privacy_report.html"
        html = self._make(self._table, self._column)
        with self._place.container():
            # Each drawing has two elements. If a drawing had only one, the second element of the previous drawing
            # would stay until the run ends.
            st.caption("The smallest ε has not passed a check yet. The report says so." if is_early else "")
            key = f"report_{self._n_drawn}"
            st.download_button(
                "Download the report", html, name, "text/html", on_click="ignore", type="primary", key=key
            )


_ABOUT: Final = (
    "One page to print for your privacy board only: the forest and its settings, what is promised and on which "
    "conditions, what it costs in accuracy, and what is **not** promised. It opens in any browser, without a network."
)
_GROUPS: Final = "Accuracy and error rates of the groups of a column, computed from raw rows. ε does not cover them."


def _value_text(value: object) -> str:
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:g}"
    return "the default" if value is None else str(value)
