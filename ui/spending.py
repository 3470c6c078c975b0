"""What was released in this session, and what it costs the people whose rows it came from: the session's ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import pandas as pd
import streamlit as st

from ui.wording import plain, plural, share_text, sum_text, value_epsilon

ADD_REMOVE, REPLACE_ONE = "add-remove", "replace-one"
CLEARED: Final = "cleared table"
NOBODY: Final = "nobody: these are other people"


@dataclass(frozen=True)
class Release:
    """One forest that was released in this session.

    Parameters
    ----------
    table_key : str
        What the rows were: the same key is the same rows, another one may still be the same people.
    people : int
        Which group of people the rows describe, as the user says. Costs within a group add up.
    json : str
        The forest; empty once its table was cleared.
    """

    number: int
    title: str
    forest: str
    table_key: str
    uploaded: bool
    people: int
    epsilon: Fraction
    neighbours: str
    certificate: str
    json: str

    @property
    def file_name(self) -> str:
        return f"forest_{self.number}.json"


# ---------------------------------------------------------------- sums, and who is who


def releases() -> list[Release]:
    """All releases of this session, those of cleared tables too: what was spent stays spent."""
    return st.session_state.setdefault("releases", [])


def at_hand() -> list[Release]:
    """Those whose forest can still be downloaded and used."""
    return [r for r in releases() if r.json]


def groups() -> dict[int, list[Release]]:
    """Releases by the people they are about, in the order of the first release of each."""
    found: dict[int, list[Release]] = {}
    for release in releases():
        found.setdefault(release.people, []).append(release)
    return found


def counted(epsilon: Fraction, neighbours: str, relation: str) -> Fraction:
    """ε of one release under the relation of a sum.

    Exchanging a row is removing one and adding one, so ε under add-remove costs 2ε under replace-one. There is no way
    back: replace-one says nothing about tables of different size.

    >>> counted(Fraction(1, 2), "add-remove", "replace-one")
    Fraction(1, 1)
    """
    if neighbours == REPLACE_ONE and relation == ADD_REMOVE:
        raise ValueError("What was released under replace-one has no ε under add-remove.")
    return epsilon * (1 if neighbours == relation else 2)


def added_up(costs: Iterable[tuple[Fraction, str]]) -> tuple[Fraction, str]:
    """(ε, relation) of several releases on the same people, each given by its own; mixed ones under replace-one.

    >>> added_up([(Fraction(1), "add-remove"), (Fraction(1), "replace-one")])
    (Fraction(3, 1), 'replace-one')
    """
    costs = list(costs)
    relation = ADD_REMOVE if all(neighbours == ADD_REMOVE for _, neighbours in costs) else REPLACE_ONE
    return sum((counted(*cost, relation) for cost in costs), Fraction(0)), relation


def spent(own: list[Release], *more: tuple[Fraction, str]) -> tuple[Fraction, str]:
    """What releases on the same people cost together, with some that are still to come, and under which relation."""
    return added_up([*((r.epsilon, r.neighbours) for r in own), *more])


def merge(people: int, others: int) -> None:
    """Two groups are the same people: their costs add up."""
    _update(lambda r: replace(r, people=people) if r.people == others else r)


def take_out(table_key: str) -> None:
    """Nobody in this table is in another table of its group, says the user: all its releases become a group."""
    new = max(groups(), default=0) + 1
    _update(lambda r: replace(r, people=new) if r.table_key == table_key else r)


def forget_tables() -> None:
    """Forget forests, and the names and digests of uploads; keep what was spent, and on whom."""
    names: dict[str, str] = {}
    start = len({r.table_key for r in releases() if r.table_key.startswith(CLEARED)}) + 1
    for r in releases():
        if r.uploaded and not r.table_key.startswith(CLEARED):
            names.setdefault(r.table_key, f"{CLEARED} {start + len(names)}")
    _update(
        lambda r: replace(
            r, title=names.get(r.table_key, r.title), table_key=names.get(r.table_key, r.table_key),
            certificate="", json="",
        )
    )  # fmt: skip


def _update(change) -> None:
    st.session_state["releases"] = [change(r) for r in releases()]


# ---------------------------------------------------------------- in words


def whom(own: list[Release]) -> str:
    """The tables of a group, as markdown."""
    return plain(_titles(own), 90)


def _titles(own: list[Release]) -> str:
    """The tables of a group, as they are called: for what shows text as it is."""
    return " and ".join(dict.fromkeys(r.title if len(r.title) <= 40 else f"{r.title[:39]}…" for r in own))


def numbered(own: list[Release]) -> str:
    """The releases of a group."""
    return f"release{'' if len(own) == 1 else 's'} {', '.join(str(r.number) for r in own)}"


def explained(own: list[Release]) -> str:
    """What the sum of a group means, for somebody who meets ε for the first time."""
    total, relation = spent(own)
    epsilon, share = sum_text(total), lambda e: share_text(float(e))
    adds = (
        f"**Costs add up.** Whoever has all these forests may learn as much as from one forest at ε = {epsilon}. "
        if len(own) > 1
        else ""
    )
    if relation == ADD_REMOVE:
        sure = (
            f"unsure (50 %) whether somebody is in the table, one can become at most {share(total)} sure; unsure "
            f"between two values of theirs, at most {share(value_epsilon(float(total), relation))}"
        )
        other = f"For a row exchanged (replace-one) it counts twice, ε = {sum_text(2 * total)}: one leaves, one comes."
    else:
        sure = f"unsure (50 %) between two values of somebody in the table, one can become at most {share(total)} sure"
        mixed = any(r.neighbours == ADD_REMOVE for r in own)
        other = (
            "An exchanged row is one that leaves and one that comes, so what was released under add-remove counts "
            "twice here. There is no way back, so mixed releases are added up under replace-one."
            if mixed
            else "This is for a row exchanged (replace-one); it says nothing about a row more or less."
        )
    return f"{adds}At ε = {epsilon}: {sure}. {other}"


def table(own: list[Release]) -> pd.DataFrame:
    """One row for each release of a group, and what it adds to the sum."""
    total, relation = spent(own)
    rows = [
        {
            "no.": str(r.number),
            "forest": f"{plain(r.forest, 40)}, {plain(r.title, 40)}",
            "ε": sum_text(r.epsilon),
            "relation": r.neighbours,
            "counts as": sum_text(counted(r.epsilon, r.neighbours, relation)),
        }
        for r in own
    ]
    if len(rows) > 1:
        rows.append(dict(zip(rows[0], ("", "**together**", "", relation, f"**{sum_text(total)}**"), strict=True)))
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- in the sidebar of every page


def in_sidebar() -> None:
    """Each group's sum, once something was released; how it comes about, and corrections, on demand."""
    if not releases():
        return
    with st.sidebar:
        for own in groups().values():
            total, relation = spent(own)
            st.caption(
                f"**Spent in this session** on {whom(own)}: **ε = {sum_text(total)}** ({relation}) in "
                f"{plural(len(own), 'release')}."
            )
        with st.popover("How it adds up", key="adds_up"):
            _account()


def _account() -> None:
    found = groups()
    for people, own in found.items():
        st.markdown(f"**{whom(own)}**")
        st.table(table(own), hide_index=True, border="horizontal", alt="Releases and what they cost.")
        st.caption(explained(own))
        _take_out(own)
        _same_as(people, own, {g: found[g] for g in list(found)[: list(found).index(people)]})
    if len(found) > 1:
        st.caption(
            "By what you said, nobody is in more than one of these groups. For somebody who is, their sums add up."
        )
    st.caption("The app knows of this session only. Keep a record of the sum where the data are kept.")


def _same_as(people: int, own: list[Release], earlier: dict[int, list[Release]]) -> None:
    """Two groups turn out to be the same people: said here, and the sum grows at once."""
    if not earlier:
        return
    key = f"same_people_{people}"
    named = {g: f"the people of {numbered(own)} ({_titles(own)})" for g, own in earlier.items()}

    def said() -> None:
        if (same := st.session_state[key]) is not None:
            merge(same, people)

    st.selectbox(
        f"Whom else are the rows of {numbered(own)} about?", [None, *earlier],
        format_func=lambda g: NOBODY if g is None else named[g], key=key, on_change=said,
    )  # fmt: skip


def _take_out(own: list[Release]) -> None:
    """A sum gets smaller only by a statement: a table's rows are other people's after all."""
    titles = {r.table_key: _titles([r]) for r in own}
    if len(titles) < 2:
        return
    key = f"take_out_{own[0].people}"
    out = st.selectbox(
        "Other people after all?", [None, *titles],
        format_func=lambda k: "no, the sum is right" if k is None else f"yes, those of {titles[k]}", key=key,
    )  # fmt: skip
    if out is None:
        return
    sure = st.checkbox(
        f"I state that nobody in {plain(titles[out])} is in another table of this sum.", key=f"{key}_{out}"
    )
    st.button("Take it out of the sum", disabled=not sure, on_click=take_out, args=(out,), key=f"{key}_now")
