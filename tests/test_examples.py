"""Tests that the examples run unchanged."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore")  # an example with a Dask cluster may warn
@pytest.mark.parametrize(
    "name, settings, printed",
    [
        ("dask_dataframe", {"n_partitions": 5}, "that of a fit in memory, bit for bit"),
        ("dask_sweep", {"repeats": 2}, "2 simulated releases in each cell"),
    ],
)
def test_the_examples_run(name, settings, printed, capsys):
    pytest.importorskip("distributed", reason="needs the extra 'cluster' (docs/CONTRIBUTING.md)")
    example(name).main("zoo", **settings)
    assert printed in capsys.readouterr().out


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "dask_dataframe",
        "dask_sweep",
        "recompute_epsilon",  # run in tests/privacy/test_dp_accounting.py
    }
