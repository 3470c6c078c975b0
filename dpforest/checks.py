"""Checks of parameters, which raise errors of one sentence, and constraints that estimators declare on parameters."""

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs

Constraint = Callable[[str, Any], object]  # takes the name and the value of a parameter, and raises if it is invalid


def plain(value: Any) -> Any:
    """Convert a number, boolean or text to Python's built-in type; return any other value unchanged.

    Arithmetic with numpy integers may overflow. For example, with `np.int32(16385)` as the bound on the number of rows,
    the noise would be 65,536 times too small.

    >>> plain(np.int32(7)), plain(np.float32(0.1)), plain(np.bool_(True)), plain([7])
    (7, 0.1, True, [7])
    """
    if type(value) in (bool, int, float, str, type(None)):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(operator.index(value))
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, np.floating):
        return float(str(value))
    return str.__str__(value) if isinstance(value, str) else value


def is_number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Return whether a value is a number from low to high. True and False do not count as numbers."""
    number: Any = value
    return isinstance(value, Real) and not isinstance(value, bool) and bool(low <= number <= high)


def check_choice(name: str, value: Any, choices: Sequence) -> None:
    """Raise ValueError unless a parameter is one of the choices."""
    if not any(value is choice or value == choice for choice in choices):
        raise ValueError(f"{name}={value!r} is not known; choose one of {', '.join(map(repr, choices))}")


def check_count(name: str, value: Any, low: int, high: int) -> None:
    """Raise ValueError unless a parameter is a whole number from low to high."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise ValueError(f"{name}={value!r} is not a whole number from {low:,} to {high:,}")


def check_share(name: str, value: Any) -> Fraction:
    """Return a share as the exact fraction that its decimal digits state: 1/10 for 0.1.

    Raise ValueError unless the share is above 0 and below 1.
    """
    if not is_number(value) or not 0 < float(value) < 1:
        raise ValueError(f"{name}={value!r} is not a number between 0 and 1")
    return Fraction(str(plain(value)))


def check_flag(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} is neither True nor False")


def check_scale_share(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is "auto", "public", or a share of ε above 0 and at most 0.9."""
    if isinstance(value, str):
        check_choice(name, value, ("auto", "public"))
    elif not is_number(value) or not 0 < float(value) <= 0.9:
        raise ValueError(f"{name}={value!r} is not a number above 0 and up to 0.9; use one, or 'auto' or 'public'")


def check_threads(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is None or a number of threads; -1 means all processors, as in joblib."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or not value):
        raise ValueError(f"{name}={value!r} is not a number of threads; use 1 or more, -1 for all processors, or None")


def threads(value: Any) -> int:
    """Return the number of threads for a value of `n_jobs`. Raise ValueError if `check_threads` refuses the value."""
    check_threads("n_jobs", value)
    return int(effective_n_jobs(1 if value is None else int(value)))


def count(low: int, high: int, *, optional: bool = False, or_rule: str | None = None) -> Constraint:
    """Return a constraint that accepts whole numbers from low to high, the text `or_rule` and, if `optional`, None."""

    def check(name: str, value: Any) -> None:
        if not (optional and value is None or isinstance(value, str) and value == or_rule):
            check_count(name, value, low, high)

    return check


def choice(*choices: Any) -> Constraint:
    """Return a constraint that accepts only these choices."""
    return lambda name, value: check_choice(name, value, choices)
