"""Record a fit: every question to private rows, every step from one line of code to the next, and all results.

A question is one access to private rows: a call of a sampler. The recorder replaces the answers of the samplers
themselves, not of the modules `release` and `selection` that call the samplers. So the recorder sees the rates and
inputs that the samplers use. A second run of the fit, on a neighboring table, gets the recorded answers. The recorder
stores the tree of each row under the id of the row, because the neighboring table may have the row at another position.

The recorder replaces functions of `dpforest/privacy/` from outside, only in the threads of a fit, and for one fit at a
time. So `dpforest/privacy/` itself contains no way to replace noise. A test checks that no module outside of
`dpforest/audit/` imports this module.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from types import FunctionType
from typing import Any, Final, NoReturn
from unittest.mock import patch

import numpy as np

from dpforest.audit.replay.state import state_of
from dpforest.audit.replay.tape import Charge, Finding, Forced, Question, Tape
from dpforest.audit.replay.trace import caller, traced
from dpforest.privacy import gaussian, laws, release, samplers, selection
from dpforest.privacy.ledger import Ledger, QueryBudget, rows_changed
from dpforest.privacy.loss import GAUSSIAN
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.trees import greedy_trees

_ONE_AT_A_TIME: Final = threading.Lock()


class _Stop(Exception):
    """Raised to end a fit whose questions differ from the recorded questions, or whose noise comes from a seed."""


def record(
    fit: Callable[[Any], Any], table: Any, recorded: Tape | None = None, *, forced: Forced | None = None
) -> Tape:
    """Run a fit on a table, and record its questions, its steps and its result.

    Parameters
    ----------
    fit : function
        Takes the table and returns the fitted estimator, or any other result.
    table : (DataFrame, array), or any other argument of the fit
        Argument of `fit`. The index of a DataFrame holds the row ids.
    recorded : Tape, optional
        Tape of an earlier run, whose answers the fit gets; by default, answers are drawn.
    forced : function, optional
        Maps a question and the drawn answer to the answer that the fit gets instead. Not used if `recorded` is given.

    Returns
    -------
    Tape
        The recorded fit. If the fit cannot use the answers in `recorded`, a finding of the tape says why.
    """
    tape = Tape()
    stand_ins = _StandIns(tape, recorded, forced)
    with _ONE_AT_A_TIME, ExitStack() as stack:
        for replacement in stand_ins.patches(fit):
            stack.enter_context(replacement)
        stack.enter_context(traced(tape, fit))
        try:
            tape.result = fit(table)
        except _Stop:
            pass
        except Exception as problem:
            if recorded is None:
                raise
            tape.findings.append(
                Finding("question", caller(), f"the same answers do not fit the other table: {problem}")
            )
    tape.state = state_of(tape.result)
    return tape


class _StandIns:
    """Replacements of the samplers, which record every question and, in a replay, return the recorded answers."""

    def __init__(self, tape: Tape, recorded: Tape | None, forced: Forced | None) -> None:
        self._tape, self._recorded, self._forced = tape, recorded, forced
        self._declared: tuple[float, np.ndarray, int] | None = None
        self._paid: float | None = None
        self._charged: Charge | None = None
        self._seen_words: set[bytes] = set()
        self._tree = -1
        self._issued: list[Charge] = []
        self._older_threads = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def patches(self, fit: Callable) -> Iterator[Any]:
        """Yield a patch for each function to replace during a fit, in each module that imported this function."""
        replacements: dict[Any, Any] = {
            release.assign_rows: self._assign_rows(release.assign_rows),
            release.noisy_table: self._declares(release.noisy_table, lambda a, k: a[1]),
            release.release_labels: self._declares(release.release_labels, _trees_of_a_row),
            release.release_counts: self._declares(release.release_counts, _trees_of_a_row),
            selection.choose: self._declares(selection.choose, lambda a, k: a[2]),
            samplers.draw_noisy_counts: self._noise(samplers.draw_noisy_counts),
            gaussian.draw_rounded_gaussian: self._gaussian(gaussian.draw_rounded_gaussian),
            selection.draw_choices: self._choices(selection.draw_choices),
            greedy_trees.grow_tree: self._begins_a_tree(greedy_trees.grow_tree),
        }
        for name, module in list(sys.modules.items()):
            if name.startswith("dpforest.") or name == fit.__module__:
                for attribute, value in list(vars(module).items()):
                    if type(value) is FunctionType and value in replacements:
                        yield patch.object(module, attribute, self._in_threads_of_fit(value, replacements[value]))
        draws = {name: self._in_threads_of_fit(draw, self._labels(name, draw)) for name, draw in release.DRAW.items()}
        yield patch.dict(release.DRAW, draws)
        for kind, name, stand_in in (
            (SecretSource, "words", self._fresh),
            (Ledger, "charge", self._charge),
            (QueryBudget, "use", self._use),
        ):
            real = getattr(kind, name)
            yield patch.object(kind, name, self._in_threads_of_fit(real, stand_in(real)))

    def _in_threads_of_fit(self, real: Callable, stand_in: Callable) -> Callable:
        """Return a function that calls `stand_in` in threads of the fit, and `real` in other, older threads."""

        def either(*arguments, **keywords):
            is_older = threading.get_ident() in self._older_threads
            return (real if is_older else stand_in)(*arguments, **keywords)

        return either

    def _answer(self, question: Question, draw: Callable[[], Any]) -> Any:
        """Record a question, and return its answer: a drawn, a forced or, in a replay, the recorded answer."""
        question.tree, question.declared, question.paid = self._tree, self._declared, self._paid
        question.charge = None if question.what == "assignment" else self._charged
        if self._recorded is None:
            drawn = draw()
            question.answer = self._forced(question, drawn) if self._forced else drawn
        else:
            question.answer = self._recorded_answer(question)
        self._tape.questions.append(question)
        return question.answer.copy()

    def _recorded_answer(self, question: Question) -> Any:
        number = len(self._tape.questions)
        assert self._recorded is not None
        if number >= len(self._recorded.questions):
            self._stop("question", question.line, "this question is asked of one of the two tables only")
        recorded = self._recorded.questions[number]
        if recorded.line != question.line:
            self._stop(
                "question", question.line, f"the other table is asked something else instead, at {recorded.line}"
            )
        if recorded.public != question.public:
            self._stop("public", question.line, "shape, rate or allowed answers of this question depend on the rows")
        return recorded.answer

    def _stop(self, kind: str, line: str, message: str) -> NoReturn:
        self._tape.findings.append(Finding(kind, line, message))
        raise _Stop

    def _assign_rows(self, real):
        """Return a stand-in for `release.assign_rows`, which draws the tree of each row."""

        def assign_rows(rows, n_trees, source, *, key=0, units=None):
            self._check_source(source)
            ids = range(rows) if isinstance(rows, int | np.integer) else np.asarray(rows).tolist()
            trees = real(rows, n_trees, source, key=key, units=units).tolist()
            drawn_trees = dict(zip(ids, trees, strict=True))
            if any(drawn_trees[i] != tree for i, tree in zip(ids, trees, strict=True)):
                self._tape.findings.append(Finding("trees", caller(), "rows of one person have different draws"))
            recorded_trees = self._answer(
                Question("assignment", caller(), (n_trees, key), np.empty((0, 1))), lambda: drawn_trees
            )
            # A row (or person) of both tables keeps its recorded tree. A row of only this table keeps its new draw.
            return np.array([recorded_trees.get(i, drawn_trees[i]) for i in ids], np.int32)

        return assign_rows

    def _declares(self, real, sensitivity):
        """Return a stand-in that stores the input and the sensitivity of a call, for the questions of this call."""

        def stand_in(private, *arguments, **keywords):
            if np.any(private):  # a preview of a fit queries an empty table, for which any source is allowed
                self._check_source(next(a for a in (*arguments, *keywords.values()) if hasattr(a, "reasons")))
            self._charged = None
            nodes = keywords.get("nodes", 1)
            self._declared = (float(sensitivity((private, *arguments), keywords)), np.array(private), nodes)
            # The ε of `release_labels` and `release_counts` covers all trees and all changed rows. `_paid` is for one
            # changed row.
            if "epsilon" in keywords:
                self._paid = float(keywords["epsilon"]) / rows_changed(keywords["neighbors"])
            try:
                return real(private, *arguments, **keywords)
            finally:
                self._declared = self._paid = self._charged = None

        return stand_in

    def _labels(self, name, real):
        """Return a stand-in for the sampler of labels `real`. `name` is the mechanism."""

        def draw(counts, rate, source):
            pmf = partial(laws.log_pmf, name, rate=float(rate))
            question = Question("labels", caller(), (name, counts.shape, rate), counts.copy(), pmf, float(rate))
            return self._answer(question, lambda: real(counts, rate, source))

        return draw

    def _noise(self, real):
        """Return a stand-in for the sampler of discrete Laplace noise."""

        def draw_noisy_counts(counts, scale, source):
            question = Question("noise", caller(), (counts.shape, scale), counts.copy(), rate=float(1 / scale))
            return self._answer(question, lambda: real(counts, scale, source))

        return draw_noisy_counts

    def _gaussian(self, real):
        """Return a stand-in for the sampler of Gaussian noise."""

        def draw_rounded_gaussian(values, sigma, source):
            question = Question("noise", caller(), (values.shape, sigma), values.copy(), rate=float(1 / sigma))
            question.is_gaussian = True
            return self._answer(question, lambda: real(values, sigma, source))

        return draw_rounded_gaussian

    def _choices(self, real):
        """Return a stand-in for the sampler of choices among candidates."""

        def draw_choices(scores, allowed, rate, source):
            pmf = partial(_choice_log_pmf, allowed=allowed.copy(), rate=float(rate))
            public = (scores.shape, allowed.tobytes(), rate)
            question = Question("choice", caller(), public, scores.copy(), pmf, float(rate))
            return self._answer(question, lambda: real(scores, allowed, rate, source))

        return draw_choices

    def _begins_a_tree(self, real):
        """Return a stand-in for `grow_tree` that counts the trees."""

        def grow_tree(*arguments, **keywords):
            self._tree += 1
            return real(*arguments, **keywords)

        return grow_tree

    def _charge(self, real):
        """Return a stand-in for `Ledger.charge` that lists each charge."""

        def charge(ledger, *arguments, **keywords):
            query_budget = real(ledger, *arguments, **keywords)
            entry = ledger.entries[-1]
            uses = entry.times * int(keywords.get("branches", 1))
            self._charged = Charge(len(self._issued), entry, uses, query_budget)
            self._issued.append(self._charged)
            return query_budget

        return charge

    def _use(self, real):
        """Return a stand-in for `QueryBudget.use` that stores the charge of the question that follows."""

        def use(query_budget):
            self._charged = next((c for c in self._issued if c.query_budget is query_budget), None)
            if self._charged is None:
                self._tape.findings.append(Finding("unpaid", caller(), "no ledger has been charged for this question"))
            amount = float(query_budget.each.amount)
            self._paid = amount**0.5 if query_budget.each.kind == GAUSSIAN else amount
            return real(query_budget)

        return use

    def _fresh(self, real):
        """Return a stand-in for `SecretSource.words` that reports words that repeat."""

        def words(source, n):
            drawn = real(source, n)
            if drawn.tobytes() in self._seen_words:
                self._tape.findings.append(Finding("source", caller(), "the same random words are used twice"))
            self._seen_words.add(drawn.tobytes())
            return drawn

        return words

    def _check_source(self, source) -> None:
        if isinstance(source, DemoSource):
            message = "the noise comes from a seed, which can be known or guessed, not from the operating system"
            self._stop("source", caller(), message)


def _trees_of_a_row(arguments: tuple, keywords: dict) -> int:
    """Return the largest sum that one row, or one person, can add to the counts of all trees together."""
    return (keywords["n_trees"] if keywords["partition"] == "shared" else 1) * keywords.get("count_unit", 1)


def _choice_log_pmf(scores: np.ndarray, *, allowed: np.ndarray, rate: float) -> np.ndarray:
    weight = np.where(allowed, rate * scores.astype(float), -np.inf)
    weight -= weight.max(axis=1, keepdims=True)
    return weight - np.log(np.exp(weight).sum(axis=1, keepdims=True))
