"""The one place where what was fitted becomes a forest that may leave, or one that stays with the curator."""

from typing import Any

import numpy as np

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import BudgetError, Ledger
from dpforest.tables.domain import Domain
from dpforest.trees.forest import CuratorForest, Forest, ReleasedForest
from dpforest.trees.layout import Trees
from dpforest.trees.released_scale import ReleasedScale
from dpforest.voting import LogOdds


def assemble(
    trees: Trees,
    domain: Domain,
    *,
    certificate: Certificate,
    ledger: Ledger,
    about: dict[str, Any],
    labels: np.ndarray | None = None,
    noisy_counts: np.ndarray | None = None,
    leaf_values: np.ndarray | None = None,
    voting: str = "majority",
    negative_rule: str = "clamp",
    seed: int = 0,
    class_of_tree: np.ndarray | None = None,
    alpha_link: float = 1.0,
    log_odds: LogOdds | None = None,
    scale: ReleasedScale | None = None,
) -> Forest:
    """A `ReleasedForest` exactly when there is a ledger with a budget behind it, and that is closed.

    Parameters
    ----------
    labels, noisy_counts, leaf_values, voting, negative_rule, seed, class_of_tree, alpha_link, log_odds, scale
        As for `Forest`. One of the first three is given.

    Raises
    ------
    BudgetError
        If a ledger with a budget is still open: what was answered may not be all that was asked.
    """
    if ledger.has_budget and not ledger.closed:
        raise BudgetError("The ledger is still open, so nothing may be released.")
    kind = ReleasedForest if ledger.has_budget else CuratorForest
    return kind(
        trees=trees,
        domain=domain,
        labels=labels,
        noisy_counts=noisy_counts,
        voting=voting,
        negative_rule=negative_rule,
        seed=seed,
        certificate=certificate,
        ledger=ledger,
        about=about,
        leaf_values=leaf_values,
        class_of_tree=class_of_tree,
        alpha_link=alpha_link,
        log_odds=log_odds,
        scale=scale,
    )
