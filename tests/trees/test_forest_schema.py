"""The JSON schema of a forest file: it allows no unknown field and limits every size.

If any value of a file is replaced, the file is refused, or it holds a sound forest.
"""

import base64
import gzip
import json
from pathlib import Path

import jsonschema
import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpforest import Domain, Feature, ReleasedForest
from dpforest.tables.csv_format import CsvFormat
from dpforest.trees import forest_schema
from dpforest.trees.forest import ForestFormatError
from dpforest.trees.forest_file import american
from dpforest.trees.forest_schema import SchemaError
from tests.conftest import examples

DATA = Path(__file__).parents[1] / "data"
FILES = {
    path.name: json.loads(path.read_bytes()) for path in sorted(DATA.glob("v1_*.json")) if "expected" not in path.name
}
FILES |= {path.name: json.loads(gzip.decompress(path.read_bytes())) for path in sorted(DATA.glob("v[23]_*.json.gz"))}
FILES = {name: american(content) for name, content in FILES.items()}
ROWS = json.loads((DATA / "v2_expected.json").read_text())


def parts(schema: dict, path: str = ""):
    """Yield every schema inside a schema, with its path."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from parts(inner, f"{path}.{name}")
    for inner in [schema[key] for key in ("items",) if key in schema] + schema.get("anyOf", []):
        yield from parts(inner, f"{path}[]")


@pytest.mark.parametrize("what", forest_schema.SCHEMAS)
def test_every_object_is_closed_and_everything_has_a_length(what):
    schema = forest_schema.SCHEMAS[what]
    jsonschema.Draft202012Validator.check_schema(schema)
    n = 0
    for path, part in parts(schema):
        kinds = part.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        assert kinds or {"enum", "const", "anyOf"} & set(part), path
        if "object" in kinds:
            assert part["additionalProperties"] is False and set(part["required"]) <= set(part["properties"]), path
        if "array" in kinds:
            assert part["maxItems"] < 2**26 and part["minItems"] >= 0, path
        if "string" in kinds and path.rsplit(".")[-1] not in (
            "data",
            "base64",
        ):  # the length of these arrays follows from their shape
            assert "maxLength" in part or "pattern" in part, path
        if "integer" in kinds:
            assert part["minimum"] >= 0 and part["maximum"] < 2**64, path
        n += 1
    assert n > 20


@pytest.mark.parametrize("name", FILES)
def test_files_that_were_written_are_as_the_schema_has_them(name):
    forest_schema.check(FILES[name], FILES[name]["version"])
    # `jsonschema` is an independent validator.
    jsonschema.Draft202012Validator(forest_schema.SCHEMAS[FILES[name]["version"]]).validate(FILES[name])


def test_a_domain_may_state_the_source_of_each_part():
    domain = Domain((Feature("x", "numeric", 0, 1),), ("a", "b")).to_dict()
    more = ("reading", "reading_source", "reading_note", "columns_source", "columns_note")
    of_feature = ("missing_source", "missing_note", "type_source", "type_note")
    feature = {**domain["features"][0], **dict.fromkeys(of_feature, "")}
    forest_schema.check({**domain, "features": [feature], **dict.fromkeys(more, "by the form")}, "domain")
    for wrong in (1, None, "x" * 10_001, ["by the form"]):
        for name in of_feature:
            with pytest.raises(SchemaError, match=f"features.0.{name}"):
                forest_schema.check({**domain, "features": [{**feature, name: wrong}]}, "domain")
        for name in more:
            with pytest.raises(SchemaError, match=name):
                forest_schema.check({**domain, name: wrong}, "domain")
    written = CsvFormat("Latin-1", ";", ",", ("x",)).to_dict()
    forest_schema.check({**domain, "reading": written}, "domain")
    for wrong in (
        {},
        {**written, "header": True},
        {**written, "encoding": 1},
        {**written, "encoding": "x" * 1_001},
        {**written, "delimiter": ""},
        {**written, "delimiter": ";;"},
        {**written, "decimal": ""},
        {**written, "point_columns": "x"},
        {**written, "point_columns": [1]},
        {**written, "point_columns": ["x"] * 2_501},
        {**written, "point_columns": ["x" * 5_000] * 2},
    ):
        with pytest.raises(SchemaError, match="^reading is"):
            forest_schema.check({**domain, "reading": wrong}, "domain")
    with pytest.raises(SchemaError, match="the file has a field that is not known, 'other'"):
        forest_schema.check({**domain, "other": ""}, "domain")


def places(content, path=()) -> list[tuple]:
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path] * bool(path) + [place for key, value in inside for place in places(value, (*path, key))]


ANY = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from([-1, 0, 2**31, 2**63, 2**64, 10**300, "\ud800", "x" * 10**6, "1/0", "9" * 500, "0" * 200]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=6,
)


@settings(
    max_examples=60 if numba.config.DISABLE_JIT else examples(700),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_any_value_in_any_place_is_refused_with_a_sentence_or_sound(name, data):
    """If one value of a file is replaced, removed or added, the file is refused with a message, or it is sound."""
    content = json.loads(json.dumps(FILES[name]))
    *path, last = data.draw(st.sampled_from(places(content)))
    parent = content
    for key in path:
        parent = parent[key]
    how = data.draw(st.sampled_from(["replace", "replace", "replace", "remove", "add", "cut"]))
    if how == "replace":
        parent[last] = data.draw(ANY)
    elif how == "remove":
        del parent[last]
    elif how == "add":
        parent.update({data.draw(st.text(max_size=9)): data.draw(ANY)}) if isinstance(parent, dict) else parent.append(
            data.draw(ANY)
        )
    elif isinstance(parent[last], (str, list)):
        parent[last] = parent[last][: data.draw(st.integers(0, len(parent[last])))]
    assert_refused_or_sound(json.dumps(content), name)


@settings(
    max_examples=examples(300), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(st.sampled_from(sorted(n for n in FILES if n.startswith("v1_"))), st.data())
def test_cells_of_old_arrays_are_refused_or_sound(name, data):
    content = json.loads(json.dumps(FILES[name]))
    entries = [
        entry
        for entry in [*content["trees"].values(), *content.values()]
        if isinstance(entry, dict) and "base64" in entry
    ]
    entry = data.draw(st.sampled_from(entries))
    cells = np.frombuffer(base64.b64decode(entry["base64"]), entry["dtype"]).copy()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(cells) - 1))
        if cells.dtype.kind == "f":
            cells[at] = data.draw(st.floats())
            continue
        info = np.iinfo(cells.dtype)
        near = st.integers(max(int(cells[at]) - 20, info.min), min(int(cells[at]) + 20, info.max))
        cells[at] = data.draw(st.one_of(near, st.integers(info.min, info.max)))
    entry["base64"] = base64.b64encode(cells.tobytes()).decode()
    assert_refused_or_sound(json.dumps(content), name)


def assert_refused_or_sound(text: str, name: str) -> None:
    try:
        forest = ReleasedForest.from_json(text)
    except ForestFormatError as error:
        message = str(error)
        assert message.endswith(".") and "\n" not in message and len(message) < 600
        return
    rows = ROWS[name.split("_", 1)[1].split(".")[0]]["rows"]
    try:
        codes = forest.domain.encode(pd.DataFrame(rows, columns=list(forest.domain.names), dtype=object))
    except ValueError:  # the change affects the domain, so these rows do not fit
        codes = np.zeros((3, forest.domain.n_features), np.uint16)
    shares, index = forest.shares_and_index(codes)
    assert np.allclose(shares.sum(axis=1), 1) and (index < forest.domain.n_classes).all()
    again = ReleasedForest.from_bytes(forest.to_bytes(uncertified=True))
    assert np.array_equal(again.predict_codes(codes), index)
    assert str(forest.certificate) and str(forest.ledger)
