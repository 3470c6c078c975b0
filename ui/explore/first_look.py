"""The curve of the default settings, read from a file, so that a machine without compiled kernels shows it at once.

`scripts/first_curve.py` writes the file. A test simulates some of its releases again. No Streamlit here.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.simulation.pieces import Row
from ui.jobs.sweep_job import SweepJob
from ui.shared.epsilon import grid_with
from ui.shared.forests import ForestSettings
from ui.shared.tables import Table, fingerprint

PATH: Final = Path(__file__).parents[2] / "data" / "first_curve.json"


@dataclass(frozen=True)
class FirstLook:
    """The first simulated releases, and the certificate and ledger that a release would carry."""

    pieces: list[list[Row]]
    certificate: Certificate
    ledger: Ledger

    def into(self, job: SweepJob) -> None:
        """Add the releases to a job, which treats them like simulated ones."""
        for n, piece in enumerate(self.pieces):
            job.add(n, piece)


def stored(table: Table, settings: ForestSettings) -> FirstLook | None:
    """Return the stored releases; None unless the table and the settings are those with which the app opens."""
    if table.uploaded or not PATH.exists():
        return None
    content = json.loads(PATH.read_text())
    if content["of"] != key(table, settings):
        return None
    ledger = Ledger.from_dict(content["ledger"])
    certificate = Certificate.from_dict(content["certificate"], ledger)
    return FirstLook([[_read(row) for row in piece] for piece in content["pieces"]], certificate, ledger)


def key(table: Table, settings: ForestSettings) -> dict[str, Any]:
    """Return everything that the stored releases depend on, in the types that JSON returns."""
    dependencies = {
        "table": table.schema_key,
        "domain": fingerprint(table.domain),
        "settings": settings.without_epsilon(),
        "rows": len(table.frame),
        "epsilons": grid_with(settings.epsilon),
    }
    return json.loads(json.dumps(dependencies))


def as_json(job: SweepJob) -> list[list[Row]]:
    """Return the finished pieces in JSON types, with None for an infinite ε, and bytes in base 16."""
    return [[_written(row) for row in job.pieces[n]] for n in range(job.n_done)]


def _written(row: Row) -> Row:
    epsilon = row["epsilon"] if math.isfinite(row["epsilon"]) else None
    return {**row, "epsilon": epsilon, "right": row["right"].hex()}


def _read(row: Row) -> Row:
    """Convert one row of `as_json` back."""
    epsilon = math.inf if row["epsilon"] is None else row["epsilon"]
    return {**row, "epsilon": epsilon, "right": bytes.fromhex(row["right"])}
