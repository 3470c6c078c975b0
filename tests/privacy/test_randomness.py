"""Tests that releases draw fresh entropy that nothing can replay.

Demonstrations, which have a seed, compute each draw from the seed and a key, not from the number of earlier draws.
"""

import copy
import os
import pickle

import numpy as np
import pytest

from dpforest.privacy import DemoSource, SecretSource, assign_rows, release_counts
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.randomness import ASSIGNMENT, COUNTS, LABELS


def test_secret_source_holds_nothing_and_cannot_be_copied():
    source = SecretSource()
    assert not hasattr(source, "__dict__") and SecretSource.__slots__ == ()
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps, lambda s: pickle.dumps({"forest": [s]}, protocol=2)):
        with pytest.raises(TypeError, match="cannot be copied or stored"):
            duplicate(source)


def test_secret_words_are_fresh():
    source = SecretSource()
    words = np.concatenate([source.words(500), source.words(500), SecretSource().words(500)])
    assert words.dtype == np.uint64 and words.flags.writeable and len(np.unique(words)) == 1500
    bits = np.unpackbits(words.view(np.uint8)).mean()
    assert abs(bits - 0.5) < 0.009  # 96,000 fair bits: 5.6 standard deviations, false alarm below 3e-8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_does_not_repeat_draws():
    source = SecretSource()
    source.words(10)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, source.words(4).tobytes() + assign_rows(16, 1000, source).tobytes())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    ours = source.words(4).tobytes() + assign_rows(16, 1000, source).tobytes()
    assert len(theirs) == len(ours) and theirs[:32] != ours[:32] and theirs[32:] != ours[32:]


def test_two_releases_differ():
    def release():
        settings = {"epsilon": 1, "n_trees": 1, "partition": "shared", "neighbors": "add-remove"}
        return release_counts(np.zeros((50, 2), int), **settings, ledger=Ledger(1), source=SecretSource())

    assert (release() != release()).any()  # equal with probability below 0.4**100


@pytest.mark.parametrize("ids", [np.arange(5000), np.arange(5000)[::-1], np.arange(5000) * 7 + 2**40])
def test_dropping_row_0_moves_no_other_row(ids):
    source = DemoSource(11)
    everyone = assign_rows(ids, 13, source)
    assert everyone.dtype == np.int32 and set(everyone) == set(range(13))
    np.testing.assert_array_equal(assign_rows(ids[1:], 13, source), everyone[1:])
    shuffled = np.random.default_rng(0).permutation(len(ids))
    np.testing.assert_array_equal(assign_rows(ids[shuffled], 13, source), everyone[shuffled])


def test_a_number_of_rows_means_their_positions_also_across_blocks():
    n = 65_536 + 100
    everyone = assign_rows(n, 7, DemoSource(2))
    np.testing.assert_array_equal(everyone, assign_rows(np.arange(n), 7, DemoSource(2)))
    assert (everyone != assign_rows(n, 7, DemoSource(3))).mean() > 0.8
    assert len(assign_rows(0, 7, DemoSource(2))) == 0 == len(assign_rows(0, 7, SecretSource()))


def test_demo_words_are_keyed_uniform_and_independent_between_streams_and_seeds():
    keys = np.arange(40_000)
    streams = [
        DemoSource(seed).words(keys, stream) for seed in (0, 1, 2**64 - 1) for stream in (ASSIGNMENT, LABELS, COUNTS)
    ]
    for words in streams:
        bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        assert abs(bits.mean(axis=0) - 0.5).max() < 0.0125  # 5 standard deviations; the draws have a fixed seed
    for i, words in enumerate(streams):
        for others in streams[:i]:
            agree = np.unpackbits((words ^ others).view(np.uint8)).mean()
            assert abs(agree - 0.5) < 0.002
    source = DemoSource(5)
    np.testing.assert_array_equal(source.words(keys[::-1].reshape(2, -1), 1).ravel(), source.words(keys, 1)[::-1])


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range_are_refused(seed):
    with pytest.raises(ValueError, match="seed must lie"):
        DemoSource(seed)


def test_demo_source_may_be_stored():
    assert pickle.loads(pickle.dumps(DemoSource(7))).seed == 7
