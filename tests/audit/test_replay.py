"""Record and replay: the audit records a fit, and repeats it with the same draws on a neighboring table.

Certified fits have no findings, and each known fault is reported with its line.
"""

import inspect
import re
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpforest import MajorityLabelForestClassifier
from dpforest.audit.replay.replay import replay
from dpforest.audit.replay.tape import Table
from dpforest.audit.replay.variants import (
    EPSILON,
    SIZES,
    VARIANTS,
    domain_of,
    neighbors_of,
    random_rows,
    replay_variant,
)
from dpforest.privacy.ledger import NEIGHBORS
from tests.audit.faulty import FAULTS, correct_fit
from tests.conftest import every, some

TWO = domain_of(2)
PAGE = ("attack", "audit_controls", "table", "rule_words", "verdict")
# Settings that no replay needs to vary: they change no query, only process answers, or act in the published mode only.
ASKS_NOTHING = {
    "epsilon",
    "mode",
    "domain",
    "random_state",
    "neighbors",
    "n_jobs",
    "structure_seed",
    "max_depth",
    "n_estimators",
    "categorical",
    "max_leaves",
    "n_quantiles",
    "voting",
    "negative_rule",
    "min_leaf",
    "stopping",
    "impurity",
    "purity_stop",
    "step_factor",
    "feature_temperature",
    "value_temperature",
    "label_temperature",
}


def neighbors(seed: int, n: int) -> tuple[Table, Table]:
    """Return a table, and the same table without a row."""
    return neighbors_of(random_rows(n, 2, 3 * seed), random_rows(1, 2, 0), "add-remove", 7 * seed % n)


def measured(seed: int, n: int) -> tuple[Table, Table]:
    """Return `neighbors` with known values of the first attribute, because faulty fits read this attribute."""
    values = pd.Series(np.random.default_rng(seed).random(n))
    (X, y), (fewer, labels) = neighbors(seed, n)
    return (X.assign(a=values), y), (fewer.assign(a=values), labels)


@pytest.mark.parametrize(
    "sizes", [(3, 12), pytest.param(SIZES, marks=pytest.mark.slow)], ids=["some sizes", "all sizes"]
)
@pytest.mark.parametrize("name, relation", some(VARIANTS, NEIGHBORS, every=5))
def test_certified_fits_have_no_findings_and_lose_at_most_epsilon(name, relation, sizes):
    """Certified fits have no findings.

    Forests in which every answer may cost its whole charge lose exactly ε. So the replay misses no part of the loss.
    """
    replays = list(replay_variant(name, relation, sizes=sizes))
    assert [str(f) for r in replays for f in r.findings] == []
    assert all(r.n_questions > 0 for r in replays)
    worst = max(r.loss for r in replays)
    assert 0 < worst <= EPSILON * (1 + 1e-9)
    if name in ("random decision", "random decision, independent", "JPW", "RF-L"):
        assert worst == pytest.approx(EPSILON)


@pytest.mark.parametrize("name", every(8, VARIANTS))
def test_the_same_table_shows_no_loss(name):
    table, (estimator, parameters) = random_rows(12, 2, 0), VARIANTS[name]
    model = estimator(domain=TWO, **parameters)
    threads = model.n_jobs not in (None, 1)
    comparison = replay(lambda table: model.fit(*table).forest_, table, table, epsilon=1.0, threads=threads)
    assert comparison.findings == () and comparison.loss == 0


def test_a_replay_restores_the_samplers():
    """After a replay the functions of dpforest/privacy/ are the original ones, and draws differ between fits."""
    before, after = neighbors(1, 30)
    model = MajorityLabelForestClassifier(domain=TWO, max_depth=4, n_estimators=20)
    replay(lambda table: model.fit(*table).forest_, before, after, epsilon=1.0)
    one, two = (model.fit(*before).forest_.leaves.labels for _ in range(2))
    assert (one != two).any()  # hundreds of mostly empty leaves are equal with probability 2**-200


def test_rows_in_place_of_others_are_new_rows():
    table, changed = neighbors_of(random_rows(5, 2, 0), random_rows(1, 2, 1), "replace-one", 3)
    assert changed[0].index.tolist() == [0, 1, 2, 5, 4] and len(changed[1]) == 5
    assert table[0].drop(index=3).equals(changed[0].drop(index=5))


def test_a_correct_fit_has_no_findings():
    for seed in range(10):
        comparison = replay(correct_fit, *neighbors(seed, 40), epsilon=1.0, one_tree=True)
        assert comparison.findings == () and comparison.loss == pytest.approx(1.0)


@pytest.mark.parametrize("fault", every(2, FAULTS), ids=lambda f: f.__name__)
def test_known_faults_are_reported_with_the_line(fault):
    """At least one of twenty pairs of tables shows the fault, and the finding names a line of the faulty function."""
    findings = [
        f for seed in range(20) for f in replay(fault, *measured(seed, 20), epsilon=1.0, one_tree=True).findings
    ]
    assert FAULTS[fault] <= {f.kind for f in findings}
    source, first = inspect.getsourcelines(fault)
    expected = [f for f in findings if f.kind in FAULTS[fault]]
    lines = [int(line) for f in expected for line in re.findall(r"tests/audit/faulty.py:(\d+)", f.line)]
    assert any(first <= line < first + len(source) for line in lines)
    if fault.__name__ == "exact_stop":
        branch = next(f for f in findings if f.kind == "branch")
        assert source[int(branch.line.split(":")[1]) - first].strip().startswith("if len(y) >= 20")


def test_older_threads_draw_fresh_noise_during_a_replay():
    """A thread that is older than the replay draws fresh noise while the replay runs."""
    before, after = neighbors(1, 30)
    model = MajorityLabelForestClassifier(domain=TWO, max_depth=4, n_estimators=20)
    other = MajorityLabelForestClassifier(domain=TWO, max_depth=4, n_estimators=20)
    drawn: list[np.ndarray] = []
    go, done = threading.Event(), threading.Event()

    def release_twice() -> None:
        go.wait(60)
        drawn.extend(clone(other).fit(*before).forest_.leaves.labels for _ in range(2))
        done.set()

    thread = threading.Thread(target=release_twice)
    thread.start()

    def fit(table: Table):
        forest = model.fit(*table).forest_
        go.set()
        done.wait(60)
        return forest

    assert replay(fit, before, after, epsilon=1.0, one_tree=True).findings == ()
    thread.join(60)
    assert (drawn[0] != drawn[1]).any()


def test_neither_engine_nor_app_loads_the_recorder():
    """The recorder can replace noise, so only auditors may import it."""
    pages = (
        "dpforest.plotting.audit",
        "dpforest.simulation.sweep",
        *(f"ui.audit.{name}" for name in PAGE),
        "ui.releasing.release",
    )
    code = f"import sys, {', '.join(pages)}; assert 'dpforest.audit.replay.recorder' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_every_setting_is_replayed():
    """A replay varies every setting of a forest, except those that `ASKS_NOTHING` lists."""
    for kind in {kind for kind, _ in VARIANTS.values()}:
        varied = {name for varied_kind, settings in VARIANTS.values() if varied_kind is kind for name in settings}
        assert set(inspect.signature(kind).parameters) <= varied | ASKS_NOTHING, kind.__name__


def test_forests_that_read_the_domain_from_the_rows_are_caught():
    def fit(table: Table):
        with pytest.warns(UserWarning, match="leaks"):
            return MajorityLabelForestClassifier(n_estimators=2, max_depth=2).fit(*table).forest_

    kinds = set()
    for seed in range(40):
        before, after = neighbors(seed, 12)
        kinds |= {f.kind for f in replay(fit, before, after, epsilon=1.0, one_tree=True).findings}
    assert kinds & {"release", "public"}
