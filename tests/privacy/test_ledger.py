"""Tests that the ledger adds up exactly, never exceeds its budget, and charges each release its cost."""

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy import BudgetError, DemoSource, Ledger, SecretSource, release_counts, release_labels
from dpforest.privacy.laws import CERTIFIED
from dpforest.privacy.ledger import ESTIMATION, STRUCTURE, QueryBudget
from dpforest.privacy.loss import MixedLossesError, PrivacyLoss
from dpforest.privacy.rationals import LIMIT, positive_fraction, round_down, round_up
from dpforest.privacy.release import noisy_table, rate_for
from dpforest.privacy.selection import choose
from dpforest.privacy.simulators import simulate_noisy_counts, simulate_rounded_gaussian

COUNTS = np.array([[3, 1], [0, 0], [2, 7], [0, 4]])


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("partition", ["independent", "shared"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 7), Fraction(3)])
@pytest.mark.parametrize("mechanism", [*CERTIFIED, "discrete-laplace"])
def test_every_release_spends_the_budget_exactly(mechanism, epsilon, partition, neighbors):
    for source in (SecretSource(), DemoSource(1)):
        ledger = Ledger(epsilon, neighbors)
        settings = {"epsilon": epsilon, "n_trees": 2, "partition": partition, "neighbors": neighbors}
        if mechanism == "discrete-laplace":
            out = release_counts(COUNTS, **settings, ledger=ledger, source=source)
            assert out.shape == COUNTS.shape and out.dtype == np.int64
        else:
            out = release_labels(COUNTS, mechanism=mechanism, **settings, ledger=ledger, source=source)
            assert out.shape == (4,) and out.dtype == np.uint8 and out.max() < 2
        ledger.close()
        # The mechanism "global-01" keeps the rate of its paper, exp(eps u / 2), which costs half of ε under add-remove.
        half = mechanism == "global-01" and neighbors == "add-remove"
        assert ledger.spent == (epsilon / 2 if half else epsilon)


def test_scales_of_noisy_counts_match_golden_values():
    scale = {
        (partition, neighbors): 1
        / rate_for("discrete-laplace", Fraction(1, 2), n_trees=10, partition=partition, neighbors=neighbors)
        for partition in ("independent", "shared")
        for neighbors in ("add-remove", "replace-one")
    }
    assert scale == {
        ("independent", "add-remove"): 2,
        ("independent", "replace-one"): 4,
        ("shared", "add-remove"): 20,
        ("shared", "replace-one"): 40,
    }


def test_blocks_and_mechanisms_without_proof_are_refused():
    settings = {"epsilon": 1, "n_trees": 2, "source": DemoSource(0)}
    for neighbors in ("add-remove", "replace-one"):
        ledger = Ledger(1, neighbors)
        with pytest.raises(BudgetError, match="equal blocks cannot be certified"):
            release_counts(COUNTS, partition="blocks", neighbors=neighbors, ledger=ledger, **settings)
        for mechanism in ("smooth-sensitivity", "smooth-sensitivity-clamped", "continuous-laplace"):
            with pytest.raises(BudgetError, match="no proof of privacy"):
                release_labels(
                    COUNTS, mechanism=mechanism, partition="shared", neighbors=neighbors, ledger=ledger, **settings
                )
        with pytest.raises(ValueError, match="partition must be"):
            release_counts(COUNTS, partition="bagging", neighbors=neighbors, ledger=ledger, **settings)
        assert ledger.spent == 0
    with pytest.raises(ValueError, match="kept for add-remove"):
        release_counts(COUNTS, partition="shared", neighbors="replace-one", ledger=Ledger(1), **settings)
    with pytest.raises(BudgetError, match="without a budget"):
        release_counts(COUNTS, partition="shared", neighbors="add-remove", ledger=Ledger(None), **settings)


def test_nothing_is_drawn_when_the_budget_is_short():
    class Untouchable(SecretSource):
        def words(self, n):
            raise AssertionError("drew before paying")

    with pytest.raises(BudgetError, match="only 1/2 of the budget of 1/2 is left"):
        release_counts(
            COUNTS,
            epsilon=Fraction(51, 100),
            n_trees=2,
            partition="shared",
            neighbors="add-remove",
            ledger=Ledger("0.5"),
            source=Untouchable(),
        )


def test_parallel_charges_count_once_and_sequential_ones_add_up_in_exact_fractions():
    ledger = Ledger(1)
    ledger.charge("leaves", "m", 1, Fraction(1, 3), 4096, "parallel")
    for _ in range(2):
        ledger.charge("tree", "m", 1, Fraction(1, 30), 10, "sequential")
    assert ledger.spent == 1  # 1/3 + 10/30 + 10/30 is 1.0000000000000002 as floats
    with pytest.raises(BudgetError):
        ledger.charge("one more", "m", 1, Fraction(1, 10**30), 1, "parallel")
    assert len(ledger.entries) == 3


def test_replacing_a_row_costs_two_changes():
    ledger = Ledger(1, "replace-one")
    ledger.charge("leaves", "m", 1, Fraction(1, 2), 8, "parallel")
    assert ledger.spent == 1
    assert "every entry counts twice" in str(ledger)


def test_only_a_charged_ledger_closes_and_a_closed_one_takes_no_charge():
    ledger = Ledger("0.1")
    with pytest.raises(BudgetError, match="Nothing was charged"):
        ledger.close()
    ledger.charge("x", "m", 1, "0.1", 1, "parallel")
    ledger.close()
    with pytest.raises(BudgetError, match="closed"):
        ledger.charge("x", "m", 1, "1e-9", 1, "parallel")
    assert ledger.closed and "Spent 1/10 of 1/10 (add-remove, closed)" in str(ledger)


def test_ledger_without_a_budget_records_but_never_closes():
    ledger = Ledger(None)
    ledger.charge("counts", "none", 1, None, 1, "sequential")
    assert ledger.spent == 0 and ledger.entries[0].epsilon is None and "no privacy guarantee" in str(ledger)
    with pytest.raises(BudgetError, match="never closes"):
        ledger.close()
    with pytest.raises(BudgetError, match="no privacy guarantee"):
        Ledger(1).charge("counts", "none", 1, None, 1, "sequential")


def test_json_round_trip_is_exact_and_forged_ledgers_are_refused():
    ledger = Ledger(Fraction(1, 7), "replace-one")
    ledger.charge("labels, tree by tree", "permute-and-flip", 1, Fraction(1, 1400), 100, "sequential")
    ledger.close()
    text = json.dumps(ledger.to_dict())
    assert Ledger.from_dict(json.loads(text)) == ledger and str(Ledger.from_dict(json.loads(text))) == str(ledger)
    open_ledger = Ledger(None)
    open_ledger.charge("counts", "none", 1, None, 1, "sequential")
    assert Ledger.from_dict(json.loads(json.dumps(open_ledger.to_dict()))) == open_ledger
    forged = json.loads(text)
    forged["epsilon"] = "1/8"
    with pytest.raises(BudgetError):
        Ledger.from_dict(forged)
    for change in ({"spent": "1/8"}, {"entries": [{**json.loads(text)["entries"][0], "times": True}]}):
        with pytest.raises(ValueError, match="sum of the entries|whole number"):
            Ledger.from_dict({**json.loads(text), **change})


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "abc", True, None, [1]])
def test_invalid_budgets_are_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        positive_fraction(bad)


def test_bad_charges_are_refused():
    with pytest.raises(ValueError, match="neighbors must be"):
        Ledger(1, "swap")
    with pytest.raises(ValueError, match="composition must be"):
        Ledger(1).charge("x", "m", 1, "0.1", 1, "advanced")
    with pytest.raises(ValueError, match="times must be"):
        Ledger(1).charge("x", "m", 1, "0.1", 0, "parallel")


def test_rates_are_rounded_down_and_scales_up():
    assert round_down(0.1) == Fraction(1, 10) < Fraction(0.1)  # the binary number 0.1 is above 1/10
    assert round_down(np.float64(0.3)) == Fraction(3, 10) and round_down(np.int64(2)) == 2
    assert round_up(Fraction(2, 3)) == Fraction(2, 3)
    third, large = Fraction(10**20 + 1, 3 * 10**20), Fraction(LIMIT) - Fraction(1, 10**9)
    for x in (third, large, Fraction(np.pi), Fraction(10**12 + 7, 10**11), Fraction(1, 10**6 + 3) / 17):
        low, high = round_down(x), round_up(x)
        assert low <= x <= high
        for bound in (low, high):
            assert 0 < bound.numerator <= LIMIT and 0 < bound.denominator <= LIMIT
            assert abs(bound / x - 1) < Fraction(1, 10**8)
    assert round_down(10**15) == LIMIT and round_up(Fraction(1, 10**15)) == Fraction(1, LIMIT)
    assert round_down(Fraction(1, 2**33)) == 0
    with pytest.raises(ValueError, match="too small"):
        round_up(2**33)


def test_rounding_finds_the_nearest_fraction():
    """Rounding agrees with a brute-force search over all fractions, for a small limit on the denominator."""
    from dpforest.privacy import rationals

    for numerator in range(1, 60):
        x = Fraction(numerator * 101 + 1, 60 * 101)
        below, above = rationals._neighbors(x, 9)
        grid = [Fraction(a, b) for b in range(1, 10) for a in range(b + 1)]
        assert below == max(f for f in grid if f <= x) and above == min(f for f in grid if f >= x)


@pytest.mark.parametrize("text", ["1e10000000", "0.5", " 1", "-1", "1/0x2", 1, True, "1" * 201])
def test_a_file_with_anything_but_plain_fractions_is_refused(text):
    ledger = Ledger(1)
    ledger.charge("labels", "permute-and-flip", 1, 1, 3, "parallel")
    ledger.close()
    for change in ({"epsilon": text}, {"entries": [{**ledger.to_dict()["entries"][0], "epsilon_each": text}]}):
        with pytest.raises(ValueError, match="is not a fraction"):
            Ledger.from_dict({**ledger.to_dict(), **change})


# ---------------------------------------------------------------- query budgets


def test_a_query_budget_answers_as_often_as_was_paid_for():
    ledger = Ledger(1)
    query_budget = ledger.charge("splits", "exponential", 1, "0.3", 3, "sequential")
    assert [query_budget.use() for _ in range(3)] == [PrivacyLoss.pure("0.3")] * 3 and ledger.spent == Fraction(9, 10)
    for _ in range(2):
        with pytest.raises(BudgetError, match="charge the ledger before the next query"):
            query_budget.use()
    ledger.close()
    with pytest.raises(BudgetError, match="closed"):  # a closed ledger issues no query budget
        ledger.charge("more splits", "exponential", 1, "0.01", 1, "sequential")


def test_a_query_budget_answers_no_more_often_to_many_threads():
    query_budget = QueryBudget(Fraction(1), 500)

    def use(_) -> int:
        try:
            return int(query_budget.use().pure_epsilon)
        except BudgetError:
            return 0

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(2_000))) == 500


def test_a_refused_charge_issues_no_query_budget_and_leaves_no_entry():
    ledger = Ledger(1)
    ledger.charge("splits", "exponential", 1, "0.5", 2, "sequential", part=STRUCTURE)
    query_budget = None
    with pytest.raises(BudgetError, match="only 0 of the budget of 1 is left"):
        query_budget = ledger.charge("splits", "exponential", 1, "0.001", 1, "sequential")
    assert query_budget is None and len(ledger.entries) == 1
    # an entry without a cost has no query budget
    assert Ledger(None).charge("splits", "none", 1, None, 5, "sequential") is None


@pytest.mark.parametrize("composition, cost", [("sequential", Fraction(3, 2)), ("parallel", Fraction(1, 2))])
def test_branches_multiply_the_answers_and_not_the_cost(composition, cost):
    ledger = Ledger(2)
    query_budget = ledger.charge("splits", "exponential", 1, "0.5", 3, composition, branches=4)
    assert ledger.spent == cost
    assert [query_budget.use() for _ in range(12)] == [PrivacyLoss.pure("1/2")] * 12
    with pytest.raises(BudgetError, match="are answered"):
        query_budget.use()


# ---------------------------------------------------------------- parts of the table


def test_the_most_expensive_of_disjoint_parts_adds_to_the_charges_on_all_rows():
    ledger = Ledger(2)
    spent = []
    for each, times, part in [
        ("1/4", 1, ""),  # all rows
        ("1/2", 1, STRUCTURE),
        ("1/8", 2, STRUCTURE),  # 3/4 for structure rows
        ("1/3", 2, ESTIMATION),  # 2/3 for estimation rows, which is less
        ("1/6", 1, ESTIMATION),  # now 5/6, the largest charge
        ("1/4", 2, ""),
    ]:
        ledger.charge("something", "m", 1, Fraction(each), times, "sequential", part=part)
        spent.append(ledger.spent)
    assert spent == [Fraction(x) for x in ("1/4", "3/4", "1", "1", "13/12", "19/12")]
    cost_of = {part: sum(e.epsilon for e in ledger.entries if e.part in ("", part)) for part in (STRUCTURE, ESTIMATION)}
    # A row is in one part, and pays for the entries of the whole table and of this part.
    assert ledger.spent == max(cost_of.values())


def test_each_part_may_spend_the_whole_budget_and_no_more():
    ledger = Ledger(1)
    for part in (STRUCTURE, ESTIMATION):
        ledger.charge("counts", "m", 1, 1, 1, "parallel", part=part)
    assert ledger.spent == 1
    for part in (STRUCTURE, ESTIMATION, ""):
        each = Fraction(1, 10**20)
        with pytest.raises(BudgetError, match="budget of 1 is left"):
            ledger.charge("counts", "m", 1, each, 1, "parallel", part=part)
    ledger.close()
    assert ledger.spent == 1 and len(ledger.entries) == 2


def test_a_replaced_row_leaves_one_part_and_enters_another():
    """Replacing a row removes one row and adds one. In the worst case, both are in the part with the larger charge."""
    ledger = Ledger(2, "replace-one")
    ledger.charge("splits", "m", 1, Fraction(1, 4), 4, "sequential", part=STRUCTURE)
    ledger.charge("labels", "m", 1, Fraction(1, 2), 9, "parallel", part=ESTIMATION)
    assert [e.epsilon for e in ledger.entries] == [2, 1] and ledger.spent == 2
    assert max(2 * 1, 2 * Fraction(1, 2), 1 + Fraction(1, 2)) == ledger.spent


def test_a_part_of_any_other_name_is_refused_also_in_a_file():
    """The ledger refuses a part of the rows with an unknown name, also when it is read from a file.

    Otherwise, a file could put each entry into a separate part, and only the largest charge would count.
    """
    ledger = Ledger(1)
    with pytest.raises(ValueError, match="part"):
        ledger.charge("counts", "m", 1, 1, 1, "sequential", part="mine alone")
    ledger.charge("counts", "m", 1, 1, 1, "sequential", part=STRUCTURE)
    ledger.close()
    data = ledger.to_dict()
    data["entries"][0]["part"] = "mine alone"
    with pytest.raises(ValueError, match="part"):
        Ledger.from_dict(data)


@pytest.mark.parametrize("branches", [0, -1, 1.5])
def test_branches_are_whole_and_at_least_one(branches):
    with pytest.raises(ValueError, match="branches"):
        Ledger(1).charge("counts", "m", 1, 1, 1, "sequential", branches=branches)


def test_parts_are_kept_by_the_file_and_shown():
    ledger = Ledger(1)
    ledger.charge("splits", "exponential", 2, Fraction(1, 4), 4, "sequential", part="structure rows", branches=7)
    ledger.charge("labels", "exponential", 1, 1, 80, "parallel", part="estimation rows")
    ledger.close()
    text = json.dumps(ledger.to_dict())
    back = Ledger.from_dict(json.loads(text))
    assert back == ledger and back.spent == 1 and str(back) == str(ledger)
    assert "splits [structure rows]" in str(ledger) and "of these, the dearest part counts" in str(ledger)
    together = json.loads(text)
    for entry in together["entries"]:
        entry["part"] = ""
    with pytest.raises(BudgetError):  # if both entries are on the same rows, they cost 2
        Ledger.from_dict(together)
    for part in (None, 3, ["structure rows"]):
        forged = json.loads(text)
        forged["entries"][0]["part"] = part
        with pytest.raises(ValueError, match="part must be one of"):
            Ledger.from_dict(forged)
    older = json.loads(text)
    del older["entries"][1]  # files of earlier versions have no part
    del older["entries"][0]["part"]
    assert Ledger.from_dict(older).entries[0].part == ""


# ---------------------------------------------------------------- ledgers in μ²


def gaussian_ledger(neighbors="add-remove", budget="1/25"):
    """Return a ledger like that of a booster, which spends its budget on the number of rows, bins, and gradients."""
    ledger = Ledger(PrivacyLoss.gaussian(budget), neighbors)
    whole = Fraction(budget) / ledger.rows**2
    for what, share, times in (("number of rows", "0.01", 1), ("bins", "0.05", 7), ("gradients", "0.94", 300)):
        each = PrivacyLoss.gaussian(Fraction(share) * whole / times)
        ledger.charge(what, "rounded Gaussian", 1, each, times, "sequential")
    ledger.close()
    return ledger


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_gaussian_ledger_adds_up_in_mu_squared_to_the_last_digit(neighbors):
    ledger = gaussian_ledger(neighbors)
    assert ledger.kind == "gaussian" and ledger.loss == ledger.budget == PrivacyLoss.gaussian("1/25")
    assert "Spent μ² = 1/25 of 1/25" in str(ledger) and "μ² each" in str(ledger)
    assert ("twice in μ, four times in μ²" in str(ledger)) == (neighbors == "replace-one")
    for read in (
        lambda: ledger.epsilon,
        lambda: ledger.spent,
        lambda: ledger.entries[0].epsilon,
        lambda: ledger.entries[0].epsilon_each,
    ):
        with pytest.raises(MixedLossesError, match="only at a δ"):  # the ledger never returns μ² in place of ε
            read()


def test_every_kind_of_ledger_states_whether_it_has_a_budget():
    assert gaussian_ledger().has_budget and Ledger(Fraction(1)).has_budget and not Ledger(None).has_budget


def test_a_gaussian_budget_is_not_exceeded():
    ledger = Ledger(PrivacyLoss.gaussian("1/25"), "replace-one")
    ledger.charge("counts", "rounded Gaussian", 1, PrivacyLoss.gaussian("1/100"), 1, "sequential")
    with pytest.raises(BudgetError, match="only 0 of the budget of 1/25 of μ² is left"):
        ledger.charge("more", "rounded Gaussian", 1, PrivacyLoss.gaussian(Fraction(1, 10**20)), 1, "parallel")
    parts = Ledger(PrivacyLoss.gaussian(2))
    for each, part in ((1, ""), ("1/3", STRUCTURE), ("1/2", ESTIMATION), ("1/3", STRUCTURE)):
        parts.charge("counts", "rounded Gaussian", 1, PrivacyLoss.gaussian(each), 1, "sequential", part=part)
    assert parts.loss.mu_squared == 1 + Fraction(2, 3)


def test_neither_kind_of_budget_pays_for_the_other():
    with pytest.raises(BudgetError, match="kind 'gaussian'"):
        Ledger(PrivacyLoss.gaussian(1)).charge("counts", "discrete Laplace", 1, "0.1", 1, "parallel")
    for budget in (1, None):
        with pytest.raises(BudgetError, match="kind 'pure'"):
            Ledger(budget).charge("counts", "rounded Gaussian", 1, PrivacyLoss.gaussian("0.1"), 1, "parallel")
    ledger = Ledger(PrivacyLoss.gaussian(1))
    with pytest.raises(BudgetError, match="kind 'gaussian'"):
        release_counts(
            COUNTS,
            epsilon=Fraction(1),
            n_trees=1,
            partition="shared",
            neighbors="add-remove",
            ledger=ledger,
            source=DemoSource(0),
        )
    assert not ledger.entries
    with pytest.raises(ValueError, match="must be positive"):
        Ledger(PrivacyLoss.gaussian(0))


def test_a_query_budget_is_used_in_its_kind_of_loss():
    """A query budget in μ² pays only for Gaussian noise. Other mechanisms need an ε, and must not use μ² as one.

    A noisy table gets Gaussian noise if its query budget is in μ², and Laplace noise if it is in ε.
    """
    ledger = Ledger(PrivacyLoss.gaussian(1))
    gauss = ledger.charge("gradients", "rounded Gaussian", 1, PrivacyLoss.gaussian("1/2"), 2, "sequential")
    pure = Ledger(1).charge("counts", "discrete Laplace", 1, "1/2", 1, "sequential")
    with pytest.raises(MixedLossesError):
        choose(COUNTS, np.ones(COUNTS.shape, bool), 1, gauss, DemoSource(0))
    noise = simulate_rounded_gaussian(COUNTS, 2**0.5, 0)  # σ = sensitivity / μ
    assert np.array_equal(noisy_table(COUNTS, 1, gauss, DemoSource(0)), noise)
    assert np.array_equal(noisy_table(COUNTS, 1, pure, DemoSource(0)), simulate_noisy_counts(COUNTS, 2.0, 0))
    for used in (gauss, pure):
        with pytest.raises(BudgetError, match="are answered"):
            used.use()


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_gaussian_ledger_is_exact_in_a_file(neighbors):
    ledger = gaussian_ledger(neighbors)
    data = json.loads(json.dumps(ledger.to_dict()))
    assert Ledger.from_dict(data) == ledger and str(Ledger.from_dict(data)) == str(ledger)
    assert data["epsilon"] is None and "spent" not in data and data["mu_squared_spent"] == "1/25"
    entry = data["entries"][0]
    for change, words in (
        ({"mu_squared": "1/26"}, "would cost"),
        ({"mu_squared_spent": "1/26"}, "sum of the entries"),
        ({"spent": "1/25"}, "sum of the entries"),
        ({"kind": "pure"}, "not of its kind"),
        ({"epsilon": "1"}, "not in both"),
        ({"mu_squared": None, "epsilon": "1"}, "not of its kind"),
        ({"entries": [{**entry, "epsilon_each": "1/9", "mu_squared_each": None}]}, "of another kind"),
        ({"entries": [{**entry, "epsilon_each": "1/9"}]}, "not in both"),
        ({"entries": [{**entry, "mu_squared_each": "0.1"}]}, "not a fraction"),
    ):
        with pytest.raises(ValueError, match=words):
            Ledger.from_dict({**data, **change})


def test_a_pure_ledger_has_no_new_field_in_its_file():
    ledger = Ledger(1)
    ledger.charge("labels", "permute-and-flip", 1, 1, 3, "parallel")
    assert set(ledger.to_dict()) == {"epsilon", "neighbors", "closed", "spent", "entries"}
    fields = {"what", "mechanism", "sensitivity", "epsilon_each", "times", "composition", "part"}
    assert set(ledger.to_dict()["entries"][0]) == fields
