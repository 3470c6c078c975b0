"""Tests that a certified release draws only integers, and only from the randomness of the operating system.

`test_samplers.py` and `test_selection.py` check that the compiled samplers use no floats. This module fits every
certified forest, and records the arguments of `run_tape`, which runs all samplers.
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
PUBLIC = {"scale_share": "public"}  # no query runs before trees grow


def rows(n=300):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.random(n), rng.integers(0, 3, n).astype(object), rng.random(n)]).astype(object)
    X[:, 1] = [f"c{k}" for k in X[:, 1]]
    return X, (X[:, 0].astype(float) + 0.3 * rng.random(n) > 0.6).astype(int)


@pytest.fixture
def passed(monkeypatch) -> list[tuple]:
    """Return a list that collects (kernel, source, arguments) of every call of a sampler."""
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
def test_releases_draw_only_whole_numbers_from_the_systems_entropy(name, neighbors, passed, monkeypatch):
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
    """The rate is the exact fraction: ε = 0.1 counts as 1/10, although the float 0.1 is slightly larger."""
    X, y = rows()
    settings = {"n_estimators": 7, "partition": "shared", "max_depth": 2, "neighbors": neighbors}
    MajorityLabelForestClassifier(epsilon=0.1, domain=DOMAIN, **settings, **PUBLIC).fit(X, y)
    ((_, _, (_, num, den, *_)),) = passed
    assert Fraction(num, den) == Fraction(1, 10) / 7 / rows_changed


@pytest.mark.parametrize("neighbors, rows_changed", [("add-remove", 1), ("replace-one", 2)])
def test_every_rate_of_a_fit_that_prepares_is_the_exact_fraction(neighbors, rows_changed, passed):
    """Every rate of a fit with a released scale is the exact fraction.

    The queries are the number of rows (unless it is public), three histograms of each of two attributes, and labels.
    Labels get the rest of the budget.
    """
    X, y = rows(3_000)
    settings = {"n_estimators": 7, "partition": "shared", "neighbors": neighbors}
    forest = MajorityLabelForestClassifier(epsilon=0.1, scale_share=0.13, domain=DOMAIN, **settings).fit(X, y)
    assert forest.ledger_.spent == Fraction(1, 10)
    size = Fraction(1, 50) if neighbors == "add-remove" else 0
    each = Fraction(1, 10) / rows_changed
    (*asked, (_, _, (_, num, den, *_))) = passed
    assert Fraction(num, den) == each * (1 - size - Fraction(13, 100)) / 7
    rates = [Fraction(den, num) for _, _, (_, num, den, *_) in asked]  # the sampler of noise receives its scale
    assert rates == ([each / 50] if size else []) + [each * Fraction(13, 100) / 6]


# Very small and very large budgets, and budgets with many digits, whose rates do not fit into fractions of 32 bits. At
# ε = 0.1 and ε = 1 alone, the test would pass for wrong code that rounds rates up, or that has a least rate.
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
    """The rate is at most the charge, and at least 99.999 % of it, for labels, counts, and counts of a greedy tree."""
    X, y = rows()
    exact = Fraction(str(epsilon)) / rows_changed
    settings = {"epsilon": epsilon, "domain": DOMAIN, "neighbors": neighbors, "max_depth": 2, **PUBLIC}
    MajorityLabelForestClassifier(n_estimators=7, partition="shared", **settings).fit(X, y)
    ((_, _, (_, num, den, *_)),) = passed
    assert Fraction(99_999, 100_000) * exact / 7 < Fraction(num, den) <= exact / 7
    passed.clear()
    dpforest.RandomDecisionForestClassifier(n_estimators=7, **settings).fit(X, y)
    ((_, _, (_, num, den, *_)),) = passed
    assert Fraction(99_999, 100_000) * exact / 7 < Fraction(den, num) <= exact / 7
    passed.clear()
    if epsilon < 1_000:
        dpforest.FriedmanSchusterClassifier(**settings).fit(X, y)
        _, num, den, *_ = passed[-1][2]
        assert Fraction(99_999, 100_000) * exact / 2 < Fraction(den, num) <= exact / 2
        splits = [arguments for kernel, _, arguments in passed[:-1]]
        assert len(splits) == 2
