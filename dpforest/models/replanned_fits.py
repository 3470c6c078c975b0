"""Plans the fit of a file again, to get the ledger and the certificate that the file should have.

A file does not name every setting of its fit. The code reads some of the others off the ledger (a share of the budget,
a temperature) and tries all values of the rest (how a booster draws its leaves). The estimator then plans the same fit
and charges a new ledger, with the code that a fit runs.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, NamedTuple

from dpforest.limits import MAX_BOUND
from dpforest.models.base import AUTO, ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.file_facts import Filed, FiledError, as_user_types
from dpforest.models.greedy.boost_spec import FITTING, BoostSpec
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


def _partition(filed: Filed, i: int = 0) -> str:
    shared = len(filed.entries) > i and filed.entries[i].composition == "sequential"
    return "shared" if shared else "independent"


def _labels(filed: Filed) -> Iterator[dict[str, Any]]:
    mechanism = filed.entries[0].mechanism if filed.entries else None
    yield {"n_estimators": filed.n_trees, "leaf_mechanism": mechanism, "partition": _partition(filed)}


def _counts(filed: Filed) -> Iterator[dict[str, Any]]:
    yield {"n_estimators": filed.n_trees, "voting": filed.forest.voting, "partition": _partition(filed)}


def _jagannathan(filed: Filed) -> Iterator[dict[str, Any]]:
    for n_bound in filed.row_bounds():
        yield {"n_estimators": filed.n_trees, "n_bound": n_bound}


def _even(filed: Filed) -> Iterator[dict[str, Any]]:
    for budget in ("fair", "paper"):
        yield {"n_estimators": filed.n_trees, "budget": budget}


def _tree(filed: Filed) -> Iterator[dict[str, Any]]:
    each = _left(filed)
    share = filed.share(0, each / filed.forest.trees.depth) if filed.forest.trees.depth else Fraction(0)
    for n_bound in filed.row_bounds():
        yield {"criterion": filed.forest.about.get("criterion"), "tree_share": as_user_types(share), "n_bound": n_bound}


def _multinomial(filed: Filed) -> Iterator[dict[str, Any]]:
    names = ("feature_temperature", "value_temperature", "label_temperature")
    costs = {name: as_user_types(filed.share(i, Fraction(1))) for i, name in enumerate(names)}
    yield {"n_estimators": filed.n_trees, "partition": _partition(filed, 2), **costs}


def _boosted(filed: Filed) -> Iterator[dict[str, Any]]:
    about, depth, model = filed.forest.about, filed.forest.trees.depth, BoostedForestClassifier()
    leaves = filed.forest.leaves
    assert isinstance(leaves, ScoreLeaves)  # as `KINDS` says
    of_level = _left(filed) / model.scores_of(filed.forest.domain) / max(filed.n_trees, 1) / max(depth, 1)
    splits, noisy = filed.share(0, of_level), about.get("alpha") == "noisy"
    calibration = filed.share(1, of_level) if noisy else Fraction(0)
    shares = {"tree_share": as_user_types(splits + calibration)}
    if noisy and splits + calibration:
        shares["calibration_share"] = as_user_types(calibration / (splits + calibration))
    common = {"n_estimators": filed.n_trees, "alpha": about.get("alpha"), "alpha_link": leaves.alpha_link}
    for n_bound in filed.row_bounds():
        for leaf in ("counts", "range"):
            for beta in FITTING[leaf]:
                yield {**common, **shares, "leaf": leaf, "beta": beta, "n_bound": n_bound}


def _booster(filed: Filed) -> Iterator[dict[str, Any]]:
    delta, total_step = filed.forest.certificate.delta, filed.forest.about.get("total_step", AUTO)
    yield {"n_estimators": filed.n_trees, "delta": delta, "total_step": total_step}


def _left(filed: Filed) -> Fraction:
    """What is left for trees and leaves, for one row added or removed."""
    ledger = filed.forest.ledger
    return Fraction(0) if ledger.budget is None else ledger.budget.part(filed.preparation.left, ledger.rows).amount


# ---------------------------------------------------------------- what a fit with these settings writes

Promise = tuple[Certificate, Ledger, Any]  # and the spec


def _promise(model: ForestClassifier, filed: Filed) -> Promise:
    domain = filed.forest.domain
    if isinstance(model, RandomTreeBoosterClassifier) and model.neighbors == ADD_REMOVE and not filed.n_rows:
        raise FiledError("it has no number of rows, but every fit of this estimator asks for that number or gets it")
    spec = _any_rows(model._spec_after(domain, filed.preparation, filed.n_rows), filed)
    return *model._promise(spec, domain, filed.forest.trees.n_leaves), spec


def _any_rows(spec: Any, filed: Filed) -> Any:
    """A spec with a number of rows that gives the stated sensitivity, for old files that do not state the number.

    Under replace-one the sensitivity may depend on the number of rows, which is public. So any number is allowed.
    """
    if not isinstance(spec, BoostSpec | TreeSpec) or spec.neighbors == ADD_REMOVE or filed.n_rows or not filed.entries:
        return spec
    of_rows = lambda n: replace(spec, n_bound=n).split_sensitivity
    before = bisect_left(range(1, MAX_BOUND), filed.entries[0].sensitivity, key=of_rows)
    return replace(spec, n_bound=1 + before)


class Kind(NamedTuple):
    """One estimator: what its leaves are, how they vote, and the settings of its fit."""

    model: type[ForestClassifier]
    leaves: type[Leaves]
    voting: tuple[str, ...]
    settings: Callable[[Filed], Iterator[dict[str, Any]]]


_AVERAGES: Final = ("majority", "threshold", "probabilistic", "log-odds")
KINDS: Final = {
    kind.model.__name__: kind
    for kind in (
        Kind(MajorityLabelForestClassifier, LabelLeaves, ("majority",), _labels),
        Kind(RandomDecisionForestClassifier, CountLeaves, _AVERAGES, _counts),
        # Its first files have "threshold".
        Kind(JagannathanForestClassifier, CountLeaves, ("log-odds", "threshold"), _jagannathan),
        Kind(RandomForestLaplaceClassifier, CountLeaves, ("majority",), _even),
        Kind(RandomForestExponentialClassifier, LabelLeaves, ("majority",), _even),
        Kind(FriedmanSchusterClassifier, CountLeaves, ("majority",), _tree),
        Kind(MultinomialForestClassifier, LabelLeaves, ("majority",), _multinomial),
        Kind(BoostedForestClassifier, ScoreLeaves, ("additive",), _boosted),
        Kind(RandomTreeBoosterClassifier, ScoreLeaves, (CLIPPED_LOGISTIC,), _booster),
    )
}


def promises(forest: ReleasedForest) -> Iterator[Promise | ValueError]:
    """What a fit of this forest's estimator writes, for all settings that agree with the file.

    If settings are out of range, yields the error in place of a promise.

    Yields
    ------
    (Certificate, Ledger, spec) or ValueError

    Raises
    ------
    FiledError
        If there are no settings to try.
    """
    name = forest.about.get("estimator")
    kind = KINDS.get(str(name))
    if kind is None:
        raise FiledError(f"about.estimator is {str(name)[:60]!r}, and this version of dpforest has no such estimator")
    if not isinstance(forest.leaves, kind.leaves) or forest.voting not in kind.voting:
        raise FiledError(f"its leaves or its voting do not fit {name}, its estimator according to about.estimator")
    filed = Filed.of(forest)
    for settings in kind.settings(filed):
        try:
            model = kind.model(**filed.common(), **settings)._checked()
            yield _promise(model, filed)
        except ValueError as error:
            yield error
