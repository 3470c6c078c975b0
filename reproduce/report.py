"""All records as Markdown: docs/REPRODUCED.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reproduce import fletcher_islam
from reproduce.protocol import MATCHES, Record
from reproduce.ranks import in_words

REPORT: Final = Path(__file__).parents[1] / "docs" / "REPRODUCED.md"
RANKED: Final = (fletcher_islam.ITEM,)  # several methods on the same tables


def report(records: Iterable[Record]) -> str:
    """All records as Markdown, a table for each of a paper's."""
    lines = [
        "# The papers, reproduced",
        "",
        "Published figures beside ours: the mechanism as published, and a certified one at the same ε. Written by",
        "`python -m reproduce`. Percent right on rows held out; ± is our standard deviation over folds. No forest is",
        "certified on a table whose bounds are known from its rows alone, so its certified cells are empty.",
    ]
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.paper, record.item), []).append(record)
    for (paper, item), rows in groups.items():
        near = sum(row.verdict == MATCHES for row in rows)
        said = f"A curve of {len(rows)} points." if rows[0].line else f"{near} of {len(rows)} cells match."
        lines += ["", f"## {paper}: {item}", "", said, ""]
        lines += [
            "| cell | published | ours, as published | ours, certified | verdict | why |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_line(row) for row in rows]
        if item in RANKED:
            lines += ["", *in_words(rows)]
    return "\n".join([*lines, ""])


def _line(row: Record) -> str:
    ours, certified = _percent(row.ours, row.sd), _percent(row.certified)
    return f"| {row.setting} | {_percent(row.published)} | {ours} | {certified} | {row.verdict} | {row.reason} |"


def _percent(value: float | None, sd: float | None = None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" + (f" ± {sd:.1f}" if sd is not None else "")
