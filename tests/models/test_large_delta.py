"""Tests that a certificate warns if δ is at least 1/n, where n is the public or released number of rows.

A certificate that is read from a file warns, too.
"""

import json
from fractions import Fraction

import numpy as np
import pytest

from dpforest import RandomTreeBoosterClassifier, ReleasedForest
from dpforest.privacy.certificate import large_delta_caution
from tests.conftest import public_domain, random_codes

ROWS = 400


def booster(delta: float, **settings) -> RandomTreeBoosterClassifier:
    return RandomTreeBoosterClassifier(
        epsilon=1.0, delta=delta, n_estimators=4, max_depth=2, scale_share="public", **settings
    )


@pytest.fixture(scope="module")
def rows() -> tuple:
    domain = public_domain(3, 4)
    codes = random_codes(domain, ROWS, 0)
    X = np.array([[f.categories[c] for f, c in zip(domain.features, row, strict=True)] for row in codes], object)
    return domain, X, np.arange(ROWS) % 2


@pytest.mark.parametrize(
    ("delta", "n_rows", "is_large"),
    [
        (0.0, 10**9, False),
        (1e-6, 999_999, False),
        (1e-6, 1_000_000, True),
        (0.01, 99, False),
        (0.01, 100, True),
        (0.5, None, False),
        (0.5, 0, False),
        (1e-300, 10**12, False),
    ],
)
def test_large_delta_caution_from_1_over_n_on_and_never_for_an_unknown_n(delta, n_rows, is_large):
    caution = large_delta_caution(delta, n_rows)
    assert bool(caution) == is_large
    if is_large:
        assert f"about {n_rows:,} rows" in caution


def test_the_sentence_states_delta_and_n():
    assert large_delta_caution(0.01, 250) == (
        "δ = 0.01 is not below 1/n for about 250 rows, so (ε, δ) alone promises little: it allows a mechanism that "
        "publishes each row whole with probability δ, which is 2.5 rows on average. This forest's μ excludes such a "
        "mechanism: use μ to judge its privacy."
    )


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("size", [None, 500])
def test_a_certificate_and_its_file_use_the_public_number_of_rows(rows, neighbors, size):
    domain, X, y = rows
    forest = booster(0.05, neighbors=neighbors, size=size, domain=domain).fit(X, y)
    released = forest.released_
    sentence = large_delta_caution(0.05, released.about["n_rows"])
    assert sentence and released.certificate.assumptions.count(sentence) == 1
    known = {"add-remove": size or released.about["n_rows"], "replace-one": ROWS}[neighbors]
    assert released.about["n_rows"] == known
    back = ReleasedForest.from_bytes(released.to_bytes())
    assert back.certificate == released.certificate and sentence in str(back.certificate)


def test_the_sentence_does_not_reveal_the_exact_number_of_rows(rows):
    """Under add-remove, the warning uses the released number of rows, which is noisy, not the exact number."""
    domain, X, y = rows
    forests = [booster(0.05, domain=domain).fit(X, y).released_ for _ in range(8)]
    numbers = [forest.about["n_rows"] for forest in forests]
    assert len(set(numbers)) > 1, "no noise in 8 releases: at this share its chance is below 1e-6"
    for forest, n in zip(forests, numbers, strict=True):
        assert large_delta_caution(0.05, n) in forest.certificate.assumptions


def test_a_small_delta_and_pure_privacy_give_no_sentence(rows):
    domain, X, y = rows
    for delta in (1e-6, 0.0):
        certificate = booster(delta, domain=domain).fit(X, y).certificate_
        assert "below 1/n" not in str(certificate)


def test_a_preview_has_the_sentence_before_anything_is_spent(rows):
    domain, *_ = rows
    for n, is_large in ((1_000, False), (1_500_000, True)):
        certificate, _ = booster(1e-6, domain=domain).preview(domain, n)
        assert (large_delta_caution(1e-6, n) in certificate.assumptions) == is_large
    assert Fraction(certificate.epsilon) == 1


def test_a_file_from_before_certificates_had_the_sentence_is_still_read(rows):
    domain, X, y = rows
    released = booster(0.05, domain=domain).fit(X, y).released_
    content = json.loads(released.to_json())
    content["certificate"]["assumptions"].remove(large_delta_caution(0.05, released.about["n_rows"]))
    back = ReleasedForest.from_json(json.dumps(content))
    assert back.certificate.epsilon == released.certificate.epsilon and "below 1/n" not in str(back.certificate)
