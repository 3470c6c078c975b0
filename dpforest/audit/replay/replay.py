"""Record and replay: fit on a table, then on its neighbor with the very same draws, and compare all that happened.

Where the draws are the same, everything that is public must be the same: which questions are asked of the rows, what
is allowed as an answer, which lines run, and all that the fit leaves behind. What may differ is the private input of a
question, by no more than the declared sensitivity, and of so many trees as a row may be in. From the inputs follows how
much more likely any answer is on one table than on the other: the privacy loss along this path.

This runs on the shipped code. Compiled kernels are not looked into: what they compute of the rows reaches a question or
the release, and is compared there.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpforest.audit.replay.recorder import record
from dpforest.audit.replay.state import difference
from dpforest.audit.replay.tape import Finding, Forced, Question, Tape
from dpforest.audit.replay.trace import place_of
from dpforest.privacy import selection
from dpforest.privacy.ledger import ESTIMATION, STRUCTURE, Ledger, rows_changed
from dpforest.trees.forest import Forest

ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class Replay:
    """What came out of comparing two fits.

    Parameters
    ----------
    findings : tuple of Finding
        Mistakes, empty for a sound fit.
    loss : float
        Sum over all questions of the largest log-ratio of an answer, in the worse of both directions: what the pair
        of tables shows of the privacy loss along this path.
    n_questions : int
        Number of accesses to private rows in the first fit.
    """

    findings: tuple[Finding, ...]
    loss: float
    n_questions: int


def replay(
    fit: Callable[[Any], Any],
    before: Any,
    after: Any,
    *,
    epsilon: float,
    neighbors: str = "add-remove",
    one_tree: bool = False,
    threads: bool = False,
    forced: Forced | None = None,
) -> Replay:
    """Record a fit on one table, replay it on a neighbor.

    Parameters
    ----------
    fit : function
        Takes a table and returns what is left behind: a fitted estimator, a Forest, or a dict of arrays and plain
        values. It asks its questions through `dpforest.privacy`.
    before, after : (DataFrame, array), or whatever else the fit takes
        Rows are the same where the index says so, or else their place.
    epsilon : float
        What the pair may cost; μ where noise is Gaussian.
    neighbors : {"add-remove", "replace-one"}
        How the two tables differ: under replace-one, two rows are changed.
    one_tree : bool
        Each row should be in one tree only.
    threads : bool
        The fit takes several threads: lines of code come in any order, and only which ones run is compared.
    forced : function, optional
        From a question and its answer to the answer that is given instead, on both tables: what is rare happens.

    Returns
    -------
    Replay
        With the findings in the order of the checks.
    """
    first = record(fit, before, forced=forced)
    second = record(fit, after, first)
    findings = [*first.findings, *second.findings]
    asked = list(zip(first.questions, second.questions, strict=False))
    if not findings and len(asked) < len(first.questions):
        left = first.questions[len(asked)]
        findings.append(Finding("question", left.line, "this question is asked of one of the two tables only"))
    findings += _branches(first, second, threads)
    changed = rows_changed(neighbors)
    for a, b in asked:
        findings += _moved_too_far(a, b, changed)
    if one_tree:
        findings += _trees_touched(asked, first, changed)
        findings += _parts_touched(asked, first) if changed == 1 else []
    if not any(f.kind in ("question", "public") for f in findings):
        findings += _released(first, second)
        findings += _not_in_the_ledger(first)
    is_gaussian = any(a.is_gaussian for a, _ in asked)  # then all are, as a ledger has one kind
    loss = max(_total((_loss(*pair) for pair in way), is_gaussian) for way in (asked, [(b, a) for a, b in asked]))
    if loss > epsilon * (1 + ROUNDING):
        worst = max(asked, key=lambda pair: _loss(*pair) + _loss(*pair[::-1]))[0]
        most = f"{'μ' if is_gaussian else 'ε'} = {epsilon:g}"
        findings.append(Finding("loss", worst.line, f"the answers lose {loss:.4g} in all, more than {most}"))
    return Replay(tuple(findings), loss, len(first.questions))


def _branches(before: Tape, after: Tape, threads: bool) -> list[Finding]:
    if threads:
        others = [s for s in (*before.steps, *after.steps) if (s in before.steps) != (s in after.steps)]
        message = "this runs with one of the two tables only"
        return [Finding("branch", place_of(file, line), message) for file, _, line in others[:1]]
    for a, b in zip(before.steps, after.steps, strict=False):
        if a != b:
            place = place_of(a[0], a[1] if a[:2] == b[:2] else a[2])
            to = f"to line {a[2]} with one table and to line {b[2]} with the other"
            return [Finding("branch", place, f"which way it goes from here depends on the rows: {to}")]
    return []


def _moved_too_far(a: Question, b: Question, changed: int) -> list[Finding]:
    """Inputs of one question, against the sensitivity that was declared for one row."""
    if a.what == "assignment":
        return []
    if a.declared is None or b.declared is None:
        return [Finding("undeclared", a.line, "rows are asked past release and selection: no sensitivity, no charge")]
    sensitivity = a.declared[0]
    width = selection.coarsened(a.declared[1], int(sensitivity))[1] if a.what == "choice" else sensitivity
    if a.paid is None or a.rate * width > a.paid * (1 + ROUNDING):
        message = f"at this rate a row costs {a.rate * width:.4g}, but {a.paid or 0:.4g} is paid for it"
        return [Finding("rate", a.line, message)]
    sensitivity, (before, after) = a.declared[0], (a.declared[1].astype(float), b.declared[1].astype(float))
    if a.what == "choice":
        difference = after - before
        moved = float(np.ptp(difference, axis=1).sum())
    else:
        moved = _size(after - before, a.is_gaussian)
    if moved <= changed * sensitivity * (1 + ROUNDING):
        return []
    message = f"one row moves this input by {moved:g}, but a sensitivity of {sensitivity:g} is declared"
    return [Finding("sensitivity", a.line, message)]


def _trees_touched(asked: list[tuple[Question, Question]], tape: Tape, changed: int) -> list[Finding]:
    """Which trees read a row that only one of the tables has."""
    touched: dict[int, str] = {}
    for a, b in asked:
        rows = np.flatnonzero((a.private != b.private).any(axis=1))
        trees = _trees_of_leaves(tape.result, len(a.private))
        if trees is None and a.tree < 0:
            continue  # asked of the whole table, before there are trees; it costs what it loses
        for tree in np.unique(trees[rows]) if trees is not None and a.what != "choice" else [a.tree] * (len(rows) > 0):
            touched.setdefault(int(tree), a.line)
    if len(touched) <= changed:
        return []
    line = list(touched.values())[changed]
    return [Finding("trees", line, f"one row touches {len(touched)} trees: {', '.join(map(str, sorted(touched)))}")]


def _parts_touched(asked: list[tuple[Question, Question]], tape: Tape) -> list[Finding]:
    """Where rows that choose splits and rows that decide leaves are disjoint parts, a row is in one of them."""
    forest = getattr(tape.result, "forest_", tape.result)
    if not isinstance(forest, Forest):
        return []
    moved = [a for a, b in asked if not np.array_equal(a.private, b.private)]
    disjoint = {STRUCTURE, ESTIMATION} <= {entry.part for entry in forest.ledger.entries}
    if not disjoint or not {"choice", "labels"} <= {a.what for a in moved}:
        return []
    return [
        Finding("parts", moved[-1].line, "one row chooses splits and decides leaves, which are said to be disjoint")
    ]


def _trees_of_leaves(result: Any, n_leaves: int) -> np.ndarray | None:
    """The tree of each leaf of the forest, where the question was about all of them."""
    forest = getattr(result, "forest_", result)
    if isinstance(forest, Forest):
        start = forest.trees.leaf_start
        return np.repeat(np.arange(len(start) - 1), np.diff(start)) if start[-1] == n_leaves else None
    return np.arange(n_leaves)  # of a plain function: each leaf for a tree


def _released(before: Tape, after: Tape) -> list[Finding]:
    """What the fits left behind: all of it, not only what goes into a file."""
    if before.result is None or after.result is None:
        return []
    path = difference(before.state, after.state)
    if not path:
        return []
    line = after.returned.get(id(after.result), (None, "?"))[1]
    message = f"with the same draws the fits leave behind what differs in {path.strip('.')}: it was not drawn"
    return [Finding("release", line, message)]


def _not_in_the_ledger(tape: Tape) -> list[Finding]:
    """Charges that pay for too many questions, or have no line in the released ledger."""
    ledger = getattr(tape.result, "ledger_", getattr(tape.result, "ledger", None))
    left = list(ledger.entries) if isinstance(ledger, Ledger) else None
    asked = Counter[int]()
    for question in tape.questions:
        if (charge := question.charge) is None:
            continue
        asked[charge.number] += 1
        if asked[charge.number] > charge.uses:
            message = f"{charge.entry.what!r} is asked {asked[charge.number]} times, but paid for {charge.uses} times"
            return [Finding("unpaid", question.line, message)]
        if left is None or asked[charge.number] > 1:
            continue
        if charge.entry not in left:
            message = f"{charge.entry.what!r} is asked and paid for, but the released ledger has no such line"
            return [Finding("unpaid", question.line, message)]
        left.remove(charge.entry)
    return []


def _loss(a: Question, b: Question) -> float:
    """Largest ln P(answer | a) - ln P(answer | b), over the independent draws of a question; μ of Gaussian noise."""
    if a.what == "assignment" or a.private.shape != b.private.shape:
        return 0.0
    moved = (a.private != b.private).any(axis=1)
    if a.log_pmf is None:
        return a.rate * _size((a.private - b.private).astype(float), a.is_gaussian)
    p, q = a.log_pmf(a.private)[moved], b.log_pmf(b.private)[moved] if b.log_pmf else np.empty(0)
    with np.errstate(invalid="ignore"):
        return float(np.where(p == q, 0.0, p - q).max(axis=1, initial=-np.inf).sum())


def _size(moved: np.ndarray, is_gaussian: bool) -> float:
    """How far an input moved: by length where noise is Gaussian, else in all."""
    return float(np.sqrt((moved**2).sum()) if is_gaussian else np.abs(moved).sum())


def _total(losses: Iterable[float], is_gaussian: bool) -> float:
    """Losses of one path together: ε add up, μ as the sides of a right angle."""
    return sum(loss**2 for loss in losses) ** 0.5 if is_gaussian else sum(losses)
