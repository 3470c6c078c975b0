"""Controls of the depth and the number of trees. A public rule sets both numbers until the user moves a slider."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from dpforest.limits import LEAF_CAP, MAX_DEPTH
from dpforest.models.random.spec import ForestSpec
from dpforest.tables.domain import Domain, Feature
from dpforest.tables.features import plural
from ui import state
from ui.forest import boost_controls
from ui.forest.forests import FORESTS, TREES, ForestSettings
from ui.shared import cache
from ui.shared.controls import LINKED, say_nearest
from ui.shared.tables import Table, fingerprint, planned_rows

ROWS_WITHOUT_A_TABLE: Final = 1_000
# Without a table, the rule uses this domain: one attribute and two classes.
_PLAIN: Final = Domain((Feature("x", "numeric", 0.0, 1.0),), (0, 1), "y")


@dataclass(frozen=True)
class Shape:
    """The depth and the number of trees that the controls show, and the values that the user can choose.

    Parameters
    ----------
    depth, trees : int
        Chosen depth and number of trees.
    depths, n_trees : tuple of int
        Positions of the two sliders. A slider with a single position cannot move.
    by_rule : bool
        Whether the rule sets the depth and the number of trees.
    starts : (int, int)
        Depth and number of trees that do not depend on private rows. When a move of one slider turns the rule off, the
        other slider is set to its number in `starts`.
    """

    depth: int
    trees: int
    depths: tuple[int, ...]
    n_trees: tuple[int, ...]
    by_rule: bool
    starts: tuple[int, int]


def take_depth(depth: int, shape: Shape) -> None:
    """Set the depth on a page that is not drawn yet, as if the user had moved the slider."""
    _put(state.DEPTH, depth)
    _by_hand(state.TREES, shape.starts[1])


def take_trees(trees: int, shape: Shape) -> None:
    """Set the number of trees on a page that is not drawn yet, as if the user had moved the slider."""
    _put(state.TREES, trees)
    _by_hand(state.DEPTH, shape.starts[0])


def choose_shape(settings: ForestSettings, table: Table | None) -> tuple[ForestSettings, Shape]:
    """Draw the controls of depth, trees and, for the boosted forest, α. Return the settings and the shape."""
    if state.BY_RULE not in st.session_state and {state.DEPTH, state.TREES} & set(st.query_params):
        state.BY_RULE.value = False  # a link with depth or trees turns the rule off
    n_rows = planned_rows(table, settings) if table is not None else ROWS_WITHOUT_A_TABLE
    domain = table.domain if table is not None else _PLAIN
    depth, trees = settings.shape(domain, n_rows)
    # The replace-one relation lets the rule use the exact number of rows. But depth and trees that the user has set
    # stay when the relation changes. So they must not start from values that depend on the exact number of rows.
    is_private = table is not None and not table.is_public
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
            f"{ROWS_WITHOUT_A_TABLE:,} records, because the number of your records may be private."
        )
        depth, trees = start_depth, start_trees
    deepest = None if table is None else deepest_tree(settings, table.domain, n_rows)
    sliders, alpha_strategy = st.container(), ""
    if settings.kind == "boosted":
        alpha_strategy = boost_controls.strategy(settings.mode)
        if alpha_strategy == "hand":  # a release publishes this depth, so it must not depend on private rows
            depth = start_depth
    with sliders:
        chosen_depth, depths = _depth(settings, depth, by_rule, deepest, start_trees)
        chosen_trees, n_trees = _trees(settings, trees, by_rule, start_depth)
        if alpha_strategy == "hand" and is_private and by_rule:
            st.caption(
                "α drawn by hand has one value for each level, so the depth is fixed. Until you move the slider, it is "
                f"the depth that the rule gives for {ROWS_WITHOUT_A_TABLE:,} records, because the number of your "
                "records may be private."
            )
    shape = Shape(chosen_depth, chosen_trees, depths, n_trees, by_rule, (start_depth, start_trees))
    settings = settings if by_rule else replace(settings, depth=chosen_depth, trees=chosen_trees)
    if not alpha_strategy:
        return settings, shape
    alpha = boost_controls.alpha(alpha_strategy, chosen_depth)
    if alpha_strategy == "hand":
        settings = replace(settings, depth=chosen_depth)
    return replace(settings, options=(("alpha", alpha), *settings.options)), shape


def rule_sentence(settings: ForestSettings, depth: int, trees: int, n_rows: int) -> str:
    """Return a sentence with the depth and the number of trees that the rule sets.

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
    """Return an integer rounded to two significant digits."""
    step = 10 ** max(len(str(n)) - 2, 0)
    return round(n / step) * step


def _chosen(key: state.Key, choices: Collection[int]) -> int | None:
    """Return the number that the user or a link has set; None if it is not among the choices."""
    values = (st.session_state.get(key), st.query_params.get(key))  # an old session or a link may hold any value
    return next((n for value in values for n in choices if str(n) == str(value)), None)


def _from_link(key: state.Key, least: int, most: int, thing: str) -> int | None:
    """Return the number that the link asks for, or the nearest possible number; None if the link has no number.

    A message reports a number that is not possible. The message appears once, because the page then writes a possible
    number into the link.
    """
    asked = str(st.query_params.get(key, ""))
    if not asked:
        return None
    is_number = asked.isascii() and asked.isdecimal()
    number = min(max(int(asked[:9]), least), most) if is_number else None
    if number is None or str(number) != asked.lstrip("0"):
        say_nearest(thing, asked, least, most, number)
    return number


def _put(key: state.Key, value: int) -> None:
    """Move a slider if its value differs. Assigning an equal value could undo a move that the user has just made."""
    if st.session_state.get(key) != value:
        st.session_state[key] = value


def _into_link(key: state.Key, value: int | None) -> None:
    """Write a number into the link; None removes the number.

    This function replaces the parameter `bind` of the sliders. With this parameter, Streamlit would bind a slider at
    its first press, which turns the rule off. Streamlit would then assign the number of this press, and so undo further
    presses that follow quickly.
    """
    if value is None:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != str(value):
        st.query_params[key] = str(value)


def _by_hand(other: state.Key, start: int) -> None:
    """Turn the rule off after a slider has moved. The other slider then starts from `start` instead of the rule."""
    if state.BY_RULE.value:
        _put(other, start)
    # Assigned even if it is False already, because the assignment puts the value into the link.
    state.BY_RULE.value = False
    state.BY_HAND.value = True


def _start_from(starts: dict[state.Key, int]) -> None:
    """If the user has turned the rule off, set both sliders to numbers that do not depend on the exact row count.

    The user may press a slider a second time before the browser shows that the rule is off. Then this function also
    runs, before or after `_by_hand`, and must keep the number that the user has chosen.
    """
    by_hand = state.BY_HAND.pop()
    if not state.BY_RULE.value and not by_hand:
        for key, start in starts.items():
            _put(key, start)


@cache.for_session(max_entries=64)
def _deepest_level(key: tuple, _spec: ForestSpec, _domain: Domain) -> int:
    """Grow forests from three seeds, and return the depth of their deepest tree."""
    return max(int(_spec.grow(_domain, seed).level.max()) for seed in range(3))


def deepest_tree(settings: ForestSettings, domain: Domain, n_rows: int) -> int | None:
    """Return the depth at which trees end early, by the limit on leaves or without further questions; else None.

    The function grows trees from the public domain alone, so the result does not depend on the rows.
    """
    if settings.certified or not settings.has_cap:
        return None
    spec = replace(settings, depth=FORESTS[settings.kind].most_depth).estimator().spec(domain, n_rows)
    if not isinstance(spec, ForestSpec) or spec.categorical != "multiway":
        return None
    deepest = _deepest_level((fingerprint(domain), spec.n_trees), spec, domain)
    return deepest if deepest < spec.depth else None


def _depth(
    settings: ForestSettings, by_rule_depth: int, by_rule: bool, deepest: int | None, start_trees: int
) -> tuple[int, tuple[int, ...]]:
    """Draw the slider of the depth, and return the depth and the values of the slider."""
    forest = FORESTS[settings.kind]
    if not forest.has_depth(settings.mode):
        st.caption("As published, the depth has no limit: a branch ends where few records are left.")
        _into_link(state.DEPTH, None)
        return by_rule_depth, (by_rule_depth,)
    most = min(forest.most_depth, deepest or forest.most_depth)
    asked = None if by_rule else _from_link(state.DEPTH, 1, most, "depth")
    by_hand = None if by_rule else _chosen(state.DEPTH, range(1, MAX_DEPTH + 1)) or asked
    _put(state.DEPTH, min(by_hand or by_rule_depth, most))
    if deepest:
        st.caption(
            f"No tree grows deeper than {deepest} here: no question is left, or the tree would have more than "
            f"{LEAF_CAP:,} leaves."
        )
    if most == 1:  # a slider with one position cannot move
        _into_link(state.DEPTH, None)
        return 1, (1,)
    depth = st.slider(
        "Depth",
        1,
        most,
        key=state.DEPTH,
        persist_state="session",
        on_change=_by_hand,
        args=(state.TREES, start_trees),
        help="How many questions a tree asks about each row. With more questions, answers are finer, but each leaf has "
        "fewer rows, so noise changes more labels. " + forest.depth_origin(settings.mode),
    )
    depth = min(max(int(depth), 1), most)
    _into_link(state.DEPTH, None if by_rule else depth)
    return depth, tuple(range(1, most + 1))


def _trees(
    settings: ForestSettings, by_rule_trees: int, by_rule: bool, start_depth: int
) -> tuple[int, tuple[int, ...]]:
    """Draw the slider of the number of trees, and return the number and the values of the slider."""
    forest = FORESTS[settings.kind]
    if not forest.has_trees:
        _into_link(state.TREES, None)
        return 1, (1,)
    choices = [n for n in TREES if n <= forest.most_trees]
    if by_rule:  # the rule may set a number that is not on the slider
        choices = sorted({*choices, by_rule_trees})
        asked = None
    else:  # the number of the rule must not be in the link, because it may depend on the exact number of rows
        asked = _from_link(state.TREES, 1, forest.most_trees, "trees")
        choices = sorted({*choices, *([asked] if asked else [])})
        by_rule_trees = min(choices, key=lambda n: abs(math.log(n / by_rule_trees)))
    by_hand = None if by_rule else _chosen(state.TREES, choices) or asked
    _put(state.TREES, by_hand or by_rule_trees)
    trees = st.select_slider(
        "Trees",
        choices,
        key=state.TREES,
        persist_state="session",
        on_change=_by_hand,
        args=(state.DEPTH, start_depth),
        help="More trees vote better, but each tree gets fewer rows, or a smaller part of ε. "
        + forest.trees_origin(settings.mode),
    )
    trees = trees if trees in choices else by_rule_trees
    _into_link(state.TREES, None if by_rule else trees)
    return trees, tuple(choices)
