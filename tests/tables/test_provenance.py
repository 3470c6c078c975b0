"""The origin of every field of a released file: the format, settings, the schema's sources, or the ledger."""

import json
import re

import numpy as np
import pytest
from sklearn.base import clone

from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    load_dataset,
)
from dpforest.models.data_dependent import DataDependentClassifier

FIXED, SETTING, PAID = "the format", "the settings", "the ledger"
STRUCTURE = "the settings and the schema, or the ledger where splits look at rows or at a scale that was released"
# Origin of each field of a file. For a part of the schema, this is the field that names its source. If that field is
# empty, `source` names it.
ORIGINS = {
    r"format|version": FIXED,
    r"about/n_rows": "the settings, or the ledger where it was bought",
    r"about/(estimator|structure_seed|alpha|n_bins|criterion|split_score)(/\d+)?": SETTING,
    r"certificate/(certified|kind|epsilon|delta|true_epsilon|neighbors|mechanism)": SETTING,
    r"certificate/(assumptions|reasons)/\d+": SETTING,
    r"ledger/(epsilon|neighbors|closed|spent)": SETTING,
    r"ledger/entries/\d+/\w+": SETTING,
    r"domain/features/\d+/(name|kind|integer)": "type_source",
    r"domain/features/\d+/scale": SETTING,
    r"domain/features/\d+/(low|high|categories/\d+)": "source",
    r"domain/features/\d+/missing(_value)?": "missing_source",
    r"domain/features/\d+/(type_|missing_)?(source|note|source_note)": SETTING,
    r"domain/(classes/\d+|label)": "classes_source",
    r"domain/reading(/(encoding|delimiter|decimal|point_columns/\d+))?": "reading_source",
    r"domain/(classes|reading|columns)_(source|note)": SETTING,
    r"(voting|negative_rule|seed|depth|alpha_link)": SETTING,
    r"class_of_tree/(type|data|shape/\d+)": SETTING,
    r"(trees|structure)/.*": STRUCTURE,
    r"scale/(type|data)": PAID,
    r"scale/shape/\d+": SETTING,
    r"log_odds/(noise_scale|prior_weight)": SETTING,
    r"(labels|noisy_counts|leaf_values)/shape/\d+": SETTING,
    r"(labels|noisy_counts|leaf_values)/(type|data)": PAID,
}
RANDOM = [
    MajorityLabelForestClassifier(n_estimators=3),
    RandomDecisionForestClassifier(n_estimators=3, neighbors="replace-one"),
    JagannathanForestClassifier(n_estimators=3),
    RandomForestLaplaceClassifier(n_estimators=3, max_depth=3),
    RandomForestExponentialClassifier(n_estimators=3, max_depth=3),
]
GREEDY = [
    BoostedForestClassifier(n_estimators=3, n_bound=10**5),
    BoostedForestClassifier(n_estimators=2, n_bound=10**5, alpha=[0.5, 0.5, 0, 0], leaf="range"),
    MultinomialForestClassifier(n_estimators=3),
    FriedmanSchusterClassifier(max_depth=3),
]


def fields(part, path: str = "") -> dict[str, object]:
    """Return every value of a JSON document that is neither object nor list, by its path."""
    below = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else None
    if below is None:
        return {path: part}
    return {k: v for name, child in below for k, v in fields(child, f"{path}/{name}" if path else str(name)).items()}


def origin(path: str) -> str:
    places = [where for pattern, where in ORIGINS.items() if re.fullmatch(pattern, path)]
    assert len(places) == 1, f"nobody says where {path!r} comes from" if not places else f"{path!r} is listed twice"
    return places[0]


def released(model, X, y) -> dict:
    return json.loads(model.fit(X, y).released_.to_json())


def without_secrets(model, data) -> tuple:
    """Return a table without rows or, if the number of rows is public, a table of that many copies of one row."""
    rows = np.zeros(0 if model.neighbors == "add-remove" else len(data.X), int)
    return data.X.iloc[rows].reset_index(drop=True), data.y.iloc[rows].reset_index(drop=True)


@pytest.mark.parametrize("scale_share", ["auto", "public"])
@pytest.mark.parametrize("model", RANDOM + GREEDY, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("name", ["adult", "nursery", "pendigits"])
def test_every_field_of_a_release_has_an_origin(model, name, scale_share):
    """Every field that the ledger does not pay for is the same for a table without private rows.

    Every part of the schema has a source.
    """
    data = load_dataset(name)
    settings = {"size": len(data.X), "scale_share": scale_share}
    model = clone(model).set_params(domain=data.domain, **settings)
    content, nobody = released(model, data.X, data.y), released(model, *without_secrets(model, data))
    released_fields = fields(content)
    of_nobody = fields(nobody)
    assert ("scale" in content) == (scale_share == "auto" and name != "nursery")
    looks = isinstance(model, DataDependentClassifier) or "scale" in content
    for path, value in released_fields.items():
        where = origin(path)
        if where.endswith("_source") or where == "source":
            assert source_of(released_fields, path, where) in ("documented", "asserted"), path
        if where == PAID or (where == STRUCTURE and looks):
            continue
        if path == "about/n_rows":
            assert value == len(data.X)  # the number that the fit was given
        assert of_nobody[path] == value, f"{path} differs although nobody paid for it"
    assert set(released_fields) == set(of_nobody)
    assert sum(origin(path) == PAID for path in released_fields) == (4 if "scale" in content else 2)
    assert content["ledger"]["entries"]


@pytest.mark.parametrize("model", RANDOM + GREEDY, ids=lambda model: type(model).__name__)
def test_a_number_of_rows_that_is_not_given_was_paid_for(model):
    data = load_dataset("adult")
    content = released(clone(model).set_params(domain=data.domain), data.X, data.y)
    assert {origin(path) for path in fields(content)}  # fails if a field has no origin
    bought = [entry for entry in content["ledger"]["entries"] if entry["what"] == "number of rows"]
    assert len(bought) == (model.neighbors == "add-remove")
    if model.neighbors == "replace-one":
        assert content["about"]["n_rows"] == len(data.X)
    else:  # noise of scale 50 is this large with a probability below 1e-8
        assert abs(content["about"]["n_rows"] - len(data.X)) < 1_000


def source_of(released_fields: dict[str, object], path: str, where: str) -> object:
    """Return the source of a part of the schema."""
    if path.startswith("domain/features/"):
        feature = "/".join(path.split("/")[:3])
        return released_fields[f"{feature}/{where}"] or released_fields[f"{feature}/source"]
    if path == "domain/reading" and not released_fields[path]:
        return "asserted"  # an empty format states nothing
    return released_fields[f"domain/{where}"]
