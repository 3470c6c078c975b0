"""Everything that is derived from rows leaves through this package, and is paid for in a ledger.

``release`` draws and charges, ``ledger`` adds up, ``certificate`` says what is promised. ``loss`` is what adds up: ε,
or μ² of Gaussian differential privacy, whose δ is rounded up by ``normal_bounds``. ``laws``, ``noisy_counts`` and
``mechanisms`` know the exact law of every release; ``samplers`` draw from it in integers, ``gaussian`` rounded Gaussian
noise, ``simulators`` quickly in floats. ``published`` and ``true_loss`` hold what was published and does not hold.
"""

from dpforest.privacy.certificate import Certificate, certify
from dpforest.privacy.ledger import ADD_REMOVE, NEIGHBORS, REPLACE_ONE, BudgetError, Ledger, LedgerEntry
from dpforest.privacy.loss import MixedLossesError, PrivacyLoss, mu_for
from dpforest.privacy.mechanisms import flip_by_gap, flip_floor, flip_probability, pmf, privacy_loss
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.privacy.rationals import positive_fraction, round_down, round_up
from dpforest.privacy.release import assign_rows, rate_for, release_counts, release_labels

__all__ = [
    "ADD_REMOVE",
    "NEIGHBORS",
    "REPLACE_ONE",
    "BudgetError",
    "Certificate",
    "DemoSource",
    "LedgerEntry",
    "Ledger",
    "MixedLossesError",
    "PrivacyLoss",
    "SecretSource",
    "assign_rows",
    "certify",
    "flip_by_gap",
    "flip_floor",
    "flip_probability",
    "mu_for",
    "pmf",
    "positive_fraction",
    "privacy_loss",
    "rate_for",
    "release_counts",
    "release_labels",
    "round_down",
    "round_up",
    "source_for",
]
