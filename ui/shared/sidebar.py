"""The sidebar of Explore. A link can set any value, so this module checks the values of the controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpforest.limits import MAX_UPLOAD_MB
from dpforest.models.budget import AUTO
from dpforest.tables.column_kinds import likely_label
from dpforest.tables.csv_table import CsvTable, label_candidates, passed_over
from dpforest.tables.datasets import TableError
from dpforest.tables.domain import DomainError
from dpforest.tables.features import plural
from dpforest.trees.split_scores import depends_on_rows
from ui import state
from ui.forest import boost_controls
from ui.forest.forest_options import Option
from ui.forest.forests import FORESTS, MODES, NEIGHBORS, OPENING, ForestSettings, as_code
from ui.forest.shape_controls import Shape, choose_shape
from ui.releasing import session_ledger
from ui.releasing.app_book import is_kept
from ui.server import uploads
from ui.shared import cache, tables
from ui.shared.controls import LINKED, drop_list_with_unknown, drop_unknown, follow, select
from ui.shared.link import copy_link
from ui.shared.loss_words import caution_on_delta
from ui.shared.page import sorry
from ui.shared.projects import forest_settings, open_project, welcome_back
from ui.shared.tables import Table
from ui.shared.wording import plain, unbroken

# From this value of δ · n on, for n rows, the sidebar notes that δ is not small: δ allows a mechanism that publishes
# δ · n rows on average.
MOST_EXPECTED: Final = 0.01
MOST_NAMED: Final = 5  # largest number of columns that a sentence names


@dataclass(frozen=True)
class Choice:
    """The table and the settings that the sidebar shows."""

    table: Table
    settings: ForestSettings
    shape: Shape | None = None


def choose(epsilon: float, place: DeltaGenerator | None = None) -> Choice | None:
    """Draw the controls, and return their values. Without a table, explain what is missing and return None.

    Parameters
    ----------
    place : container of Streamlit, optional
        Place of the controls of depth, trees and α. By default, they are in the sidebar with the other controls.
    """
    table = _table()
    with st.sidebar:
        # The controls are drawn even without a table, because the settings of a link wait for the user's file.
        settings, shape = _forest(table, epsilon, place)
    if table is None:
        return None
    open_project.save(table, forest_settings.settings_of_page)
    return Choice(table, settings, shape)


def choose_table() -> Table | None:
    """Draw only the controls of data and label, for pages with many forests. Return the table if there is one."""
    table = _table()
    if table is not None:
        open_project.save(table)
    return table


def _table() -> Table | None:
    with st.sidebar:
        help = "A table that comes with the app, or your own."
        name = select("Data", tables.names(), state.DATA, help, tables.DEFAULT)
    return _upload() if name == tables.UPLOAD else _bundled(name)


def _bundled(name: str) -> Table:
    data = tables.bundled(name)
    with st.sidebar:
        st.caption(f"{plain(data.title, 90)}. [Source]({data.url})" if data.url else f"{plain(data.title, 90)}.")
        choices = tables.label_choices(data)
        label = select("Label", choices, state.LABEL, "The column that the forest learns to predict.")
    return tables.bundled_table(data, label)


def _exchange() -> None:
    """Forget the previous file when the user replaces or removes it, because Streamlit would keep it.

    If there is a new file, set the controls to the settings of the chosen project before the page is drawn.
    """
    if (file := state.ATTACHED.pop()) is not None:
        uploads.remove(file.file_id)
    if state.FILE(state.CLEARED.value).value is not None:
        welcome_back.take_settings()


def _upload() -> Table | None:
    with st.sidebar:
        choice_of_project = st.container()
        file = st.file_uploader(
            "CSV file",
            type=["csv", "tsv", "txt", "data"],
            max_upload_size=MAX_UPLOAD_MB,
            key=state.FILE(state.CLEARED.value),
            help="It stays in the memory of the computer that runs this app, and goes nowhere else.",
            on_change=_exchange,
        )
        # A visit to another page empties the widget. The file is kept until the user replaces, removes or clears it.
        file = state.ATTACHED.value = file or state.ATTACHED.value
        attached = f"Attached: {plain(file.name, 40)}. " if file is not None else ""
        forgotten = (
            "forgotten when you press “Clear my data”. If you only close the page, they stay for at least two "
            "minutes. After that, they are deleted when anybody closes a page of the app, or when the app stops"
        )
        saved = (
            " The app saves what you state about its columns, your answers and the settings as a project (page "
            "“Releases”)."
            if is_kept()
            else ""
        )
        st.caption(f"{attached}Its rows stay in memory; they are {forgotten}.{saved}")
        if caution_on_space := uploads.shortage():
            st.caption(caution_on_space)
    if file is None:
        welcome_back.ask(choice_of_project)
        st.info(
            "Attach a CSV file in the sidebar (behind » on a phone) to explore it. A link never carries a file: if you "
            "followed one, attach the same file again and the settings of the link apply to it.",
            icon=":material/attach_file:",
        )
        return None
    try:
        digest = tables.digest_of(file)
        csv = tables.uploaded(digest, file.getvalue(), file.name)
        csv = _without_left_out(csv, digest)
        candidates = label_candidates(csv)
        if not candidates:
            raise TableError(
                "No column has between 2 and 50 different values, so there is nothing to predict; add a column with "
                f"classes. {' '.join(passed_over(csv))}".rstrip()
            )
        with st.sidebar:
            open_project.open_for(digest, file.name, [column.name for column in csv.columns])
            # A visit to another page empties the widget, so the choice is kept here. It is never in the address.
            chosen = state.LABELS.value
            if chosen.get(digest) not in candidates:
                chosen[digest] = likely_label(csv)
            drop_unknown(label_key := state.LABEL_OF(digest[:8]), candidates)
            label = st.selectbox(
                "Label",
                candidates,
                candidates.index(chosen[digest]),
                key=label_key,
                help="The column that the forest learns to predict.",
            )
            chosen[digest] = label
            for sentence in passed_over(csv):
                st.caption(f"Not offered: {plain(sentence, 300)}")
            table = tables.uploaded_table(digest, csv, label)
            if open_project.apply(table):
                table = tables.uploaded_table(digest, csv, label)
            if n := len(table.frame) - tables.n_labeled(table):
                st.caption(f"{plural(n, 'row')} {'has' if n == 1 else 'have'} no listed label and will be left out.")
            welcome_back.in_sidebar(digest, file.name)
            used = {label, *table.domain.columns}
            _say_unused([column.name for column in csv.columns if column.name not in used])
        return table
    except (TableError, DomainError) as problem:
        sorry(problem)
        return None


def _about_delta(delta: float, n_rows: int) -> None:
    """Warn if δ is large for this number of rows, or else note if δ is not small (`MOST_EXPECTED`)."""
    if caution := caution_on_delta(delta, n_rows):
        st.warning(caution, icon=":material/warning:")
    elif delta * n_rows >= MOST_EXPECTED:
        st.caption(
            "With so many rows δ = 10⁻⁶ is not small: δ alone allows a mechanism that publishes one row in a million."
        )


def _say_unused(names: list[str]) -> None:
    """List the columns that no forest learns from, so that the user notices them."""
    if names:
        listed = ", ".join(plain(name, 30) for name in names[:MOST_NAMED])
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        st.caption(f"Not learned from: {listed}{more}. The *Data* tab of Explore says why.")


def _without_left_out(csv: CsvTable, digest: str) -> CsvTable:
    """Ask for columns to leave out, and return the file without them.

    `digest` is that of the whole upload, so it does not change when columns are left out.
    """
    kept = state.LEFT_OUT.value  # a visit to another page empties the widget, so the choice is kept here
    names = [column.name for column in csv.columns]
    with st.sidebar:
        drop_list_with_unknown(key := state.LEFT_OUT_OF(digest[:8]), names)
        left_out = st.multiselect(
            "Columns to leave out",
            names,
            kept.get(digest, []),
            key=key,
            placeholder="none",
            help="Columns that cannot be read (dates, infinite numbers) or should not be learned "
            "from (names, numbers of records).",
        )
    kept[digest] = left_out
    return csv.without(left_out) if left_out else csv


def _forest(table: Table | None, epsilon: float, place: DeltaGenerator | None = None) -> tuple[ForestSettings, Shape]:
    """Draw the controls of the forest, and return the settings and the shape."""
    kind = select(
        "Forest",
        list(FORESTS),
        state.FOREST,
        "Random trees draw their questions at random and spend most of ε on the leaves. Greedy trees choose good "
        "questions and pay for it.",
        OPENING,
    )
    forest = FORESTS[kind]
    st.caption(unbroken(f"{forest.sentence} {forest.advice}"))
    drop_unknown(state.MODE, forest.modes())
    mode = st.radio(
        "Mode",
        list(forest.modes()),
        key=state.MODE,
        bind=LINKED,
        horizontal=True,
        help="Certified, by this program and not by an authority: it is proved that its promise (ε, and δ if above 0) "
        "holds; tests and attacks find no error. As published: as a paper printed it. The paper's claim about ε may "
        "be false; the page Audit states the true loss where it is known.",
    )
    mode = MODES.get(mode, "certified")
    switched = tuple((o.parameter, _switch(o, mode)) for o in forest.options if o.switch and o.choices[mode])
    if table is not None:
        _about_delta(dict(switched).get("delta", 0.0), tables.n_persons(table))
    place = place or st.container()  # filled last, because depth and trees by rule depend on the fine settings
    with st.expander("Fine settings"):
        neighbors = choose_neighbors()
        fine = [option for option in forest.options if option.choices[mode] and not option.switch]
        chosen = tuple((option.parameter, _option(option, mode)) for option in fine)
        extra: tuple[tuple[str, Any], ...] = ()
        bounded = kind == "boosted" or depends_on_rows(dict(chosen).get("criterion", "max"))
        if bounded and mode == "certified" and neighbors == "add-remove":
            extra = (("n_bound", boost_controls.row_bound(table)),)
    settings = ForestSettings(kind, mode, epsilon, AUTO, AUTO, neighbors, (*switched, *extra, *chosen))
    with place:
        return choose_shape(settings, table)


def choose_neighbors() -> str:
    """Ask for the neighbor relation (which pairs of tables a release must make hard to distinguish), and return it."""
    drop_unknown(state.NEIGHBORS, NEIGHBORS)
    neighbors = st.radio(
        "Which change ε covers",
        list(NEIGHBORS),
        key=state.NEIGHBORS,
        bind=LINKED,
        help="ε bounds how much likelier or less likely any release becomes when one row is added or removed "
        "(add-remove), or when one row is exchanged for another (replace-one; the number of rows is then public). If a "
        "column identifies persons, read “person” for “row”.",
    )
    return NEIGHBORS.get(neighbors, "add-remove")


def _switch(option: Option, mode: str) -> Any:
    """Draw a switch and its explanation, and return the value of the parameter that it sets."""
    off, on = option.choices[mode].values()
    switched = st.toggle(option.title, key=option.key, bind=LINKED)
    st.caption(unbroken(option.sentence))
    return on if switched else off


def _option(option: Option, mode: str) -> Any:
    """Draw a select box or a slider, and return the value of the parameter that it sets."""
    choices, default = option.choices[mode], option.default(mode)
    labels = list(choices)
    if not option.slider:
        return choices[select(option.title, labels, option.key, option.sentence, default)]
    drop_unknown(option.key, labels)
    follow(option.key, default)
    value = st.select_slider(option.title, labels, default, key=option.key, bind=LINKED, help=option.sentence)
    return choices.get(value, choices[default])


def share(choice: Choice) -> DeltaGenerator:
    """Draw the link, the code and "Clear my data". Return the place of the button "Figures", which is drawn last."""
    table, settings = choice.table, choice.settings
    with st.sidebar, st.container(horizontal=True, gap="small"):
        copy_link(of_upload=table.uploaded)
        with st.popover("As code"):
            st.caption("A release with the same settings, in Python. It draws new noise and costs ε once more.")
            is_unchanged = not table.uploaded and table.domain == tables.bundled(table.key).domain
            st.code(as_code(settings, table.key if is_unchanged else None, table.label), language="python")
        figures_button = st.container(width="content")
        st.button(
            "Clear my data",
            on_click=clear,
            help="Forget uploads, edits and the forests of this session. What was spent stays in this session's "
            "sum, because whoever has a released forest still has it. The sum does not name your files. If a "
            "forest was released, the sum keeps the name of the column that identifies persons; the file of the forest "
            "has that name, too."
            f"{open_project.WHAT_STAYS if is_kept() else ''}",
        )
    return figures_button


def clear() -> None:
    """Empty the session: uploads, their caches, edited domains and released forests. Costs of releases stay."""
    session_ledger.forget_tables()
    cache.clear()
    uploads.remove_all()
    n_cleared = state.CLEARED.value + 1
    state.clear()
    state.CLEARED.value = n_cleared
    if state.DATA.value == tables.UPLOAD:
        state.DATA.value = tables.DEFAULT
