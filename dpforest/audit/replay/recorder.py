"""Overhear a fit: every question it asks of private rows, every step from line to line, and what it releases.

Only the samplers are overheard, one level below `release` and `selection`, so that the rates and inputs seen here are
those that are really used. On a second run the recorded answers are given again: the draws of a row belong to its id.

Overhearing replaces functions of the door from outside, for the fit's own threads, one fit at a time; so nothing in the
door itself could ever replace noise. Neither the engine nor the app imports this module, and a test sees to that.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, Final, NoReturn
from unittest.mock import patch

import numpy as np
import pandas as pd

from dpforest.audit.replay.state import State, state_of
from dpforest.privacy import gaussian, laws, release, samplers, selection
from dpforest.privacy.ledger import Entry, Ledger, QueryBudget, rows_changed
from dpforest.privacy.loss import GAUSSIAN
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.trees import greedy_trees

Table = tuple[pd.DataFrame, np.ndarray]
_HOME: Final = str(Path(__file__).parents[2])
_DOOR: Final = (os.path.join(_HOME, "privacy", ""), os.path.join(_HOME, "audit", ""))
_ROUTING: Final = os.path.join(_HOME, "trees", "routing.py")
_ONE: Final = threading.Lock()
_UNNAMED: Final = ("<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


@dataclass(frozen=True)
class Finding:
    """Something that differs and must not.

    Parameters
    ----------
    kind : {"branch", "question", "public", "undeclared", "unpaid", "rate", "sensitivity", "trees", "parts", "source",
        "release", "loss"}
    line : str
        Where, as file:line, and after an arrow who called.
    message : str
    """

    kind: str
    line: str
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.message}"


@dataclass(frozen=True)
class Charge:
    """One charge of a ledger: its number in the fit, its line, and how many answers it pays for."""

    number: int
    entry: Entry
    uses: int
    query_budget: QueryBudget | None


@dataclass
class Question:
    """One access to private rows.

    Parameters
    ----------
    what : {"assignment", "labels", "noise", "choice"}
    line : str
        Who asked.
    public : tuple
        Shapes, rates, candidates that may be chosen: what must not depend on the rows.
    private : array
        Counts or scores as the sampler sees them, one row for each independent draw. Empty for an assignment.
    log_pmf : function or None
        From such an array to the logarithms of the probabilities of all answers; None for noise on counts.
    rate : float
        Of the mechanism: 1/scale of noise on counts; 1/standard deviation where noise is Gaussian.
    is_gaussian : bool
        Noise on counts: then inputs are compared by length, and losses add up in μ².
    """

    what: str
    line: str
    public: tuple
    private: np.ndarray
    log_pmf: Callable[[np.ndarray], np.ndarray] | None = None
    rate: float = 0.0
    answer: Any = None
    declared: tuple[float, np.ndarray] | None = None  # by how much one row may move which input
    paid: float | None = None  # for one row: ε, or μ
    tree: int = -1  # number of the tree that is being grown
    is_gaussian: bool = False
    charge: "Charge | None" = None  # the charge that paid for it


Forced = Callable[[Question, Any], Any]  # from a question and what was drawn to what is answered


@dataclass
class Tape:
    """All that a fit did: questions, steps between lines of code, what it left behind and the line that returned it."""

    questions: list[Question] = field(default_factory=list)
    steps: list[tuple[str, int, int]] = field(default_factory=list)  # file, line, next line
    result: Any = None
    state: State = field(default_factory=dict)  # of the result, as it was when the fit was over
    returned: dict[int, tuple[Any, str]] = field(default_factory=dict)  # id of an object -> object, where
    findings: list[Finding] = field(default_factory=list)


class _Stop(Exception):
    """The neighbor cannot be given the same answers any more."""


def record(
    fit: Callable[[Any], Any], table: Any, recorded: Tape | None = None, *, forced: Forced | None = None
) -> Tape:
    """Run a fit on a table; with the tape of another run, give the answers recorded there.

    `forced` makes an answer of its own of each that was drawn.
    """
    tape = Tape()
    overheard = _Overheard(tape, recorded, forced)
    with _ONE, ExitStack() as stack:
        for one in overheard.patches(fit):
            stack.enter_context(one)
        stack.enter_context(_traced(tape, fit))
        try:
            tape.result = fit(table)
        except _Stop:
            pass
        except Exception as problem:
            if recorded is None:
                raise
            tape.findings.append(
                Finding("question", _caller(), f"the same answers do not fit the other table: {problem}")
            )
    tape.state = state_of(tape.result)
    return tape


class _Overheard:
    """Stands in for the samplers: writes down every question, and on a replay gives the recorded answer."""

    def __init__(self, tape: Tape, recorded: Tape | None, forced: Forced | None) -> None:
        self._tape, self._recorded, self._forced = tape, recorded, forced
        self._declared: tuple[float, np.ndarray] | None = None
        self._paid: float | None = None
        self._charged: Charge | None = None
        self._words: set[bytes] = set()
        self._tree = -1
        self._issued: list[Charge] = []
        self._others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def patches(self, fit: Callable) -> Iterator[Any]:
        """All that is replaced while a fit runs, wherever it was imported to."""
        door: dict[Any, Any] = {
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
                    if type(value) is FunctionType and value in door:
                        yield patch.object(module, attribute, self._own(value, door[value]))
        draws = {name: self._own(draw, self._labels(name, draw)) for name, draw in release.DRAW.items()}
        yield patch.dict(release.DRAW, draws)
        for kind, name, stand_in in (
            (SecretSource, "words", self._fresh),
            (Ledger, "charge", self._charge),
            (QueryBudget, "use", self._use),
        ):
            real = getattr(kind, name)
            yield patch.object(kind, name, self._own(real, stand_in(real)))

    def _own(self, real: Callable, stand_in: Callable) -> Callable:
        """The stand-in for the fit's own threads; the real thing for threads that were there before."""

        def called(*arguments, **more):
            other = threading.get_ident() in self._others
            return (real if other else stand_in)(*arguments, **more)

        return called

    def _answer(self, question: Question, draw: Callable[[], Any]) -> Any:
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
        at = len(self._tape.questions)
        assert self._recorded is not None
        if at >= len(self._recorded.questions):
            self._stop("question", question.line, "this question is asked of one of the two tables only")
        before = self._recorded.questions[at]
        if before.line != question.line:
            self._stop("question", question.line, f"the other table is asked something else instead, at {before.line}")
        if before.public != question.public:
            self._stop("public", question.line, "shape, rate or allowed answers of this question depend on the rows")
        return before.answer

    def _stop(self, kind: str, line: str, message: str) -> NoReturn:
        self._tape.findings.append(Finding(kind, line, message))
        raise _Stop

    def _assign_rows(self, real):
        def assign_rows(rows, n_trees, source, *, key=0):
            self._check_source(source)
            ids = range(rows) if isinstance(rows, int | np.integer) else np.asarray(rows).tolist()
            drawn = dict(zip(ids, real(rows, n_trees, source, key=key).tolist(), strict=True))
            known = self._answer(Question("assignment", _caller(), (n_trees, key), np.empty((0, 1))), lambda: drawn)
            return np.array([known.get(i, drawn[i]) for i in ids], np.int32)  # a draw belongs to its row

        return assign_rows

    def _declares(self, real, sensitivity):
        def declaring(private, *arguments, **more):
            if np.any(private):  # a preview asks about a table of nobody
                self._check_source(next(a for a in (*arguments, *more.values()) if hasattr(a, "reasons")))
            self._charged = None
            self._declared = (float(sensitivity((private, *arguments), more)), np.array(private))
            if "epsilon" in more:  # labels and counts say what they may cost, all rows and trees together
                self._paid = float(more["epsilon"]) / rows_changed(more["neighbors"])
            try:
                return real(private, *arguments, **more)
            finally:
                self._declared = self._paid = self._charged = None

        return declaring

    def _labels(self, name, real):
        def draw(counts, rate, source):
            pmf = partial(laws.log_pmf, name, rate=float(rate))
            question = Question("labels", _caller(), (name, counts.shape, rate), counts.copy(), pmf, float(rate))
            return self._answer(question, lambda: real(counts, rate, source))

        return draw

    def _noise(self, real):
        def draw_noisy_counts(counts, scale, source):
            question = Question("noise", _caller(), (counts.shape, scale), counts.copy(), rate=float(1 / scale))
            return self._answer(question, lambda: real(counts, scale, source))

        return draw_noisy_counts

    def _gaussian(self, real):
        def draw_rounded_gaussian(values, sigma, source):
            question = Question("noise", _caller(), (values.shape, sigma), values.copy(), rate=float(1 / sigma))
            question.is_gaussian = True
            return self._answer(question, lambda: real(values, sigma, source))

        return draw_rounded_gaussian

    def _choices(self, real):
        def draw_choices(scores, allowed, rate, source):
            pmf = partial(_choice_log_pmf, allowed=allowed.copy(), rate=float(rate))
            public = (scores.shape, allowed.tobytes(), rate)
            question = Question("choice", _caller(), public, scores.copy(), pmf, float(rate))
            return self._answer(question, lambda: real(scores, allowed, rate, source))

        return draw_choices

    def _begins_a_tree(self, real):
        def grow_tree(*arguments, **more):
            self._tree += 1
            return real(*arguments, **more)

        return grow_tree

    def _charge(self, real):
        def charge(ledger, *arguments, **more):
            query_budget = real(ledger, *arguments, **more)
            entry = ledger.entries[-1]
            uses = entry.times * int(more.get("branches", 1))
            self._charged = Charge(len(self._issued), entry, uses, query_budget)
            self._issued.append(self._charged)
            return query_budget

        return charge

    def _use(self, real):
        def use(query_budget):
            self._charged = next((c for c in self._issued if c.query_budget is query_budget), None)
            if self._charged is None:
                self._tape.findings.append(Finding("unpaid", _caller(), "no ledger has been charged for this question"))
            amount = float(query_budget.each.amount)
            self._paid = amount**0.5 if query_budget.each.kind == GAUSSIAN else amount
            return real(query_budget)

        return use

    def _fresh(self, real):
        def words(source, n):
            drawn = real(source, n)
            if drawn.tobytes() in self._words:
                self._tape.findings.append(Finding("source", _caller(), "the same random words are used twice"))
            self._words.add(drawn.tobytes())
            return drawn

        return words

    def _check_source(self, source) -> None:
        if isinstance(source, DemoSource):
            said = "the noise comes from a seed, which can be known or guessed, not from the operating system"
            self._stop("source", _caller(), said)


def _trees_of_a_row(arguments: tuple, more: dict) -> int:
    return more["n_trees"] if more["partition"] == "shared" else 1


def _choice_log_pmf(scores: np.ndarray, *, allowed: np.ndarray, rate: float) -> np.ndarray:
    weight = np.where(allowed, rate * scores.astype(float), -np.inf)
    weight -= weight.max(axis=1, keepdims=True)
    return weight - np.log(np.exp(weight).sum(axis=1, keepdims=True))


def _caller() -> str:
    """The line outside the door and outside this module that is being run, and the one that called it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_DOOR):
        frame = frame.f_back
    places = list[str]()
    while frame is not None and len(places) < 2:
        if not frame.f_code.co_filename.startswith(_DOOR):
            places.append(place_of(frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return " <- ".join(places) or "?"


def place_of(file: str, line: int) -> str:
    return f"{os.path.relpath(file, os.path.dirname(_HOME))}:{line}"


@contextmanager
def _traced(tape: Tape, fit: Callable) -> Iterator[None]:
    """Write down every step from a line to another, in the engine and in the file of `fit`, once a call.

    Lambdas and comprehensions are not followed. Once a call, so that a loop over rows, which has one round more or
    less, makes no difference. Left out are the door itself, as its samplers take their time, and routing, which reads
    rows in blocks and each by itself.
    """
    watched = (os.path.join(_HOME, "models", ""), os.path.join(_HOME, "trees", ""), fit.__code__.co_filename)

    def local(frame: FrameType, seen: set, last: list) -> Callable:
        def step(frame: FrameType, event: str, argument: object) -> Callable:
            if event == "line":
                edge = (frame.f_code.co_filename, last[0], frame.f_lineno)
                last[0] = frame.f_lineno
                if edge not in seen:
                    seen.add(edge)
                    tape.steps.append(edge)
            elif event == "return" and argument is not None:
                place = place_of(frame.f_code.co_filename, frame.f_lineno)
                tape.returned.setdefault(id(argument), (argument, place))
            return step

        return step

    def tracer(frame: FrameType, event: str, argument: object) -> Callable | None:
        file = frame.f_code.co_filename
        compiled = frame.f_code.co_firstlineno <= 1  # what numba runs in a kernel's name while it compiles
        if not file.startswith(watched) or file == _ROUTING or compiled or frame.f_code.co_name in _UNNAMED:
            return None
        return local(frame, set(), [frame.f_lineno])

    before, before_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(tracer)
    threading.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before_threads)  # type: ignore[arg-type]
