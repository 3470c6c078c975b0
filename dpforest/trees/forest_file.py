"""Write released forests as JSON (docs/FORMAT.md), and read them back with a check of every value in the file."""

import gzip
import json
import math
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpforest.limits import MAX_FILE_BYTES, MAX_JSON_BYTES, MAX_JSON_VALUES, MAX_LEAF_NUMBERS, MAX_WIDE_BYTES
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, GRADIENT_SUMS, SCALE_OF_ATTRIBUTES, Ledger
from dpforest.privacy.loss import NOISE
from dpforest.tables.domain import Domain
from dpforest.trees import forest_file_1, forest_schema, routing
from dpforest.trees.forest_schema import FORMAT, SchemaError
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import CountLeaves, LabelLeaves, ScoreLeaves, from_file, key_of_leaves
from dpforest.trees.packed_arrays import ArrayError, pack, unpack
from dpforest.trees.released_scale import CELLS, TOP, ReleasedScale
from dpforest.trees.structure import Structure, structure_of, trees_of
from dpforest.voting import CLIPPED_LOGISTIC

if TYPE_CHECKING:
    from dpforest.trees.forest import ReleasedForest

FORMAT_VERSION: Final = 3
_GZIP: Final = b"\x1f\x8b"
_PIECE: Final = 2**16  # number of bytes that `_length` decompresses at a time


class ForestFormatError(ValueError):
    """Raised if a file is not a released forest, or is damaged."""


# The checks in this list need the estimators, which import this module. So this module cannot import the checks.
# Instead, `dpforest/__init__.py` registers the check of `dpforest.models.file_consistency`.
_CHECKS: list[Callable[["ReleasedForest"], None]] = []


def check_on_reading(check: Callable[["ReleasedForest"], None]) -> None:
    """Register a check of every forest that is read from a file. The check raises ValueError to refuse a forest."""
    if check not in _CHECKS:
        _CHECKS.append(check)


# ---------------------------------------------------------------- writing


def written(forest: "ReleasedForest") -> str:
    """Return the text of `ReleasedForest.to_json`."""
    structure = structure_of(forest.trees)
    values = forest.leaves.to_file()
    if forest.scale is not None:
        values["scale"] = pack(forest.scale.shares)
    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "about": forest.about,
        "certificate": forest.certificate.to_dict(),
        "ledger": forest.ledger.to_dict(),
        "domain": forest.domain.to_dict(),
        "voting": forest.leaves.voting,
        "negative_rule": forest.leaves.negative_rule,
        "seed": forest.seed,
        "depth": structure.depth,
        "trees": {
            "n_trees": structure.n_trees,
            "test_feature": pack(structure.test_feature),
            "test_kind": pack(structure.test_kind),
            "nodes": pack(structure.nodes),
            "thresholds": pack(structure.thresholds),
        },
        **values,
    }
    return json.dumps(content, indent=1, default=forest_schema.plain)


def compressed(text: str) -> bytes:
    """Return JSON text compressed by gzip, for `ReleasedForest.to_bytes`. Equal texts give equal bytes."""
    return gzip.compress(text.encode(), 6, mtime=0)


# ---------------------------------------------------------------- reading


def decompressed(data: bytes) -> bytes:
    """Return the JSON of a compressed or plain file as bytes. Raise an error if gzip data are invalid or too long."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise ForestFormatError(f"A released forest is read from bytes, not from {type(data).__name__}.")
    data = bytes(data)
    if not data.startswith(_GZIP):
        return data
    if len(data) > MAX_FILE_BYTES:
        raise _too_large()
    try:
        length = _length(data)
        text = zlib.decompress(data, wbits=31, bufsize=length + 1)
    except zlib.error:
        raise ForestFormatError(
            "This is not a released forest: its gzip data are damaged, were cut short, or are followed by other data."
        ) from None
    return text


def _length(data: bytes) -> int:
    """Return the decompressed length of a file, with little memory. Raise an error if no forest is that long."""
    stream, n_bytes, n_values = zlib.decompressobj(wbits=31), 0, 0
    for start in range(0, len(data), _PIECE):
        compressed_bytes = data[start : start + _PIECE]
        while compressed_bytes and not stream.eof:
            piece = stream.decompress(compressed_bytes, _PIECE)
            compressed_bytes = stream.unconsumed_tail
            n_bytes += len(piece)
            n_values += forest_schema.n_values(piece)
            if n_bytes > MAX_JSON_BYTES or n_values > MAX_JSON_VALUES:
                raise _too_large()
        if stream.eof and (stream.unused_data or start + _PIECE < len(data)):
            raise zlib.error("other data follow")
    return n_bytes


def read(text: str | bytes, build: "Callable[..., ReleasedForest]") -> "ReleasedForest":
    """Read a forest for `ReleasedForest.from_json`. `build` is `ReleasedForest`, which this module cannot import."""
    content = _parsed(text)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ForestFormatError("This is JSON, but not a released forest of dpforest.")
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise ForestFormatError(
            f"This forest has format version {str(version)[:40]}; this dpforest reads versions 1 to {FORMAT_VERSION}. "
            "Use the dpforest that wrote it."
        )
    try:
        forest = build(**_constructor_arguments(american(content), version))
        for check in _CHECKS:
            check(forest)
        return forest
    except ForestFormatError:
        raise
    except (SchemaError, ArrayError) as error:
        raise _damaged(str(error)) from None
    except Exception as error:  # the constructors may raise any error
        raise _damaged(_one_line(error)) from None


def _parsed(text: Any) -> Any:
    """Parse a JSON text. Refuse it if it is too long or has too many values, NaN, Infinity or a repeated key."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise ForestFormatError(f"A released forest is read from text or bytes, not from {type(text).__name__}.")
    # A text that is not ASCII may take 4 bytes per character in memory.
    if len(text) > MAX_JSON_BYTES or (len(text) > MAX_WIDE_BYTES and not text.isascii()):
        raise _too_large()
    try:
        if not isinstance(text, str):
            text = bytes(text).decode("utf-8-sig")
        if forest_schema.n_values(text) > MAX_JSON_VALUES:
            raise _too_large()
        content = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite_number, object_pairs_hook=_without_repeated_keys
        )
        if not text.isascii() or "\\ud" in text or "\\uD" in text:  # raise an error for half of a surrogate pair
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except ForestFormatError:
        raise
    except (ValueError, RecursionError):
        raise ForestFormatError("This is not a released forest: the file is not JSON.") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite_number(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number is too large")
    return number


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(content := dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return content


def american(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file, with the British spelling of older files replaced by American spelling."""
    for name in ("certificate", "ledger"):
        part = content.get(name)
        if isinstance(part, dict) and "neighbours" in part and "neighbors" not in part:
            part["neighbors"] = part.pop("neighbours")
    about = content.get("about")
    if isinstance(about, dict) and about.get("split_score") == "normalised":
        about["split_score"] = "normalized"
    return content


def _constructor_arguments(content: dict[str, Any], version: int) -> dict[str, Any]:
    """Check that the fields of a file fit together, and return the arguments of a forest's constructor."""
    forest_schema.check(content, version)
    domain = Domain.from_dict(forest_file_1.domain(content["domain"]) if version == 1 else content["domain"])
    n_codes = np.array([f.n_codes for f in domain.features])
    notes: tuple[str, ...] = ()
    if version == 1:
        trees, notes = forest_file_1.trees_and_notes(content, n_codes)
    else:
        trees = _trees(content, n_codes)
    trees.check(n_codes)
    routing.pack(trees, domain.n_features)  # refuse trees that cannot predict
    ledger = Ledger.from_dict(content["ledger"])
    certificate = Certificate.from_dict(content["certificate"], ledger)
    if not certificate.unit == ledger.unit == domain.unit:
        raise _damaged("its domain, its ledger and its certificate do not have the same unit of privacy")
    if content.get("count_unit", 1) != (domain.count_unit if "noisy_counts" in content else 1):
        raise _damaged("its counts are not in the unit of its domain")
    _check_paid(content, certificate, ledger)
    leaves = _leaves(content, trees, domain.n_classes, forest_file_1.array if version == 1 else unpack)
    if isinstance(leaves, ScoreLeaves) and leaves.voting == CLIPPED_LOGISTIC:
        _check_rounds(content, leaves.leaf_values, ledger)
    return {
        "trees": trees,
        "domain": domain,
        "leaves": leaves,
        "seed": content["seed"],
        "certificate": certificate,
        "ledger": ledger,
        "about": content["about"],
        "notes": notes,
        "scale": _scale(content, domain) if "scale" in content else None,
    }


def _check_paid(content: dict[str, Any], certificate: Certificate, ledger: Ledger) -> None:
    """Refuse a scale that is not charged, and a number of rows that is neither charged nor certified as public."""
    charged = [entry.what for entry in ledger.entries]
    if "scale" in content and not any(what.startswith(SCALE_OF_ATTRIBUTES) for what in charged):
        raise _damaged("it has a scale, but its ledger has no entry for it")
    n_rows = content["about"].get("n_rows")
    if n_rows is None or ledger.number_of_units in charged or ledger.neighbors != ADD_REMOVE:
        return
    public = f"about {n_rows:,} {ledger.units} is public" if isinstance(n_rows, int) else ""
    if not public or not any(public in a for a in certificate.assumptions):
        raise _damaged(
            "it has a number of rows, but its ledger has no entry for it, and its certificate does not call it public"
        )


def _check_rounds(content: dict[str, Any], values: np.ndarray, ledger: Ledger) -> None:
    """Check that one ledger entry pays for all rounds of a booster, and that leaf values are multiples of 2**-20."""
    rounds = [entry for entry in ledger.entries if entry.what == GRADIENT_SUMS]
    wanted = (NOISE[ledger.kind], content["trees"]["n_trees"], "sequential", "")
    if [(e.mechanism, e.times, e.composition, e.part) for e in rounds] != [wanted]:
        raise _damaged("its rounds differ from the rounds in its ledger")
    if (values * 2.0**20 % 1).any():
        raise _damaged("its leaf values are not multiples of 2^-20")


def _trees(content: dict[str, Any], n_codes: np.ndarray) -> Trees:
    """Return the trees of a file of version 2 or 3. Lengths are checked before arrays are unpacked."""
    entries = content["trees"]
    arrays = {name: entries[name] for name in ("test_feature", "test_kind", "nodes", "thresholds")}
    if any(len(entry["shape"]) != 1 for entry in arrays.values()):
        raise ArrayError("its trees have a shape that no forest has")
    n_tests = entries["test_kind"]["shape"][0]
    if n_tests > 3 * len(n_codes):
        raise ArrayError("it has more kinds of tests than its attributes allow")
    most_elements = {"test_feature": n_tests, "thresholds": entries["nodes"]["shape"][0]}
    if any(entries[name]["shape"][0] > n for name, n in most_elements.items()):
        raise ArrayError("the trees' arrays do not fit together")
    unpacked = {name: unpack(entry, tuple(entry["shape"])) for name, entry in arrays.items()}
    return trees_of(Structure(entries["n_trees"], content["depth"], **unpacked), n_codes)


def _scale(content: dict[str, Any], domain: Domain) -> ReleasedScale:
    """Return the released scale of a file. Raise ForestFormatError if its shares are invalid."""
    shares = unpack(content["scale"], (sum(f.kind == "numeric" for f in domain.features), CELLS)).astype(np.int64)
    if shares.min(initial=0) < 0 or shares.max(initial=0) > TOP or (shares.sum(axis=1) != TOP).any():
        raise _damaged("the shares of its scale are not from 0 to 2^32, or do not sum to 2^32")
    return ReleasedScale.of_shares(shares)


def _leaves(
    content: dict[str, Any], trees: Trees, n_classes: int, array: Callable[..., np.ndarray]
) -> LabelLeaves | CountLeaves | ScoreLeaves:
    """Return the leaves of a file. `array` reads an entry of the file as an array of a given shape."""
    key, shape = key_of_leaves(content, trees.n_leaves, n_classes)
    if math.prod(shape) > MAX_LEAF_NUMBERS:
        raise _too_large()
    cells, class_of_tree = array(content[key], shape), None
    if "class_of_tree" in content:
        class_of_tree = array(content["class_of_tree"], (trees.n_trees,)).astype(np.int16)
    return from_file(content, cells, class_of_tree, n_classes)


def _damaged(reason: str) -> ForestFormatError:
    return ForestFormatError(f"This released forest is damaged: {reason}.")


def _too_large() -> ForestFormatError:
    return ForestFormatError("This file is larger than any forest that dpforest writes, so it is not read.")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__
