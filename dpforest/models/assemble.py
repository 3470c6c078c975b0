"""Build the forest of a fit: a forest that may be published, or a forest for the curator (the data holder).

Every fit builds its forest here, so one function enforces that only a forest with a closed ledger may be published.
"""

from typing import Any

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import BudgetError, Ledger
from dpforest.tables.domain import Domain
from dpforest.trees.forest import CuratorForest, Forest, ReleasedForest
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import CountLeaves, LabelLeaves, ScoreLeaves
from dpforest.trees.released_scale import ReleasedScale


def assemble(
    trees: Trees,
    domain: Domain,
    leaves: LabelLeaves | CountLeaves | ScoreLeaves,
    *,
    certificate: Certificate,
    ledger: Ledger,
    about: dict[str, Any],
    seed: int = 0,
    scale: ReleasedScale | None = None,
) -> Forest:
    """Return a `ReleasedForest` if the ledger has a budget and is closed, or a `CuratorForest` if it has no budget.

    Parameters
    ----------
    trees, domain, leaves, certificate, ledger, about, seed, scale
        As in `Forest`.

    Returns
    -------
    ReleasedForest or CuratorForest
        The forest with these parts.

    Raises
    ------
    BudgetError
        If the ledger has a budget and is still open, because the fit could then ask further questions.
    """
    if ledger.has_budget and not ledger.closed:
        raise BudgetError("The ledger is still open, so nothing may be released.")
    forest_type = ReleasedForest if ledger.has_budget else CuratorForest
    return forest_type(
        trees=trees,
        domain=domain,
        leaves=leaves,
        seed=seed,
        certificate=certificate,
        ledger=ledger,
        about=about,
        scale=scale,
    )
