"""The papers' rules for tree depth, from the public schema and, in one rule, the number of rows."""

import math

from dpforest.limits import MAX_DEPTH


def untested_features(n_numeric: int, depth: int) -> float:
    """Return the expected number of numeric features that a path never tests (Fletcher & Islam, Theorem 2).

    >>> round(untested_features(10, 7), 3)
    4.783
    """
    return n_numeric * ((n_numeric - 1) / n_numeric) ** depth if n_numeric else 0.0


def fletcher_islam_depth(
    n_numeric: int, n_categorical: int, rule: str = "published", *, most: int | None = MAX_DEPTH
) -> int:
    """Return the depth of the majority-label forest, from the public schema alone.

    Parameters
    ----------
    n_numeric, n_categorical : int
        Numbers of numeric and of categorical features.
    rule : {"published", "theorem", "half", "full"}
        "theorem": the smallest depth at which fewer than half of the numeric features are untested, plus half the
        number of categorical features. "published": the depths in the paper's Table 4. They follow from the rule
        "theorem" with "at most half" in place of "fewer than half", plus 1 if there are numeric features. "half": half
        the number of all features. "full": the number of all features. Halves are rounded down.
    most : int or None
        Largest depth that is returned; None for no limit.

    Returns
    -------
    int
        Depth, at least 1.

    Raises
    ------
    ValueError
        If the rule is unknown.

    Examples
    --------
    >>> fletcher_islam_depth(6, 8), fletcher_islam_depth(6, 8, "theorem"), fletcher_islam_depth(0, 22)
    (9, 8, 11)
    >>> fletcher_islam_depth(60, 0), fletcher_islam_depth(60, 0, most=None)
    (15, 43)
    """
    s, r = n_numeric, n_categorical
    if rule == "published":
        numeric = 1 + next(d for d in range(10**6) if untested_features(s, d) <= s / 2) if s else 0
    elif rule == "theorem":
        numeric = next(d for d in range(10**6) if untested_features(s, d) < s / 2) if s else 0
    elif rule == "half":
        numeric, r = (s + r) // 2, 0
    elif rule == "full":
        numeric, r = s + r, 0
    else:
        raise ValueError(
            f"max_depth={rule!r} is not a depth rule; use a number, 'published', 'theorem', 'half' or 'full'"
        )
    depth = max(numeric + r // 2, 1)
    return depth if most is None else min(depth, most)


def jagannathan_depth(n_features: int, mean_codes: float, n_bound: int | None) -> int:
    """Return the depth of Jagannathan, Pillaipakkamnatt and Wright's trees: min(m / 2, log_b n - 1).

    Parameters
    ----------
    n_features : int
        Number m of features.
    mean_codes : float
        Mean number b of values of a feature (2 for a numeric feature).
    n_bound : int or None
        Number n of rows, or a bound on this number. None omits the term log_b n - 1.

    Returns
    -------
    int
        Depth, rounded down, from 1 to `MAX_DEPTH`.

    Examples
    --------
    >>> jagannathan_depth(22, 5.7, 10_000), jagannathan_depth(10, 2, None)
    (4, 5)
    """
    depth = n_features // 2
    if n_bound is not None:
        depth = min(depth, math.floor(math.log(max(n_bound, 2), max(mean_codes, 2)) - 1 + 1e-12))
    return min(max(depth, 1), MAX_DEPTH)
