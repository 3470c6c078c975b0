"""A limit on how often an event may happen for each network address. This module does not use Streamlit."""

from __future__ import annotations

from typing import Final

_MOST_ADDRESSES: Final = 1_000  # number of stored addresses at which addresses without recent events are deleted


class RateLimit:
    """Counts recent events of each address. A count falls steadily, so it returns to zero without new events.

    Parameters
    ----------
    at_once : int
        Number of events that one address may have in a short time.
    next_after : float
        Seconds until one more event is allowed, once an address has reached `at_once`.

    Examples
    --------
    >>> limit = RateLimit(2, next_after=5.0)
    >>> [limit.allows("10.0.0.1", now=0.0) for _ in range(3)], limit.allows("10.0.0.2", now=0.0)
    ([True, True, False], True)
    >>> limit.allows("10.0.0.1", now=5.0), limit.allows("10.0.0.1", now=5.0)
    (True, False)
    """

    def __init__(self, at_once: int, next_after: float) -> None:
        self._at_once, self._next_after = at_once, next_after
        self._counts: dict[str, tuple[float, float]] = {}  # for each address: the count, and when it was updated

    def allows(self, address: str, now: float) -> bool:
        """Return whether one more event is allowed, and count it if it is."""
        n_recent = self._count(address, now)
        if n_recent > self._at_once - 1:
            return False
        if len(self._counts) >= _MOST_ADDRESSES:
            self._counts = {each: self._counts[each] for each in self._counts if self._count(each, now) > 0}
        self._counts[address] = (n_recent + 1, now)
        return True

    def _count(self, address: str, now: float) -> float:
        n_recent, updated = self._counts.get(address, (0.0, now))
        return max(0.0, n_recent - (now - updated) / self._next_after)
