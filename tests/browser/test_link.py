"""A link carries settings and the names of bundled tables, and nothing of an uploaded file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from urllib.parse import unquote_plus

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import clinic
from tests.browser.driver import BROWSER, Explore, chart_ready

pytestmark = BROWSER


@pytest.fixture
def neighbor(explore: Explore, window: BrowserContext, page_of: Callable[[BrowserContext], Page]) -> Explore:
    """Return another page of the same browser, which has a separate session."""
    return Explore(page_of(window), explore.url)


@pytest.mark.slow  # tests/ui/test_link_of_shape.py and the links of other pages cover this in every run
def test_a_link_shows_a_friend_the_same_page(explore: Explore, friend: Explore) -> None:
    explore.open(data="zoo", trees=11)
    with explore.refigured():
        explore.slider("Privacy budget ε").press("ArrowLeft")
    with explore.refigured():
        explore.slider("Depth").press("ArrowRight")
    with explore.refigured():
        explore.slider("Trees").press("ArrowLeft")
    explore.fine_settings()
    with explore.refigured():
        explore.pick("a row exchanged")
    with explore.refigured():
        explore.choose("How a leaf draws its label", "exponential")
    explore.tab("Leaves")
    link = explore.link()
    assert link.startswith(explore.url)

    friend.visit(link)
    chart_ready(friend.page)
    assert friend.figures() == explore.figures()
    assert friend.curve() == explore.curve()
    assert friend.settings() == explore.settings()
    for name in ("Privacy budget ε", "Depth", "Trees"):
        value = explore.value(name)
        friend.shows(name, value)
    expect(friend.page.get_by_role("tab", name="Leaves")).to_have_attribute("aria-selected", "true")
    expect(friend.badge("Simulated at ε = 0.7, replace-one")).to_be_attached()
    assert friend.link() == link


@pytest.mark.slow  # tests/ui covers this in every run
def test_a_link_shows_the_same_page_after_changes(explore: Explore, neighbor: Explore) -> None:
    """After changes of forest, mode and label, the link opens a page with the same figures and the same curve."""

    def same() -> None:
        neighbor.visit(explore.link())
        chart_ready(neighbor.page)
        assert neighbor.figures() == explore.figures()
        assert neighbor.curve() == explore.curve()

    explore.open(data="zoo", trees=5)
    for forest in ("noisy counts", "RF-L"):
        with explore.refigured():
            explore.choose("Forest", forest)
        same()
    with explore.refigured():
        explore.pick("as published")
    with explore.refigured():
        explore.choose("Label", "legs")
    same()
    assert neighbor.figures()[-1].value == "∞"
    assert neighbor.chosen("Label") == "legs"


@pytest.mark.slow
def test_link_to_an_upload_asks_for_the_file(explore: Explore, friend: Explore) -> None:
    """A link holds settings, but no name, column, category, class, value or digest of the uploaded file."""
    explore.visit(f"{explore.url}/?data=upload+a+CSV")
    explore.upload(clinic.NAME, clinic.csv())
    chart_ready(explore.page)
    with explore.refigured():
        explore.slider("Depth").press("ArrowRight")
    with explore.refigured():
        explore.slider("Privacy budget ε").press("End")
    *measured, _ = explore.figures()
    explore.confirm(clinic.SOURCE)  # replaces bounds that were read from the rows, so the figures change
    link, address = explore.link(), explore.page.url

    digests = [h(clinic.csv()).hexdigest()[:8] for h in (hashlib.sha256, hashlib.md5, hashlib.sha1)]
    for text in (unquote_plus(link), unquote_plus(address)):
        leaked = [s for s in (*clinic.SECRETS, *digests, clinic.SOURCE) if s.lower() in text.lower()]
        assert not leaked
    assert explore.settings().keys() <= {"by_rule", "data", "depth", "trees", "eps", "tab"}

    friend.visit(link)
    expect(friend.main).to_contain_text("A link never carries a file")
    expect(friend.headline).to_have_count(0)
    body = friend.page.locator("body").inner_text()
    assert not [secret for secret in clinic.SECRETS if secret in body]
    friend.upload("the same file.csv", clinic.csv())
    chart_ready(friend.page)
    assert friend.value("Depth") == explore.value("Depth")
    meaning = explore.figures()[-1]
    *theirs, would_mean = friend.figures()
    assert theirs == measured and would_mean.value == meaning.value
    assert (meaning.label, would_mean.label) == ("What ε = 25 means", "What ε = 25 would mean")
    # The second user has to confirm the domain again.
    expect(friend.sidebar).to_contain_text("were read from the data")


def test_other_sessions_see_nothing_of_an_upload(explore: Explore, neighbor: Explore) -> None:
    explore.visit(f"{explore.url}/?data=upload+a+CSV")
    explore.upload(clinic.NAME, clinic.csv())
    chart_ready(explore.page)
    neighbor.visit(f"{explore.url}/?data=upload+a+CSV&tab=Data")
    expect(neighbor.main).to_contain_text("Attach a CSV file")
    expect(neighbor.headline).to_have_count(0)
