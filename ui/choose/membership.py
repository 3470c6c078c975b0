"""A live membership attack on the current forest: an attacker guesses whether one record is in the table."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import streamlit as st

from dpforest.plotting.membership import MIN_TRIALS, success_chart
from dpforest.plotting.style import percent
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger, rows_changed
from dpforest.risk.membership import (
    MostExposedRow,
    Record,
    RowsInLeaves,
    attack_record,
    best_success,
    count_in_leaves,
    most_exposed,
)
from dpforest.risk.rounding import percent_up
from dpforest.risk.shadow_models import rarest_row
from dpforest.risk.success_rate import CONFIDENCE, REPORT_SIZES, AttackEstimate, most_success
from dpforest.risk.tradeoff import DistinguishingGame
from dpforest.tables.features import plural
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import EncodedTable, read_rows
from ui import state
from ui.forest.forests import FORESTS, ForestSettings
from ui.shared import cache
from ui.shared.controls import drop_out_of_bounds
from ui.shared.loss_words import at_delta, would_promise
from ui.shared.page import drawn, titled
from ui.shared.tables import Table, fingerprint, read_by
from ui.shared.wording import plain

SECONDS = 4.0  # seconds for an attack on trees with random structure
GREEDY_SECONDS = 20.0  # seconds for an attack on trees that each fit grows from the rows
_DRAW_EVERY = 0.25  # seconds between two drawings
_FORMULA = "from the exact trade-off curve of its noise"


@dataclass(frozen=True)
class Limit:
    """Largest share of guesses in which an attacker can be right, and whether it holds with the current schema.

    The limit does not hold if the schema (the public description of the columns) was read from the rows.
    """

    success: float
    holds: bool


def show(table: Table, settings: ForestSettings, certificate: Certificate, ledger: Ledger) -> None:
    """Draw the tab, in which the user chooses a record and attacks it. Moving a control ends a running attack."""
    table, is_replaced = read_by(table, settings), rows_changed(settings.neighbors) == 2
    titled("Attack one record, live", "Simulated", "Do not share")
    if table.domain.unit is not None:
        st.caption(
            "This attack guesses whether one row is in the table. Here the unit of privacy is a person with all of "
            "their rows, and an attack on all of them is not simulated."
        )
        return
    st.markdown(_game(settings, is_replaced))
    row = _choose_record(table, settings)
    _show_record(table, row)
    if is_replaced:
        other = table.domain.classes[(int(_encoded(table)[1][row]) + 1) % table.domain.n_classes]
        st.caption(f"The other row has the same attributes and {plain(table.label, 30)} = {plain(other, 30)}.")
    key = (table.schema_key, fingerprint(table.domain), settings, row)
    limit = Limit(_success_limit(certificate, ledger), certificate.certified)
    if st.button("Attack this record", type="primary", key="member_attack"):
        state.MEMBER_ATTACKED.value = (key, _run(table, settings, limit, row))
    elif (attacked := state.MEMBER_ATTACKED.value) and attacked[0] == key:
        _Drawing(table, settings, limit, row).draw(attacked[1])


def _game(settings: ForestSettings, is_replaced: bool) -> str:
    """Explain what the attacker guesses, and what the attacker knows."""
    greedy = FORESTS[settings.kind].is_fitted_anew
    if is_replaced:
        coin = (
            "A fair coin decides which of two rows is in the table: the record, or one with another label. The number "
            "of rows is public, so **whether the record is in the table is not at stake here, only which of the "
            "two it is**."
        )
    else:
        coin = "A fair coin decides whether the record is in the table or is left out."
    if greedy:
        knows = (
            "This attacker knows this record and all others, but not the coin. To learn what differs, the attacker may "
            "fit the forest any number of times, with this record and without it."
        )
    else:
        knows = (
            "This attacker knows every other record, every question in the trees, and which tree each record was given "
            "to."
        )
        if not settings.certified and settings.option("partition") == "blocks" and not is_replaced:
            knows += " (Left out, the record leaves an empty place in its tree's block.)"
    return (
        f"{coin} A release at ε = {settings.epsilon:g}{at_delta(settings.delta)} is simulated, and nothing is "
        f"published. An attacker who sees it guesses how the coin fell. {knows}"
    )


def _choose_record(table: Table, settings: ForestSettings) -> int:
    """Ask for the record to attack, and return the index of its row among the rows with a listed label."""
    n, greedy = len(_rows(table).y), FORESTS[settings.kind].is_fitted_anew
    if state.MEMBER_WANTED in st.session_state:
        state.MEMBER_ROW.value = state.MEMBER_WANTED.pop()
    drop_out_of_bounds(state.MEMBER_ROW, 1, n)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        row = st.number_input(
            "Record",
            1,
            n,
            key=state.MEMBER_ROW,
            width=180,
            help="Its place in the table, counted from 1."
            + (" Rows without a listed label are not counted." if n < len(table.frame) else ""),
        )
        name = "Take the rarest record" if greedy else "Take the most exposed record"
        is_pressed = st.button(
            name,
            key="member_find",
            help="The record with the rarest class and values. Each value is judged alone, not in combination."
            if greedy
            else "The record whose best attacker is right most often, of all in this table.",
        )
    if is_pressed:
        with st.spinner("Looking at every record …"):
            if greedy:
                state.MEMBER_WANTED.value = rarest_row(*_encoded(table)) + 1
            else:
                exposed = _most_exposed(table, settings)
                state.MEMBER_WANTED.value = exposed.row + 1
                state.MEMBER_ALIKE.value = (_key(table, settings), exposed.all_alike)
        st.rerun()
    if state.MEMBER_ALIKE.value == (_key(table, settings), True):
        st.caption("Here all records are equally exposed: the noise on a count does not depend on the count.")
    return int(row) - 1


def _show_record(table: Table, row: int) -> None:
    """Show the record as a table of one row, its label first."""
    columns = [table.label, *(name for name in table.domain.source_columns if name != table.label)]
    record = table.frame.iloc[_rows(table).ids[[row]]][columns]
    st.dataframe(record.astype("string").fillna("missing"), hide_index=True, width="stretch", height="content")


def _run(table: Table, settings: ForestSettings, limit: Limit, row: int) -> list[AttackEstimate]:
    """Attack the record while the user watches, and return the estimates of the share of right guesses."""
    estimator = settings.estimator(table.domain)
    codes, labels = _encoded(table)
    greedy = FORESTS[settings.kind].is_fitted_anew
    work = attack_record(
        estimator,
        table.domain,
        codes,
        labels,
        row,
        seed=row,
        seconds=GREEDY_SECONDS if greedy else SECONDS,
        counted=None if greedy else _counted(table, settings),
    )
    waiting = "Fitting with and without the record, to learn what differs …" if greedy else "Drawing releases …"
    bar, drawing = st.progress(0.0, waiting), _Drawing(table, settings, limit, row)
    estimates: list[AttackEstimate] = []
    drawn_at, n_drawn = 0.0, -1
    for share, attack_estimate in work:
        if attack_estimate is not None:
            estimates.append(attack_estimate)
            if attack_estimate.trials >= MIN_TRIALS and time.monotonic() - drawn_at > _DRAW_EVERY:
                drawing.draw(estimates)
                drawn_at, n_drawn = time.monotonic(), len(estimates)
        bar.progress(share, f"{plural(estimates[-1].trials, 'guess', 'guesses')}" if estimates else waiting)
    bar.empty()
    if n_drawn < len(estimates):
        drawing.draw(estimates)
    return estimates


class _Drawing:
    """Text and chart of a running attack, redrawn in place."""

    def __init__(self, table: Table, settings: ForestSettings, limit: Limit, row: int) -> None:
        self._settings, self._limit = settings, limit
        self._record = None if FORESTS[settings.kind].is_fitted_anew else _counted(table, settings).record(row)
        self._best = None if self._record is None else best_success(self._record)
        self._words, self._place = st.empty(), st.empty()

    def draw(self, estimates: list[AttackEstimate]) -> None:
        """Draw all estimates so far, with a text about the last estimate."""
        if not estimates:
            self._words.caption("One fit of this forest takes too long here: there was no time for a guess.")
            return
        settings, last = self._settings, estimates[-1]
        limit = self._limit.success
        claimed = None if settings.certified else most_success(settings.epsilon)
        text = _verdict(settings, self._limit, last, self._best)
        if settings.certified:
            text += "\n\n" + _explanation(self._record, self._best, limit)
        self._words.markdown(text)
        most = 1_000 if self._record is None else REPORT_SIZES[-1]
        drawn(
            success_chart(estimates, limit=limit, best=self._best, claimed=claimed, axis_end=most),
            f"After {last.trials:,} guesses {percent(last.share)} were right; blind guessing gives 50 %, the "
            f"{'limit' if claimed is None else 'claimed limit'} is {percent_up(claimed or limit)}.",
            self._place,
            title="Guesses of an attacker",
        )


def _success_limit(certificate: Certificate, ledger: Ledger) -> float:
    """Return the largest share of guesses in which an attacker can be right about a fair coin.

    If the schema was read from the rows, the limit does not cover what the schema reveals.
    """
    promise = would_promise(certificate, ledger)
    return DistinguishingGame(promise, promise.questions[0]).success()


def _verdict(settings: ForestSettings, limit: Limit, last: AttackEstimate, best: float | None) -> str:
    """State the share of right guesses, its confidence interval, and the limit."""
    drawn_limit = limit.success if settings.certified else most_success(settings.epsilon)
    digits = 1 if drawn_limit > 0.53 else 2
    text = (
        f"**Right in {percent(last.share, digits)} of {last.trials:,} guesses**; in the long run between "
        f"{percent(last.low, digits)} and {percent(last.high, digits)} (confidence {100 * CONFIDENCE:.0f} %, for all "
        "points of the curve together). A coin is right in 50 %"
    )
    if best is not None:
        text += f"; the best possible attacker on its leaves, by formula, in {percent(best, digits)}"
    if settings.certified:
        most = percent_up(limit.success)
        if not limit.holds:
            return (
                f"{text}. From the noisy leaves alone no attacker is right in more than {most} ({_FORMULA}); but "
                "the schema was read from the rows, and **what it gives away has no limit**. This attacker does not "
                "look at it."
            )
        return (
            f"{text}. **In the long run no attacker, on any record of any table, is right in more than {most}** of "
            f"such guesses ({_FORMULA})."
        )
    claim = percent_up(most_success(settings.epsilon))
    if last.low > most_success(settings.epsilon):
        return (
            f"{text}. ε = {settings.epsilon:g} claims that no attacker can exceed {claim}: :red[**exceeded**]. No "
            "finite bound on the privacy loss is proved."
        )
    return (
        f"{text}. ε = {settings.epsilon:g} claims that no attacker can exceed {claim}; no finite bound on the privacy "
        "loss is proved. One record below this limit does not prove the claim: other records may exceed it, and this "
        "attacker does not look at the noise's last digits."
    )


def _explanation(record: Record | None, best: float | None, limit: float) -> str:
    """Explain why the attack on this record reaches the limit, or why it stays below the limit."""
    if record is None or best is None:
        return (
            "*Why so little:* one record among many moves a question or a leaf only now and then. This attacker learns "
            "from fits alone; a cleverer one may do better, but never better than the limit."
        )
    if best > limit - 0.002:
        return (
            "*Why it reaches the limit:* the attacker knows the record's leaves, and their noisy counts give away all "
            "that ε allows. A real attacker would not know so much."
        )
    asked = 1 - float(record.spec.preparation.remaining_share)
    preparation_text = (
        f" And {percent(asked)} of ε went into how many rows there are and where they lie, which this attacker does "
        "not look at."
        if asked
        else ""
    )
    n_others = record.other_counts.sum(axis=1) / (record.spec.n_trees if record.one_tree else 1)
    if record.spec.releases_counts:
        two_counts = "two noisy counts of each tree change, and their hints may cancel."
        one_count = "the attacker uses all that the noisy counts give away."
        return f"*Why below the limit:* {one_count if record.stand_in is None else two_counts}{preparation_text}"
    if np.median(n_others) < 1:
        return (
            "*Why below the limit:* the record is nearly alone in its leaves, which is as exposed as one can be. But a "
            "leaf publishes only a label, and an empty leaf sometimes publishes the same label by chance."
            + preparation_text
        )
    return (
        "*Why below the limit:* the limit is for the worst record of the worst table. Here a leaf publishes only one "
        f"label, and the record shares it with {_others_text(float(np.median(n_others)))} or more in half of the "
        "trees: where a label has a clear lead, one record hardly changes it." + preparation_text
    )


def _others_text(n: float) -> str:
    return f"about {plural(round(n), 'other')}"


# ---------------------------------------------------------------- caches


def _key(table: Table, settings: ForestSettings) -> tuple:
    """Return the cache key. It includes ε, because the released scale, and depth and trees by rule, depend on ε."""
    return (table.schema_key, fingerprint(table.domain), settings.without_epsilon(), settings.epsilon)


@cache.by_table(everybody=4, session=1)
def _read(key: tuple, _table: Table) -> EncodedTable:
    """Read the rows as a fit does. The id of a row is its index in the table."""
    places = np.arange(len(_table.frame))
    return read_rows(
        _table.domain, _table.columns(), _table.frame[_table.label], places, out_of_domain=OutOfDomainCells()
    )


@cache.by_table(everybody=4, session=2, spinner="Counting the rows in the leaves …")
def _count(key: tuple, _table: Table, _settings: ForestSettings) -> RowsInLeaves:
    return count_in_leaves(_settings.estimator(_table.domain), _table.domain, *_encoded(_table))


@cache.by_table(everybody=64, session=8, data=True)
def _expose(key: tuple, _table: Table, _counted: RowsInLeaves) -> MostExposedRow:
    return most_exposed(_counted)


def _rows(table: Table) -> EncodedTable:
    """Return all rows with a listed label, from the cache. The rows of an upload are cached for this session only."""
    key = (table.schema_key, fingerprint(table.domain))
    return _read(key, table)


def _encoded(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes and class indices of all rows with a listed label."""
    return _rows(table).codes, _rows(table).y


def _counted(table: Table, settings: ForestSettings) -> RowsInLeaves:
    """Return the counts of the rows in the leaves, at the current ε."""
    return _count(_key(table, settings), table, settings)


def _most_exposed(table: Table, settings: ForestSettings) -> MostExposedRow:
    return _expose(_key(table, settings), table, _counted(table, settings))
