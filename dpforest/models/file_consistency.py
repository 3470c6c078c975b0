"""Checks that a file is consistent: its ledger and its certificate must follow from its other fields.

A forger who changes all fields consistently is not detected (docs/FORMAT.md).
"""

from collections.abc import Iterator
from typing import Any

from dpforest.limits import MAX_BOUND
from dpforest.models.base import bound_sentence
from dpforest.models.file_facts import FileError
from dpforest.models.noise_floor import check_noise
from dpforest.models.preparation import size_sentence
from dpforest.models.replanned_fits import promises
from dpforest.privacy.certificate import Certificate, large_delta_caution
from dpforest.privacy.ledger import Ledger
from dpforest.tables.domain import HANDED_OVER, READ_BY_RULE
from dpforest.trees.forest import ReleasedForest
from dpforest.trees.leaves import CountLeaves
from dpforest.voting import CLIPPED_LOGISTIC

# The end of the sentence about a number of rows that the curator states (`preparation.size_sentence`).
_OLD_SIZE = " rows is public: it was said, and not counted."
_NEW_SIZE = size_sentence(1, None).partition("about 1")[2]

_ENTRY = ("what", "mechanism", "sensitivity", "each", "times", "composition", "part")


def check(forest: ReleasedForest) -> None:
    """Raise ValueError unless some fit of the forest's estimator writes this ledger and this certificate.

    Parameters
    ----------
    forest : ReleasedForest
    """
    nearest: tuple[int, str] = (-1, "no fit has these settings")
    later = _later_sentences(forest)
    for promise in promises(forest):
        if isinstance(promise, ValueError):
            nearest = max(nearest, (0, f"no fit writes such a file: {promise}"))
            continue
        certificate, ledger, spec = promise
        mismatch = next(_mismatches(forest, certificate, ledger, later), None)
        if mismatch is None:
            if isinstance(forest.leaves, CountLeaves) and forest.leaves.log_odds is not None:
                _check_log_odds(forest.leaves, certificate, spec)
            if forest.certificate.certified:
                check_noise(forest, spec)
            return
        nearest = max(nearest, mismatch)
    raise FileError(nearest[1])


def _check_log_odds(leaves: CountLeaves, certificate: Certificate, spec: Any) -> None:
    """Raise FileError if the noise that weighs the votes differs from the ledger's noise."""
    says, follows = leaves.log_odds, spec.log_odds(certificate.epsilon, leaves.noisy_counts)
    assert says is not None
    if says.noise_scale != follows.noise_scale:
        raise FileError(_differs("log_odds.noise_scale", says.noise_scale, follows.noise_scale))


def _later_sentences(forest: ReleasedForest) -> tuple[str, ...]:
    """Return the sentences that an old file lacks because its version did not write them.

    A file lacks all of these sentences or none. A file counts as old only if it uses no feature that is as new as the
    sentences.
    """
    domain = forest.domain
    sources = [domain.reading_source, domain.columns_source, *(f.type_source for f in domain.features)]
    sources += [f.missing_source for f in domain.features]
    is_old = "n_rows" not in forest.about and forest.voting != "log-odds" and not any(sources)
    is_old &= all(f.kind == "categorical" or f.scale == "linear" for f in domain.features)
    later = (READ_BY_RULE, HANDED_OVER) if is_old else ()
    if forest.voting == CLIPPED_LOGISTIC and "total_step" not in forest.about:  # the booster's first files
        later = (*later, bound_sentence(MAX_BOUND))
    return (*later, large_delta_caution(forest.certificate.delta, forest.about.get("n_rows"), domain.unit))


def _mismatches(
    forest: ReleasedForest, certificate: Certificate, ledger: Ledger, later: tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    """Yield each mismatch as (rank, half a sentence). If the rank is higher, more of the file agrees with the fit."""
    given = forest.ledger
    if given.budget != ledger.budget:
        yield 1, f"the budget of its ledger is {given.budget}, but its ε and δ give {ledger.budget}"
    for i, (says, follows) in enumerate(zip(given.entries, ledger.entries)):
        for name in _ENTRY:
            if (stated := getattr(says, name)) != (expected := getattr(follows, name)):
                yield 2 + i, _differs(f"{name} in entry {i + 1} of its ledger", stated, expected)
    if len(given.entries) != len(ledger.entries):
        yield 40, _differs("the number of entries in its ledger", len(given.entries), len(ledger.entries))
    yield from ((50, sentence) for sentence in _of_certificate(forest.certificate, certificate, ledger, later))


def _of_certificate(says: Certificate, follows: Certificate, ledger: Ledger, later: tuple[str, ...]) -> Iterator[str]:
    if says.mechanism != follows.mechanism:
        yield _differs("the mechanism on its certificate", says.mechanism, follows.mechanism)
    stated, expected = _in_new_words(says.assumptions), _in_new_words(follows.assumptions)
    if stated not in (expected, tuple(a for a in expected if a not in later)):
        yield _first_difference(stated, expected)
    if (says.epsilon, says.delta) != (follows.epsilon, follows.delta):
        yield _differs("the ε and δ on its certificate", (says.epsilon, says.delta), (follows.epsilon, follows.delta))
    if not says.certified:
        return
    if not follows.certified:
        yield f"it says that it is certified, but there is a reason against that: {follows.reasons[0]}"
        return
    # Old files round the cost to the nearest float.
    nearest = float(ledger.loss.amount) if says.mu_squared is None else follows.true_epsilon
    if says.true_epsilon not in (follows.true_epsilon, nearest):
        yield _differs("true_epsilon on its certificate", says.true_epsilon, follows.true_epsilon)
    if says.mu_squared != follows.mu_squared:
        yield _differs("mu_squared on its certificate", says.mu_squared, follows.mu_squared)


def _in_new_words(assumptions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the assumptions in the current wording, because earlier versions had other words."""
    return tuple(
        a.replace("asserted by you: ", "asserted by the curator: ").replace(_OLD_SIZE, _NEW_SIZE) for a in assumptions
    )


def _first_difference(says: tuple[str, ...], follows: tuple[str, ...]) -> str:
    for stated, expected in zip(says, follows):
        if stated != expected:
            return _differs("an assumption on its certificate", stated, expected)
    if len(says) > len(follows):
        return f"its certificate has an assumption that its other fields do not support: {_short(says[len(follows)])}"
    return f"an assumption is absent from its certificate: {_short(follows[len(says)])}"


def _differs(what: str, says: Any, follows: Any) -> str:
    return f"{what} is {_short(says)}, but its other fields give {_short(follows)}"


def _short(x: Any) -> str:
    text = str(x)
    return repr(text if len(text) <= 120 else text[:119] + "…") if isinstance(x, str) else text[:120]
