"""Gradient boosting of totally random trees: each round releases noisy sums of clipped gradients, leaf by leaf."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from dpforest.checks import count, is_number, threads
from dpforest.limits import DELTA_MAX, DELTA_MIN, MAX_DEPTH, MAX_SUMMED_ROWS
from dpforest.models.base import AUTO, Account, ForestClassifier
from dpforest.models.boosting.booster_spec import LEAST_ROWS, SCALE_SHARE, SIZE_SHARE, BoosterSpec
from dpforest.models.boosting.clip_bound import UNIT, UNIT_GRID, ClipBound
from dpforest.models.boosting.gradient_rounds import boost
from dpforest.models.boosting.gradient_sums import GradientSums, bytes_of_scores
from dpforest.models.boosting.round_rule import MOST_DEPTH, MOST_ROUNDS, rounds_by_rule
from dpforest.models.boosting.rows_in_files import RowFiles
from dpforest.models.boosting.rows_on_workers import RowsOnWorkers
from dpforest.models.dask_frames import partitions_of
from dpforest.models.data_dependent import DataDependentClassifier, EncodedRows
from dpforest.models.part_reading import PartReadingClassifier
from dpforest.models.preparation import GREEDY, LEAST_SIZE, Preparation
from dpforest.models.trace import Trace
from dpforest.privacy.certificate import Certificate, large_delta_caution
from dpforest.privacy.ledger import ADD_REMOVE, GRADIENT_SUMS, Ledger, QueryBudget, rows_changed
from dpforest.privacy.loss import GAUSSIAN, PURE, PrivacyLoss, mu_for
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.privacy.rationals import LIMIT, printed_decimal
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import read_rows
from dpforest.trees.forest import Forest
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import ScoreLeaves
from dpforest.trees.random_trees import grow_random_trees
from dpforest.trees.released_scale import LEVELS, ReleasedScale


@dataclass(kw_only=True, eq=False, repr=False)
class RandomTreeBoosterClassifier(PartReadingClassifier, DataDependentClassifier):
    """Gradient boosting of totally random trees.

    With δ above 0, this estimator fits the most accurate forest of the library for ε of at least 0.1. With δ = 0 and a
    small ε, one greedy tree or a forest with noisy counts is better (docs/ACCURACY.md).

    Trees are drawn from a seed and the public schema. Their thresholds lie where a noisy histogram shows rows. Each
    round asks one question: in each leaf of the next tree, what is the sum of the rows' gradients? Noise is added to
    the sums. The norm of a row's gradient is clipped to the norm of the gradient at score 0. So with two classes, one
    row changes only one sum in each round, by at most one half, however many leaves there are. Scores are computed from
    released values alone, so everybody who has the forest can compute them.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget of the whole forest. None fits without privacy.
    n_estimators, max_depth : int or "auto", default="auto"
        Number of rounds, with one tree each, and depth of the trees. "auto": by a public rule
        (`models.boosting.round_rule`).
    neighbors, scale_share, size, domain, random_state
        As in `MajorityLabelForestClassifier`, but the noisy number of rows costs 5 % of epsilon or, if delta is above
        0, 1 % of the budget in μ².
    n_jobs : int or None, default=None
        Number of threads; -1 takes all processors. The forest does not depend on it.
    delta : float, default=1e-6
        0: pure ε-differential privacy, by discrete Laplace noise. From 1e-15 to 0.1: (ε, δ)-differential privacy, by
        rounded Gaussian noise and exact accounting in μ. For the same accuracy, Gaussian noise needs about a third of
        the ε that Laplace noise needs.
    total_step : float or "auto", default="auto"
        Learning rate times number of rounds. "auto": by the rule of `n_estimators`.
    structure_seed : int, default=0
        Public seed of the trees.

    Attributes
    ----------
    classes_, forest_, released_, certificate_, ledger_, domain_
        As in `MajorityLabelForestClassifier`.

    Notes
    -----
    `predict_proba` computes class shares from scores: by the inverse link of the clipped loss, or softmax for more than
    two classes. With few rows or a small budget, `total_step` is small, so scores remain near 0. Then the predicted
    probabilities of the classes are too close to each other, but they still rank rows well.

    Every round reads all rows again. So `fit_chunks` keeps the encoded rows in files, and a fit on a Dask DataFrame
    keeps them on the workers.

    Examples
    --------
    >>> from dpforest import RandomTreeBoosterClassifier, load_dataset
    >>> data = load_dataset("adult")
    >>> forest = RandomTreeBoosterClassifier(domain=data.domain, random_state=0).fit(data.X, data.y)
    >>> bool(forest.score(data.X, data.y) > 0.82)
    True
    """

    most_rows: ClassVar[int] = MAX_SUMMED_ROWS
    mode: ClassVar[str] = "certified"  # type: ignore[misc]  # no paper publishes this forest
    delta: float = 1e-6
    total_step: float | str = AUTO
    structure_seed: int = 0

    scale_rule = GREEDY  # simulations without noise use this rule; a release uses `_preparation` and `_scale_part`
    constraints = {
        **ForestClassifier.constraints,
        "max_depth": count(1, MAX_DEPTH, or_rule=AUTO),
        "delta": lambda name, value: _check_delta(name, value),
        "total_step": lambda name, value: _check_step(name, value),
        "size": count(1, MAX_SUMMED_ROWS, optional=True),
    }

    # ------------------------------------------------------------ the budget

    @property
    def _kind(self) -> str:
        """Kind of privacy loss: Gaussian if δ is above 0, otherwise pure."""
        return GAUSSIAN if self.delta else PURE

    @property
    def _loss(self) -> PrivacyLoss | None:
        if self._budget is None:
            return None
        return mu_for(self._budget, float(self.delta)) if self.delta else PrivacyLoss.pure(self._budget)

    def _asks_size(self, domain: Domain) -> bool:
        return self._prepares and self.size is None and self.neighbors == ADD_REMOVE

    @property
    def _size_share(self) -> Fraction:
        return SIZE_SHARE[self._kind]

    def _preparation(self, domain: Domain, n_rows: int) -> Preparation:
        return replace(super()._preparation(domain, n_rows), public_weight=Fraction(0))

    def _scale_part(self, budget: Fraction, n_rows: int, n_numeric: int, domain: Domain) -> Fraction:
        assert self._loss is not None
        share = SCALE_SHARE if self.scale_share == AUTO else printed_decimal(self.scale_share)
        n_histograms, each = LEVELS * n_numeric, self._loss.part(share, rows_changed(self.neighbors)).amount
        variance = n_histograms / each if self._kind == GAUSSIAN else 2 * n_histograms**2 / each**2
        largest_variance = 2**60 if domain.unit is None else 2**43
        if self.scale_share == AUTO:
            is_useful = n_rows**2 >= LEAST_ROWS**2 * variance and (domain.unit is None or variance <= largest_variance)
            return share if is_useful else Fraction(0)
        if variance > largest_variance:
            raise ValueError(
                f"scale_share={self.scale_share!r} of epsilon={self.epsilon!r} is too little for the numeric "
                "attributes; use a larger share, 'auto' or 'public'"
            )
        return share

    def _clip(self, domain: Domain) -> ClipBound:
        return ClipBound(domain.n_classes, self._kind, 1 if domain.unit is None else UNIT_GRID)

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> BoosterSpec:
        n_rows = max(preparation.n_rows or n_rows, 1)
        clip = self._clip(domain)
        loss = self._loss
        remaining_loss = None if loss is None else loss.part(preparation.remaining_share, rows_changed(self.neighbors))
        rule = rounds_by_rule(clip, n_rows, np.inf if remaining_loss is None else float(remaining_loss.amount))
        n_trees = rule.n_trees
        if remaining_loss is not None:  # with more rounds, the samplers could not draw the noise
            n_trees = min(n_trees, clip.most_rounds(remaining_loss))
        n_trees = n_trees if self.n_estimators == AUTO else int(self.n_estimators)
        depth = rule.depth if self.max_depth == AUTO else int(self.max_depth)
        total_step = rule.total_step if self.total_step == AUTO else float(self.total_step)
        return BoosterSpec(n_trees, depth, total_step, n_rows, clip, preparation)

    def _charge(self, spec: BoosterSpec, ledger: Ledger, n_leaves: int = 0) -> QueryBudget | None:
        """Charge the ledger for all rounds at once, before the first round."""
        if self._loss is None:
            ledger.charge("exact leaf gradient sums", "none", 1, None, 1, "sequential")
            return None
        each = self._loss.part(spec.preparation.remaining_share / spec.n_trees, rows_changed(self.neighbors))
        sensitivity = spec.clip.sensitivity / (UNIT * spec.clip.grid)
        return ledger.charge(GRADIENT_SUMS, spec.clip.noise, sensitivity, each, spec.n_trees, "sequential")

    # ------------------------------------------------------------ a fit

    def _fit_forest(self, domain: Domain, rows: EncodedRows, n_jobs: int, trace: Trace | None = None) -> Forest:
        source, ledger = source_for(self.random_state), self._ledger(domain)
        spec, rows = self._prepare_rows(domain, rows, ledger, source)
        if rows.n_table:  # a simulation on a part of a table divides sums by the number of rows in this part
            spec = replace(spec, n_rows=max(round(spec.n_rows * rows.n_counted / rows.n_table), 1))
        trees = self._draw_trees(spec, domain, rows.scale)
        query_budget = self._charge(spec, ledger)
        with ThreadPoolExecutor(n_jobs) as pool:
            map_parts = map if n_jobs == 1 else pool.map
            sums = GradientSums(domain, trees, spec.clip, rows, n_jobs=n_jobs, map_parts=map_parts)
            counts_of_round = (
                None if trace is None else lambda: rows.counts_in_leaves(sums.leaf, 2**spec.depth, domain.n_classes)
            )
            values = boost(spec, sums.of_round, query_budget, source, trace=trace, counts_of_round=counts_of_round)
        return self._forest_of_values(spec, domain, trees, values, ledger, source, rows.scale)

    def fit_chunks(
        self,
        chunks: Iterable[tuple[Any, ...]],
        *,
        folder: str | PathLike[str] | None = None,
        account: Account | None = None,
    ) -> Self:
        """Fit on a table in parts, with the same forest, certificate and ledger as a `fit` on the whole table.

        The fit reads each part once, and keeps the encoded rows and their scores in unnamed files that are mapped into
        memory. Only the curator (the data holder) may have access to the disk. The operating system deletes the files
        when the fit ends, also if the process is killed.

        Parameters
        ----------
        chunks : iterable of (X, y) or (X, y, groups)
            Parts of the table, each as in `fit`. `dpforest.read_chunks` reads parts from a file. If the domain declares
            a unit of privacy, parts are read twice, and the identifiers of all persons are held in memory.
        folder : path, optional
            Folder for the files, by default the system's folder for temporary files, which may be in memory. A row
            takes 2 bytes for each attribute, and 13 bytes more (with more than two classes, 5 bytes and 8 for each
            class). With a unit of privacy, it takes 8 bytes more.
        account : Account, optional
            As in `fit`.

        Returns
        -------
        self
            This estimator, fitted on all parts.

        Raises
        ------
        ValueError
            If there is no public domain with classes, if a part lacks columns of the domain, or if an iterator would
            have to be read twice.
        OSError
            If the folder has no room for rows and scores. The fit has then released nothing. It has booked nothing
            either, unless the disk fills up after the fit has checked it.

        Examples
        --------
        >>> from dpforest import RandomTreeBoosterClassifier, load_dataset
        >>> data = load_dataset("breast_wisconsin")
        >>> forest = RandomTreeBoosterClassifier(domain=data.domain, random_state=0)
        >>> parts = [(data.X[i : i + 100], data.y[i : i + 100]) for i in range(0, len(data.table), 100)]
        >>> text = forest.fit_chunks(parts).forest_.to_json(uncertified=True)
        >>> text == forest.fit(data.X, data.y).forest_.to_json(uncertified=True)
        True
        """
        domain, model, out_of_domain = self._given_domain(), self._checked_copy(), OutOfDomainCells()
        registry = self._count_persons(domain, chunks) if domain.unit is not None else None
        with RowFiles(domain, folder) as files:
            for X, y, *groups in chunks:
                X, y = self._checked_part(X, y)
                part = read_rows(
                    domain, X, y, out_of_domain=out_of_domain, groups=groups[0] if groups else None, registry=registry
                )
                files.append(part)
            rows = files.rows(registry)
        self._check_rows(rows.codes[:0], reset=True)
        self._warn_of_leaks(domain)
        model._check_before_questions(domain, rows.n_given, out_of_domain)
        rows.check_room(bytes_of_scores(len(rows.y), model._clip(domain)))  # before the budget is booked
        if account is not None:
            model._book(account, domain)
        return self._store_forest(model._fit_forest(domain, rows, threads(model.n_jobs)), domain)

    def _fit_dask(self, X: Any, y: Any, groups: Any, account: Account | None) -> Self:
        domain, model, out_of_domain = self._given_domain(), self._checked_copy(), OutOfDomainCells()
        rows = RowsOnWorkers(model, partitions_of(X, y, groups, domain.unit), out_of_domain)
        self._check_rows(np.empty((0, domain.n_features), np.uint16), reset=True)
        self._warn_of_leaks(domain)
        model._check_before_questions(domain, rows.n_given, out_of_domain)
        if account is not None:
            model._book(account, domain)
        source, ledger = source_for(model.random_state), model._ledger(domain)
        with rows.stopping_fit(ledger):
            spec, scale = model._prepare(domain, rows.n_rows, rows.n_given, rows.cells, ledger, source)
            trees = model._draw_trees(spec, domain, scale)
            query_budget = model._charge(spec, ledger)
            rows.start(domain, trees, spec.clip)
            values = boost(spec, rows.sums_of_round, query_budget, source)
        return self._store_forest(model._forest_of_values(spec, domain, trees, values, ledger, source, scale), domain)

    def _draw_trees(self, spec: BoosterSpec, domain: Domain, scale: ReleasedScale | None) -> Trees:
        """Draw the trees of all rounds from the seed, the domain and the released scale, without the rows."""
        return grow_random_trees(
            domain,
            n_trees=spec.n_trees,
            depth=spec.depth,
            seed=self.structure_seed,
            categorical="ordered",
            scale=scale,
        )

    def _forest_of_values(
        self,
        spec: BoosterSpec,
        domain: Domain,
        trees: Trees,
        values: np.ndarray,
        ledger: Ledger,
        source: SecretSource | DemoSource,
        scale: ReleasedScale | None,
    ) -> Forest:
        """Assemble the forest whose leaves hold these values."""
        about = {"structure_seed": int(self.structure_seed), "total_step": float(spec.total_step)}
        return self._assemble_forest(spec, domain, trees, ScoreLeaves(values), ledger, source, about, scale)

    # ------------------------------------------------------------ after a fit

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predicted label of each row after each round.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.

        Yields
        ------
        array of shape (n,)
            Predicted label of each row.
        """
        forest = self._forest()
        leaves = forest.apply(self._check_rows(X), n_jobs=threads(self.n_jobs))
        leaf_scores = forest.leaf_shares()
        scores = np.zeros((len(leaves), forest.domain.n_classes))
        for t in range(forest.trees.n_trees):
            scores += leaf_scores[leaves[:, t]]
            yield self.classes_[scores.argmax(axis=1)]

    # ------------------------------------------------------------ checks, bounds and certificate

    def _check_plan(self, domain: Domain, n_rows: int) -> None:
        """Raise every ValueError of a fit before its first question, so that a fit that fails spends no budget.

        The noisy number of rows will decide whether the fit asks for the scale. So this method checks the plan with
        this question and the plan without it.
        """
        self._check_file(domain)
        loss = self._loss
        if loss is None or self._budget is None:
            return
        self._check_digits(self._budget, loss.amount)
        n_known = LEAST_SIZE if self.size is None else self.size
        preparation = self._preparation(domain, n_known if self.neighbors == ADD_REMOVE else n_rows)
        may_ask = self.scale_share == AUTO and any(feature.kind == "numeric" for feature in domain.features)
        for share in {preparation.scale, *((Fraction(0), SCALE_SHARE) if may_ask else ())}:
            spec = self._spec_after(domain, replace(preparation, scale=share, n_rows=n_known), n_known)
            each = loss.part(spec.preparation.remaining_share / spec.n_trees, rows_changed(self.neighbors))
            if spec.clip.noise_scale(each) > LIMIT - 1:
                raise ValueError(
                    f"n_estimators={self.n_estimators!r} rounds are too many for epsilon={self.epsilon!r}: each "
                    "round would need more noise than the samplers can draw; use fewer rounds, or 'auto'"
                )
            self._promise(spec, domain)

    @property
    def most_depth(self) -> int:
        """Largest depth of a tree that a fit may grow."""
        return MOST_DEPTH if self.max_depth == AUTO else int(self.max_depth)

    @property
    def most_trees(self) -> int:
        """Largest number of rounds of a fit."""
        return MOST_ROUNDS if self.n_estimators == AUTO else int(self.n_estimators)

    def _certificate(
        self, spec: Any, domain: Domain, ledger: Ledger, source: SecretSource | DemoSource, **options: Any
    ) -> Certificate:
        delta = float(self.delta) if self.epsilon is not None and self.delta else 0
        return super()._certificate(spec, domain, ledger, source, delta=delta)

    def _cautions(self, spec: BoosterSpec, domain: Domain) -> list[str]:
        delta = float(self.delta) if self.epsilon is not None and self.delta else 0
        caution = large_delta_caution(delta, spec.preparation.n_rows, domain.unit)
        return [caution] if caution else []

    def _mechanism_words(self, spec: BoosterSpec) -> str:
        noise = "rounded Gaussian" if spec.clip.is_l2 else "discrete Laplace"
        return f"{spec.n_trees} rounds of random trees of depth {spec.depth}: sums of clipped gradients in " + (
            f"their leaves with {noise} noise" if self.epsilon is not None else "their leaves, exact"
        )


def _check_delta(name: str, value: Any) -> None:
    if not is_number(value) or not (value == 0 or DELTA_MIN <= value <= DELTA_MAX):
        raise ValueError(
            f"{name}={value!r} is not 0 (pure privacy) or a number from {DELTA_MIN:g} to {DELTA_MAX:g}; use 0, "
            "or for example 1e-6"
        )


def _check_step(name: str, value: Any) -> None:
    if value != AUTO and not is_number(value, 1e-6, 1e6):
        raise ValueError(f"{name}={value!r} is not a number from 1e-6 to 1e6, or 'auto'")
