"""Where a forest starts, and whose number that is: nothing is ascribed to a paper that does not say it."""

import pytest

from dpforest.models.depth_rules import fletcher_islam_depth
from ui.shared.forests import FORESTS, MODES
from ui.shared.shape_origin import origin


def helps(app) -> dict[str, str]:
    return {slider.label: slider.help for slider in (*app.slider, *app.select_slider)}


@pytest.mark.parametrize(("kind", "mode"), [(kind, mode) for kind, own in FORESTS.items() for mode in own.modes()])
def test_every_slider_says_whose_number_it_starts_from(app, kind, mode):
    app.query_params.clear()
    app.query_params.update({"data": "car", "forest": kind, "mode": mode})
    app.run()
    assert not app.exception
    said, own = helps(app), origin(kind, MODES[mode])
    if FORESTS[kind].has_depth(MODES[mode]):
        assert own.depth and said["Depth"].endswith(own.depth)
    if FORESTS[kind].has_trees:
        assert own.trees and said["Trees"].endswith(own.trees)
    assert not any("The paper" in text for text in said.values())


def test_what_papers_say():
    """From the papers' text: figures that are ours are said to be ours."""
    papers = {kind: forest for kind, forest in FORESTS.items() if forest.is_published}
    published = {kind: origin(kind, "as_published") for kind in papers}
    shapes = {kind: forest.estimator.published_shape for kind, forest in papers.items()}
    ours = {name for name, own in published.items() if own.depth.startswith("As published: our choice")}
    assert ours == {"noisy counts", "boosted"}
    # Fletcher and Islam: 100 trees; in their comparison JPW has 10 trees, Friedman and Schuster's tree a depth of 5.
    assert (shapes["majority labels"][0], shapes["JPW"][0], shapes["one greedy tree"][1]) == (100, 10, 5)
    # Nock and Henecka: 21 trees, depths 2, 4 and 6.
    assert shapes["RF-L"] == shapes["RF-E"] == (21, 6)
    # Bai et al. take 100 trees; we do not.
    assert shapes["multinomial"][0] != 100 and "100" in published["multinomial"].trees


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
