"""Run the reproductions, `python -m reproduce [--quick] [--only PAPER ...]`; writes results.json, docs/REPRODUCED.md.

`--quick` takes two tables of each paper, prints what it finds, and writes nothing.
"""

from __future__ import annotations

import argparse
import time

from reproduce import bojarski, fletcher_islam, multinomial
from reproduce.protocol import PATH, REPORT, Record, read, report, write

PAPERS = {"bojarski": bojarski.records, "fletcher_islam": fletcher_islam.records, "multinomial": multinomial.records}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=PAPERS, default=list(PAPERS))
    arguments = parser.parse_args()
    found: dict[str, list[Record]] = {}
    for record in read() if PATH.exists() else ():
        found.setdefault(record.paper, []).append(record)
    for name in arguments.only:
        start, rows = time.monotonic(), []
        for record in PAPERS[name](quick=arguments.quick):
            rows.append(record)
            print(f"{time.monotonic() - start:6.0f} s  {record.setting}: {record.published:.1f} published, "
                  f"{record.ours:.1f} ours, {record.verdict}", flush=True)  # fmt: skip
        if not arguments.quick:
            found[rows[0].paper] = rows
            records = [record for paper in sorted(found) for record in found[paper]]
            write(records)  # after each paper: a stop loses one
            REPORT.write_text(report(records), encoding="utf-8")


if __name__ == "__main__":
    main()
