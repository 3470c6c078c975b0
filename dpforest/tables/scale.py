"""Position of a number between public bounds, on a scale that is half linear and half logarithmic.

Honest bounds are wide, and most rows lie near their lower end, or around 0. If thresholds were spread evenly over the
bounds, hardly any would lie near a row. So the codes of a numeric attribute are spread by the mean of two scales: the
linear one, and one on which each of 20 octaves has the same width. Nothing is read from rows.

The logarithm is that of the floating-point format: exponent and mantissa are read as one whole number, which is linear
within an octave. No mathematical library is used, so codes are the same on every machine.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

OCTAVES: Final = 20
SCALES: Final = ("auto", "linear", "log")
BOTH_SIGNS: Final = 50  # a range counts as having both signs if more than 1 / 50 of it is below 0
ONE_BITS: Final = 0x3FF0000000000000  # the bits of 1.0
MANTISSA: Final = 2.0**52


class Scale(NamedTuple):
    """One attribute's scale, as numbers.

    Attributes
    ----------
    low, high : float
        The bounds.
    linear : float
        Weight of the linear scale: 1, 1/2, or 0.
    octaves : float
        Number of octaves of the logarithmic scale.
    reach : float
        Ratio of the largest to the smallest value that the scale distinguishes, less 1.
    pivot : float
        Larger end of a range with both signs, from which octaves go down to 0 on either side; else 0, and they go down
        to the lower bound.
    start, stretch : float
        With both signs, position of the lower bound on the logarithmic scale, and distance of the upper one from it.
    """

    low: float
    high: float
    linear: float
    octaves: float
    reach: float
    pivot: float
    start: float
    stretch: float


def scale_of(low: float, high: float, integer: bool, scale: str) -> Scale:
    """Return the scale of a range; whole numbers have at most as many octaves as their range."""
    width = high - low
    octaves = OCTAVES
    if integer:
        octaves = next((k for k in range(1, OCTAVES) if 2.0**k >= 1 + width), OCTAVES)
    result = Scale(
        low, high, {"linear": 1.0, "auto": 0.5, "log": 0.0}[scale], float(octaves), 2.0**octaves - 1, 0, 0, 1
    )
    if not (low < 0 < high and -low > width / BOTH_SIGNS):
        return result
    result = result._replace(pivot=max(-low, high))
    start = _signed(result, low)
    return result._replace(start=start, stretch=_signed(result, high) - start)


def position(scale: Scale, x: float) -> float:
    """Return the position of a number between the bounds, from 0 to 1; a number beyond a bound counts as the bound."""
    if x <= scale.low or x >= scale.high:
        return float(x >= scale.high)
    t = (x - scale.low) / (scale.high - scale.low)
    if scale.linear == 1:
        return t
    q = (_signed(scale, x) - scale.start) / scale.stretch if scale.pivot else log_share(scale, t)
    return scale.linear * t + (1 - scale.linear) * q


def least_with(scale: Scale, holds: Callable[[float], bool]) -> float:
    """Return the least number above the lower bound from which `holds` is true of all positions; else the upper bound.

    The bisection ends at two neighboring floating-point numbers, of which only the larger one has the property.
    """
    low, high = scale.low, scale.high
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if holds(position(scale, middle)) else (middle, high)
    return high


def _signed(scale: Scale, x: float) -> float:
    size = log_share(scale, abs(x) / scale.pivot)
    return -size if x < 0 else size


def log_share(scale: Scale, t: float) -> float:
    """Return the position on the logarithmic scale: 0 at 0, 1 at 1."""
    (bits,) = struct.unpack("<q", struct.pack("<d", 1.0 + scale.reach * t))
    return (bits - ONE_BITS) / MANTISSA / scale.octaves
