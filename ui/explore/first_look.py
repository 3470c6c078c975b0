"""What the app opens with, from a file, for a machine that has nothing compiled yet; no Streamlit in here.

The file is written by `scripts/first_curve.py`; a test draws some of it again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpforest.evaluation.repeats import Curve
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from ui.shared.epsilon import grid_with
from ui.shared.forests import Settings
from ui.shared.tables import Table, fingerprint

PATH: Final = Path(__file__).parents[2] / "data" / "first_curve.json"


@dataclass(frozen=True)
class FirstLook:
    """The curve, and what a release would carry."""

    curve: Curve
    certificate: Certificate
    ledger: Ledger


def stored(table: Table, settings: Settings) -> FirstLook | None:
    """Of these settings on this table; None for all but those that the app opens with."""
    if table.uploaded or not PATH.exists():
        return None
    found = json.loads(PATH.read_text())
    if found["of"] != key(table, settings):
        return None
    promise = Certificate.from_dict(found["certificate"]), Ledger.from_dict(found["ledger"])
    return FirstLook(as_curve(found["curve"]), *promise)


def key(table: Table, settings: Settings) -> dict[str, Any]:
    """What all of it depends on, as JSON reads it back."""
    of = {
        "table": table.schema_key,
        "domain": fingerprint(table.domain),
        "settings": settings.without_epsilon(),
        "rows": len(table.frame),
        "epsilons": grid_with(settings.epsilon),
    }
    return json.loads(json.dumps(of))


def as_dict(curve: Curve) -> dict[str, Any]:
    """A curve as JSON takes it."""
    values = {field.name: getattr(curve, field.name) for field in fields(Curve)}
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}


def as_curve(values: dict[str, Any]) -> Curve:
    """What `as_dict` has written."""
    read: dict[str, Any] = {name: np.array(v) if isinstance(v, list) else v for name, v in values.items()}
    return Curve(**read)
