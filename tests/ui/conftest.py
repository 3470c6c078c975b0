"""Fixtures that apply to all tests of pages."""

import pytest

from ui.explore import instrument, other_forests
from ui.jobs import first_release


@pytest.fixture(autouse=True)
def no_book(monkeypatch):
    """Switch off the app's book (the ledger across releases), except in tests that name a folder for it."""
    monkeypatch.setenv("DPFOREST_DATA_DIR", "off")


@pytest.fixture(autouse=True)
def few_releases(monkeypatch, request):
    """Let pages simulate two releases, and no further lines or forests, except in tests marked `refined`.

    A page refines its figures by more simulations while a user looks at the page. These simulations take most of the
    time of a run, and few tests depend on them.
    """
    if request.node.get_closest_marker("refined") is None:
        monkeypatch.setattr(first_release, "LAST", 2)
        monkeypatch.setattr(instrument, "MOST_LEAVES", 0)
        monkeypatch.setattr(other_forests, "RELEASES", 0)
