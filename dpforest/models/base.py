"""The base class of all forests, with the steps of a fit, from the table to the forest and its certificate.

"As published" means ``mode="as_published"``: the fit reproduces the forest of a paper, which is not certified. The
questions of a fit are its noisy queries about the rows. The preparation is the questions before trees grow.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from dpforest.checks import Constraint, check_scale_share, check_threads, choice, count, is_number, plain, threads
from dpforest.limits import EPSILON_MAX, EPSILON_MIN, MAX_BOUND, MAX_TREES
from dpforest.models import repeated_fits
from dpforest.models.assemble import assemble
from dpforest.models.budget import AUTO, BudgetedClassifier
from dpforest.models.dask_frames import is_dask_frame
from dpforest.models.preparation import (
    Preparation,
    charge_preparation,
    release_scale,
)
from dpforest.models.shape_rules import Shape, signal_of
from dpforest.privacy.certificate import Certificate, certify
from dpforest.privacy.ledger import ADD_REMOVE, NEIGHBORS, Ledger, unit_noun
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import EncodedTable, read_rows
from dpforest.trees.forest import Forest
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import CountLeaves, LabelLeaves, ScoreLeaves
from dpforest.trees.released_scale import ReleasedScale

MODES = ("certified", "as_published")


class Account(Protocol):
    """A ledger of many releases, to which a fit reports its budget before the first noise is drawn."""

    def book(self, ledger: Ledger, delta: float, title: str) -> object:
        """Book the whole budget of a release.

        Parameters
        ----------
        ledger : Ledger
            Ledger of the fit. It has no entries yet, but states the budget, the neighbor relation and the unit of
            privacy.
        delta : float
            δ of an (ε, δ) budget, which Gaussian noise spends; 0 for a budget of ε alone.
        title : str
            Name of the estimator's class.

        Raises
        ------
        ValueError
            If the release is refused, for example because it would exceed a cap.
        """


def bound_sentence(n_bound: int, unit: str | None = None) -> str:
    """Return the certificate's sentence about a public bound on the number of rows or, given a `unit`, of persons."""
    return f"The table has at most {n_bound:,} {unit_noun(unit)}s."


def _check_epsilon(name: str, value: Any) -> None:
    if value is not None and not is_number(value, EPSILON_MIN, EPSILON_MAX):
        raise ValueError(
            f"{name}={value!r} is not a number from {EPSILON_MIN} to {EPSILON_MAX:,.0f}; use one, or None for no "
            "privacy"
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ForestClassifier(BudgetedClassifier):
    """Base class of all forests: the common parameters and their checks. Only its subclasses can be fitted."""

    # Parameters of the constructor. A subclass without one of these parameters replaces it by a class variable.
    epsilon: float | None = 1.0
    n_estimators: Any = AUTO
    max_depth: Any = AUTO
    neighbors: str = ADD_REMOVE
    mode: str = "certified"
    scale_share: float | str = AUTO
    size: int | None = None
    domain: Domain | None = None
    random_state: int | None = None
    n_jobs: int | None = None

    structure_is_public: ClassVar[bool]  # whether the trees do not depend on the rows
    shape_rule: "ClassVar[staticmethod[[float, int, int], Shape]]"  # returns number and depth of trees for "auto"
    published_shape: ClassVar[tuple[int, Any]]  # "auto" in mode "as_published": the paper's n_estimators and max_depth
    constraints: ClassVar[Mapping[str, Constraint]] = {
        "epsilon": _check_epsilon,
        "n_estimators": count(1, MAX_TREES, or_rule=AUTO),
        "structure_seed": count(0, 2**63 - 1),
        "random_state": count(0, 2**63 - 1, optional=True),
        "neighbors": choice(*NEIGHBORS),
        "mode": choice(*MODES),
        "scale_share": check_scale_share,
        "size": count(1, MAX_BOUND, optional=True),
        "n_jobs": check_threads,
    }

    # -------------------------- methods that subclasses implement; a fit calls them on a checked copy (`_checked_copy`)

    def _spec_after(self, domain: Domain, preparation: Preparation, n_rows: int) -> Any:
        """Return the plan (spec) of a fit with this preparation. `n_rows` is the result of `_known_size`."""
        raise NotImplementedError

    def _charge(self, spec: Any, ledger: Ledger, n_leaves: int) -> Any:
        """Charge the ledger for all questions after the preparation. Return the query budgets that a fit needs."""
        raise NotImplementedError

    def _mechanism_words(self, spec: Any) -> str:
        """Return the mechanism in words, for the certificate."""
        raise NotImplementedError

    def _paper_reasons(self, spec: Any, domain: Domain) -> Sequence[str]:
        """Return the reasons why a fit in mode "as_published" is not certified; none for a certified fit."""
        return ()

    def _row_sentences(self, domain: Domain) -> tuple[str, ...]:
        """Return the certificate's sentence about a public bound on the number of rows, or an empty tuple."""
        return ()

    def _encode_rows(self, domain: Domain, rows: EncodedTable) -> Any:
        """Return the rows in the form that `_fit_forest` reads. All fits on the same rows can share the result."""
        return rows

    def _fit_forest(self, domain: Domain, rows: Any, n_jobs: int) -> Forest:
        """Plan the fit, ask its questions, and assemble the forest."""
        raise NotImplementedError

    def _check_size(self, n_rows: int) -> None:
        """Raise ValueError if the table breaks a public bound on its number of rows."""

    def _check_plan(self, domain: Domain, n_rows: int) -> None:
        """Raise every ValueError of a fit before its first question, so that a fit that fails spends no budget."""

    def _drop_results(self) -> None:
        """Delete the results of an earlier release, because the next ledger does not include their cost."""

    def _cautions(self, spec: Any, domain: Domain) -> list[str]:
        """Return the warnings on the certificate, for example about a large δ."""
        return []

    # ------------------------------------------------------------ a fit

    def fit(self, X: Any, y: Any, groups: Any = None, *, account: Account | None = None) -> Self:
        """Fit the forest on a table, and record its certificate and its ledger.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position. Forests that
            can be fitted on a table in parts also accept a Dask DataFrame, whose rows stay on the workers.
        y : array of shape (n,)
            Labels of any kind; 2 to 50 classes. A Dask Series if `X` is a Dask DataFrame.
        groups : array of shape (n,), optional
            Identifier of each row's person, if the domain declares a unit of privacy (`Domain.unit`) and `X` has no
            column of identifiers. Identifiers are compared as texts. A row without an identifier is left out.
        account : Account, optional
            A ledger of many releases, such as a population of `dpforest.book.Book`. The fit books its budget there
            before it draws noise. If the account refuses the budget, it raises an error, and nothing is released. By
            default, the fit books nothing.

        Returns
        -------
        self
            This estimator, with `forest_`, `certificate_`, `ledger_`, `domain_` and `classes_`.

        Raises
        ------
        ValueError
            If a parameter is out of range, if the table lacks columns of the domain, or if there are no identifiers
            although the domain declares a unit. With a `domain`, no value of a cell, label or identifier causes an
            error, because the error would reveal the value. Instead, every cell is read by a public rule, and an
            `OutOfDomainWarning` states the number of cells outside of the domain.
        """
        if is_dask_frame(X):
            return self._fit_dask(X, y, groups, account)
        X, y = self._check_table(X, y)
        domain = self.reading_domain(self._public_domain(X, y))
        model = self._checked_copy()
        n_jobs = threads(model.n_jobs)
        out_of_domain = OutOfDomainCells()
        if domain.unit is None and self.domain is not None and self.domain.unit is not None:
            groups = None  # in mode "as_published", the unit of privacy is the row
        rows = read_rows(domain, X, y, n_jobs=n_jobs, out_of_domain=out_of_domain, groups=groups)
        model._check_before_questions(domain, rows.n_given, out_of_domain)
        encoded_rows = model._encode_rows(domain, rows)
        if account is not None:
            model._book(account, domain)
        self._drop_results()
        return self._store_forest(model._fit_forest(domain, encoded_rows, n_jobs), domain)

    def _check_before_questions(self, domain: Domain, n_given: int, out_of_domain: OutOfDomainCells) -> None:
        """Give every warning and raise every error of a fit on these rows, before its first question.

        No warning may come later, because a filter of Python may turn a warning into an error.
        """
        self._check_size(n_given)
        out_of_domain.warn()
        self._check_plan(domain, n_given)
        if self._prepares and self.random_state is None and not domain.leaks():
            n_public = 0 if self.neighbors == ADD_REMOVE else n_given
            repeated_fits.warn_if_repeated(lambda: self._preview(domain, n_public)[0])

    def _fit_dask(self, X: Any, y: Any, groups: Any, account: Account | None) -> Self:
        """Fit on a Dask DataFrame and a Dask Series of labels."""
        raise ValueError(
            f"{type(self).__name__} reads all rows at once, so it cannot be fitted on a Dask DataFrame; use "
            "RandomTreeBoosterClassifier or a forest with random splits, or fit on X.compute() and y.compute()."
        )

    def _book(self, account: Account, domain: Domain) -> None:
        """Book the budget of a fit. Raise ValueError if the fit is not certified, because its cost is then unknown."""
        ledger = self._ledger(domain)
        if not ledger.has_budget or self.random_state is not None or domain.leaks():
            raise ValueError(
                "Only a certified release is booked: set an epsilon, mode='certified', random_state=None and a public "
                "domain, or leave `account` out."
            )
        account.book(ledger, float(getattr(self, "delta", 0.0) or 0.0), type(self).__name__)

    def refitter(self, domain: Domain, rows: EncodedTable) -> Callable[[], Forest]:
        """Return a function that fits again on encoded rows. This method does the work that all these fits share.

        Parameters
        ----------
        domain : Domain
            Domain with classes, on the scale that `reading_domain` returns.
        rows : EncodedTable
            Rows that this domain encoded.

        Returns
        -------
        callable
            Function that returns a new forest; each call is a separate release.

        Raises
        ------
        ValueError
            If `check` would raise an error for this domain and number of rows.
        """
        model = self._checked_copy()
        model._check_size(max(rows.n_given, rows.n_counted))
        model._check_plan(domain, rows.n_given)
        encoded_rows = model._encode_rows(domain, rows)
        return lambda: model._fit_forest(domain, encoded_rows, 1)

    def check(self, domain: Domain, n_rows: int) -> None:
        """Raise ValueError if a fit with these parameters, domain and number of rows would raise an error.

        Under add-remove, the number of rows is private, so the checks use public numbers in its place. Only a public
        bound on the number of rows is compared with `n_rows`.

        Parameters
        ----------
        domain : Domain
            Public schema that encodes the rows.
        n_rows : int
            Number of rows (or of persons, see `Domain.unit`) that the fit would get.

        Raises
        ------
        ValueError
            If a fit would raise an error.
        """
        model = self._checked_copy()
        model._check_size(n_rows)
        model._check_plan(self.reading_domain(domain), n_rows)

    def _checked_copy(self) -> Self:
        """Return a copy for one fit. Its parameters are checked, and are plain Python numbers and strings.

        The parameters of this estimator remain as the user gave them, because scikit-learn requires it.
        """
        model: Self = object.__new__(type(self))
        model.__dict__.update((name, plain(value)) for name, value in vars(self).items())
        for name, check in model.constraints.items():
            check(name, getattr(model, name))
        if model._budget is not None:
            model._check_digits(model._budget)
        return model

    def _store_forest(self, forest: Forest, domain: Domain) -> Self:
        """Store the forest in this estimator and return the estimator."""
        self.forest_ = forest
        self.domain_ = domain
        self.classes_ = domain.class_array
        self.certificate_: Certificate = forest.certificate
        self.ledger_: Ledger = forest.ledger
        return self

    def preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        """Return the certificate and the ledger that a release would have, without a look at the rows.

        Parameters
        ----------
        domain : Domain
            Public schema with classes.
        n_rows : int
            Number of rows (or of persons, see `Domain.unit`). Under replace-one, this number is public, and the preview
            uses it. As published, the preview uses this number if the paper's method uses it. If a fit would ask for a
            noisy number of rows (`scale_share`, "auto" shapes), the preview uses `n_rows` in place of the noisy number.

        Returns
        -------
        certificate : Certificate
            Certificate of a fit on `n_rows` rows, with the reasons against certification, if there are any.
        ledger : Ledger
            All charges of a fit on `n_rows` rows.

        Raises
        ------
        ValueError
            If the domain has no classes, or a parameter is out of range.
        """
        if not domain.classes:
            raise ValueError(
                "The domain has no classes, and a fit would read them from the data; give Domain(..., classes=...)."
            )
        model = self._checked_copy()
        model._check_size(n_rows)
        return model._preview(self.reading_domain(domain), n_rows)

    def reading_domain(self, domain: Domain) -> Domain:
        """Return the domain that encodes rows. As published, all its scales are linear and it declares no unit."""
        if self.mode != "as_published":
            return domain
        linear = domain.on_scale("linear")
        return linear if linear.unit is None else replace(linear, unit=None)

    def check_reading_domain(self, domain: Domain) -> None:
        """Raise ValueError unless `reading_domain` returns this domain unchanged."""
        if self.reading_domain(domain) is not domain:
            raise ValueError(
                "As published, rows are read on the linear scale and each row is a person: encode them with "
                "reading_domain(domain)."
            )

    def spec(self, domain: Domain, n_rows: int) -> Any:
        """Return the plan of a fit: every choice that follows from the parameters and public knowledge.

        Parameters
        ----------
        domain : Domain
            Public schema; the number and kind of its attributes affect the shape of the trees.
        n_rows : int
            As in `preview`. This number must not exceed a public bound on the number of rows.

        Returns
        -------
        ForestSpec, BoosterSpec, BoostSpec, TreeSpec, MultinomialSpec, PublishedTreeSpec or PublishedSpec
            Frozen object with the parts of the budget and the shape of the trees; its type depends on the estimator.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        model = self._checked_copy()
        model._check_size(n_rows)
        return model._plan(self.reading_domain(domain), n_rows)

    # ------------------------------------------------------------ certificate, ledger, and the forest

    def _plan(self, domain: Domain, n_rows: int) -> Any:
        """Return the plan of a fit; `n_rows` is the result of `_known_size` or, in a preview, a given number."""
        return self._spec_after(domain, self._preparation(domain, n_rows), n_rows)

    def _preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        """Return the result of `preview` for checked parameters."""
        return self._promise(self._plan(domain, n_rows), domain)

    def _promise(self, spec: Any, domain: Domain, n_leaves: int = 0) -> tuple[Certificate, Ledger]:
        """Return the certificate and the ledger that a fit with this spec and this number of leaves would have."""
        ledger = self._ledger(domain)
        charge_preparation(domain, spec.preparation, ledger)
        self._charge(spec, ledger, n_leaves)
        if ledger.has_budget:
            ledger.close()
        return self._certificate(spec, domain, ledger, source_for(self.random_state)), ledger

    def _certificate(
        self, spec: Any, domain: Domain, ledger: Ledger, source: SecretSource | DemoSource, **options: Any
    ) -> Certificate:
        """Return the certificate of a fit. `options` replace arguments of `certify`."""
        reasons = [*self._paper_reasons(spec, domain), *domain.leaks(), *source.reasons()]
        return certify(
            ledger,
            mechanism=self._mechanism_words(spec),
            assumptions=[
                *self._row_sentences(domain),
                *self._size_sentence(domain),
                *self._cautions(spec, domain),
                *domain.assumptions(),
            ],
            reasons=reasons if self.epsilon is not None else [],
            **{"nominal_epsilon": self._budget, **options},
        )

    def _assemble_forest(
        self,
        spec: Any,
        domain: Domain,
        trees: Trees,
        leaves: LabelLeaves | CountLeaves | ScoreLeaves,
        ledger: Ledger,
        source: SecretSource | DemoSource,
        about: dict[str, Any],
        scale: ReleasedScale | None = None,
        seed: int = 0,
    ) -> Forest:
        """Close the ledger and build the forest."""
        if ledger.has_budget:
            ledger.close()
        return assemble(
            trees,
            domain,
            leaves,
            certificate=self._certificate(spec, domain, ledger, source),
            ledger=ledger,
            about=self._about(spec.preparation, **about),
            seed=seed,
            scale=scale,
        )

    # ------------------------------------------------------------ preparation and shape

    def _prepare(
        self,
        domain: Domain,
        n_rows: int,
        n_given: int,
        cells: Callable[[], np.ndarray],
        ledger: Ledger,
        source: SecretSource | DemoSource,
    ) -> tuple[Any, ReleasedScale | None]:
        """Ask the questions that come before trees grow, and charge them. Return the plan, and the scale or None."""
        spec = self._plan(domain, self._known_size(domain, n_rows, n_given, ledger, source))
        if not spec.preparation.scale:
            return spec, None
        assert self._loss is not None
        return spec, release_scale(cells(), spec.preparation, self._loss, ledger, source, domain.count_unit)

    def _about(self, preparation: Preparation, **entries: Any) -> dict[str, Any]:
        """Return the entries of `Forest.about`, with the number of rows if this number is released or public."""
        size_entry = {"n_rows": preparation.n_rows} if preparation.n_rows else {}
        library_class = next(
            base for base in type(self).__mro__ if base.__module__.startswith("dpforest.")
        )  # for a user's subclass, record the class of this library
        return {"estimator": library_class.__name__, **entries, **size_entry}

    def _shape(self, domain: Domain, preparation: Preparation) -> tuple[int, Any]:
        """Return number and depth of the trees: as given or, for "auto", as published or by a rule (`shape_rule`)."""
        given = self.n_estimators, self.max_depth
        if AUTO not in given:
            return given
        if self.mode == "as_published":
            shape = self.published_shape
        else:
            budget = self._budget
            signal = (
                math.inf
                if budget is None
                else signal_of(preparation.n_rows, float(budget * preparation.remaining_share))
            )
            shape = type(self).shape_rule(signal, domain.n_classes, domain.n_features)
        return shape[0] if given[0] == AUTO else given[0], shape[1] if given[1] == AUTO else given[1]
