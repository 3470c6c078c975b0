"""Audit every forest and print the table: python -m dpforest.audit [--write docs]"""

import argparse
from pathlib import Path

from dpforest.audit.black_box import TRIALS
from dpforest.audit.canaries import ALGORITHMS
from dpforest.audit.report import save, written
from dpforest.audit.rows import Row, audit_all
from dpforest.audit.suite import suspicions

_FORM = "{:<18} {:<13} {:<12} {:>5}  {:>9}  {:>9}  {:<13} {}"

_KEY = """
computed: certified, the worst loss of small leaves (or of replayed fits); as published inf: nothing is proved.
proved: lower bound of the black-box attack, each wrong with a probability of at most 1e-6. Above ε, the claim is false;
below, it proves nothing. holds: proved, and no attack got above ε. nothing found: no proof, but no attack got above ε
either."""


def _show(row: Row) -> None:
    print(
        _FORM.format(
            row.algorithm,
            row.mode,
            row.neighbors,
            f"{row.epsilon:g}",
            f"{row.computed:.4g}",
            f"{row.bound:.3f}",
            row.verdict,
            f"{row.canary}: {row.event}" if row.bound > 0 else "",
        ),
        flush=True,
    )
    for fault in row.faults:
        print("    " + fault, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m dpforest.audit",
        description="Attack every forest and print a table; 45 minutes on two cores.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=TRIALS, help="fits of either table for each pair of tables")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", default="", help="algorithms whose name contains this")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write audit.json and PRIVACY.md there")
    options = parser.parse_args()
    if not any(options.only in name for name in ALGORITHMS):
        parser.error(f"--only {options.only}: there is no such algorithm; there are {', '.join(ALGORITHMS)}")
    if options.write and options.only:
        parser.error("--write needs all algorithms; leave out --only")
    print("Samplers, sensitivities and replays of certified forests:", flush=True)
    mistakes = list(suspicions())
    print("\n".join(mistakes) if mistakes else "nothing found", end="\n\n", flush=True)
    print(_FORM.format("algorithm", "mode", "neighbors", "ε", "computed", "proved ≥", "verdict", "how"))
    rows = audit_all(trials=options.trials, n_jobs=options.jobs, only=options.only, on_row=_show)
    print(_KEY)
    if options.write and mistakes:
        print("Nothing is written: first repair what is listed above.")
    elif options.write:
        save(written(rows, options.trials), options.write)
    failures = mistakes + [row.algorithm for row in rows if row.verdict == "BROKEN"]
    raise SystemExit("A certified forest is broken." if failures else 0)


if __name__ == "__main__":
    main()
