"""Places that break a rule of docs/STYLE.md: `style_debt.txt` lists them as "rule path count".

A file must break a rule exactly as often as its line states. After a repair, `python -m tests.style_debt` writes the
list again. The list may only shrink.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parents[1]
DEBT = Path(__file__).with_name("style_debt.txt")


class Break(NamedTuple):
    """A place that breaks a rule."""

    rule: str
    path: str
    line: int
    text: str


def check(rule: str, breaks: Iterable[Break]) -> None:
    """Check that each file breaks a rule exactly as often as the list states.

    Raises
    ------
    AssertionError
        If a file breaks the rule more often or less often than its line states. The message lists the places.
    """
    places = list(breaks)
    entries = [line.split() for line in DEBT.read_text(encoding="utf-8").splitlines()] if DEBT.exists() else []
    listed = {path: int(count) for name, path, count in entries if name == rule}
    counts = Counter(place.path for place in places)
    more = [f"{p.path}:{p.line} {p.text}" for p in places if counts[p.path] > listed.get(p.path, 0)]
    assert more == [], f"see docs/STYLE.md: {more}"
    fewer = [path for path, count in listed.items() if counts[path] < count]
    assert fewer == [], "well done; write the list again with: python -m tests.style_debt"


def write(checks: Iterable[Iterable[Break]]) -> None:
    """Write the list of all places, and print the number of places for each rule."""
    totals = Counter((place.rule, place.path) for places in checks for place in places)
    lines = [f"{rule} {path} {count}\n" for (rule, path), count in sorted(totals.items())]
    DEBT.write_text("".join(lines), encoding="utf-8")
    rules = sorted({rule for rule, _ in totals})
    print({rule: sum(count for (name, _), count in totals.items() if name == rule) for rule in rules})


if __name__ == "__main__":
    from tests.test_style import CHECKS

    write(find() for find in CHECKS.values())
