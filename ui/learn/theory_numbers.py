"""What was measured for the page Theory, from `data/theory.json`. No streamlit."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).parents[2] / "data" / "theory.json"


@cache
def measured() -> dict[str, Any]:
    """What `scripts/theory_numbers.py` wrote."""
    return json.loads(PATH.read_text(encoding="utf-8"))
