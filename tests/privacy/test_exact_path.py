"""On the way of a release only whole numbers meet randomness, and only the operating system's.

The compiled samplers have no float inside (`test_samplers.py`, `test_selection.py`: types and machine code). Here every
certified forest is fitted while the one door to them, `run_tape`, writes down what goes through.
"""

import random
from fractions import Fraction

import numpy as np
import pytest

import dpforest
from dpforest import MajorityLabelForestClassifier
from dpforest.privacy import SecretSource, gaussian, samplers, selection
from tests.conftest import public_domain

FORESTS = {name: getattr(dpforest, name) for name in dpforest.__all__ if name.endswith("Classifier")}
DOMAIN = public_domain(None, 3, None)
PUBLIC = {"scale_share": "public"}  # nothing is asked before trees grow


def rows(n=300):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.random(n), rng.integers(0, 3, n).astype(object), rng.random(n)]).astype(object)
    X[:, 1] = [f"c{k}" for k in X[:, 1]]
    return X, (X[:, 0].astype(float) + 0.3 * rng.random(n) > 0.6).astype(int)


@pytest.fixture
def passed(monkeypatch) -> list[tuple]:
    """(kernel, source, arguments) of every call of a sampler."""
    calls: list[tuple] = []
    original = samplers.run_tape

    def spy(kernel, n, source, *arguments):
        calls.append((kernel, source, arguments))
        original(kernel, n, source, *arguments)

    monkeypatch.setattr(samplers, "run_tape", spy)
    monkeypatch.setattr(selection, "run_tape", spy)
    monkeypatch.setattr(gaussian, "run_tape", spy)
    return calls


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", FORESTS)
def test_whole_numbers_from_the_systems_entropy_only(name, neighbors, passed, monkeypatch):
    def refused(*arguments, **settings):
        raise AssertionError("a release asked another generator than the operating system")

    X, y = rows()
    forest = FORESTS[name](epsilon=1.0, domain=DOMAIN, neighbors=neighbors)
    if "n_bound" in forest.get_params():
        forest.set_params(n_bound=1_000)
    monkeypatch.setattr(np.random, "default_rng", refused)
    monkeypatch.setattr(np.random, "RandomState", refused)
    monkeypatch.setattr(random, "Random", refused)
    before = str(np.random.get_state()), random.getstate()
    forest.fit(X, y)
    assert (str(np.random.get_state()), random.getstate()) == before
    assert forest.certificate_.certified and passed
    for kernel, source, arguments in passed:
        assert type(source) is SecretSource, kernel
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                assert argument.dtype.kind in "iub", (kernel, argument.dtype)
            else:
                assert type(argument) is int, (kernel, argument)


@pytest.mark.parametrize("neighbors, rows_changed", [("add-remove", 1), ("replace-one", 2)])
def test_the_rate_is_the_exact_fraction(neighbors, rows_changed, passed):
    """0.1 means 1/10 although the binary number of that name is another."""
    X, y = rows()
    how = {"n_estimators": 7, "partition": "shared", "max_depth": 2, "neighbors": neighbors}
    MajorityLabelForestClassifier(epsilon=0.1, domain=DOMAIN, **how, **PUBLIC).fit(X, y)
    ((_, _, (_, num, den, *_)),) = passed
    assert Fraction(num, den) == Fraction(1, 10) / 7 / rows_changed


@pytest.mark.parametrize("neighbors, rows_changed", [("add-remove", 1), ("replace-one", 2)])
def test_every_rate_of_a_fit_that_prepares_is_the_exact_fraction(neighbors, rows_changed, passed):
    """Of the number of rows, of three histograms of each of two attributes, and of labels from what is left."""
    X, y = rows(3_000)
    how = {"n_estimators": 7, "partition": "shared", "neighbors": neighbors}
    forest = MajorityLabelForestClassifier(epsilon=0.1, scale_share=0.13, domain=DOMAIN, **how).fit(X, y)
    assert forest.ledger_.spent == Fraction(1, 10)
    size = Fraction(1, 50) if neighbors == "add-remove" else 0
    each = Fraction(1, 10) / rows_changed
    (*asked, (_, _, (_, num, den, *_))) = passed
    assert Fraction(num, den) == each * (1 - size - Fraction(13, 100)) / 7
    rates = [Fraction(den, num) for _, _, (_, num, den, *_) in asked]  # of noise its scale is given
    assert rates == ([each / 50] if size else []) + [each * Fraction(13, 100) / 6]


# Budgets of many digits, whose rates are no fractions of 32 bits, and very small and large ones: a rate with a floor,
# or one that is rounded up, looks right at ε = 0.1 and ε = 1.
BUDGETS = [
    0.0001,
    0.0012345678901234567,
    0.03333333333333333,
    0.12345678901234567,
    7.777777777777777,
    1234.5678901234567,
]


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("neighbors, rows_changed", [("add-remove", 1), ("replace-one", 2)])
def test_the_rate_never_exceeds_the_charge(epsilon, neighbors, rows_changed, passed):
    """And is not much less: labels, counts, and a greedy tree's counts."""
    X, y = rows()
    exact = Fraction(str(epsilon)) / rows_changed
    how = {"epsilon": epsilon, "domain": DOMAIN, "neighbors": neighbors, "max_depth": 2, **PUBLIC}
    MajorityLabelForestClassifier(n_estimators=7, partition="shared", **how).fit(X, y)
    ((_, _, (_, num, den, *_)),) = passed
    assert Fraction(99_999, 100_000) * exact / 7 < Fraction(num, den) <= exact / 7
    passed.clear()
    dpforest.RandomDecisionForestClassifier(n_estimators=7, **how).fit(X, y)
    ((_, _, (_, num, den, *_)),) = passed
    assert Fraction(99_999, 100_000) * exact / 7 < Fraction(den, num) <= exact / 7
    passed.clear()
    if epsilon < 1_000:
        dpforest.FriedmanSchusterClassifier(**how).fit(X, y)
        _, num, den, *_ = passed[-1][2]
        assert Fraction(99_999, 100_000) * exact / 2 < Fraction(den, num) <= exact / 2
        splits = [arguments for kernel, _, arguments in passed[:-1]]
        assert len(splits) == 2
