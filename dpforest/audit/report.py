"""Write the results of the audit: audit.json, a table in docs/PRIVACY.md, and a fingerprint of the audited code."""

import ast
import hashlib
import json
import math
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dpforest.audit.events import lower_bound
from dpforest.audit.rows import CONFIDENCE, EPSILONS, Row

_BEGIN: Final = "<!-- made by python -m dpforest.audit --write docs -->"
_END: Final = "<!-- end of the audit -->"
_HOME: Final = Path(__file__).parents[1]
# Neither the fits nor the attacks of the audit run this code: drawings, evaluations, simulations, theory, risks,
# explanations, suggestions for a domain, bundled tables, codebooks of uploads, decimal commas, the book of releases,
# the attack on a single leaf, the check of a released file, predictions of new rows, command lines, fits on a cluster.
_NOT_AUDITED: Final = (
    "plotting/",
    "evaluation/",
    "simulation/",
    "theory/",
    "risk/",
    "explain",
    "tables/column_kinds",
    "tables/csv_codebook",
    "tables/datasets",
    "tables/public_ranges",
    "tables/round_bounds",
    "book/",
    "audit/leaf_",
    "audit/__main__",
    "__main__",
    "verify",
    "commands/",
    "new_rows",
    "tables/decimal_commas",
    "models/dask_frames",  # no audit runs on a cluster: tests compare its forests with those of a fit, bit for bit
    "models/boosting/rows_on_workers",
)
_PACKAGES: Final = ("numpy", "numba", "scikit-learn", "scipy")


def written(rows: list[Row], trials: int) -> dict[str, Any]:
    """Return the content of audit.json: its rows, date, versions, settings, and the hash of the audited code."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "trials": trials,
        "confidence": CONFIDENCE,
        "fingerprint": fingerprint(),
        "rows": [{**asdict(row), "verdict": row.verdict} for row in rows],
    }


def save(content: dict[str, Any], folder: Path) -> None:
    """Write audit.json to a folder, and replace the table in the file PRIVACY.md of this folder."""
    (folder / "audit.json").write_text(json.dumps(_finite(content), indent=1, ensure_ascii=False) + "\n")
    page = folder / "PRIVACY.md"
    before, after = page.read_text().split(_BEGIN)
    page.write_text(before + in_markdown(_finite(content)) + after.split(_END)[1])


def _finite(value: Any) -> Any:
    """Replace infinite numbers by the text "infinity", because JSON has no infinity."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return "infinity" if isinstance(value, float) and math.isinf(value) else value


def in_markdown(content: dict[str, Any]) -> str:
    """Return the table of the audit in Markdown.

    The table has a line for each algorithm, mode and neighbor relation, and a column for each ε.
    """
    versions = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    lines = [
        _BEGIN,
        f"Made on {content['date']} with {versions}; {content['trials']:,} fits of either table for each pair.",
        "Each cell: loss computed / lower bound that the black-box attack proved. So many fits can prove no more than "
        f"{_reach(content['trials']):.1f}.",
        "",
        "| algorithm | mode | neighbors | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " | verdict |",
        "| --- " * (4 + len(EPSILONS)) + "|",
    ]
    groups: dict[tuple, list[dict]] = {}
    for row in content["rows"]:
        groups.setdefault((row["algorithm"], row["mode"].replace("_", " "), row["neighbors"]), []).append(row)
    for names, rows in groups.items():
        cells = [f"{_number(row['computed'])} / {at_least(row['bound']):g}" for row in rows]
        verdicts = list(dict.fromkeys(row["verdict"] for row in rows))
        lines.append("| " + " | ".join([*names, *cells, ", ".join(verdicts)]) + " |")
    return "\n".join([*lines, _END])


def _reach(trials: int) -> float:
    """Return the largest bound that `trials` fits can prove.

    They prove it if an event happens in all fits of one table and in no fit of the other table.
    """
    fresh = trials - 2 * (trials // 6)
    return float(lower_bound(0, fresh, fresh, alpha=1 - CONFIDENCE))


def at_least(bound: float) -> float:
    """Round a lower bound down to two decimal places."""
    return math.floor(100 * bound) / 100


def _number(value: float | str) -> str:
    return "∞" if value == "infinity" else f"{value:.3g}"


def fingerprint() -> str:
    """Return a hash of the audited code without comments and docstrings. If it changes, the audit's table is stale.

    The hash covers every module that an estimator or an attack of the table imports. A test checks this coverage.
    """
    digest = hashlib.sha256()
    for file in sorted(_HOME.rglob("*.py")):
        name = file.relative_to(_HOME).as_posix()
        if not name.startswith(_NOT_AUDITED):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                    and ast.get_docstring(node) is not None
                ):
                    node.body[:1] = [ast.Pass()]
            digest.update(f"{name}\n{_plain(tree)}\n".encode())
    return digest.hexdigest()


def _plain(node: Any) -> Any:
    """Return a syntax tree as nested lists that are the same in every version of Python."""
    if isinstance(node, ast.AST):
        fields = [(k, v) for k, v in ast.iter_fields(node) if v not in (None, []) and k not in ("kind", "type_params")]
        return [type(node).__name__, *((k, _plain(v)) for k, v in fields)]
    return [_plain(child) for child in node] if isinstance(node, list) else repr(node)
