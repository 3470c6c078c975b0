"""Fixtures and helpers of all tests: small domains, random rows from fixed seeds, and the choice of slow tests."""

import functools
import os
from collections import defaultdict
from collections.abc import Iterable

# Without this variable, scikit-learn skips its check of array API inputs. scipy reads the variable at import.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from dpforest.tables.domain import Domain, Feature

# Each `AppTest` reads the metadata of all installed packages, which takes 0.14 s. The metadata do not change during the
# tests, so they are cached.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)


def public_domain(*kinds: int | None, n_classes: int = 2, scale: str = "linear") -> Domain:
    """Return a documented domain. None makes a numeric feature on [0, 1]; a number n makes a feature of n categories.

    On the linear scale, equal steps of codes are equal steps of values. The plain algorithms of the tests rely on this.
    """
    features = tuple(
        Feature(f"f{i}", "numeric", 0.0, 1.0, source="documented", source_note="made up", scale=scale)
        if kind is None
        else Feature(
            f"f{i}",
            "categorical",
            categories=tuple(f"c{j}" for j in range(kind)),
            source="documented",
            source_note="made up",
        )
        for i, kind in enumerate(kinds)
    )
    return Domain(features, tuple(range(n_classes)), "y", "documented", "made up")


# A plain run takes one of four cases of each parametrized test in these folders and files. A run without compiled
# kernels is slow, so it takes one of six cases in all files. A run with compiled kernels covers the other cases.
EVERY = 4
SAMPLED = (
    *("tests/ui/", "tests/plotting/", "tests/simulation/", "tests/evaluation/", "tests/models/test_estimator_checks"),
    *(f"tests/audit/test_{what}" for what in ("tails", "replay", "units", "black_box", "mutants", "exact_samplers")),
)
if os.environ.get("NUMBA_DISABLE_JIT"):
    SAMPLED, EVERY = ("",), 6


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but one of `EVERY` cases of tests in `SAMPLED` as slow, unless the test itself marks slow cases."""
    families = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.nodeid.startswith(SAMPLED):
            families[item.nodeid.split("[")[0]].append(item)
    for cases in families.values():
        if not any(case.get_closest_marker("slow") for case in cases):
            for i, case in enumerate(cases):
                if i % EVERY:
                    case.add_marker(pytest.mark.slow)


def some(names: Iterable, others: Iterable, *, every: int = 1) -> list:
    """Return all pairs of `names` and `others` as parameters of a test, most of them marked as slow.

    Only one name in `every` has a pair that is not slow. These pairs take the items of `others` in turn.
    """
    others = list(others)
    return [
        pytest.param(name, other, marks=() if i % every == 0 and j == i // every % len(others) else pytest.mark.slow)
        for i, name in enumerate(names)
        for j, other in enumerate(others)
    ]


def every(n: int, items: Iterable) -> list:
    """Return all items as parameters of a test. All but the first of each `n` successive items are marked as slow."""
    return [pytest.param(item, marks=pytest.mark.slow if i % n else ()) for i, item in enumerate(items)]


def examples(n: int, part: int = 4) -> int:
    """Return the number of examples of a property test: `n` with `scripts/test --slow`, otherwise `n // part`."""
    return n if os.environ.get("ALL_EXAMPLES") else n // part


def random_codes(domain: Domain, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, f.n_codes if f.kind == "categorical" else 65_536, n) for f in domain.features]
    return np.stack(columns, axis=1).astype(np.uint16)


@pytest.fixture
def mixed() -> Domain:
    return public_domain(None, 3, None, 7, 2, n_classes=3)


@pytest.fixture
def numeric() -> Domain:
    return public_domain(*[None] * 5)


@pytest.fixture
def app(monkeypatch) -> AppTest:
    """Return the page Explore on a small table, with two simulated releases and forests of five trees."""
    from ui.jobs import first_release

    monkeypatch.setattr(first_release, "LAST", 2)
    page = AppTest.from_file("../app.py", default_timeout=600)
    page.query_params.update({"data": "zoo", "trees": "5", "forest": "majority labels"})
    return page
