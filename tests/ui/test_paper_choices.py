"""Every control of ε or of the number of trees offers the values of the papers' experiments."""

import pytest

from tests.ui.app_words import visit, words
from ui.choose import wish_controls

TREES = {"9", "13", "17", "19", "20", "21", "30"}  # Bojarski et al. 9 to 21, Nock and Henecka 20, Fletcher and Islam 30
LARGEST = "25"  # the largest ε of Nock and Henecka


@pytest.fixture(autouse=True)
def _few_kinds(monkeypatch):
    monkeypatch.setattr(wish_controls, "kinds", lambda: ["RF-E"])


@pytest.mark.parametrize("trees", sorted(TREES, key=int))
def test_explore_offers_the_settings_of_the_papers(trees):
    page = visit(data="zoo", forest="noisy counts", trees=trees, depth="3", eps=LARGEST)
    slider = page.select_slider(key="trees")
    assert slider.value == int(trees) and set(slider.options) >= TREES
    assert page.select_slider(key="eps").value == 25.0
    assert "What ε = 25 means" in words(page)


def test_compare_offers_the_settings_of_the_papers():
    page = visit("pages/1_Compare.py", data="zoo", forests=["RF-E"], releases_each="2", own='{"RF-E":{"trees":30}}')
    slider = page.select_slider(key="setting_RF-E_trees")
    assert slider.value == 30 and set(slider.options) >= TREES
    page.select_slider(key="eps").set_value(25.0).run()
    assert not page.exception and "At ε = 25, **RF-E (30 trees)** comes first" in words(page)


def test_choose_offers_the_largest_epsilon_of_the_papers():
    page = visit("pages/2_Choose_epsilon.py", data="zoo", sure="8 in 10 releases", looked_at="RF-E")
    assert LARGEST in page.select_slider(key="look_eps").options
    page.select_slider(key="look_eps").set_value(25.0).run()
    assert not page.exception and page.select_slider(key="look_eps").value == 25.0


@pytest.mark.parametrize(
    ("theorem", "key"), [("Votes of random trees", "theory_votes"), ("… with privacy", "theory_proof_trees")]
)
def test_theory_offers_the_settings_of_the_papers(theorem, key):
    page = visit("pages/6_Theory.py", theorem=theorem)
    assert set(page.select_slider(key=key).options) >= TREES
    for slider in page.select_slider:
        if slider.key == "eps":
            assert LARGEST in slider.options
