"""The figures of boosted trees show the numbers of the traces."""

import json

import numpy as np
import pytest

from dpforest import plotting
from dpforest.models.trace import TreeTrace
from dpforest.privacy.ledger import Ledger


@pytest.fixture
def traces() -> list[TreeTrace]:
    return [
        TreeTrace(alpha=[1.0, 0.5], weights=np.array([0.5, 0.5, 0.5, 0.5, 0.5]), bound=0.5),
        TreeTrace(alpha=[1.0, 0.25], weights=np.array([0.4, 0.45, 0.5, 0.55, 0.6]), bound=0.7),
    ]


def test_alpha_of_each_level_of_each_tree(traces):
    figure = plotting.alpha_by_level(traces, ["tree 1", "<b>tree</b> 2"])
    assert np.array_equal(figure.data[0].z, [[1, 0.5], [1, 0.25]])
    assert figure.data[0].zmin == 0 and figure.data[0].zmax == 1
    assert "&lt;b&gt;" in figure.layout.yaxis.ticktext[1]
    assert {a.text for a in figure.layout.annotations} == {"1.00", "0.50", "0.25"}


def test_an_example_is_dotted_and_a_schedule_is_not():
    assert plotting.alpha_drawing([1, 0.7], exact=True).data[0].line.dash is None
    assert plotting.alpha_drawing([1, 0.7], exact=False).data[0].line.dash == "dot"


def test_weights_range_halves_and_bound(traces):
    thin, thick, median, bound = plotting.weight_spread(traces).data
    assert list(thin.y[:2]) == [0.5, 0.5] and list(thin.y[3:5]) == [0.4, 0.6]
    assert list(thick.y[3:5]) == [0.45, 0.55]
    assert list(median.y) == [0.5, 0.5]
    assert list(bound.y) == [0.5, 0.7]
    low, high = plotting.weight_spread(traces).layout.yaxis.range
    assert low < 0.4 and high > 0.7


def test_contributions_are_drawn_on_the_side_of_their_class():
    figure = plotting.contributions(np.array([0.2, -0.1]), ("no", "<yes>"), tree=1)
    assert list(figure.data[0].x) == [0.2, -0.1]
    assert [a.text for a in figure.layout.annotations] == ["← no", "&lt;yes&gt; →"]
    assert figure.data[0].marker.line.color[1] != figure.data[0].marker.line.color[0]


def test_disjoint_parts_of_the_rows_lie_above_each_other():
    """The blocks of two disjoint parts of the rows start at 0 and lie above each other. The larger cost counts.

    Structure rows cost 2 · 4 · 1/8 = 1, and estimation rows cost 1, so the fit costs 1.
    """
    ledger = Ledger(1, "add-remove")
    ledger.charge("feature", "exponential", 2, "1/8", 4, "sequential", part="structure rows")
    ledger.charge("value", "exponential", 2, "1/8", 4, "sequential", part="structure rows")
    ledger.charge("labels", "exponential", 1, 1, 3, "parallel", part="estimation rows")
    ledger.close()
    figure = plotting.budget_picture(ledger)
    feature, value, labels = figure.data
    assert min(feature.base) < 0.02 and 0.5 <= min(value.base) < 0.52 and labels.base[0] == 0
    assert max(value.y) < min(labels.y)
    assert figure.layout.barmode == "overlay"
    assert not figure.layout.shapes  # the whole budget is spent
    assert json.loads(figure.to_json())
