"""The chart of the budget as blocks, in shares of ε, or in shares of μ² if the costs add up in μ²."""

from fractions import Fraction

import pytest

from dpforest import plotting
from dpforest.plotting.budget import share_of
from dpforest.privacy.ledger import ESTIMATION, STRUCTURE, Ledger
from dpforest.privacy.loss import PrivacyLoss, mu_for

BUDGET = mu_for(1, 1e-6)


def charged(budget: Fraction | PrivacyLoss, neighbors: str, shares, **how) -> Ledger:
    """Return a ledger with an entry for each share. The entry costs this share of the budget, in ten answers."""
    ledger = Ledger(budget, neighbors)
    changed = ledger.rows ** (2 if isinstance(budget, PrivacyLoss) else 1)
    for name, share in shares.items():
        each = PrivacyLoss(ledger.kind, ledger.budget.amount * Fraction(share) / 10 / changed)
        ledger.charge(name, "some noise", 1, each, 10, "sequential", part=how.get(name, ""))
    return ledger


def right_end(bar) -> float:
    return max(base + width for base, width in zip(bar.base, bar.x, strict=True))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", [Fraction(1), BUDGET], ids=["pure", "gaussian"])
def test_blocks_are_as_wide_as_their_share(budget, neighbors):
    """The width of a block is its share of ε or μ². Under replace-one, a changed row costs four times the μ²."""
    figure = plotting.budget_picture(charged(budget, neighbors, {"bins": "1/5", "gradients": "1/2"}))
    total = float(getattr(budget, "amount", budget))
    bins, gradients = figure.data
    assert right_end(bins) == pytest.approx(total / 5, rel=0.02)  # the tolerance covers the gaps between blocks
    assert right_end(gradients) == pytest.approx(0.7 * total, rel=0.02)
    assert [shape.x0 for shape in figure.layout.shapes] == [pytest.approx(0.7 * total)]
    assert figure.layout.xaxis.tickvals[-1] == pytest.approx(total)


def test_a_gaussian_budget_is_shown_as_shares_of_mu_squared():
    figure = plotting.budget_picture(charged(BUDGET, "replace-one", {"bins": "1/5", "gradients": "1/2"}))
    axis = figure.layout.xaxis
    assert list(axis.ticktext) == ["0 %", "25 %", "50 %", "75 %", "100 %"] and axis.title.text == "share of μ² spent"
    (left,) = [note.text for note in figure.layout.annotations if "not spent" in note.text]
    assert left == "30 %<br>not spent"
    each = "10 × μ² 0.0002802 × 4, as 2 rows differ"
    assert each in figure.data[0].text[0] and "together 20 % of μ²" in figure.data[0].text[0]
    assert "ε" not in str([axis.title.text, axis.ticktext, [bar.text for bar in figure.data]])


def test_a_pure_budget_is_shown_in_epsilon():
    figure = plotting.budget_picture(charged(Fraction(1), "replace-one", {"bins": "1/5", "gradients": "1/2"}))
    axis = figure.layout.xaxis
    assert list(axis.ticktext) == ["0", "0.25", "0.5", "0.75", "1"] and axis.title.text == "ε spent"
    assert "0.3<br>not spent" in [note.text for note in figure.layout.annotations]
    assert "10 × ε 1/100 × 2 rows that differ, in" in figure.data[0].text[0]
    assert figure.data[0].text[0].endswith("<br>together ε 1/5")


def test_blocks_of_disjoint_parts_are_drawn_one_above_the_other():
    """Blocks of disjoint parts of the rows start at the same place. Only the largest sum counts, in μ² as in ε."""
    parts = {"trees": STRUCTURE, "leaves": ESTIMATION}
    ledger = charged(BUDGET, "add-remove", {"trees": "1/2", "leaves": 1}, **parts)
    trees, leaves = plotting.budget_picture(ledger).data
    assert min(trees.base) == pytest.approx(min(leaves.base), abs=0.01 * float(BUDGET.amount))
    assert max(trees.y) < min(leaves.y) and not plotting.budget_picture(ledger).layout.shapes


def test_shares_never_read_lower_than_they_are():
    budget = PrivacyLoss.gaussian(3)
    assert share_of(PrivacyLoss.gaussian(1), budget) == "33.4 %"
    assert share_of(PrivacyLoss.gaussian(Fraction(1, 10**9)), budget) == "3.34e-08 %"
