"""Open questions about a schema, grouped by kind of attribute, and the schema after an answer. No Streamlit here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature, plural
from dpforest.tables.read_parts import BOUNDS, MISSING, OF_TABLES, TYPE, Source, read_parts, sources, with_sources
from ui.explore.column_groups import alike

TABLE: Final = "the label and the file"
EVERYTHING: Final = "everything that is left"
Target = tuple[str, str]  # as `Part.what` and `Part.name`


@dataclass(frozen=True)
class StatedValues:
    """Values that the user states for some attributes. None, or a missing range, keeps the current value.

    Parameters
    ----------
    ranges : dict
        (lowest, highest) by name.
    whole : bool, optional
        Whether numbers are whole.
    missing : {"category", "refuse"}, optional
        Rule for missing cells.
    """

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    whole: bool | None = None
    missing: str | None = None


def open_questions(domain: Domain) -> dict[str, list[str]]:
    """Return the attributes that are not public yet, by group. The group about the whole table comes last.

    >>> columns = [Feature(f"word_freq_{w}", "numeric", 0, 1) for w in ("make", "all", "our")]
    >>> columns += [Feature("town", "categorical", categories=("x",)), Feature("age", "numeric", 0, 9)]
    >>> open_questions(Domain(tuple(columns), (0, 1), "spam"))
    {'word_freq_…': ['word_freq_make', 'word_freq_all', 'word_freq_our'], 'age': ['age'], 'town': ['town'], \
'the label and the file': []}
    """
    questions: dict[str, list[str]] = {}
    left = [feature for feature in domain.features if feature.leaks()]
    for kind, title in (("numeric", "numbers"), ("categorical", "categories")):
        of_kind = [feature.name for feature in left if feature.kind == kind]
        groups = _disjoint(of_kind) if kind == "numeric" else {}
        rest = [name for name in of_kind if not any(name in names for names in groups.values())]
        questions |= groups
        if rest:
            title = rest[0] if len(rest) == 1 else f"other {title}" if groups else title
            questions[title if title not in questions and title != TABLE else f"{title} (attributes)"] = rest
    if any(part.what in OF_TABLES for part in read_parts(domain)):
        questions[TABLE] = []
    return questions


def _disjoint(names: Sequence[str]) -> dict[str, list[str]]:
    """Group names that begin alike, the largest groups first. No name is in two groups."""
    groups: dict[str, list[str]] = {}
    for start, members in alike(names, all_of_them=True).items():
        if set[str]().union(*groups.values()).isdisjoint(members):
            groups[start] = members
    return groups


def left_to_say(domain: Domain, questions: Mapping[str, Sequence[str]]) -> str:
    """Describe the progress in a sentence. Names are not escaped."""
    n = domain.n_features
    n_left = sum(1 for feature in domain.features if feature.leaks())
    groups = [f"{title} ({len(names):,})" if len(names) > 1 else title for title, names in questions.items()]
    sentence = f"{n - n_left:,} of {plural(n, 'attribute')} {'has' if n - n_left == 1 else 'have'} a source"
    return f"{sentence}, {n_left:,} left: {', '.join(groups)}." if groups else f"{sentence}."


def targets(domain: Domain, names: Collection[str], kinds: Collection[str], *, again: bool = False) -> list[Target]:
    """Return the parts of these kinds that were read from the rows; with `again`, all parts of these kinds."""
    if not again:
        return [
            (part.what, part.name)
            for part in read_parts(domain)
            if part.what in kinds and (part.what in OF_TABLES or part.name in names)
        ]
    return [(what, f.name) for f in domain.features if f.name in names for what in sources(f) if what in kinds]


def answered(domain: Domain, about: Collection[Target], stated: StatedValues, source: Source | None) -> Domain:
    """Return the schema with the stated values and their source. If `source` is None, only the values change.

    >>> age = Domain((Feature("age", "numeric", 18, 94),))
    >>> about = [(what, "age") for what in ("bounds", "type", "missing")]
    >>> answered(age, about, StatedValues({"age": (0, 120)}), ("asserted", "people live so long")).leaks()
    []
    """
    by_name: dict[str, set[str]] = {}
    for what, name in about:
        by_name.setdefault(name, set()).add(what)
    features = tuple(_answered(f, by_name.get(f.name, set()), stated, source) for f in domain.features)
    of_table: dict[str, Any] = {}
    if source is not None:
        for what in by_name.get("", ()):
            of_table |= {f"{what}_source": source[0], f"{what}_note": source[1]}
    return replace(domain, features=features, **of_table)


def _answered(feature: Feature, parts: set[str], stated: StatedValues, source: Source | None) -> Feature:
    if not parts:
        return feature
    values: dict[str, Any] = {}
    if BOUNDS in parts and feature.name in stated.ranges:
        values["low"], values["high"] = stated.ranges[feature.name]
    if TYPE in parts and feature.kind == "numeric" and stated.whole is not None:
        values["integer"] = stated.whole
    if MISSING in parts and stated.missing is not None:
        values |= {"missing": stated.missing, "missing_value": None}
    new = replace(feature, **values)
    return new if source is None else with_sources(new, dict.fromkeys(parts, source))


def one_range(ranges: Collection[tuple[float, float]]) -> tuple[float, float]:
    """Return the narrowest range that contains all of these ranges."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def is_alike(names: Sequence[str]) -> bool:
    """Return whether all names begin alike, so that one range may fit all of them."""
    return len(names) == 1 or len(next(iter(alike(names, all_of_them=True).values()), ())) == len(names)
