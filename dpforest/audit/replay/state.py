"""The complete state of an object: everything that can be read from the object.

A replay compares the states of two fitted estimators, not only their released files. The state holds every attribute of
the estimator, its forest, trees, domain, certificate and ledger. It also holds the attributes of their classes, the
base arrays of views, the closures of functions, and the bytes of a pickle. Two fits on neighboring tables with the same
draws must have the same state.
"""

import array
import pickle
import re
import struct
import types
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np

_PLAIN: Final = (int, float, complex, str, bytes, bytearray, bool, type(None), range, array.array, np.generic)
_ADDRESS: Final = re.compile(r"0x[0-9a-f]+")
_LOCKS: Final = ("lock", "RLock")

State = dict[str, Any]


def state_of(thing: Any) -> State:
    """Return a dictionary from the path of each part of an object to a comparable value.

    The key "pickle" holds the bytes of the object's pickle. The dictionary is a copy: later changes of the object do
    not change the dictionary.
    """
    state: State = {}
    _walk(thing, "", state, {})
    state["pickle"] = _pickled(thing)
    return state


def difference(a: State, b: State) -> str:
    """Return the path of the first part that differs or is in only one of the states; empty if the states are equal."""
    for path in [*a, *[path for path in b if path not in a]]:
        if path not in a or path not in b or a[path] != b[path]:
            return path
    return ""


def _walk(thing: Any, path: str, state: State, seen: dict[int, tuple[str, Any]]) -> None:
    """Add an object and all its parts to the state. For a repeated object, add the path of its first occurrence."""
    kind = type(thing)
    if id(thing) in seen and not isinstance(thing, _PLAIN):
        state[path] = ("as", seen[id(thing)][0])
        return
    seen[id(thing)] = path, thing  # the reference keeps the object alive, so that no other object gets the same id
    if kind.__name__ in _LOCKS:
        return
    state[path] = (f"{kind.__module__}.{kind.__qualname__}", _value(thing))
    for name, part in _parts(thing):
        _walk(part, f"{path}{name}", state, seen)


def _value(thing: Any) -> Any:
    """Return the value of an object without its parts; the value of a number or an array is its bits."""
    if isinstance(thing, float | complex):
        return struct.pack("dd", thing.real, thing.imag)
    if isinstance(thing, bytearray | memoryview | array.array):
        return bytes(thing)
    if isinstance(thing, np.generic):
        return thing.dtype.str, thing.tobytes()
    if isinstance(thing, np.ndarray):
        bits = b"" if thing.dtype.hasobject else thing.tobytes()
        return thing.dtype.str, thing.shape, thing.strides, bits, repr(thing.dtype.metadata)
    if isinstance(thing, types.CodeType):
        return thing.co_code, thing.co_names, _ADDRESS.sub("", repr(thing.co_consts))
    if isinstance(thing, set | frozenset):
        return sorted(_ADDRESS.sub("", repr(part)) for part in thing)
    return thing if isinstance(thing, _PLAIN) else None


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield each part of an object, as the pair (last step of the path to this part, part)."""
    if isinstance(thing, type | types.ModuleType):
        return
    if isinstance(thing, Mapping):
        yield ".keys", list(thing)
        yield from ((f"[{key!r}]" if isinstance(key, str) else f"[{i}]", thing[key]) for i, key in enumerate(thing))
    elif isinstance(thing, list | tuple):
        yield from ((f"[{i}]", part) for i, part in enumerate(thing))
    elif isinstance(thing, np.ndarray):
        yield from [(".base", thing.base)] * (thing.base is not None)
        yield from [(".cells", thing.ravel().tolist())] * thing.dtype.hasobject
    elif isinstance(thing, types.FunctionType):
        yield ".code", thing.__code__
        yield ".defaults", (thing.__defaults__, thing.__kwdefaults__)
        yield ".closure", [cell.cell_contents for cell in thing.__closure__ or ()]
    elif isinstance(thing, types.MethodType):
        yield ".function", thing.__func__
        yield ".self", thing.__self__
    _compute_cached_properties(thing)
    yield from ((f".{name}", part) for name, part in list(getattr(thing, "__dict__", {}).items()))
    for kind in type(thing).__mro__:
        yield from _in_slots(thing, kind)
        if kind.__module__.startswith("dpforest"):
            yield from ((f".{kind.__name__}.{name}", part) for name, part in _class_data(kind))


def _compute_cached_properties(thing: Any) -> None:
    """Compute all cached properties of an object."""
    for kind in type(thing).__mro__ if hasattr(thing, "__dict__") else ():  # cached properties need a `__dict__`
        for name, part in vars(kind).items():
            if isinstance(part, cached_property):
                getattr(thing, name)


def _in_slots(thing: Any, kind: type) -> Iterator[tuple[str, Any]]:
    slots = kind.__dict__.get("__slots__", ())
    for name in (slots,) if isinstance(slots, str) else slots:
        name = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        if name not in ("__dict__", "__weakref__") and hasattr(thing, name):
            yield f".{name}", getattr(thing, name)


def _class_data(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the data of a class: attributes that are neither code nor special names of Python."""
    for name, part in list(vars(kind).items()):
        has_closure = isinstance(part, types.FunctionType) and part.__closure__
        if not name.startswith("__") and name != "_abc_impl" and (has_closure or not _is_code(part)):
            yield name, part


def _is_code(part: Any) -> bool:
    return callable(part) or isinstance(part, property | classmethod | staticmethod) or hasattr(part, "__get__")


def _pickled(thing: Any) -> Any:
    try:
        return pickle.dumps(thing)
    except Exception as problem:
        return _ADDRESS.sub("", f"{type(problem).__name__}: {problem}")
