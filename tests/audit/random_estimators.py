"""Hypothesis strategies that draw certified estimators, on any small domain."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

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
)

MOST_LEAVES = 400  # largest number of leaves of a multiway tree
NEIGHBORS = st.sampled_from(["add-remove", "replace-one"])
# The second strategy draws numbers of many digits.
EPSILONS = st.one_of(st.sampled_from([1e-4, 0.1, 1.0, 1e4]), st.floats(1e-4, 1e4))
SHARES = st.floats(0.01, 0.99)


@st.composite
def features(draw, name: str) -> Feature:
    public = {"source": "documented", "source_note": "made up"}
    missing = draw(st.sampled_from(["refuse", "category", "value"]))
    if draw(st.booleans()):
        low, width = draw(st.sampled_from([(0, 1), (-1e-9, 1e-9), (-1e15, 1e16), (17, 3)]))
        value = low if missing == "value" else None
        return Feature(name, "numeric", low, low + width, missing=missing, missing_value=value, **public)
    categories = tuple(f"c{i}" for i in range(draw(st.sampled_from([1, 2, 3, 7, 40]))))
    value = "c0" if missing == "value" else None
    return Feature(name, "categorical", categories=categories, missing=missing, missing_value=value, **public)


@st.composite
def domains(draw) -> Domain:
    attributes = tuple(draw(features(f"f{i}")) for i in range(draw(st.integers(1, 6))))
    return Domain(attributes, tuple(range(draw(st.integers(2, 4)))), "y", "documented", "made up")


def _random(kind: type, depths, **options):
    return st.builds(
        kind,
        n_estimators=st.integers(1, 3),
        max_depth=depths,
        epsilon=EPSILONS,
        neighbors=NEIGHBORS,
        structure_seed=st.integers(0, 2**63 - 1),
        **options,
    )


CATEGORICAL = st.sampled_from(["multiway", "one-vs-rest", "ordered"])
CAPS = st.integers(1, MOST_LEAVES)


def estimators(most_depth: int, most_greedy_depth: int):
    """Return a strategy that draws a certified forest other than the random-tree booster, with any of its options."""
    deep, greedy = st.integers(0, most_depth), st.integers(1, most_greedy_depth)
    bins = st.sampled_from([2, 3, 10, 255, 1_000])
    partitions = st.sampled_from(["independent", "shared"])
    kinds = [
        _random(
            MajorityLabelForestClassifier,
            deep,
            leaf_mechanism=st.sampled_from([None, "exponential"]),
            partition=partitions,
            categorical=CATEGORICAL,
            max_leaves=CAPS,
        ),
        _random(
            RandomDecisionForestClassifier,
            deep,
            voting=st.sampled_from(["majority", "threshold", "probabilistic"]),
            negative_rule=st.sampled_from([None, "clamp", "paper"]),
            partition=partitions,
            categorical=CATEGORICAL,
            max_leaves=CAPS,
        ),
        _random(JagannathanForestClassifier, deep, max_leaves=CAPS),
        _random(RandomForestLaplaceClassifier, deep, n_quantiles=st.sampled_from([2, 10, 1_000])),
        _random(RandomForestExponentialClassifier, deep, n_quantiles=st.sampled_from([2, 10, 1_000])),
        st.builds(
            BoostedForestClassifier,
            n_estimators=st.integers(1, 3),
            max_depth=greedy,
            n_bins=bins,
            epsilon=st.floats(0.1, 100),
            neighbors=NEIGHBORS,
            tree_share=SHARES,
            calibration_share=SHARES,
            alpha=st.sampled_from([None, 0.5, "noisy", "carried", "schedule"]),
            alpha_link=st.floats(0.01, 1),
            leaf=st.sampled_from(["counts", "range"]),
            beta=st.sampled_from([None, "one", "laplace", "folded"]),
        ),
        st.builds(
            MultinomialForestClassifier,
            n_estimators=st.integers(1, 3),
            max_depth=greedy,
            n_bins=bins,
            epsilon=st.floats(0.01, 100),
            neighbors=NEIGHBORS,
            structure_seed=st.integers(0, 2**63 - 1),
            partition=partitions,
            split_score=st.sampled_from(["counts", "normalized"]),
        ),
        st.builds(
            FriedmanSchusterClassifier,
            max_depth=greedy,
            n_bins=bins,
            epsilon=st.floats(0.01, 100),
            neighbors=NEIGHBORS,
            tree_share=SHARES,
        ),
    ]
    return st.one_of(kinds)


def rows_of(domain: Domain, n: int, seed: int) -> pd.DataFrame:
    """Draw rows that include the ends of all ranges, and missing cells where the domain allows them."""
    rng = np.random.default_rng(seed)
    columns = {}
    for feature in domain.features:
        if feature.kind == "numeric":
            cells = rng.uniform(feature.low, feature.high, n).astype(object)
            cells[: min(n, 2)] = [feature.low, feature.high][: min(n, 2)]
        else:
            cells = rng.choice(np.array(feature.categories, object), n)
        if feature.missing != "refuse":
            cells[2:5] = None
        columns[feature.name] = cells
    return pd.DataFrame(columns, dtype=object)


def labels_of(domain: Domain, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(domain.classes, n)
