"""Position of a number between public bounds, on a scale that is half linear and half logarithmic.

Bounds that are chosen without looking at rows are wide, and most values lie near the lower bound or around 0. If
thresholds were spread evenly between the bounds, hardly any threshold would lie among the values. So the codes of a
numeric attribute are spread by the mean of a linear scale and a logarithmic scale. On the logarithmic scale, 20 octaves
(ranges from x to 2x) have the same width. Neither scale depends on rows.

The logarithm is computed from the bits of a float. The exponent and the mantissa, read together as one whole number,
approximate the logarithm. This number rises linearly within an octave. The code calls no mathematical library, so codes
are the same on every machine.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

OCTAVES: Final = 20
SCALES: Final = ("auto", "linear", "log")
BOTH_SIGNS: Final = 50  # a range has both signs if more than 1 / 50 of it is below 0
ONE_BITS: Final = 0x3FF0000000000000  # the bits of 1.0
MANTISSA: Final = 2.0**52


class Scale(NamedTuple):
    """The numbers that define the scale of one attribute.

    Attributes
    ----------
    low, high : float
        The bounds.
    linear : float
        Weight of the linear scale: 0, 1/2 or 1. The logarithmic scale has the remaining weight.
    octaves : float
        Number of octaves of the logarithmic scale.
    reach : float
        2 to the power of `octaves`, minus 1. A value at the share t of the range has the logarithm of 1 + `reach` t.
    pivot : float
        If the range has both signs, the larger absolute bound; octaves then become narrower toward 0 on either side.
        Otherwise, the pivot is 0, and octaves become narrower toward the lower bound.
    start, stretch : float
        If the range has both signs, the position of the lower bound on the logarithmic scale, and the distance from
        there to the position of the upper bound. Otherwise, `start` is 0 and `stretch` is 1.
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
    """Return the scale of a range. For whole numbers, the scale has no more octaves than the range needs."""
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
    """Return the position of x between the bounds, from 0 to 1; an x beyond a bound has the position of the bound."""
    if x <= scale.low or x >= scale.high:
        return float(x >= scale.high)
    t = (x - scale.low) / (scale.high - scale.low)
    if scale.linear == 1:
        return t
    q = (_signed(scale, x) - scale.start) / scale.stretch if scale.pivot else log_share(scale, t)
    return scale.linear * t + (1 - scale.linear) * q


def least_with(scale: Scale, holds: Callable[[float], bool]) -> float:
    """Return the least number above the lower bound whose position satisfies `holds`, or the upper bound.

    If `holds` is true for a position, it must be true for every higher position. The bisection ends at two neighboring
    floats, of which only the position of the larger satisfies `holds`.
    """
    low, high = scale.low, scale.high
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if holds(position(scale, middle)) else (middle, high)
    return high


def _signed(scale: Scale, x: float) -> float:
    size = log_share(scale, abs(x) / scale.pivot)
    return -size if x < 0 else size


def log_share(scale: Scale, t: float) -> float:
    """Return the position on the logarithmic scale of a share t of the range: 0 for t = 0, and 1 for t = 1."""
    (bits,) = struct.unpack("<q", struct.pack("<d", 1.0 + scale.reach * t))
    return (bits - ONE_BITS) / MANTISSA / scale.octaves
