"""What the app opens with, from a file, for a machine that has nothing compiled yet; no Streamlit in here.

The file is written by `scripts/first_curve.py`; a test draws some of it again.
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
    """The first simulated releases, and what a release would carry."""

    pieces: list[list[Row]]
    certificate: Certificate
    ledger: Ledger

    def into(self, job: SweepJob) -> None:
        """Keep them, as if they had been simulated here."""
        for n, piece in enumerate(self.pieces):
            job.add(n, piece)


def stored(table: Table, settings: ForestSettings) -> FirstLook | None:
    """Of these settings on this table; None for all but those that the app opens with."""
    if table.uploaded or not PATH.exists():
        return None
    content = json.loads(PATH.read_text())
    if content["of"] != key(table, settings):
        return None
    promise = Certificate.from_dict(content["certificate"]), Ledger.from_dict(content["ledger"])
    return FirstLook([[_read(row) for row in piece] for piece in content["pieces"]], *promise)


def key(table: Table, settings: ForestSettings) -> dict[str, Any]:
    """What all of it depends on, as JSON reads it back."""
    of = {
        "table": table.schema_key,
        "domain": fingerprint(table.domain),
        "settings": settings.without_epsilon(),
        "rows": len(table.frame),
        "epsilons": grid_with(settings.epsilon),
    }
    return json.loads(json.dumps(of))


def as_json(job: SweepJob) -> list[list[Row]]:
    """Pieces as JSON takes them: no ε stands for infinity."""
    return [
        [{**row, "epsilon": row["epsilon"] if math.isfinite(row["epsilon"]) else None} for row in job.pieces[n]]
        for n in range(job.n_done)
    ]


def _read(row: Row) -> Row:
    """What `as_json` has written."""
    return {**row, "epsilon": math.inf if row["epsilon"] is None else row["epsilon"]}
