"""Recompute ε of a released forest with dp_accounting, from the ledger in its file.

python examples/recompute_epsilon.py forest_1.json.gz 1e-6
"""

import sys
from pathlib import Path
from typing import Any

from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant

from dpforest import ReleasedForest
from dpforest.privacy.dp_events import to_dp_events


def event_of(data: Any) -> Any:
    """Build the event that plain JSON describes."""
    if isinstance(data, list):
        return [event_of(part) for part in data]
    if not isinstance(data, dict):
        return data
    fields = {name: event_of(value) for name, value in data.items() if name not in ("module_name", "class_name")}
    return getattr(dp_event, data["class_name"])(**fields)


def main(file: str, delta: float = 1e-6) -> None:
    forest = ReleasedForest.from_bytes(Path(file).read_bytes())
    events = to_dp_events(forest.ledger)
    accountant = PLDAccountant(NeighboringRelation[events["neighboring_relation"]])
    theirs = accountant.compose(event_of(events["event"])).get_epsilon(delta)
    print(f"dp_accounting: ε = {theirs:.5f} at δ = {delta:g}")
    if (curve := forest.certificate.tradeoff) is not None:
        print(f"dpforest:      ε = {curve.epsilon(delta):.5f} at δ = {delta:g}")


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:]))
