"""Our bounds against the bounds of an independent auditor: privacy-estimates, by Zanella-Béguelin et al. (2022).

Both auditors turn the hits of an attack into a lower bound on ε by the interval of Clopper and Pearson. The independent
auditor also has two Bayesian bounds.
"""

import numpy as np
import pytest
from privacy_estimates import AttackResults, compute_eps_lo

from dpforest.audit.black_box import attack_fits
from dpforest.audit.canaries import canaries
from dpforest.audit.events import lower_bound

HITS = [
    (0, 500, 1_000),
    (120, 300, 4_000),
    (1_000, 2_600, 4_000),
    (3, 40, 4_000),
    (0, 4_000, 4_000),
    (2_000, 2_000, 4_000),
]


def theirs(before: int, after: int, trials: int, alpha: float, method: str = "beta") -> float:
    results = AttackResults(FN=trials - after, FP=before, TN=trials - before, TP=after)
    return compute_eps_lo(count=results, delta=0.0, alpha=alpha, method=method)


@pytest.mark.parametrize("hits", HITS)
def test_the_same_intervals_give_the_same_bound(hits):
    """Our bound at 2 alpha equals their bound at alpha: we test both directions of an event, and they test one."""
    for alpha in (0.05, 1e-3, 1e-6):
        assert float(lower_bound(*hits, alpha=2 * alpha)) == pytest.approx(max(theirs(*hits, alpha), 0), abs=1e-9)
        assert float(lower_bound(*hits, alpha=alpha)) <= max(theirs(*hits, alpha), 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # their numerical integration warns
def test_both_auditors_agree_on_a_forest():
    """Both auditors report that the published forest breaks its claim, and that the certified forest keeps its promise.

    For a forest that keeps its promise, a bound is above ε with a probability below 1e-6.
    """
    for mode, broken in (("as_published", True), ("certified", False)):
        canary = next(c for c in canaries("majority label", mode, "add-remove", 1.0) if "block" in c.name)
        attack = attack_fits(canary.estimator, canary.before, canary.after, trials=2_000, confidence=1 - 1e-6)
        hits = sorted(attack.hits)
        bounds = [
            attack.epsilon,
            theirs(*hits, attack.trials[0], 1e-6),
            theirs(*hits, attack.trials[0], 1e-6, "jeffreys"),
        ]
        assert all(bound > 1.0 for bound in bounds) if broken else all(bound <= 1.0 for bound in bounds)
        assert np.isfinite(bounds).all()
