"""One private greedy tree (Friedman and Schuster), the baseline of those who let trees look at the data."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dpforest.checks import check_share, choice, count
from dpforest.limits import MAX_BOUND, MAX_DEPTH
from dpforest.models.assemble import assemble
from dpforest.models.base import AUTO
from dpforest.models.greedy.count_trees import SplitSelector
from dpforest.models.greedy.greedy import Binned, GreedyClassifier, check_row_bound, demo_seed, row_bound
from dpforest.models.greedy.trace import Trace, TreeTrace
from dpforest.models.leaf_noise import CountNoise
from dpforest.models.preparation import Preparation
from dpforest.models.shape_rules import one_tree_shape
from dpforest.privacy import simulators
from dpforest.privacy.certificate import Certificate, certify
from dpforest.privacy.ledger import Ledger, QueryBudget, rows_changed
from dpforest.privacy.published import REPRODUCTION, ideal_loss
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.privacy.rationals import as_typed
from dpforest.privacy.release import noisy_table
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest
from dpforest.trees.greedy_trees import as_trees, grow_tree, leaf_table, root_histogram
from dpforest.trees.split_scores import COUNTED, UNIT, depends_on_rows, sensitivity
from dpforest.voting import leaf_shares, leaf_votes

_DEPARTURE: Final = (
    "The paper's stopping rule, which asks for a noisy count at every level, is left out, and nothing else gets its "
    "share of ε: all leaves are at the same depth. Numeric attributes are split at public equal cuts."
)


@dataclass(frozen=True)
class TreeSpec:
    """A single tree as it stands before it has seen a row. `n_bound` is public: a bound on the rows, or their number.

    Parameters as in `FriedmanSchusterClassifier`, resolved; `epsilon` is the budget, None without privacy.
    """

    epsilon: Fraction | None
    depth: int
    criterion: str
    tree_share: Fraction
    n_bound: int
    neighbours: str
    as_published: bool
    preparation: Preparation = Preparation()

    def charge(self, ledger: Ledger) -> tuple[QueryBudget, QueryBudget] | None:
        """Pay for splits and leaves; as published the right to ask comes without a budget behind it."""
        if self.epsilon is None:
            ledger.charge("exact splits and counts of every leaf", "none", 1, None, 1, "sequential")
            return None
        if self.as_published:
            each = self.epsilon / (2 * (self.depth + 1))
            ledger.charge("splits and counts of every leaf, as published", "exponential, Laplace", 1, None, 1,
                          "sequential")  # fmt: skip
            return QueryBudget(each / 2, self.depth), QueryBudget(each, 1)  # the paper's exponent is ε q / (2 Δ)
        each = self.epsilon * self.preparation.left / rows_changed(self.neighbours)
        most = Fraction(round(10 * sensitivity(self.criterion, self.n_bound) / UNIT), 10)
        splits = ledger.charge("splits, level by level", "exponential", most,
                               each * self.tree_share / self.depth, self.depth, "sequential")  # fmt: skip
        leaves = ledger.charge("class counts of each leaf", "discrete-laplace", 1, each * (1 - self.tree_share), 1,
                               "sequential")  # fmt: skip
        assert splits is not None and leaves is not None
        return splits, leaves


class FriedmanSchusterClassifier(GreedyClassifier):
    """A single tree whose splits are drawn by the exponential mechanism and whose leaves have noisy counts.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget. None gives the non-private model: the best splits and true counts.
    max_depth : int or "auto", default="auto"
        All leaves are at this depth. "auto": by a public rule (`models.shape_rules`), as published 5. The paper's
        stopping rule, which asks for a noisy count at every level, is left out.
    criterion : {"max", "gini", "entropy"}, default="max"
        Rows that the children's majority votes get right, Gini impurity, or information gain. (The paper's gain ratio
        has no bound on what one row changes.)
    tree_share : float, default=0.5
        Share of epsilon that goes into splits, divided evenly among levels; the rest goes into the counts of leaves.
        As published each level and the leaves get epsilon / (2 (max_depth + 1)), and the other half pays for counts
        that decide when to stop.
    n_bins : int, default=10
        Parts into which the public range of a numeric attribute is cut.
    n_bound : int or None, default=None
        Public bound on the number of rows, for criterion="entropy" under add-remove. None: 2,000,000.
    neighbours
        As in `MajorityLabelForestClassifier`.
    mode : {"certified", "as_published"}, default="certified"
        As published, the same in floating point with the paper's budget.
    scale_share, size, domain, random_state
        As in `MajorityLabelForestClassifier`.
    n_jobs : int or None, default=None
        Threads for prediction; a fit takes one.

    Attributes
    ----------
    classes_, forest_, released_, certificate_, ledger_, domain_
        As in `MajorityLabelForestClassifier`.

    References
    ----------
    A. Friedman, A. Schuster, "Data mining with differential privacy" (2010), section 4; that splits cost half when
    scores can only fall with a further row, and how the budget is divided, is ours (docs/PAPERS.md).

    Examples
    --------
    >>> from dpforest import FriedmanSchusterClassifier, load_dataset
    >>> data = load_dataset("nursery")
    >>> tree = FriedmanSchusterClassifier(domain=data.domain, random_state=0).fit(data.X, data.y)
    >>> bool(tree.score(data.X, data.y) > 0.6)
    True
    """

    n_estimators = 1  # the paper grows a single tree
    shape_rule = staticmethod(one_tree_shape)
    published_shape = (1, 5)
    constraints = {
        **GreedyClassifier.constraints,
        "max_depth": count(1, MAX_DEPTH, or_rule=AUTO),
        "criterion": choice(*COUNTED),
        "tree_share": check_share,
        "n_bound": count(1, MAX_BOUND, optional=True),
    }

    def __init__(
        self,
        *,
        epsilon: float | None = 1.0,
        max_depth: int | str | None = "auto",
        criterion: str = "max",
        tree_share: float = 0.5,
        n_bins: int = 10,
        n_bound: int | None = None,
        neighbours: str = "add-remove",
        mode: str = "certified",
        scale_share: float | str = "auto",
        size: int | None = None,
        domain: Domain | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ):
        super().__init__(
            epsilon=epsilon, max_depth=max_depth, n_bins=n_bins, neighbours=neighbours, mode=mode,
            scale_share=scale_share, size=size, domain=domain, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.criterion = criterion
        self.tree_share = tree_share
        self.n_bound = n_bound

    def fit_binned(self, domain: Domain, rows: Binned, *, n_jobs: int = 1, trace: Trace | None = None) -> Forest:
        """Fit on rows that are binned already; fill `trace` for the curator's drawings."""
        source, ledger = source_for(self.random_state), self._ledger()
        spec, rows = self._prepared(domain, rows, ledger, source)
        own = TreeTrace() if trace is not None and trace.draws else None
        paid = spec.charge(ledger)
        if not ledger.has_budget and self.epsilon is not None:
            source = DemoSource(demo_seed(source))
        stages = [paid[0]] if paid is not None else []
        selector = SplitSelector(rows.candidates, spec.criterion, spec.n_bound, stages, source, trace=own)
        candidates, bins, y, ones = rows.candidates, rows.bins, rows.y, np.ones(len(rows.y), np.int64)
        root = None  # a release takes it from its rows
        if isinstance(source, DemoSource):
            root = rows.once(("root",), lambda: root_histogram(candidates, bins, y, ones, domain.n_classes))
        chosen, node = grow_tree(
            candidates, bins, y, ones, n_classes=domain.n_classes, depth=spec.depth, choose=selector, root=root
        )
        table = np.zeros((2**spec.depth, domain.n_classes), np.int64)
        leaf_table(node, y, ones, table)
        trees, place = as_trees(candidates, [chosen], spec.depth)
        counts = table[place]
        values = counts
        if paid is not None and ledger.has_budget:
            values = noisy_table(counts, 1, paid[1], source)
            ledger.close()
        elif paid is not None and isinstance(source, DemoSource):
            values = simulators.simulate_laplace(counts, float(1 / paid[1].epsilon_each), source.seed)
        if trace is not None:
            trace.trees, trace.counts = [own] if own else [], counts
            trace.labels = leaf_votes(leaf_shares(values, "clamp", 0))
            if paid is not None:
                mechanism = "discrete-laplace" if ledger.has_budget else "continuous-laplace"
                trace.noise = CountNoise(counts, mechanism, float(paid[1].epsilon_each))
        about = self._about(spec.preparation, criterion=self.criterion, n_bins=self.n_bins)
        certificate = self._certificate(spec, domain, ledger, source_for(self.random_state))
        return assemble(
            trees, domain, certificate=certificate, ledger=ledger, about=about, noisy_counts=values, scale=rows.scale
        )

    def _row_bound(self, n_rows: int) -> tuple[int, tuple[str, ...]]:
        return row_bound(self._bound_given, n_rows, self.neighbours, private=self.epsilon is not None)

    def _check_size(self, n_rows: int) -> None:
        check_row_bound(self._bound_given, n_rows, self.neighbours, private=self.epsilon is not None)

    @property
    def _bound_given(self) -> int | None:
        return self.n_bound if depends_on_rows(self.criterion) else None  # the paper asks for a bound as well

    def _plan(self, domain: Domain, n_rows: int) -> TreeSpec:
        preparation = self._preparation(domain, n_rows)
        _, depth = self._shape(domain, preparation)
        return TreeSpec(
            self._budget, int(depth), self.criterion, as_typed(self.tree_share), self._row_bound(n_rows)[0],
            self.neighbours, self.mode == "as_published", preparation,
        )  # fmt: skip

    def _preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        ledger, spec = self._ledger(), self._plan(domain, n_rows)
        self._charge_preparation(domain, spec.preparation, ledger)
        spec.charge(ledger)
        if ledger.has_budget:
            ledger.close()
        return self._certificate(spec, domain, ledger, source_for(self.random_state)), ledger

    def _certificate(
        self, spec: TreeSpec, domain: Domain, ledger: Ledger, source: SecretSource | DemoSource
    ) -> Certificate:
        reasons = [*domain.leaks(), *source.reasons()] if self.epsilon is not None else []
        if self._budget is not None and not ledger.has_budget:
            # Of ε/(2(d+1)) a level spends half, as scores can only fall; the leaves spend all of theirs.
            ideal = self._budget * (spec.depth + 2) / (4 * (spec.depth + 1)) * rows_changed(self.neighbours)
            reasons = [*ideal_loss(ideal, self._budget), REPRODUCTION, _DEPARTURE, *reasons]
        return certify(
            ledger,
            mechanism=f"one tree of depth {spec.depth}: "
            + (
                f"the best splits by {self.criterion}, true counts in leaves"
                if self.epsilon is None
                else f"splits by the exponential mechanism on {self.criterion}, leaves from noisy counts"
            ),
            assumptions=[*self._row_bound(spec.n_bound)[1], *self._said_size(), *domain.assumptions()],
            reasons=reasons,
            nominal_epsilon=self._budget,
        )
