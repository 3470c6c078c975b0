"""The sampler of rounded Gaussian noise is exact, and its auditor detects each of eleven mistakes without sampling.

Only the inputs of the checks are random. They come from fixed seeds, so there is no false alarm. `test_exact_samplers`
checks that the compiled kernel equals its source.
"""

import warnings

import pytest

from dpforest.audit.samplers.gaussian import check_gaussian
from dpforest.audit.samplers.gaussian_bits import together
from tests.audit.mutants import Mutant, mutated


def test_the_pieces_and_the_whole_are_exact():
    """Every outcome of each part has exactly the right probability, however small. Parts are combined correctly."""
    assert list(check_gaussian(whole=False)) == []


def wrong(name: str, function: str, old: str, new: str) -> Mutant:
    return Mutant(name, name, "dpforest.privacy.gaussian", function, old, new, ())


MISTAKES = (
    wrong("known_digits_are_forgotten", "_below", "at, n = at + 1, n + 1", "at = at + 1"),
    wrong("ties_of_a_digit_decide", "_below", "!= known[i - 1]:", "!= known[i - 1] or i == 2:"),
    wrong("always_below_x", "_bernoulli_exp_digits", "y, spare, n_y = spare, y, n_spare", "n_y = n_spare"),
    wrong("odd_runs", "_bernoulli_exp_digits", "return even, n", "return not even, n"),
    wrong("a_face_too_few", "_bernoulli_exp_digits", "2 * k + 2)", "2 * k + 2 - (k > 4))"),
    wrong("one_trial_too_few", "rounded_gaussian", "trial <= k", "trial < k"),
    wrong("square_of_k", "rounded_gaussian", "k * (k - 1)", "k * k"),
    wrong("gaussian_is_cut_off", "rounded_gaussian", "if not more:", "if not more or k == 6:"),
    wrong(
        "kept_digits_are_drawn_again", "rounded_gaussian", "digits[0], n)\n        sign", "digits[0], 0)\n        sign"
    ),
    wrong("a_border_goes_down", "_round", "(z + 1 if gap == 0 else z)", "z"),
    wrong("digits_end", "_round", "while 0 < gap < slope and", "while i < 3 and 0 < gap < slope and"),
)


@pytest.mark.parametrize("mutant", MISTAKES, ids=lambda mutant: mutant.name)
def test_mistakes_are_detected_without_a_draw(mutant):
    with mutated(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert next(check_gaussian(whole=False), None) is not None


@pytest.mark.parametrize("name", ["one_trial_too_few", "kept_digits_are_drawn_again", "digits_end"])
def test_the_check_of_the_whole_sampler_detects_coarse_mistakes(name):
    """The check of the whole sampler, which knows probabilities to a few hundredths, detects three large mistakes."""
    (mutant,) = [mutant for mutant in MISTAKES if mutant.name == name]
    with mutated(mutant):
        for _, computed_law, _ in together(False):
            with pytest.raises(ValueError, match="has a probability from"):
                computed_law()
