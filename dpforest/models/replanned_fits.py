"""Plan the fit of a file again, to get the ledger and the certificate that the file should have.

A file does not name every setting of its fit. This module computes some of the missing settings from the ledger, for
example a share of the budget or a temperature. For other missing settings, for example where a booster adds noise to
its leaves, the module tries all values. For each combination of settings, the estimator plans a fit and charges a new
ledger, with the code of a real fit.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, NamedTuple

from dpforest.limits import MAX_BOUND
from dpforest.models.base import AUTO, ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.file_facts import FileError, FileFacts, as_user_types
from dpforest.models.greedy.boost_spec import BETAS_OF_LEAF, BoostSpec
from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier, TreeSpec
from dpforest.models.greedy.multinomial import MultinomialForestClassifier
from dpforest.models.random.baselines import (
    JagannathanForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.models.random.majority_label import MajorityLabelForestClassifier
from dpforest.models.random.random_decision import RandomDecisionForestClassifier
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, Ledger
from dpforest.trees.forest import ReleasedForest
from dpforest.trees.leaves import CountLeaves, LabelLeaves, Leaves, ScoreLeaves
from dpforest.voting import CLIPPED_LOGISTIC

# ---------------------------------------------------------------- settings that a file does not name
#
# Each function with a name that ends in `_settings` is for one or two estimators. It yields each combination of
# parameters that the fit of the file may have had. The values of the other parameters are in `FileFacts.common`.


def _partition(facts: FileFacts, i: int = 0) -> str:
    """Return the partition that follows from the composition of entry i of the ledger."""
    shared = len(facts.entries) > i and facts.entries[i].composition == "sequential"
    return "shared" if shared else "independent"


def _label_settings(facts: FileFacts) -> Iterator[dict[str, Any]]:
    mechanism = facts.entries[0].mechanism if facts.entries else None
    yield {"n_estimators": facts.n_trees, "leaf_mechanism": mechanism, "partition": _partition(facts)}


def _count_settings(facts: FileFacts) -> Iterator[dict[str, Any]]:
    yield {"n_estimators": facts.n_trees, "voting": facts.forest.voting, "partition": _partition(facts)}


def _jagannathan_settings(facts: FileFacts) -> Iterator[dict[str, Any]]:
    for n_bound in facts.row_bounds():
        yield {"n_estimators": facts.n_trees, "n_bound": n_bound}


def _even_settings(facts: FileFacts) -> Iterator[dict[str, Any]]:
    for budget in ("fair", "paper"):
        yield {"n_estimators": facts.n_trees, "budget": budget}


def _tree_settings(facts: FileFacts) -> Iterator[dict[str, Any]]:
    budget = _budget_for_trees(facts)
    share = facts.share(0, budget / facts.forest.trees.depth) if facts.forest.trees.depth else Fraction(0)
    for n_bound in facts.row_bounds():
        yield {"criterion": facts.forest.about.get("criterion"), "tree_share": as_user_types(share), "n_bound": n_bound}


def _multinomial_settings(facts: FileFacts) -> Iterator[dict[str, Any]]:
    names = ("feature_temperature", "value_temperature", "label_temperature")
    costs = {name: as_user_types(facts.share(i, Fraction(1))) for i, name in enumerate(names)}
    yield {"n_estimators": facts.n_trees, "partition": _partition(facts, 2), **costs}


def _boosted_settings(facts: FileFacts) -> Iterator[dict[str, Any]]:
    about, depth, model = facts.forest.about, facts.forest.trees.depth, BoostedForestClassifier()
    leaves = facts.forest.leaves
    assert isinstance(leaves, ScoreLeaves)  # `promises` has checked this by `KINDS`
    level_budget = (
        _budget_for_trees(facts) / model.scores_of(facts.forest.domain) / max(facts.n_trees, 1) / max(depth, 1)
    )
    splits, is_noisy = facts.share(0, level_budget), about.get("alpha") == "noisy"
    calibration = facts.share(1, level_budget) if is_noisy else Fraction(0)
    shares = {"tree_share": as_user_types(splits + calibration)}
    if is_noisy and splits + calibration:
        shares["calibration_share"] = as_user_types(calibration / (splits + calibration))
    common = {"n_estimators": facts.n_trees, "alpha": about.get("alpha"), "alpha_link": leaves.alpha_link}
    for n_bound in facts.row_bounds():
        for leaf in ("counts", "range"):
            for beta in BETAS_OF_LEAF[leaf]:
                yield {**common, **shares, "leaf": leaf, "beta": beta, "n_bound": n_bound}


def _booster_settings(facts: FileFacts) -> Iterator[dict[str, Any]]:
    delta, total_step = facts.forest.certificate.delta, facts.forest.about.get("total_step", AUTO)
    yield {"n_estimators": facts.n_trees, "delta": delta, "total_step": total_step}


def _budget_for_trees(facts: FileFacts) -> Fraction:
    """Return the budget for trees and leaves, as a cost of one row that is added or removed."""
    ledger = facts.forest.ledger
    return (
        Fraction(0)
        if ledger.budget is None
        else ledger.budget.part(facts.preparation.remaining_share, ledger.rows).amount
    )


# ---------------------------------------------------------------- ledger and certificate for these settings

Promise = tuple[Certificate, Ledger, Any]  # the last element is the spec of the fit


def _promise(model: ForestClassifier, facts: FileFacts) -> Promise:
    """Return certificate, ledger and spec of a fit by this estimator, for the public facts of a file."""
    domain = facts.forest.domain
    if isinstance(model, RandomTreeBoosterClassifier) and model.neighbors == ADD_REMOVE and not facts.n_rows:
        raise FileError("it has no number of rows, but every fit of this estimator asks for that number or gets it")
    spec = _with_matching_rows(model._spec_after(domain, facts.preparation, facts.n_rows), facts)
    return *model._promise(spec, domain, facts.forest.trees.n_leaves), spec


def _with_matching_rows(spec: Any, facts: FileFacts) -> Any:
    """Return a spec with a number of rows for which the sensitivity is the one that the ledger states.

    Old files do not state the number of rows. Under replace-one, this number is public, and the sensitivity of a split
    may depend on it. So the check accepts any number of rows that explains the stated sensitivity.
    """
    if not isinstance(spec, BoostSpec | TreeSpec) or spec.neighbors == ADD_REMOVE or facts.n_rows or not facts.entries:
        return spec
    sensitivity_of = lambda n: replace(spec, n_bound=n).split_sensitivity
    n_too_small = bisect_left(range(1, MAX_BOUND), facts.entries[0].sensitivity, key=sensitivity_of)
    return replace(spec, n_bound=1 + n_too_small)


class Kind(NamedTuple):
    """One estimator: the type of its leaves, their voting rules, and the settings of its fit."""

    model: type[ForestClassifier]
    leaves: type[Leaves]
    voting: tuple[str, ...]
    settings: Callable[[FileFacts], Iterator[dict[str, Any]]]


_AVERAGES: Final = ("majority", "threshold", "probabilistic", "log-odds")
KINDS: Final = {
    kind.model.__name__: kind
    for kind in (
        Kind(MajorityLabelForestClassifier, LabelLeaves, ("majority",), _label_settings),
        Kind(RandomDecisionForestClassifier, CountLeaves, _AVERAGES, _count_settings),
        # The first files of this estimator have the voting rule "threshold".
        Kind(JagannathanForestClassifier, CountLeaves, ("log-odds", "threshold"), _jagannathan_settings),
        Kind(RandomForestLaplaceClassifier, CountLeaves, ("majority",), _even_settings),
        Kind(RandomForestExponentialClassifier, LabelLeaves, ("majority",), _even_settings),
        Kind(FriedmanSchusterClassifier, CountLeaves, ("majority",), _tree_settings),
        Kind(MultinomialForestClassifier, LabelLeaves, ("majority",), _multinomial_settings),
        Kind(BoostedForestClassifier, ScoreLeaves, ("additive",), _boosted_settings),
        Kind(RandomTreeBoosterClassifier, ScoreLeaves, (CLIPPED_LOGISTIC,), _booster_settings),
    )
}


def promises(forest: ReleasedForest) -> Iterator[Promise | ValueError]:
    """Yield certificate, ledger and spec of a fit by this forest's estimator, for all settings that match the file.

    For settings with which no fit is possible, yield the error instead.

    Yields
    ------
    (Certificate, Ledger, spec) or ValueError
        Certificate, ledger and spec for one choice of settings, or the reason why no fit can have these settings.

    Raises
    ------
    FileError
        If the estimator is unknown, or other fields of the file contradict it.
    """
    name = forest.about.get("estimator")
    kind = KINDS.get(str(name))
    if kind is None:
        raise FileError(f"about.estimator is {str(name)[:60]!r}, and this version of dpforest has no such estimator")
    if not isinstance(forest.leaves, kind.leaves) or forest.voting not in kind.voting:
        raise FileError(f"its leaves or its voting do not fit {name}, its estimator according to about.estimator")
    facts = FileFacts.of(forest)
    for settings in kind.settings(facts):
        try:
            model = kind.model(**facts.common(), **settings)._checked_copy()
            yield _promise(model, facts)
        except ValueError as error:
            yield error
