"""Tests that each function refuses numbers for which its theorem does not hold, and names them in the message."""

import numpy as np
import pytest

from dpforest.theory.boosting_bounds import error_after_trees
from dpforest.theory.votes import even_vote_right, private_error_bound, proof_probability, trees_to_beat
from dpforest.theory.votes_printed import (
    coin_bound,
    direct_bound,
    held_out_failure,
    mean_weight_bound,
    printed_probability,
    share_of_sure_rows,
    trees_required,
)

OUTSIDE = [
    (mean_weight_bound, {"tree_error": 5}),
    (share_of_sure_rows, {"tree_error": -1, "slack": 0.1}),
    (share_of_sure_rows, {"tree_error": 0.1, "slack": 0.1, "leaf_share": 0}),
    (trees_required, {"n_rows": 0.5, "slack": 0.1}),
    (trees_required, {"n_rows": 100, "slack": 0}),
    (held_out_failure, {"n_rows": 100, "k": 0, "depth": 3, "slack": 0.1, "leaf_share": 10}),
    (coin_bound, {"tree_error": 9, "slack": 0.1, "draw_slack": 0}),
    (coin_bound, {"tree_error": 0.1, "slack": -3, "draw_slack": 0}),
    (printed_probability, {"n": 100, "k": 5, "depth": 3, "slack": 2, "leaf_share": 10, "epsilon": 1}),
    (proof_probability, {"n": 100, "k": 5, "depth": 3, "slack": 0.3, "leaf_share": 10, "epsilon": -1}),
    (proof_probability, {"n": 100, "k": 5, "depth": -1, "slack": 0.3, "leaf_share": 10, "epsilon": 1}),
    (direct_bound, {"tree_error": 7, "n": 1e6, "depth": 3, "epsilon": 1}),
    (direct_bound, {"tree_error": 0.1, "n": 1e6, "depth": 3, "epsilon": -1}),
    (trees_to_beat, {"error": 0, "tree_error": 0.1, "n_rows": 100}),
    (trees_to_beat, {"error": 0.3, "tree_error": 0.1, "n_rows": 100, "confidence": 1}),
    (private_error_bound, {"tree_error": 0.1, "slack": 0.1, "leaf_share": -2}),
    (error_after_trees, {"edge": 9, "alpha": 1, "n_trees": 3}),
    (even_vote_right, {"chance": 2, "n_trees": 3}),
    (even_vote_right, {"chance": 0.6, "n_trees": 0}),
]


@pytest.mark.parametrize(("theorem", "given"), OUTSIDE, ids=lambda part: getattr(part, "__name__", ""))
def test_outside_its_domain_a_theorem_names_the_wrong_number(theorem, given):
    with pytest.raises(ValueError, match="not a number|not numbers|must be a probability"):
        theorem(**given)


@pytest.mark.parametrize("theorem", sorted({case[0] for case in OUTSIDE}, key=lambda case: case.__name__))
def test_invalid_numbers_get_no_statement(theorem):
    given = dict(next(case[1] for case in OUTSIDE if case[0] is theorem))
    with pytest.raises(ValueError):
        theorem(**dict.fromkeys(given, np.nan))
