"""Checks that a file is consistent: its ledger and its certificate must follow from its other fields.

A forger who changes all fields consistently is not detected (docs/FORMAT.md).
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpforest.limits import MAX_BOUND, MAX_SUMMED_ROWS
from dpforest.models.base import bound_sentence
from dpforest.models.file_facts import FileError
from dpforest.models.greedy.friedman_schuster import LEVELS_OF_SPLITS
from dpforest.models.noise_floor import check_noise
from dpforest.models.preparation import size_sentence
from dpforest.models.replanned_fits import promises
from dpforest.privacy.certificate import EARLIER_LAST_ASSUMPTION, STANDING_ASSUMPTIONS, Certificate, large_delta_caution
from dpforest.privacy.ledger import Ledger
from dpforest.tables.domain import HANDED_OVER, READ_BY_RULE
from dpforest.trees.forest import ReleasedForest
from dpforest.trees.leaves import CountLeaves
from dpforest.voting import CLIPPED_LOGISTIC

# Sentences of certificates, or parts of them, in the words of earlier versions, each with the current words.
_REWORDED = {
    "asserted by you: ": "asserted by the curator: ",
    " rows is public: it was said, and not counted.": size_sentence(1, None).partition("about 1")[2],
    "Each cell is read by itself: a number beyond its bounds counts as the bound, and what does not fit counts as "
    "missing or, where none are expected, as the lower bound or the first category; a row whose label is not listed is "
    "left out.": READ_BY_RULE,
    EARLIER_LAST_ASSUMPTION: STANDING_ASSUMPTIONS[-1],
    "How the table was handed over (its columns, their types and names, which of them is the label) was fixed without "
    "looking at its rows.": HANDED_OVER,
}

_ENTRY = ("what", "mechanism", "sensitivity", "each", "times", "composition", "part")


def check(forest: ReleasedForest) -> None:
    """Raise ValueError unless some fit of the forest's estimator could write this ledger, certificate and noise.

    Parameters
    ----------
    forest : ReleasedForest
        Forest that was read from a file.
    """
    best_mismatch: tuple[int, str] = (-1, "no fit has these settings")
    new_sentences = _sentences_of_new_files(forest)
    for promise in promises(forest):
        if isinstance(promise, ValueError):
            best_mismatch = max(best_mismatch, (0, f"no fit writes such a file: {promise}"))
            continue
        certificate, ledger, spec = promise
        mismatch = next(_mismatches(forest, certificate, ledger, new_sentences), None)
        if mismatch is None:
            if isinstance(forest.leaves, CountLeaves) and forest.leaves.log_odds is not None:
                _check_log_odds(forest.leaves, certificate, spec)
            if forest.certificate.certified:
                check_noise(forest, spec)
            return
        best_mismatch = max(best_mismatch, mismatch)
    raise FileError(best_mismatch[1])


def _check_log_odds(leaves: CountLeaves, certificate: Certificate, spec: Any) -> None:
    """Raise FileError if the noise scale by which a file weights votes differs from the noise scale of its ledger."""
    stated, expected = leaves.log_odds, spec.log_odds(certificate.epsilon, leaves.noisy_counts)
    assert stated is not None
    if stated.noise_scale != expected.noise_scale:
        raise FileError(_differs("log_odds.noise_scale", stated.noise_scale, expected.noise_scale))


def _sentences_of_new_files(forest: ReleasedForest) -> tuple[str, ...]:
    """Return the sentences that an old file may lack, because earlier versions did not write them.

    A file must lack all of these sentences or none of them. The file counts as old only if it has no field that was
    introduced together with these sentences.
    """
    domain = forest.domain
    sources = [domain.reading_source, domain.columns_source, *(f.type_source for f in domain.features)]
    sources += [f.missing_source for f in domain.features]
    is_old = "n_rows" not in forest.about and forest.voting != "log-odds" and not any(sources)
    is_old &= all(f.kind == "categorical" or f.scale == "linear" for f in domain.features)
    new_sentences = (READ_BY_RULE, HANDED_OVER) if is_old else ()
    # The first files of the booster have neither the field `total_step` nor this sentence.
    if forest.voting == CLIPPED_LOGISTIC and "total_step" not in forest.about:
        new_sentences = (*new_sentences, bound_sentence(MAX_SUMMED_ROWS))
    return (*new_sentences, large_delta_caution(forest.certificate.delta, forest.about.get("n_rows"), domain.unit))


def _mismatches(
    forest: ReleasedForest, certificate: Certificate, ledger: Ledger, new_sentences: tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    """Yield each mismatch as (rank, message). The higher the rank, the more of the file agrees with the fit."""
    stated_ledger = forest.ledger
    if stated_ledger.budget != ledger.budget:
        yield 1, f"the budget of its ledger is {stated_ledger.budget}, but its ε and δ give {ledger.budget}"
    for i, (stated_entry, expected_entry) in enumerate(zip(stated_ledger.entries, ledger.entries)):
        for name in _ENTRY:
            stated, expected = getattr(stated_entry, name), getattr(expected_entry, name)
            if stated != expected and not _is_rounded_down(expected_entry.what, name, stated, expected):
                yield 2 + i, _differs(f"{name} in entry {i + 1} of its ledger", stated, expected)
    if len(stated_ledger.entries) != len(ledger.entries):
        yield 40, _differs("the number of entries in its ledger", len(stated_ledger.entries), len(ledger.entries))
    stated = replace(forest.certificate, assumptions=_with_current_bound(forest))
    yield from ((50, sentence) for sentence in _certificate_mismatches(stated, certificate, ledger, new_sentences))


def _is_rounded_down(what: str, name: str, stated: Any, expected: Any) -> bool:
    """Return whether an entry differs only because old files round the sensitivity of a split to the nearest tenth."""
    return what == LEVELS_OF_SPLITS and name == "sensitivity" and stated == expected - Fraction(1, 10)


def _certificate_mismatches(
    stated: Certificate, expected: Certificate, ledger: Ledger, new_sentences: tuple[str, ...]
) -> Iterator[str]:
    """Yield a message for each difference between the stated and the expected certificate."""
    if stated.mechanism != expected.mechanism:
        yield _differs("the mechanism on its certificate", stated.mechanism, expected.mechanism)
    stated_assumptions, expected_assumptions = (
        _in_current_wording(stated.assumptions),
        _in_current_wording(expected.assumptions),
    )
    if stated_assumptions not in (
        expected_assumptions,
        tuple(a for a in expected_assumptions if a not in new_sentences),
    ):
        yield _first_difference(stated_assumptions, expected_assumptions)
    if (stated.epsilon, stated.delta) != (expected.epsilon, expected.delta):
        yield _differs(
            "the ε and δ on its certificate", (stated.epsilon, stated.delta), (expected.epsilon, expected.delta)
        )
    if not stated.certified:
        return
    if not expected.certified:
        yield f"its certificate says “certified”, but there is a reason against certification: {expected.reasons[0]}"
        return
    # Old files state the cost rounded to the nearest float; new files state it rounded up.
    nearest = float(ledger.loss.amount) if stated.mu_squared is None else expected.true_epsilon
    if stated.true_epsilon not in (expected.true_epsilon, nearest):
        yield _differs("true_epsilon on its certificate", stated.true_epsilon, expected.true_epsilon)
    if stated.mu_squared != expected.mu_squared:
        yield _differs("mu_squared on its certificate", stated.mu_squared, expected.mu_squared)


def _with_current_bound(forest: ReleasedForest) -> tuple[str, ...]:
    """Return the assumptions of a file, with the present bound on the number of rows in place of an old bound.

    The first versions of the random-tree booster accepted fewer rows than the present version.
    """
    assumptions, unit = forest.certificate.assumptions, forest.domain.unit
    if forest.voting != CLIPPED_LOGISTIC:
        return assumptions
    first_bound, current_bound = bound_sentence(MAX_BOUND, unit), bound_sentence(MAX_SUMMED_ROWS, unit)
    return tuple(current_bound if a == first_bound else a for a in assumptions)


def _in_current_wording(assumptions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the assumptions with the words of earlier versions replaced by the current words."""
    for old, new in _REWORDED.items():
        assumptions = tuple(assumption.replace(old, new) for assumption in assumptions)
    return assumptions


def _first_difference(stated: tuple[str, ...], expected: tuple[str, ...]) -> str:
    """Return the message about the first assumption that differs."""
    for sentence, expected_sentence in zip(stated, expected):
        if sentence != expected_sentence:
            return _differs("an assumption on its certificate", sentence, expected_sentence)
    if len(stated) > len(expected):
        return (
            f"its certificate has an assumption that its other fields do not support: {_short(stated[len(expected)])}"
        )
    return f"an assumption is absent from its certificate: {_short(expected[len(stated)])}"


def _differs(what: str, stated: Any, expected: Any) -> str:
    """Return the message that `what` has the value `stated`, although the other fields of the file imply `expected`."""
    return f"{what} is {_short(stated)}, but its other fields give {_short(expected)}"


def _short(x: Any) -> str:
    text = str(x)
    return repr(text if len(text) <= 120 else text[:119] + "…") if isinstance(x, str) else text[:120]
