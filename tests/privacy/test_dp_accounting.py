"""Our δ of a Gaussian loss against dp_accounting, an independent library with accountants for the Gaussian mechanism.

A sum of sensitivity Δ with Gaussian noise of standard deviation σ is μ-GDP (Gaussian differentially private) with
μ = Δ/σ. k such releases together are (√k μ)-GDP. The library's accountant of privacy loss distributions rounds up on a
grid, so its δ may be slightly too large, but is never too small.

The library also gets a ledger of pure entries as events (`to_dp_events`). The trade-off curve of the ledger is compared
with the library's curve.
"""

import json
import math
from fractions import Fraction

import pytest

dp_accounting = pytest.importorskip("dp_accounting")
from dp_accounting.pld import PLDAccountant  # noqa: E402
from dp_accounting.rdp import RdpAccountant  # noqa: E402

from dpforest import RandomDecisionForestClassifier, load_dataset  # noqa: E402
from dpforest.privacy.dp_events import to_dp_events  # noqa: E402
from dpforest.privacy.ledger import Ledger  # noqa: E402
from dpforest.privacy.loss import PrivacyLoss  # noqa: E402
from dpforest.privacy.tradeoff_curve import TradeoffCurve, steps_of  # noqa: E402
from tests.test_examples import example  # noqa: E402

_EXAMPLE = example("recompute_epsilon")
event_of, recompute = _EXAMPLE.event_of, _EXAMPLE.main


def event(sigma: float, times: int) -> "dp_accounting.DpEvent":
    return dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(sigma), times)


@pytest.mark.parametrize("sigma, times", [(0.7, 1), (4.0, 1), (20.0, 1), (40.0, 100), (9.5, 7)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_delta_equals_that_of_other_accountants(sigma, times, epsilon):
    loss = PrivacyLoss.gaussian(Fraction(1) / Fraction(sigma) ** 2) * times
    ours = float(loss.delta(Fraction(epsilon)))
    pld_delta = PLDAccountant(value_discretization_interval=1e-4).compose(event(sigma, times)).get_delta(epsilon)
    assert ours <= pld_delta * (1 + 1e-6) + 1e-14 and pld_delta == pytest.approx(ours, rel=2e-2, abs=1e-12)
    assert ours <= RdpAccountant().compose(event(sigma, times)).get_delta(epsilon) * (1 + 1e-9) + 1e-300


# ---------------------------------------------------------------- ledgers as events


def ledger_of(neighbors: str, *entries: tuple[str, int]) -> Ledger:
    """Return a closed ledger. Each entry is a pair: ε of one query for one row more or less, and how often it runs."""
    total = sum(Fraction(each) * times for each, times in entries) * (1 if neighbors == "add-remove" else 2)
    ledger = Ledger(total, neighbors)
    for each, times in entries:
        ledger.charge("counts", "discrete-laplace", 1, each, times, "sequential")
    ledger.close()
    return ledger


def accountant_of(ledger: Ledger) -> PLDAccountant:
    events = json.loads(json.dumps(to_dp_events(ledger)))
    relation = dp_accounting.NeighboringRelation[events["neighboring_relation"]]
    return PLDAccountant(relation).compose(event_of(events["event"]))


@pytest.mark.parametrize(
    "neighbors, entries",
    [
        ("add-remove", [("1/100", 100)]),
        ("replace-one", [("1/200", 100)]),
        ("add-remove", [("1/50", 1), ("3/20", 1), ("83/1600", 16)]),
        ("replace-one", [("1/10", 10), ("1", 1)]),
    ],
)
def test_the_curve_of_a_ledger_is_that_of_dp_accounting(neighbors, entries):
    """The library's grid rounds each of 100 losses up, so its ε may be larger by 100 × 10⁻⁴, but is never smaller."""
    ledger = ledger_of(neighbors, *entries)
    curve, theirs = TradeoffCurve(steps_of(ledger)), accountant_of(ledger)
    for epsilon in (0.0, 0.2, 0.5):
        assert curve.delta(epsilon) <= theirs.get_delta(epsilon) * (1 + 1e-9) + 1e-14
        assert theirs.get_delta(epsilon) <= curve.delta(max(epsilon - 0.012, 0)) * (1 + 1e-9) + 0.006 * (
            epsilon < 0.012
        )
    for delta in (1e-9, 1e-6, 1e-3):
        assert curve.epsilon(delta) <= theirs.get_epsilon(delta) * (1 + 1e-9) <= curve.epsilon(delta) + 0.012


def test_a_hundred_trees_match_golden_values():
    add, replace = ledger_of("add-remove", ("1/100", 100)), ledger_of("replace-one", ("1/200", 100))
    for ledger, golden in ((add, (0.51996, 0.39226)), (replace, (0.52232, 0.39520))):
        theirs = accountant_of(ledger)
        assert (theirs.get_epsilon(1e-9), theirs.get_epsilon(1e-6)) == pytest.approx(golden, abs=5e-6)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_gaussian_ledgers_as_events_have_the_same_delta(neighbors):
    each = PrivacyLoss.gaussian("0.001")
    ledger = Ledger(each * 100 if neighbors == "add-remove" else each * 400, neighbors)
    ledger.charge("gradients", "rounded-gaussian", 1, each, 90, "sequential")
    ledger.charge("number of rows", "rounded-gaussian", 1, each, 10, "sequential")
    ours = ledger.loss.delta(0.5)
    assert ours <= accountant_of(ledger).get_delta(0.5) * (1 + 1e-9) == pytest.approx(ours, rel=1e-3)


def test_a_released_forest_is_recomputed(tmp_path, capsys):
    data = load_dataset("zoo")
    forest = RandomDecisionForestClassifier(epsilon=1, domain=data.domain, n_estimators=20, size=100)
    path = tmp_path / "forest.json.gz"
    path.write_bytes(forest.fit(data.X, data.y).released_.to_bytes())
    recompute(str(path))
    theirs, ours = (float(line.split()[3]) for line in capsys.readouterr().out.splitlines())
    assert ours <= theirs <= ours + 0.003
    with pytest.raises(ValueError, match="without a budget"):
        to_dp_events(Ledger(None))


def test_dp_accounting_still_counts_self_composed_randomized_response_once():
    """If this fails, dp_accounting is fixed, and `to_dp_events` may compose randomized response by its count."""
    response = dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.exp(0.1)), 2)
    once, listed = (
        PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE).compose(event).get_epsilon(1e-6)
        for event in (dp_accounting.SelfComposedDpEvent(response, 100), dp_accounting.ComposedDpEvent([response] * 100))
    )
    assert once < 0.11 and listed > 4.7
