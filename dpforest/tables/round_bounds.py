"""Rounder bounds than the lowest and highest value of the rows: only a hint for whoever corrects a schema.

A bound that equals a lowest or highest value may be one person's value. The proposed bounds are computed from the same
rows, so they also count as read from the data until somebody states a source.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Final

import numpy as np

from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from dpforest.tables.read_parts import BOUNDS, with_sources

HEADROOM: Final = Decimal("0.1")  # least share of the range that is added at each end
GRAIN: Final = Decimal("0.2")  # share of the range; bounds are multiples of the next larger 1, 2 or 5 with zeros
OLDEST = 120
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
    """An attribute with a bound that equals the lowest or highest value of the rows.

    Parameters
    ----------
    name : str
    low, high : float
        Bounds of the attribute.
    at_low, at_high : bool
        Whether the lower or the upper bound is a value of the rows.
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
    """Return attributes with undocumented bounds that equal the lowest or highest value. Curator only.

    Obvious bounds are omitted: a lower bound of 0, the ends of a range from 0 to 1, and those of a range from 0 to 100
    whose name is that of a percentage.
    """
    exact = []
    for feature in domain.features:
        if feature.kind != "numeric" or feature.source == "documented":
            continue
        assert feature.low is not None and feature.high is not None
        values = np.asarray(table[feature.name], dtype=float)
        known = values[~np.isnan(values)]
        if not len(known):
            continue
        low, high = round_bounds(feature.low, feature.high, whole=feature.integer, name=feature.name)
        at_low = bool(known.min() == feature.low != low)
        at_high = bool(known.max() == feature.high != high)
        if at_low or at_high:
            rounder = low if at_low else feature.low, high if at_high else feature.high
            exact.append(ExactBounds(feature.name, feature.low, feature.high, at_low, at_high, rounder))
    return exact


def with_rounder(feature: Feature, rounder: tuple[float, float]) -> Feature:
    """Return the attribute with rounder bounds, which count as read from the data, whatever the old source was."""
    known = with_sources(feature, {BOUNDS: ("data", FROM_ROWS)})
    return replace(known, low=rounder[0], high=rounder[1])


def round_bounds(low: float, high: float, *, whole: bool = False, name: str = "") -> tuple[float, float]:
    """Return round numbers around a range: those of a percentage, share or age, else the next ones with headroom.

    Parameters
    ----------
    low, high : float
        Finite, ``low <= high``.
    whole : bool
        Whether only whole numbers occur; the bounds are whole numbers then.
    name : str
        Name of the attribute, which may be that of a percentage or an age.

    Returns
    -------
    tuple of float
        They contain the range. They equal its ends only if these are a lower 0, an upper 1, or a percentage's 100.

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


def _beyond(end: float, other: float, whole: bool, rounding: str) -> float:
    """Return the next round number beyond one end of a range, at least a tenth of the range away, or 0."""
    bound = Decimal(repr(end))  # as printed: 0.1 is a tenth
    width = abs(bound - Decimal(repr(other))) or max(abs(bound), Decimal(1))
    down = rounding == ROUND_FLOOR
    if (0 <= bound <= width / 2 and down) or (bound and -width / 2 <= bound <= 0 and not down):
        return 0.0
    aim = bound - HEADROOM * width if down else bound + HEADROOM * width
    step = _step(GRAIN * width)
    step = max(step, Decimal(1)) if whole else step
    while True:
        beyond = float((aim / step).to_integral_value(rounding) * step)
        if (beyond < end if down else beyond > end) or not math.isfinite(beyond):
            return beyond if math.isfinite(beyond) else end
        step *= 10  # the step is too fine for floats of this size


def _step(least: Decimal) -> Decimal:
    """Return the smallest of 1, 2, 5, 10, 20, … (and of 0.5, 0.2, …) that is at least `least`."""
    power = Decimal(1).scaleb(least.adjusted())
    return next((factor * power for factor in _STEPS if factor * power >= least), 10 * power)
