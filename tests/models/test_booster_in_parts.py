"""The random-tree booster on a table in parts: the forest of the whole table, bit for bit, and no file that stays."""

import json
import os
import resource
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpforest import Domain, Feature, RandomTreeBoosterClassifier, ReleasedForest
from dpforest.audit.replay.variants import domain_of, random_rows
from dpforest.book import Book
from dpforest.limits import MAX_BOUND, MAX_SUMMED_ROWS
from dpforest.models.base import bound_sentence
from dpforest.models.boosting.clip_bound import ClipBound
from dpforest.models.boosting.gradient_sums import GradientSums
from dpforest.models.data_dependent import EncodedRows
from dpforest.privacy.ledger import NEIGHBORS
from dpforest.trees import forest_file, naive
from dpforest.trees.random_trees import grow_random_trees
from dpforest.trees.routing import leaves_in

DOMAINS = {n: domain_of(n) for n in (2, 3)}
OF_PERSONS = replace(DOMAINS[2], unit="id")


def parts(X, y, *borders):
    """Cut a table into parts. The first part and a part in the middle have no row."""
    ends = [0, 0, *borders, borders[-1], len(y)]
    return [(X.iloc[a:b], y[a:b]) for a, b in zip(ends, ends[1:], strict=False)]


def written(model):
    return json.loads(forest_file.written(model.forest_)), repr(model.certificate_), repr(model.ledger_)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_parts_give_the_forest_of_the_whole_table(n_classes, delta, neighbors):
    X, y = random_rows(400, n_classes, 1)
    y[::7] = 99  # no label that is listed
    model = RandomTreeBoosterClassifier(
        domain=DOMAINS[n_classes], delta=delta, neighbors=neighbors, random_state=4, epsilon=3
    )
    with pytest.warns(UserWarning, match="no label that is listed"):
        whole = written(clone(model).fit(X, y))
    for borders in ((1, 200), (399,), (100, 101, 350)):
        with pytest.warns(UserWarning, match="no label that is listed"):
            assert written(clone(model).fit_chunks(iter(parts(X, y, *borders)))) == whole


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_person_may_have_rows_in_several_parts(delta):
    X, y = random_rows(300, 2, 2)
    X["id"] = np.random.default_rng(0).integers(0, 40, 300)
    model = RandomTreeBoosterClassifier(domain=OF_PERSONS, delta=delta, random_state=4, epsilon=3)
    whole = written(clone(model).fit(X, y))
    assert written(clone(model).fit_chunks(parts(X, y, 90, 210))) == whole
    with pytest.raises(ValueError, match="can be read only once"):
        clone(model).fit_chunks(iter(parts(X, y, 90)))


def test_a_table_without_rows_is_released_like_any_other():
    # Without `max_depth`, the noisy number of rows decides the depth, which the certificate names.
    model = RandomTreeBoosterClassifier(domain=DOMAINS[2], max_depth=3)
    assert model.fit_chunks([]).certificate_.certified
    assert model.certificate_ == clone(model).fit(*random_rows(50, 2, 0)).certificate_


def test_files_have_no_names_and_are_gone_after_the_fit(tmp_path):
    X, y = random_rows(400, 2, 1)
    seen = []

    def chunks():
        for part in parts(X, y, 200):
            seen.append(list(tmp_path.iterdir()))
            yield part

    RandomTreeBoosterClassifier(domain=DOMAINS[2], random_state=0).fit_chunks(chunks(), folder=tmp_path)
    assert seen and not any(seen) and not list(tmp_path.iterdir())
    assert not [path for path in _open_files() if path.startswith(str(tmp_path))]


def _open_files():
    """Return the paths of all files that this process has open."""
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [os.readlink(link) for link in links if os.path.lexists(link)]


# The encoded rows take 2,000 × 2 × 2 bytes, so the larger limit leaves room for them, and none for the scores.
@pytest.mark.parametrize("room", [4_096, 12_000])
def test_without_room_on_the_disk_nothing_is_released_or_booked(tmp_path, room):
    X, y = random_rows(2_000, 2, 1)
    book = Book(tmp_path / "book.sqlite")
    book.add_population("patients", cap=5)
    model = RandomTreeBoosterClassifier(domain=DOMAINS[2])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            model.fit_chunks(parts(X, y, 1_000), folder=tmp_path, account=book.account("patients"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not hasattr(model, "forest_") and not book.population("patients").bookings
    model.fit_chunks(parts(X, y, 1_000), folder=tmp_path, account=book.account("patients"))
    assert len(book.population("patients").bookings) == 1


def test_a_round_is_not_added_twice_and_not_left_out():
    domain, clip = DOMAINS[2], ClipBound(2, "gaussian")
    X, y = random_rows(200, 2, 1)
    rows = EncodedRows(codes=domain.encode(X), y=y.astype(np.int32), row_ids=np.arange(200), n_given=200)
    trees = grow_random_trees(domain, n_trees=4, depth=2, seed=0, categorical="ordered")
    sums, moves = GradientSums(domain, trees, clip, rows), np.full((4, 1), 2**19)
    first = sums.of_round(0, np.zeros((4, 1), np.int64))
    second = sums.of_round(1, moves).copy()
    assert np.array_equal(sums.of_round(1, moves), second) and not np.array_equal(first, second)
    with pytest.raises(RuntimeError, match="round 3 was asked for after round 1"):
        sums.of_round(3, moves)
    assert sums.of_round(2, moves).sum() != second.sum()


def test_the_limit_on_rows_is_that_of_the_sums():
    model = RandomTreeBoosterClassifier()
    certificate, _ = model.preview(DOMAINS[2], MAX_SUMMED_ROWS)
    assert bound_sentence(MAX_SUMMED_ROWS) in certificate.assumptions
    with pytest.raises(ValueError, match=f"more rows than the {MAX_SUMMED_ROWS:,} that this forest accepts"):
        model.preview(DOMAINS[2], MAX_SUMMED_ROWS + 1)
    sized = RandomTreeBoosterClassifier(domain=DOMAINS[2], size=MAX_SUMMED_ROWS).fit(*random_rows(50, 2, 0))
    assert sized.certificate_.certified and ReleasedForest.from_json(sized.released_.to_json())


def test_files_with_the_earlier_limit_are_still_read():
    """The limit was 2,000,000 rows, also with persons. A file that claims any other number is refused."""
    for domain, unit in ((DOMAINS[2], None), (OF_PERSONS, "id")):
        X, y = random_rows(60, 2, 0)
        model = RandomTreeBoosterClassifier(domain=domain, epsilon=1.0).fit(X.assign(id=range(60)), y)
        text = model.released_.to_json()
        current = bound_sentence(MAX_SUMMED_ROWS, unit)
        assert text.count(current) == 1
        ReleasedForest.from_json(text.replace(current, bound_sentence(MAX_BOUND, unit)))
        with pytest.raises(ValueError, match="assumption"):
            ReleasedForest.from_json(text.replace(current, bound_sentence(MAX_BOUND + 1, unit)))


def test_no_part_may_determine_the_domain():
    X, y = random_rows(60, 2, 0)
    without_classes = Domain((Feature("a", "numeric", 0, 1),))
    for domain in (None, without_classes):
        with pytest.raises(ValueError, match="only with a public domain that has classes"):
            RandomTreeBoosterClassifier(domain=domain).fit_chunks([(X, y)])


def test_parts_are_read_by_name_and_a_part_without_a_column_is_refused():
    X, y = random_rows(60, 2, 0)
    model = RandomTreeBoosterClassifier(domain=DOMAINS[2], random_state=0)
    whole = written(clone(model).fit(X, y))
    assert written(clone(model).fit_chunks([(X[X.columns[::-1]], pd.Series(y))])) == whole
    with pytest.raises(ValueError, match="column"):
        clone(model).fit_chunks([(X, y), (X.iloc[:, 1:], y)])


@pytest.mark.parametrize("depth", [1, 2, 9])
def test_leaves_are_numbered_within_each_tree(depth):
    """Trees of depth 1 take another way through the kernels than deeper ones."""
    X, _ = random_rows(300, 2, 1)
    domain = DOMAINS[2]
    trees, codes = grow_random_trees(domain, n_trees=5, depth=depth, seed=0, categorical="ordered"), domain.encode(X)
    leaves = np.zeros((6, 300), np.uint16)
    leaves_in(trees, domain, codes, leaves)
    assert np.array_equal(leaves[:5] + trees.leaf_start[:-1, None], naive.leaves_of_rows(trees, codes))
    assert not leaves[5].any()
