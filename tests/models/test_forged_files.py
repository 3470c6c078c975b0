"""Tests that the reader refuses forged files, whose ledger or certificate does not follow from their other fields."""

import copy
import json
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpforest.audit.replay.variants import VARIANTS, domain_of, random_rows
from dpforest.trees.forest import ForestFormatError, ReleasedForest
from tests.conftest import examples, some
from tests.models.filed_cases import MODELS, changed, content_of, filed, of_budget, read


def entry(content: dict, what: str) -> dict:
    return next(e for e in content["ledger"]["entries"] if what in e["what"])


def put(*path, value):
    """Return a change of the field at this path. If `value` is a function, it computes the new value from the old."""

    def change(content: dict) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value(content[path[-1]]) if callable(value) else value

    return change


def of_entry(what: str, /, **fields):
    return lambda content: entry(content, what).update(
        {name: value(entry(content, what)[name]) if callable(value) else value for name, value in fields.items()}
    )


def without(what: str, *, in_step: bool):
    """Return a change that removes an entry of the ledger. If `in_step`, the budget shrinks by the entry's cost."""

    def change(content: dict) -> None:
        ledger, certificate = content["ledger"], content["certificate"]
        gone = entry(content, what)
        ledger["entries"].remove(gone)
        spent, each = ("mu_squared_spent", "mu_squared_each") if "mu_squared" in ledger else ("spent", "epsilon_each")
        ledger[spent] = str(Fraction(ledger[spent]) - Fraction(gone[each]) * gone["times"])
        if in_step:
            ledger["mu_squared" if "mu_squared" in ledger else "epsilon"] = ledger[spent]
            if "mu_squared" in ledger:
                certificate["mu_squared"] = ledger[spent]
            else:
                certificate["epsilon"], certificate["true_epsilon"] = ledger[spent], float(Fraction(ledger[spent]))

    return change


def relation(content: dict) -> None:
    """Change the neighbor relation from replace-one to add-remove in all fields.

    Entries cost half as much under add-remove as under replace-one (a quarter in μ²), so the rest looks unspent.
    """
    ledger, certificate = content["ledger"], content["certificate"]
    ledger["neighbors"] = certificate["neighbors"] = "add-remove"
    spent = "mu_squared_spent" if "mu_squared" in ledger else "spent"
    ledger[spent] = str(Fraction(ledger[spent]) / (4 if "mu_squared" in ledger else 2))
    certificate["assumptions"] = [a for a in certificate["assumptions"] if not a.startswith("The number of rows, c")]
    if "mu_squared" in certificate:
        certificate["mu_squared"] = ledger[spent]
    else:
        certificate["true_epsilon"] = float(Fraction(ledger[spent]))


def flipped(content: dict) -> None:
    content["certificate"] |= {"certified": True, "true_epsilon": 1.0}


SLIGHTLY = Fraction(10**12 - 1, 10**12)
LESS = lambda text: str(Fraction(text) * SLIGHTLY)
BUDGET = lambda epsilon: lambda content: of_budget(content, Fraction(epsilon))
ONE_PERCENT = put("certificate", "epsilon", value="1/100")

# Description of the forgery, file, change, and a part of the error message.
FORGERIES = [
    # Forgeries that an earlier version accepted.
    ("ε of 4 becomes 0.01, certificate only", "booster", ONE_PERCENT, "budget"),
    ("ε of 4 becomes 0.01, in step", "booster", BUDGET("1/100"), "too small for the noise"),
    ("ε of 4 becomes 0.01, in step", "booster, two classes", BUDGET("1/100"), "too small for the noise"),
    ("sensitivity 1/1000", "booster", of_entry("gradient", sensitivity="1/1000"), "sensitivity"),
    ("sensitivity 1/1000", "counts", of_entry("counts", sensitivity="1/1000"), "sensitivity"),
    ("sensitivity 1/1000", "tree", of_entry("splits", sensitivity="1/1000"), "sensitivity"),
    ("sensitivity 1/1000", "boosted", of_entry("splits", sensitivity="1/1000"), "sensitivity"),
    ("no assumption of the domain", "labels", put("certificate", "assumptions", value=lambda a: a[:3]), "absent"),
    ("no assumption of the domain", "booster", put("certificate", "assumptions", value=lambda a: a[:3]), "absent"),
    ("another estimator's mechanism", "booster", of_entry("gradient", mechanism="exponential"), "ledger"),
    ("another estimator's mechanism", "rf-e", of_entry("label", mechanism="permute-and-flip"), "mechanism"),
    ("δ of 0.999", "booster", put("certificate", "delta", value=0.999), "delta=0.999"),
    # Budgets and sums.
    ("ε in step", "booster, pure", BUDGET("1/100"), "too small for the noise"),
    ("ε in step", "counts", BUDGET("1/100"), "too small for the noise"),
    ("ε in step", "jpw", BUDGET("1/100"), "too small for the noise"),
    ("ε in step", "rf-l", BUDGET("1/100"), "too small for the noise"),
    ("ε in step", "tree", BUDGET("1/1000"), "too small for the noise"),
    ("ε below all that are accepted, in step", "labels", BUDGET("1/100000"), "epsilon="),
    ("the sum wrong by its last digit", "booster", put("ledger", "mu_squared_spent", value=LESS), "sum of the entries"),
    ("the sum wrong by its last digit", "labels", put("ledger", "spent", value=LESS), "sum of the entries"),
    ("true ε lowered", "labels", put("certificate", "true_epsilon", value=0.5), "promises more"),
    ("true ε lowered", "booster", put("certificate", "true_epsilon", value=3.9), "."),
    ("true ε raised", "rf-l", put("certificate", "true_epsilon", value=1.0), "true_epsilon"),
    ("μ² of the certificate", "booster", put("certificate", "mu_squared", value=LESS), "promises more"),
    ("the budget a little larger", "booster", put("ledger", "mu_squared", value="4"), "."),
    ("δ a little smaller", "booster", put("certificate", "delta", value=1e-7), "."),
    ("δ larger, so that the budget does not follow", "booster", put("certificate", "delta", value=1e-5), "budget"),
    # Entries.
    ("rounds cost less", "booster", of_entry("gradient", mu_squared_each=LESS, times=20), "."),
    ("fewer times", "booster", of_entry("gradient", times=19), "."),
    ("fewer times", "multinomial", of_entry("feature", times=1), "."),
    ("fewer leaves", "labels", of_entry("label", times=1), "times"),
    ("parallel", "booster", of_entry("gradient", composition="parallel"), "."),
    ("parallel", "tree", of_entry("splits", composition="parallel"), "."),
    ("in another part", "tree", of_entry("counts", part="estimation rows"), "."),
    ("in all rows", "multinomial", of_entry("label", part=""), "."),
    ("no number of rows", "booster", without("number of rows", in_step=True), "."),
    ("no number of rows", "booster, pure", without("number of rows", in_step=True), "."),
    ("no number of rows, sum as it was", "booster", without("number of rows", in_step=False), "."),
    ("no scale", "booster", without("scale of", in_step=True), "scale"),
    ("no scale", "counts", without("scale of", in_step=True), "scale"),
    ("no splits", "boosted", without("splits", in_step=True), "."),
    ("no calibration", "boosted", without("error of", in_step=True), "."),
    ("no labels", "multinomial", without("label of", in_step=True), "."),
    ("scale of one attribute", "counts", of_entry("scale of", sensitivity="3"), "sensitivity"),
    ("other words", "labels", of_entry("label", what="nothing"), "what"),
    (
        "a public entry is put before",
        "labels",
        put("ledger", "entries", value=lambda e: [{**e[-1], "what": "number of rows"}, *e]),
        ".",
    ),
    # Certificate.
    ("an assumption is added", "labels", put("certificate", "assumptions", value=lambda a: [*a, "It rains."]), "rains"),
    (
        "an assumption is changed",
        "booster",
        put("certificate", "assumptions", value=lambda a: [*a[:-1], a[-1] + "!"]),
        "assumption",
    ),
    (
        "assumptions in another order",
        "booster",
        put("certificate", "assumptions", value=lambda a: [*a[:3], *a[:2:-1]]),
        "assumption",
    ),
    (
        "the bound on rows",
        "boosted",
        put("certificate", "assumptions", value=lambda a: [x.replace("2,000,000", "200") for x in a]),
        "at most 200",
    ),
    (
        "the bound on rows",
        "booster",
        put("certificate", "assumptions", value=lambda a: [x.replace(f"{2**40:,}", "200") for x in a]),
        "assumption",
    ),
    ("a reading that the domain does not have", "labels", put("domain", "reading_note", value="theirs"), "assumption"),
    ("a source of the domain", "labels", put("domain", "features", 0, "source_note", value="theirs"), "assumption"),
    ("the mechanism's words", "booster", put("certificate", "mechanism", value="magic"), "mechanism"),
    ("kind", "booster", put("certificate", "kind", value="pure"), "."),
    ("certified although it was not", "labels", flipped, "."),
    # Other fields.
    ("estimator", "labels", put("about", "estimator", value="RandomForestExponentialClassifier"), "."),
    ("estimator", "counts", put("about", "estimator", value="RandomForestLaplaceClassifier"), "voting"),
    ("estimator", "booster", put("about", "estimator", value="BoostedForestClassifier"), "voting"),
    ("an unknown estimator", "labels", put("about", "estimator", value="Magic"), "Magic"),
    ("no estimator", "labels", put("about", value={}), "."),
    ("criterion", "tree", put("about", "criterion", value="max"), "sensitivity"),
    ("α", "boosted", put("about", "alpha", value=0.5), "."),
    ("trust in leaves", "counts", put("log_odds", "noise_scale", value=1.0), "noise_scale"),
    ("fewer rows", "booster, two classes", put("about", "n_rows", value=50), "step"),
    ("fewer rows", "booster", put("about", "n_rows", value=50), "step"),
    ("the total step", "booster", put("about", "total_step", value=10_000.0), "step"),
]


@pytest.mark.parametrize(
    ("name", "forge", "match"), [f[1:] for f in FORGERIES], ids=[f"{f[0]} [{f[1]}]" for f in FORGERIES]
)
def test_a_forged_file_is_refused(name, forge, match):
    content = changed(name, forge, random_state=1 if forge is flipped else None)
    with pytest.raises(ForestFormatError, match=match) as error:
        read(content)
    message = str(error.value)
    assert message[0].isupper() and message.endswith(".") and "\n" not in message and len(message) < 500


@pytest.mark.parametrize("name", ["counts", "tree", "rf-e", "boosted", "booster"])
def test_a_file_of_one_relation_is_refused_under_the_other(name):
    with pytest.raises(ForestFormatError):
        read(changed(name, relation, neighbors="replace-one"))


def test_one_more_class_changes_the_sensitivity():
    """The reader refuses a gradient sensitivity, or a number of leaf values, that does not follow from the classes."""
    content = content_of("booster")
    content["domain"]["classes"] = [0, 1]
    with pytest.raises(ForestFormatError):
        read(content)
    content = content_of("booster, two classes")
    entry(content, "gradient")["sensitivity"] = entry(content_of("booster"), "gradient")["sensitivity"]
    with pytest.raises(ForestFormatError, match="sensitivity in entry .* is .*, but its other fields give 1/2"):
        read(content)


@pytest.mark.parametrize(("name", "neighbors"), some(VARIANTS, ["add-remove", "replace-one"]))
def test_the_reader_recovers_every_setting_that_changes_the_questions(name, neighbors):
    kind, given = VARIANTS[name]
    n_classes = 2 if "two classes" in name else 3
    public = domain_of(n_classes)
    rows = random_rows(40, n_classes, 0)
    model = kind(**{**given, "neighbors": neighbors, "epsilon": 0.8}, domain=public)
    forest = model.fit(*rows).released_
    back = ReleasedForest.from_json(forest.to_json())
    assert (back.certificate, back.ledger) == (forest.certificate, forest.ledger)


def places(content, path=()) -> list[tuple]:
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path] * bool(path) + [place for key, value in inside for place in places(value, (*path, key))]


VALUES = st.one_of(
    st.sampled_from(["", "0", "1", "1/2", "1/1000", "2", "sequential", "parallel", "structure rows", "exponential"]),
    st.sampled_from(["add-remove", "replace-one", "gaussian", "pure", "max", "gini", "post", "schedule", None, True]),
    st.integers(0, 10**7),
    st.floats(0, 1),
)


@st.composite
def one_field_changed(draw) -> tuple[str, dict]:
    name = draw(st.sampled_from(sorted(MODELS)))
    content = copy.deepcopy(content_of(name, neighbors=draw(st.sampled_from(["add-remove", "replace-one"]))))
    part = draw(st.sampled_from(["ledger", "certificate", "about"]))
    *path, last = draw(st.sampled_from(places(content[part])))
    parent = content[part]
    for key in path:
        parent = parent[key]
    how = draw(st.sampled_from(["value", "value", "fraction", "remove", "twice"]))
    if how == "value":
        parent[last] = draw(VALUES)
    elif how == "fraction" and isinstance(parent[last], str) and parent[last].replace("/", "").isdigit():
        parent[last] = str(Fraction(parent[last]) * draw(st.fractions(Fraction(1, 3), 3, max_denominator=50)))
    elif how == "remove":
        del parent[last]
    elif how == "twice" and isinstance(parent, list):
        parent.insert(draw(st.integers(0, len(parent))), copy.deepcopy(parent[last]))
    return name, content


@settings(
    max_examples=examples(400), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(one_field_changed())
def test_a_change_of_one_field_is_refused_or_changes_no_promise(case):
    name, content = case
    try:
        forest = read(content)
    except ForestFormatError as error:
        assert str(error).endswith(".") and len(str(error)) < 500
        return
    genuine = filed(name, neighbors=content["ledger"]["neighbors"])
    assert forest.ledger == genuine.ledger
    assert json.dumps(forest.certificate.to_dict()) == json.dumps(genuine.certificate.to_dict())


def test_a_file_that_addresses_the_curator_is_still_read():
    """The reader accepts the assumptions in files of earlier versions, which contain the words "asserted by you"."""
    content = content_of("labels")
    old = [a.replace("asserted by the curator: ", "asserted by you: ") for a in content["certificate"]["assumptions"]]
    assert old != content["certificate"]["assumptions"]
    content["certificate"]["assumptions"] = old
    assert list(read(content).certificate.assumptions) == old
