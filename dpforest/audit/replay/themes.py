"""Themes of random cases. Each theme targets one kind of mistake.

The themes are: a number of rows on a threshold, a stated `size` far from the number of rows, many classes, many rounds,
unreadable cells, values on borders of histogram cells, rows in parts, random settings, and persons with several rows.
Each theme chooses the row or person in which the two tables differ so that a mistake is likely to show.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dpforest.audit.replay.cases import Case, random_case
from dpforest.audit.replay.input_formats import (
    InputFormat,
    as_array,
    as_csv,
    as_fixed_csv,
    as_frame,
    as_list,
    counts_of_two_parts,
    formats_of_persons,
    in_two_parts,
)
from dpforest.audit.replay.random_tables import random_domain, random_table
from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.settings import settings_of
from dpforest.models.base import ForestClassifier
from dpforest.privacy.ledger import ADD_REMOVE, NEIGHBORS

BOOSTER: Final = "RandomTreeBoosterClassifier"
# A typical threshold is one of these multiples of a power of ten, a power of two, or a block of 65,536 rows.
_MULTIPLES: Final = (1, 2, 3, 5, 6, 10)
_FAR_DOWN: Final = "far down, the least likely"
_FAR_UP: Final = "far up, the least likely"
_WHOLE_TABLE: Final[tuple[InputFormat, ...]] = (as_frame, as_array, as_list, as_fixed_csv)

# Maps a source of random values, an estimator class and the seed of a case to the case.
Theme = Callable[[np.random.Generator, type[ForestClassifier], int], Case]


def thresholds(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case with a round number of rows, which exposes code that uses the true number of rows.

    The seed modulo 4 selects one of three kinds. 0: a multiple of 1,000 rows with very negative noise. 1: one or two
    full blocks of equal rows. 2 and 3: any round number of rows with very negative, very positive or drawn noise.
    """
    domain = random_domain(rng, 2 if rng.random() < 0.7 else 3, 2)
    depth = 1 if kind.__name__ == BOOSTER else "auto"  # with "auto", the booster spends budget on the number of rows
    settings: dict[str, Any] = {"neighbors": ADD_REMOVE, "size": None, "n_estimators": 1, "max_depth": depth}
    if seed % 4 == 0:
        # n / 1,000 must exceed 50, the smallest noisy number of rows that a fit releases.
        n = 1_000 * int(rng.integers(51, 101))
        return random_case(rng, kind, n, domain, rare=_FAR_DOWN, epsilon=0.1, listed=True, **settings)
    if seed % 4 == 1:
        n = 65_536 * int(rng.choice([1, 1, 2]))
        settings |= {"size": n, "max_depth": 1, "partition": "shared"}
        return random_case(rng, kind, n, domain, alike=True, rare="", **settings)
    most = 1_000_000 if kind.structure_is_public or kind.__name__ == BOOSTER else 20_000
    n = _on_a_threshold(rng, most if rng.random() < 0.1 else most // 10)
    return random_case(rng, kind, n, domain, rare=str(rng.choice([_FAR_DOWN, _FAR_UP, ""])), **settings)


def wrong_sizes(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case with a round number of rows, and with a `size` far below or far above this number."""
    domain = random_domain(rng, 2, 2)
    n = _on_a_threshold(rng, 100_000)
    size = max(1, int(rng.choice([1, 2, n // 1_000, n // 10, 10 * n, 2_000_000])))
    size = min(size, 2_000_000)
    return random_case(rng, kind, n, domain, neighbors=ADD_REMOVE, size=size, n_estimators=1, max_depth=1)


def many_classes(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case with up to 50 classes. In most cases, the row that differs is the only row of its class."""
    n_classes = int(rng.choice([50, 49, int(rng.integers(4, 49))]))
    domain = random_domain(rng, n_classes, 3)
    n, depth, trees = 1 + int(rng.integers(1, 30)), int(rng.integers(1, 4)), int(rng.choice([1, 2, 9]))
    step = float(rng.choice([1e-6, 1.0, 100.0]))
    return random_case(rng, kind, n, domain, max_depth=depth, size=40, n_estimators=trees, total_step=step)


def many_rounds(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case with many trees and few rows, so that most leaves are empty."""
    domain = random_domain(rng, _n_classes(rng) if kind.__name__ == BOOSTER else 2, 3)
    trees = int(rng.choice([401, 450, 513, 601, 1_000], p=[0.3, 0.3, 0.2, 0.1, 0.1]))
    if kind.__name__ in ("BoostedForestClassifier", "MultinomialForestClassifier"):
        trees = int(rng.integers(20, 60))
    n, depth = 1 + int(rng.integers(0, 5)), int(rng.integers(1, 3))
    return random_case(rng, kind, n, domain, n_estimators=trees, max_depth=depth, rare="")


def out_of_domain_cells(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case with up to 99 unreadable cells in each column. Usually, the row that differs has one more."""
    domain = random_domain(rng, _n_classes(rng), 4)
    n_bad = int(rng.choice([0, 1, 2, 3, 4, 5, 7, 9, 10, 15, 19, 20, 31, 49, 99]))
    n = 3 + n_bad + int(rng.integers(1, 25))
    return random_case(rng, kind, n, domain, n_bad=n_bad, input_format=_WHOLE_TABLE[rng.integers(4)], max_depth=2)


def cell_borders(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case whose fit queries the scale (noisy histograms of numeric attributes).

    The values of the row in which the tables differ lie on borders of histogram cells.
    """
    domain = random_domain(rng, _n_classes(rng), 8)
    share = float(rng.choice([0.05, 0.3, 0.9]))
    n = _log_uniform(rng, 300)
    return random_case(rng, kind, n, domain, input_format=_WHOLE_TABLE[rng.integers(4)], scale_share=share, max_depth=2)


def rows_in_parts(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case that fits the rows in parts, or the counts of parts, often after a query of the scale.

    A forest that accepts no parts fits a data frame instead.
    """
    domain = random_domain(rng, _n_classes(rng), 6)
    n = 3 + _log_uniform(rng, 200)
    cut = int(rng.integers(1, n - 1))
    formats = [in_two_parts(cut)] * hasattr(kind, "fit_chunks") + [counts_of_two_parts(cut)] * hasattr(
        kind, "fit_counts"
    )
    input_format = formats[rng.integers(len(formats))] if formats else as_frame
    if rng.random() < 0.6:
        return random_case(rng, kind, n, domain, input_format=input_format, scale_share=float(rng.choice([0.1, 0.5])))
    n_trees = int(rng.integers(1, 4))
    return random_case(
        rng, kind, n, domain, input_format=input_format, scale_share="public", n_estimators=n_trees, max_depth=n_trees
    )


def persons(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case whose tables differ in a person with up to 600 rows.

    In half of the cases, each of the other persons has one row.
    """
    neighbors, n_others = str(rng.choice(NEIGHBORS)), 1 + _log_uniform(rng, 60)
    domain = replace(random_domain(rng, _n_classes(rng), 6), unit="person")
    sizes = np.ones(n_others + 2, int) if rng.random() < 0.5 else rng.choice([1, 1, 2, 3, 9], n_others + 2)
    sizes[-2:] = [_log_uniform(rng, 600), _log_uniform(rng, 600)]
    person = rng.permutation(np.repeat(np.arange(n_others + 2), sizes))
    X, y = random_table(rng, domain, len(person), rng.permutation(domain.n_classes)[: 1 + int(rng.integers(3))])
    if rng.random() < 0.3:  # all rows are the same
        X, y = X.iloc[np.zeros(len(X), int)].reset_index(drop=True), np.repeat(y[:1], len(y))
    X["person"] = person if rng.random() < 0.5 else np.array([f"{i:03}" for i in person])
    is_other_person = person < n_others
    with_person = is_other_person | (person == n_others)
    with_replacement = is_other_person | ((person == n_others + 1) & (neighbors != ADD_REMOVE))
    pair = [(X[rows].reset_index(drop=True), y[rows]) for rows in (with_person, with_replacement)]
    settings = {"epsilon": 1.0, **settings_of(rng, kind, n_others + 1, domain.n_classes)}
    before, after = pair if rng.random() < 0.5 else pair[::-1]
    settings = {name: value for name, value in settings.items() if name in kind._get_param_names()}
    # `as_csv` refuses a file of one row.
    formats = [input_format for input_format in formats_of_persons(kind) if input_format is not as_csv]
    rare = "" if rng.random() < 0.5 else str(rng.choice(list(RARE)))
    model = kind(domain=domain, neighbors=neighbors, **settings)
    return Case(model, before, after, formats[rng.integers(len(formats))], rare)


def any_settings(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Return a case in which all settings are random. Few tables have more than 3,000 rows."""
    n = _log_uniform(rng, 1_000_000 if rng.random() < 0.05 else 3_000)
    domain = random_domain(rng, _n_classes(rng), 12 if n < 3_000 else 3)
    formats = _WHOLE_TABLE if n < 3_000 else (as_frame, as_array)
    return random_case(rng, kind, n, domain, input_format=formats[rng.integers(len(formats))])


def _n_classes(rng: np.random.Generator) -> int:
    """Draw a number of classes from 2 to 50; 2, 3 and 50 are more frequent than other numbers."""
    return int(rng.choice([2, 3, 50, int(rng.integers(2, 51))], p=[0.3, 0.1, 0.2, 0.4]))


def _log_uniform(rng: np.random.Generator, most: int) -> int:
    """Draw a whole number from 1 to `most` whose logarithm is uniform."""
    return round(math.exp(rng.uniform(0, math.log(most))))


def _on_a_threshold(rng: np.random.Generator, most: int) -> int:
    """Draw a number n of rows that is a multiple of some likely divisor d, so that ⌊n/d⌋ differs from ⌊(n - 1)/d⌋."""
    divisors = (10 ** int(rng.integers(1, 7)), 10 ** int(rng.integers(2, 5)), 2 ** int(rng.integers(4, 20)), 65_536)
    n = int(rng.choice(divisors)) * int(rng.choice(_MULTIPLES))
    return min(n, most)


THEMES: Final[dict[str, Theme]] = {
    theme.__name__.replace("_", " "): theme
    for theme in (
        thresholds,
        wrong_sizes,
        many_classes,
        many_rounds,
        out_of_domain_cells,
        cell_borders,
        rows_in_parts,
        any_settings,
        persons,
    )
}
# Each theme's contribution to the random seed of a case.
KEYS: Final = dict(zip(THEMES, (1_088, 1_007, 1_219, 1_136, 1_963, 753, 554, 866, 1_311), strict=True))
