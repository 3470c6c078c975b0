"""The public facts that a file states about its fit, and its ledger entries for the preparation and for the trees."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpforest.models.base import bound_sentence
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.boosting.booster_spec import SIZE_SHARE as BOOSTER_SIZE_SHARE
from dpforest.models.preparation import LEAST_SIZE, SIZE_SHARE, Preparation
from dpforest.privacy.ledger import ADD_REMOVE, SCALE_OF_ATTRIBUTES, Ledger, LedgerEntry
from dpforest.privacy.rationals import printed_decimal
from dpforest.trees.forest import ReleasedForest
from dpforest.trees.leaves import ScoreLeaves


class FileError(ValueError):
    """Raised if a field of a file contradicts other fields. The message is a clause for a sentence about the file."""


@dataclass(frozen=True)
class FileFacts:
    """The public facts that a file states about its fit.

    Attributes
    ----------
    forest : ReleasedForest
        Forest that was read from the file.
    n_trees, n_rows : int
        Number of trees for each class score, and number of rows (or of persons, see `Domain.unit`) that the file
        states, or 0 if it states none.
    preparation : Preparation
        Shares of the budget that the fit spent before trees grew.
    entries : tuple of LedgerEntry
        The ledger's entries after the preparation.
    """

    forest: ReleasedForest
    n_trees: int
    n_rows: int
    preparation: Preparation
    entries: tuple[LedgerEntry, ...]

    @classmethod
    def of(cls, forest: ReleasedForest) -> "FileFacts":
        """Read the facts of a forest. Raise FileError if its number of rows or its scale contradicts its ledger."""
        ledger, entries, n_rows = forest.ledger, forest.ledger.entries, forest.about.get("n_rows", 0)
        has_size = bool(entries) and entries[0].what == ledger.number_of_units
        has_scale = len(entries) > has_size and entries[has_size].what.startswith(SCALE_OF_ATTRIBUTES)
        if has_size and ledger.neighbors != ADD_REMOVE:
            raise FileError("its ledger has an entry for the number of rows, which is public under replace-one")
        if has_size and n_rows < LEAST_SIZE:
            raise FileError(f"its ledger asks for the number of rows, so about.n_rows is at least {LEAST_SIZE}")
        if has_scale != (forest.scale is not None):
            raise FileError("it has a scale but no ledger entry for it, or a ledger entry but no scale")
        is_booster = forest.about.get("estimator") == RandomTreeBoosterClassifier.__name__
        size_share = (BOOSTER_SIZE_SHARE[ledger.kind] if is_booster else SIZE_SHARE) if has_size else Fraction(0)
        scale_share = _share_of_budget(ledger, entries[has_size]) if has_scale else Fraction(0)
        if not 0 <= scale_share < 1 - size_share:
            raise FileError(
                f"the scale costs {float(scale_share):.4g} of the budget in its ledger, which no fit allows"
            )
        is_boosted = isinstance(forest.leaves, ScoreLeaves) and forest.leaves.class_of_tree is not None
        n_scores = forest.domain.n_classes if is_boosted and forest.domain.n_classes > 2 else 1
        preparation = Preparation(n_rows, size_share, scale_share)
        return cls(forest, forest.trees.n_trees // n_scores, n_rows, preparation, entries[has_size + has_scale :])

    @property
    def public_size(self) -> int | None:
        """The number of rows under add-remove, if the file states it without a charge in the ledger; else None.

        The curator gave such a number as public (`size`).
        """
        is_public = self.forest.ledger.neighbors == ADD_REMOVE and not self.preparation.size
        return self.n_rows or None if is_public else None

    def share(self, i: int, whole: Fraction) -> Fraction:
        """Return the cost of entry i of `entries` divided by the amount `whole`; 0 if there is no such entry."""
        if i >= len(self.entries) or (each := self.entries[i].each) is None or not whole:
            return Fraction(0)
        return each.amount / whole

    def common(self) -> dict[str, Any]:
        """Return the values of the parameters that all estimators have, as far as the file determines them."""
        certificate, trees = self.forest.certificate, self.forest.trees
        return {
            "epsilon": as_user_types(Fraction(certificate.epsilon or 0)),
            "max_depth": trees.depth,
            "neighbors": self.forest.ledger.neighbors,
            "scale_share": "public",
            "size": self.public_size,
            "domain": self.forest.domain,
        }

    def row_bounds(self) -> list[int | None]:
        """Return the public bounds on the number of rows that the certificate states, and None for no bound."""
        numbers = {
            int(n.replace(",", ""))
            for a in self.forest.certificate.assumptions
            if len(a) < 100
            for n in re.findall(r"\d[\d,]*", a)
        }
        unit = self.forest.domain.unit
        stated = [n for n in numbers if bound_sentence(n, unit) in self.forest.certificate.assumptions]
        return [*stated, None]


def _share_of_budget(ledger: Ledger, entry: LedgerEntry) -> Fraction:
    """Return the cost of an entry as a share of the budget; 0 without a cost. The question must read all rows."""
    if ledger.budget is None or entry.each is None:
        return Fraction(0)
    return entry.each.grouped(ledger.rows).amount / ledger.budget.amount


def as_user_types(x: Fraction) -> float | Fraction:
    """Return the float that a user types for this number, or the fraction if no float prints as this number."""
    nearest = float(x)
    return nearest if nearest > 0 and printed_decimal(nearest) == x else x
