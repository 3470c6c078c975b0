"""Each mutant acts inside its `with` block, certificates do not notice it, and the code is restored afterwards."""

import pkgutil
import sys
from dataclasses import replace
from importlib import import_module
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

import dpforest
from dpforest.privacy import samplers, selection
from tests.audit import mutants
from tests.audit.mutants import EVERY, MUTANTS, Mutant, mutated
from tests.audit.mutants.mutation import unknown_names
from tests.audit.probes import SAYS, SETTINGS
from tests.conftest import public_domain

JIT = not numba.config.DISABLE_JIT
PROBES = {probe.__name__: probe for probe in SAYS}
by_name = {mutant.name: mutant for mutant in MUTANTS}
each = pytest.mark.parametrize("mutant", [by_name[name] for name in PROBES], ids=lambda mutant: mutant.name)


def all_mutants() -> list[Mutant]:
    """Return the mutants of all modules of tests.audit.mutants."""
    modules = [import_module(f"{mutants.__name__}.{module.name}") for module in pkgutil.iter_modules(mutants.__path__)]
    lists = [value for module in modules for value in vars(module).values() if isinstance(value, list | tuple)]
    return list({item.name: item for items in lists for item in items if isinstance(item, Mutant)}.values())


def test_every_mutant_fits_the_code_that_it_changes():
    """Most tests of mutants run with --slow, so a mutant whose code has changed would be noticed late."""
    assert len(all_mutants()) > 100
    for mutant in all_mutants():
        assert not unknown_names(mutant), mutant.name


def certified(name: str, **settings: Any) -> bool:
    """Fit with secret noise, and return whether the certificate says "certified" and the ledger adds up."""
    settings |= {} if name == "FriedmanSchusterClassifier" else {"n_estimators": 2}
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"f0": rng.random(20), "f1": rng.choice(["c0", "c1"], 20), "f2": rng.random(20)})
    domain, y = public_domain(None, 3, None), rng.integers(0, 2, 20)
    for neighbors in ("add-remove", "replace-one"):
        forest = getattr(dpforest, name)(domain=domain, max_depth=2, neighbors=neighbors, **settings).fit(X, y)
        promise, ledger = forest.released_.certificate, forest.released_.ledger
        if not (promise.certified and ledger.closed and ledger.spent <= promise.epsilon):
            return False
    return True


@each
def test_a_mutant_acts_unnoticed_and_is_gone_afterwards(mutant: Mutant):
    probe = PROBES[mutant.name]
    right, wrong = SAYS[probe]
    everything, before = state(), float(probe())
    assert before == pytest.approx(right, abs=0.03)
    with mutated(mutant):
        assert state() != everything
        assert float(probe()) == pytest.approx(wrong, abs=0.03)
        for forest in mutant.forests:
            assert certified(forest, **SETTINGS.get(mutant.name, {})), forest
    assert state() == everything
    assert float(probe()) == before or mutant.name == "bytes_come_round"


def state() -> dict[tuple[str, ...], object]:
    """Return the object and the code of every name in the package and in this module."""
    ours = [name for name in sys.modules if name.split(".")[0] in ("dpforest", __name__)]
    return {
        (module, name, inner): (id(value), getattr(value, "__code__", None))
        for module in ours
        for name, outer in list(vars(sys.modules[module]).items())
        for inner, value in [("", outer), *(list(vars(outer).items()) if isinstance(outer, type) else [])]
    }


def test_mutants_differ_and_name_existing_forests():
    assert len(MUTANTS) == len(by_name) == 35 and set(PROBES) | set(SETTINGS) <= set(by_name)
    assert all(mutant.forests and set(mutant.forests) <= set(EVERY) <= set(dpforest.__all__) for mutant in MUTANTS)
    assert len({(mutant.function, mutant.new) for mutant in MUTANTS}) == 35


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_compiled_callers_are_replaced_in_all_modules_and_leave_no_cache():
    names = [(samplers, name) for name in ("bernoulli_exp", "discrete_laplace", "_discrete_laplace_kernel")]
    names += [(samplers, "_exponential_kernel"), (selection, "bernoulli_exp"), (selection, "_choose_kernel")]
    before = [getattr(*name) for name in names]
    with pytest.raises(KeyError), mutated(by_name["long_shots_never_hit"]):
        for name, right in zip(names, before):
            assert getattr(*name) is not right and getattr(*name).stats.cache_path is None
            assert right.stats.cache_path is not None
        assert selection.bernoulli_exp is samplers.bernoulli_exp
        assert samplers.uniform.stats.cache_path is not None, "a function that does not call it stays"
        raise KeyError("an error in the block")
    assert [getattr(*name) for name in names] == before


def test_code_that_has_changed_is_refused():
    for old in ("not there", "n"):
        with pytest.raises(ValueError, match="has changed; correct the mutant"), mutated(replace(MUTANTS[0], old=old)):
            pass
