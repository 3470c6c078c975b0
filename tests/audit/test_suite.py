"""The auditors themselves: sound code gives no message, and mistakes that were put into it are detected.

There are three batches of mistakes. The authors of the first two batches did not know the auditors. At first, the
auditors detected six of the twelve mistakes in the first batch. So checks of samplers, of sensitivities, and of more
kinds of tables were added. The auditors detected nine of the ten mistakes in the second batch; fits with two threads
were added for the tenth. An attacker who had read all auditors made the third batch of six mistakes, and the auditors
missed all six. Now the auditors detect every mistake of the three batches.
"""

import warnings

import pytest

from dpforest.audit.samplers.draws import check_draws, check_rare_draws
from dpforest.audit.samplers.gaussian import check_gaussian
from dpforest.audit.scores import check_scores
from dpforest.audit.suite import fit_suspicions, suspicions
from tests.audit.mutants import MUTANTS, Mutant, mutated
from tests.conftest import every

# Mistakes in these modules change queries and their rates, but no sampler and no score. So only the audits of fits run
# on them. `release_counts` is also of this kind. It is left out of the list, so that all auditors run at least once.
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
    """Sound code gives a false alarm with probability below 1e-6 (see `draws`).

    By default, `check_rare_draws` is skipped, because it is slow. Then only the exact `check_identities` covers rare
    draws.
    """
    assert list(check()) == []


def test_the_suite_checks_the_gaussian_sampler():
    """The suite reports a wrong Gaussian sampler with the message of its check, and no other check reports it first."""
    away = "if not more:", "if not more or k == 6:"  # this mistake cuts off the tails
    with mutated(Mutant("cut", "cut", "dpforest.privacy.gaussian", "rounded_gaussian", *away, ())):
        message = next(check_gaussian(whole=False))
        assert next(suspicions(()), None) == message


@pytest.mark.parametrize(
    "mutant",
    every(12, MUTANTS),
    ids=lambda m: m.name,
)
def test_mistakes_are_detected(mutant):
    with mutated(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mistake may cause an overflow, about which numpy warns
        look = fit_suspicions if f"{mutant.module}.{mutant.function}".startswith(FITS_ONLY) else suspicions
        message = next(look(mutant.forests), None)
    assert message is not None, mutant.why
