"""A second implementation of boosting by the Mα-loss, without privacy, for comparison with the library.

It is written plainly: a node is a mask over the rows, and weights are floats.

R. Nock, W. Henecka, "Boosted and differentially private ensembles of decision trees" (2020), sections 4 and 5.
"""

import numpy as np


def potential(w1: float, w0: float, alpha: float) -> float:
    """Return half of the loss that a leaf contributes."""
    return alpha * np.sqrt(w1 * w0) + (1 - alpha) * min(w1, w0)


def link(u: float, alpha: float) -> float:
    u = min(max(u, 1e-4), 1 - 1e-4)
    return alpha * (2 * u - 1) / np.sqrt(u * (1 - u)) + 2 * (1 - alpha) * np.sign(u - 0.5)


def inverse_link(z: float, alpha: float) -> float:
    beyond = abs(z) / 2 - (1 - alpha)
    return 0.5 if beyond <= 0 else 0.5 * (1 + np.sign(z) * beyond / np.sqrt(alpha**2 + beyond**2))


def public_tests(domain, n_bins: int) -> list[tuple]:
    """Return all tests as (feature, kind, value). The kind "least" tests cell >= value, and "is" tests equality."""
    out = []
    for j, feature in enumerate(domain.features):
        if feature.kind == "numeric":
            out += [(j, "least", k / n_bins) for k in range(1, n_bins)]
        elif len(feature.categories) == 2:
            out.append((j, "is", feature.categories[1]))
        else:
            out += [(j, "is", category) for category in feature.categories]
    return out


def answers(tests: list[tuple], X) -> np.ndarray:
    columns = [X.iloc[:, j].to_numpy() for j, _, _ in tests]
    return np.array([x >= v if kind == "least" else x == v for x, (_, kind, v) in zip(columns, tests, strict=True)])


def undecided(tests: list[tuple], left: list[int], chosen: int, domain) -> tuple[list[int], list[int]]:
    """Return the tests that can still split the rows that fail the chosen test, and those for the rows that pass it."""
    j, kind, value = tests[chosen]
    others = [c for c in left if tests[c][0] != j]
    same_attribute = [c for c in left if tests[c][0] == j and c != chosen]
    if kind == "least":
        no, yes = [c for c in same_attribute if tests[c][2] < value], [c for c in same_attribute if tests[c][2] > value]
    else:
        no, yes = (
            same_attribute if len(same_attribute) > 1 else [],
            [],
        )  # If only one other category is left, all rows have this category, so its test cannot split them.
    everything = list(range(len(tests)))
    return sorted(others + no) or everything, sorted(others + yes) or everything


def boost(X, y, domain, *, n_bins: int, depth: int, n_trees: int, alpha, alpha_link: float, grid: bool = True):
    """Return the leaf of each row in each tree, the score H of each row, and by how much the best tests lead.

    The lead is the least difference in cost between a best test and the second-best test of its node.

    Parameters
    ----------
    alpha : float or None
        If None, objective calibration sets α to the error of the tree so far, divided by the error of its root.
    grid : bool
        Whether weights are multiples of 1/1024, as in a release.
    """
    tests = public_tests(domain, n_bins)
    says_yes, sign, margin, leaf_of, closest = answers(tests, X), 2 * y - 1, np.zeros(len(y)), [], np.inf
    for _ in range(n_trees):
        w = np.array([inverse_link(-s * h, alpha_link) for s, h in zip(sign, margin, strict=True)])
        w = np.rint(1024 * w) / 1024 if grid else w

        def weights(rows, w=w):
            return w[rows & (y == 1)].sum(), w[rows & (y == 0)].sum()

        level, leaves = [(np.ones(len(y), bool), list(range(len(tests))))], []
        root_error = error = min(weights(level[0][0]))
        for _ in range(depth):
            below = []
            for rows, left in level:
                share = alpha if alpha is not None else error / root_error
                share = round(1024 * share) / 1024
                if min(weights(rows)) == 0:
                    leaves.append(rows)
                    continue
                sides = [(rows & ~says_yes[c], rows & says_yes[c]) for c in left]
                costs = [sum(potential(*weights(side), share) for side in pair) for pair in sides]
                costs = np.round(costs, 9)
                best = int(np.argmin(costs))  # the first of equally good tests
                closest = min(closest, np.min(costs[costs > costs[best]], initial=np.inf) - costs[best])
                error += sum(min(weights(side)) for side in sides[best]) - min(weights(rows))
                below += zip(sides[best], undecided(tests, left, left[best], domain), strict=True)
            level = below
        leaves += [rows for rows, _ in level]
        value, place = np.zeros(len(y)), np.zeros(len(y), int)
        for number, rows in enumerate(leaves):
            w1, w0 = weights(rows)
            value[rows], place[rows] = link(w1 / (w1 + w0) if w1 + w0 else 0.5, alpha_link), number
        most = np.abs(value).max()
        beta = alpha_link / most**2 / len(y) * (w * sign * value).sum() if most else 0.0
        margin = margin + beta * value
        leaf_of.append(place)
    return leaf_of, margin, closest


def same_parts(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two numberings divide the rows into the same groups."""
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))
