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


def state_of(obj: Any) -> State:
    """Return a dictionary from the path of each part of an object to a comparable value.

    The key "pickle" holds the bytes of the object's pickle. The dictionary is a copy: later changes of the object do
    not change the dictionary.
    """
    state: State = {}
    _walk(obj, "", state, {})
    state["pickle"] = _pickled(obj)
    return state


def difference(a: State, b: State) -> str:
    """Return the path of the first part that differs or is in only one of the states; empty if the states are equal."""
    for path in [*a, *[path for path in b if path not in a]]:
        if path not in a or path not in b or a[path] != b[path]:
            return path
    return ""


def _walk(obj: Any, path: str, state: State, seen: dict[int, tuple[str, Any]]) -> None:
    """Add an object and all its parts to the state. For a repeated object, add the path of its first occurrence."""
    kind = type(obj)
    if id(obj) in seen and not isinstance(obj, _PLAIN):
        state[path] = ("as", seen[id(obj)][0])
        return
    seen[id(obj)] = path, obj  # the reference keeps the object alive, so that no other object gets the same id
    if kind.__name__ in _LOCKS:
        return
    state[path] = (f"{kind.__module__}.{kind.__qualname__}", _value(obj))
    for name, part in _parts(obj):
        _walk(part, f"{path}{name}", state, seen)


def _value(obj: Any) -> Any:
    """Return the value of an object without its parts; the value of a number or an array is its bits."""
    if isinstance(obj, float | complex):
        return struct.pack("dd", obj.real, obj.imag)
    if isinstance(obj, bytearray | memoryview | array.array):
        return bytes(obj)
    if isinstance(obj, np.generic):
        return obj.dtype.str, obj.tobytes()
    if isinstance(obj, np.ndarray):
        bits = b"" if obj.dtype.hasobject else obj.tobytes()
        return obj.dtype.str, obj.shape, obj.strides, bits, repr(obj.dtype.metadata)
    if isinstance(obj, types.CodeType):
        return obj.co_code, obj.co_names, _ADDRESS.sub("", repr(obj.co_consts))
    if isinstance(obj, set | frozenset):
        return sorted(_ADDRESS.sub("", repr(part)) for part in obj)
    return obj if isinstance(obj, _PLAIN) else None


def _parts(obj: Any) -> Iterator[tuple[str, Any]]:
    """Yield each part of an object, as the pair (last step of the path to this part, part)."""
    if isinstance(obj, type | types.ModuleType):
        return
    if isinstance(obj, Mapping):
        yield ".keys", list(obj)
        yield from ((f"[{key!r}]" if isinstance(key, str) else f"[{i}]", obj[key]) for i, key in enumerate(obj))
    elif isinstance(obj, list | tuple):
        yield from ((f"[{i}]", part) for i, part in enumerate(obj))
    elif isinstance(obj, np.ndarray):
        yield from [(".base", obj.base)] * (obj.base is not None)
        yield from [(".cells", obj.ravel().tolist())] * obj.dtype.hasobject
    elif isinstance(obj, types.FunctionType):
        yield ".code", obj.__code__
        yield ".defaults", (obj.__defaults__, obj.__kwdefaults__)
        yield ".closure", [cell.cell_contents for cell in obj.__closure__ or ()]
    elif isinstance(obj, types.MethodType):
        yield ".function", obj.__func__
        yield ".self", obj.__self__
    _compute_cached_properties(obj)
    yield from ((f".{name}", part) for name, part in list(getattr(obj, "__dict__", {}).items()))
    for kind in type(obj).__mro__:
        yield from _in_slots(obj, kind)
        if kind.__module__.startswith("dpforest"):
            yield from ((f".{kind.__name__}.{name}", part) for name, part in _class_data(kind))


def _compute_cached_properties(obj: Any) -> None:
    """Compute all cached properties of an object, which stores them in its `__dict__`."""
    for kind in type(obj).__mro__ if hasattr(obj, "__dict__") else ():  # cached properties need a `__dict__`
        for name, part in vars(kind).items():
            if isinstance(part, cached_property):
                getattr(obj, name)


def _in_slots(obj: Any, kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an object whose names are in the `__slots__` of a class."""
    slots = kind.__dict__.get("__slots__", ())
    for name in (slots,) if isinstance(slots, str) else slots:
        name = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        if name not in ("__dict__", "__weakref__") and hasattr(obj, name):
            yield f".{name}", getattr(obj, name)


def _class_data(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the data of a class: attributes that are neither code nor special names of Python."""
    for name, part in list(vars(kind).items()):
        has_closure = isinstance(part, types.FunctionType) and part.__closure__
        if not name.startswith("__") and name != "_abc_impl" and (has_closure or not _is_code(part)):
            yield name, part


def _is_code(part: Any) -> bool:
    return callable(part) or isinstance(part, property | classmethod | staticmethod) or hasattr(part, "__get__")


def _pickled(obj: Any) -> Any:
    try:
        return pickle.dumps(obj)
    except Exception as problem:
        return _ADDRESS.sub("", f"{type(problem).__name__}: {problem}")
