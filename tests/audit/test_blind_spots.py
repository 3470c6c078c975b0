"""Auditors of random domains, of the worst single row, and of the influence of one cell or row on others.

Sound code passes these auditors, and they detect sixteen known mistakes, several of which older auditors missed. The
authors of the mistakes had not read these auditors. By default, only the auditor that `DETECTED_BY` names runs on a
mistake. With `--slow`, `suspicions` also runs all auditors on it.
"""

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from dpforest.audit.exact import most_mu
from dpforest.audit.reading import check_reading
from dpforest.audit.replay.large_tables import QUICK_SETTINGS
from dpforest.audit.replay.random_replays import SAMPLE, random_replays
from dpforest.audit.replay.random_tables import edges, random_feature
from dpforest.audit.replay.same_rows import check_same_rows
from dpforest.audit.replay.settings import FORESTS
from dpforest.audit.replay.themes import THEMES
from dpforest.audit.samplers.bridge import check_bridge
from dpforest.audit.samplers.tails import check_tails
from dpforest.audit.single_rows import check_single_rows, largest_gradient, worst_loss
from dpforest.audit.suite import suspicions
from dpforest.privacy.ledger import NEIGHBORS
from dpforest.privacy.loss import mu_for
from dpforest.trees.released_scale import CELLS
from tests.audit.mutants.blind_spots import BLIND_SPOTS
from tests.audit.mutants.independent import INDEPENDENT
from tests.audit.mutants.mutation import Mutant, mutated
from tests.audit.test_mutants import certified
from tests.conftest import every

# ---------------------------------------------------------------- sound code has no findings


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 40), marks=pytest.mark.slow)], ids=["one", "many"])
@pytest.mark.parametrize("theme", every(8, THEMES))
def test_forests_on_random_domains_have_no_findings(theme, seeds):
    """Forests have no findings on domains with many classes, rounds, numbers of rows and unreadable cells."""
    replays = [
        (name, *comparison)
        for name, cases in random_replays(seeds=seeds, themes=(theme,)).items()
        for comparison in cases
    ]
    assert [f"{name}, {where}: {f}" for name, where, comparison in replays for f in comparison.findings] == []
    assert len(replays) == len(FORESTS) * len(seeds)
    assert all(comparison.n_questions > 0 for _, _, comparison in replays)


def test_all_forests_are_drawn():
    assert set(FORESTS) == set(QUICK_SETTINGS)


@pytest.mark.slow
def test_cases_are_of_all_sizes_and_classes():
    """The seeded cases cover 1 to 90,000 rows, 2 to 50 classes, wrong values of `size`, and many rounds."""
    rng = np.random.default_rng(0)
    kinds = {kind.__name__: kind for kind in FORESTS}
    booster, cases = kinds["RandomTreeBoosterClassifier"], []
    for theme in THEMES.values():
        cases += [theme(rng, booster, seed) for seed in range(40)]
    rows = [max(len(case.before[1]), len(case.after[1])) for case in cases]
    classes = {case.model.domain.n_classes for case in cases}
    sizes = [case.model.size / n for case, n in zip(cases, rows) if case.model.size]
    assert min(rows) == 1 and max(rows) > 90_000 and {2, 3, 50} <= classes and len(classes) > 15
    assert min(sizes) < 1e-3 and max(sizes) > 1e2
    rounds = [case.model.n_estimators for case in cases if case.model.n_estimators != "auto"]
    assert {case.model.delta for case in cases} == {0, 1e-6, 1e-3} and max(rounds) > 400
    assert any((n - 1) // 1_000 != n // 1_000 and case.rare for case, n in zip(cases, rows) if n > 50_000)


def test_edges_are_on_borders():
    """At least a quarter of the edge values lie exactly on the border of two cells of the scale's histogram."""
    rng = np.random.default_rng(0)
    for i in range(60):
        feature = random_feature(rng, f"x{i}")
        if feature.kind == "numeric":
            span = 65_536 - feature.first_code
            inside = [x for x in edges(feature) if feature.low < x < feature.high]
            codes = np.array([feature.code(x) - feature.first_code for x in inside])
            cells = codes * CELLS // span
            assert (cells != np.maximum(codes - 1, 0) * CELLS // span).sum() >= len(codes) // 4


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_single_row_costs_more(whole):
    """No single row loses more than the noise allows, for any number of classes, attributes or rows."""
    assert list(check_single_rows(whole=whole)) == []


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("n_classes", [2, 3, 10, 50])
def test_the_search_for_the_worst_row_attains_the_bound(n_classes, delta):
    """The search finds at least 99.8 % of the largest gradient and of the promised loss, and never more than either."""
    share = (n_classes - 1) / n_classes
    most = 512 if n_classes == 2 else 1_024 * (math.sqrt(share) if delta else 2 * share)
    assert 0.998 * most <= largest_gradient(n_classes, bool(delta)) <= most
    for neighbors in NEIGHBORS:
        lost, promised = worst_loss(n_classes, delta, neighbors)
        assert 0.998 * promised <= lost <= promised * (1 + 1e-7)


@pytest.mark.parametrize("epsilon, delta", [(1.0, 1e-6), (0.01, 1e-3), (10.0, 1e-15), (4.0, 0.1)])
def test_both_routes_to_mu_agree(epsilon, delta):
    """The μ that the ledger charges equals an independently computed μ, except that the ledger rounds it down."""
    assert float(mu_for(epsilon, delta).mu) == pytest.approx(most_mu(epsilon, delta), rel=1e-8)


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 40), marks=pytest.mark.slow)], ids=["some", "many"])
def test_no_cell_changes_how_another_is_read(seeds):
    """A column is read the same way whatever its type is, and however many of its cells are bad."""
    assert list(check_reading(seeds)) == []


@pytest.mark.parametrize(
    "seeds", [range(1), pytest.param(range(1, 12), marks=pytest.mark.slow)], ids=["a few rows", "many"]
)
@pytest.mark.parametrize("kind", every(3, FORESTS))
def test_the_same_rows_give_the_same_file_in_any_format(kind, seeds):
    """A fit does not depend on threads, formats, parts, or the type of the labels."""
    assert list(check_same_rows((kind.__name__,), seeds)) == []


# ---------------------------------------------------------------- mistakes are found


def replayed(mutant: Mutant) -> Iterator[str]:
    """Yield the findings of replays of a mutant's first forest: all themes with the first seed, then with the next."""
    for seed in range(SAMPLE):
        for cases in random_replays(mutant.forests[:1], seeds=[seed]).values():
            yield from (f"{where}: {finding}" for where, comparison in cases for finding in comparison.findings)


BY = {
    "single rows": lambda mutant: check_single_rows(whole=False),
    "reading": lambda mutant: check_reading(),
    "random domains": replayed,
    "same rows": lambda mutant: check_same_rows(mutant.forests),
    "tails": lambda mutant: check_tails(),
    "words": lambda mutant: check_bridge(n_tapes=1),
}
DETECTED_BY = {
    "a_gradient_is_rounded": "single rows",
    "a_border_is_in_both_cells": "single rows",
    "the_released_size_has_a_floor_of_rows": "random domains",
    "counts_are_released_without_the_scale": "random domains",
    "a_size_that_is_too_small_is_replaced": "random domains",
    "noise_for_three_classes": "single rows",
    "empty_leaves_stay_late": "random domains",
    "three_bad_cells_are_read_again": "reading",
    "parts_of_threads_share_the_row_at_their_border": "same rows",
    "labels_of_narrow_integers_wrap_round": "reading",
    "tree_without_estimation_rows_takes_its_structure_rows": "random domains",
    "bound_on_rows_is_twice_their_released_number": "single rows",
    "parts_say_how_many_of_their_rows_were_read": "same rows",
    "noise_comes_from_a_fast_generator_with_a_short_seed": "words",
    "draws_of_trees_are_used_again_for_each_block_of_rows": "tails",
    "a_full_block_in_one_leaf_is_counted_as_nobody": "random domains",
}
PURE = {"RandomTreeBoosterClassifier": {"delta": 0}}
MISTAKES = (*BLIND_SPOTS, *INDEPENDENT)


@pytest.mark.parametrize("mutant", every(6, MISTAKES[::-1]), ids=lambda mutant: mutant.name)
def test_an_auditor_sees_blind_spots_that_the_certificate_does_not(mutant: Mutant):
    """One auditor detects each mistake, although the certificate and the ledger of the fit look correct."""
    with mutated(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finding = next(BY[DETECTED_BY[mutant.name]](mutant), None)
        assert certified(mutant.forests[0], **PURE.get(mutant.forests[0], {}))
    assert finding is not None, mutant.why


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MISTAKES, ids=lambda mutant: mutant.name)
def test_blind_spots_are_seen_by_the_suite(mutant: Mutant):
    """The suite detects each mistake by running all auditors, without a hint which one is right."""
    with mutated(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert next(suspicions(mutant.forests), None) is not None, mutant.why


def test_the_mistakes_are_different():
    assert len({m.name for m in MISTAKES}) == len(MISTAKES) and {m.name for m in MISTAKES} == set(DETECTED_BY)
