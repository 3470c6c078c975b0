"""Losses against closed forms of the paper and their definitions, and their sensitivities by enumeration."""

import functools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import ENTROPY, ERROR, GINI, MATSUSHITA, m_alpha, partial_loss

LOSSES = [MATSUSHITA, GINI, ENTROPY, ERROR, m_alpha(0.1), m_alpha(0.5)]
# The 0/1 loss is left out, because its link depends only on which class has the majority.
INVERTIBLE = [MATSUSHITA, GINI, ENTROPY, m_alpha(0.1), m_alpha(0.5)]
ALPHAS = [0.0, 0.1, 0.5, 1.0]
ROWS = [100, 748, 1372, 4898, 19020]

U = st.floats(1e-6, 1 - 1e-6)
Z = st.floats(-50, 50)
WEIGHTS = st.floats(1e-3, 1e3)


def every(losses):
    return pytest.mark.parametrize("loss", losses, ids=lambda loss: f"{loss.name} {loss.alpha}")


def prop(test):
    return settings(max_examples=100, deadline=None, derandomize=True, database=None)(test)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("alpha", "risks"),
    [
        (0.0, [0.02, 0.2, 0.5, 1]),
        (0.1, [0.0379, 0.24, 0.536603, 1]),
        (0.5, [0.109499, 0.4, 0.683013, 1]),
        (1.0, [0.198997, 0.6, 0.866025, 1]),
    ],
)
def test_bayes_risk_of_the_m_alpha_loss_matches_its_formula(alpha, risks):
    assert m_alpha(alpha).bayes_risk([0.01, 0.1, 0.25, 0.5]) == pytest.approx(risks, abs=1e-6)
    assert m_alpha(alpha).bayes_risk([0.99, 0.9, 0.75, 0.5]) == pytest.approx(risks, abs=1e-6)


@pytest.mark.parametrize(
    ("alpha", "values"),
    [(0.0, [2, 2]), (0.1, [1.915470, 2.066667]), (0.5, [1.577350, 2.333333]), (1.0, [1.154701, 2.666667])],
)
def test_link_of_the_m_alpha_loss_matches_its_formula(alpha, values):
    assert m_alpha(alpha).link([0.75, 0.9]) == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize(
    ("alpha", "shares"),
    [
        (0.0, [0.5, 0.5, 1, 1]),
        (0.1, [0.5, 0.853553, 0.993197, 0.999851]),
        (0.5, [0.5, 0.853553, 0.947214, 0.996942]),
        (1.0, [0.723607, 0.853553, 0.916025, 0.990290]),
    ],
)
def test_inverse_link_of_the_m_alpha_loss_matches_its_formula(alpha, shares):
    assert m_alpha(alpha).inverse_link([1, 2, 3, 10]) == pytest.approx(shares, abs=1e-6)
    assert m_alpha(alpha).inverse_link([-1, -2, -3, -10]) == pytest.approx(1 - np.array(shares), abs=1e-6)


@pytest.mark.parametrize(
    ("alpha", "losses"),
    [
        (0.0, [3, 1.5, 1, 0.5, 0, 0, 0]),
        (0.1, [3.008276, 1.5, 1, 0.5, 0.041421, 0.008276, 0.001219]),
        (0.5, [3.118034, 1.5, 1, 0.5, 0.207107, 0.118034, 0.027693]),
        (1.0, [3.302776, 1.618034, 1, 0.618034, 0.414214, 0.302776, 0.099020]),
    ],
)
def test_surrogate_of_the_m_alpha_loss_matches_its_formula(alpha, losses):
    assert m_alpha(alpha).surrogate([-3, -1, 0, 1, 2, 3, 10]) == pytest.approx(losses, abs=1e-6)


@pytest.mark.parametrize(
    ("loss", "risk", "value", "share", "surrogate"),
    [
        (GINI, 0.75, 2, 0.75, 0.25),  # 4 u (1-u); 4 (2u-1); 1/2 + z/8; (1 - z/4)²
        (ENTROPY, 0.811278, 1.584963, 0.8, 0.321928),  # bits; log2 of the odds; 1 / (1 + 2^-z); log2(1 + 2^-z)
        (MATSUSHITA, 0.866025, 1.154701, 0.853553, 0.414214),
        (ERROR, 0.5, 2, 0.5, 0),
    ],
)
def test_losses_match_golden_values_at_a_quarter_and_at_two(loss, risk, value, share, surrogate):
    assert loss.bayes_risk(0.25) == pytest.approx(risk, abs=1e-6)
    assert loss.link(0.75) == pytest.approx(value, abs=1e-6)
    assert loss.inverse_link(2) == pytest.approx(share, abs=1e-6)
    assert loss.surrogate(2) == pytest.approx(surrogate, abs=1e-6)


@every(LOSSES)
def test_losses_are_normalized(loss):
    assert loss.bayes_risk([0, 0.5, 1]).tolist() == [0, 1, 0]
    assert loss.link(0.5) == 0
    assert loss.inverse_link(0) == 0.5
    assert loss.surrogate(0) == 1


@every(LOSSES)
def test_pure_leaves_have_the_limits_of_the_link_without_a_warning(loss):
    end = {"gini": 4, "error": 2}.get(loss.name, np.inf)
    assert loss.link([0, 1]).tolist() == [-end, end]
    assert loss.inverse_link([-np.inf, -1e9, 1e9, np.inf]).tolist() == [0, 0, 1, 1]
    assert loss.potential([0, 3, 0], [0, 0, 2]).tolist() == [0, 0, 0]


@every(LOSSES)
def test_a_number_returns_a_number_and_an_array_returns_an_array_of_its_shape(loss):
    for method in (loss.bayes_risk, loss.link, loss.inverse_link, loss.surrogate, loss.sensitivity):
        assert np.ndim(method(1)) == 0 and isinstance(method(1), float)
        assert method(np.ones((2, 3), int)).shape == (2, 3)
    assert isinstance(loss.potential(1, 2), float)
    assert loss.potential(np.ones((2, 1)), np.ones(3)).shape == (2, 3)


@every(LOSSES)
def test_a_loss_is_a_value(loss):
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert len({*LOSSES, loss}) == len(LOSSES)
    with pytest.raises(AttributeError):
        loss.alpha = 0.3


@pytest.mark.parametrize(("alpha", "end"), [(0, ERROR), (1, MATSUSHITA)])
def test_the_mix_ends_in_the_error_and_in_matsushitas_loss(alpha, end):
    u, z = np.linspace(0, 1, 101), np.linspace(-9, 9, 181)
    near = m_alpha(abs(alpha - 1e-9))
    at = m_alpha(alpha)
    assert (at.bayes_risk(u) == end.bayes_risk(u)).all() and (at.link(u) == end.link(u)).all()
    assert (at.inverse_link(z) == end.inverse_link(z)).all() and (at.surrogate(z) == end.surrogate(z)).all()
    assert near.bayes_risk(u) == pytest.approx(end.bayes_risk(u), abs=1e-8)
    assert near.link(u[1:-1]) == pytest.approx(end.link(u[1:-1]), abs=1e-7)
    assert near.surrogate(z) == pytest.approx(end.surrogate(z), abs=1e-8)
    away = np.abs(np.abs(z) - 2) > 0.05  # points where the inverse link of the 0/1 loss jumps
    assert near.inverse_link(z[away]) == pytest.approx(end.inverse_link(z[away]), abs=1e-8)


def test_matsushitas_loss_and_the_error_match_their_closed_forms():
    u, z = np.linspace(0.01, 0.99, 99), np.linspace(-9, 9, 181)
    assert MATSUSHITA.link(u) == pytest.approx((2 * u - 1) / np.sqrt(u * (1 - u)), rel=1e-12)
    assert MATSUSHITA.inverse_link(z) == pytest.approx((1 + z / np.sqrt(4 + z**2)) / 2, rel=1e-12)
    assert MATSUSHITA.surrogate(z) == pytest.approx(np.sqrt(1 + z**2 / 4) - z / 2, rel=1e-12)
    assert ERROR.bayes_risk(u) == pytest.approx(2 * np.minimum(u, 1 - u), rel=1e-12)
    assert ERROR.surrogate(z) == pytest.approx(np.where(z < -2, -z, np.maximum(0, 1 - z / 2)), abs=1e-12)


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 0.3, 0.8, 1.0])
def test_all_mixes_agree_at_two(alpha):
    assert m_alpha(alpha).inverse_link([-2, 2]) == pytest.approx([0.5 - 8**-0.5, 0.5 + 8**-0.5], abs=1e-9)


# ---------------------------------------------------------------- link, inverse link and surrogate


@every(INVERTIBLE)
@given(u=U)
@prop
def test_the_inverse_link_undoes_the_link(loss, u):
    assert loss.inverse_link(loss.link(u)) == pytest.approx(u, rel=1e-6)


@every(LOSSES)
@given(u=U)
@prop
def test_losses_are_symmetric_and_links_odd(loss, u):
    assert loss.bayes_risk(1 - u) == pytest.approx(loss.bayes_risk(u), rel=1e-9)
    assert loss.link(1 - u) == pytest.approx(-loss.link(u), rel=1e-9, abs=1e-12)


@every(LOSSES)
@given(u=U, v=st.floats(0, 1))
@prop
def test_the_link_is_minus_the_slope_of_the_bayes_risk(loss, u, v):
    """The link is minus the slope of the Bayes risk: the tangent bounds this concave function from above."""
    assert loss.bayes_risk(v) <= loss.bayes_risk(u) - loss.link(u) * (v - u) + 1e-9


@every(LOSSES)
@given(z=Z, u=st.floats(0, 1))
@prop
def test_the_surrogate_is_the_conjugate_of_minus_the_bayes_risk(loss, z, u):
    best = loss.inverse_link(-z)
    assert loss.surrogate(z) == pytest.approx(loss.bayes_risk(best) - best * z, abs=1e-9)
    assert loss.surrogate(z) >= loss.bayes_risk(u) - u * z - 1e-9


@every(LOSSES)
def test_the_surrogates_slope_is_minus_the_inverse_link(loss):
    z, h = np.linspace(-8, 8, 1601) + 1 / 300, 1e-5  # no kink within h
    slope = (loss.surrogate(z + h) - loss.surrogate(z - h)) / (2 * h)
    assert slope == pytest.approx(-loss.inverse_link(-z), abs=1e-8)


@every([loss for loss in LOSSES if loss.alpha])
def test_the_m_alpha_surrogate_bends_by_at_most_a_quarter_over_alpha(loss):
    """The second derivative is at most half of the bound in equations 151 and 152.

    It reaches this value where the flat part of the surrogate ends.
    """
    z, h = np.linspace(-6, 6, 2401), 1e-3
    bend = (loss.surrogate(z + h) - 2 * loss.surrogate(z) + loss.surrogate(z - h)) / h**2
    assert bend.max() <= 1 / (4 * loss.alpha) + 1e-6
    start = 2 * (1 - loss.alpha) + 2 * h
    bend = (loss.surrogate(start + h) - 2 * loss.surrogate(start) + loss.surrogate(start - h)) / h**2
    assert bend == pytest.approx(1 / (4 * loss.alpha), rel=2e-3)


# ---------------------------------------------------------------- partial losses


@pytest.mark.parametrize("alpha", ALPHAS)
@given(u=U, stated=U)
@prop
def test_the_m_alpha_loss_is_proper_and_its_least_risk_is_the_bayes_risk(alpha, u, stated):
    def risk(v):
        return u * partial_loss(alpha, 1, v) + (1 - u) * partial_loss(alpha, -1, v)

    loss = m_alpha(alpha)
    assert risk(u) == pytest.approx(loss.bayes_risk(u), rel=1e-9)
    assert risk(stated) >= loss.bayes_risk(u) - 1e-9
    if alpha and abs(stated - u) > 1e-3:
        assert risk(stated) > risk(u)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_an_even_guess_counts_as_half_an_error(alpha):
    assert partial_loss(alpha, 1, 0.5) == partial_loss(alpha, -1, 0.5) == 1
    # In Definition 6, stating 1/2 is an error for both classes. So stating 1/2 would cost 2 - alpha, but L(1/2) is 1.
    above = np.nextafter(0.5, 1)
    assert (partial_loss(alpha, 1, above) + partial_loss(alpha, -1, above)) / 2 == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_partial_losses_follow_from_the_bayes_risk(alpha):
    """Partial losses follow the formula of Savage: stating u costs L(u) + (1 - u) L'(u) if the class is positive."""
    u, loss = np.linspace(0.01, 0.99, 99), m_alpha(alpha)
    assert partial_loss(alpha, 1, u) == pytest.approx(loss.bayes_risk(u) - (1 - u) * loss.link(u), abs=1e-12)
    assert partial_loss(alpha, -1, u) == pytest.approx(loss.bayes_risk(u) + u * loss.link(u), abs=1e-12)
    assert partial_loss(alpha, 1, [0, 1]).tolist() == [np.inf if alpha else 2, 0]


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("u", [0.05, 0.25, 0.4])
def test_the_published_coefficient_does_not_give_the_bayes_risk(alpha, u):
    def published(y, v):
        return 2 * alpha * ((1 - v) / v) ** (y / 2) + 2 * (1 - alpha) * (y * v <= y / 2)

    stated = np.linspace(0.001, 0.999, 99_801)
    least = (u * published(1, stated) + (1 - u) * published(-1, stated)).min()
    bayes = m_alpha(alpha).bayes_risk(u)
    assert least == pytest.approx(bayes + 2 * alpha * np.sqrt(u * (1 - u)), rel=1e-6)
    assert least > bayes + 0.04


# ---------------------------------------------------------------- potentials and sensitivity


@every(LOSSES)
@given(w1=WEIGHTS, w0=WEIGHTS, factor=st.floats(0.01, 100))
@prop
def test_a_potential_is_the_weighted_risk_and_homogeneous(loss, w1, w0, factor):
    w = w1 + w0
    assert loss.potential(w1, w0) == pytest.approx(w * loss.bayes_risk(w1 / w), rel=1e-9)
    assert loss.potential(factor * w1, factor * w0) == pytest.approx(factor * loss.potential(w1, w0), rel=1e-9)


@every(LOSSES)
@given(cells=st.tuples(*[st.floats(0, 1e4)] * 4))
@prop
def test_splitting_never_raises_the_score(loss, cells):
    a, b, c, d = cells
    joined = loss.potential(a + c, b + d)
    assert loss.potential(a, b) + loss.potential(c, d) <= joined + 1e-9 * (1 + joined)


ROW = st.tuples(st.integers(0, 3), st.floats(1e-3, 1))  # cell, weight
PARTS = 3  # weights are 1/3, 2/3 or all of the largest weight
KINDS = np.array([[w if cell == k else 0 for k in range(4)] for cell in range(4) for w in range(1, PARTS + 1)])


@functools.cache
def tables(rows: int) -> np.ndarray:
    """Return all tables of `rows` rows as sums of weights: (positive, negative) in the left child, and in the right."""
    if rows == 0:
        return np.zeros((1, 4), int)
    return np.unique((tables(rows - 1)[:, None] + KINDS).reshape(-1, 4), axis=0)


def score(loss, cells, weight):
    w = cells * (weight / PARTS)
    return loss.potential(w[..., 0], w[..., 1]) + loss.potential(w[..., 2], w[..., 3])


@every(LOSSES)
@pytest.mark.parametrize("weight", [1.0, 0.4])
@pytest.mark.parametrize("n", range(1, 9))
def test_sensitivity_is_the_largest_change_by_a_row_over_all_tables(loss, weight, n):
    others = tables(n - 1)
    with_row = score(loss, others[:, None] + KINDS, weight)  # tables of n rows; the last row is of each kind
    change = with_row - score(loss, others, weight)[:, None]
    bound = loss.sensitivity(n, weight)
    assert change.min() >= -1e-12
    assert change.max() == pytest.approx(bound, rel=1e-12)
    replaced = with_row.max(axis=1) - with_row.min(axis=1)  # largest effect of replacing the last row by any other row
    assert replaced.max() == pytest.approx(bound, rel=1e-12)
    assert weight * loss.published_sensitivity(n) > bound


@every(LOSSES)
@given(table=st.lists(ROW, max_size=30), one=ROW, other=ROW)
@prop
def test_no_table_with_any_weights_changes_more_than_the_sensitivity(loss, table, one, other):
    def scored(rows):
        return score(loss, sum((w * (np.arange(4) == cell) for cell, w in rows), np.zeros(4)), PARTS)

    scores = [scored(table), scored([*table, one]), scored([*table, other])]
    bound = loss.sensitivity(len(table) + 1) + 1e-9
    assert -1e-9 <= scores[1] - scores[0] <= bound
    assert abs(scores[2] - scores[1]) <= bound


@pytest.mark.parametrize(
    ("alpha", "published", "tight"),
    [
        (0.0, [3, 3, 3, 3, 3], [2, 2, 2, 2, 2]),
        (0.1, [4.80, 8.27, 10.21, 16.80, 30.38], [3.79, 7.27, 9.21, 15.80, 29.38]),
        (0.5, [12.0, 29.35, 39.04, 71.99, 139.91], [10.95, 28.33, 38.03, 70.98, 138.91]),
        (1.0, [21.0, 55.70, 75.08, 140.97, 276.83], [19.90, 54.66, 74.05, 139.96, 275.82]),
    ],
)
def test_sensitivities_of_the_m_alpha_loss_match_their_formula(alpha, published, tight):
    n, loss = np.array(ROWS), m_alpha(alpha)
    assert loss.published_sensitivity(n) == pytest.approx(published, abs=5.1e-3)
    assert loss.published_sensitivity(n) == pytest.approx(3 + 2 * alpha * (np.sqrt(n) - 1), rel=1e-12)
    assert loss.sensitivity(n) == pytest.approx(tight, abs=5.1e-3)
    assert loss.sensitivity(n, 0.25) == pytest.approx(loss.sensitivity(n) / 4, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "published", "tight"),  # the published bound is 1, or Δ* of Lemma 5
    [(ENTROPY, 1 + 11.87, 11.86), (GINI, 1 + 3.997, 3.997), (MATSUSHITA, 75.08, 74.05), (ERROR, 3, 2)],
)
def test_sensitivities_for_1372_rows_match_golden_values(loss, published, tight):
    assert loss.published_sensitivity(1372) == pytest.approx(published, abs=5.1e-3)
    assert loss.sensitivity(1372) == pytest.approx(tight, abs=5.1e-3)


@every(LOSSES)
def test_a_bound_may_replace_the_number_of_rows(loss):
    assert (np.diff(loss.sensitivity(np.arange(1, 500))) >= -1e-12).all()
    assert loss.sensitivity(1) == 0  # the leaf of the only row is pure


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("alpha", [-0.1, 1.5, np.nan])
def test_alpha_must_be_a_share(alpha):
    with pytest.raises(ValueError, match="is not a number from 0 to 1"):
        m_alpha(alpha)
    with pytest.raises(ValueError, match="is not a number from 0 to 1"):
        partial_loss(alpha, 1, 0.3)


@every(LOSSES)
def test_invalid_probabilities_numbers_of_rows_and_weights_are_refused(loss):
    for method in (loss.bayes_risk, loss.link):
        with pytest.raises(ValueError, match="u is a probability and must be from 0 to 1"):
            method([0.5, 1.2])
    for method in (loss.sensitivity, loss.published_sensitivity):
        with pytest.raises(ValueError, match="n is a number of rows and must be at least 1"):
            method(0)
    with pytest.raises(ValueError, match="weight is the largest weight of a row and must be above 0"):
        loss.sensitivity(10, 0.0)


def test_a_class_is_minus_one_or_one():
    with pytest.raises(ValueError, match="y=0 is not a class; the classes are -1 and 1"):
        partial_loss(0.5, 0, 0.3)
