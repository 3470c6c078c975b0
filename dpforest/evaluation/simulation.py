"""Count once, release many: what releases of one table would look like, for whoever holds the table.

Everything here is simulated from seeds and computed from raw rows. It is for looking at, never for publishing.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from sklearn.base import clone

from dpforest import voting
from dpforest.evaluation.repeats import NOISE_SEED, Repeats
from dpforest.models.leaf_noise import CountNoise
from dpforest.models.random.fit import count_kept_rows, rows_to_trees, simulate_values
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec, true_labels
from dpforest.models.random.votes import Votes
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.randomness import DemoSource
from dpforest.privacy.rationals import as_typed
from dpforest.simulation.metrics import accuracies, flipped_share
from dpforest.simulation.splits import Split
from dpforest.simulation.views import ForestView
from dpforest.simulation.without_noise import exact_scale
from dpforest.tables.domain import Domain
from dpforest.trees import routing
from dpforest.trees.layout import Trees
from dpforest.trees.released_scale import ReleasedScale, scale_histograms


class Simulation(Repeats):
    """Simulated releases of one estimator on one split, over a grid of budgets.

    Each repeat redraws structure, assignment and noise; rows are routed once a repeat for all budgets at which trees
    are the same. Within a repeat the noise at different budgets comes from the same draws, so that a curve is smooth.
    Figures are those of a separate fit at each budget with the same seeds.

    Parameters
    ----------
    estimator : RandomStructureClassifier
        Its epsilon is not used.
    domain : Domain
    split : Split
    epsilons : sequence of float
    seed : int
        First of the seeds of the repeats.
    n_jobs : int

    Examples
    --------
    >>> from dpforest import MajorityLabelForestClassifier, load_dataset
    >>> from dpforest.simulation.splits import split_table
    >>> data = load_dataset("nursery")
    >>> split = split_table(data.domain, data.X, data.y)
    >>> forest = MajorityLabelForestClassifier(n_estimators=10)
    >>> simulation = Simulation(forest, data.domain, split, epsilons=[0.1, 10])
    >>> simulation.add_repeat()
    >>> low, high = simulation.curve().accuracy[0]
    >>> bool(low < high)
    True
    """

    def __init__(
        self,
        estimator: RandomStructureClassifier,
        domain: Domain,
        split: Split,
        *,
        epsilons,
        seed: int = 0,
        n_jobs: int = 1,
    ):
        super().__init__(domain, split, epsilons, seed, n_jobs)
        estimator.check_reading_domain(domain)
        self.structures = Structures(estimator, domain, split)
        for epsilon in epsilons:  # what cannot be planned is refused before anything is simulated
            self.structures.at(epsilon).spec(domain, len(split.y_train))
        self._seen: tuple[tuple, Trees, np.ndarray] | None = None

    def add_repeat(self, pause: Callable[[], None] = lambda: None, *, first: float | None = None) -> None:
        """Prepare, grow, share out and count once more, then draw noise and score, at every budget."""
        seed, epsilons = self.seed + self.n_repeats, self.epsilons.tolist()
        plans = {epsilon: self.structures.prepare(epsilon, seed) for epsilon in (*epsilons, None)}
        todo = {_key(*plan): plan for plan in plans.values()}
        each = self.n_jobs if len(todo) == 1 else 1  # threads within threads mostly wait for Python's lock
        found = self._at_each(list(todo.values()), lambda plan: self._count(plan[0], plan[1], seed, each), pause)
        counted = dict(zip(todo, found, strict=True))

        def score(epsilon: float) -> tuple[float, float, float]:
            return self._release_and_score(plans[epsilon][0], counted[_key(*plans[epsilon])], epsilon, seed)

        private = self._at_each(epsilons, score, pause)
        spec, own = plans[None][0], counted[_key(*plans[None])]
        exact = own.counts if spec.releases_counts else true_labels(own.counts, seed, leaves=own.numbers)
        scores = self._score(spec, own.leaves, Votes(spec, exact, None, seed, own.numbers), seed)
        self._figures.append((*zip(*private, strict=True), *scores))

    def view(self, epsilon: float) -> ForestView:
        """The first repeat's forest at one budget, leaf by leaf."""
        spec, scale = self.structures.prepare(epsilon, self.seed)
        if self._seen is None or self._seen[0] != _key(spec, scale):
            self._seen = (_key(spec, scale), *self._grow_and_count(spec, scale, self.seed, self.n_jobs))
        _, trees, counts = self._seen
        values = self._release(spec, counts, epsilon, self.seed)
        labels = Votes(spec, values, _fraction(epsilon), self.seed).labels
        rule = "clamp" if spec.voting == "log-odds" else spec.negative_rule
        noise = CountNoise(counts, spec.mechanism, spec.leaf_rate(_fraction(epsilon)), rule)
        return ForestView(trees, self.domain, counts, labels, noise, scale=scale)

    @property
    def n_bytes(self) -> int:
        """Of the trees and counts that were looked at last."""
        _, trees, counts = self._seen or ((), None, None)
        arrays = [counts, *(vars(trees).values() if trees else ())]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def forget(self) -> None:
        """Drop what only `view` needs."""
        self._seen = None

    def _count(self, spec: ForestSpec, scale: ReleasedScale | None, seed: int, n_jobs: int) -> "_Counted":
        trees, counts = self._grow_and_count(spec, scale, seed, n_jobs)
        leaves = routing.leaves_of_rows(trees, self.domain, self.split.X_test, n_jobs=n_jobs)

        # Only leaves that hold somebody or are asked for make a difference to the figures.
        used = np.array(counts.any(axis=1))
        used[leaves] = True
        used |= spec.voting == "log-odds"  # whose prior is of all leaves
        place = (np.cumsum(used, dtype=np.int32) - 1)[leaves]
        return _Counted(np.flatnonzero(used), counts[used], place)

    def _grow_and_count(
        self, spec: ForestSpec, scale: ReleasedScale | None, seed: int, n_jobs: int
    ) -> tuple[Trees, np.ndarray]:
        trees = spec.grow(self.domain, seed, scale)
        X, y = self.split.X_train, self.split.y_train
        tree_of_row = rows_to_trees(spec, np.arange(len(y)), DemoSource(seed + NOISE_SEED))
        return trees, count_kept_rows(trees, self.domain, X, y, tree_of_row, n_jobs=n_jobs)

    def _release(
        self, spec: ForestSpec, counts: np.ndarray, epsilon: float, seed: int, leaves: np.ndarray | None = None
    ) -> np.ndarray:
        return simulate_values(spec, counts, _fraction(epsilon), seed + NOISE_SEED, leaves=leaves)

    def _release_and_score(self, spec: ForestSpec, own: "_Counted", epsilon: float, seed: int):
        """Accuracy, balanced accuracy, and share of rows in leaves whose label was flipped."""
        values = self._release(spec, own.counts, epsilon, seed, own.numbers)
        votes = Votes(spec, values, _fraction(epsilon), seed, own.numbers)
        flips = flipped_share(own.counts, votes.labels)
        return *self._score(spec, own.leaves, votes, seed), float(flips)

    def _score(self, spec: ForestSpec, leaves: np.ndarray, votes: Votes, seed: int) -> tuple[float, float]:
        """Accuracy and balanced accuracy on the held-out rows."""
        shares = votes.shares(leaves, self.domain.n_classes)
        coin = voting.coins(self.split.X_test, seed) if spec.voting == "probabilistic" else None
        return accuracies(voting.decide(shares, spec.voting, coin), self.split.y_test)


@dataclass(frozen=True, eq=False)
class _Counted:
    """Leaves that hold somebody or are asked for: rows of each class, and the leaf of each held-out row in each tree.

    `counts` has rows shared out as planned; draws are keyed by `numbers` of leaves.
    """

    numbers: np.ndarray
    counts: np.ndarray
    leaves: np.ndarray


class Structures:
    """What a random forest's trees grow from, at each budget: its spec, and the scale that it would release.

    Parameters
    ----------
    estimator : RandomStructureClassifier
        Its epsilon is not used.
    domain : Domain
    split : Split
    """

    def __init__(self, estimator: RandomStructureClassifier, domain: Domain, split: Split) -> None:
        self._estimator, self._domain, self._split = estimator, domain, split

    def at(self, epsilon: float | None) -> RandomStructureClassifier:
        """The estimator at a budget."""
        return clone(self._estimator).set_params(domain=None, epsilon=epsilon)

    @cached_property
    def _own(self) -> RandomStructureClassifier:
        return self.at(None)

    @cached_property
    def _cells(self) -> np.ndarray:
        return scale_histograms(self._domain, self._split.X_train)

    def prepare(
        self, epsilon: float | None, seed: int, like: tuple[ForestSpec, ReleasedScale | None] | None = None
    ) -> tuple[ForestSpec, ReleasedScale | None]:
        """What a fit with these seeds would find out before it grows trees; without ε, what there is to find out.

        `like` is what one of another shape finds out with the same ε and seeds: the same, where it is asked the same.
        """
        n, own = len(self._split.y_train), copy(self._own)  # one for each call: threads ask at the same time
        own.epsilon = epsilon  # as `at` does, without a clone for each of many
        if like is not None and like[0].preparation.size:
            spec = own.spec(self._domain, like[0].preparation.n_rows)
            if spec.preparation == like[0].preparation:
                return spec, like[1]
        ledger = Ledger(None if epsilon is None else _fraction(epsilon), own.neighbors)
        spec, scale = own.prepare(self._domain, n, n, lambda: self._cells, ledger, DemoSource(seed + NOISE_SEED))
        return spec, exact_scale(own, self._cells) if epsilon is None else scale


def _key(spec: ForestSpec, scale: ReleasedScale | None) -> tuple:
    """What trees and the rows in their leaves follow from, within a repeat."""
    return spec.n_trees, spec.depth, spec.partition, b"" if scale is None else scale.cumulative.tobytes()


def _fraction(epsilon: float) -> Fraction:
    return as_typed(float(epsilon))
