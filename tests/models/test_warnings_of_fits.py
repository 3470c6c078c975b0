"""Tests that no warning stops a fit after its first query, and that Python stores no number of rows from a warning."""

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import dpforest
from dpforest import MajorityLabelForestClassifier, OutOfDomainWarning, PrivacyLeakWarning, RepeatedReleaseWarning
from dpforest.audit.replay.input_formats import InputFormat, as_csv, as_frame, as_part_counts, as_parts, formats_of
from dpforest.audit.replay.large_tables import BLOCK, QUICK_SETTINGS
from dpforest.audit.replay.recorder import record
from dpforest.audit.replay.tape import Question
from dpforest.audit.replay.variants import domain_of
from dpforest.limits import BLOCK_ROWS
from dpforest.tables.domain import Domain, Feature

ROWS, WORDS, UNLABELED = 600, 137, 91  # numbers that occur nowhere else
NOTE = {"source": "asserted", "source_note": "made for this test"}
SHAPE = {"n_estimators": 2, "max_depth": 2, "scale_share": "public"}
CASES = [(kind, input_format) for kind in QUICK_SETTINGS for input_format in formats_of(kind)]
by_case = pytest.mark.parametrize(("kind", "input_format"), CASES, ids=lambda part: part.__name__)


def misfitting(n: int = ROWS) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of the audit's domain with 137 cells that are not numbers and 91 labels that are not listed."""
    place = np.arange(n)
    X = pd.DataFrame({"a": place / n, "b": np.where(place % 2, "p", "q"), "c": place / n, "d": "p"}).astype(object)
    X.loc[: WORDS - 1, "a"] = "high"
    y = (place % 2).astype(object)
    y[-UNLABELED:] = "nobody"
    return X, y


def model_of(kind: type, **parameters) -> dpforest.models.base.ForestClassifier:
    return kind(domain=domain_of(2), **{**QUICK_SETTINGS[kind], **parameters})


def questions_before(stop: type[Warning], fit: Callable) -> list[Question]:
    """Turn a warning into an error that stops the fit, and return the queries before it.

    Drawing the tree of a row does not count as a query.
    """

    def stopped(_: None) -> bool:
        try:
            fit()
        except stop:
            return True
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tape = record(stopped, None)
    assert tape.result, "the fit did not warn"
    return [question for question in tape.questions if question.what != "assignment"]


@by_case
def test_a_warning_as_an_error_stops_a_fit_before_the_first_question(kind: type, input_format: InputFormat):
    assert questions_before(OutOfDomainWarning, lambda: input_format(model_of(kind), *misfitting())) == []


@pytest.mark.parametrize(
    "input_format", formats_of(MajorityLabelForestClassifier), ids=lambda input_format: input_format.__name__
)
def test_a_fit_without_queries_before_growth_stops_as_early(input_format: InputFormat):
    model = model_of(MajorityLabelForestClassifier, **SHAPE)
    if input_format is as_part_counts:
        input_format = count_alone
    assert questions_before(OutOfDomainWarning, lambda: input_format(model, *misfitting())) == []


def count_alone(model: MajorityLabelForestClassifier, X: pd.DataFrame, y: np.ndarray) -> MajorityLabelForestClassifier:
    return model.fit_counts(model.partial_counts(X[:300], y[:300]) + model.partial_counts(X[300:], y[300:]))


def test_the_same_for_rows_that_are_encoded_block_by_block():
    """Rows that are encoded block by block warn before the first query as well.

    If a fit read the cells only while counting them, it would warn after it has released the number of rows.
    """
    X = np.full((BLOCK_ROWS + 1, 1), 0.5)
    X[-WORDS:] = np.inf
    domain = Domain((Feature("a", "numeric", 0, 1, **NOTE),), (0, 1), "y", "asserted", "made for this test")
    model = MajorityLabelForestClassifier(n_estimators=1, max_depth=1, domain=domain)
    assert BLOCK == BLOCK_ROWS
    assert questions_before(OutOfDomainWarning, lambda: model.fit(X, np.arange(len(X)) % 2)) == []
    with pytest.warns(OutOfDomainWarning, match=f"{WORDS} cells of 'a' are infinite") as seen:
        model.fit(X, np.arange(len(X)) % 2)
    assert len(seen) == 1


@pytest.mark.parametrize(
    "input_format", formats_of(MajorityLabelForestClassifier), ids=lambda input_format: input_format.__name__
)
def test_a_leak_stops_a_fit_before_the_first_question(input_format: InputFormat):
    X, y = misfitting()
    leaking = Domain(
        tuple(
            Feature(f.name, f.kind, f.low, f.high, categories=f.categories, missing="category")
            for f in domain_of(2).features
        ),
        (0, 1),
        "y",
    )
    model = MajorityLabelForestClassifier(n_estimators=2, max_depth=2, domain=leaking)
    assert questions_before(PrivacyLeakWarning, lambda: input_format(model, X.assign(a=0.5), np.arange(ROWS) % 2)) == []


def test_a_search_stops_before_its_second_fit_asks_anything():
    X, _ = misfitting()
    search = GridSearchCV(
        model_of(MajorityLabelForestClassifier, **SHAPE), {"max_depth": [1, 2]}, cv=2, refit=False, error_score="raise"
    )
    n_questions = len(questions_of(lambda: clone(search.estimator).fit(X.assign(a=0.5), np.arange(ROWS) % 2)))
    asked = questions_before(RepeatedReleaseWarning, lambda: search.fit(X.assign(a=0.5), np.arange(ROWS) % 2))
    assert len(asked) == n_questions > 0


def questions_of(fit: Callable) -> list[Question]:
    return [question for question in record(lambda _: fit(), None).questions if question.what != "assignment"]


@contextmanager
def shown(action: str) -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        yield seen


def kept_by_python() -> str:
    """Return all texts that the `warnings` module stores, in any module."""
    registries = [getattr(module, "__warningregistry__", {}) for module in list(sys.modules.values())]
    return repr([key for registry in [*registries, warnings.onceregistry] for key in registry])


ACTIONS = [
    (MajorityLabelForestClassifier, input_format, action)
    for input_format in (as_frame, as_parts, as_part_counts)
    for action in ("once", "module", "always")
]


@pytest.mark.parametrize(
    ("kind", "input_format", "action"),
    [*((*case, "default") for case in CASES), *ACTIONS],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_no_count_of_rows_stays_in_a_registry(kind: type, input_format: InputFormat, action: str):
    with shown(action) as seen:
        input_format(model_of(kind), *misfitting())
        kept = kept_by_python()
    assert "OutOfDomainWarning" not in kept and str(WORDS) not in kept and str(UNLABELED) not in kept
    texts = " ".join(str(warning.message) for warning in seen)
    assert sum(map(int, re.findall(r"(\d+) rows? ha(?:ve|s) no label", texts))) == UNLABELED
    if input_format is not as_csv:  # a file is read before the fit
        assert sum(map(int, re.findall(r"(\d+) cells? of 'a' (?:are|is) not a number", texts))) == WORDS
    assert {warning.filename for warning in seen} == {__file__}


def test_a_second_table_is_reported_as_well():
    """A fit of a second table warns, too, although Python by default shows the same text only once for each line."""
    X, y = misfitting()
    with shown("default") as seen:
        for _ in range(2):
            model_of(MajorityLabelForestClassifier, **SHAPE).fit(X, y)
    assert len(seen) == 2
    assert {warning.filename for warning in seen} == {__file__}


def test_filters_of_the_user_work():
    X, y = misfitting()
    model = model_of(MajorityLabelForestClassifier, **SHAPE)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=f".*{WORDS} cells", category=OutOfDomainWarning, module=__name__)
        model.fit(X, y)
        assert seen == []
        warnings.filterwarnings("error", category=OutOfDomainWarning, module=__name__)
        with pytest.raises(OutOfDomainWarning, match=f"{WORDS} cells"):
            model.fit(X, y)


def test_parts_are_reported_once():
    X, y = misfitting()
    for parameters in ({}, SHAPE):
        model = model_of(MajorityLabelForestClassifier, **parameters)
        with shown("always") as seen:
            model.fit_chunks([(X[:300], y[:300]), (X[300:], y[300:])])
        (warning,) = seen
        assert f"{WORDS} cells of 'a'" in str(warning.message) and f"{UNLABELED} rows" in str(warning.message)
    model = model_of(MajorityLabelForestClassifier)
    with shown("always") as seen:
        model.fit_scale(model.partial_scale(X, y)).fit_counts(model.partial_counts(X, y))
    assert len(seen) == 1 and seen[0].filename == __file__
