"""Rare draws, such as extremely large noise: code must release them like all other draws.

The auditors force a sampler to make a rare draw by choosing its random bits (the tape), and they bring rare draws into
whole fits as forced answers. They know none of the mistakes in advance, and detect each mistake that acts in rare
events or hides rows in a fit.
"""

import itertools
import warnings
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

import dpforest
from dpforest import MajorityLabelForestClassifier, RandomDecisionForestClassifier
from dpforest.audit.replay.input_formats import IN_PARTS, as_csv, as_frame, as_list, formats_of
from dpforest.audit.replay.large_tables import QUICK_SETTINGS, replay_formats, replay_large
from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.recorder import record
from dpforest.audit.replay.variants import EPSILON, VARIANTS, domain_of, random_rows, replay_rare, replay_variant
from dpforest.audit.samplers import tails
from dpforest.audit.samplers.identities import check_identities
from dpforest.audit.samplers.tails import Scripted, check_tails
from dpforest.privacy import samplers
from dpforest.privacy.ledger import NEIGHBORS
from tests.audit.mutants import Mutant, mutated
from tests.audit.mutants.hidden import HIDDEN
from tests.audit.mutants.rare import FAR_NOISE, MANY_ROWS, RARE_SPLITS, WAITING, ZEROS
from tests.audit.test_mutants import certified
from tests.conftest import every, some

BOTH = pytest.mark.parametrize("relation", NEIGHBORS)
SAMPLERS = ("dpforest.privacy.samplers", "dpforest.privacy.selection")


# ---------------------------------------------------------------- sound code has no findings


def test_every_rare_draw_is_released():
    """Samplers neither cut nor redraw any noise, and they release every label, every split, and zeros."""
    assert list(check_tails()) == []


@pytest.mark.parametrize("kind, relation", some(QUICK_SETTINGS, NEIGHBORS))
def test_every_input_format_releases_the_draws(kind, relation):
    """Fits read, assign and count the rows of an array, list, file or part exactly as those of a frame."""
    replays = dict(replay_formats(kind, relation))
    assert set(QUICK_SETTINGS) == {varied_kind for varied_kind, _ in VARIANTS.values()}, (
        "an estimator that is not audited here"
    )
    assert len(replays) == len(formats_of(kind)) and {str(f) for r in replays.values() for f in r.findings} == set()
    assert all(r.n_questions > 0 and r.loss <= EPSILON * (1 + 1e-9) for r in replays.values())


LARGE_IN_ALL_WAYS = [
    pytest.param(MajorityLabelForestClassifier, relation, (as_list, as_csv, *IN_PARTS), marks=marks)
    for relation, marks in zip(NEIGHBORS, ((), pytest.mark.slow), strict=True)
]


LARGE = [pytest.param(*cell.values, (as_frame,), marks=cell.marks) for cell in some(QUICK_SETTINGS, NEIGHBORS)]


@pytest.mark.parametrize("kind, relation, formats", [*LARGE, *LARGE_IN_ALL_WAYS])
def test_large_tables_release_the_draws(kind, relation, formats):
    """Fits of 65,536 rows and more release no exact labels, use the right rate, and count each row once."""
    for where, comparison in replay_large(kind, relation, formats=formats):
        assert [str(f) for f in comparison.findings] == [], where
        assert 0 <= comparison.loss <= EPSILON * (1 + 1e-9) and comparison.n_questions > 0


@pytest.mark.parametrize("name, relation", some(VARIANTS, NEIGHBORS, every=5))
def test_fits_with_rare_answers_have_no_findings(name, relation):
    """Fits treat zeros, ties, unlikely splits and extremely large noise like any other answer."""
    assert [str(f) for r in replay_rare(name, relation, sizes=(7,)) for f in r.findings] == []


def test_rare_answers_reach_the_fit():
    """Forced answers reach the fit, and they differ from ordinary answers."""
    # This forest queries its leaves only.
    plain = {"n_estimators": 2, "max_depth": 1, "scale_share": "public"}
    model = RandomDecisionForestClassifier(domain=domain_of(2), epsilon=1.0, **plain)
    fit = lambda table: model.fit(*table).forest_.leaves.noisy_counts
    counts = {name: record(fit, random_rows(12, 2, 0), forced=forced).result for name, forced in RARE.items()}
    exact = counts["no noise, the likeliest"]
    assert exact.sum() == 24 and not counts["all zero, the first"].any() and (counts["all alike, the last"] == 7).all()
    assert (counts["far up, the least likely"] == exact + 2_000).all()
    assert (counts["far down, the least likely"] == exact - 2_000).all()


# ---------------------------------------------------------------- mistakes are found


# Number of tables. Some tables cannot show a mistake: every third table has only one class, and in some others, the row
# in which neighbors differ changes no majority of a leaf. The mistake `labels_are_part_of_more` is hardest to detect.
# The probability that eighteen successive tables all miss it is 3e-8, by an estimate from 540 replays.
SMALL = (5, 3, 40, 12, 3, 40)


def quick(forests: tuple[str, ...], *, samplers_first: bool = True) -> Iterator[str]:
    """Yield the findings of a fast part of `suspicions`: one estimator, small tables, few formats."""
    about_samplers = itertools.chain(check_identities(whole=False), check_tails())
    yield from about_samplers if samplers_first else ()
    kind = getattr(dpforest, forests[0])
    name = next(name for name, (varied_kind, _) in VARIANTS.items() if varied_kind is kind)
    replays = itertools.chain(
        (("", r) for r in replay_variant(name, "add-remove", sizes=SMALL)),
        (("rare answers", r) for r in replay_rare(name, "add-remove", sizes=(5,))),
        replay_formats(kind, "add-remove"),
        replay_large(kind, "add-remove", formats=(as_frame, *formats_of(kind)[4:5])),
    )
    yield from (f"{where}: {finding}" for where, comparison in replays for finding in comparison.findings)
    yield from about_samplers


@pytest.mark.parametrize("mutant", every(4, (*WAITING, *HIDDEN)), ids=lambda mutant: mutant.name)
def test_rare_and_hidden_mistakes_are_detected(mutant: Mutant):
    """The auditors detect mistakes in rare draws, in large tables and other formats, and outside the file."""
    with mutated(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        message = next(quick(mutant.forests, samplers_first=mutant.module in SAMPLERS), None)
        # The certificate is checked for mutants of functions that are not compiled.
        if mutant.function not in dir(samplers) or mutant.function.startswith("draw"):
            assert certified(mutant.forests[0]), "the certificate would have shown this mistake"
    assert message is not None, mutant.why


@pytest.mark.parametrize(
    "forest",
    [
        "RandomDecisionForestClassifier",
        pytest.param("MajorityLabelForestClassifier", marks=pytest.mark.slow),
        pytest.param("BoostedForestClassifier", marks=pytest.mark.slow),
    ],
)
def test_sound_code_gives_no_message(forest):
    """The auditors find nothing in sound code."""
    assert list(quick((forest,))) == []
    assert [len(group) for group in (FAR_NOISE, RARE_SPLITS, ZEROS, MANY_ROWS, HIDDEN)] == [2, 2, 3, 5, 7]


@pytest.mark.parametrize("far", [13, 200, 50_000])
def test_a_limit_on_noise_is_detected_wherever_it_lies(far, monkeypatch):
    """The check detects a limit on noise up to 50,000 times its scale, because tapes force up to 70,000 times."""
    right = samplers.draw_noisy_counts

    def limited(counts, scale, source):
        noise = right(counts, scale, source) - counts
        return counts + np.where(abs(noise) > far * scale, 0, noise)

    monkeypatch.setattr(samplers, "draw_noisy_counts", limited)
    assert "the tape forces" in next(check_tails())


# ---------------------------------------------------------------- lanes


def test_lanes_are_written_from_the_definitions():
    """Tapes force a sampler to return exactly the number, hit, miss or noise for which they are written."""
    for n in (1, 2, 3, 100, 5_000, 65_535, 65_536, 70_000, 2**32 - 1):
        for i in sorted({0, 1 % n, n // 2, n - 1}):
            lanes = tails.number(i, n)
            assert samplers.uniform(tape_of(lanes), 0, n) == (i, len(lanes))
    for a, b in ((0, 1), (1, 2), (1, 1), (7, 2), (65_535, 65_536), (2**32 - 2, 2**32 - 1), (1, 2**32 - 1), (900, 1)):
        assert samplers.bernoulli_exp(tape_of(tails.hit(a, b)), 0, a, b) == (True, len(tails.hit(a, b)))
        if a:
            assert samplers.bernoulli_exp(tape_of(tails.miss(a, b)), 0, a, b) == (False, len(tails.miss(a, b)))
    for z in (0, 1, -1, 40, -999):
        for scale in (Fraction(1), Fraction(7, 3), Fraction(2, 9)):
            lanes = tails.noise(z, scale)
            answer = samplers.discrete_laplace(tape_of(lanes), 0, scale.numerator, scale.denominator)
            assert answer == (z, len(lanes))


def tape_of(lanes: list[int]) -> np.ndarray:
    return np.array([*lanes, 9, 9, 9], np.uint16)


def test_a_script_is_given_once_and_in_order():
    """A source with prescribed lanes passes on each lane once and in order, across several calls."""
    lanes = np.arange(4_000)
    source = Scripted(lanes)
    given = np.concatenate([source.words(n) for n in (1, 2, 97, 900)]).view(np.uint16)
    np.testing.assert_array_equal(given, lanes)
    assert len(np.unique(source.words(30_000))) > 10_000
