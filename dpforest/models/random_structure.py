"""What the forests with data-independent structure share: a plan, then counts, then the door."""

from typing import Any

import numpy as np

from dpforest.domain import Domain
from dpforest.models.base import ForestClassifier
from dpforest.models.fitting import fit_forest, preview
from dpforest.models.plan import Plan
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.trees.forest import Forest


class RandomStructureClassifier(ForestClassifier):
    """Base of the forests whose structure does not look at data. Not for use by itself."""

    def _plan(self, domain: Domain, n_rows: int) -> Plan:
        """Turn parameters into a plan. `n_rows` may be used under replace-one or as published only."""
        raise NotImplementedError

    def plan(self, domain: Domain, n_rows: int) -> Plan:
        """Every choice that a fit will make, from parameters and public knowledge; `n_rows` as in `preview`."""
        self._check_parameters()
        return self._plan(domain, n_rows)

    def _fit_forest(self, domain: Domain, X: Any, y: np.ndarray, row_ids: np.ndarray, n_jobs: int) -> Forest:
        return fit_forest(
            self._plan(domain, len(y)),
            domain,
            X,
            y,
            epsilon=self._budget,
            structure_seed=int(self.structure_seed),
            random_state=self.random_state,
            row_ids=row_ids,
            n_jobs=n_jobs,
            about={"estimator": type(self).__name__, "structure_seed": int(self.structure_seed)},
        )

    def _preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        return preview(
            self._plan(domain, n_rows),
            domain,
            epsilon=self._budget,
            structure_seed=int(self.structure_seed),
            random_state=self.random_state,
        )
