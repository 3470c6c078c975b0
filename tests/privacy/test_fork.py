"""Tests that parent and child processes draw and release different values after a fork."""

import json
import os
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest

from dpforest import MajorityLabelForestClassifier, RandomDecisionForestClassifier, load_dataset
from dpforest.privacy import SecretSource
from dpforest.privacy.samplers import draw_noisy_counts

FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
SETTINGS = {"epsilon": 0.5, "n_estimators": 11, "max_depth": 5}
FORESTS = (MajorityLabelForestClassifier, RandomDecisionForestClassifier)


def seeded() -> None:
    """Seed all global random generators that a program may seed."""
    random.seed(0)
    np.random.seed(0)


def drawn(source: SecretSource, forests: list) -> dict[str, str]:
    """Return words, noise, and a release of each forest, fitted on the same rows with the same public seed."""
    data = load_dataset("zoo")
    seeded()
    texts = {
        "words": str(source.words(4)),
        "noise": str(draw_noisy_counts(np.zeros((99, 2), int), Fraction(9), source)),
    }
    for forest in forests:
        seeded()
        texts[type(forest).__name__] = forest.fit(data.X, data.y).released_.to_json()
    return texts


def fitted() -> list:
    data = load_dataset("zoo")
    return [kind(domain=data.domain, **SETTINGS).fit(data.X, data.y) for kind in FORESTS]


def in_a_child(source: SecretSource, forests: list) -> dict[str, str]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(write, "w") as pipe:
                json.dump(drawn(source, forests), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        texts = json.load(pipe)
    os.waitpid(child, 0)
    return texts


@FORK
def test_parent_and_children_share_no_draws():
    source, forests = SecretSource(), fitted()
    source.words(10)
    everyone = [in_a_child(source, forests), in_a_child(source, forests), drawn(source, forests)]
    for what in everyone[0]:
        assert len({texts[what] for texts in everyone}) == 3, what  # equal by chance with probability below 1e-30


@pytest.mark.parametrize("kind", range(len(FORESTS)))
def test_seeds_and_copies_replay_no_draws(kind):
    data, forest = load_dataset("zoo"), fitted()[kind]
    releases = [forest.released_.to_json()]
    for again in (forest, pickle.loads(pickle.dumps(forest)), type(forest)(**forest.get_params())):
        seeded()
        releases.append(again.fit(data.X, data.y).released_.to_json())
    assert len(set(releases)) == 4
    structure = {json.dumps({k: v for k, v in json.loads(r).items() if k in ("trees", "domain")}) for r in releases}
    assert len(structure) == 1, "the structure is public and follows from its seed"
