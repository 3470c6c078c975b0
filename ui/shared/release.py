"""The one button that spends ε: a release draws exact noise once, on all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.plotting.style import visible
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.loss import GAUSSIAN
from dpforest.tables.features import plural
from dpforest.trees.forest import ForestFormatError, ReleasedForest
from ui import state
from ui.shared import cache, tables
from ui.shared.loss_sums import Cost, at_delta, caution_on_delta
from ui.shared.page import badge, sorry
from ui.shared.session_ledger import (
    ADD_REMOVE,
    IN_WORDS,
    REPLACE_ONE,
    Release,
    alike,
    at_hand,
    delta_of,
    groups,
    numbered,
    releases,
    rows_key,
    shape_of,
    so_alike,
    spent,
    whom,
)
from ui.shared.sidebar import Choice
from ui.shared.tables import Table
from ui.shared.wording import epsilon_text, plain, sum_text

TRIED = 20  # number of rows that a forest read back from its file must predict as before
LOST = (
    "The noise was drawn, but the forest could not be read back from its file, so nothing can be handed out. Whether "
    "that happens may depend on the rows, so the cost counts all the same. It should never happen; please report it."
)
LOOKED = "The settings were chosen while looking at figures of this table: what these tell is not covered."


def certificate_text(certificate: Certificate, caution: object = None) -> str:
    """Return the certificate as shown, with a caution right after the line that says CERTIFIED."""
    first, *rest = str(certificate).split("\n")
    cautions = [f"CAUTION: {' '.join(str(caution).split())}"] if caution else []
    return visible("\n".join([first, *cautions, *rest]))


def make(choice: Choice, people: int, number: int) -> Release:
    """Draw exact noise once, on all rows, and return the release. It has no file if reading the file back fails.

    Call Streamlit before the noise is drawn and never after: any call of it may end this run.

    Raises
    ------
    ValueError
        If the table does not fit its domain, or a setting is out of range.
    """
    table, settings = choice.table, choice.settings
    is_public, key = table.is_public, rows_key(table)
    forest = settings.estimator(table.domain).fit(table.columns(), table.frame[table.label]).released_
    if not is_public:
        forest.about["caution"] = LOOKED
    try:
        file = read_back(forest, forest.to_bytes(), table.columns())
    except ForestFormatError:
        file = b""
    text = certificate_text(forest.certificate, forest.about.get("caution"))
    loss, delta = forest.ledger.loss, forest.certificate.delta
    mu_squared = loss.mu_squared if loss.kind == GAUSSIAN else None
    return Release(
        number,
        table.short_title,
        settings.kind,
        key,
        table.uploaded,
        people,
        loss.epsilon(delta),
        settings.neighbors,
        text,
        file,
        shape_of(table),
        mu_squared,
        delta,
    )


def read_back(forest: ReleasedForest, file: bytes, rows: pd.DataFrame) -> bytes:
    """Return a forest's file after a check that reading it gives the same forest.

    Raises
    ------
    ForestFormatError
        If the file cannot be read, or if the forest read from it predicts some rows otherwise.
    """
    back, some = ReleasedForest.from_bytes(file), rows[:TRIED]
    same = np.array_equal(back.apply(some), forest.apply(some))
    if not same or not np.array_equal(back.class_shares(some), forest.class_shares(some)):
        raise ForestFormatError(
            "The forest read back from the file predicts differently from the forest that was fitted."
        )
    return file


@cache.for_session(data=True, max_entries=16, spinner="Trying out the file …")
def _size_tried(key: tuple, _choice: Choice) -> int:
    """Return the number of bytes of the file of a simulated release, which was read back."""
    table = _choice.table
    estimator = _choice.settings.estimator(table.domain).set_params(random_state=0)
    forest = estimator.fit(table.columns(), table.frame[table.label]).released_
    return len(read_back(forest, forest.to_bytes(uncertified=True), table.columns()))


def expected_size(choice: Choice) -> int:
    """Return the approximate number of bytes of a release: that of a simulated one on the same rows and settings."""
    table = choice.table
    return _size_tried((table.schema_key, tables.fingerprint(table.domain), choice.settings), choice)


def size_text(n_bytes: int) -> str:
    """Return a file size as text.

    >>> size_text(400), size_text(3_499), size_text(9_597_000), size_text(123_456_789)
    ('1 KB', '3 KB', '9.6 MB', '123 MB')
    """
    if n_bytes < 1_000_000:
        return f"{max(round(n_bytes / 1_000), 1):,} KB"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 100_000_000 else f"{n_bytes / 1e6:,.0f} MB"


def button(choice: Choice, certificate: Certificate, ledger: Ledger) -> bool:
    """Draw the release button in the sidebar, or why there is none. Return whether the dialog is open now."""
    with st.sidebar:
        if not choice.settings.certified:
            st.caption("No release: as published, this forest is not certified.")
            return False
        is_asked = st.button("Release this forest", type="primary", width="stretch", disabled=not certificate.certified)
        if is_asked:
            state.JUST_RELEASED.pop()
            _dialog(choice, ledger, certificate.delta)
        if not certificate.certified:
            st.caption(_why_not(certificate))
        return is_asked


def _why_not(certificate: Certificate) -> str:
    reasons = certificate.reasons
    more = f" There {'is' if len(reasons) == 2 else 'are'} {len(reasons) - 1} more like it." if len(reasons) > 1 else ""
    return (
        f"Not yet: {plain(reasons[0], 200)}{more} Whoever sees the forest would learn it. Open **Data**, correct what "
        "is there to what everybody may know, and write down where that is known from."
    )


@st.dialog("Release this forest", width="large", on_dismiss="rerun")
def _dialog(choice: Choice, ledger: Ledger, delta: float) -> None:
    made = state.JUST_RELEASED.value
    if made is None:
        _ask(choice, ledger, delta)
        return
    if made.file:
        badge("Released")
        st.code(made.certificate, language=None, wrap_lines=True)
        _download(made, "in_dialog")
    else:
        sorry(LOST)
    group = groups()[made.people]
    total, relation = spent(group)
    epsilon = f"{sum_text(total)}{at_delta(delta_of(group))}"
    st.markdown(f"In this session {_people_of(group)} have spent **ε = {epsilon}** ({IN_WORDS[relation]}).")
    if made.file:
        st.caption("Kept for this session in the Budget tab, and ready on the page “Use a released forest”.")


def _ask(choice: Choice, ledger: Ledger, delta: float) -> None:
    """Show the cost, the people it concerns and their new total, and the button. A Gaussian cost is reported at δ."""
    table, cost = choice.table, (ledger.loss, choice.settings.neighbors)
    epsilon = f"{epsilon_text(ledger.loss.epsilon(delta))}{at_delta(delta)}"
    st.markdown(
        f"This draws exact noise once, on {_rows_of(table)} of **{plain(table.short_title)}**. "
        f"It costs **ε = {epsilon}** ({IN_WORDS[cost[1]]}), which cannot be taken back."
    )
    if caution := caution_on_delta(delta, len(table.frame)):
        st.warning(caution, icon=":material/warning:")
    if not table.is_public:
        st.info(LOOKED + " If this table is public anyway, say so in the Data tab.", icon=":material/visibility:")
    try:
        size = expected_size(choice)
    except ValueError as problem:  # raised before anything is spent
        sorry(problem)
        return
    st.markdown(
        f"The file will have about **{size_text(size)}**, as a simulated release has, which was read back as a test."
    )
    people = _people(choice)
    sure = _really_others(choice, people)
    if group := groups().get(people):
        st.markdown(after_this(group, cost, delta))
    if st.button(f"Release for ε = {epsilon}", type="primary", key="release_now", disabled=not sure):
        _release(choice, people)


def after_this(group: list[Release], cost: Cost, delta: float = 0.0) -> str:
    """Return a sentence with the total of some people after this cost is added. A Gaussian total is reported at δ."""
    total, relation = spent(group, cost, delta=delta)
    at = max(delta, delta_of(group))
    mixed = len({cost[1], *(r.neighbors for r in group)}) > 1
    twice = f"; what is released for {IN_WORDS[ADD_REMOVE]} counts twice{' (a Gaussian one in μ)' if at else ''}"
    return (
        f"After this release {_people_of(group)} will have spent **ε = {sum_text(total)}{at_delta(at)}** "
        f"({IN_WORDS[relation]}) in this session{f'{twice} for {IN_WORDS[REPLACE_ONE]}' if mixed else ''}."
    )


def _rows_of(table: Table) -> str:
    n = len(table.frame)
    out = n - tables.n_labeled(table)
    return (
        f"{plural(n - out, 'row')} ({plural(out, 'further row')} without a label left out)"
        if out
        else (f"all {plural(n, 'row')}")
    )


def _people_of(group: list[Release]) -> str:
    return f"the people of {whom(group)}"


def _people(choice: Choice) -> int:
    """Ask which group of people the rows describe, and return it. A file saved again is about the same people."""
    grouped = groups()
    new = max(grouped, default=0) + 1
    if not grouped:
        return new
    if same := [r for r in releases() if r.table_key == rows_key(choice.table)]:
        st.markdown(
            f"These rows were released from before ({numbered(same)}), so they are the same people: **costs add up**."
        )
        return same[0].people
    options = [*grouped, new]
    return st.radio(
        "Do these rows hold the same people as an earlier release?",
        options,
        index=options.index(releases()[-1].people),
        help="Yes, if anybody is in both tables. A file that was only saved anew, filtered or extended holds the same "
        "people.",
        format_func=lambda g: (
            "No, nobody is in both"
            if g == new
            else f"Yes, as in {numbered(grouped[g])} ({whom(grouped[g])}): costs add up"
        ),
    )


def _really_others(choice: Choice, people: int) -> bool:
    """Ask again if a table looks like one that is declared to hold other people. Return whether the user confirms."""
    shape, key = shape_of(choice.table), rows_key(choice.table)
    like = [r for r in releases() if r.people != people and r.table_key != key and alike(r.shape, shape)]
    if not like:
        return True
    return st.checkbox(
        f"{so_alike(like, shape)}: are these really other people? Yes, nobody is in both.",
        key=state.REALLY_OTHERS(key, people),
    )


def _release(choice: Choice, people: int) -> None:
    """Release the forest and keep it, even if the dialog was closed meanwhile: once the noise is drawn, it counts."""
    kept = releases()
    try:
        with st.spinner("Drawing exact noise …"):
            made = make(choice, people, len(kept) + 1)
            kept.append(made)  # inside the spinner: when the spinner ends, a closed dialog ends this run
    except ValueError as problem:  # DomainError and BudgetError are ValueErrors
        sorry(problem)
        return
    state.JUST_RELEASED.value = made
    st.rerun(scope="fragment")


def _download(release: Release, place: str) -> None:
    st.download_button(
        f"Download the forest ({size_text(len(release.file))})",
        release.file,
        release.file_name,
        "application/gzip",
        on_click="ignore",
        key=f"json_{place}_{release.number}",
    )


def released_here() -> None:
    """Show every forest released in this session, with its certificate."""
    for release in at_hand():
        with st.expander(f"Release {release.number}: {plain(release.title, 40)}, ε = {_epsilon_of(release)}"):
            badge("Released")
            st.code(release.certificate, language=None, wrap_lines=True)
            _download(release, "in_tab")


def _epsilon_of(release: Release) -> str:
    return f"{epsilon_text(release.epsilon)}{at_delta(release.delta)}"
