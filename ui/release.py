"""The one button that spends: exact noise, once, on all rows; and what was spent in this session."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import streamlit as st

from dpforest.privacy.certificate import Certificate
from ui.page import badge, sorry
from ui.sidebar import Choice
from ui.wording import epsilon_text, plain, plural

LOOKED = "The settings were chosen while looking at figures of this table: what these tell is not covered."


@dataclass(frozen=True)
class Release:
    """One forest that was released in this session."""

    title: str
    table_key: str
    people: int
    epsilon: Fraction
    neighbours: str
    certificate: str
    json: str
    number: int

    @property
    def file_name(self) -> str:
        return f"forest_{self.number}.json"


def releases() -> list[Release]:
    """All releases of this session."""
    return st.session_state.setdefault("releases", [])


def spent(own: list[Release]) -> tuple[Fraction, str]:
    """What releases on the same people cost together, and under which relation.

    Exchanging a row is removing one and adding one, so ε under add-remove costs 2ε under replace-one; there is no way
    back. Mixed releases are therefore added up under replace-one.
    """
    if all(r.neighbours == "add-remove" for r in own):
        return sum((r.epsilon for r in own), Fraction(0)), "add-remove"
    costs = (r.epsilon * (2 if r.neighbours == "add-remove" else 1) for r in own)
    return sum(costs, Fraction(0)), "replace-one"


def certificate_text(certificate: Certificate, caution: object = None) -> str:
    """The certificate as shown: a caution comes right after the line that says CERTIFIED."""
    first, *rest = str(certificate).split("\n")
    said = [f"CAUTION: {' '.join(str(caution).split())}"] if caution else []
    return "\n".join([first, *said, *rest])


def make(choice: Choice, people: int, number: int) -> Release:
    """Exact noise, once, on all rows.

    Raises
    ------
    ValueError
        If the table does not fit its domain, or a setting is out of range.
    """
    table, settings = choice.table, choice.settings
    forest = settings.estimator(table.domain).fit(table.columns(), table.frame[table.label]).released_
    if not table.is_public:
        forest.about["caution"] = LOOKED
    text = certificate_text(forest.certificate, forest.about.get("caution"))
    return Release(
        table.short_title, table.key, people, forest.ledger.spent, settings.neighbours, text, forest.to_json(), number
    )  # fmt: skip


def button(choice: Choice, certificate: Certificate) -> None:
    """In the sidebar: release, or why not."""
    with st.sidebar:
        if not choice.settings.certified:
            st.caption("No release: as published, this forest does not have the privacy it claims.")
        else:
            if st.button("Release this forest", type="primary", width="stretch", disabled=not certificate.certified):
                st.session_state["just_released"] = None
                _dialog(choice)
            if not certificate.certified:
                st.caption(_why_not(certificate))
        for people in sorted({r.people for r in releases()}):
            own = [r for r in releases() if r.people == people]
            total, relation = spent(own)
            st.caption(
                f"**Spent in this session** on {plain(own[0].title, 30)}: ε = {epsilon_text(total)} ({relation}) in "
                f"{plural(len(own), 'release')}."
            )


def _why_not(certificate: Certificate) -> str:
    reasons = certificate.reasons
    more = f" There {'is' if len(reasons) == 2 else 'are'} {len(reasons) - 1} more like it." if len(reasons) > 1 else ""
    return (
        f"Not yet: {plain(reasons[0], 200)}{more} Whoever sees the forest would learn it. Open **Data**, correct what "
        "is there to what everybody may know, and write down where that is known from."
    )


@st.dialog("Release this forest", width="large", on_dismiss="rerun")
def _dialog(choice: Choice) -> None:
    made = st.session_state.get("just_released")
    if made is None:
        _ask(choice)
        return
    badge("Released")
    st.code(made.certificate, language=None, wrap_lines=True)
    _download(made, "in_dialog")
    st.caption("Kept for this session in the Budget tab, and ready on the page “Use a released forest”.")


def _ask(choice: Choice) -> None:
    """What it costs, whom it concerns, and the button."""
    table, settings = choice.table, choice.settings
    st.markdown(
        f"This draws exact noise once, on all {plural(len(table.frame), 'row')} of **{plain(table.short_title)}**. "
        f"It costs **ε = {epsilon_text(settings.epsilon)}** ({settings.neighbours}), which cannot be taken back."
    )
    if not table.is_public:
        st.info(LOOKED + " If this table is public anyway, say so in the Data tab.", icon=":material/visibility:")
    people = _people(choice)
    if st.button(f"Release for ε = {epsilon_text(settings.epsilon)}", type="primary", key="release_now"):
        _release(choice, people)


def _people(choice: Choice) -> int:
    """Which group of people the rows describe: a file saved again is still the same people."""
    groups = {r.people: r for r in releases()}
    new = max(groups, default=0) + 1
    if not groups:
        return new
    same = {r.table_key: r.people for r in releases()}.get(choice.table.key, max(groups))
    options = [*groups, new]
    return st.radio(
        "Do these rows hold the same people as an earlier release?",
        options,
        index=options.index(same),
        format_func=lambda g: (
            "No, other people" if g == new else f"Yes, the people of “{plain(groups[g].title, 40)}”: costs add up"
        ),
    )


def _release(choice: Choice, people: int) -> None:
    try:
        with st.spinner("Drawing exact noise …"):
            made = make(choice, people, len(releases()) + 1)
    except ValueError as problem:  # DomainError and BudgetError are of this kind
        sorry(problem)
        return
    releases().append(made)
    st.session_state["just_released"] = made
    st.rerun(scope="fragment")


def _download(release: Release, place: str) -> None:
    st.download_button(
        "Download the forest as JSON", release.json, release.file_name, "application/json", on_click="ignore",
        key=f"json_{place}_{release.number}",
    )  # fmt: skip


def released_here() -> None:
    """Every forest released in this session, with its certificate."""
    for release in releases():
        with st.expander(f"Release {release.number}: {plain(release.title, 40)}, ε = {epsilon_text(release.epsilon)}"):
            badge("Released")
            st.code(release.certificate, language=None, wrap_lines=True)
            _download(release, "in_tab")
