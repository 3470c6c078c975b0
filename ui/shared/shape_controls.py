"""Controls of depth and number of trees, which follow the rule until somebody moves a slider."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

import streamlit as st

from dpforest.limits import LEAF_CAP, MAX_DEPTH
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.tables.domain import Domain, Feature
from dpforest.tables.features import plural
from ui import state
from ui.shared import boost_controls, cache
from ui.shared.controls import LINKED, among
from ui.shared.forests import FORESTS, TREES, ForestSettings
from ui.shared.tables import Table, fingerprint, planned_rows

ROWS_WITHOUT_A_TABLE: Final = 1_000
# The domain that rules use while there is no table: one attribute and two classes.
_PLAIN: Final = Domain((Feature("x", "numeric", 0.0, 1.0),), (0, 1), "y")


def choose_shape(settings: ForestSettings, table: Table | None) -> ForestSettings:
    """Draw depth, number of trees and, for the boosted forest, α. The rule sets them until somebody moves a slider."""
    if state.BY_RULE not in st.session_state and {state.DEPTH, state.TREES} & set(st.query_params):
        state.BY_RULE.value = False  # a link that has depth or trees turns the rule off
    n_rows = planned_rows(table, settings) if table is not None else ROWS_WITHOUT_A_TABLE
    domain = table.domain if table is not None else _PLAIN
    depth, trees = settings.shape(domain, n_rows)
    is_private = table is not None and _has_private_size(settings, table)
    start_depth, start_trees = settings.shape(domain, ROWS_WITHOUT_A_TABLE) if is_private else (depth, trees)
    by_rule = st.toggle(
        "Depth and trees by rule",
        True,
        key=state.BY_RULE,
        bind=LINKED,
        on_change=_start_from,
        args=({state.DEPTH: start_depth, state.TREES: start_trees},),
        help="For a certified forest, a public rule sets the depth and the number of trees from ε and the number of "
        "records: the larger these are, the more leaves stand out from the noise. The curve applies the rule at each "
        "ε. Where the number of records is private, a release uses a noisy number and pays for it out of ε. As "
        "published, a forest has the depth and trees of its paper. Move a slider to choose yourself.",
    )
    if table is not None:
        st.caption(rule_sentence(settings, depth, trees, n_rows))
    if is_private and not by_rule:
        st.caption(
            "Depth and trees are settings now, and a release publishes them. They start from what the rule gives for "
            f"{ROWS_WITHOUT_A_TABLE:,} records, because the number of your records is private."
        )
        depth, trees = start_depth, start_trees
    ends = None if table is None else ends_at(settings, table.domain, n_rows)
    sliders, how = st.container(), ""
    if settings.kind == "boosted":
        how = boost_controls.strategy(settings.mode)
        if how == "hand":  # the depth is a setting then, so it may not follow from private rows
            depth = start_depth
    with sliders:
        chosen_depth = _depth(settings, depth, by_rule, ends, start_trees)
        chosen_trees = _trees(settings, trees, by_rule, start_depth)
        if how == "hand" and is_private and by_rule:
            st.caption(
                "α drawn by hand has one value for each level, so the depth is fixed. Until you move the slider, it is "
                f"the depth that the rule gives for {ROWS_WITHOUT_A_TABLE:,} records, because the number of your "
                "records is private."
            )
    settings = settings if by_rule else replace(settings, depth=chosen_depth, trees=chosen_trees)
    if not how:
        return settings
    alpha = boost_controls.alpha(how, chosen_depth)
    if how == "hand":
        settings = replace(settings, depth=chosen_depth)
    return replace(settings, options=(("alpha", alpha), *settings.options))


def rule_sentence(settings: ForestSettings, depth: int, trees: int, n_rows: int) -> str:
    """Return the depth and number of trees of the rule as a sentence.

    >>> rule_sentence(ForestSettings("noisy counts", "certified", 1.0, "auto", "auto", "add-remove"), 10, 16, 26_048)
    'The rule, at ε = 1 and about 26,000 records: 16 trees of depth 10.'
    """
    size = f"{plural(trees, 'tree')} of depth {depth}"
    if not FORESTS[settings.kind].has_depth(settings.mode):
        size = f"{plural(trees, 'tree')}, of any depth"
    if not settings.certified:
        return f"As published: {size}."
    return f"The rule, at ε = {settings.epsilon:g} and about {_rounded(n_rows):,} records: {size}."


def _rounded(n: int) -> int:
    """Return a number rounded to two significant digits."""
    step = 10 ** max(len(str(n)) - 2, 0)
    return round(n / step) * step


def _unsaid(key: str) -> bool:
    """Return whether neither the user nor a link has set the value."""
    return key not in st.session_state and key not in st.query_params


def _other_than_now(key: str, choices: Sequence[int]) -> int:
    """Return a slider's default: a number that it does not show, as Streamlit leaves a default out of the link."""
    now = st.session_state.get(key, st.query_params.get(key))
    return choices[1] if str(now) == str(choices[0]) else choices[0]


def _bind(by_rule: bool) -> Literal["query-params"] | None:
    """Return whether a slider is bound to the link: numbers of the rule stay out of it.

    A default that follows the rule would also keep them out. But when a default and a value change at once, the browser
    may remove the new value from the address.
    """
    return None if by_rule else LINKED


def _put(key: str, value: int) -> None:
    """Move a slider if its value differs. A needless assignment would undo a press of the user in the meantime.

    A value that does not fit is replaced, not dropped: Streamlit leaves a control out of the link whose state was
    removed in the same run.
    """
    if st.session_state.get(key) != value:
        st.session_state[key] = value


def _into_link(key: str) -> None:
    """Put a number into the link if the link lacks it. A link holds both depth and trees, or neither."""
    if key in st.session_state and st.query_params.get(key) != str(st.session_state[key]):
        st.session_state[key] = st.session_state[key]


def _has_private_size(settings: ForestSettings, table: Table) -> bool:
    """Return whether a release of this table must not depend on its exact number of rows."""
    return settings.certified and settings.neighbors == ADD_REMOVE and not table.is_public


def _by_hand(other: state.Key, start: int) -> None:
    """Turn the rule off after a slider has moved. The other slider then leaves the number of the rule."""
    if state.BY_RULE.value:
        st.session_state[other] = start
    state.BY_RULE.value = False  # also if it is off already: the assignment puts it into the link


def _start_from(starts: dict[state.Key, int]) -> None:
    """Set both sliders to numbers that do not depend on the exact number of rows, if the rule is now off."""
    if not state.BY_RULE.value:
        for key, start in starts.items():
            st.session_state[key] = start


@cache.for_session(max_entries=64)
def _deepest_level(key: tuple, _spec: ForestSpec, _domain: Domain) -> int:
    return max(int(_spec.grow(_domain, seed).level.max()) for seed in range(3))


def ends_at(settings: ForestSettings, domain: Domain, n_rows: int) -> int | None:
    """Return the depth at which the cap on leaves ends every tree; None if it does not.

    It is computed by growing trees from the public domain alone, so it does not depend on the rows.
    """
    if settings.certified or not settings.has_cap:
        return None
    spec = replace(settings, depth=FORESTS[settings.kind].most_depth).estimator().spec(domain, n_rows)
    if not isinstance(spec, ForestSpec) or spec.categorical != "multiway":
        return None
    deepest = _deepest_level((fingerprint(domain), spec.n_trees), spec, domain)
    return deepest if deepest < spec.depth else None


def _depth(settings: ForestSettings, by_rule_depth: int, by_rule: bool, ends: int | None, start_trees: int) -> int:
    forest = FORESTS[settings.kind]
    if not forest.has_depth(settings.mode):
        st.caption("As published, the depth has no limit: a branch ends where few records are left.")
        return by_rule_depth
    most = min(forest.most_depth, ends or forest.most_depth)
    depth = st.session_state.get(state.DEPTH, 1)
    if by_rule or _unsaid(state.DEPTH) or not among(depth, range(1, MAX_DEPTH + 1)):
        _put(state.DEPTH, min(by_rule_depth, most))
    elif depth > most:
        _put(state.DEPTH, most)
    if not by_rule:
        _into_link(state.DEPTH)
    if ends:
        st.caption(
            f"No tree grows deeper than {ends} here: no question is left, or the tree would have more than "
            f"{LEAF_CAP:,} leaves."
        )
    if most == 1:  # nothing to move
        return 1
    depth = st.slider(
        "Depth",
        1,
        most,
        _other_than_now(state.DEPTH, range(1, most + 1)),
        key=state.DEPTH,
        bind=_bind(by_rule),
        on_change=_by_hand,
        args=(state.TREES, start_trees),
        help="How many questions a tree asks about each row. With more questions, answers are finer, but each leaf has "
        "fewer rows, so noise changes more labels. " + forest.depth_origin(settings.mode),
    )
    return min(max(int(depth), 1), most)


def _trees(settings: ForestSettings, by_rule_trees: int, by_rule: bool, start_depth: int) -> int:
    forest = FORESTS[settings.kind]
    if not forest.has_trees:
        return 1
    choices = [n for n in TREES if n <= forest.most_trees]
    if by_rule:  # the rule may choose other numbers, too
        choices = sorted({*choices, by_rule_trees})
    else:  # the link must not depend on the exact number of rows
        by_rule_trees = min(choices, key=lambda n: abs(math.log(n / by_rule_trees)))
    if by_rule or _unsaid(state.TREES) or not among(st.session_state.get(state.TREES, choices[0]), choices):
        _put(state.TREES, by_rule_trees)
    if not by_rule:
        _into_link(state.TREES)
    trees = st.select_slider(
        "Trees",
        choices,
        _other_than_now(state.TREES, choices),
        key=state.TREES,
        bind=_bind(by_rule),
        on_change=_by_hand,
        args=(state.DEPTH, start_depth),
        help="More trees vote better, but each tree gets fewer rows, or a smaller part of ε. "
        + forest.trees_origin(settings.mode),
    )
    return trees if trees in choices else by_rule_trees
