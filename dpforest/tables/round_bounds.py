"""Propose round bounds, farther out than the lowest and highest value, as a hint for people who edit a schema.

A bound that equals the lowest or highest value may be one person's value. The round bounds are computed from the rows
too, so they also count as read from the data until somebody states a source.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Final

import numpy as np

from dpforest.tables.cells import numbers
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.read_parts import BOUNDS, with_sources

HEADROOM: Final = Decimal("0.1")  # least distance of a proposed bound from the range, as a share of the range
GRAIN: Final = Decimal("0.2")  # proposed bounds are multiples of a step: this share of the range, rounded up by `_step`
OLDEST = 120  # proposed upper bound of an age in years
FROM_ROWS: Final = "rounded outwards from the lowest and highest value in the rows"

_STEPS = (Decimal(1), Decimal(2), Decimal(5))
_SHARE = re.compile(
    r"%|(^|[^a-z])(percent|percentage|pct|perc|prozent|share|anteil|freq|frequency|proportion|fraction|prob|"
    r"probability)([^a-z]|$)",
    re.IGNORECASE,
)
_AGE = re.compile(r"(^|[^a-z])(age|alter|edad|âge)([^a-z]|$)", re.IGNORECASE)


@dataclass(frozen=True)
class ExactBounds:
    """An attribute with at least one bound that equals the lowest or highest value of the rows.

    Parameters
    ----------
    name : str
        Name of the attribute.
    low, high : float
        Bounds of the attribute.
    at_low, at_high : bool
        Whether the lower bound equals the lowest value of the rows, and whether the upper bound equals the highest
        value.
    rounder : tuple of float
        Proposed lower and upper bound.
    """

    name: str
    low: float
    high: float
    at_low: bool
    at_high: bool
    rounder: tuple[float, float]


def exact_bounds(domain: Domain, table: Mapping[str, Any]) -> list[ExactBounds]:
    """Return attributes with undocumented bounds that equal the lowest or highest value, for the data holder only.

    The function omits attributes that are parts of dates. It also omits obvious bounds: a lower bound of 0, a range
    from 0 to 1, and a range from 0 to 100 if the name of the attribute suggests a percentage.
    """
    attributes = []
    for feature in domain.features:
        if feature.kind != "numeric" or feature.source == "documented" or feature.date is not None:
            continue
        assert feature.low is not None and feature.high is not None
        cells = table[feature.name]
        values = np.asarray(numbers(feature, cells, OutOfDomainCells()) if feature.has_reading_rules else cells, float)
        known_values = values[~np.isnan(values)]
        if not len(known_values):
            continue
        low, high = round_bounds(feature.low, feature.high, whole=feature.integer, name=feature.name)
        at_low = bool(known_values.min() == feature.low != low)
        at_high = bool(known_values.max() == feature.high != high)
        if at_low or at_high:
            rounder = low if at_low else feature.low, high if at_high else feature.high
            attributes.append(ExactBounds(feature.name, feature.low, feature.high, at_low, at_high, rounder))
    return attributes


def with_rounder(feature: Feature, rounder: tuple[float, float]) -> Feature:
    """Return the attribute with rounder bounds. Their source is "data", even if the old bounds had another source."""
    marked = with_sources(feature, {BOUNDS: ("data", FROM_ROWS)})
    return replace(marked, low=rounder[0], high=rounder[1])


def round_bounds(low: float, high: float, *, whole: bool = False, name: str = "") -> tuple[float, float]:
    """Return round bounds that contain a range: typical bounds of a percentage, share or age, or round numbers.

    Parameters
    ----------
    low, high : float
        Ends of the range, finite, ``low <= high``.
    whole : bool
        Whether only whole numbers occur. If True, the bounds are whole numbers.
    name : str
        Name of the attribute, which may suggest a percentage or an age.

    Returns
    -------
    tuple of float
        Bounds that contain the range. Only three bounds may equal an end of the range: a lower bound of 0, an upper
        bound of 1, and the upper bound 100 of a percentage.

    Examples
    --------
    >>> round_bounds(0, 4.54, name="word_freq_make"), round_bounds(17, 90, name="age"), round_bounds(0.02, 0.97)
    ((0.0, 100.0), (0.0, 120.0), (0.0, 1.0))
    >>> round_bounds(0, 15841), round_bounds(1950, 2005, whole=True), round_bounds(-3.2, 8.7)
    ((0.0, 20000.0), (1940.0, 2020.0), (-5.0, 10.0))
    """
    low, high = float(low), float(high)
    if low >= 0:
        if _SHARE.search(name) and high <= 100:
            return 0.0, 1.0 if high <= 1 else 100.0
        if _AGE.search(name) and high < OLDEST:
            return 0.0, float(OLDEST)
        if (low == 0 and high == 1) or (not whole and 0.5 < high <= 1):
            return 0.0, 1.0
        if 50 < high < 100 and low <= (high - low) / 2:
            return 0.0, 100.0
    return _beyond(low, high, whole, ROUND_FLOOR), _beyond(high, low, whole, ROUND_CEILING)


def _beyond(end: float, other_end: float, whole: bool, rounding: str) -> float:
    """Return a round bound beyond `end`: 0 if 0 is close enough, or a number at least a tenth of the range away."""
    bound = Decimal(repr(end))  # the printed decimal number: 0.1 is exactly a tenth
    width = abs(bound - Decimal(repr(other_end))) or max(abs(bound), Decimal(1))
    is_lower = rounding == ROUND_FLOOR
    if (0 <= bound <= width / 2 and is_lower) or (bound and -width / 2 <= bound <= 0 and not is_lower):
        return 0.0
    target = bound - HEADROOM * width if is_lower else bound + HEADROOM * width
    step = _step(GRAIN * width)
    step = max(step, Decimal(1)) if whole else step
    while True:
        candidate = float((target / step).to_integral_value(rounding) * step)
        if (candidate < end if is_lower else candidate > end) or not math.isfinite(candidate):
            return candidate if math.isfinite(candidate) else end
        step *= 10  # the step is too fine for floats of this size


def _step(least: Decimal) -> Decimal:
    """Return the smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`."""
    power = Decimal(1).scaleb(least.adjusted())
    return next((factor * power for factor in _STEPS if factor * power >= least), 10 * power)
