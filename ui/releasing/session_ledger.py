"""The session's ledger: the forests released in this session, and their cost to the people in the rows.

Releases on the same people form a group. The costs in a group add up.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.book.record import ReleaseRecord
from dpforest.book.sums import Cost, added_up, as_loss, epsilon_under, loss_under
from dpforest.privacy.hashing import GOLDEN
from dpforest.privacy.ledger import ADD_REMOVE, REPLACE_ONE, unit_noun
from dpforest.privacy.loss import GAUSSIAN, PrivacyLoss
from dpforest.privacy.tradeoff_curve import Steps
from dpforest.risk.guarantee import Guarantee
from dpforest.tables.features import plural, text
from ui import state
from ui.forest.forests import NEIGHBORS
from ui.releasing import app_book
from ui.shared.controls import among, drop_unknown
from ui.shared.loss_words import at_delta, belief_words, guess_words
from ui.shared.tables import Table
from ui.shared.wording import plain, sum_text

# The words that the control shows for each neighbor relation.
IN_WORDS: Final = {relation: words for words, relation in NEIGHBORS.items()}
CLEARED: Final = "cleared table"


@dataclass(frozen=True)
class Release:
    """One forest that was released in this session.

    Parameters
    ----------
    table_key : str
        Key of the rows (`rows_key`). The same key means the same rows, but different keys may mean the same people.
    people : int
        Number of the group of people that the rows describe, as stated by the user. Costs within a group add up.
    file : bytes
        The forest's file for download; empty after the user has cleared the table.
    shape : (int, frozenset of str)
        Number of rows, and names of the columns; (0, empty set) after the user has cleared an uploaded table.
    mu_squared : Fraction or None
        Cost of a Gaussian release, whose `epsilon` is stated at `delta`; None for a release with pure ε.
    steps : tuple of (Fraction, int)
        For a release with pure ε, the ε of each kind of step in its ledger and the number of such steps (`steps_of`).
    unit : str or None
        Column of identifiers if the release protects a person with all of their rows (`Domain.unit`), else None. This
        name stays when the user clears the table, because the released file has it and later sums depend on it.
    population : str
        Population of the user's book in which the release is booked; empty if this server keeps no book.
    record : ReleaseRecord or None
        Record of a booked release.
    """

    number: int
    title: str
    forest: str
    table_key: str
    uploaded: bool
    people: int
    epsilon: Fraction
    neighbors: str
    certificate: str
    file: bytes
    shape: tuple[int, frozenset[str]] = (0, frozenset())
    mu_squared: Fraction | None = None
    delta: float = 0.0
    steps: Steps = ()
    unit: str | None = None
    population: str = ""
    record: ReleaseRecord | None = None

    @property
    def loss(self) -> PrivacyLoss:
        """Cost of the release as a loss, in ε or μ² (squared parameter of Gaussian privacy). Losses add up."""
        return as_loss(self.epsilon) if self.mu_squared is None else PrivacyLoss.gaussian(self.mu_squared)

    @property
    def cost(self) -> Cost:
        """Loss of the release, with its neighbor relation and its unit of privacy."""
        return Cost(self.loss, self.neighbors, self.unit)

    @property
    def file_name(self) -> str:
        return f"forest_{self.number}.json.gz"


# ---------------------------------------------------------------- sums and groups of people


def releases() -> list[Release]:
    """Return all releases of this session, including those on cleared tables, because their cost stays spent."""
    kept = state.RELEASES.value
    # An old session may hold values of another type, which are no releases.
    kept[:] = [each for each in kept if isinstance(each, Release)]
    return kept


def releases_in_session() -> list[Release]:
    """Return the releases whose forest can still be downloaded and used."""
    return [r for r in releases() if r.file]


def groups() -> dict[int, list[Release]]:
    """Return the releases by group of people, in the order of each group's first release."""
    return _grouped(releases(), "people")


def _grouped(all_releases: list[Release], attribute: str) -> dict[Any, list[Release]]:
    """Return the releases by the value of an attribute, in the order of each value's first release."""
    grouped: dict[Any, list[Release]] = {}
    for release in all_releases:
        grouped.setdefault(getattr(release, attribute), []).append(release)
    return grouped


def by_unit(group: list[Release]) -> dict[str | None, list[Release]]:
    """Return the releases by unit of privacy. The costs of releases with the same unit add up."""
    return _grouped(group, "unit")


def delta_of(group: list[Release]) -> float:
    """Return the δ at which a sum is reported: the largest δ of the group's releases."""
    return max((r.delta for r in group), default=0.0)


def spent(group: list[Release], *more: Cost, delta: float = 0.0) -> tuple[Fraction, str]:
    """Return (ε, relation) of releases on the same people, together with planned costs.

    If units of privacy differ, the sum is for one row (`added_up`). ε is stated at the larger of two δ: the δ of the
    releases (`delta_of`) and the δ of the planned costs (`delta`).
    """
    return added_up([*(r.cost for r in group), *more], max(delta, delta_of(group)))


def promise_of(group: list[Release]) -> Guarantee:
    """Return the guarantee of all releases on the same people together, with their exact trade-off curve.

    The guarantee holds for the unit of privacy of the releases. If their units differ, it holds for one row
    (`added_up`).
    """
    total, relation = spent(group)
    losses = [loss_under(r.loss, r.neighbors, relation) for r in group if r.mu_squared is not None]
    mu_squared = PrivacyLoss.total(losses, GAUSSIAN).mu_squared if losses else None
    pure = [(r.steps or ((r.epsilon, 1),), r.neighbors) for r in group if r.mu_squared is None]
    steps = tuple((epsilon_under(step, neighbors, relation), n) for ledger, neighbors in pure for step, n in ledger)
    units = list(by_unit(group))
    return Guarantee(total, delta_of(group), relation, mu_squared, steps, units[0] if len(units) == 1 else None)


def merge(people: int, others: int) -> None:
    """Merge two groups that are the same people, so that their costs add up."""
    _update(lambda r: replace(r, people=people) if r.people == others else r)


def take_out(table_key: str) -> None:
    """Move the releases on a table to a new group.

    The user has stated that nobody in the table is in another table of the group.
    """
    new = max(groups(), default=0) + 1
    _update(lambda r: replace(r, people=new) if r.table_key == table_key else r)


def forget_tables() -> None:
    """Forget the files and records of all releases, and the names and digests of uploads. Keep costs and groups."""
    names: dict[str, str] = {}
    start = len({r.table_key for r in releases() if r.table_key.startswith(CLEARED)}) + 1
    for r in releases():
        if r.uploaded and not r.table_key.startswith(CLEARED):
            names.setdefault(r.table_key, f"{CLEARED} {start + len(names)}")
    _update(
        lambda r: replace(
            r,
            title=names.get(r.table_key, r.title),
            table_key=names.get(r.table_key, r.table_key),
            certificate="",
            file=b"",
            record=None,
            shape=(0, frozenset()) if r.uploaded else r.shape,
        )
    )


def _update(change: Callable[[Release], Release]) -> None:
    state.RELEASES.value = [change(r) for r in releases()]


# ---------------------------------------------------------------- the same rows


def rows_key(table: Table) -> str:
    """Return a key of a table's rows: the name of a bundled table, or the digest of an upload's rows.

    The key does not depend on the order of rows and columns, or on how the file writes a number.
    """
    if table.csv is None:
        return table.key
    known = state.ROW_KEYS.value
    if table.key not in known:
        known[table.key] = digest_of_rows(table.csv.table)
    return known[table.key]


def shape_of(table: Table) -> tuple[int, frozenset[str]]:
    """Return the number of rows and the names of the columns."""
    return len(table.frame), frozenset(str(name).strip() for name in table.frame)


def may_be_same_rows(one: tuple[int, frozenset[str]], other: tuple[int, frozenset[str]]) -> bool:
    """Return whether two tables may hold the same rows: row counts are equal, and one has all columns of the other.

    >>> ab, abc = frozenset("ab"), frozenset("abc")
    >>> may_be_same_rows((300, ab), (300, abc)), may_be_same_rows((300, ab), (301, ab))
    (True, False)
    """
    return one[0] == other[0] and bool(one[1] & other[1]) and (one[1] <= other[1] or other[1] <= one[1])


def likeness(group: list[Release], shape: tuple[int, frozenset[str]]) -> str:
    """Return a phrase that says what a table of this shape has in common with the tables of `group`."""
    columns = "Same columns" if all(r.shape[1] == shape[1] for r in group) else "Mostly the same columns"
    return f"{columns}, same number of rows as {numbered(group)}"


def digest_of_rows(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the rows, which does not depend on the order of rows and columns.

    >>> written = pd.DataFrame({"age": [22, 31], "city": ["Ulm", None]})
    >>> again = pd.DataFrame({"city": [None, "Ulm"], "age": ["31.0", "22.00"]})
    >>> digest_of_rows(written) == digest_of_rows(again), digest_of_rows(written) == digest_of_rows(written[:1])
    (True, False)
    """
    by_name = sorted((str(name).strip(), j) for j, name in enumerate(frame))
    rows = np.zeros(len(frame), np.uint64)
    for _, j in by_name:
        codes, values = pd.factorize(frame.iloc[:, j])  # a missing cell has the code -1, which selects the last digest
        cells = np.array([*(_normal(value) for value in values), "missing"], object)
        hashes = pd.util.hash_array(cells, categorize=False)
        rows = pd.util.hash_array(rows * GOLDEN + hashes[codes])
    names = "\n".join(name for name, _ in by_name)
    return hashlib.sha256(names.encode(errors="replace") + b"\0" + np.sort(rows).tobytes()).hexdigest()


def _normal(value: object) -> str:
    """Return a cell as text that starts with "=", so that no cell equals "missing". Equal numbers give equal texts."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    return f"={text(number)}" if math.isfinite(number) else f"={text(value).strip()}"


# ---------------------------------------------------------------- texts


def in_words(relation: str, unit: str | None) -> str:
    """Return a neighbor relation in words, for a unit of privacy.

    >>> in_words("add-remove", None), in_words("replace-one", "patient_id")
    ('adding or removing one row', 'a person exchanged')
    """
    return IN_WORDS[relation].replace("row", unit_noun(unit))


def sentence(group: list[Release]) -> str:
    """Return the total cost of a group as a sentence. If units of privacy differ, return a sentence for each unit."""
    return " ".join([*(_sum_sentence(same_unit) for same_unit in by_unit(group).values()), not_added(group)]).rstrip()


def not_added(group: list[Release], *more: Cost, delta: float = 0.0) -> str:
    """Return sentences that say why releases with different units of privacy are not added; else an empty text.

    The sentences state the sum for one row, because no other sum is known (`added_up`).
    """
    units = list(dict.fromkeys([*(r.unit for r in group), *(cost.unit for cost in more)]))
    if len(units) < 2:
        return ""
    (total, _), at = spent(group, *more, delta=delta), max(delta, delta_of(group))
    columns = [f"**{plain(unit, 40)}**" for unit in units if unit is not None]
    persons = [f"a person (all rows with the same {column})" for column in columns]
    listed = [*(["a row"] if None in units else []), *persons]
    why = (
        "a release for a row counts once for each of these rows"
        if None in units
        else "rows with the same value of one column may differ in the other"
    )
    return (
        f"Releases for {' and for '.join(listed)} are **not added**. If one row is exchanged for another with the same "
        f"{' and '.join(columns)}, all these releases together cost ε = {sum_text(total)}{at_delta(at)}. For a person "
        f"with all of their rows, no sum is known, because {why}."
    )


def _sum_sentence(group: list[Release]) -> str:
    """Return a sentence with the sum of releases of one unit of privacy.

    If some releases count twice in the sum, the sentence lists its terms.
    """
    unit = group[0].unit
    total, relation = spent(group)
    delta = delta_of(group)
    once, twice = (sum((r.epsilon for r in group if r.neighbors == n), Fraction(0)) for n in (REPLACE_ONE, ADD_REMOVE))
    mixed = once > 0 and twice > 0
    parts = f" = 2 × {sum_text(twice)} + {sum_text(once)}" if mixed and not delta else at_delta(delta)
    twice_in = " (a Gaussian release in μ)" if delta else ""
    twice_sentence = f" A release for “{in_words(ADD_REMOVE, unit)}” counts twice{twice_in}." if mixed else ""
    person_words = "" if unit is None else f", by {plain(unit, 40)}"
    return (
        f"**Spent in this session** on {table_names(group)}: **ε = {sum_text(total)}{parts}** "
        f"({in_words(relation, unit)}{person_words}) in {plural(len(group), 'release')}.{twice_sentence}"
    )


def table_names(group: list[Release]) -> str:
    """Return the names of a group's tables, as markdown."""
    return plain(_titles(group), 90)


def _titles(group: list[Release]) -> str:
    """Return the names of a group's tables as plain text, for places that do not show markdown."""
    return " and ".join(dict.fromkeys(r.title if len(r.title) <= 40 else f"{r.title[:39]}…" for r in group))


def numbered(group: list[Release]) -> str:
    """Return the numbers of a group's releases, in words."""
    return f"release{'' if len(group) == 1 else 's'} {', '.join(str(r.number) for r in group)}"


def by_table(group: list[Release]) -> str:
    """Return the tables of a group, each with the numbers of its releases, as markdown."""
    return " and ".join(
        f"**{table_names(of_table)}** ({numbered(of_table)})" for of_table in _grouped(group, "table_key").values()
    )


def explained(group: list[Release]) -> str:
    """Explain the sum of a group, or its sum for each unit of privacy, to somebody who does not know ε."""
    units = by_unit(group)
    if len(units) == 1:
        return _sum_explained(group)
    of_units = [f"{numbered(unit).capitalize()}: {_sum_explained(unit)}" for unit in units.values()]
    return " ".join([*of_units, not_added(group), f"With all of them, {guess_words(promise_of(group))}."])


def _sum_explained(group: list[Release]) -> str:
    """Explain the sum of releases of one unit of privacy."""
    (total, relation), delta = spent(group), delta_of(group)
    noun, added, exchanged = unit_noun(group[0].unit), *(in_words(r, group[0].unit) for r in (ADD_REMOVE, REPLACE_ONE))
    epsilon = f"{sum_text(total)}{at_delta(delta)}"
    sum_words = (
        f"**Costs add up.** Whoever has all these forests may learn as much as from one forest at ε = {epsilon}. "
        if len(group) > 1
        else ""
    )
    if relation == ADD_REMOVE:
        twice, _ = added_up([r.cost for r in group], delta, REPLACE_ONE)
        scope_sentence = (
            f"This holds for “{added}” (add-remove). For “{exchanged}” (replace-one), the cost counts twice"
            f"{' in μ' if delta else ''}, because one {noun} leaves and one comes: ε = {sum_text(twice)}"
            f"{at_delta(delta)}."
        )
    else:
        mixed = any(r.neighbors == ADD_REMOVE for r in group)
        scope_sentence = (
            f"If a {noun} is exchanged, one {noun} leaves and one comes, so a release for “{added}” (add-remove) "
            f"counts twice here. A release for “{exchanged}” (replace-one) has no ε for “{added}”, so mixed releases "
            f"are added up for “{exchanged}”."
            if mixed
            else f"This holds for “{exchanged}” (replace-one), and says nothing about “{added}”."
        )
    guess, belief = guess_words(promise_of(group)), belief_words(promise_of(group))
    return f"{sum_words}At ε = {epsilon}, {guess}. {f'{belief}. ' if belief else ''}{scope_sentence}"


def table(group: list[Release]) -> pd.DataFrame:
    """Return a table with a row for each release of a group, its cost, and the total. The table fits on a phone.

    If units of privacy differ, the sum is for one row (`added_up`).
    """
    (total, relation), delta, unit = spent(group), delta_of(group), promise_of(group).unit
    rows = [
        {
            "no.": str(r.number),
            "forest": plain(r.forest, 40),
            "ε": f"{sum_text(r.epsilon)}{at_delta(r.delta)} for {in_words(r.neighbors, r.unit)}",
            "adds": _adds(loss_under(r.loss, r.neighbors, relation)),
        }
        for r in group
    ]
    together = ("", "**together**", f"for {in_words(relation, unit)}", f"**{sum_text(total)}**{at_delta(delta)}")
    rows.append(dict(zip(rows[0], together, strict=True)))
    return pd.DataFrame(rows)


def _adds(loss: PrivacyLoss) -> str:
    """Return what a release adds to a sum, as text: an ε or a μ²."""
    return f"{'μ² ' if loss.kind == GAUSSIAN else ''}{sum_text(loss.amount)}"


# ---------------------------------------------------------------- in the sidebar of every page


def in_sidebar() -> None:
    """Show the total cost of each group, and a button to explain and correct it. Without releases, draw nothing."""
    if not releases():
        return
    with st.sidebar:
        for group in groups().values():
            st.caption(sentence(group))
        with st.popover("Explain or correct the sum"):
            _explain_and_correct()


def _explain_and_correct() -> None:
    """Show the releases in each sum, an expander that explains the sum, and questions that correct the sums."""
    grouped = groups()
    for people, group in grouped.items():
        if len(group) == 1:
            (r,) = group
            epsilon = f"{sum_text(r.epsilon)}{at_delta(r.delta)}"
            st.markdown(f"{by_table(group)}: {plain(r.forest)}, ε = {epsilon} for {in_words(r.neighbors, r.unit)}")
        else:
            st.markdown(by_table(group))
            st.table(table(group), hide_index=True, border="horizontal", alt="Releases and what they cost.")
        _take_out(group)
        _same_as(people, group, {g: grouped[g] for g in list(grouped)[: list(grouped).index(people)]})
    if len(grouped) > 1:
        st.caption(
            "You stated that nobody is in more than one of these groups. For anybody who is, all of their groups count."
        )
    with st.expander("What this means"):
        for group in grouped.values():
            st.caption(f"{by_table(group)}. {explained(group)}" if len(grouped) > 1 else explained(group))
        st.caption(_BOOKED if app_book.is_kept() else _OF_SESSION)


_BOOKED: Final = (
    "This sum is for this session. The app also books releases of uploaded tables, where their sum "
    "survives the session: see the page “Releases”."
)
_OF_SESSION: Final = "The app knows of this session only. Keep a record of the sum where the data are kept."


def _same_as(people: int, group: list[Release], earlier: dict[int, list[Release]]) -> None:
    """Ask whether a group has the same people as an earlier group. If so, merge the groups, so that costs add up."""
    if not earlier:
        return
    key = state.SAME_PEOPLE(people)
    named = {g: f"yes, as in {numbered(others)}" for g, others in earlier.items()}

    def merge_groups() -> None:
        if among(key.value, earlier):
            merge(key.value, people)

    drop_unknown(key, [None, *earlier])
    st.selectbox(
        f"{numbered(group).capitalize()}: are these the same people as in an earlier release?",
        [None, *earlier],
        format_func=lambda g: "no" if g is None else named[g],
        key=key,
        on_change=merge_groups,
    )


def _take_out(group: list[Release]) -> None:
    """Offer to move a table out of a sum, if the user states that nobody in it is in another table of the sum."""
    tables = _grouped(group, "table_key")
    if len(tables) < 2:
        return
    titles = {k: _titles(of_table) for k, of_table in tables.items()}
    if len(set(titles.values())) < len(titles):  # two uploads may have the same file name
        titles = {k: f"{titles[k]} ({numbered(of_table)})" for k, of_table in tables.items()}
    key = state.TAKE_OUT(group[0].people)
    drop_unknown(key, [None, *titles])
    table_key = st.selectbox(
        "Is a table in this sum by mistake?",
        [None, *titles],
        format_func=lambda k: "no, the sum is right" if k is None else f"yes, {titles[k]}",
        key=key,
    )
    if table_key is None:
        return
    shape = tables[table_key][0].shape
    if similar := [r for r in group if r.table_key != table_key and may_be_same_rows(r.shape, shape)]:
        st.caption(f"{likeness(similar, shape)}: are these really different people?")
    sure = st.checkbox(
        f"I state that nobody in {plain(titles[table_key], 90)} is in another table of this sum.",
        key=state.OTHER_PEOPLE(group[0].people, table_key),
    )
    st.button("Take it out of the sum", disabled=not sure, on_click=take_out, args=(table_key,), key=f"{key}_now")
