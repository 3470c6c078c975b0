"""Cases for the checks on forest files: a file of each estimator under each relation, and functions that change it."""

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from dpforest import (
    BoostedForestClassifier,
    Domain,
    Feature,
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    RandomTreeBoosterClassifier,
    ReleasedForest,
)
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.loss import mu_for
from dpforest.privacy.rationals import float_up
from tests.models.release_cases import table


def domain(n_classes: int) -> Domain:
    """Return a domain of two numbers and a category. Its parts have many sources, so a certificate assumes much."""
    public = {"source": "documented", "source_note": "made up", "type_source": "asserted", "type_note": "by us"}
    features = (
        Feature("a", "numeric", 0.0, 1.0, **public),
        Feature("b", "numeric", 0.0, 1.0, **{**public, "source": "asserted"}),
        Feature("c", "categorical", categories=("x", "y", "z"), **public),
    )
    return Domain(
        features,
        tuple(range(n_classes)),
        "y",
        "documented",
        "made up",
        columns_source="asserted",
        columns_note="the questionnaire",
        reading="commas part columns",
        reading_source="asserted",
        reading_note="ours",
    )


MODELS = {
    "labels": (MajorityLabelForestClassifier, {"n_estimators": 5, "max_depth": 3}),
    "counts": (RandomDecisionForestClassifier, {"n_estimators": 4, "max_depth": 3}),
    "counts, independent": (RandomDecisionForestClassifier, {"n_estimators": 4, "partition": "independent"}),
    "jpw": (JagannathanForestClassifier, {"n_estimators": 4, "max_depth": 3, "n_bound": 5_000}),
    "rf-l": (RandomForestLaplaceClassifier, {"n_estimators": 4, "max_depth": 3, "budget": "paper"}),
    "rf-e": (RandomForestExponentialClassifier, {"n_estimators": 4, "max_depth": 3}),
    "tree": (FriedmanSchusterClassifier, {"max_depth": 3, "criterion": "entropy", "n_bound": 1_000}),
    "multinomial": (MultinomialForestClassifier, {"n_estimators": 3}),
    "boosted": (BoostedForestClassifier, {"n_estimators": 2, "max_depth": 3, "alpha": "noisy", "beta": "laplace"}),
    "booster, pure": (RandomTreeBoosterClassifier, {"n_estimators": 6, "max_depth": 3, "delta": 0}),
    "booster": (RandomTreeBoosterClassifier, {"n_estimators": 20, "max_depth": 3, "epsilon": 4}),
    "booster, two classes": (RandomTreeBoosterClassifier, {"n_estimators": 20, "max_depth": 3, "epsilon": 4}),
}


@cache
def filed(name: str, neighbors: str = "add-remove", random_state: int | None = None) -> ReleasedForest:
    """Return a forest of one of `MODELS`, read back from its file."""
    kind, settings = MODELS[name]
    public = domain(2 if "two" in name else 3)
    X, _ = table(300, domain=public) if len(public.classes) == 3 else table(300, domain=domain(3))
    y = table(300, domain=domain(3))[1] % len(public.classes)
    settings = {"scale_share": 0.05, **settings, "neighbors": neighbors, "random_state": random_state}
    forest = kind(domain=public, **settings).fit(X, y).released_
    return ReleasedForest.from_json(forest.to_json(uncertified=True))


def content_of(name: str, **more: Any) -> dict[str, Any]:
    """Return the JSON content of the file of `filed`, which a test may change."""
    return json.loads(filed(name, **more).to_json(uncertified=True))


def read(content: dict[str, Any]) -> ReleasedForest:
    return ReleasedForest.from_json(json.dumps(content))


def times(text: str | None, factor: Fraction) -> str | None:
    return None if text is None else str(Fraction(text) * factor)


def of_budget(content: dict[str, Any], epsilon: Fraction) -> None:
    """Change all numbers in the ledger and the certificate consistently to another ε."""
    ledger, certificate = content["ledger"], content["certificate"]
    if ledger.get("kind") == "gaussian":
        factor = mu_for(epsilon, certificate["delta"]).amount / Fraction(ledger["mu_squared"])
        certificate["mu_squared"] = times(certificate["mu_squared"], factor)
    else:
        factor = epsilon / Fraction(ledger["epsilon"])
    certificate["epsilon"] = str(epsilon)
    for part in (ledger, *ledger["entries"]):
        for name in ("epsilon", "epsilon_each", "spent", "mu_squared", "mu_squared_each", "mu_squared_spent"):
            if name in part:
                part[name] = times(part[name], factor)
    if "log_odds" in content:
        content["log_odds"]["noise_scale"] = 1 / float(Fraction(ledger["entries"][-1]["epsilon_each"]))
    loss = Ledger.from_dict(ledger).loss
    certificate["true_epsilon"] = float_up(min(epsilon, loss.epsilon(certificate["delta"])))


def changed(name: str, change: Callable[[dict[str, Any]], object], **more: Any) -> dict[str, Any]:
    content = copy.deepcopy(content_of(name, **more))
    change(content)
    return content
