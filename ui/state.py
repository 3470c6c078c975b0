"""Declarations of every value that a session keeps: its key, its type and further conditions.

An old session or a link can leave any value under a key. When a page opens, `drop_unfit` removes each value that does
not fit its declaration, so a page never gets a value of another type. The options of some controls depend on the table.
For these controls, `drop_unknown` and `drop_out_of_bounds` of `ui.shared.controls` also remove a value that is not
among the options.

Keys of buttons, charts and containers are not declared, because no link or session can leave a value under such a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import streamlit as st


class Key(str):
    """The key of one value of the session. It is a str, which a Streamlit widget takes as its `key`.

    Parameters
    ----------
    name : str
        Text of the key.
    kind : type, tuple of types, or str
        Allowed types. A str names a class, so that this module need not import it. `object` allows every type; then the
        control checks the value with `drop_unknown` of `ui.shared.controls`.
    default : optional
        Result of `value` if the session has no value. For the types dict, list and set, the default is a new empty
        object, which `value` stores in the session.
    fits : callable, optional
        Returns whether a value of an allowed type is allowed. By default, every such value is allowed.
    linked : bool
        Whether the link of a page holds the value.
    stays : bool
        Whether the button "Clear my data" keeps the value, because the value reveals nothing about a table.
    """

    def __new__(
        cls,
        name: str,
        kind: Any,
        default: Any = None,
        *,
        fits: Callable[[Any], bool] = lambda value: True,
        linked: bool = False,
        stays: bool = False,
    ) -> Key:
        key = super().__new__(cls, name)
        key.kind, key.default, key.accepts, key.linked, key.stays = kind, default, fits, linked, stays
        return key

    kind: Any
    default: Any
    accepts: Callable[[Any], bool]
    linked: bool
    stays: bool

    def __reduce__(self) -> tuple:
        return str, (str(self),)

    def fits(self, value: Any) -> bool:
        """Return whether a value has an allowed type and meets the further condition."""
        if isinstance(self.kind, str):
            return type(value).__name__ == self.kind
        kinds = self.kind if isinstance(self.kind, tuple) else (self.kind,)
        # The value of a Streamlit table or data editor is a subclass of dict.
        is_kind = object in kinds or type(value) in kinds or (dict in kinds and isinstance(value, dict))
        return is_kind and self.accepts(value)

    @property
    def value(self) -> Any:
        """Value of the session under this key, or the default if there is no value that fits."""
        drop(self, self.fits)
        if self.kind in (dict, list, set):
            return st.session_state.setdefault(self, self.kind())
        return st.session_state.get(self, self.default)

    @value.setter
    def value(self, value: Any) -> None:
        st.session_state[self] = value

    def pop(self) -> Any:
        """Return the value and remove it from the session."""
        value = self.value
        st.session_state.pop(self, None)
        return value


class KeyPattern:
    """A family of keys whose names contain an item, such as the name of a column.

    In `pattern`, `{}` stands for any item, and `{:d}` for a number. The call `pattern(item)` returns the key of an
    item. The other parameters are those of `Key`.
    """

    def __init__(self, pattern: str, kind: Any, default: Any = None, **settings: Any) -> None:
        self.pattern, self._declared = pattern, (kind, default, settings)
        self.matches = re.compile(pattern.replace("{}", ".+").replace("{:d}", r"\d+"), re.DOTALL).fullmatch

    def __call__(self, *items: object) -> Key:
        return self.named(self.pattern.format(*items))

    def named(self, name: str) -> Key:
        """Return the key with a name that matches the pattern."""
        kind, default, settings = self._declared
        return Key(name, kind, default, **settings)


def _between(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: low <= value <= high


def _texts(value: list) -> bool:
    return all(isinstance(each, str) for each in value)


def _pair(value: tuple) -> bool:
    return len(value) == 2


def _count(name: str) -> Key:
    """Declare a key for the number of presses of a button."""
    return Key(name, int, 0, fits=lambda value: 0 <= value <= 1_000_000)


# Every page
PRESENT = Key("present", bool, False, linked=True)
PAGE_OPENED = Key("page_opened", str)
PAGE_DRAWN = Key("page_drawn", str)
BETWEEN_PAGES = Key("between_pages", dict, fits=lambda value: value.keys() <= {"values", "address"})
HANDED_OVER = Key("handed_over", "ForestSettings")
FIGURES = Key("figures", dict)
N_PRINTED = Key("n_printed", int, 0)
FIGURES_OPEN = Key("figures_open", bool, False)
FIGURE = Key("figure", str)
FIGURE_FAILURES = Key("figure_failures", list, fits=_texts)
DEFAULT_OF = KeyPattern("default_{}", object)

# Table
DATA = Key("data", str, linked=True, stays=True)
LABEL = Key("label", str, linked=True)
FILE = KeyPattern("file_{}", object)
ATTACHED = Key("attached", "UploadedFile")
CLEARED = _count("cleared")
DIGESTS = Key("digests", dict)
READ_ROWS = Key("read_rows", tuple, (None, None, None), fits=lambda value: len(value) == 3)
SCHEMAS = Key("schemas", dict)
LABELS = Key("labels", dict)
LABEL_OF = KeyPattern("label_{}", str)
LEFT_OUT = Key("left_out", dict)
LEFT_OUT_OF = KeyPattern("left_out_{}", list, fits=_texts)
DECLARED_PUBLIC = Key("declared_public", set)
ROWS_ARE_PERSONS = Key("rows_are_persons", set)
PERSONS_WITHOUT_COLUMN = Key("persons_without_column", set)
PUBLIC_SIZES = Key("public_sizes", dict)
TYPED_SIZE = KeyPattern("typed_size_{}", int)

# Forest
EPSILON = Key("eps", float, linked=True, stays=True)
EPSILON_TO_LOOK_AT = Key("look_eps", float, linked=True)
ASKED = KeyPattern("{}_asked", str)
REFUSED = KeyPattern("{}_refused", str)
TYPED = KeyPattern("{}_typed", str, "")
ADDED = KeyPattern("{}_own", tuple, ())
FOREST = Key("forest", str, linked=True, stays=True)
MODE = Key("mode", str, linked=True, stays=True)
NEIGHBORS = Key("neighbors", str, linked=True, stays=True)
BY_RULE = Key("by_rule", bool, True, linked=True)
BY_HAND = Key("by_hand", bool, False)
DEPTH = Key("depth", int, stays=True)
TREES = Key("trees", int, stays=True)
DELTA = Key("delta", bool, False, linked=True)
ALSO_DELTA = Key("also_delta", bool, False, linked=True)
BOUND = Key("bound", int, linked=True)
ALPHAS = Key("alphas", str, linked=True)
ALPHA = Key("alpha", float, linked=True)
ALPHA_AT = KeyPattern("a{:d}", float, linked=True)
VOTING = Key("voting", str, linked=True)
COUNTED = Key("counted", str, linked=True)
LEAF = Key("leaf", str, linked=True)
ROWS = Key("rows", str, linked=True)
SHARDS = Key("shards", str, linked=True)
BUDGET = Key("budget", str, linked=True)
SCORE = Key("score", str, linked=True)
FEATURE_TEMPERATURE = Key("b1", str, linked=True)
VALUE_TEMPERATURE = Key("b2", str, linked=True)
LABEL_TEMPERATURE = Key("b3", str, linked=True)
BINS = Key("bins", str, linked=True)
LARGEST_LEAF = Key("m", str, linked=True)
SHARE = Key("share", str, linked=True)
BETA = Key("beta", str, linked=True)
CRITERION = Key("criterion", str, linked=True)

# Releases
RELEASES = Key("releases", list, stays=True)
JUST_RELEASED = Key("just_released", "Release")
ROW_KEYS = Key("row_keys", dict)
SAME_PEOPLE = KeyPattern("same_people_{}", object)
TAKE_OUT = KeyPattern("take_out_{}", object)
OTHER_PEOPLE = KeyPattern("take_out_{}_{}", bool, False)
REALLY_OTHERS = KeyPattern("really_others_{}_{}", bool, False)
POPULATION = Key("population", str)
POPULATION_NAME = Key("population_name", str)
POPULATION_CAP = Key("population_cap", float)
ROWS_PER_PERSON = Key("rows_per_person_in_book", int)
RECORD_WORDS = Key("record_words", dict)
RECORD_FIELD = KeyPattern("record_{}_{}", str)
ONE_RELEASE = KeyPattern("one_release_{}", str)
COMPARED_RELEASE = KeyPattern("compared_release_{}", str)
WITHDRAWAL = KeyPattern("withdrawal_{}", str)
DELETED_POPULATION = Key("deleted_population", str)
COPY_OF_BOOK = Key("copy_of_book", object)
NEW_ROWS = Key("new_rows", object)
PROJECTS = Key("projects", dict)
CHOSEN_PROJECT = Key("chosen_project", str)
PROJECT_NAME = KeyPattern("project_name_{}", str)
PROJECT_FILE = KeyPattern("project_file_{}", object)
PROJECT_FILES = _count("project_files")
EXPLAINED = Key("explained", bool, False)
SCORES_OF = Key("scores_of", tuple, (None, None), fits=_pair)
EFFECT_OF = Key("effect_of", str)
EFFECT_ON = Key("effect_on", str)

# Background work
WORKED = Key("worked", tuple, fits=_pair)
UNLIMITED_WORK = Key("unlimited_work", object)
STOPPED = Key("stopped", object)
PAUSED = Key("paused", bool, False)

# Explore
TAB = Key("tab", str, linked=True)
WELCOMED = Key("welcomed", bool, False)
MEASURE = Key("measure", str, linked=True)
SCALE_OF = Key("scale_of", str)
TREE = Key("tree", int)
INSTRUMENT = Key("instrument", object)
MOVES = _count("moves")
FOLLOW = Key("follow", bool, False)
ROW = Key("row", int)
WIDTH = Key("width", str)
LEVELS = Key("levels", int)
FOCUS = Key("focus", tuple, (None, 0), fits=_pair)
TO_NODE = Key("to_node", object)
DOWN = KeyPattern("down_{}", object)
NOISE_DRAWN = _count("noise_drawn")
SCOPE = Key("scope", str)
SHARES = Key("shares", str)
GROUPS_BY = Key("groups_by", str, linked=True)
GROUP_RATE = Key("group_rate", str, linked=True)
EDITOR = KeyPattern("editor_{}", dict)
CLASSES_OF = KeyPattern("classes_{}", str)
CLASSES_NOTE = KeyPattern("classes_note_{}", str)
PUBLIC = KeyPattern("public_{}", bool, False)
WHOSE_ROWS = KeyPattern("whose_rows_{}", str)
PERSON_COLUMN = KeyPattern("person_column_{}", str)
CONFIRM_PERSONS = KeyPattern("confirm_persons_{}", bool, False)
DOMAIN_FILE = KeyPattern("domain_file_{}", object)
DOMAIN_FILES = _count("domain_files")
DOMAIN_EXACTLY = Key("domain_exactly", bool, False)
LOADED = Key("loaded_answers", dict)
SKIPPED = Key("skipped", dict)
ONE_BY_ONE = Key("one_by_one", dict)
SOURCES = Key("sources", dict)
CARD_KIND = KeyPattern("{}_kind", str)
CARD_LOW = KeyPattern("{}_lowest", str)
CARD_HIGH = KeyPattern("{}_highest", str)
CARD_WHOLE = KeyPattern("{}_only_whole", bool)
CARD_WORDS = KeyPattern("{}_words", list, fits=_texts)
CARD_MISSING = KeyPattern("{}_missing_cells", str)
CARD_VALUES = KeyPattern("{}_values", str)
CARD_RARE = KeyPattern("{}_rare", list, fits=_texts)
CARD_LIST = KeyPattern("{}_of_list", str)
CARD_MERGE = KeyPattern("{}_merge", list, fits=_texts)
CARD_SIGNS = KeyPattern("{}_signs", list, fits=_texts)
CARD_FORMAT = KeyPattern("{}_format", str)
CARD_PARTS = KeyPattern("{}_parts", list, fits=_texts)
CARD_FIRST = KeyPattern("{}_first", object)
CARD_LAST = KeyPattern("{}_last", object)
CARD_TABLE = KeyPattern("{}_table", dict)
COLUMN_GROUP = KeyPattern("{}_group", object)
COLUMN_NAMES = KeyPattern("{}_names", list, fits=_texts)
SOURCE = KeyPattern("{}_source", str)
EARLIER_SOURCE = KeyPattern("{}_earlier", str)
STATEMENTS = KeyPattern("{}_what", object)
LOWEST = KeyPattern("{}_low", float)
HIGHEST = KeyPattern("{}_high", float)
RANGES = KeyPattern("{}_how", str)
WHOLE = KeyPattern("{}_whole", str)
MISSING = KeyPattern("{}_missing", str)

# Compare
COMPARE_TAB = Key("compare_tab", str, linked=True)
FORESTS = Key("forests", list, linked=True)
ALSO_PUBLISHED = Key("also_published", bool, False, linked=True)
COMPARED = Key("compared", str, linked=True)
RELEASES_EACH = Key("releases_each", int, linked=True)
HELD_OUT = Key("held_out", str, linked=True)
BANDS = Key("bands", bool, True, linked=True)
MAPPED = Key("mapped", str, linked=True)
VARIED = Key("varied", str, linked=True)
SETTINGS_OF = Key("settings_of", str)
SETTINGS = Key("changed_settings_of", dict)
SETTINGS_IGNORED = Key("settings_ignored", list, fits=_texts)
SETTINGS_LINK = Key("settings_link", str)
SETTING = KeyPattern("setting_{}_{}", (int, str))

# Choose ε
CHOOSE_TAB = Key("choose_tab", str, linked=True)
NEED = Key("need", float, linked=True)
NEED_AUC = Key("need_auc", float, linked=True)
NEEDED_MEASURE = Key("needed", str, linked=True)
SURE = Key("sure", str, linked=True)
ROWS_EACH = Key("rows_each", int, linked=True)
MARGIN = Key("margin", bool, False, linked=True)
LOOKED_AT = Key("looked_at", str, linked=True)
IF_PUBLIC = Key("if_public", bool, False, linked=True)
PRIOR = Key("prior", float, linked=True)
GUESS = Key("guess", str, linked=True)
REPORT_GROUPS = Key("report_groups", bool, False, linked=True)
MEMBER_ROW = Key("member_row", int)
MEMBER_WANTED = Key("member_wanted", int)
MEMBER_ALIKE = Key("member_alike", tuple)
MEMBER_ATTACKED = Key("member_attacked", tuple, (None, []), fits=_pair)

# Audit
RULE = Key("rule", str, linked=True)
CLASSES = Key("classes", int, linked=True)
PAIR = Key("pair", str, linked=True)
ATTACKED = Key("attacked", tuple, (None, []), fits=_pair)
AUDITED_EPSILON = Key("audited_epsilon", float)

# Lesson, theory, papers, glossary
STEP = Key("step", str, linked=True)
AT = Key("at", str, linked=True)
PICTURE = Key("picture", str, linked=True)
STAGE = KeyPattern("stage_{}", object)
LESSON_KEYS = Key("lesson_keys", object)
LESSON = Key("lesson", dict)
LESSON_AGAIN = _count("lesson_again")
PREDICTION = KeyPattern("predict_{}", object)
HANDS = KeyPattern("hands_{}_{}", int)
NO_ROOM = Key("no_room", str, "")
ROOM_LETTERS = Key("room_letters", str, "")
HOW_TO_JOIN = Key("how_to_join", bool, False)
PHONE_ADDRESS = Key("phone_address", str)
CHOSEN_ADDRESS = Key("chosen_address", str)
THEOREM = Key("theorem", str, linked=True)
THEORY = KeyPattern("theory_{}", object, linked=True)
PAPER = Key("paper", str, linked=True)
PAPER_ITEM = KeyPattern("item_{}", str, linked=True)
WORD = Key("word", str, linked=True)

_KEYS: Final = {str(key): key for key in list(globals().values()) if isinstance(key, Key)}
_PATTERNS: Final = sorted(  # longest pattern first, because it is the most specific one
    (keys for keys in list(globals().values()) if isinstance(keys, KeyPattern)), key=lambda keys: -len(keys.pattern)
)


def declared(name: str) -> Key | None:
    """Return the declaration of a key, or None if the key is not declared, such as the key of a button."""
    keys_by_pattern = (keys.named(name) for keys in _PATTERNS if keys.matches(name))
    return _KEYS.get(name) or next(keys_by_pattern, None)


def names() -> list[str]:
    """Return the names of all keys that are declared with `Key`; keys of a `KeyPattern` are left out."""
    return sorted(_KEYS)


def drop(key: str, fits: Callable[[Any], bool]) -> bool:
    """Drop the value under a key if it does not fit. Return whether it was dropped."""
    if key not in st.session_state or fits(st.session_state[key]):
        return False
    del st.session_state[key]
    return True


def drop_unfit() -> None:
    """Drop every value of the session that does not fit its declaration."""
    for name, value in st.session_state.to_dict().items():
        key = declared(str(name))
        if key is not None and not key.fits(value):
            del st.session_state[name]


def clear() -> None:
    """Drop every value of the session, except values that reveal nothing about a table (`Key.stays`)."""
    for name in st.session_state.to_dict():
        key = declared(str(name))
        if key is None or not key.stays:
            del st.session_state[name]
