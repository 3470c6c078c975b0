"""Twelve mistakes that somebody could make in the certified code, to see whether an auditor finds them.

Under each of them the code runs, the ledger adds up and the certificate says certified, and each loses more than that
certificate says, in at least one of the two neighbour relations. They were written without knowing the auditor.

`mutated` puts one in force, for everything in this process (all threads) that uses the function, and takes it back.
"""

import __future__

import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher

MAJORITY = "MajorityLabelForestClassifier"
COUNTS = ("RandomDecisionForestClassifier", "JagannathanForestClassifier", "RandomForestLaplaceClassifier")
EVEN = "RandomForestExponentialClassifier"
MULTINOMIAL = "MultinomialForestClassifier"
BOOSTED = "BoostedForestClassifier"
GREEDY = "FriedmanSchusterClassifier"
EVERY = (MAJORITY, *COUNTS, EVEN, MULTINOMIAL, BOOSTED, GREEDY)


@dataclass(frozen=True)
class Mutant:
    """A mistake: a piece of the source of one function, and what stands there instead.

    Attributes
    ----------
    name : str
    why : str
        What the mistake is, why it breaks the promise, and what a fit then loses.
    module : str
    function : str
        "function" or "Class.method" of the module.
    old : str
        Occurs exactly once in the source of the function, taken out of its indentation.
    new : str
    forests : tuple of str
        Estimators whose certificate becomes wrong, at some of their settings.
    """

    name: str
    why: str
    module: str
    function: str
    old: str
    new: str
    forests: tuple[str, ...]


MUTANTS = (
    Mutant(
        name="labels_at_the_rate_of_the_entry",
        why="Labels are drawn at what the ledger's entry costs instead of what one row costs: that is the same under "
        "add-remove, and 2ε under replace-one, where an entry counts both rows.",
        module="dpforest.privacy.release",
        function="release_labels",
        old="return draw(counts, round_down(rate), source)",
        new="return draw(counts, round_down(rate * ledger.rows), source)",
        forests=(MAJORITY, EVEN, MULTINOMIAL),
    ),
    Mutant(
        name="negative_zero_is_a_zero",
        why="Noise of 0 keeps its sign, so that 0 is drawn twice as often as it should and the step from 0 to 1 costs "
        "ln 2 more: κ + ln 2 in each tree, 1.7ε at κ = 1 and T ln 2 + ε with all rows in T trees.",
        module="dpforest.privacy.samplers",
        function="discrete_laplace",
        old="if z > 0:\n            return -z, at",
        new="return -z, at",
        forests=(*COUNTS, BOOSTED, GREEDY),
    ),
    Mutant(
        name="long_shots_never_hit",
        why="exp(-12) is below what one lane can show and is taken for 0, so that a label or split that is far behind "
        "can happen on one table and cannot on its neighbour: unbounded, but only on events of about e^-12 in each "
        "leaf or node (with two classes ε holds but for a δ of 3·10^-6 a leaf).",
        module="dpforest.privacy.samplers",
        function="bernoulli_exp",
        old="whole = a // b\n",
        new="whole = a // b\n    if whole >= 12:  # less likely than the 16 bits of a lane can show\n"
        "        return False, at\n",
        forests=(MAJORITY, EVEN, MULTINOMIAL, BOOSTED, GREEDY),
    ),
    Mutant(
        name="fine_scores_at_the_coarse_rate",
        why="A name was changed half-way: the demonstration chooses by coarse scores, the release by fine ones at the "
        "rate of the coarse ones. Splits cost 2^shift times what was paid: 256 times in a boosted tree (α = 0), 32 "
        "with normalised scores, up to 4 with entropy.",
        module="dpforest.privacy.selection",
        function="choose",
        old="""scores, width = coarsened(scores, sensitivity)
    rate = rate_of(query_budget.use(), width)
    if isinstance(source, DemoSource):
        return simulate_choices(scores,""",
        new="""coarse, width = coarsened(scores, sensitivity)
    rate = rate_of(query_budget.use(), width)
    if isinstance(source, DemoSource):
        return simulate_choices(coarse,""",
        forests=(BOOSTED, MULTINOMIAL, GREEDY),
    ),
    Mutant(
        name="entropy_is_at_most_log_n",
        why="A row is said to add log2(n) bits to a child, but it adds up to log2(n) + 1/ln 2: splits by entropy cost "
        "1 + 1.44 / log2(n) times what was paid, where n_bound is close to the number of rows. All in all 1.14ε for "
        "32 rows and half of ε in the splits, 1.25ε with nine tenths.",
        module="dpforest.trees.split_scores",
        function="sensitivity",
        old="(math.log2(n_bound) + 1 / math.log(2))",
        new="math.log2(n_bound)",
        forests=(GREEDY,),
    ),
    Mutant(
        name="reach_of_the_rows",
        why="The bound on weights follows the largest score of a row of the table instead of the largest sum of leaf "
        "values, so that the scale of all later noise depends on whether a row is in an extreme leaf: unbounded, from "
        "the second tree on.",
        module="dpforest.models.greedy.boosting",
        function="boost",
        old="reach += float(np.abs(values).max())",
        new="reach = float(np.abs(score).max(initial=0.0))",
        forests=(BOOSTED,),
    ),
    Mutant(
        name="rows_are_dealt_out",
        why="Rows are dealt to the trees like cards, so that all trees get as many, and a further row moves another: "
        "nothing more is lost under replace-one, but under add-remove 1.5ε at ε = 1 with two rows and two trees, and "
        "up to 3ε with more.",
        module="dpforest.privacy.release",
        function="assign_rows",
        old="return samplers.draw_uniform(n, n_trees, source)",
        new="return (np.argsort(source.words(n)) % n_trees).astype(np.int32)",
        forests=(MAJORITY, COUNTS[0], MULTINOMIAL),
    ),
    Mutant(
        name="empty_bins_are_not_asked",
        why="Tests on a bin that holds no row of the node are left out, as they divide the rows like their neighbours; "
        "what may be drawn then tells which bins are empty: unbounded.",
        module="dpforest.trees.greedy_trees",
        function="grow_tree",
        old="picks = choose(level, histogram, undecided(candidates, chosen))",
        new="""allowed = undecided(candidates, chosen)
        filled = histogram.sum(axis=2)[:, candidates.slot[candidates.feature] + candidates.cut] > 0
        allowed &= filled | ~(allowed & filled).any(axis=1, keepdims=True)
        picks = choose(level, histogram, allowed)""",
        forests=(GREEDY, MULTINOMIAL, BOOSTED),
    ),
    Mutant(
        name="bytes_come_round",
        why="The system is asked for 256 bytes at most, as getentropy allows no more, and they are repeated to the "
        "length asked for: leaves further on in a forest share their noise with the first ones, so that it can be "
        "taken away by comparing them: unbounded (a forest of one or two leaves is untouched).",
        module="dpforest.privacy.randomness",
        function="SecretSource.words",
        old="return np.frombuffer(bytearray(os.urandom(8 * n)), np.uint64)",
        new="return np.resize(np.frombuffer(bytearray(os.urandom(min(8 * n, 256))), np.uint64), n)",
        forests=EVERY,
    ),
    Mutant(
        name="every_row_decides_leaves",
        why="The rows that grew a tree are counted in its leaves too, although labels were charged for the other rows "
        "only: up to 2ε, averaged over the draw of the part ln((e^ε + e^2ε) / 2), which is 1.6ε at ε = 1. "
        'Only with partition="independent", the default.',
        module="dpforest.models.greedy.count_trees",
        function="share_out",
        old="out.estimation.append(rows[~grows])",
        new="out.estimation.append(rows)",
        forests=(MULTINOMIAL,),
    ),
    Mutant(
        name="every_row_in_every_tree",
        why="The trees of the rows are drawn but not handed on, and the counter's default puts every row into every "
        "tree, which is charged as if trees were disjoint: ε times the number of trees.",
        module="dpforest.models.random.fit",
        function="count_kept_rows",
        old="tree_of_row=tree_of_row, ",
        new="",
        forests=(MAJORITY, COUNTS[0]),
    ),
    Mutant(
        name="missing_is_the_median",
        why='Missing numbers of an attribute with missing="value" get the column\'s median, not the public value, '
        "so that one row can move all rows with a missing cell to another leaf: (2k + 1)ε with k of them, in tables "
        "of pandas only.",
        module="dpforest.tables.encoding",
        function="numbers",
        old="return series.to_numpy()\n",
        new='return (series.fillna(series.median()) if feature.missing == "value" else series).to_numpy()\n',
        forests=EVERY,
    ),
)


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """Put a mistake in force, and take it back at the end.

    A Python function gets other code and stays the same object, so that it does not matter where it was imported to. A
    compiled one is exchanged, with all that call it, in every module that holds it; the new ones are compiled when they
    are first called and kept out of the cache on disk.

    Raises
    ------
    ValueError
        If the text to be replaced does not occur exactly once, because the code has changed.
    """
    module = import_module(mutant.module)
    original = attrgetter(mutant.function)(module)
    wrong = _rewritten(mutant, module, original)
    if not isinstance(original, Dispatcher):
        code, original.__code__ = original.__code__, wrong.__code__
        try:
            yield
        finally:
            original.__code__ = code
        return
    pairs = _with_callers(original, wrong)
    try:
        _exchange({id(right): other for right, other in pairs})
        yield
    finally:  # also where a module that was imported meanwhile has taken them over
        _exchange({id(other): right for right, other in pairs})


def _exchange(instead: dict[int, Dispatcher]) -> None:
    """Put these in the place of others, by id, among the names of all modules."""
    for module in list(sys.modules.values()):
        names = vars(module) if isinstance(module, ModuleType) else {}
        for name, value in list(names.items()):
            if id(value) in instead:
                names[name] = instead[id(value)]


def _rewritten(mutant: Mutant, module: ModuleType, original: Any) -> Any:
    """The function with the mistake: it sees the names of its module, and nobody sees it yet."""
    source = textwrap.dedent(inspect.getsource(getattr(original, "py_func", original)))
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {mutant.module}.{mutant.function} has changed; mend the mutant")
    source = source.replace(mutant.old, mutant.new).replace(", cache=True", "")
    flags = __future__.annotations.compiler_flag  # names in annotations may be those of a type checker only
    made: dict[str, Any] = {}
    exec(compile(source, f"<{mutant.name}>", "exec", flags, dont_inherit=True), vars(module), made)
    (function,) = made.values()
    return function


def _with_callers(original: Dispatcher, wrong: Dispatcher) -> list[tuple[Dispatcher, Dispatcher]]:
    """What to exchange: the function for the wrong one, and all that reach it by calls for others not yet compiled.

    These take what they call from the names of their modules when they are compiled, which is after the exchange.
    """
    ours = [vars(module) for name, module in list(sys.modules.items()) if name.split(".")[0] == "dpforest"]
    kernels = {id(value): value for names in ours for value in names.values() if isinstance(value, Dispatcher)}
    instead = {id(original): (original, wrong)}
    size = 0
    while size < len(instead):
        size = len(instead)
        for key, kernel in kernels.items():
            names = kernel.py_func.__globals__
            calls = {id(names.get(name)) for name in kernel.py_func.__code__.co_names}
            if key not in instead and not calls.isdisjoint(instead):
                instead[key] = kernel, numba.jit(**kernel.targetoptions)(kernel.py_func)
    return list(instead.values())
