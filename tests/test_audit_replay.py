"""Record and replay: certified fits show nothing, every known way to be wrong is reported with its line."""

import inspect

import numpy as np
import pytest
from conftest import public_domain
from faulty import FAULTS, right
from transcripts import random_table

from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.audit.recorder import Table
from dpforest.audit.replay import replay

RELATIONS = ("add-remove", "replace-one")
TWO, THREE = public_domain(None, 4, None, 3, n_classes=2), public_domain(None, 4, None, 3, n_classes=3)
SMALL = {"max_depth": 2, "n_bins": 4}
FORESTS = {
    "labels, independent": (MajorityLabelForestClassifier, {"n_estimators": 3, "max_depth": 3}),
    "labels, shared": (MajorityLabelForestClassifier, {"n_estimators": 3, "max_depth": 3, "partition": "shared"}),
    "counts, shared": (RandomDecisionForestClassifier, {"n_estimators": 3, "max_depth": 3}),
    "counts, independent": (RandomDecisionForestClassifier, {"n_estimators": 3, "partition": "independent"}),
    "JPW": (JagannathanForestClassifier, {"n_estimators": 3}),
    "RF-L": (RandomForestLaplaceClassifier, {"n_estimators": 3, "max_depth": 2}),
    "RF-E": (RandomForestExponentialClassifier, {"n_estimators": 3, "max_depth": 2}),
    "multinomial, independent": (MultinomialForestClassifier, {"n_estimators": 3, **SMALL}),
    "multinomial, shared": (MultinomialForestClassifier, {"n_estimators": 3, "partition": "shared", **SMALL}),
    "multinomial, normalised": (MultinomialForestClassifier, {"split_score": "normalised", **SMALL}),
    "one tree": (FriedmanSchusterClassifier, SMALL),
    "one tree, gini": (FriedmanSchusterClassifier, {"criterion": "gini", **SMALL}),
    "boosted": (BoostedForestClassifier, {"n_estimators": 3, **SMALL}),
    "boosted, noisy calibration": (BoostedForestClassifier, {"n_estimators": 3, "alpha": "noisy", **SMALL}),
    "boosted, values": (BoostedForestClassifier, {"n_estimators": 3, "leaf": "range", "beta": "laplace", **SMALL}),
}


def neighbours(domain, seed: int, relation: str, n: int = 40) -> tuple[Table, Table]:
    """A table and its neighbour; a row put in the place of another is a new one, with draws of its own."""
    row = 7 * seed % n
    X, y = random_table(domain, n, seed)
    without = X.drop(index=row), np.delete(y, row)
    if relation == "add-remove":
        return ((X, y), without) if seed % 2 else (without, (X, y))
    other, label = random_table(domain, 1, 1_000 + seed)
    replaced, labels = X.rename(index={row: n}), y.copy()
    replaced.iloc[row], labels[row] = other.iloc[0], label[0]
    return (X, y), (replaced, labels)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", FORESTS)
def test_certified_fits_show_nothing_and_lose_no_more_than_epsilon(name, relation):
    """And the forests whose every answer is worth epsilon show that: the sum of losses is not empty."""
    estimator, parameters = FORESTS[name]
    losses = []
    for seed in range(8):
        domain = THREE if seed % 2 and not name.startswith("boosted") else TWO
        before, after = neighbours(domain, seed, relation)
        model = estimator(epsilon=0.8, domain=domain, neighbours=relation, **parameters)
        independent = getattr(model, "partition", "shared") in (None, "independent")
        found = replay(
            lambda table, model=model: model.fit(*table).forest_, before, after, epsilon=0.8, neighbours=relation,
            one_tree=independent,
        )  # fmt: skip
        assert found.findings == () and found.n_questions > 0
        losses.append(found.loss)
    assert max(losses) <= 0.8 * (1 + 1e-9)
    if name in ("labels, independent", "counts, shared", "counts, independent", "JPW", "RF-L"):
        assert max(losses) == pytest.approx(0.8)


def test_the_same_table_shows_no_loss():
    before, _ = neighbours(TWO, 3, "add-remove")
    for estimator, parameters in FORESTS.values():
        model = estimator(domain=TWO, **parameters)
        found = replay(lambda table, model=model: model.fit(*table).forest_, before, before, epsilon=1.0)
        assert found.findings == () and found.loss == 0


def test_nothing_is_left_behind():
    """The door is as it was after a replay, and draws differ from one fit to the next."""
    before, after = neighbours(TWO, 1, "add-remove")
    model = MajorityLabelForestClassifier(domain=TWO, max_depth=4, n_estimators=20)
    replay(lambda table: model.fit(*table).forest_, before, after, epsilon=1.0)
    one, two = (model.fit(*before).forest_.labels for _ in range(2))
    assert (one != two).any()  # 320 leaves, most of them empty: alike by chance in 2**-200


def test_a_fit_that_is_right_shows_nothing():
    for seed in range(10):
        found = replay(right, *neighbours(TWO, seed, "add-remove"), epsilon=1.0, one_tree=True)
        assert found.findings == () and found.loss == pytest.approx(1.0)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_known_faults_are_reported_with_the_line(fault):
    """On a table of 20 rows and one of 19, in some of a few pairs at least; each line lies in the faulty function."""
    found = [
        f
        for seed in range(20)
        for f in replay(fault, *neighbours(TWO, seed, "add-remove", n=20), epsilon=1.0, one_tree=True).findings
    ]
    assert FAULTS[fault] <= {f.kind for f in found}
    source, first = inspect.getsourcelines(fault)
    own = [f for f in found if f.kind in FAULTS[fault] and f.line.startswith("tests/faulty.py:")]
    assert own
    if fault.__name__ == "exact_stop":
        branch = next(f for f in found if f.kind == "branch")
        assert source[int(branch.line.split(":")[1]) - first].strip().startswith("if len(y) >= 20")


def test_forests_that_read_the_domain_from_the_rows_are_caught():
    def fit(table: Table):
        with pytest.warns(UserWarning, match="leaks"):
            return MajorityLabelForestClassifier(n_estimators=2, max_depth=2).fit(*table).forest_

    kinds = set()
    for seed in range(40):
        before, after = neighbours(TWO, seed, "add-remove", n=12)
        kinds |= {f.kind for f in replay(fit, before, after, epsilon=1.0, one_tree=True).findings}
    assert kinds & {"release", "public"}
