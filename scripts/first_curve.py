"""Write data/first_curve.json, the curve that the app shows first: `.venv/bin/python scripts/first_curve.py`."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ui.explore.first_look import PATH, as_json, key
from ui.forest.forests import OPENING, ForestSettings, as_it_comes
from ui.jobs.first_release import LAST
from ui.jobs.sweep_job import Line, sweep_job
from ui.shared import tables
from ui.shared.epsilon import grid_with


def opening() -> tuple[tables.Table, ForestSettings]:
    """Return the table and the settings with which the app opens: its first table, its first forest, and ε = 1."""
    data = tables.bundled(tables.DEFAULT)
    return tables.bundled_table(data, data.label), as_it_comes(OPENING, "certified", 1.0, "add-remove")


def main() -> None:
    table, settings = opening()
    job = sweep_job(table, Line(settings, grid_with(settings.epsilon)))
    for _ in job.work(LAST):
        pass
    certificate, ledger = settings.estimator(table.domain).preview(table.domain, len(table.frame))
    content = {
        "of": key(table, settings),
        "certificate": certificate.to_dict(),
        "ledger": ledger.to_dict(),
        "pieces": as_json(job),
    }
    PATH.write_text(json.dumps(content) + "\n")
    print(f"{PATH}: {LAST} simulated releases")


if __name__ == "__main__":
    main()
