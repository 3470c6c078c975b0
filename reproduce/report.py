"""All records as Markdown: docs/REPRODUCED.md."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reproduce import fletcher_islam
from reproduce.left_out import LEFT_OUT
from reproduce.protocol import MATCHES, Record
from reproduce.ranks import in_words

REPORT: Final = Path(__file__).parents[1] / "docs" / "REPRODUCED.md"
RANKED: Final = (fletcher_islam.ITEM,)  # items with several methods on the same tables


def report(records: Iterable[Record]) -> str:
    """Return all records as Markdown, with one table for each table or figure of a paper."""
    lines = [
        "# The papers, reproduced",
        "",
        "Published figures beside ours: the mechanism as published, and a certified one at the same ε. Written by",
        "`python -m reproduce`. In percent: of rows held out that are right, unless the title says otherwise; ± is our",
        "standard deviation over folds. No forest is certified on a table whose bounds are known from its rows alone,",
        "so its certified cells are empty.",
    ]
    records = list(records)
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.paper, record.item), []).append(record)
    for (paper, item), rows in groups.items():
        near = sum(row.verdict == MATCHES for row in rows)
        summary = f"A curve of {len(rows)} points." if rows[0].line else f"{near} of {len(rows)} cells match."
        lines += ["", f"## {paper}: {item}", "", summary, ""]
        lines += [
            "| cell | published | ours, as published | ours, certified | verdict | why |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_line(row) for row in rows]
        if item in RANKED:
            lines += ["", *in_words(rows)]
    lines += ["", "## What is not run, and why", ""]
    lines += [f"- {paper}, {item}: {why}." for paper, items in LEFT_OUT.items() for item, why in items.items()]
    return "\n".join([*lines, ""])


def in_order(records: Iterable[Record]) -> list[Record]:
    """Sort records by paper, then tables before figures before other items, then by number."""
    return sorted(records, key=_place)  # the sort is stable, so cells of an item keep their order


def _place(record: Record) -> tuple:
    item = record.item
    parts = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", item)]
    return record.paper, not item.startswith("table"), not item.startswith("figure"), [str(parts[0]), *parts[1:2]], item


def _line(row: Record) -> str:
    ours, certified = _percent(row.ours, row.sd), _percent(row.certified)
    return f"| {row.setting} | {_percent(row.published)} | {ours} | {certified} | {row.verdict} | {row.reason} |"


def _percent(value: float | None, sd: float | None = None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" + (f" ± {sd:.1f}" if sd is not None else "")
