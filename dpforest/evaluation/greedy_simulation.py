"""What releases of a forest that looks at the data would look like: its trees change with ε, so each is fitted anew.

Everything here is simulated from seeds and computed from raw rows. It is for looking at, never for publishing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch

import numpy as np
from sklearn.base import clone

from dpforest.evaluation.repeats import NOISE_SEED, Curve, Repeats
from dpforest.evaluation.simulation import Simulation
from dpforest.explain import AddedScores
from dpforest.models.base import ForestClassifier
from dpforest.models.data_dependent import DataDependentClassifier, EncodedRows
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.trace import Trace
from dpforest.simulation.fitted import without_noise
from dpforest.simulation.metrics import accuracies, flipped_share
from dpforest.simulation.splits import Split
from dpforest.simulation.views import ForestView
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest
from dpforest.trees.leaves import ScoreLeaves
from dpforest.voting import CLIPPED_LOGISTIC


class GreedySimulation(Repeats):
    """Simulated releases of one greedy estimator on one split, over a grid of budgets.

    Rows are binned once, and what the fits of a repeat have in common is computed once (`EncodedRows.once`).

    Parameters as for `Simulation`.

    Examples
    --------
    >>> from dpforest import FriedmanSchusterClassifier, load_dataset
    >>> from dpforest.simulation.splits import split_table
    >>> data = load_dataset("nursery")
    >>> split = split_table(data.domain, data.X, data.y)
    >>> simulation = GreedySimulation(FriedmanSchusterClassifier(), data.domain, split, epsilons=[0.01, 10])
    >>> simulation.add_repeat()
    >>> low, high = simulation.curve().accuracy[0]
    >>> bool(low < high)
    True
    """

    def __init__(
        self,
        estimator: DataDependentClassifier,
        domain: Domain,
        split: Split,
        *,
        epsilons,
        seed: int = 0,
        n_jobs: int = 1,
    ):
        super().__init__(domain, split, epsilons, seed, n_jobs)
        self.estimator = clone(estimator).set_params(domain=None)
        self._has_structure_seed = "structure_seed" in estimator.get_params()
        self._nonprivate: tuple[float, float] | None = None
        self._found: dict[float, tuple[float, float, float]] = {}  # of the repeat that is not done yet
        estimator.check_reading_domain(domain)
        estimator.check(domain, len(split.y_train))
        rows = np.arange(len(split.y_train))
        self.rows = estimator.encode(domain, split.X_train, split.y_train, rows)

    def add_repeat(self, pause: Callable[[], None] = lambda: None, *, first: float | None = None) -> None:
        """Fit once more at every budget, and once without privacy, and score.

        Budgets come in the order of their distance from `first`; what is done stays if `pause` raises.
        """
        seed, rows, epsilons = self.seed + self.n_repeats, replace(self.rows, memo={}), self.epsilons.tolist()

        def work(epsilon: float) -> None:
            self._found[epsilon] = self._fit_and_score(epsilon, seed, rows)

        left = [epsilon for epsilon in epsilons if epsilon not in self._found]
        self._at_each(sorted(left, key=lambda e: abs(math.log(e / first)) if first else 0), work, pause)
        pause()
        if self._nonprivate is None or self._has_structure_seed:  # else nothing is random in it but noise
            exact = without_noise(self.estimator, self.domain, rows)
            self._nonprivate = self._score(self._fit(None, seed, exact, None))
        private = [self._found[epsilon] for epsilon in epsilons]
        self._figures.append((*zip(*private, strict=True), *self._nonprivate))
        self._found = {}

    def take_repeat(self, curve: Curve) -> None:
        """As in `Repeats`; what was done here of that repeat is dropped, as it is no part of the next."""
        super().take_repeat(curve)
        self._found = {}

    @property
    def so_far(self) -> dict[float, float]:
        """Accuracy at the budgets that are done of a repeat that is not."""
        return {epsilon: accuracy for epsilon, (accuracy, _, _) in list(self._found.items())}

    def view(self, epsilon: float) -> ForestView:
        """The first repeat's forest at one budget, leaf by leaf."""
        trace = Trace()
        forest = self._fit(epsilon, self.seed, self.rows, trace)
        assert trace.counts is not None and trace.labels is not None and trace.noise is not None
        leaves, of_all = forest.leaves, AddedScores.of(forest) if forest.voting == CLIPPED_LOGISTIC else None
        values, classes = None, None
        if isinstance(leaves, ScoreLeaves) and of_all is None:
            values, classes = leaves.leaf_values, leaves.class_of_tree
        return ForestView(
            forest.trees,
            self.domain,
            trace.counts,
            trace.labels,
            trace.noise,
            values,
            classes,
            tuple(trace.trees),
            forest.scale,
            of_all,
        )

    def _fit(self, epsilon: float | None, seed: int, rows: EncodedRows, trace: Trace | None) -> Forest:
        estimator = clone(self.estimator).set_params(epsilon=epsilon, random_state=seed + NOISE_SEED)
        if self._has_structure_seed:
            estimator.set_params(structure_seed=seed)
        return estimator.fit_encoded(self.domain, rows, trace=trace)

    def _fit_and_score(self, epsilon: float, seed: int, rows: EncodedRows) -> tuple[float, float, float]:
        """Accuracy, balanced accuracy, and share of rows in leaves whose label was flipped."""
        trace = Trace(draws=False)
        forest = self._fit(epsilon, seed, rows, trace)
        assert trace.counts is not None and trace.labels is not None and trace.noise is not None
        flips = flipped_share(trace.noise.evidence, trace.labels, trace.counts.sum(axis=1))
        return *self._score(forest), float(flips)

    def _score(self, forest: Forest) -> tuple[float, float]:
        """Accuracy and balanced accuracy on the held-out rows."""
        return accuracies(forest.predict_codes(self.split.X_test), self.split.y_test)


@singledispatch
def simulation_for(estimator: ForestClassifier, domain: Domain, split: Split, **settings) -> Repeats:
    """The simulation that suits an estimator; settings as for `Simulation`."""
    raise TypeError(f"{type(estimator).__name__} cannot be simulated")


@simulation_for.register
def _(estimator: DataDependentClassifier, domain: Domain, split: Split, **settings) -> Repeats:
    return GreedySimulation(estimator, domain, split, **settings)


@simulation_for.register
def _(estimator: RandomStructureClassifier, domain: Domain, split: Split, **settings) -> Repeats:
    return Simulation(estimator, domain, split, **settings)


def one_repeat(
    estimator: ForestClassifier, domain: Domain, split: Split, epsilons: Sequence[float], first: float | None, seed: int
) -> Curve:
    """One simulated release at each budget, and nothing else of it: for another process.

    Parameters as for `Simulation` and `Repeats.add_repeat`.
    """
    simulated = simulation_for(estimator, domain, split, epsilons=epsilons, seed=seed)
    simulated.add_repeat(first=first)
    return simulated.curve()
