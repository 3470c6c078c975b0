"""Python code that computes the grid of the Compare page in a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from dpforest.models.base import ForestClassifier
from ui.forest.forests import FORESTS, written
from ui.jobs.sweep_job import Line
from ui.shared import tables
from ui.shared.tables import Table


def grid_as_code(lines: Sequence[Line], table: Table, releases: int, folds: int) -> str:
    """Return Python code that calls `surface` with the page's table, forests, ε, repeats, splits and seeds.

    Parameters
    ----------
    lines : sequence of Line
        Lines of the page. All of them have the same grid of ε.
    releases : int
        Number of simulated releases of each forest.
    folds : int
        Number of splits.
    """
    is_unchanged = not table.uploaded and table.domain == tables.bundled(table.key).domain
    names = sorted({_class(line).__name__ for line in lines})
    rows = _bundled(names, table.key) if is_unchanged else _uploaded(names, table.label)
    forests = [entry for line in lines for entry in _entry(line)]
    epsilons = ", ".join(f"{epsilon:g}" for epsilon in lines[0].epsilons)
    call = [
        "grid = surface(",
        f"    forests, data, epsilons=[{epsilons}],",
        f"    repeats={releases}, folds={folds}, seed=0, n_jobs=-1,",
        ")",
        'print(summary(grid)["accuracy"])',
    ]
    return "\n".join([*rows, "", "forests = {", *forests, "}", *call])


def _bundled(names: list[str], dataset: str) -> list[str]:
    return [
        f"from dpforest import {', '.join([*names, 'load_dataset'])}",
        "from dpforest.simulation.sweep import summary, surface",
        "",
        f"data = load_dataset({dataset!r})",
    ]


def _uploaded(names: list[str], label: str) -> list[str]:
    return [
        "import json",
        "from pathlib import Path",
        "from types import SimpleNamespace",
        "",
        f"from dpforest import {', '.join(['Domain', *names, 'read_csv'])}",
        "from dpforest.simulation.sweep import summary, surface",
        "",
        "# domain.json is a download of the Data tab of Explore",
        'domain = Domain.from_dict(json.loads(Path("domain.json").read_text()))',
        'rows = read_csv("your.csv").read_with(domain)',
        f"data = SimpleNamespace(X=rows, y=rows[{label!r}], domain=domain)",
    ]


def _class(line: Line) -> type[ForestClassifier]:
    return FORESTS[line.settings.kind].estimator


def _entry(line: Line) -> list[str]:
    """Return the code of one forest. It does not set ε, because the call of `surface` sets ε."""
    arguments = {key: value for key, value in line.settings.parameters().items() if key != "epsilon"}
    values = [f"        {key}={written(value)}," for key, value in arguments.items()]
    return [f"    {line.name!r}: {_class(line).__name__}(", *values, "    ),"]
