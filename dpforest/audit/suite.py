"""Everything that can be said against certified forests without fitting them thousands of times."""

import itertools
from collections.abc import Collection, Iterator

from dpforest.audit.replay.variants import VARIANTS, replay_rare, replay_variant
from dpforest.audit.replay.ways_in import FORESTS, replay_large, replay_ways
from dpforest.audit.samplers.bridge import check_bridge
from dpforest.audit.samplers.draws import check_draws, check_rare_draws
from dpforest.audit.samplers.gaussian import check_gaussian
from dpforest.audit.samplers.identities import check_identities
from dpforest.audit.samplers.lanes import check_lanes
from dpforest.audit.samplers.tails import check_tails
from dpforest.audit.scores import check_scores
from dpforest.privacy.ledger import NEIGHBOURS


def suspicions(estimators: Collection[str] | None = None) -> Iterator[str]:
    """Sentences that say what is wrong, as they are found; none if nothing was found.

    Parameters
    ----------
    estimators : collection of str, optional
        Replay these only, by the names of their classes. Samplers and scores are checked in any case.

    Notes
    -----
    Sound certified code is suspected with a probability below 1e-6 (`draws`). What is quick comes first; all of it
    takes four minutes.
    """
    yield from check_scores()
    yield from check_identities(whole=False)
    yield from check_draws()
    yield from check_lanes(whole=False)
    yield from check_gaussian(whole=False)
    yield from check_bridge(n_tapes=100)
    yield from check_tails()
    yield from fit_suspicions(estimators)
    yield from check_rare_draws()
    yield from check_identities()
    yield from check_lanes()
    yield from check_gaussian()
    yield from check_bridge()


def fit_suspicions(estimators: Collection[str] | None = None) -> Iterator[str]:
    """What replays of whole fits say; as `suspicions`, without what concerns samplers and scores alone."""
    names = [n for n, (kind, _) in VARIANTS.items() if estimators is None or kind.__name__ in estimators]
    for name, neighbours in itertools.product(names, NEIGHBOURS):
        for found in replay_variant(name, neighbours):
            yield from (f"{name}, {neighbours}: {finding}" for finding in found.findings)
    for name, neighbours in itertools.product(names, NEIGHBOURS):
        for found in replay_rare(name, neighbours):
            yield from (f"{name}, {neighbours}, rare answers: {finding}" for finding in found.findings)
    kinds = [kind for kind in FORESTS if estimators is None or kind.__name__ in estimators]
    for kind, neighbours in itertools.product(kinds, NEIGHBOURS):
        for where, found in itertools.chain(replay_ways(kind, neighbours), replay_large(kind, neighbours)):
            yield from (f"{kind.__name__}, {neighbours}, {where}: {finding}" for finding in found.findings)
