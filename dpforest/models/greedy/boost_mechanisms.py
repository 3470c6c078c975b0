"""Mechanisms that choose splits and leaves of a booster: certified, as in the paper, or exact (without privacy)."""

from fractions import Fraction

import numpy as np

from dpforest.models.greedy.alpha_boost import UNIT, leaf_link, tree_error
from dpforest.models.greedy.boost_spec import GRAIN, QUERY_SHARE, VALUE_STEPS, BoostSpec
from dpforest.models.trace import TreeTrace
from dpforest.privacy import selection
from dpforest.privacy.ledger import QueryBudget
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.release import noisy_table
from dpforest.trees.candidates import Candidates
from dpforest.trees.split_scores import node_potentials, node_tables, nodes_of_unit, score_splits


class _BoostMechanism:
    """Base class of the three mechanisms: the state of the present tree, and the coefficient β."""

    def __init__(self, spec: BoostSpec, first_key: int) -> None:
        self.spec, self.alphas, self.bound, self._first_key = spec, list[float](), UNIT, first_key

    def start_tree(self, number: int, weight_bound: int) -> None:
        """See `BoostMechanism`."""
        self.alphas, self.bound, self.number = [], weight_bound, number
        self.key = (self._first_key + number) * 64  # if the fit has a seed, each tree has 64 keys for its draws

    def beta_of(self, values: np.ndarray, table: np.ndarray) -> float:
        """Return β = (a/n) Σ w y h(x), for the step a and the number of rows n.

        The sum is over rows: w is the weight of a row, y = ±1 is its label, and h(x) is the value of its leaf. The
        function computes the sum leaf by leaf.
        """
        total = float(values @ (table[:, 1] - table[:, 0])) / UNIT
        return self.spec.step / self.spec.n_bound * total


class CertifiedBoostMechanism(_BoostMechanism):
    """Nock and Henecka's algorithm, repaired (docs/PAPERS.md): every answer is noisy and charged to the budget."""

    def __init__(
        self, spec: BoostSpec, query_budgets: dict[str, QueryBudget], source: SecretSource | DemoSource, first_key: int
    ) -> None:
        super().__init__(spec, first_key)
        self._query_budgets, self._source = query_budgets, source
        # Noisy error of a tree after each level: of the present tree if `alpha` is "noisy", of the previous tree if
        # `alpha` is "carried".
        self._errors: list[float] = []

    def start_tree(self, number: int, weight_bound: int) -> None:
        """See `BoostMechanism`."""
        super().start_tree(number, weight_bound)
        if self.spec.alpha != "carried" or number == 0:
            self._errors = []

    def split(
        self, level: int, histogram: np.ndarray, allowed: np.ndarray, candidates: Candidates, trace: TreeTrace | None
    ) -> np.ndarray:
        """See `BoostMechanism`."""
        alpha = round(UNIT * self._alpha(level, histogram, candidates))
        self.alphas.append(alpha / UNIT)
        scores = score_splits(histogram, candidates, "m-alpha", alpha)
        width = self.spec.level_sensitivity(level, alpha, self.bound)
        nodes = nodes_of_unit(level) if self.spec.has_unit else 1
        query_budget = self._query_budgets["splits"]
        chosen = selection.choose(scores, allowed, width, query_budget, self._source, key=self.key + level, nodes=nodes)
        if trace is not None:
            each = query_budget.epsilon_each
            probability = selection.chosen_probability(scores, allowed, width, each, chosen, nodes=nodes)
            potential = node_potentials(node_tables(histogram, candidates), "m-alpha", alpha)
            chosen_scores = scores[np.arange(len(chosen)), chosen]
            trace.note_level(probability, 1 / allowed.sum(axis=1), chosen_scores, potential)
        return chosen

    def _alpha(self, level: int, histogram: np.ndarray, candidates: Candidates) -> float:
        """Return α of a level: a public number (`BoostSpec.scheduled_alpha`), or a ratio of two noisy errors of a tree.

        The ratio is the error of the tree at this level, divided by the error at its root. If `alpha` is "noisy", the
        tree is the present tree. If `alpha` is "carried", it is the previous tree. In both cases, α does not rise from
        one level to the next.
        """
        if self.spec.queries_calibration:
            error = tree_error(node_tables(histogram, candidates))
            table = np.array([[error]], np.int64)
            noisy = noisy_table(
                table, self.bound, self._query_budgets["calibration"], self._source, key=self.key + 32 + level
            )
            self._errors.append(float(noisy[0, 0]))
        elif self.spec.alpha != "carried" or not self._errors:
            return self.spec.scheduled_alpha(level)
        ratio = self._errors[level] / self._errors[0] if self._errors[0] > 0 else 0.0
        return 1.0 if level == 0 else min(self.alphas[-1], max(0.0, ratio))

    def leaves(self, table: np.ndarray) -> tuple[np.ndarray, float]:
        """See `BoostMechanism`."""
        spec, most = self.spec, self.spec.max_leaf
        if spec.leaf == "counts":
            noisy = noisy_table(table, self.bound, self._query_budgets["leaves"], self._source, key=self.key + 31)
            if spec.alpha == "carried":
                self._errors = [tree_error(np.maximum(_tables_at_level(noisy, k), 0)) for k in range(spec.depth)]
            shrink = 2 * float(self.bound / self._query_budgets["leaves"].epsilon_each) if spec.shrink else 0.0
            values = np.clip(leaf_link(noisy, spec.alpha_link, shrink=shrink), -most, most)
            if spec.beta == "post":
                limit = spec.step * most * self.bound / UNIT
                beta = min(max(self.beta_of(values, noisy), -limit), limit)
                return values * beta, beta
        else:
            values = np.clip(leaf_link(table, spec.alpha_link), -most, most)
            if spec.beta == "folded":
                return self._folded_values(values, table), 1.0
            values = self._noisy_values(values / most, 2 * VALUE_STEPS, 0) * most
        beta = 1.0 if spec.beta == "one" else self._noisy_beta(values, table)
        return values * beta, beta

    def _folded_values(self, values: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Return β h(λ) of each leaf λ, with noise. The leaves divide the budget, because β depends on all leaves."""
        limit = self.spec.step * self.spec.max_leaf**2 * self.bound / UNIT  # bound on |β h|
        scaled = np.clip(values * self.beta_of(values, table) / limit, -1, 1)
        parts = [self._noisy_values(scaled[i : i + 1], 2 * VALUE_STEPS, i) for i in range(len(scaled))]
        return np.concatenate(parts) * limit

    def _noisy_values(self, shares: np.ndarray, width: int, leaf_index: int) -> np.ndarray:
        """Round numbers in [-1, 1] to a grid, add noise for a sensitivity of `width` steps, and clamp to [-1, 1].

        `leaf_index` gives each leaf different draws in a fit with a seed; it is 0 if all leaves are drawn together.
        """
        steps = np.rint(shares * VALUE_STEPS).astype(np.int64) + VALUE_STEPS
        noisy = noisy_table(
            steps[:, None], width, self._query_budgets["leaves"], self._source, key=(self.key + 31) + (leaf_index << 20)
        )
        return np.clip((noisy[:, 0] - VALUE_STEPS) / VALUE_STEPS, -1, 1)

    def _noisy_beta(self, values: np.ndarray, table: np.ndarray) -> float:
        """Return β plus noise (beta="laplace").

        The leaf values are released before β, so they are fixed here. Then one row changes the sum in β (`beta_of`) by
        at most W M, where W bounds the weights and M bounds the leaf values.
        """
        most, n = self.spec.max_leaf, self.spec.n_bound
        steps = int(np.rint(float(values / most @ (table[:, 1] - table[:, 0])) / GRAIN))
        shift = n * UNIT // GRAIN  # added so that the number before noise is at least 0; subtracted below
        width = self.bound // GRAIN + 2
        noisy = noisy_table(
            np.array([[steps + shift]], np.int64), width, self._query_budgets["beta"], self._source, key=self.key + 30
        )
        limit = n * self.bound / UNIT
        total = min(max((int(noisy[0, 0]) - shift) * GRAIN / UNIT, -limit), limit) * most
        return self.spec.step / n * total


class ExactBoostMechanism(_BoostMechanism):
    """Mechanism without privacy: best candidates, true leaves and β, and an α that is computed anew for each split."""

    def split(
        self, level: int, histogram: np.ndarray, allowed: np.ndarray, candidates: Candidates, trace: TreeTrace | None
    ) -> np.ndarray:
        """See `BoostMechanism`."""
        tables = node_tables(histogram, candidates)
        if level == 0:
            self._root_error = self._error = tree_error(tables)
        chosen = np.full(len(histogram), -1)
        record = np.ones((4, len(histogram)))  # for the trace: probability, chance, score and potential of each node
        for node in range(len(histogram)):
            alpha = round(UNIT * self._alpha(level))
            if node == 0:
                self.alphas.append(alpha / UNIT)
            if self.stops(tables[node]):
                continue
            node_histogram = histogram[node : node + 1]
            scores = score_splits(node_histogram, candidates, "m-alpha", alpha)
            pmf = self.pmf(scores, allowed[node : node + 1], alpha, level)
            c = chosen[node] = self.pick(pmf, scores, level, node)
            potential = node_potentials(tables[node : node + 1], "m-alpha", alpha)[0]
            record[:, node] = pmf[0, c], 1 / pmf.shape[1], scores[0, c], potential
            self._error += tree_error(
                children_tables(node_histogram[0], tables[node], candidates, int(c))
            ) - tree_error(tables[node : node + 1])
        if trace is not None:
            trace.note_level(*record)
        return chosen

    def _alpha(self, level: int) -> float:
        """Return α of the next split: the exact error of the tree so far over that of its root, or a public number."""
        if self.spec.alpha in ("noisy", "carried", "published"):
            return self._error / self._root_error if self._root_error else 0.0
        return self.spec.scheduled_alpha(level)

    def stops(self, table: np.ndarray) -> bool:
        """Return whether a node is not split, because all its weight belongs to one class."""
        return bool(table.min() == 0)

    def pmf(self, scores: np.ndarray, allowed: np.ndarray, alpha: int, level: int) -> np.ndarray:
        """Return the probability of each candidate: equal for all best candidates, and 0 for the others."""
        return selection.choice_pmf(scores, allowed, np.inf)

    def pick(self, pmf: np.ndarray, scores: np.ndarray, level: int, node: int) -> int:
        """Return the first of the best candidates."""
        return int(pmf[0].argmax())

    def leaves(self, table: np.ndarray) -> tuple[np.ndarray, float]:
        """Return leaf values times β, and β, both without noise. M is the largest absolute leaf value of the tree."""
        values = leaf_link(table, self.spec.alpha_link)
        largest = float(np.abs(values).max())
        if largest == 0:
            return values, 0.0
        step = self.spec.step_factor * self.spec.alpha_link / largest**2
        beta = 1.0 if self.spec.beta == "one" else self.beta_of(values, table) * step / self.spec.step
        return values * beta, beta


class PublishedBoostMechanism(ExactBoostMechanism):
    """The paper's mechanism exactly as printed, in floating point.

    The paper's β and α have no noise, so the mechanism is not private.
    """

    def __init__(self, spec: BoostSpec, epsilon: Fraction, seed: int, first_key: int) -> None:
        super().__init__(spec, first_key)
        self._epsilon = float(epsilon) / spec.n_scores
        self._seed = seed

    def stops(self, table: np.ndarray) -> bool:
        """Return False, because the paper's private trees are always complete."""
        return False

    def pmf(self, scores: np.ndarray, allowed: np.ndarray, alpha: int, level: int) -> np.ndarray:
        """Return the paper's probabilities, proportional to exp(-ε_ν f/(2 Δ)).

        Here f is the paper's score of a split, ε_ν = β_tree ε/(T d 2^level), and Δ = 3 + 2 α (√m - 1), for T trees of
        depth d on m rows. The parameter `scores` holds -f/2, in units of 2^-20.
        """
        spec = self.spec
        budget = float(spec.tree_share) * self._epsilon / (spec.n_trees * spec.depth * 2**level)
        spread = 3 + 2 * alpha / UNIT * (np.sqrt(spec.n_bound) - 1)
        return selection.choice_pmf(scores, np.ones_like(allowed), budget / spread / UNIT**2)

    def pick(self, pmf: np.ndarray, scores: np.ndarray, level: int, node: int) -> int:
        """Draw a candidate with these probabilities. The seed, the level and the node determine the draw."""
        generator = np.random.default_rng((self._seed, self.key + level, node))
        return int(generator.choice(pmf.shape[1], p=pmf[0]))

    def leaves(self, table: np.ndarray) -> tuple[np.ndarray, float]:
        """Return noisy leaf values times β, and β. To get values, apply the link, add Laplace noise, clamp to [-M, M].

        The scale of the noise is 2 M T 2^d / (β_pred ε), for M = `max_leaf`, T trees of depth d, and the share β_pred
        of ε for leaves. This noise is too small, because it is added before the clamp, when values may exceed M (gap G4
        of docs/PAPERS.md). If `beta` is "folded", the noise and the clamp are for β times the value.
        """
        spec, most = self.spec, self.spec.max_leaf
        generator = np.random.default_rng((self._seed, self.key + 31))
        values = leaf_link(table, spec.alpha_link)
        noise = generator.laplace(size=len(values)) * published_leaf_scale(spec, self._epsilon)
        if spec.beta == "folded":
            limit = spec.step * most**2 * self.bound / UNIT
            beta = self.beta_of(values, table)
            return np.clip(values * beta + noise * limit / most, -limit, limit), 1.0
        values = np.clip(values + noise, -most, most)
        beta = 1.0 if spec.beta == "one" else self.beta_of(values, table)
        if spec.beta == "laplace":
            budget = float((1 - spec.tree_share) * QUERY_SHARE) * self._epsilon / spec.n_trees
            beta += generator.laplace() * 2 * spec.step * most * self.bound / UNIT / (spec.n_bound * budget)
        return values * beta, beta


def published_leaf_scale(spec: BoostSpec, epsilon: float) -> float:
    """Return the scale of the paper's noise on a leaf value. In the paper, leaves divide the budget evenly."""
    share = (1 - spec.tree_share) * (1 - QUERY_SHARE if spec.beta == "laplace" else 1)
    return 2 * spec.max_leaf * spec.n_trees * 2**spec.depth / (float(share) * epsilon)


def children_tables(histogram: np.ndarray, table: np.ndarray, candidates: Candidates, candidate: int) -> np.ndarray:
    """Return the class weights (2, n_classes) of the two children of a node that a candidate splits."""
    feature, cut = int(candidates.feature[candidate]), int(candidates.cut[candidate])
    start = int(candidates.slot[feature])
    if candidates.kind[candidate] == 0:
        left = histogram[start : start + cut + 1].sum(axis=0)
    else:
        left = table - histogram[start + cut]
    return np.stack([left, table - left])


def _tables_at_level(table: np.ndarray, level: int) -> np.ndarray:
    """Return the class weights of the nodes of a level, as sums over the leaves below each node."""
    return table.reshape(2**level, -1, table.shape[1]).sum(axis=1)
