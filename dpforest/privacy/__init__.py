"""Release results that depend on private rows, and charge a ledger for each release.

``release`` draws the results, ``ledger`` adds up costs, and ``certificate`` states the promise. ``loss`` holds the unit
of cost: ε, or μ² of Gaussian differential privacy. ``normal_bounds`` bounds the δ of a Gaussian loss from above.
``laws``, ``noisy_counts`` and ``mechanisms`` compute the exact law of every release. ``samplers`` draws from these laws
in integers, and ``gaussian`` draws rounded Gaussian noise. ``simulators`` draws quickly in floats, for demonstrations
only. ``selection`` draws splits by the exponential mechanism. ``tradeoff_curve`` bounds the success of attacks.
``published`` lists published mechanisms whose privacy claims are wrong, and ``true_loss`` computes their true losses.
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
