"""With a unit of privacy, a simulation weighs each fitted person once, and each held-out person counts once."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import dpforest
from dpforest.simulation.pieces import NOISE_SEED, Cell, Row
from dpforest.simulation.splits import Split, split_table
from dpforest.simulation.sweep import simulation_for, splits
from dpforest.tables.domain import Domain
from dpforest.tables.rows import EncodedTable
from tests.conftest import public_domain

EPSILONS = (0.5, 5.0, 100.0, math.inf)
RANDOM = {
    "labels": dpforest.MajorityLabelForestClassifier(scale_share=0.2, size=40),
    "labels, shared": dpforest.MajorityLabelForestClassifier(partition="shared", leaf_mechanism="exponential"),
    "counts": dpforest.RandomDecisionForestClassifier(),
    "counts, independent": dpforest.RandomDecisionForestClassifier(partition="independent", voting="majority"),
}
FITTED = {
    "multinomial": dpforest.MultinomialForestClassifier(),
    "one tree": dpforest.FriedmanSchusterClassifier(scale_share=0.2, size=40),
    "boosted": dpforest.BoostedForestClassifier(n_bound=1_000),
    "booster": dpforest.RandomTreeBoosterClassifier(),
}


def repeated(n_persons: int = 60) -> tuple[Domain, pd.DataFrame, np.ndarray]:
    """Return a domain, and a table of persons with 1, 4 or 7 rows. The rows of different persons are mixed."""
    rng = np.random.default_rng(0)
    domain = replace(public_domain(None, 3, None), unit="person")
    person = rng.permutation(np.repeat(np.arange(n_persons), 1 + 3 * (np.arange(n_persons) % 3)))
    X = pd.DataFrame({"f0": rng.random(len(person)), "f2": rng.random(len(person))})
    X["f1"] = np.array(["c0", "c1", "c2"])[rng.integers(0, 3, len(person))]
    return domain, X.assign(person=person), (X["f0"] + rng.normal(0, 0.3, len(person)) > 0.5).to_numpy().astype(int)


def figures_of(forest, domain: Domain, split: Split, cells: list[Cell]) -> list[Row]:
    """Return the figures of simulated releases, by ε and cell."""
    simulation = simulation_for(forest, domain, split, n_rows=split.n_train)
    rows = [row for piece in simulation.pieces(EPSILONS, cells, seed=3) for row in piece]
    return sorted(rows, key=lambda row: (row["epsilon"], row["cell"]))


def fitted(forest, domain: Domain, split: Split, epsilon: float):
    """Return a separate fit with the seeds of the simulation."""
    model = clone(forest).set_params(epsilon=epsilon, random_state=3 + NOISE_SEED)
    if "structure_seed" in model.get_params():
        model.set_params(structure_seed=3)
    rows = EncodedTable(split.X_train, split.y_train, split.row_ids, split.n_train, split.units)
    return model.refitter(domain, rows)()


@pytest.mark.parametrize("name", RANDOM)
def test_routed_persons_are_counted_as_streamed_persons(name):
    """Counts are the same whether a simulation routes rows once for many cells, or reads them anew for each cell."""
    domain, X, y = repeated()
    split = split_table(domain, X, y)
    routed = figures_of(RANDOM[name], domain, split, [(2, 3), (4, 7)])
    for cell, (depth, n_trees) in enumerate([(2, 3), (4, 7)]):
        forest = clone(RANDOM[name]).set_params(max_depth=depth, n_estimators=n_trees)
        streamed = figures_of(forest, domain, split, [(None, None)])
        assert [row for row in routed if row["cell"] == cell] == [{**row, "cell": cell} for row in streamed]


@pytest.mark.parametrize("name", [*RANDOM, *FITTED])
def test_a_simulated_release_to_persons_is_a_separate_fit(name):
    domain, X, y = repeated()
    split = split_table(domain, X, y)
    forest = clone({**RANDOM, **FITTED}[name]).set_params(max_depth=3)
    rows = figures_of(forest, domain, split, [(None, None)])
    for row in rows[:-1]:  # without noise, a simulation uses the exact scale, and a fit the public scale
        predicted = fitted(forest, domain, split, row["epsilon"]).predict_codes(split.X_test)
        assert row["accuracy"] == pytest.approx((predicted == split.y_test).mean(), abs=1e-12)


@pytest.mark.parametrize("folds", [1, 3])
def test_each_held_out_person_has_one_row(folds):
    """The row of a held-out person is not always the first or last one, and does not depend on the cells."""
    domain, X, y = repeated()
    data, other = (type("Data", (), {"X": x, "y": z, "domain": domain}) for x, z in ((X, y), (X.assign(f0=0.5), 1 - y)))
    person, held_out = X["person"].to_numpy(), []
    for split, same in zip(splits(data, folds, 0), splits(other, folds, 0), strict=True):
        persons = person[split.test]
        assert len(persons) == len(split.y_test) == len(set(persons)) == (18 if folds == 1 else 20)
        assert split.test.tolist() == same.test.tolist()
        assert (split.y_test == y[split.test]).all()
        kept = np.flatnonzero(~np.isin(person, persons))
        assert (split.y_train == y[kept]).all() and split.n_train == 60 - len(persons)
        held_out += split.test.tolist()
    rank = pd.Series(person).groupby(person).cumcount().to_numpy()[held_out]
    assert len(set(rank)) > 3
    if folds == 3:
        assert sorted(person[held_out]) == list(range(60))


@pytest.mark.parametrize("cells", [[(None, None)], [(1, 1), (1, 2)]], ids=["streamed", "routed"])
def test_a_person_with_seven_rows_counts_once(cells):
    """Five fitted persons outvote one person with seven rows, and seven wrong rows of a held-out person count once."""
    domain = replace(public_domain(2), unit="person")
    # Each person has the class of their category, except for two persons with seven rows.
    person = np.r_[np.arange(40), np.repeat([40, 41], 7)]
    category, odd = person % 2, person >= 40
    X = pd.DataFrame({"f0": np.where(category == 1, "c1", "c0"), "person": person})
    forest = dpforest.RandomDecisionForestClassifier(n_estimators=1, max_depth=1, categorical="multiway")
    for seed in range(200):
        split = split_table(domain, X, np.where(odd, 1 - category, category), seed=seed)
        if odd[split.test].sum() == 1 and len(split.test) == 13:
            break
    assert odd[split.test].sum() == 1
    simulation = simulation_for(forest, domain, split)
    rows = [row for piece in simulation.pieces([math.inf], cells) for row in piece]
    assert len(rows) == len(cells) and all(row["accuracy"] == pytest.approx(12 / 13) for row in rows)
