"""Mutants: mistakes that somebody could make in the certified code, and that an auditor should detect.

Code with a mutant runs, its ledger adds up, and its certificate says "certified". But under at least one of the two
neighbor relations, the privacy loss exceeds the loss that the certificate states. Most authors of the mutants had not
read the auditors.

`mutated` applies a mutant to all threads of this process, and restores the code afterwards.
"""

import __future__

import builtins
import dis
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
    """A mistake in the source of one function: a piece of code, and the wrong code that replaces it.

    Attributes
    ----------
    name : str
    why : str
        What the mistake is, why it breaks the guarantee, and how large the privacy loss of a fit is.
    module : str
    function : str
        Name of the function in the module, or "Class.method".
    old : str
        Code to replace, which occurs exactly once in the dedented source of the function.
    new : str
        Wrong code that replaces `old`.
    forests : tuple of str
        Estimators whose certificate is wrong with this mistake, for at least some of their settings.
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
    """Apply a mutant, and restore the code at the end.

    A Python function gets other code and stays the same object, so the mutant acts in all modules that import the
    function. A compiled function and all its compiled callers are replaced by other objects, in every module that
    holds them. These objects are compiled at their first call and are not cached on disk.

    Raises
    ------
    ValueError
        If the text to be replaced does not occur exactly once, because the code has changed.
    """
    module, original = _original(mutant)
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
    # Modules that were imported inside the `with` block also hold the replacements, so search all modules again.
    finally:
        _exchange({id(other): right for right, other in pairs})


def unknown_names(mutant: Mutant) -> set[str]:
    """Return the global names that the wrong code reads and its module does not have; raise ValueError as `mutated`."""
    module, original = _original(mutant)
    wrong = _rewritten(mutant, module, original)
    read = {i.argval for i in dis.get_instructions(getattr(wrong, "py_func", wrong)) if i.opname == "LOAD_GLOBAL"}
    return read - vars(module).keys() - vars(builtins).keys()


def _original(mutant: Mutant) -> tuple[ModuleType, Any]:
    """Return the module and the function that a mutant changes."""
    module = import_module(mutant.module)
    original = attrgetter(mutant.function)(module)
    return module, original.fget if isinstance(original, property) else original


def _exchange(instead: dict[int, Dispatcher]) -> None:
    """Replace objects, given by id, among the names of all modules."""
    for module in list(sys.modules.values()):
        names = vars(module) if isinstance(module, ModuleType) else {}
        for name, value in list(names.items()):
            if id(value) in instead:
                names[name] = instead[id(value)]


def _rewritten(mutant: Mutant, module: ModuleType, original: Any) -> Any:
    """Return the function with the mistake, compiled in the namespace of its module. No module holds it yet."""
    source = textwrap.dedent(inspect.getsource(getattr(original, "py_func", original)))
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {mutant.module}.{mutant.function} has changed; correct the mutant")
    source = source.replace(mutant.old, mutant.new).replace(", cache=True", "")
    # Annotations may contain names that only a type checker imports.
    flags = __future__.annotations.compiler_flag
    made: dict[str, Any] = {}
    exec(compile(source, f"<{mutant.name}>", "exec", flags, dont_inherit=True), vars(module), made)
    (function,) = made.values()
    return function.fget if isinstance(function, property) else function


def _with_callers(original: Dispatcher, wrong: Dispatcher) -> list[tuple[Dispatcher, Dispatcher]]:
    """Return pairs of a function and its replacement: `wrong` for `original`, and a copy for each compiled caller.

    A copy is compiled at its first call, after all objects are exchanged. So it calls the replacements of the
    functions that it uses.
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
