"""Released forests as JSON (docs/FORMAT.md): written, and read back by somebody who trusts nothing in the file."""

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpforest import voting
from dpforest.domain import Domain
from dpforest.limits import GRID, MAX_DEPTH, MAX_LEAF
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.trees.layout import Trees

if TYPE_CHECKING:
    from dpforest.trees.forest import ReleasedForest

FORMAT: Final = "dpforest released forest"
FORMAT_VERSION: Final = 1
_ARRAYS: Final = {"kind": "u1", "feature": "<i4", "threshold": "<i4", "first_child": "<i4", "tree_start": "<i8"}
_VALUES: Final = {"labels": "u1", "noisy_counts": "<i8", "leaf_values": "<f8"}


class ForestFormatError(ValueError):
    """A file that is not a released forest, or one that was damaged."""


def written(forest: "ReleasedForest") -> str:
    """The text of `ReleasedForest.to_json`."""
    values: dict[str, Any] = {
        name: _packed(getattr(forest, name), kind)
        for name, kind in _VALUES.items()
        if getattr(forest, name) is not None
    }
    if forest.class_of_tree is not None:
        values |= {"class_of_tree": _packed(forest.class_of_tree, "<i2"), "alpha_link": forest.alpha_link}
    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "about": forest.about,
        "certificate": forest.certificate.to_dict(),
        "ledger": forest.ledger.to_dict(),
        "domain": forest.domain.to_dict(),
        "voting": forest.voting,
        "negative_rule": forest.negative_rule,
        "seed": forest.seed,
        "depth": forest.trees.depth,
        "trees": {name: _packed(getattr(forest.trees, name), kind) for name, kind in _ARRAYS.items()},
        **values,
    }
    return json.dumps(content, indent=1, default=lambda number: number.item())  # numbers of numpy


def read(text: str | bytes, build: "Callable[..., ReleasedForest]") -> "ReleasedForest":
    """What `ReleasedForest.from_json` says, given the class."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ForestFormatError("This is not a released forest: the file is not JSON.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ForestFormatError("This is JSON, but not a released forest of dpforest.")
    if content.get("version") != FORMAT_VERSION:
        raise ForestFormatError(
            f"This forest has format version {content.get('version')!r}; this dpforest reads version {FORMAT_VERSION}. "
            "Use the dpforest that wrote it."
        )
    try:
        return build(**_parts(content))
    except ForestFormatError:
        raise
    except KeyError as error:
        raise ForestFormatError(f"This released forest is damaged: {error} is missing.") from None
    except Exception as error:
        raise ForestFormatError(f"This released forest is damaged: {_one_line(error)}.") from None


def _parts(content: dict[str, Any]) -> dict[str, Any]:
    """What a forest is made of, each part checked against the others."""
    arrays = {name: _unpacked(content["trees"][name], kind) for name, kind in _ARRAYS.items()}
    trees = Trees(**arrays, depth=int(content["depth"]))
    if any(array.ndim != 1 for array in arrays.values()) or not 0 <= trees.depth <= MAX_DEPTH:
        raise _damaged("its trees have a shape that no forest has")
    domain = Domain.from_dict(content["domain"])
    if not domain.classes:
        raise _damaged("its domain has no classes")
    trees.check(np.array([f.n_codes if f.kind == "categorical" else GRID for f in domain.features]))
    values = _leaves(content, trees, domain.n_classes)
    if content["voting"] not in voting.VOTING:
        raise _damaged(f"voting {content['voting']!r} is not known")
    if content["negative_rule"] not in voting.NEGATIVE_RULES:
        raise _damaged("its rule for negative counts is not known")
    certificate, ledger = Certificate.from_dict(content["certificate"]), Ledger.from_dict(content["ledger"])
    texts = [certificate.mechanism, *certificate.assumptions, *certificate.reasons]
    texts += [text for entry in ledger.entries for text in (entry.what, entry.mechanism)]
    if not all(isinstance(text, str) for text in texts):
        raise _damaged("what it says about privacy is not all text")
    return {
        "trees": trees,
        "domain": domain,
        "voting": content["voting"],
        "negative_rule": content["negative_rule"],
        "seed": int(content["seed"]),
        "certificate": certificate,
        "ledger": ledger,
        "about": dict(content["about"]),
        **values,
    }


def _leaves(content: dict[str, Any], trees: Trees, n_classes: int) -> dict[str, Any]:
    """What the leaves say: labels, noisy counts, or values that are added up."""
    given = {name: _unpacked(content[name], kind) if name in content else None for name, kind in _VALUES.items()}
    labels, counts, values = given["labels"], given["noisy_counts"], given["leaf_values"]
    if sum(part is not None for part in (labels, counts, values)) != 1:
        raise _damaged("it needs labels, noisy counts or leaf values, one of them")
    if (content["voting"] == "additive") != (values is not None):
        raise _damaged("its leaves do not fit its way of voting")
    if labels is not None and (labels.shape != (trees.n_leaves,) or labels.max() >= n_classes):
        raise _damaged("its labels do not fit its leaves and classes")
    if counts is not None and counts.shape != (trees.n_leaves, n_classes):
        raise _damaged("its counts do not fit its leaves and classes")
    if values is None:
        return {"labels": labels, "noisy_counts": counts}
    classes, alpha = _unpacked(content["class_of_tree"], "<i2"), float(content["alpha_link"])
    if values.shape != (trees.n_leaves,) or not (np.abs(values) <= MAX_LEAF).all():
        raise _damaged("its leaf values do not fit its leaves, or are none")
    # Of two classes the second is scored, for the first too.
    if classes.shape != (trees.n_trees,) or classes.min() < (n_classes == 2) or classes.max() >= n_classes:
        raise _damaged("the classes that its trees score do not fit its trees and classes")
    if not 0 < alpha <= 1:
        raise _damaged("the α of its link is not a number above 0 and up to 1")
    return {**given, "class_of_tree": classes, "alpha_link": alpha}


def _packed(array: np.ndarray, dtype: str) -> dict[str, Any]:
    data = np.ascontiguousarray(array, dtype=dtype)
    return {"dtype": dtype, "shape": list(data.shape), "base64": base64.b64encode(data.tobytes()).decode("ascii")}


def _unpacked(entry: dict[str, Any], dtype: str) -> np.ndarray:
    if entry["dtype"] != dtype:
        raise _damaged(f"an array should have the type {dtype}")
    data = np.frombuffer(base64.b64decode(entry["base64"], validate=True), dtype=dtype)
    if any(length < 0 for length in entry["shape"]):
        raise _damaged("an array has a negative length")
    return data.reshape(entry["shape"]).astype(np.dtype(dtype).newbyteorder("="))


def _damaged(why: str) -> ForestFormatError:
    return ForestFormatError(f"This released forest is damaged: {why}.")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
