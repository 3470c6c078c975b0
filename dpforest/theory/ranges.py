"""Checks of the arguments of theorems: a number out of range raises a ValueError."""

import math


def check_between(name: str, value: float, low: float, high: float) -> None:
    """Raise ValueError unless a number is in a closed range."""
    if not low <= value <= high:
        raise ValueError(f"{name}={value!r} is not a number from {low:g} to {high:g}")


def check_inside(name: str, value: float, low: float, high: float) -> None:
    """Raise ValueError unless a number is in an open range. If the upper end is infinity, infinity is also allowed."""
    if not (low < value < high or value == high == math.inf):
        raise ValueError(f"{name}={value!r} is not a number between {low:g} and {high:g}")


def check_above(name: str, value: float, low: float, high: float) -> None:
    """Raise ValueError unless a number is above the lower end of a range and at most the upper end."""
    if not low < value <= high:
        raise ValueError(f"{name}={value!r} is not a number above {low:g} and up to {high:g}")
