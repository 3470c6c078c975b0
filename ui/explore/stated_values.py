"""Values that a user states for many attributes at once, and the domain with these values.

This module does not use Streamlit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from dpforest.tables.read_parts import BOUNDS, MISSING, TYPE, Source, sources, with_sources

Target = tuple[str, str]  # (`Part.what`, `Part.name`) of a part of an attribute, such as ("bounds", "age")


@dataclass(frozen=True)
class StatedValues:
    """Values that the user states for some attributes. An attribute without a value here keeps its current one.

    Parameters
    ----------
    ranges : dict
        Lowest and highest value of each attribute, by name.
    whole : bool, optional
        Whether numbers are whole.
    missing : {"category", "refuse"}, optional
        Rule for missing cells.
    """

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    whole: bool | None = None
    missing: str | None = None


def targets(domain: Domain, names: Collection[str], kinds: Collection[str]) -> list[Target]:
    """Return the parts of the named attributes that are of these kinds. A kind is a `Part.what`, such as "bounds"."""
    return [(what, f.name) for f in domain.features if f.name in names for what in sources(f) if what in kinds]


def answered(domain: Domain, chosen_parts: Collection[Target], stated: StatedValues, source: Source | None) -> Domain:
    """Return the domain with the stated values and their source. If `source` is None, only the values change.

    >>> age = Domain((Feature("age", "numeric", 18, 94),))
    >>> about = [(what, "age") for what in ("bounds", "type", "missing")]
    >>> answered(age, about, StatedValues({"age": (0, 120)}), ("asserted", "people live so long")).leaks()
    []
    """
    by_name: dict[str, set[str]] = {}
    for what, name in chosen_parts:
        by_name.setdefault(name, set()).add(what)
    features = tuple(_answered(f, by_name.get(f.name, set()), stated, source) for f in domain.features)
    return replace(domain, features=features)


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
