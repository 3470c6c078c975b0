"""Where a forest starts, and whose number that is: nothing is ascribed to a paper that does not say it."""

import inspect

import pytest

from dpforest.models.depth_rules import fletcher_islam_depth
from dpforest.models.greedy.multinomial import MultinomialForestClassifier
from ui.shared.forests import FORESTS
from ui.shared.starting_points import ORIGINS, start


def helps(app) -> dict[str, str]:
    return {slider.label: slider.help for slider in (*app.slider, *app.select_slider)}


@pytest.mark.parametrize("kind", FORESTS)
def test_every_slider_says_whose_number_it_starts_from(app, kind):
    app.query_params.clear()
    app.query_params.update({"data": "car", "forest": kind})
    app.run()
    assert not app.exception
    said = helps(app)
    assert said["Depth"].endswith(start(app.slider(key="depth").value, ORIGINS[kind].depth))
    if FORESTS[kind].has_trees:
        assert said["Trees"].endswith(start(FORESTS[kind].trees, ORIGINS[kind].trees))
    assert not any("The paper" in text for text in said.values())


def test_what_papers_say():
    """From the papers' text: figures that are ours are said to be ours."""
    ours = {name for name, origin in ORIGINS.items() if origin.depth.startswith("our choice")}
    assert ours == {"noisy counts", "boosted", "multinomial"}
    # Fletcher and Islam: 100 trees; in their comparison JPW has 10 trees, Friedman and Schuster's tree a depth of 5.
    assert (FORESTS["majority labels"].trees, FORESTS["JPW"].trees, FORESTS["one greedy tree"].depth) == (100, 10, 5)
    # Nock and Henecka: 21 trees, depths 2, 4 and 6.
    for kind in ("RF-L", "RF-E"):
        assert FORESTS[kind].trees == 21
        assert inspect.signature(FORESTS[kind].estimator).parameters["max_depth"].default == 6
    # Bai et al. take 100 trees; we do not.
    assert MultinomialForestClassifier().n_estimators != 100 and "100" in ORIGINS["multinomial"].trees


@pytest.mark.parametrize("numeric", range(12))
@pytest.mark.parametrize("categorical", [0, 1, 8, 22])
def test_the_depth_of_the_tables_is_mostly_one_more_than_the_theorem(numeric, categorical):
    published, theorem = (fletcher_islam_depth(numeric, categorical, rule) for rule in ("published", "theorem"))
    capped = published == 15
    assert published <= 15
    if numeric == 0:
        assert published == theorem
    elif numeric != 2 and not capped:
        assert published == theorem + 1
