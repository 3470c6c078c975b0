"""Trace the executed lines of a fit in `dpforest/models`, `dpforest/trees` and the file of the fit."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from dpforest.audit.replay.tape import Tape

_HOME: Final = str(Path(__file__).parents[2])
_NOT_CALLERS: Final = (os.path.join(_HOME, "privacy", ""), os.path.join(_HOME, "audit", ""))
_ROUTING: Final = os.path.join(_HOME, "trees", "routing.py")
_UNNAMED: Final = ("<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


def caller() -> str:
    """Return the innermost line on the call stack outside of `dpforest/privacy` and `dpforest/audit`, and its caller.

    The result has the form "path:line <- path:line".
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_CALLERS):
        frame = frame.f_back
    places = list[str]()
    while frame is not None and len(places) < 2:
        if not frame.f_code.co_filename.startswith(_NOT_CALLERS):
            places.append(place_of(frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return " <- ".join(places) or "?"


def place_of(file: str, line: int) -> str:
    """Return a line of code as "path:line", with the path relative to the folder of the project."""
    return f"{os.path.relpath(file, os.path.dirname(_HOME))}:{line}"


@contextmanager
def traced(tape: Tape, fit: Callable) -> Iterator[None]:
    """Record steps from one line to the next, in `dpforest/models`, `dpforest/trees` and the file of `fit`.

    Within each function call, a step is recorded only at its first occurrence, because a loop over rows has one more or
    one fewer round on the neighboring table. The trace also records which line returned each object. It omits all other
    folders, for example `dpforest/privacy`, whose samplers take a random number of steps. It also omits lambdas,
    comprehensions, compiled functions, and `trees/routing.py`, which reads blocks of rows and treats each row alone.
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
        compiled = frame.f_code.co_firstlineno <= 1  # code of numba, under the name of a kernel that it compiles
        if not file.startswith(watched) or file == _ROUTING or compiled or frame.f_code.co_name in _UNNAMED:
            return None
        return local(frame, set(), [frame.f_lineno])

    earlier, earlier_of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(tracer)
    threading.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(earlier)
        threading.settrace(earlier_of_threads)
