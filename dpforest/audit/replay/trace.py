"""Trace a fit from line to line, in the engine and in the file of the fit."""

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
    """Return the running line outside of `dpforest/privacy` and `dpforest/audit`, and the line that called it."""
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
    """Return a line of code as "path:line", with the path relative to the project."""
    return f"{os.path.relpath(file, os.path.dirname(_HOME))}:{line}"


@contextmanager
def traced(tape: Tape, fit: Callable) -> Iterator[None]:
    """Record every step from one line to another, in the engine and in the file of `fit`.

    Each step is listed once per call, because a loop over rows has one round more or less on the other table. The trace
    omits lambdas, comprehensions, `dpforest/privacy`, whose samplers take a random number of steps, and routing, which
    reads rows in blocks and each row by itself.
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
        compiled = frame.f_code.co_firstlineno <= 1  # code that numba runs under a kernel's name while it compiles
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
