"""A split holds out all rows of a person, in an order that depends on the seed and on identifiers alone."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupShuffleSplit

from dpforest import MajorityLabelForestClassifier, load_dataset
from dpforest.simulation.hold_out import hold_out, person_folds, person_ranks
from dpforest.simulation.splits import split_labels, split_table
from dpforest.simulation.sweep import splits, surface
from dpforest.tables.features import DomainError

PERSONS = np.random.default_rng(0).integers(0, 40, 300)


def test_every_person_is_on_one_side_and_their_number_is_that_of_scikit_learn():
    for n, share in ((2, 0.3), (3, 0.3), (10, 0.3), (40, 0.25), (41, 0.999)):
        persons = np.arange(300) % n
        held = hold_out(persons, share=share)
        sides = pd.Series(held).groupby(persons).nunique()
        assert (sides == 1).all()
        rule = GroupShuffleSplit(1, test_size=min(share, 1 - 1 / n)).split(persons, groups=persons)
        assert len(np.unique(persons[held])) == len(np.unique(persons[next(rule)[1]]))


def test_the_order_of_rows_and_the_type_of_identifiers_do_not_matter():
    held = hold_out(PERSONS, share=0.3, seed=5)
    order = np.random.default_rng(1).permutation(300)
    assert (hold_out(PERSONS[order], share=0.3, seed=5) == held[order]).all()
    kinds = [PERSONS.tolist(), PERSONS.astype(str), PERSONS.astype(float), pd.Series(PERSONS.astype(str))]
    kinds += [pd.Series(PERSONS.astype(str)).astype("category"), PERSONS.astype(object)]
    for identifiers in kinds:
        assert (hold_out(identifiers, share=0.3, seed=5) == held).all()
    assert (hold_out(PERSONS, share=0.3, seed=6) != held).any()


def test_texts_that_differ_are_different_persons_and_rows_without_identifier_are_one():
    assert len(set(person_ranks(["07", "7", "é", "e"]))) == 4
    ranks = person_ranks(pd.Series(["a", None, np.nan, pd.NA, "nan", "nobody"], dtype=object))
    assert len(set(ranks[1:4])) == 1 and len(set(ranks)) == 4


@pytest.mark.slow
def test_another_process_holds_out_the_same_persons():
    code = "from dpforest.simulation.hold_out import hold_out\n"
    code += "print(hold_out([f'p{i}' for i in range(50)], share=0.3, seed=3).nonzero()[0].tolist())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    in_this_process = hold_out([f"p{i}" for i in range(50)], share=0.3, seed=3).nonzero()[0].tolist()
    assert printed.strip() == str(in_this_process)


def test_a_new_person_moves_few_others():
    persons = np.arange(1_000)
    before, after = hold_out(persons, share=0.3), hold_out(np.append(persons, 1_000), share=0.3)[:-1]
    assert np.count_nonzero(before != after) <= 1


def test_folds_hold_each_person_out_once():
    fold = person_folds(PERSONS, 5, seed=1)
    assert (pd.Series(fold).groupby(PERSONS).nunique() == 1).all()
    assert np.bincount(pd.Series(fold).groupby(PERSONS).first()).tolist() == [8] * 5


def test_a_table_of_one_person_cannot_be_split():
    for few in (lambda: hold_out(["a"] * 9, share=0.3), lambda: person_folds(["a", "b"], 3)):
        with pytest.raises(DomainError, match="too few to hold some out"):
            few()


@pytest.mark.filterwarnings("ignore::dpforest.tables.out_of_domain.OutOfDomainWarning")
@pytest.mark.parametrize("folds", [1, 3])
def test_splits_hold_out_persons_and_know_which_rows(folds):
    data = load_dataset("zoo")
    y = data.y.copy().astype(object)
    y.iloc[::7] = "no class"
    data = type("Data", (), {"X": data.X, "y": y, "domain": data.domain})
    persons = np.arange(len(y)) // 3
    made = splits(data, folds, 0, groups=persons)
    listed = data.domain.listed_labels(y)
    for split in made:
        held = set(persons[split.test])
        kept = [i for i in np.flatnonzero(listed >= 0) if persons[i] not in held]
        assert (split.y_test == listed[split.test]).all() and (split.y_train == listed[kept]).all()
        assert (split.X_test == data.domain.encode(data.X)[split.test]).all()
    if folds == 1:
        train, test = split_labels(data.domain, y, groups=persons)
        assert (train == made[0].y_train).all() and (test == made[0].y_test).all()
    else:
        assert sorted(np.concatenate([split.test for split in made])) == np.flatnonzero(listed >= 0).tolist()


def test_splits_by_row_know_which_rows():
    data = load_dataset("zoo")
    for split in [split_table(data.domain, data.X, data.y), *splits(data, 3, 0)]:
        assert (split.X_test == data.domain.encode(data.X)[split.test]).all()


def test_a_surface_by_person_scores_no_copies_of_fitted_rows():
    """A split by person never tests a forest on copies of the rows that it was fitted on, unlike a split by row.

    Each person has four equal rows.
    """
    data = load_dataset("cmc")
    four = type("Data", (), {"X": pd.concat([data.X] * 4), "y": pd.concat([data.y] * 4), "domain": data.domain})
    forest = MajorityLabelForestClassifier(n_estimators=5, max_depth=12, partition="shared")
    persons = np.tile(np.arange(len(data.y)), 4)
    by_row, by_person = (
        surface([forest], four, epsilons=[1e4], repeats=2, groups=groups).accuracy.mean() for groups in (None, persons)
    )
    assert by_row > by_person + 0.1
    with pytest.raises(ValueError, match="groups has 3 entries for 5,892 rows"):
        surface([forest], four, epsilons=[1.0], groups=[1, 2, 3])
