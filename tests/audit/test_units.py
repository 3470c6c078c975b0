"""Neighbors that differ in all rows of a person: sound forests have no findings, and mistakes are detected."""

import warnings
from collections.abc import Iterator

import pytest

from dpforest.audit import persons
from dpforest.audit.persons import check_persons
from dpforest.audit.replay.persons import (
    N_ROWS,
    OF_PERSONS,
    REFUSED,
    UNIT,
    neighbors_of_persons,
    replay_formats_of_persons,
    replay_persons,
)
from dpforest.audit.replay.variants import EPSILON, VARIANTS
from dpforest.privacy.laws import CERTIFIED, NOISY_COUNTS
from dpforest.privacy.ledger import NEIGHBORS
from dpforest.privacy.release import LIPSCHITZ
from tests.audit.mutants.mutation import Mutant, mutated
from tests.audit.mutants.units import UNITS
from tests.conftest import every, some

# Mistakes that an enumeration detects. Then, for each further mistake, a variant of a forest whose replays detect it.
ENUMERATED = (
    "weights_by_rows_before_the_cap",
    "cap_by_the_order_of_the_table",
    "weights_in_floating_point",
    "one_node_on_the_coarse_grid",
    "roots_of_one_light_row",
    "weighted_gradients_are_rounded_away_from_0",
)
REPLAYED = {
    "a_draw_for_each_row": "random decision, independent",
    "the_number_of_rows_for_that_of_persons": "booster, as it comes",
    "weights_are_rounded_up": "random decision",
    "scale_noise_for_one_unit": "JPW, scale",
    "parts_weigh_by_themselves": "random decision, scale",
    "whole_counts_if_nobody_has_two_rows": "RF-L",
    "labels_at_the_rate_of_rows": "RF-E",
    "boosted_weights_are_rounded_up": "boosted",
    "the_public_number_is_that_of_rows": "booster, as it comes",
}


@pytest.mark.parametrize("n_cases", [150, pytest.param(6_000, marks=pytest.mark.slow)])
def test_no_person_costs_more_than_is_charged(n_cases):
    assert list(check_persons(n_cases)) == []


@pytest.mark.parametrize(
    "n_rows", [(7, 300), pytest.param(N_ROWS, marks=pytest.mark.slow)], ids=["some rows", "all numbers of rows"]
)
@pytest.mark.parametrize("name, relation", some(OF_PERSONS, NEIGHBORS, every=5))
def test_a_person_loses_at_most_epsilon(name, relation, n_rows):
    """A person with the whole weight in one leaf loses exactly ε, if answers of the forest may cost their charge."""
    replays = list(replay_persons(name, relation, n_rows=n_rows))
    assert [f"{where}: {finding}" for where, replay in replays for finding in replay.findings] == []
    worst = max(replay.loss for _, replay in replays)
    assert 0 < worst <= EPSILON * (1 + 1e-9)
    if name in ("random decision", "random decision, independent", "JPW", "RF-L") and relation == "add-remove":
        assert worst == pytest.approx(EPSILON)


@pytest.mark.parametrize("name, relation", some(OF_PERSONS, NEIGHBORS, every=8))
def test_a_person_loses_at_most_epsilon_in_every_format(name, relation):
    replays = list(replay_formats_of_persons(name, relation))
    assert [f"{where}: {finding}" for where, replay in replays for finding in replay.findings] == []


def test_neighbors_differ_in_all_rows_of_one_person():
    for seed, relation in enumerate(NEIGHBORS * 2):
        (X, _), (Z, _) = neighbors_of_persons(300, 2, relation, "random rows", seed)
        names = [set(table[UNIT].dropna()) for table in (X, Z)]
        assert len(names[0] ^ names[1]) == (1 if relation == "add-remove" else 2)
        for name in names[0] & names[1]:
            assert X[X[UNIT] == name].drop(columns=UNIT).astype(str).values.tolist() == (
                Z[Z[UNIT] == name].drop(columns=UNIT).astype(str).values.tolist()
            )
        assert X[UNIT].isna().sum() == Z[UNIT].isna().sum() == 2


def test_every_variant_is_replayed_or_refused():
    assert set(OF_PERSONS) | set(REFUSED) == set(VARIANTS)
    for name in REFUSED:
        with pytest.raises(ValueError, match="unit of privacy"):
            next(replay_persons(name, "add-remove"))


def test_every_leaf_mechanism_is_enumerated_or_refused(monkeypatch):
    """The auditor enumerates each leaf mechanism that forests use with a unit of privacy, and refuses all others."""
    checked, worst_labels, noise_scale = set(), persons._worst_labels, persons.noise_scale

    def recorded_labels(mechanism, *args):
        checked.add(mechanism)
        return worst_labels(mechanism, *args)

    def recorded_noise(*args):
        checked.add(NOISY_COUNTS)
        return noise_scale(*args)

    monkeypatch.setattr(persons, "_worst_labels", recorded_labels)
    monkeypatch.setattr(persons, "noise_scale", recorded_noise)
    assert list(persons.check_persons(0)) == []
    refused = {VARIANTS[name][1].get("leaf_mechanism") for name in REFUSED} - {None}
    assert checked == set(LIPSCHITZ) and not checked & refused
    assert checked | refused == {*CERTIFIED, NOISY_COUNTS}


def findings(mutant: Mutant) -> Iterator[str]:
    """Yield the messages of the auditor for this mistake."""
    if mutant.name in ENUMERATED:
        yield from check_persons(150)
        return
    for replays in (replay_persons, replay_formats_of_persons):
        for relation in NEIGHBORS:
            for where, replay in replays(REPLAYED[mutant.name], relation):
                yield from (f"{where}: {finding}" for finding in replay.findings)


@pytest.mark.parametrize("mutant", every(4, UNITS), ids=lambda mutant: mutant.name)
def test_a_mistake_about_persons_is_detected(mutant: Mutant):
    with mutated(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert next(findings(mutant), None) is not None, mutant.why


def test_the_mistakes_about_persons_are_different():
    assert {mutant.name for mutant in UNITS} == {*ENUMERATED, *REPLAYED}
    assert len(UNITS) == len({mutant.new + mutant.function for mutant in UNITS}) == 15
