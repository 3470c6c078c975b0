"""Run all checks of certified forests that do not need thousands of fits."""

import itertools
from collections.abc import Collection, Iterator

from dpforest.audit.persons import check_persons
from dpforest.audit.reading import check_reading
from dpforest.audit.replay.large_tables import QUICK_SETTINGS, replay_formats, replay_large
from dpforest.audit.replay.persons import OF_PERSONS, replay_formats_of_persons, replay_persons
from dpforest.audit.replay.random_replays import SAMPLE, random_replays
from dpforest.audit.replay.replay import Replay
from dpforest.audit.replay.same_rows import check_same_rows
from dpforest.audit.replay.variants import VARIANTS, replay_rare, replay_variant
from dpforest.audit.samplers.bridge import check_bridge
from dpforest.audit.samplers.draws import check_draws, check_rare_draws
from dpforest.audit.samplers.gaussian import check_gaussian
from dpforest.audit.samplers.identities import check_identities
from dpforest.audit.samplers.lanes import check_lanes
from dpforest.audit.samplers.tails import check_tails
from dpforest.audit.scores import check_scores
from dpforest.audit.single_rows import check_single_rows
from dpforest.privacy.ledger import NEIGHBORS

_MORE = 24  # number of seeds for each forest and each theme of random cases in the whole suite


def suspicions(estimators: Collection[str] | None = None) -> Iterator[str]:
    """Yield a message for each mistake that a check finds in the certified code.

    Parameters
    ----------
    estimators : collection of str, optional
        Names of the estimator classes whose fits are compared; by default all classes. Other checks always run.

    Notes
    -----
    For correct code, the probability of any message is below 1e-6. It is not 0, because `draws` tests random samples.
    Fast checks come first; the whole suite takes ten minutes.
    """
    yield from check_scores()
    yield from check_identities(whole=False)
    yield from check_draws()
    yield from check_lanes(whole=False)
    yield from check_gaussian(whole=False)
    yield from check_bridge(n_tapes=100)
    yield from check_tails()
    yield from check_single_rows(whole=False)
    yield from check_persons()
    yield from check_reading()
    yield from fit_suspicions(estimators)
    yield from check_rare_draws()
    yield from check_identities()
    yield from check_lanes()
    yield from check_gaussian()
    yield from check_bridge()
    yield from check_single_rows()
    yield from check_reading(range(4, 20), most=200_000)
    yield from check_same_rows(estimators, range(2, _MORE))
    yield from _in_turn(random_replays(estimators, seeds=range(SAMPLE, _MORE)))


def fit_suspicions(estimators: Collection[str] | None = None) -> Iterator[str]:
    """Yield the messages of `suspicions` that come from replays of whole fits."""
    names = [n for n, (kind, _) in VARIANTS.items() if estimators is None or kind.__name__ in estimators]
    kinds = [kind for kind in QUICK_SETTINGS if estimators is None or kind.__name__ in estimators]
    variants = list(itertools.product(names, NEIGHBORS))
    yield from _in_turn({f"{n}, {r}": (("", outcome) for outcome in replay_variant(n, r)) for n, r in variants})
    yield from _in_turn(random_replays(estimators))
    yield from check_same_rows(estimators)
    yield from _in_turn(
        {
            f"{n}, {r}": itertools.chain(replay_persons(n, r, n_rows=(7, 300)), replay_formats_of_persons(n, r))
            for n, r in variants
            if n in OF_PERSONS
        }
    )
    yield from _in_turn(
        {f"{n}, {r}, rare answers": (("", outcome) for outcome in replay_rare(n, r)) for n, r in variants}
    )
    yield from _in_turn(
        {
            f"{kind.__name__}, {r}": itertools.chain(replay_formats(kind, r), replay_large(kind, r))
            for kind, r in itertools.product(kinds, NEIGHBORS)
        }
    )


def _in_turn(replays: dict[str, Iterator[tuple[str, Replay]]]) -> Iterator[str]:
    """Yield the findings of the first replay of each series, then of the second replay of each series, and so on."""
    for turn in itertools.zip_longest(*replays.values(), fillvalue=("", None)):
        for series, (place, outcome) in zip(replays, turn):
            for finding in outcome.findings if outcome else ():
                yield f"{series}{place and ', '}{place}: {finding}"
