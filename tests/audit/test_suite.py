"""The auditors themselves: sound code gives no message, and mistakes that were put into it are detected.

Both batches of mistakes were written without knowledge of the auditors. Of the first twelve six were found at first,
which led to checks of samplers, of sensitivities, and of more kinds of tables. Of the ten of the second batch nine were
found; the tenth led to fits with two threads. An attacker who had read everything got six more past them, which are the
third batch. Now all are found.
"""

import warnings

import pytest

from dpforest.audit.samplers.draws import check_draws, check_rare_draws
from dpforest.audit.samplers.gaussian import check_gaussian
from dpforest.audit.scores import check_scores
from dpforest.audit.suite import fit_suspicions, suspicions
from tests.audit.mutants import MUTANTS, Mutant, mutated
from tests.conftest import every

# Mistakes in these modules change no sampler and no score, but queries and their rates. So do those in
# `release_counts`, but all auditors look for these, as for a user.
FITS_ONLY = (
    "dpforest.models.",
    "dpforest.tables.",
    "dpforest.trees.routing.",
    "dpforest.trees.greedy_trees.",
    "dpforest.trees.released_scale.",
    "dpforest.privacy.release.release_labels",
    "dpforest.privacy.release.noisy_table",
    "dpforest.privacy.selection.choose",
    "dpforest.privacy.selection.rate_of",
)


@pytest.mark.parametrize(
    "check",
    [check_draws, check_scores, pytest.param(check_rare_draws, marks=pytest.mark.slow)],
    ids=lambda c: c.__name__,
)
def test_samplers_and_sensitivities_are_sound(check):
    """False alarm: below 1e-6 (see `draws`). By default rare draws are in `check_identities` only, which is exact."""
    assert list(check()) == []


def test_the_suite_checks_the_gaussian_sampler():
    """Would catch a suite that leaves it out: nothing else in it, before or after, says the same."""
    away = "if not more:", "if not more or k == 6:"  # tails that are cut off
    with mutated(Mutant("cut", "cut", "dpforest.privacy.gaussian", "rounded_gaussian", *away, ())):
        message = next(check_gaussian(whole=False))
        assert next(suspicions(()), None) == message


@pytest.mark.parametrize(
    "mutant",
    every(4, MUTANTS),
    ids=lambda m: m.name,
)
def test_mistakes_are_detected(mutant):
    with mutated(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a wrong bit may overflow
        look = fit_suspicions if f"{mutant.module}.{mutant.function}".startswith(FITS_ONLY) else suspicions
        message = next(look(mutant.forests), None)
    assert message is not None, mutant.why
