"""Parameters that are out of range, said in one sentence."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any


def check_choice(name: str, value: Any, choices: Sequence) -> None:
    """Raise ValueError unless a parameter is one of these."""
    if not any(value is choice or value == choice for choice in choices):
        raise ValueError(f"{name}={value!r} is not known; choose one of {', '.join(map(repr, choices))}")


def check_count(name: str, value: Any, low: int, high: int) -> None:
    """Raise ValueError unless a parameter is a whole number from low to high."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise ValueError(f"{name}={value!r} is not a whole number from {low:,} to {high:,}")
