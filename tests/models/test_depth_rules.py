"""The depth rules of the papers, which published modes use. A fit warns if a limit of the library reduces the depth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import (
    Domain,
    Feature,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    load_dataset,
)
from dpforest.limits import MAX_BOUND, MAX_DEPTH
from dpforest.models.base import AUTO
from dpforest.models.depth_rules import fletcher_islam_depth
from dpforest.models.shape_rules import jagannathan_shape
from ui.forest.forests import ForestSettings
from ui.shared import tables

CAPPED = "leaves here; no paper has this limit"
BY_PAPER = {"max_depth": None, "scale_share": "public"}  # with these settings, certified JPW uses the paper's rule


def rule(domain: Domain, n: int) -> int:
    """Return JPW's depth min(m / 2, log_b n - 1), by a loop instead of a logarithm."""
    b = sum(len(f.categories) + (f.missing == "category") if f.kind == "categorical" else 2 for f in domain.features)
    b /= domain.n_features
    depth = 0
    while depth + 1 <= domain.n_features / 2 and max(b, 2) ** (depth + 2) <= max(n, 2) * (1 + 1e-12):
        depth += 1
    return min(max(depth, 1), MAX_DEPTH)


@pytest.mark.parametrize(("name", "depth"), [("adult", 3), ("mushroom", 4), ("nursery", 4), ("sonar", 6)])
def test_jpws_rule_with_the_number_of_rows(name, depth):
    data = load_dataset(name)
    n = len(data.table)
    assert rule(data.domain, n) == depth
    assert JagannathanForestClassifier(mode="as_published").spec(data.domain, n).depth == depth
    for settings_ in ({"mode": "as_published"}, {"neighbors": "replace-one"}, {"n_bound": n}):
        assert JagannathanForestClassifier(**BY_PAPER, **settings_).spec(data.domain, n).depth == depth
    certified = JagannathanForestClassifier(**BY_PAPER, n_estimators=10)
    unknown = certified.spec(data.domain, n)
    assert unknown == certified.spec(data.domain, 1)  # under add-remove the depth does not depend on n
    assert unknown.depth == rule(data.domain, MAX_BOUND)
    assert not any("at most" in words for words in certified.preview(data.domain, n)[0].assumptions)


def schema(sizes: list[int]) -> Domain:
    note = {"source": "documented", "source_note": "made up"}
    features = tuple(
        Feature(
            f"f{i}", "categorical", categories=tuple(map(str, range(k))), missing="value", missing_value="0", **note
        )
        if k
        else Feature(f"f{i}", "numeric", 0.0, 1.0, missing="value", missing_value=0.0, **note)
        for i, k in enumerate(sizes)
    )
    return Domain(features, ("a", "b"), "y", "documented", "made up")


def test_the_rule_at_powers_of_the_mean_number_of_values():
    """The depth is exact where n is a power of the mean number of values; floats would give log_3 243 < 5."""
    for k, power in ((3, 5), (5, 3), (10, 3), (6, 4)):
        domain = schema([k] * 12)
        for n, depth in ((k**power - 1, power - 2), (k**power, power - 1)):
            assert JagannathanForestClassifier(**BY_PAPER, n_bound=n).spec(domain, 1).depth == depth == rule(domain, n)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([0, 2, 3, 9, 40]), min_size=1, max_size=40), st.integers(1, MAX_BOUND))
def test_jpws_rule_matches_a_loop_on_any_schema(sizes, n):
    domain = schema(sizes)
    assert JagannathanForestClassifier(**BY_PAPER, n_bound=n).spec(domain, 1).depth == rule(domain, n)
    assert JagannathanForestClassifier(mode="as_published").spec(domain, n).depth == rule(domain, n)


def test_a_depth_from_the_exact_number_of_rows_is_reported_and_needs_all_rows():
    data = load_dataset("car")
    reason = "The depth follows from the exact number of rows, which is private under add-remove."
    for parameters in ({}, {"n_bound": 5_000}, {"max_depth": 3}, {"neighbors": "replace-one"}):
        forest = JagannathanForestClassifier(mode="as_published", domain=data.domain, **parameters)
        assert (reason in forest.preview(data.domain, 100)[0].reasons) == (parameters == {})
        if forest.needs_all_rows:
            with pytest.raises(ValueError, match="follows from the number of all rows"):
                forest.fit_chunks([(data.X, data.y)])
        else:
            forest.fit_chunks([(data.X, data.y)])
    assert JagannathanForestClassifier(**BY_PAPER, neighbors="replace-one").needs_all_rows
    assert not JagannathanForestClassifier(neighbors="replace-one").needs_all_rows
    assert not JagannathanForestClassifier(**BY_PAPER).needs_all_rows


def test_the_app_starts_jpw_from_the_papers_rule():
    """The app starts with the paper's depth of JPW in the published mode, and with our rule in the certified mode."""
    for name, depth in (("adult", 3), ("mushroom", 4)):
        data = tables.bundled(name)
        domain = tables.bundled_table(data, data.domain.label).domain
        n = len(data.table)
        published, certified = (
            ForestSettings("JPW", mode, 1.0, AUTO, AUTO, "add-remove") for mode in ("as_published", "certified")
        )
        assert published.shape(domain, n) == (depth, 10)
        assert certified.shape(domain, n) == jagannathan_shape(0.98 * n, 2, domain.n_features)[::-1]


# ---------------------------------------------------------------- limits of this library


def most_leaves(domain: Domain, depth: int) -> int:
    """Return the largest number of leaves of a tree with multiway tests, by trying all features at every level."""
    widths = [f.n_codes if f.kind == "categorical" and f.n_codes > 1 else 0 for f in domain.features]

    def grown(left: int, used: frozenset) -> int:
        if left == 0:
            return 1
        free = [i for i, w in enumerate(widths) if w == 0 or i not in used]
        children = ((widths[i] or 2) * grown(left - 1, used | {i} if widths[i] else used) for i in free)
        return max(children, default=1)

    return grown(depth, frozenset())


@settings(derandomize=True, deadline=None, max_examples=80)
@given(st.lists(st.sampled_from([0, 0, 1, 2, 3, 7]), min_size=1, max_size=5), st.integers(0, 5), st.integers(2, 400))
def test_a_cap_on_leaves_is_reported_exactly_where_it_may_apply(sizes, depth, cap):
    domain = schema(sizes)
    forest = MajorityLabelForestClassifier(mode="as_published", max_depth=depth, max_leaves=cap, n_estimators=3)
    reasons = forest.preview(domain, 10)[0].reasons
    multiway = any(f.kind == "categorical" and f.n_codes > 1 for f in domain.features)
    assert any(CAPPED in r for r in reasons) == (multiway and most_leaves(domain, depth) > cap)
    spec = forest.spec(domain, 10)
    if multiway and not spec.departures:
        free = MajorityLabelForestClassifier(mode="as_published", max_depth=depth, max_leaves=2**14, n_estimators=3)
        assert np.array_equal(spec.grow(domain, 1).feature, free.spec(domain, 10).grow(domain, 1).feature)
    assert MajorityLabelForestClassifier(max_depth=depth, max_leaves=cap).spec(domain, 10).departures == ()


@pytest.mark.parametrize("kind", [MajorityLabelForestClassifier, JagannathanForestClassifier])
def test_as_published_the_cap_is_large_and_reported(kind):
    domain = load_dataset("adult").domain
    certified, published = kind(max_depth=9), kind(max_depth=9, mode="as_published")
    assert certified.spec(domain, 100).max_leaves == 4_096
    assert published.spec(domain, 100).max_leaves == 65_536
    assert any(f"has at most 65,536 {CAPPED}" in r for r in published.preview(domain, 100)[0].reasons)
    assert kind(max_depth=2, mode="as_published").spec(domain, 100).departures == ()


def test_ordered_categories_need_no_cap():
    domain = load_dataset("adult").domain
    assert RandomDecisionForestClassifier(mode="as_published").spec(domain, 100).departures == ()
    multiway = RandomDecisionForestClassifier(mode="as_published", categorical="multiway").spec(domain, 100)
    assert CAPPED in multiway.departures[0]


def test_as_published_drawings_in_the_app_state_the_cap():
    domain = load_dataset("mushroom").domain
    settings_ = ForestSettings("majority labels", "as_published", 1.0, 11, 100, "add-remove")
    assert any(f"has at most 4,096 {CAPPED}" in r for r in settings_.estimator().preview(domain, 100)[0].reasons)
    assert "max_leaves" not in ForestSettings("majority labels", "certified", 1.0, 11, 100, "add-remove").parameters()


def test_a_capped_depth_rule_is_reported():
    domain = load_dataset("sonar").domain
    wanted = fletcher_islam_depth(60, 0, most=None)
    assert wanted == 1 + math.ceil(math.log(0.5) / math.log(59 / 60))
    spec = MajorityLabelForestClassifier(mode="as_published").spec(domain, 100)
    assert spec.depth == MAX_DEPTH and f"gives depth {wanted}; trees end at {MAX_DEPTH}" in spec.departures[0]
    assert MajorityLabelForestClassifier(mode="as_published", max_depth=15).spec(domain, 100).departures == ()
