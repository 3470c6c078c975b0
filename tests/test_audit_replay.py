"""Record and replay: certified fits show nothing, every known way to be wrong is reported with its line."""

import inspect

import pytest
from faulty import FAULTS, right

from dpforest import MajorityLabelForestClassifier
from dpforest.audit.recorder import Table
from dpforest.audit.replay import replay
from dpforest.audit.variants import (
    EPSILON,
    VARIANTS,
    domain_of,
    neighbours_of,
    random_rows,
    replay_variant,
)
from dpforest.privacy.ledger import NEIGHBOURS

TWO = domain_of(2)


def neighbours(seed: int, n: int) -> tuple[Table, Table]:
    """A table and the same without a row."""
    return neighbours_of(random_rows(n, 2, 3 * seed), random_rows(1, 2, 0), "add-remove", 7 * seed % n)


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("name", VARIANTS)
def test_certified_fits_show_nothing_and_lose_no_more_than_epsilon(name, relation):
    """And forests whose every answer may cost ε show that: what is added up is not empty."""
    replays = list(replay_variant(name, relation))
    assert [str(f) for r in replays for f in r.findings] == []
    assert all(r.n_questions > 0 for r in replays)
    worst = max(r.loss for r in replays)
    assert 0 < worst <= EPSILON * (1 + 1e-9)
    if name in ("random decision", "random decision, independent", "JPW", "RF-L"):
        assert worst == pytest.approx(EPSILON)


def test_the_same_table_shows_no_loss():
    table = random_rows(12, 2, 0)
    for estimator, parameters in VARIANTS.values():
        model = estimator(domain=TWO, **parameters)
        found = replay(lambda table, model=model: model.fit(*table).forest_, table, table, epsilon=1.0)
        assert found.findings == () and found.loss == 0


def test_nothing_is_left_behind():
    """The door is as it was after a replay, and draws differ from one fit to the next."""
    before, after = neighbours(1, 30)
    model = MajorityLabelForestClassifier(domain=TWO, max_depth=4, n_estimators=20)
    replay(lambda table: model.fit(*table).forest_, before, after, epsilon=1.0)
    one, two = (model.fit(*before).forest_.labels for _ in range(2))
    assert (one != two).any()  # hundreds of leaves, most of them empty: alike by chance in 2**-200


def test_rows_in_place_of_others_are_new_rows():
    table, changed = neighbours_of(random_rows(5, 2, 0), random_rows(1, 2, 1), "replace-one", 3)
    assert changed[0].index.tolist() == [0, 1, 2, 5, 4] and len(changed[1]) == 5
    assert table[0].drop(index=3).equals(changed[0].drop(index=5))


def test_a_fit_that_is_right_shows_nothing():
    for seed in range(10):
        found = replay(right, *neighbours(seed, 40), epsilon=1.0, one_tree=True)
        assert found.findings == () and found.loss == pytest.approx(1.0)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_known_faults_are_reported_with_the_line(fault):
    """On a table of 20 rows and one of 19, in some of a few pairs at least; each line lies in the faulty function."""
    found = [f for seed in range(20) for f in replay(fault, *neighbours(seed, 20), epsilon=1.0, one_tree=True).findings]
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
        before, after = neighbours(seed, 12)
        kinds |= {f.kind for f in replay(fit, before, after, epsilon=1.0, one_tree=True).findings}
    assert kinds & {"release", "public"}
