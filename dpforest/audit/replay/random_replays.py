"""Replays certified forests on random domains: up to 50 classes, 1 to a million rows, all settings and input formats.

A seed and a theme give a case. Each theme covers a place where a mistake can hide: a number of rows on a threshold, a
`size` far from the number of rows, many classes, many rounds, cells that cannot be read, borders of cells, parts. The
two tables of a case differ in one row, which is chosen to matter. `replay` compares the two fits.
"""

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import log_ndtr
from sklearn.base import clone

from dpforest.audit.replay.random_tables import (
    BAD,
    DOUBTFUL,
    edge_row,
    random_domain,
    random_table,
    together,
    with_odd_cells,
)
from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.recorder import Finding, Table
from dpforest.audit.replay.replay import Replay, replay
from dpforest.audit.replay.settings import FORESTS, settings_of
from dpforest.audit.replay.variants import shares_out
from dpforest.audit.replay.input_formats import Way, as_array, as_frame, as_list
from dpforest.models.base import ForestClassifier
from dpforest.privacy.ledger import ADD_REMOVE, NEIGHBORS
from dpforest.tables.csv_rows import read_table
from dpforest.tables.domain import Domain

BOOSTER: Final = "RandomTreeBoosterClassifier"
SAMPLE: Final = 4  # cases of each theme and forest in the ordinary run
_ROUND: Final = (1, 2, 3, 5, 6, 10)  # times a power of ten, a power of two, or a full block: where thresholds lie
_FAR_UP: Final = "far up, the least likely"
_REDRAWN: Final = 20


@dataclass(frozen=True, eq=False)
class Case:
    """A forest and a pair of tables that differ in one row."""

    model: ForestClassifier
    before: Table
    after: Table
    way: Way
    rare: str = ""

    def __str__(self) -> str:
        X, y = max(self.before, self.after, key=lambda table: len(table[1]))
        domain = self.model.domain
        assert domain is not None
        given = {k: v for k, v in self.model.get_params().items() if v not in (None, "auto") and k != "domain"}
        said = ", ".join(f"{name}={value!r}" for name, value in given.items())
        where = f"{len(y):,} rows, {domain.n_features} attributes, {domain.n_classes} classes, {self.way.__name__}"
        return f"{type(self.model).__name__}({said}) on {where}{self.rare and ', '}{self.rare}"


Theme = Callable[[np.random.Generator, type[ForestClassifier], int], Case]


# ---------------------------------------------------------------- what a pair is made of


def _pair(
    rng: np.random.Generator, rows: Table, one: Table, other: Table, neighbors: str, *, last: bool = True
) -> tuple[Table, Table]:
    """The rows with and without one more row, or with another row in its place, in random order."""
    n = len(rows[1])
    place = n if last else int(rng.integers(n + 1))
    pair = together(rows, one, place, n), rows
    if neighbors != ADD_REMOVE:
        pair = pair[0], together(rows, other, place, n + 1)
    return pair if rng.random() < 0.5 else pair[::-1]


def _classes(rng: np.random.Generator) -> int:
    """2 to 50 classes: 2, 3 and 50 more often than the others."""
    return int(rng.choice([2, 3, 50, int(rng.integers(2, 51))], p=[0.3, 0.1, 0.2, 0.4]))


def _labels(rng: np.random.Generator, n_classes: int) -> tuple[np.ndarray, int, int]:
    """Classes of the rows, of the row that differs, and of its replacement. These two may be alone in their class."""
    order = rng.permutation(n_classes)
    kept = max(1, int(rng.choice([1, n_classes - 1, n_classes])))
    return order[:kept], int(order[-1]), int(order[0])


def _case(
    rng: np.random.Generator,
    kind: type[ForestClassifier],
    n: int,
    domain: Domain,
    *,
    way: Way = as_frame,
    rare: str | None = None,
    n_bad: int | None = None,
    neighbors: str = "",
    alike: bool = False,
    listed: bool = False,
    **fixed: Any,
) -> Case:
    """A case with random values for settings that a theme does not fix. The larger table has `n` rows.

    If `alike`, all rows are the same. If `listed`, the row that differs has a listed class.
    """
    neighbors = neighbors or str(rng.choice(NEIGHBORS))
    classes, label, other = _labels(rng, domain.n_classes)
    rows = random_table(rng, domain, n - 1, classes)
    if alike:
        rows = rows[0].iloc[np.zeros(n - 1, int)].reset_index(drop=True), np.repeat(rows[1][:1], n - 1)
    one, instead = edge_row(rng, domain, label), edge_row(rng, domain, other)
    if n_bad is not None:
        rows = with_odd_cells(rng, rows, n_bad, DOUBTFUL if rng.random() < 0.5 else ODD_AND_BAD)
        one = with_odd_cells(rng, one, int(rng.random() < 0.8))
    if alike:
        one = rows[0].iloc[:1], rows[1][:1]
    elif not listed and rng.random() < 0.15:
        one = one[0], np.array([NO_CLASS[rng.integers(len(NO_CLASS))]], object)
    settings = {"epsilon": _epsilon(rng), **settings_of(rng, kind, n, domain.n_classes), **fixed}
    settings = {name: value for name, value in settings.items() if name in kind._get_param_names()}
    if rare is None:
        rare = "" if rng.random() < 0.5 else str(rng.choice(list(RARE)))
    before, after = _pair(rng, rows, one, instead, neighbors, last=way is not as_frame)
    return Case(kind(domain=domain, neighbors=neighbors, **settings), before, after, way, rare)


NO_CLASS: Final = (None, "no class", -100, 3.5)
ODD_AND_BAD: Final = (*BAD, *DOUBTFUL, None, "", "?", "nan", 0.5, 7, True)


def _epsilon(rng: np.random.Generator) -> float:
    return float(rng.choice([0.8, 1.0, 0.1, 4.0, round(float(10 ** rng.uniform(-2, 1)), 3)]))


def _log_uniform(rng: np.random.Generator, most: int) -> int:
    return round(math.exp(rng.uniform(0, math.log(most))))


def _on_a_threshold(rng: np.random.Generator, most: int) -> int:
    """A round number of rows: divided by some d and rounded down, it gives another number than one row less."""
    steps = (10 ** int(rng.integers(1, 7)), 10 ** int(rng.integers(2, 5)), 2 ** int(rng.integers(4, 20)), 65_536)
    n = int(rng.choice(steps)) * int(rng.choice(_ROUND))
    return min(n, most)


# ---------------------------------------------------------------- themes


def thresholds(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Round numbers of rows. In turn: a multiple of 1,000 with noise far down, a full block of rows in one leaf, and
    any round number with noise far up or far down. This shows all code that uses the true number.
    """
    domain = random_domain(rng, 2 if rng.random() < 0.7 else 3, 2)
    depth = 1 if kind.__name__ == BOOSTER else "auto"  # so that the booster asks the number of rows
    asked: dict[str, Any] = {"neighbors": ADD_REMOVE, "size": None, "n_estimators": 1, "max_depth": depth}
    if seed % 4 == 0:
        n = 1_000 * int(rng.integers(51, 101))  # a thousandth of it is above the least number that is released
        return _case(rng, kind, n, domain, rare="far down, the least likely", epsilon=0.1, listed=True, **asked)
    if seed % 4 == 1:
        n = 65_536 * int(rng.choice([1, 1, 2]))
        asked |= {"size": n, "max_depth": 1, "partition": "shared"}
        return _case(rng, kind, n, domain, alike=True, rare="", **asked)
    most = 1_000_000 if kind.structure_is_public or kind.__name__ == BOOSTER else 20_000
    n = _on_a_threshold(rng, most if rng.random() < 0.1 else most // 10)
    return _case(rng, kind, n, domain, rare=str(rng.choice(["far down, the least likely", _FAR_UP, ""])), **asked)


def sizes_said(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """A `size` far below or far above the number of rows, which is a round number."""
    domain = random_domain(rng, 2, 2)
    n = _on_a_threshold(rng, 100_000)
    size = max(1, int(rng.choice([1, 2, n // 1_000, n // 10, 10 * n, 2_000_000])))
    size = min(size, 2_000_000)
    return _case(rng, kind, n, domain, neighbors=ADD_REMOVE, size=size, n_estimators=1, max_depth=1)


def many_classes(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Up to 50 classes. In about half of the cases the row that differs is the only one of its class."""
    n_classes = int(rng.choice([50, 49, int(rng.integers(4, 49))]))
    domain = random_domain(rng, n_classes, 3)
    n, depth, trees = 1 + int(rng.integers(1, 30)), int(rng.integers(1, 4)), int(rng.choice([1, 2, 9]))
    step = float(rng.choice([1e-6, 1.0, 100.0]))
    return _case(rng, kind, n, domain, max_depth=depth, size=40, n_estimators=trees, total_step=step)


def many_rounds(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Hundreds of trees on a handful of rows: most leaves are empty on one table or on both."""
    domain = random_domain(rng, _classes(rng) if kind.__name__ == BOOSTER else 2, 3)
    trees = int(rng.choice([401, 450, 513, 601, 1_000], p=[0.3, 0.3, 0.2, 0.1, 0.1]))
    if kind.__name__ in ("BoostedForestClassifier", "MultinomialForestClassifier"):
        trees = int(rng.integers(20, 60))
    n, depth = 1 + int(rng.integers(0, 5)), int(rng.integers(1, 3))
    return _case(rng, kind, n, domain, n_estimators=trees, max_depth=depth, rare="")


def cells_that_do_not_fit(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """0, 1, 2, 3, ... cells that are not numbers, and one more in the row that differs."""
    domain = random_domain(rng, _classes(rng), 4)
    n_bad = int(rng.choice([0, 1, 2, 3, 4, 5, 7, 9, 10, 15, 19, 20, 31, 49, 99]))
    ways: list[Way] = [as_frame, as_array, as_list, as_csv]
    n = 3 + n_bad + int(rng.integers(1, 25))
    return _case(rng, kind, n, domain, n_bad=n_bad, way=ways[rng.integers(4)], max_depth=2)


def borders(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """The fit asks the scale, and the row that differs lies on the borders of its cells."""
    domain = random_domain(rng, _classes(rng), 8)
    ways: list[Way] = [as_frame, as_array, as_list, as_csv]
    share = float(rng.choice([0.05, 0.3, 0.9]))
    n = _log_uniform(rng, 300)
    return _case(rng, kind, n, domain, way=ways[rng.integers(4)], scale_share=share, max_depth=2)


def parts(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """Rows in parts, released from counts, with the scale asked first. Frames for forests that take no parts."""
    domain = random_domain(rng, _classes(rng), 6)
    n = 3 + _log_uniform(rng, 200)
    cut = int(rng.integers(1, n - 1))
    way = as_frame if not hasattr(kind, "fit_chunks") else [in_parts(cut), counted(cut)][rng.integers(2)]
    if rng.random() < 0.6:
        return _case(rng, kind, n, domain, way=way, scale_share=float(rng.choice([0.1, 0.5])))
    few = int(rng.integers(1, 4))
    return _case(rng, kind, n, domain, way=way, scale_share="public", n_estimators=few, max_depth=few)


def anything(rng: np.random.Generator, kind: type[ForestClassifier], seed: int) -> Case:
    """No setting is fixed. Few tables have more than 3,000 rows."""
    n = _log_uniform(rng, 1_000_000 if rng.random() < 0.05 else 3_000)
    domain = random_domain(rng, _classes(rng), 12 if n < 3_000 else 3)
    ways: list[Way] = [as_frame, as_array, as_list, as_csv] if n < 3_000 else [as_frame, as_array]
    return _case(rng, kind, n, domain, way=ways[rng.integers(len(ways))])


THEMES: Final[dict[str, Theme]] = {
    theme.__name__.replace("_", " "): theme
    for theme in (thresholds, sizes_said, many_classes, many_rounds, cells_that_do_not_fit, borders, parts, anything)
}


def as_csv(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Through a CSV file, whose format is fixed. It may have no rows."""
    domain = model.domain
    assert domain is not None
    table = read_table(X.assign(**{domain.label: y}).to_csv(index=False).encode(), domain)
    return model.fit(table[list(domain.names)], table[domain.label])


def in_parts(cut: int) -> Way:
    def as_parts(model: Any, X: pd.DataFrame, y: np.ndarray) -> Any:
        return model.fit_chunks([(X[:cut], y[:cut]), (X[cut:], y[cut:])])

    return as_parts


def counted(cut: int) -> Way:
    def as_part_counts(model: Any, X: pd.DataFrame, y: np.ndarray) -> Any:
        both = (X[:cut], y[:cut]), (X[cut:], y[cut:])
        model.fit_scale(sum(model.partial_scale(*part) for part in both))
        return model.fit_counts(sum(model.partial_counts(*part) for part in both))

    return as_part_counts


# ---------------------------------------------------------------- replays


def replay_random(theme: str, kind: type[ForestClassifier], seeds: Iterable[int]) -> Iterator[tuple[str, Replay]]:
    """Cases of one theme and one forest.

    Parameters
    ----------
    theme : str
        One of `THEMES`.
    kind : class
        One of `FORESTS`.
    seeds : iterable of int

    Yields
    ------
    where : str
        Case, in words.
    replay : Replay
    """
    for seed in seeds:
        for again in range(_REDRAWN):
            rng = np.random.default_rng([seed, again, sum(map(ord, theme + kind.__name__))])
            case = THEMES[theme](rng, kind, seed)
            if (found := replay_case(case)) is not None:
                yield f"seed {seed}: {case}", found
                break
        else:
            sentence = f"no fit accepted any of {_REDRAWN} random settings"
            yield f"seed {seed}", Replay((Finding("branch", kind.__name__, sentence),), 0.0, 0)


def replay_case(case: Case) -> Replay | None:
    """Replay one case. None if its settings contradict each other for any rows."""
    model: Any = case.model

    def fit(table: Table) -> Any:
        return case.way(clone(model), *table)

    delta = getattr(model, "delta", 0)
    epsilon = most_mu(model.epsilon, delta) * (1 + 1e-7) if delta else model.epsilon
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return replay(
                fit,
                case.before,
                case.after,
                epsilon=epsilon,
                neighbors=model.neighbors,
                one_tree=shares_out(model),
                threads=model.n_jobs not in (None, 1),
                forced=RARE[case.rare] if case.rare else None,
            )
        except ValueError as refused:
            try:
                fit(case.after)
            except ValueError as other:
                if str(other) == str(refused):
                    return None
            said = f"one of the two tables is refused: {refused}"
            return Replay((Finding("branch", type(model).__name__, said),), 0.0, 0)


def most_mu(epsilon: float, delta: float) -> float:
    """The μ that is (ε, δ), by bisection in floating point, independent of `dpforest.privacy.loss`.

    Dong, Roth and Su 2022, Corollary 2.13: δ = Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2).

    >>> round(most_mu(1.0, 1e-6), 5)
    0.2367
    """
    low, high = 0.0, 100.0
    for _ in range(200):
        mu = (low + high) / 2
        a, b = log_ndtr(-epsilon / mu + mu / 2), epsilon + log_ndtr(-epsilon / mu - mu / 2)
        low, high = (mu, high) if math.exp(a) * -math.expm1(b - a) <= delta else (low, mu)
    return low


def random_replays(
    estimators: Collection[str] | None = None,
    *,
    seeds: Iterable[int] = range(SAMPLE),
    themes: Collection[str] = tuple(THEMES),
) -> dict[str, Iterator[tuple[str, Replay]]]:
    """Cases by theme and forest. By default all themes and forests."""
    kinds = [kind for kind in FORESTS if estimators is None or kind.__name__ in estimators]
    seeds = list(seeds)
    return {f"{kind.__name__}, {theme}": replay_random(theme, kind, seeds) for theme in themes for kind in kinds}
