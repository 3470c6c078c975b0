"""Record and replay: fit a table, then its neighbor with the same draws, and compare the two fits.

A question is one access to private rows: a call of a sampler. The second fit gets the answers that the first fit drew.
Then everything public must be the same in both fits: the questions, their allowed answers, the executed lines, and the
final state. Only the private inputs of questions may differ. The difference must be at most the declared sensitivity,
and may concern only as many trees as one row may affect. From the inputs, `replay` computes the privacy loss: how much
more likely an answer can be on one table than on the other table.

Both fits run the shipped code. `replay` does not trace compiled functions line by line. It sees a mistake in a compiled
function when the result of the function reaches a question or the release.
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

ROUNDING: Final = 1e-9  # relative tolerance for errors of floats


@dataclass(frozen=True)
class Replay:
    """Comparison of two fits.

    Parameters
    ----------
    findings : tuple of Finding
        Mistakes; empty for a correct fit.
    loss : float
        Privacy loss of the pair of tables: the sum over all questions of the largest log-ratio of an answer, or the
        total μ for Gaussian noise. It is computed in both directions, and the larger loss counts.
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
    """Record a fit on one table, and replay it on a neighbor.

    Parameters
    ----------
    fit : function
        Takes a table and returns the result of the fit: a fitted estimator, a Forest, or a dict of arrays and plain
        values. The fit asks its questions through `dpforest.privacy`.
    before, after : (DataFrame, array), or any other argument of the fit
        Neighboring tables. Rows are identified by the index, or by their positions if there is no index.
    epsilon : float
        Largest allowed loss: ε, or μ for Gaussian noise.
    neighbors : {"add-remove", "replace-one"}
        How the two tables differ: under replace-one, two rows change.
    one_tree : bool
        True: check that each row is in one tree only.
    threads : bool
        True: the fit uses several threads. Lines then run in any order, so the replay compares only the sets of steps.
    forced : function, optional
        Maps a question and its drawn answer to the answer that both fits get, such as a rare answer (`rare`).

    Returns
    -------
    Replay
        Findings in the order of the checks, and the loss.
    """
    first = record(fit, before, forced=forced)
    second = record(fit, after, first)
    findings = [*first.findings, *second.findings]
    pairs = list(zip(first.questions, second.questions, strict=False))
    if not findings and len(pairs) < len(first.questions):
        extra = first.questions[len(pairs)]
        findings.append(Finding("question", extra.line, "this question is asked of one of the two tables only"))
    findings += _branch_findings(first, second, threads)
    changed = rows_changed(neighbors)
    for a, b in pairs:
        findings += _sensitivity_findings(a, b, changed)
    if one_tree:
        findings += _tree_findings(pairs, first, changed)
        findings += _part_findings(pairs, first) if changed == 1 else []
    if not any(f.kind in ("question", "public") for f in findings):
        findings += _release_findings(first, second)
        findings += _ledger_findings(first)
    # If one question has Gaussian noise, all questions have, because a ledger has only one kind of loss.
    is_gaussian = any(a.is_gaussian for a, _ in pairs)
    loss = max(
        _total((_loss(*pair) for pair in direction), is_gaussian) for direction in (pairs, [(b, a) for a, b in pairs])
    )
    if loss > epsilon * (1 + ROUNDING):
        worst = max(pairs, key=lambda pair: _loss(*pair) + _loss(*pair[::-1]))[0]
        allowed = f"{'μ' if is_gaussian else 'ε'} = {epsilon:g}"
        findings.append(Finding("loss", worst.line, f"the answers lose {loss:.4g} in all, more than {allowed}"))
    return Replay(tuple(findings), loss, len(first.questions))


def _branch_findings(before: Tape, after: Tape, threads: bool) -> list[Finding]:
    """Report the first step that only one of the two fits takes."""
    if threads:
        steps_of_one_fit = [s for s in (*before.steps, *after.steps) if (s in before.steps) != (s in after.steps)]
        message = "this runs with one of the two tables only"
        return [Finding("branch", place_of(file, line), message) for file, _, line in steps_of_one_fit[:1]]
    for a, b in zip(before.steps, after.steps, strict=False):
        if a != b:
            place = place_of(a[0], a[1] if a[:2] == b[:2] else a[2])
            destinations = f"to line {a[2]} with one table and to line {b[2]} with the other"
            return [Finding("branch", place, f"which way it goes from here depends on the rows: {destinations}")]
    return []


def _sensitivity_findings(a: Question, b: Question, changed: int) -> list[Finding]:
    """Check that a question is paid for, and that its inputs differ by at most its sensitivity times `changed` rows."""
    if a.what == "assignment":
        return []
    if a.declared is None or b.declared is None:
        return [Finding("undeclared", a.line, "rows are asked past release and selection: no sensitivity, no charge")]
    sensitivity = a.declared[0]
    is_choice, nodes = a.what == "choice", a.declared[2]
    width = selection.coarsened(a.declared[1], int(sensitivity), nodes)[1] if is_choice else sensitivity
    if a.paid is None or a.rate * width > a.paid * (1 + ROUNDING):
        message = f"at this rate a row costs {a.rate * width:.4g}, but {a.paid or 0:.4g} is paid for it"
        return [Finding("rate", a.line, message)]
    sensitivity, (before, after) = a.declared[0], (a.declared[1].astype(float), b.declared[1].astype(float))
    if is_choice:
        difference = after - before
        distance = float(np.ptp(difference, axis=1).sum())
    else:
        distance = _size(after - before, a.is_gaussian)
    if distance <= changed * sensitivity * (1 + ROUNDING):
        return []
    message = f"one row moves this input by {distance:g}, but a sensitivity of {sensitivity:g} is declared"
    return [Finding("sensitivity", a.line, message)]


def _tree_findings(pairs: list[tuple[Question, Question]], tape: Tape, changed: int) -> list[Finding]:
    """Check that the changed rows together affect at most `changed` trees, one for each changed row."""
    line_of_tree: dict[int, str] = {}
    for a, b in pairs:
        rows = np.flatnonzero((a.private != b.private).any(axis=1))
        trees = _trees_of_leaves(tape.result, len(a.private))
        if trees is None and a.tree < 0:
            continue  # this question is about the whole table, before any tree grows
        for tree in np.unique(trees[rows]) if trees is not None and a.what != "choice" else [a.tree] * (len(rows) > 0):
            line_of_tree.setdefault(int(tree), a.line)
    if len(line_of_tree) <= changed:
        return []
    line = list(line_of_tree.values())[changed]
    return [
        Finding(
            "trees", line, f"one row touches {len(line_of_tree)} trees: {', '.join(map(str, sorted(line_of_tree)))}"
        )
    ]


def _part_findings(pairs: list[tuple[Question, Question]], tape: Tape) -> list[Finding]:
    """If splits and leaves must use disjoint parts of the rows, check that the changed row affects only one part."""
    forest = getattr(tape.result, "forest_", tape.result)
    if not isinstance(forest, Forest):
        return []
    changed_questions = [a for a, b in pairs if not np.array_equal(a.private, b.private)]
    must_be_disjoint = {STRUCTURE, ESTIMATION} <= {entry.part for entry in forest.ledger.entries}
    if not must_be_disjoint or not {"choice", "labels"} <= {a.what for a in changed_questions}:
        return []
    message = "one row affects both splits and leaves, which must use disjoint parts of the rows"
    return [Finding("parts", changed_questions[-1].line, message)]


def _trees_of_leaves(result: Any, n_leaves: int) -> np.ndarray | None:
    """Return the tree of each leaf. Return None if the forest has another number of leaves than the question."""
    forest = getattr(result, "forest_", result)
    if isinstance(forest, Forest):
        start = forest.trees.leaf_start
        return np.repeat(np.arange(len(start) - 1), np.diff(start)) if start[-1] == n_leaves else None
    return np.arange(n_leaves)  # the result of a plain function has no forest, so each leaf counts as a tree


def _release_findings(before: Tape, after: Tape) -> list[Finding]:
    """Compare all attributes of the two fitted results, not only what a released file would contain."""
    if before.result is None or after.result is None:
        return []
    path = difference(before.state, after.state)
    if not path:
        return []
    line = after.returned.get(id(after.result), (None, "?"))[1]
    message = f"with the same draws the fits end in different states at {path.strip('.')}, which was not drawn"
    return [Finding("release", line, message)]


def _ledger_findings(tape: Tape) -> list[Finding]:
    """Report the first charge that pays for fewer questions than were asked, or that the released ledger lacks."""
    ledger = getattr(tape.result, "ledger_", getattr(tape.result, "ledger", None))
    unmatched = list(ledger.entries) if isinstance(ledger, Ledger) else None
    n_answers = Counter[int]()
    for question in tape.questions:
        if (charge := question.charge) is None:
            continue
        n_answers[charge.number] += 1
        if n_answers[charge.number] > charge.uses:
            message = (
                f"{charge.entry.what!r} is asked {n_answers[charge.number]} times, but paid for {charge.uses} times"
            )
            return [Finding("unpaid", question.line, message)]
        if unmatched is None or n_answers[charge.number] > 1:
            continue
        if charge.entry not in unmatched:
            message = f"{charge.entry.what!r} is asked and paid for, but the released ledger has no such line"
            return [Finding("unpaid", question.line, message)]
        unmatched.remove(charge.entry)
    return []


def _loss(a: Question, b: Question) -> float:
    """Return the sum over independent draws of the largest ln P(answer | a) - ln P(answer | b), or the Gaussian μ."""
    if a.what == "assignment" or a.private.shape != b.private.shape:
        return 0.0
    is_changed = (a.private != b.private).any(axis=1)
    if a.log_pmf is None:
        return a.rate * _size((a.private - b.private).astype(float), a.is_gaussian)
    p, q = a.log_pmf(a.private)[is_changed], b.log_pmf(b.private)[is_changed] if b.log_pmf else np.empty(0)
    with np.errstate(invalid="ignore"):
        return float(np.where(p == q, 0.0, p - q).max(axis=1, initial=-np.inf).sum())


def _size(change: np.ndarray, is_gaussian: bool) -> float:
    """Return the size of an input's change: the L2 norm for Gaussian noise, otherwise the L1 norm."""
    return float(np.sqrt((change**2).sum()) if is_gaussian else np.abs(change).sum())


def _total(losses: Iterable[float], is_gaussian: bool) -> float:
    """Return the total loss of all questions: the sum of ε, or the root of the sum of μ²."""
    return sum(loss**2 for loss in losses) ** 0.5 if is_gaussian else sum(losses)
