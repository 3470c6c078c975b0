"""The text of docs/REPRODUCED.md: all records as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from reproduce import fletcher_islam
from reproduce.left_out import LEFT_OUT, SUMMARY
from reproduce.paired import paired_tests
from reproduce.protocol import COMPATIBLE, CONTRADICTS, EQUAL, NOT_COMPARABLE, Record
from reproduce.ranks import in_words

REPORT: Final = Path(__file__).parents[1] / "docs" / "REPRODUCED.md"
RANKED: Final = (fletcher_islam.ITEM,)  # tables or figures of papers that compare several methods on the same data


def report(records: Iterable[Record]) -> str:
    """Return all records as Markdown, with one table for each table or figure of a paper."""
    lines = [
        "# The papers, reproduced",
        "",
        "Published figures next to ours: the mechanism as published, and a certified one at the same ε. Written by",
        "`python -m reproduce`. Figures are percentages of correctly classified held-out rows, unless the title says",
        "otherwise; ± is our standard deviation over folds. If the bounds of a table are known only from its rows, no",
        "forest on it is certified, and its certified cells are empty.",
        "",
        "A cell is **equal** if the two means differ by at most 2 points. It is **compatible** if they differ by at",
        "most the spread, two standard errors of their difference (`reproduce/protocol.py`). A wide spread says",
        "little, so each table has a paired test over its cells, which shows a shift that no single cell can show.",
    ]
    lines += ["", *(f"- **{paper}.** {text}" for paper, text in SUMMARY.items())]
    records = list(records)
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.paper, record.item), []).append(record)
    for (paper, item), rows in groups.items():
        lines += ["", f"## {paper}: {item}", "", summary_of(rows), ""]
        lines += [
            "| cell | published | ours, as published | spread | ours, certified | verdict | why |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [_line(row) for row in rows]
        if tests := paired_tests(rows):
            lines += ["", *(f"- {test.words}" for test in tests)]
        if item in RANKED:
            lines += ["", *in_words(rows)]
    lines += ["", "## What is not run, and why", ""]
    lines += [f"- {paper}, {item}: {why}." for paper, items in LEFT_OUT.items() for item, why in items.items()]
    return "\n".join([*lines, ""])


def summary_of(rows: Sequence[Record]) -> str:
    """Count the verdicts of an item's cells, and state the largest spread of the compatible cells.

    >>> cells = [Record("a", "b", "c", 1.0, 1.0, None, 1.0, how, "", spread=6.0) for how in (EQUAL, COMPATIBLE)]
    >>> summary_of(cells)
    'Of 2 cells, 1 equal, 1 compatible (within 6.0 points).'
    """
    if rows[0].line:
        return f"A curve of {len(rows)} points."
    counts = Counter(row.verdict for row in rows)
    spreads = [row.spread for row in rows if row.verdict == COMPATIBLE]
    within = ""
    if spreads:
        low, high = min(spreads), max(spreads)
        within = f" (within {low:.1f} points)" if low == high else f" (within {low:.1f} to {high:.1f} points)"
    order = (EQUAL, COMPATIBLE, CONTRADICTS, NOT_COMPARABLE)
    words = {how: how for how in order} | {COMPATIBLE: COMPATIBLE + within, CONTRADICTS: "contradict"}
    parts = [f"{counts[how]} {words[how]}" for how in order if counts[how]]
    return f"Of {len(rows)} cells, {', '.join(parts)}."


def in_order(records: Iterable[Record]) -> list[Record]:
    """Sort records by paper, then by kind (tables, figures, other items), then by number."""
    return sorted(records, key=_place)  # the sort is stable, so cells of an item keep their order


def _place(record: Record) -> tuple:
    item = record.item
    parts = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", item)]
    return record.paper, not item.startswith("table"), not item.startswith("figure"), [str(parts[0]), *parts[1:2]], item


def _line(row: Record) -> str:
    ours, certified = _percent(row.ours, row.sd), _percent(row.certified)
    spread = f"{row.spread:.1f}" if row.spread else ""
    columns = row.setting, _percent(row.published), ours, spread, certified, row.verdict, row.reason
    return f"| {' | '.join(columns)} |"


def _percent(value: float | None, sd: float | None = None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" + (f" ± {sd:.1f}" if sd is not None else "")
