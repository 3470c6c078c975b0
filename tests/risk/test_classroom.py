"""The made-up school class: the division of students among trees, what counts reveal, and what noise protects."""

import numpy as np
import pytest

from dpforest.risk import classroom
from dpforest.risk.classroom import N_STUDENTS, members, n_right_by_class, published_counts, reconstruct, secrets
from dpforest.risk.guarantee import VALUE, Guarantee
from dpforest.risk.tradeoff import DistinguishingGame


def test_every_student_sits_in_one_leaf_of_each_tree():
    for trees in (1, 3, 10):
        table = members(trees)
        assert table.shape == (trees * 2**classroom.DEPTH, N_STUDENTS)
        assert (table.reshape(trees, -1, N_STUDENTS).sum(axis=1) == 1).all()


def test_exact_counts_are_the_true_ones():
    failed = secrets(3)
    counts = published_counts(failed, 5, None, 0)
    table = members(5)
    assert (counts.sum(axis=1) == table.sum(axis=1)).all()
    for leaf, (passed, fails) in zip(table, counts, strict=True):
        assert passed == (1 - failed)[leaf].sum() and fails == failed[leaf].sum()


@pytest.mark.parametrize("which", range(5))
def test_ten_exact_trees_are_the_table_itself(which):
    assert np.linalg.matrix_rank(members(10).astype(float)) == N_STUDENTS
    solved = reconstruct(members(10), published_counts(secrets(which), 10, None, 0))
    assert np.allclose(solved, secrets(which), atol=1e-3)


def test_undecided_students_count_half():
    """Students that three trees cannot distinguish count as half right, whatever the solver returns for them."""
    assert [(classroom.marks(3, None, which) == 0.5).sum() for which in range(4)] == [2, 0, 2, 4]


def test_students_alone_in_a_leaf_are_given_away_by_the_first_tree():
    alone = members(1)[members(1).sum(axis=1) == 1].any(axis=0)
    assert alone.sum() == 2
    for which in range(20):
        assert (classroom.marks(1, None, which)[alone] == 1).all()


def test_noise_keeps_the_attacker_below_the_limit():
    rebuilt = {e: n_right_by_class(10, e, 60) for e in (0.1, 1.0, 10.0)}
    means = [right.mean() for right in rebuilt.values()]
    assert means == sorted(means) and 13 < means[0] < 17 and means[2] > 22
    for epsilon, right in rebuilt.items():
        limit = N_STUDENTS * DistinguishingGame(Guarantee(epsilon), VALUE).success()
        assert right.mean() < limit + 3 * right.std() / np.sqrt(len(right))


def test_trees_share_epsilon():
    """Ten trees that share ε have the same noise as one tree at a tenth of ε."""
    assert classroom.spec_of(10).leaf_rate(1) == pytest.approx(classroom.spec_of(1).leaf_rate(1) / 10)
    spread = [
        np.std(published_counts(secrets(0), trees, 1.0, 5) - published_counts(secrets(0), trees, None, 0))
        for trees in (1, 10)
    ]
    assert spread[1] > 4 * spread[0]
