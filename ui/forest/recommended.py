"""A line that names the forest that a public rule recommends for a table, with a button that shows this forest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from dpforest.evaluation.recommendation import recommend
from dpforest.limits import MAX_BOUND
from dpforest.privacy.ledger import unit_noun
from dpforest.tables.features import plural
from ui import state
from ui.forest.forests import FORESTS, ForestSettings, as_it_comes
from ui.shared import cache, tables
from ui.shared.loss_words import at_delta
from ui.shared.page import badge
from ui.shared.tables import Table
from ui.shared.wording import plain

_PUBLIC: Final = (
    "Apart from ε and δ, the rule uses only the rounded number of rows and the number of classes, which are public or "
    "stated as public. So you may publish the recommendation and its reason."
)
_NOT_YET: Final = (
    "Do not publish the recommendation yet: first confirm the number of {noun}s here, and the classes in the Data tab."
)
_COMPARE: Final = "Compare shows how accurate all forests are on held-out rows of this table."


def rounded(number: int) -> int:
    """Return a number with one significant digit.

    >>> [rounded(n) for n in (7, 96, 4_712, 32_561)]
    [7, 100, 5000, 30000]
    """
    return int(float(f"{number:.0e}"))


def recommendation(table: Table, settings: ForestSettings) -> tuple[ForestSettings, str]:
    """Return the forest that the rule recommends at the ε of `settings` and at most its δ, and the reason."""
    key = (table.schema_key, tables.fingerprint(table.domain), settings.epsilon, settings.delta, size_of(table))
    kind, delta, reason = _by_rule(key, table)
    return as_it_comes(kind, "certified", settings.epsilon, settings.neighbors, delta=delta), reason


# Without a cache, the rule takes 12 ms in each run of the page (measured on Adult).
@cache.by_table(everybody=256, session=64)
def _by_rule(key: tuple, _table: Table) -> tuple[str, float, str]:
    epsilon, delta, size = key[2:]
    estimator, reason = recommend(_table.domain, epsilon, delta, size=min(size, MAX_BOUND))
    kind = next(name for name, forest in FORESTS.items() if forest.estimator is type(estimator))
    return kind, getattr(estimator, "delta", 0.0), reason


def line(
    table: Table, settings: ForestSettings, switch: Callable[[ForestSettings], None] | None = None, button: str = ""
) -> None:
    """Draw the line, with the button `button` that calls `switch` with the recommended forest.

    Without `switch`, there is no button. The recommendation depends on the ε, the δ and the neighbor relation of
    `settings`. If the page already shows the recommended forest, the line says so, and there is no button.
    """
    forest, reason = recommendation(table, settings)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="recommended"):
        start = f"At ε = {settings.epsilon:g}{at_delta(settings.delta)} and for"
        about = _about(table)
        if table.is_public:
            start += f" {about},"
        else:
            st.markdown(start, width="content")
            start = ""
            _ask_size(table, about)
        is_shown = switch is not None and (forest.kind, forest.delta) == (settings.kind, settings.delta)
        forest_name = "this forest" if is_shown else FORESTS[forest.kind].title.split(" (")[0].lower()
        at = at_delta(forest.delta) if forest.delta != settings.delta else ""
        may_publish = _PUBLIC if _is_public(table) else _NOT_YET.format(noun=unit_noun(table.unit))
        st.markdown(
            f"{start} a public rule recommends **{forest_name}**{at}".strip(),
            width="content",
            help=f"{plain(reason, 400)} {may_publish} {_COMPARE}",
        )
        if switch is not None and not is_shown:
            st.button(button, key="to_recommended", on_click=switch, args=(forest,))
            if table.uploaded:
                st.caption(FORESTS[forest.kind].sentence, width="content")


def size_of(table: Table) -> int:
    """Return the number of persons that the rule uses: the number that the user stated, or else the rounded number."""
    return state.PUBLIC_SIZES.value.get(_key(table)) or max(rounded(tables.n_persons(table)), 1)


def _is_public(table: Table) -> bool:
    """Return whether the number of persons and the classes, which the rule uses, are public."""
    is_stated = _key(table) in state.PUBLIC_SIZES.value and table.domain.classes_source != "data"
    return table.is_public or is_stated


def _about(table: Table) -> str:
    return f"about {plural(size_of(table), unit_noun(table.unit))}"


def _ask_size(table: Table, about: str) -> None:
    """Ask for a number of persons that everybody may know, because the number of persons in the file is private."""
    noun, size = unit_noun(table.unit), size_of(table)
    with st.popover(about, width="content"):
        st.markdown(
            f"The rule reads how many {noun}s are in the table. The app rounded their number. Confirm a number that "
            "everybody may know; then the recommendation reveals nothing about the rows."
        )
        st.number_input(
            f"About how many {noun}s?", 1, MAX_BOUND, min(size, MAX_BOUND), key=state.TYPED_SIZE(_key(table))
        )
        st.button("Everybody may know this number", on_click=_confirm, args=(_key(table),))
    if not _is_public(table):
        badge("Do not share")


def _confirm(key: str) -> None:
    """Keep the typed number.

    This callback reads the number from the session, because an argument would hold the number of the previous run.
    """
    if (size := state.TYPED_SIZE(key).value) is not None:
        state.PUBLIC_SIZES.value[key] = size


def _key(table: Table) -> str:
    """Return a key of the table and its unit.

    The key contains the unit, because a confirmed number of rows must not count as a number of persons.
    """
    return f"{table.key[:12]}_{table.domain.unit or ''}"
