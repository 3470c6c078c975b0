"""A value that is made when it is first used, from something large that is not needed afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class MadeOnce(Generic[Value]):
    """Makes a value on the first call, and returns the same value on each later call.

    After the first call, the function that made the value is dropped, with everything that it refers to. So a job that
    is kept for long holds the encoded rows of an upload, but not the whole table.

    >>> ten = MadeOnce(lambda: 10)
    >>> ten(), ten()
    (10, 10)
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make: Callable[[], Value] | None = make
        self._values: list[Value] = []

    def __call__(self) -> Value:
        make = self._make
        if make is not None:
            self._values = [make()]  # two threads may both make the value; either result serves
            self._make = None
        return self._values[0]
