"""Chart and text of the Choose ε page: the answer, its guarantee, and the report."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Final

import numpy as np
import streamlit as st

from dpforest import __version__
from dpforest.evaluation.headroom import Headroom
from dpforest.evaluation.smallest_epsilon import Answer, held_out_margin, smallest_epsilons
from dpforest.plotting.board_report import BoardReport, RatesByGroup, render
from dpforest.plotting.choose import smallest_epsilon
from dpforest.plotting.curve import mark_others
from dpforest.plotting.style import percent
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.risk.guarantee import Guarantee, guarantee_of
from dpforest.risk.rounding import percent_down
from dpforest.tables.features import plural
from ui import state
from ui.choose.wish_controls import SURE, Wish
from ui.jobs.baselines import Baselines
from ui.jobs.group_columns import GroupRates, choose_column
from ui.jobs.results import SweepResult, ceiling_of, headroom_of
from ui.jobs.sweep_job import promise as promise_of
from ui.shared import tables
from ui.shared.controls import LINKED
from ui.shared.epsilon import OTHERS
from ui.shared.forests import EPSILONS, WITH_DELTA, ForestSettings
from ui.shared.loss_words import would_promise
from ui.shared.page import badge, chart
from ui.shared.tables import Table
from ui.shared.wording import plain

NAMED: Final = 2  # largest number of further forests that the answer names


def answered(done: SweepResult, needed: float, wish: Wish) -> list[Answer]:
    """Return the smallest ε of each forest. No answer is sure before `wish.releases` releases are simulated."""
    # The confidence level holds only for exactly `wish.releases` releases, so further ones are left out.
    decided = done.pieces[done.pieces["repeat"] < wish.releases]
    answers = smallest_epsilons(decided, needed, wish.share, margin=wish.margin)
    means = done.pieces.groupby(["forest", "epsilon"])["accuracy"].mean()
    answers = [a if a.epsilon is None else replace(a, accuracy=float(means[a.forest, a.epsilon])) for a in answers]
    answers.sort(key=lambda a: (math.inf if a.epsilon is None else a.epsilon, a.forest.endswith(WITH_DELTA)))
    return answers if done.n >= wish.releases else [replace(answer, is_sure=False) for answer in answers]


def no_need(needed: float, guessing: float, at_stake: dict[str, Headroom]) -> str:
    """Explain why no ε is needed: guessing reaches the accuracy, or no forest beats guessing. Empty otherwise."""
    all_guess = all(at.has_none for at in at_stake.values())
    text = ""
    if all_guess:
        text = (
            f"**No forest here is better than guessing.** Always naming the most frequent class gets "
            f"{percent(guessing)}, and no forest exceeds that by more than luck on the held-out rows, at any ε or "
            "without noise. So a release would spend ε on predictions no better than guessing, which costs none. "
        )
        if any(at.learnable for at in at_stake.values()):
            best = max(at.best for at in at_stake.values() if at.best is not None)
            text += (
                f"There is something to learn: without privacy scikit-learn's trees get {percent(best)}. Explore shows "
                "what other depths and narrower public bounds do. "
            )
    if needed <= guessing:
        return text + (
            f"**{percent(needed)} needs no forest and no ε**: always naming the most frequent class gets "
            f"{percent(guessing)} without any rows. {'' if all_guess else 'Ask for more.'}"
        )
    return text


def headline(answers: Sequence[Answer], needed: float, wish: Wish, n: int) -> str:
    """State the smallest ε in a sentence, and how sure this answer is."""
    share = next(text for text, value in SURE.items() if value == wish.share)
    first = answers[0]
    if first.epsilon is None:
        return (
            f"**No forest here reaches {percent(needed)} in {share}** at any ε that we simulate (up to "
            f"{EPSILONS[-1]:g}). Ask for less, or see below what more data would do."
        )
    others = [a.forest for a in answers[1:] if a.epsilon == first.epsilon]
    also = f" ({', '.join(others) if len(others) <= NAMED else f'{len(others)} others'} as well)" if others else ""
    claimed = "" if wish.certified else ", as claimed"
    seen = f"{first.reached} of {first.releases} simulated releases reach {percent(needed)} there"
    if wish.margin:
        seen += " with the margin for the held-out rows"
    if first.is_sure:
        sure = f"{seen}, so at least {percent_down(first.at_least)} of all do (95 % confidence)."
    elif n < wish.releases:
        sure = f"{seen} so far; sure after {wish.releases}."
    else:
        sure = f"{seen}: enough on average, but too few to be sure."
    return f"**{first.forest}** needs the smallest ε: **{first.epsilon:g}**{claimed}{also}. {sure}"


def answers_chart(answers: Sequence[Answer], kind: str, epsilon: float, wish: Wish, place, key: str):
    """Draw a dot for each forest. When a run draws the chart again, Streamlit needs another `key`."""
    summary = "; ".join(
        f"{a.forest}: {'not reached' if a.epsilon is None else f'from ε = {a.epsilon:g} on'}" for a in answers
    )
    figure = smallest_epsilon(
        answers, EPSILONS[0], EPSILONS[-1], chosen=kind, epsilon=epsilon, certified=wish.certified
    )
    mark_others(figure, OTHERS)
    return chart(figure, f"Smallest ε of each forest. {summary}.", place, title="Smallest ε of each forest", key=key)


def how_read(answers: Sequence[Answer], done: SweepResult, wish: Wish) -> str:
    """Explain the dots: the averages that they show, and the margin for the held-out rows."""
    n_test = int(done.pieces["n_test"].max())
    text = "Full dots are settled (95 % confidence), hollow ones are still being worked out. "
    text += f"Behind each: {done.rests_on}."
    accuracy = next((a.accuracy for a in answers if a.accuracy is not None), None)
    if wish.margin and accuracy is not None:
        points = 100 * float(held_out_margin([accuracy], [n_test])[0])
        text += (
            f" Margin for the luck of {plural(n_test, 'held-out row')}: {points:.1f} points (enough in 95 % of "
            "cases for one forest; the best of several may owe more to luck)."
        )
    return text


def promise(table: Table, settings: ForestSettings) -> tuple[Certificate, Ledger]:
    """Return certificate and ledger of a release with these settings."""
    return promise_of(tables.fingerprint(table.domain), settings, tables.planned_rows(table, settings), table.domain)


def guarantee(certificate: Certificate, ledger: Ledger, leaks: bool) -> Guarantee:
    """Return the guarantee of a release.

    If only the schema prevents a guarantee, a switch lets the user see the guarantee for a public schema.
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
    answers: Sequence[Answer],
    needed: float,
    wish: Wish,
    done: SweepResult,
    level: Baselines,
    column: str = "",
) -> str:
    """Return the report for a privacy board, as HTML. If a column is given, the report has the rates of its groups."""
    name = settings.name
    cells = done.cells.loc[name].reset_index()
    ceiling = ceiling_of(done, [level], "accuracy")
    private = cells[np.isfinite(cells["epsilon"])].sort_values("epsilon")
    accuracy = private["accuracy"]
    parameters = settings.parameters()
    return render(
        BoardReport(
            title=table.short_title,
            rows=len(table.frame),
            persons=tables.n_persons(table) if table.domain.unit else None,
            attributes=table.domain.n_features,
            label=table.label,
            forest=settings.name,
            settings=tuple((name.replace("_", " "), _written(value)) for name, value in parameters.items()),
            date=f"{datetime.date.today():%-d %B %Y}",
            certificate=certificate,
            needed_accuracy=needed,
            share=wish.share,
            smallest=tuple(
                (a.forest if a.is_sure or a.epsilon is None else f"{a.forest} (not sure)", a.epsilon, a.accuracy)
                for a in answers
            ),
            curve=tuple(zip(private["epsilon"], accuracy["mean"], accuracy["low"], accuracy["high"], strict=True)),
            ceiling=None if ceiling is None else ceiling.value,
            ceiling_name="" if ceiling is None else ceiling.words,
            floor=level.floor["accuracy"],
            headroom=headroom_of(done, [level], "accuracy")[name],
            repeats=int(done.pieces.loc[done.pieces["forest"] == name, "repeat"].nunique()),
            splits=done.folds,
            band="8 in 10 simulated releases",
            prior=wish.prior,
            rows_per_person=1 if table.domain.unit else wish.rows_per_person,
            margin=wish.margin,
            groups=_rates_by_group(table, column, done, settings) if column else None,
            declared_public=table.is_public,
            versions=(
                ("dpforest", __version__),
                *((name, version(name)) for name in ("numpy", "numba", "scikit-learn")),
            ),
        )
    )


def _rates_by_group(table: Table, column: str, done: SweepResult, settings: ForestSettings) -> RatesByGroup:
    """Return the rates at the simulated ε that is nearest to that of the settings."""
    nearest = float(min(done.epsilons, key=lambda epsilon: abs(math.log(epsilon / settings.epsilon))))
    rates = GroupRates.of(table, settings, column).table(done.right(nearest, settings.name))
    return RatesByGroup(column, nearest, rates.to_dict("records"))


def offer_report(table: Table, make: Callable[[Table, str], str], is_early: bool) -> None:
    """Draw the download button of the report, and describe the report.

    `make` takes the table and the column whose groups the report shows, "" for none.
    """
    st.markdown(
        "One page to print and to hand over: the forest and its settings, what is promised and on which conditions, "
        "what it costs in accuracy, and what is **not** promised. It opens in any browser, without a network."
    )
    if is_early:
        st.caption("Not all releases are simulated yet; the report states how many it uses.")
    name, column = "privacy_report.html" if table.is_public else "CURATOR_ONLY_privacy_report.html", ""
    if st.toggle("With accuracy by group", key=state.REPORT_GROUPS, bind=LINKED, help=_GROUPS):
        with st.container(width=420):
            column = choose_column(table)
    make_report = partial(make, table, column)
    st.download_button("Download the report", make_report, name, "text/html", on_click="ignore", type="primary")


_GROUPS: Final = "Accuracy and error rates of the groups of a column, computed from raw rows. ε does not cover them."


def _written(value: object) -> str:
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:g}"
    return "the default" if value is None else str(value)


def at(settings: ForestSettings, epsilon: float) -> ForestSettings:
    """Return the same forest at another ε."""
    return replace(settings, epsilon=epsilon)
