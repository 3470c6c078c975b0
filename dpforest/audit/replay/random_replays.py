"""Replay certified forests on random cases: up to 50 classes, 1 to a million rows, all settings and input formats.

A case consists of the settings of a forest and two neighboring tables. `replay` compares the fits of the two tables. A
case is determined by a theme (the kind of mistake that it targets), an estimator class and a seed.
"""

import warnings
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import numpy as np
from sklearn.base import clone

from dpforest.audit.exact import most_mu
from dpforest.audit.replay.cases import Case
from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.replay import Replay, replay
from dpforest.audit.replay.settings import FORESTS
from dpforest.audit.replay.tape import Finding, Table
from dpforest.audit.replay.themes import KEYS, THEMES
from dpforest.audit.replay.variants import divides_rows
from dpforest.models.base import ForestClassifier

SAMPLE: Final = 4  # number of cases of each theme and forest in an ordinary run
_ATTEMPTS: Final = 20  # largest number of draws of random settings until a fit accepts them


def replay_random(theme: str, kind: type[ForestClassifier], seeds: Iterable[int]) -> Iterator[tuple[str, Replay]]:
    """Replay cases of one theme and one forest.

    Parameters
    ----------
    theme : str
        One of `THEMES`.
    kind : class
        One of `FORESTS`.
    seeds : iterable of int
        Seeds, each for one case.

    Yields
    ------
    where : str
        Description of the case.
    replay : Replay
        Comparison of the two fits of the case.
    """
    for seed in seeds:
        for attempt in range(_ATTEMPTS):
            rng = np.random.default_rng([seed, attempt, KEYS[theme] + sum(map(ord, kind.__name__))])
            case = THEMES[theme](rng, kind, seed)
            if (comparison := replay_case(case)) is not None:
                yield f"seed {seed}: {case}", comparison
                break
        else:
            message = f"no fit accepted any of {_ATTEMPTS} random settings"
            yield f"seed {seed}", Replay((Finding("branch", kind.__name__, message),), 0.0, 0)


def replay_case(case: Case) -> Replay | None:
    """Replay one case. Return None if the settings contradict each other, so that a fit refuses both tables."""
    model: Any = case.model

    def fit(table: Table) -> Any:
        return case.input_format(clone(model), *table)

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
                one_tree=divides_rows(model),
                threads=model.n_jobs not in (None, 1),
                forced=RARE[case.rare] if case.rare else None,
            )
        except ValueError as refusal:
            try:
                fit(case.after)
            except ValueError as second_refusal:
                if str(second_refusal) == str(refusal):
                    return None
            message = f"one of the two tables is refused: {refusal}"
            return Replay((Finding("branch", type(model).__name__, message),), 0.0, 0)


def random_replays(
    estimators: Collection[str] | None = None,
    *,
    seeds: Iterable[int] = range(SAMPLE),
    themes: Collection[str] = tuple(THEMES),
) -> dict[str, Iterator[tuple[str, Replay]]]:
    """Return for each forest and theme an iterator over replayed cases. The default is all forests and all themes."""
    kinds = [kind for kind in FORESTS if estimators is None or kind.__name__ in estimators]
    seeds = list(seeds)
    return {f"{kind.__name__}, {theme}": replay_random(theme, kind, seeds) for theme in themes for kind in kinds}
