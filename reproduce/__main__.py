"""Run the reproductions: `python -m reproduce [--quick] [--only PART ...] [--data DIR]`.

Writes results.json and docs/REPRODUCED.md after each part, so that a stop loses one. `--quick` takes a few cells of
each, prints what it finds, and writes nothing. `--data` names a folder with a catalogue.json, as `data/` has, for the
papers' tables that do not come with this project.
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

from reproduce import (
    bojarski,
    bojarski_curves,
    epsilon_curves,
    fletcher_islam,
    fletcher_islam_choices,
    fletcher_islam_formulas,
    fletcher_islam_real,
    fletcher_islam_synthetic,
    multinomial,
    multinomial_budget,
    multinomial_comparators,
    multinomial_temperatures,
    multinomial_trees,
    nock_henecka,
)
from reproduce.protocol import PATH, Record, read, write
from reproduce.report import REPORT, report

PARTS = {
    "bojarski": bojarski.records,
    "bojarski_curves": bojarski_curves.records,
    "epsilon_curves": epsilon_curves.records,
    "fletcher_islam": fletcher_islam.records,
    "fletcher_islam_choices": fletcher_islam_choices.records,
    "fletcher_islam_formulas": fletcher_islam_formulas.records,
    "fletcher_islam_real": fletcher_islam_real.records,
    "fletcher_islam_synthetic": fletcher_islam_synthetic.records,
    "multinomial": multinomial.records,
    "multinomial_budget": multinomial_budget.records,
    "multinomial_comparators": multinomial_comparators.records,
    "multinomial_temperatures": multinomial_temperatures.records,
    "multinomial_trees": multinomial_trees.records,
    "nock_henecka": nock_henecka.records,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--data", type=Path, help="folder with tables that are not bundled")
    arguments = parser.parse_args()
    if arguments.data is not None and not (arguments.data / "catalogue.json").is_file():
        parser.error(f"{arguments.data} has no catalogue.json; --data names a folder like data/.")
    found: dict[tuple[str, str], list[Record]] = {}
    for record in read() if PATH.exists() else ():
        found.setdefault((record.paper, record.item), []).append(record)
    for name in arguments.only:
        start, rows = time.monotonic(), dict[tuple[str, str], list[Record]]()
        for record in PARTS[name](quick=arguments.quick, folder=arguments.data):
            rows.setdefault((record.paper, record.item), []).append(record)
            printed = "" if record.published is None else f"{record.published:.1f} published, "
            print(f"{time.monotonic() - start:6.0f} s  {record.setting}: {printed}{record.ours:.1f} ours, "
                  f"{record.verdict}", flush=True)  # fmt: skip
        if not arguments.quick:
            found.update(rows)
            records = [record for key in sorted(found, key=_place) for record in found[key]]
            write(records)
            REPORT.write_text(report(records), encoding="utf-8")


def _place(key: tuple[str, str]) -> tuple:
    """By paper; what the paper has first, tables before figures, figure 4 before figure 10."""
    paper, item = key
    parts = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", item)]
    return paper, not item.startswith("table"), not item.startswith("figure"), [str(parts[0]), *parts[1:2]], item


if __name__ == "__main__":
    main()
