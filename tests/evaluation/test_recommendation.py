"""The public rule that recommends a forest."""

import pytest

from dpforest import Domain, Feature, FriedmanSchusterClassifier, RandomTreeBoosterClassifier, load_dataset, recommend

KNOWN = {"source": "documented", "source_note": "test"}


def domain(n_classes):
    return Domain((Feature("x", "numeric", 0, 1, **KNOWN),), tuple(range(n_classes)), "y", "documented", "test")


@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "n_classes", "kind", "delta_of_forest"),
    [
        (0.1, 0, 239, 2, RandomTreeBoosterClassifier, 0),  # 11.95
        (0.1, 0, 240, 2, FriedmanSchusterClassifier, 0),
        (1, 0, 3_999, 2, FriedmanSchusterClassifier, 0),
        (1, 0, 4_000, 2, RandomTreeBoosterClassifier, 0),
        (1, 0, 4_000, 4, FriedmanSchusterClassifier, 0),
        (0.1, 1e-6, 239, 2, RandomTreeBoosterClassifier, 0),
        (0.1, 1e-6, 240, 2, RandomTreeBoosterClassifier, 1e-6),
        (10, 1e-9, 100_000, 2, RandomTreeBoosterClassifier, 1e-9),
    ],
)
def test_the_rule_compares_epsilon_and_persons_of_a_class_with_two_limits(
    epsilon, delta, size, n_classes, kind, delta_of_forest
):
    known = domain(n_classes)
    estimator, reason = recommend(known, epsilon, delta, size=size)
    assert type(estimator) is kind and estimator.epsilon == epsilon and estimator.domain is known
    assert getattr(estimator, "delta", 0) == delta_of_forest and reason.startswith("ε × rows / classes is about ")


def test_a_table_that_is_too_large_for_one_greedy_tree_gets_the_booster():
    assert type(recommend(domain(2), 1e-3, size=2_000_000).estimator) is FriedmanSchusterClassifier
    estimator, reason = recommend(domain(2), 1e-3, size=2_000_001)
    assert type(estimator) is RandomTreeBoosterClassifier and "more than 2,000,000 rows" in reason


def test_the_recommended_forest_fits_and_keeps_what_was_asked():
    table = load_dataset("breast_wisconsin")
    for epsilon, delta in ((0.01, 0), (1, 0), (10, 0), (1, 1e-6)):
        estimator = recommend(table.domain, epsilon, delta, size=700).estimator
        estimator.fit(table.X, table.y)
        assert estimator.certificate_.true_epsilon <= epsilon and estimator.certificate_.delta <= delta


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 0}, "epsilon=0 is not a number from"),
        ({"epsilon": None}, "without privacy; give a number above 0"),
        ({"delta": 2}, "delta=2 is not 0"),
        ({"size": 2.5}, "size=2.5 is not a whole number"),
        ({"size": 0}, "size=0 is not a whole number"),
        ({"domain": Domain((Feature("x", "numeric", 0, 1, **KNOWN),))}, "list them in Domain"),
    ],
)
def test_bad_inputs_get_a_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        recommend(**{"domain": domain(2), "epsilon": 1, "delta": 0, "size": 100} | changes)
