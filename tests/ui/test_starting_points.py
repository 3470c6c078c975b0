"""The initial settings of a forest and their sources: no number is ascribed to a paper that does not have it."""

import pytest

from dpforest.models.depth_rules import fletcher_islam_depth
from tests.ui.app_words import controls
from ui.forest.forests import FORESTS, MODES


def helps(app) -> dict[str, str]:
    return {slider.label: slider.help for slider in (*app.slider, *app.select_slider)}


@pytest.mark.parametrize(("kind", "mode"), [(kind, mode) for kind in FORESTS for mode in FORESTS[kind].modes()])
def test_every_slider_names_the_source_of_its_starting_value(kind, mode):
    app = controls()
    app.query_params.update({"data": "car", "forest": kind, "mode": mode})
    app.run()
    assert not app.exception
    texts, forest = helps(app), FORESTS[kind]
    depth, trees = forest.depth_origin(MODES[mode]), forest.trees_origin(MODES[mode])
    if forest.has_depth(MODES[mode]):
        assert depth and texts["Depth"].endswith(depth)
    if forest.has_trees:
        assert trees and texts["Trees"].endswith(trees)
    assert not any("The paper" in text for text in texts.values())


def test_settings_of_the_papers():
    """The settings match the texts of the papers, and the app names numbers of this project as such."""
    papers = {kind: forest for kind, forest in FORESTS.items() if forest.is_published}
    shapes = {kind: forest.estimator.published_shape for kind, forest in papers.items()}
    ours = {name for name, kind in papers.items() if kind.published_depth.startswith("As published: our choice")}
    assert ours == {"noisy counts", "boosted"}
    # Fletcher and Islam: 100 trees; in their comparison JPW has 10 trees, Friedman and Schuster's tree a depth of 5.
    assert (shapes["majority labels"][0], shapes["JPW"][0], shapes["one greedy tree"][1]) == (100, 10, 5)
    # Nock and Henecka: 21 trees, depths 2, 4 and 6.
    assert shapes["RF-L"] == shapes["RF-E"] == (21, 6)
    # Bai et al. take 100 trees; this project takes another number.
    assert shapes["multinomial"][0] != 100 and "100" in papers["multinomial"].published_trees


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
