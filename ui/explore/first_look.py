"""The curve of the default settings, read from a file, so that the page shows a curve before any code is compiled.

`scripts/first_curve.py` writes the file. A test checks some of its releases by simulating them again. This module does
not use Streamlit.
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
from ui.forest.forests import ForestSettings
from ui.jobs.sweep_job import SweepJob
from ui.shared.epsilon import grid_with
from ui.shared.tables import Table, fingerprint

PATH: Final = Path(__file__).parents[2] / "data" / "first_curve.json"


@dataclass(frozen=True)
class FirstLook:
    """The first simulated releases of the default settings, with the certificate and the ledger of a release.

    Parameters
    ----------
    pieces : list of list of dict
        Rows of each simulated release, as in `Job.pieces`.
    """

    pieces: list[list[Row]]
    certificate: Certificate
    ledger: Ledger

    def add_to(self, job: SweepJob) -> None:
        """Add the releases to a job, which treats them like releases that it simulated."""
        for n, piece in enumerate(self.pieces):
            job.add(n, piece)


def stored(table: Table, settings: ForestSettings) -> FirstLook | None:
    """Return the stored releases if the table and the settings are those with which the app opens; otherwise None."""
    if table.uploaded or not PATH.exists():
        return None
    content = json.loads(PATH.read_text())
    if content["of"] != key(table, settings):
        return None
    ledger = Ledger.from_dict(content["ledger"])
    certificate = Certificate.from_dict(content["certificate"], ledger)
    return FirstLook([[_from_json(row) for row in piece] for piece in content["pieces"]], certificate, ledger)


def key(table: Table, settings: ForestSettings) -> dict[str, Any]:
    """Return everything that the stored releases depend on, as `json.loads` would read it from the file."""
    dependencies = {
        "table": table.schema_key,
        "domain": fingerprint(table.domain),
        "settings": settings.without_epsilon(),
        "rows": len(table.frame),
        "epsilons": grid_with(settings.epsilon),
    }
    return json.loads(json.dumps(dependencies))


def as_json(job: SweepJob) -> list[list[Row]]:
    """Return the finished results of a job in JSON types: None for an infinite ε, and hexadecimal digits for bytes."""
    return [[_to_json(row) for row in job.pieces[n]] for n in range(job.n_done)]


def _to_json(row: Row) -> Row:
    epsilon = row["epsilon"] if math.isfinite(row["epsilon"]) else None
    return {**row, "epsilon": epsilon, "right": row["right"].hex()}


def _from_json(row: Row) -> Row:
    """Convert a row that `_to_json` returned back to the row of a job."""
    epsilon = math.inf if row["epsilon"] is None else row["epsilon"]
    return {**row, "epsilon": epsilon, "right": bytes.fromhex(row["right"])}
