"""Mistakes that somebody could make in the certified code, to see whether an auditor finds them.

Under each of them the code runs, the ledger adds up and the certificate says certified, and each loses more than that
certificate says, in at least one of the two neighbor relations. They were written without knowing the auditor.

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
    original = original.fget if isinstance(original, property) else original
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
    return function.fget if isinstance(function, property) else function


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
