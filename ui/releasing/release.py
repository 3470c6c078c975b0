"""The release button and its dialog. The app spends ε only here: it draws exact noise for a forest on all rows."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpforest.book import BookError, Cost
from dpforest.book.releasing import CHOSEN_BY_LOOKING, FILE_LOST, RecordWords, make_release, read_back
from dpforest.plotting.style import visible
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, REPLACE_ONE, Ledger
from dpforest.privacy.loss import GAUSSIAN
from dpforest.privacy.tradeoff_curve import steps_of
from dpforest.risk.guarantee import Guarantee
from dpforest.tables.features import plural
from ui import state
from ui.releasing import population_question, record_question
from ui.releasing.app_book import kept_book
from ui.releasing.population_question import ChosenPopulation
from ui.releasing.session_ledger import (
    Release,
    delta_of,
    groups,
    in_words,
    likeness,
    may_be_same_rows,
    not_added,
    numbered,
    releases,
    releases_in_session,
    rows_key,
    shape_of,
    spent,
    table_names,
)
from ui.shared import cache, tables
from ui.shared.loss_words import at_delta, caution_on_delta, guess_words
from ui.shared.page import badge, sorry
from ui.shared.sidebar import Choice
from ui.shared.tables import Table
from ui.shared.wording import epsilon_text, plain, sum_text

NO_COLUMN = (
    "You said that one person can have several rows. Choose the column that identifies persons in the Data tab. A "
    "release for single rows would protect a person with many rows far less than ε says."
)
USELESS = (
    "By simulated releases at this ε, this forest is right no more often than somebody who always names the most "
    "frequent class. A release would still cost its ε. Close this dialog, and try a larger ε or another forest first."
)


def certificate_text(certificate: Certificate, caution: object = None) -> str:
    """Return the text of the certificate. A caution, if any, comes after the first line."""
    first, *rest = str(certificate).split("\n")
    cautions = [f"CAUTION: {' '.join(str(caution).split())}"] if caution else []
    return visible("\n".join([first, *cautions, *rest]))


def make(
    choice: Choice,
    people: int,
    number: int,
    chosen: ChosenPopulation | None = None,
    words: RecordWords | None = None,
) -> Release:
    """Draw exact noise once, for a forest on all rows, and return the release.

    If a population is chosen, the release is booked before the noise is drawn, and gets a record with `words`. After
    the noise is drawn, this function must not call Streamlit, because any such call may end this run. If the file of
    the forest cannot be read back, the release has no file.

    Parameters
    ----------
    people : int
        Number of the group of people that the rows describe, in this session.
    number : int
        Number of the release in this session.
    chosen : ChosenPopulation, optional
        Population of the book in which the release is booked.

    Raises
    ------
    ValueError
        If the table does not fit its domain, a setting is out of range, or the release cannot be booked.
    """
    table, settings = choice.table, choice.settings
    is_public, key = table.is_public, rows_key(table)
    made = make_release(
        settings.estimator(table.domain),
        table.columns(),
        table.frame[table.label],
        caution="" if is_public else CHOSEN_BY_LOOKING,
        booked=chosen.add_to_book() if chosen else None,
        title=record_question.title_of(table),
        words=words,
    )
    forest = made.forest
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
        made.file,
        shape_of(table),
        mu_squared,
        delta,
        steps_of(forest.ledger),
        forest.ledger.unit,
        chosen.population.name if chosen else "",
        made.record,
    )


@cache.for_session(data=True, max_entries=16, spinner="Trying out the file …")
def _simulated_size(key: tuple, _choice: Choice) -> int:
    """Simulate a release, read its file back, and return the number of bytes of the file."""
    table = _choice.table
    estimator = _choice.settings.estimator(table.domain).set_params(random_state=0)
    forest = estimator.fit(table.columns(), table.frame[table.label]).released_
    return len(read_back(forest, forest.to_bytes(uncertified=True), table.columns()))


def expected_size(choice: Choice) -> int:
    """Return the approximate size of a release in bytes: the size of a simulated release with the same settings."""
    table = choice.table
    return _simulated_size((table.schema_key, tables.fingerprint(table.domain), choice.settings), choice)


def size_text(n_bytes: int) -> str:
    """Return a file size as text.

    >>> size_text(400), size_text(3_499), size_text(9_597_000), size_text(123_456_789)
    ('1 KB', '3 KB', '9.6 MB', '123 MB')
    """
    if n_bytes < 1_000_000:
        return f"{max(round(n_bytes / 1_000), 1):,} KB"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 100_000_000 else f"{n_bytes / 1e6:,.0f} MB"


def button(
    choice: Choice, certificate: Certificate, ledger: Ledger, place: DeltaGenerator, *, is_useless: bool
) -> bool:
    """Draw the release button, or state why there is none. Return whether the dialog is open now.

    Parameters
    ----------
    place : container of Streamlit
        Place of the button.
    is_useless : bool
        Whether the forest is no better than guessing in simulated releases. If so, the dialog warns the user.
    """
    with place:
        if not choice.settings.certified:
            st.caption("No release: as published, this forest is not certified.")
            return False
        is_clicked = st.button(
            "Release this forest", type="primary", width="stretch", disabled=not certificate.certified
        )
        if is_clicked:
            state.JUST_RELEASED.pop()
            _dialog(choice, certificate, ledger, is_useless)
        if not certificate.certified:
            st.caption(_why_not(certificate))
        return is_clicked


def _why_not(certificate: Certificate) -> str:
    """Return a message that says why a release would not be certified."""
    reasons = certificate.reasons
    n = len(reasons) - 1
    more = f" There {'is' if n == 1 else 'are'} {plural(n, 'more reason')} like this." if n else ""
    return (
        f"No release yet: {plain(reasons[0], 200)}{more} Whoever sees the forest would learn what was read from the "
        "rows. In the tab **Data**, replace it by public values, and write down how everybody can know them."
    )


@st.dialog("Release this forest", width="large", on_dismiss="rerun")
def _dialog(choice: Choice, certificate: Certificate, ledger: Ledger, is_useless: bool) -> None:
    made = state.JUST_RELEASED.value
    if made is None:
        if is_useless:
            st.warning(USELESS, icon=":material/warning:")
        _ask(choice, certificate, ledger)
        return
    if made.file:
        badge("Released")
        st.code(made.certificate, language=None, wrap_lines=True)
        _download(made, "in_dialog")
        if made.population and made.record is None:
            sorry(
                "The app could not write the record. The release is booked, and its file is complete. Keep its "
                "certificate."
            )
    else:
        sorry(FILE_LOST)
    st.markdown(_spent_so_far(made))
    if made.file:
        st.caption("For this session, the forest is in the Budget tab and on the page “Releases”.")


def _spent_so_far(made: Release) -> str:
    """Return a sentence with the total ε: of the book, or of this session if the release has no record."""
    if made.record is not None:
        after = made.record.sum_after
        epsilon = f"{sum_text(after.epsilon)}{at_delta(after.delta)}"
        words = in_words(after.neighbors, after.unit_column)
        return f"All releases about **{plain(made.population)}** have now spent **ε = {epsilon}** ({words})."
    group = groups()[made.people]
    same_unit = [r for r in group if r.unit == made.unit]
    total, relation = spent(same_unit)
    epsilon = f"{sum_text(total)}{at_delta(delta_of(same_unit))}"
    return (
        f"This session has spent **ε = {epsilon}** ({in_words(relation, made.unit)}) on {_people_of(same_unit)}. "
        f"{not_added(group)}"
    )


def _ask(choice: Choice, certificate: Certificate, ledger: Ledger) -> None:
    """Show the cost, the people in the rows, their new total, and the button that releases the forest."""
    delta = certificate.delta
    table, cost = choice.table, Cost(ledger.loss, ledger.neighbors, ledger.unit)
    rows = tables.counted(table) if table.domain.unit else plural(tables.n_labeled(table), "row")
    epsilon = f"{epsilon_text(ledger.loss.epsilon(delta))}{at_delta(delta)}"
    st.markdown(
        f"This release uses {rows} of **{plain(table.short_title)}**, and draws exact noise once. "
        f"It costs **ε = {epsilon}** ({in_words(cost.neighbors, cost.unit)}), which cannot be taken back."
        f"{_which_rows(table)}"
    )
    promise = Guarantee.of_loss(ledger.loss, cost.neighbors, delta=delta, steps=steps_of(ledger), unit=cost.unit)
    st.markdown(
        f"In words: if an attacker thinks that both answers are equally likely, then {guess_words(promise)}. The file "
        "holds the trees with their noisy leaves, other noisy answers such as the number of rows, the ledger, the "
        "certificate, and the schema: names of columns, their ranges and lists, and how everybody knows these. It "
        "holds no row."
    )
    with st.expander("The promise rests on these conditions: with the release, you state that they hold"):
        st.markdown("\n".join(f"- {plain(condition, 600)}" for condition in certificate.assumptions))
    if caution := caution_on_delta(delta, tables.n_persons(table), table.domain.unit):
        st.warning(caution, icon=":material/warning:")
    if not table.is_public:
        st.info(f"The certificate will say: {CHOSEN_BY_LOOKING}", icon=":material/visibility:")
    try:
        size = expected_size(choice)
    except ValueError as problem:  # raised before any noise is drawn, so no ε is spent
        sorry(problem)
        return
    st.markdown(
        f"The file will have about **{size_text(size)}**. A simulated release has this size, and the app could read it "
        "back."
    )
    try:
        book = kept_book() if table.uploaded else None
    except BookError as problem:
        sorry(problem)
        return
    chosen, words = None, None
    if book is not None:
        same_rows = [r for r in releases() if r.table_key == rows_key(table)]
        required = st.container()
        optional = st.expander("Optional: an approver and a limit", expanded=record_question.has_approver(table))
        with required:
            chosen = population_question.ask(book, table, cost, delta, same_rows, optional)
            people = _group_of(chosen)
            words = record_question.ask(table, delta, optional)
    else:
        people = _ask_people(choice)
    is_booked = book is None or chosen is not None
    is_confirmed = _confirm_persons(table) & _confirm_other_people(choice, people) & is_booked
    if book is None and (group := groups().get(people)):
        st.markdown(after_this(group, cost, delta))
    if st.button(f"Release for ε = {epsilon}", type="primary", key="release_now", disabled=not is_confirmed):
        if book is not None and words is None:  # not disabled, because a click would be lost while a text is typed
            sorry("Nothing was released. First answer the questions above.")
            return
        _release(choice, people, chosen, words)


def _group_of(chosen: ChosenPopulation | None) -> int:
    """Return the group of people for a population: the group of its earlier releases in this session, or a new one."""
    name = chosen.population.name if chosen else ""
    return next((r.people for r in releases() if r.population == name != ""), max(groups(), default=0) + 1)


def after_this(group: list[Release], cost: Cost, delta: float = 0.0) -> str:
    """Return a sentence with the total of a group after this cost. A Gaussian total is stated as ε at δ.

    The total is for the unit of privacy of this cost. Earlier releases with other units are not added.
    """
    same_unit = [r for r in group if r.unit == cost.unit]
    total, relation = spent(same_unit, cost, delta=delta)
    at = max(delta, delta_of(same_unit))
    mixed = len({cost.neighbors, *(r.neighbors for r in same_unit)}) > 1
    in_mu = " (a Gaussian release in μ)" if at else ""
    added, exchanged = (in_words(r, cost.unit) for r in (ADD_REMOVE, REPLACE_ONE))
    twice = f"A release for “{added}” counts twice{in_mu} for “{exchanged}”. " if mixed else ""
    return (
        f"After this release, this session will have spent **ε = {sum_text(total)}{at_delta(at)}** "
        f"({in_words(relation, cost.unit)}) on {_people_of(group)}. {twice}{not_added(group, cost, delta=delta)}"
    ).rstrip()


def _confirm_persons(table: Table) -> bool:
    """Return whether it is known which rows belong to one person. Without an answer in the Data tab, ask here."""
    if table.key in state.PERSONS_WITHOUT_COLUMN.value:
        st.warning(NO_COLUMN, icon=":material/warning:")
        return False
    if table.unit is not None or table.rows_are_persons:
        return True
    return st.checkbox(
        "Each row is a different person. If a person may have several rows, ε counts once for each row of the "
        "person: close this dialog, and choose the column that identifies persons in the Data tab.",
        key=state.CONFIRM_PERSONS(table.key[:12]),
    )


def _which_rows(table: Table) -> str:
    """Return a sentence about the unit of privacy, and one about left-out rows; empty if neither applies."""
    words, n_left_out = "", len(table.frame) - tables.n_labeled(table)
    if table.domain.unit is not None:
        words = f" All rows with the same **{plain(table.domain.unit, 40)}** are one person."
    if n_left_out:
        words += f" {plural(n_left_out, 'row')} without a listed label {'is' if n_left_out == 1 else 'are'} left out."
    return words


def _people_of(group: list[Release]) -> str:
    return f"the people in {table_names(group)}"


def _ask_people(choice: Choice) -> int:
    """Ask which group of people the rows describe, and return the group.

    A file that was only saved again has the same group as before.
    """
    grouped = groups()
    new = max(grouped, default=0) + 1
    if not grouped:
        return new
    add_up = {g: all(r.unit == choice.table.domain.unit for r in group) for g, group in grouped.items()}
    if same_rows := [r for r in releases() if r.table_key == rows_key(choice.table)]:
        people = same_rows[0].people
        st.markdown(
            f"An earlier forest came from these rows ({numbered(same_rows)}), so they hold the same people"
            f"{': **costs add up**' if add_up[people] else ''}."
        )
        return people
    options = [*grouped, new]
    return st.radio(
        "Do these rows hold the same people as an earlier release?",
        options,
        index=options.index(releases()[-1].people),
        help="Answer yes if anybody is in both tables. A file that was only saved again, filtered or extended holds "
        "the same people.",
        format_func=lambda g: (
            "No, nobody is in both"
            if g == new
            else f"Yes, as in {numbered(grouped[g])} ({table_names(grouped[g])}){': costs add up' if add_up[g] else ''}"
        ),
    )


def _confirm_other_people(choice: Choice, people: int) -> bool:
    """Ask for confirmation if the user states that the people differ although the rows look like earlier ones.

    Return whether the user has confirmed this statement, or True if there is nothing to confirm.
    """
    shape, key = shape_of(choice.table), rows_key(choice.table)
    similar = [r for r in releases() if r.people != people and r.table_key != key and may_be_same_rows(r.shape, shape)]
    if not similar:
        return True
    return st.checkbox(
        f"{likeness(similar, shape)}. I state that nobody is in both tables.",
        key=state.REALLY_OTHERS(key, people),
    )


def _release(
    choice: Choice, people: int, chosen: ChosenPopulation | None = None, words: RecordWords | None = None
) -> None:
    """Release the forest. Keep the release even if the user closes the dialog meanwhile: drawn noise costs ε."""
    kept = releases()
    try:
        with st.spinner("Drawing exact noise …"):
            made = make(choice, people, len(kept) + 1, chosen, words)
            kept.append(made)  # inside the spinner: if the dialog is closed, this run ends when the spinner ends
    except ValueError as problem:  # DomainError and BudgetError are ValueErrors
        sorry(problem)
        return
    state.JUST_RELEASED.value = made
    st.rerun(scope="fragment")


def _download(release: Release, place: str) -> None:
    with st.container(horizontal=True):
        st.download_button(
            f"Download the forest ({size_text(len(release.file))})",
            release.file,
            release.file_name,
            "application/gzip",
            on_click="ignore",
            key=f"json_{place}_{release.number}",
        )
        if release.record is not None:
            record_question.downloads(release.record, f"{place}_{release.number}")


def released_here() -> None:
    """Show each forest of this session that can still be downloaded, with its certificate."""
    for release in releases_in_session():
        with st.expander(f"Release {release.number}: {plain(release.title, 40)}, ε = {_epsilon_of(release)}"):
            badge("Released")
            st.code(release.certificate, language=None, wrap_lines=True)
            _download(release, "in_tab")


def _epsilon_of(release: Release) -> str:
    return f"{epsilon_text(release.epsilon)}{at_delta(release.delta)}"
