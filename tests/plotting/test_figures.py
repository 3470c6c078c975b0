"""The figures hold the right values, on trees that are small enough to count by hand."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpforest import plotting
from dpforest.plotting import geometry, overview, style, words
from dpforest.plotting.class_mix import WIDTH, key_of_classes, mix_bar, shown_classes
from dpforest.plotting.overview import MOST_COLUMNS
from dpforest.privacy.ledger import Ledger
from dpforest.simulation.views import NodeTable
from dpforest.tables.domain import Domain, Feature
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, Trees
from dpforest.trees.random_trees import grow_random_trees

DOMAIN = Domain(
    (
        Feature("<b>age</b>", "numeric", low=0, high=100, integer=True, missing="category"),
        Feature("city", "categorical", categories=("Bonn", "<i>Ulm</i>", "Kiel")),
    ),
    ("no", "<u>yes</u>"),
)


@pytest.fixture
def tree() -> Trees:
    """Return a tree with a root on age, a leaf on its left, and a node on city with three leaves on its right."""
    return Trees(
        kind=np.array([NUMERIC, LEAF, MULTIWAY, LEAF, LEAF, LEAF], np.uint8),
        feature=np.array([0, -1, 1, -1, -1, -1], np.int32),
        threshold=np.array([35_745, -1, -1, -1, -1, -1], np.int32),
        first_child=np.array([1, 1, 3, 3, 4, 5], np.int32),
        tree_start=np.array([0, 6]),
        depth=2,
    )


def table(trees: Trees, n_rows=None, flip=None) -> NodeTable:
    n = trees.n_nodes
    n_rows = np.ones(n, int) if n_rows is None else np.asarray(n_rows)
    flip = np.linspace(0, 0.5, n) if flip is None else np.asarray(flip)
    counts = np.stack([n_rows, np.zeros(n, int)], axis=1)
    return NodeTable(trees, counts, flip, flip, np.where(trees.kind == LEAF, 1, -1), trees.kind == LEAF, n_rows)


@pytest.fixture
def nodes(tree) -> NodeTable:
    return table(tree, [100, 60, 40, 30, 10, 0], [0.1, 0.05, 0.175, 0.2, 0.1, np.nan])


def curve(repeats: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return values of ε, accuracy by repeat and ε, accuracy without noise by repeat, and the floor."""
    rng = np.random.default_rng(0)
    values = np.linspace(0.6, 0.8, 5) + rng.normal(0, 0.01, (repeats, 5))
    return np.array([0.01, 0.1, 1, 3, 10]), values, np.full(repeats, 0.85), 0.55


def all_text(figure) -> str:
    return json.dumps(json.loads(figure.to_json()), ensure_ascii=False)


def test_spans_number_the_leaves_from_one_side(tree):
    where = geometry.spans(tree)
    assert where.start.tolist() == [0, 0, 1, 1, 2, 3]
    assert where.stop.tolist() == [4, 1, 4, 2, 3, 4]
    assert where.node_at.tolist() == [[0, 0, 0, 0], [1, 2, 2, 2], [-1, 3, 4, 5]]


@pytest.mark.parametrize("categorical", ["multiway", "ordered", "one-vs-rest"])
def test_spans_of_grown_trees_cover_every_leaf_once(categorical):
    trees = grow_random_trees(DOMAIN, n_trees=2, depth=6, seed=1, categorical=categorical)
    for t in range(2):
        tree = trees.select(t)
        where = geometry.spans(tree)
        assert np.array_equal(np.sort(where.start[tree.leaf_nodes]), np.arange(tree.n_leaves))
        assert np.array_equal(
            where.stop - where.start == 1,
            np.isin(np.arange(tree.n_nodes), tree.leaf_nodes) | (where.stop - where.start == 1),
        )
        assert where.stop[0] - where.start[0] == tree.n_leaves


def test_questions_and_answers_are_in_words_and_harmless(tree):
    assert words.question(tree, DOMAIN.on_scale("linear"), 0) == "&lt;b&gt;age&lt;/b&gt; ≥ 50?"
    assert words.question(tree, DOMAIN, 0) == "&lt;b&gt;age&lt;/b&gt; ≥ 28?"  # the middle code, on a partly log scale
    assert words.answer(tree, DOMAIN, 1) == "no or missing"
    assert words.question(tree, DOMAIN, 2) == "city?"
    assert words.answer(tree, DOMAIN, 4) == "&lt;i&gt;Ulm&lt;/i&gt;"
    assert words.answer(tree, DOMAIN, 0) == ""
    assert words.ancestors(tree, 4) == [0, 2, 4]


def test_overview_holds_flips_on_a_fixed_scale_and_clicks(nodes):
    figure = plotting.tree_overview(nodes, DOMAIN, root=2, path=[0, 2, 4])
    heat = [trace for trace in figure.data if trace.type == "heatmap"][-1]
    assert (heat.zmin, heat.zmax) == (0, 0.5)
    z = np.array(heat.z, float)
    np.testing.assert_allclose(z[0], 0.1)
    np.testing.assert_allclose(z[2], [np.nan, 0.2, 0.1, np.nan])
    empty = np.array(figure.data[0].z, float)
    assert np.isfinite(empty[2]).tolist() == [False, False, False, True]
    clicks = figure.data[-1]
    assert set(clicks.customdata) == {0, 1, 2, 3, 4, 5}
    assert clicks.hoverinfo != "skip" and clicks.marker.opacity == 0
    assert "pure noise" in clicks.text[list(clicks.customdata).index(5)]
    assert figure.layout.shapes[0].x0 == 0.25
    wide = plotting.tree_overview(nodes, DOMAIN, by_records=True)
    np.testing.assert_allclose(wide.data[1].x, [0, 0.6, 0.9, 1.0, 1.0][: len(wide.data[1].x)])


def test_overview_of_a_deep_tree_stays_small():
    trees = grow_random_trees(DOMAIN, n_trees=1, depth=14, seed=0, categorical="ordered")
    figure = plotting.tree_overview(table(trees), DOMAIN)
    assert len(figure.data[1].x) <= MOST_COLUMNS + 1
    assert len(all_text(figure)) < 600_000


def test_focus_draws_as_many_nodes_as_fit_and_counts_the_others(nodes):
    figure = plotting.focus_tree(nodes, DOMAIN, path=[0, 2, 4])
    text = all_text(figure)
    assert "flips 20.0 %" in text and "no data" in text
    assert "<b>age</b>" not in text and "<i>Ulm</i>" not in text and "<u>yes</u>" not in text
    many = Domain((Feature("word", "categorical", categories=tuple(f"w{i}" for i in range(200))),), (0, 1))
    wide = grow_random_trees(many, n_trees=1, depth=1, seed=0, categorical="multiway")
    figure = plotting.focus_tree(table(wide, np.arange(wide.n_nodes)[::-1]), many)
    assert "… 189 more values" in all_text(figure)


def test_focus_never_leaves_out_the_record_that_is_followed():
    many = Domain((Feature("word", "categorical", categories=tuple(f"w{i}" for i in range(200))),), (0, 1))
    wide = grow_random_trees(many, n_trees=1, depth=1, seed=0, categorical="multiway")
    n_rows = np.arange(wide.n_nodes)[::-1]
    last = wide.n_nodes - 1  # the value with the fewest records
    assert last not in geometry.focus_nodes(wide, 0, 4, n_rows).nodes
    assert last in geometry.focus_nodes(wide, 0, 4, n_rows, keep=[0, last]).nodes
    figure = plotting.focus_tree(table(wide, n_rows), many, path=[0, last])
    assert last in figure.data[2].customdata


def test_the_bar_of_classes_is_as_long_as_their_shares():
    bars = mix_bar(np.array([30, 10, 0]), shown_classes(np.array([30, 10, 0])), 1.0, 2.0, 11, 0)
    *parts, outline = [(bar["x1"] - bar["x0"]) / WIDTH for bar in bars]
    np.testing.assert_allclose(parts, [0.75, 0.25])
    assert outline == 1
    assert mix_bar(np.zeros(3), np.arange(3), 1.0, 2.0, 11, 0) == []


def test_of_many_classes_the_rest_is_one_part():
    counts = np.arange(1, 51)
    shown = shown_classes(counts)
    assert set(shown) == {45, 46, 47, 48, 49}
    *parts, _ = [(bar["x1"] - bar["x0"]) / WIDTH for bar in mix_bar(counts, shown, 0, 0, 0, 0)]
    np.testing.assert_allclose(parts, [*(counts[shown] / counts.sum()), counts[:45].sum() / counts.sum()])
    assert "other classes" in key_of_classes(list(counts), shown)


def test_focus_has_at_most_six_levels():
    trees = grow_random_trees(DOMAIN, n_trees=1, depth=12, seed=0, categorical="ordered")
    drawn = geometry.focus_nodes(trees, 0, 6, np.ones(trees.n_nodes))
    assert max(drawn.level.values()) == 5 and len(drawn.nodes) == 63


@pytest.mark.parametrize("mark", ["\u00ad", "\u061c", "\u200b", "\u200e", "\u200f", "\u202e", "\u2069", "\ufeff"])
def test_invisible_format_characters_are_escaped(mark):
    assert style.visible(f"a{mark}b") == style.escape(f"a{mark}b") == f"a\\u{ord(mark):04x}b"


def test_tabs_line_ends_and_visible_characters_stay():
    text = "a\tb\r\nc \u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f52c é \u0301 \u05d0 \u00a0 \U0001f480"
    assert style.visible(text) == text
    assert style.visible("\x0b\x7f\ud800") == r"\u000b\u007f\ud800"


def test_the_curve_marks_the_current_epsilon():
    figure = plotting.accuracy_curve(*curve(), 1.0, floor_label="<u>yes</u>")
    marker = figure.data[-1]
    assert list(marker.x) == [1.0]
    np.testing.assert_allclose(marker.y, curve()[1][:, 2].mean())
    text = all_text(figure)
    assert "you are here" in text and "<u>" not in text
    assert style.PRIVATE in text and style.NOT_HELD not in text
    assert style.PRIVATE not in all_text(plotting.accuracy_curve(*curve(1), 1.0, certified=False))


def test_the_ceiling_is_the_best_without_privacy_and_every_line_has_its_name():
    """The legend names every line, because names next to lines could overlap. The line of this forest is fainter."""

    def named(best):
        figure = plotting.accuracy_curve(*curve(), 1.0, floor_label="no", best=best)
        return {t.name: t for t in figure.data if t.showlegend is not False}

    better = named(("<b>CART</b>", 0.9))
    assert list(better) == [
        "&lt;b&gt;CART&lt;/b&gt;, no privacy 90.0 %",
        "this kind, no noise 85.0 %",
        "always “no” 55.0 %: the floor",
        "this forest, with noise",
    ]
    best, without_noise, *_ = better.values()
    assert best.line.color == without_noise.line.color == style.NON_PRIVATE and without_noise.opacity < best.opacity
    assert set(best.y) == {0.9} and set(without_noise.y) == {0.85}
    assert next(iter(named(("CART", 0.7)))) == "this kind, no noise 85.0 %"
    assert next(iter(named(None))) == "this kind, no noise 85.0 %"


def test_histogram_weighs_leaves_by_rows():
    figure = plotting.flip_histogram(np.array([0.01, 0.49, np.nan]), np.array([90, 10, 0]), 2)
    shares = np.array(figure.data[0].y)
    assert shares[0] == 0.9 and shares[-1] == 0.1 and shares.sum() == 1
    assert figure.data[0].text[0].startswith("90.0 % of rows are in 1 leaf<br>")
    assert figure.layout.yaxis.title.text == "share of rows" and "person" not in all_text(figure)


def test_histogram_by_leaf_counts_each_leaf_with_rows_once():
    flip, rows = np.array([0.01, 0.49, 0.49, np.nan]), np.array([98, 1, 1, 0])
    figure = plotting.flip_histogram(flip, rows, 2, by_leaf=True)
    assert np.allclose(np.array(figure.data[0].y)[[0, -1]], [1 / 3, 2 / 3])
    assert figure.data[0].text[-1].startswith("66.7 % of leaves with rows: 2 leaves<br>")
    assert figure.layout.yaxis.title.text == "share of leaves" and "mean 33" in all_text(figure)


def test_histogram_of_persons_also_has_their_rows():
    flip, persons, rows = np.array([0.01, 0.01, 0.49, np.nan]), np.array([7.5, 1.5, 1.0, 0]), np.array([30, 3, 1, 0])
    figure = plotting.flip_histogram(flip, persons, 2, rows)
    assert np.allclose(np.array(figure.data[0].y)[[0, -1]], [0.9, 0.1])
    assert figure.data[0].text[0].startswith("90.0 % of persons are in 2 leaves with 33 rows<br>")
    assert figure.data[0].text[-1].startswith("10.0 % of persons are in 1 leaf with 1 row<br>")
    assert figure.layout.yaxis.title.text == "share of persons"


def test_hover_of_a_node_has_rows_or_persons_and_rows(nodes):
    text = overview.describe(nodes, DOMAIN, 1)
    assert "60 rows here" in text and "person" not in text
    weighted = replace(nodes, counts=nodes.counts / 8)
    of_persons = replace(DOMAIN, unit="id")
    assert "7.5 persons in 60 rows here" in overview.describe(weighted, of_persons, 1)
    assert "mean over persons" in overview.describe(weighted, of_persons, 2)


def test_votes_count_every_tree():
    figure = plotting.votes(np.array([0, 1, 1]), np.array([0.1, np.nan, 0.2]), DOMAIN.classes, tree=1, truth=1)
    assert sorted(figure.data[0].customdata) == [0, 1, 2]
    assert "2 of 3 ✓" in figure.layout.yaxis.ticktext[0] and "<u>" not in all_text(figure)


def test_budget_is_as_wide_as_it_costs():
    ledger = Ledger(Fraction(1), "add-remove")
    ledger.charge("labels", "permute-and-flip", 1, Fraction(1, 2), 40, "parallel")
    ledger.charge("counts", "discrete-laplace", 1, Fraction(1, 20), 5, "sequential")
    side_by_side, in_turn = plotting.budget_picture(ledger).data[:2]
    assert max(side_by_side.x) == 0.5
    assert len(in_turn.x) == 5 and in_turn.base[0] > 0.5
    assert "not spent" in all_text(plotting.budget_picture(ledger))
