"""Everything that can be said against certified forests without fitting them thousands of times."""

from collections.abc import Collection, Iterator

from dpforest.audit.draws import check_draws, check_rare_draws
from dpforest.audit.scores import check_scores
from dpforest.audit.variants import VARIANTS, replay_variant
from dpforest.privacy.ledger import NEIGHBOURS


def suspicions(estimators: Collection[str] | None = None) -> Iterator[str]:
    """Sentences that say what is wrong, as they are found; none if nothing was found.

    Parameters
    ----------
    estimators : collection of str, optional
        Replay these only, by the names of their classes. Samplers and scores are checked in any case.

    Notes
    -----
    Sound certified code is suspected with a probability below 1e-6 (`draws`). Takes about 40 seconds.
    """
    yield from check_scores()
    yield from check_draws()
    for name, (estimator, _) in VARIANTS.items():
        if estimators is None or estimator.__name__ in estimators:
            for neighbours in NEIGHBOURS:
                for replay in replay_variant(name, neighbours):
                    yield from (f"{name}, {neighbours}: {finding}" for finding in replay.findings)
    yield from check_rare_draws()
