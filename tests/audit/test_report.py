"""The stored table of audit results is up to date and complete, and its verdicts are right."""

import ast
import json
from pathlib import Path

import pytest

from dpforest.audit import report
from dpforest.audit.canaries import ALGORITHMS, modes_of
from dpforest.audit.report import fingerprint, in_markdown, save, written
from dpforest.audit.rows import EPSILONS, MODES, Row, audit
from dpforest.privacy.ledger import NEIGHBORS
from ui.audit.table import as_table

DOCS = Path(__file__).parents[2] / "docs"
FILE = DOCS / "audit.json"
KEPT = json.loads(FILE.read_text()) if FILE.exists() else {"rows": []}


def test_the_table_belongs_to_this_code():
    assert FILE.exists() and KEPT["fingerprint"] == fingerprint(), (
        "the code of a forest, a mechanism or an attack has changed since the audit: "
        "run python -m dpforest.audit --write docs (45 minutes on two cores)"
    )
    assert in_markdown(KEPT) in (DOCS / "PRIVACY.md").read_text()


def test_the_table_is_complete():
    cells = {(r["algorithm"], r["mode"], r["neighbors"], r["epsilon"]) for r in KEPT["rows"]}
    assert cells == {
        (a, m, n, e) for a in ALGORITHMS for m in MODES if m in modes_of(a) for n in NEIGHBORS for e in EPSILONS
    }
    assert len(KEPT["rows"]) == len(cells) and KEPT["trials"] >= 4_000
    assert set(KEPT["versions"]) >= {"python", "numpy", "numba"} and KEPT["date"].startswith("20")


@pytest.mark.parametrize("row", KEPT["rows"], ids=lambda r: f"{r['algorithm']} {r['mode']} {r['neighbors']}")
def test_certified_forests_keep_their_claim_and_failing_published_ones_are_caught(row):
    if row["mode"] in ("certified", "persons"):
        assert row["verdict"] == "holds" and row["faults"] == []
        assert row["bound"] <= row["epsilon"] and row["computed"] <= row["epsilon"] * (1 + 1e-9)
    elif row["algorithm"] in ("majority label", "random decision", "JPW", "RF-L", "multinomial", "boosted"):
        assert row["verdict"] == "caught" and row["bound"] > row["epsilon"]


def test_attacks_on_certified_forests_are_not_blind():
    """For forests with a known loss of ε = 1, the attack proves more than half of this loss."""
    proved = {
        (r["algorithm"], r["epsilon"]): r["bound"]
        for r in KEPT["rows"]
        if r["mode"] == "certified" and r["neighbors"] == "add-remove"
    }
    for algorithm in ("majority label", "random decision", "JPW", "RF-L", "random-tree booster"):
        assert proved[algorithm, 1.0] > 0.5


def test_the_fingerprint_sees_code_and_no_comments(tmp_path, monkeypatch):
    (tmp_path / "privacy").mkdir()
    file = tmp_path / "privacy" / "laws.py"
    monkeypatch.setattr(report, "_HOME", tmp_path)
    prints = []
    for text in ('"""A."""\nx = 1\n', '"""B."""\nx = 1  # more\n', '"""B."""\nx = 2\n'):
        file.write_text(text)
        prints.append(fingerprint())
    assert prints[0] == prints[1] != prints[2]


def test_the_fingerprint_covers_every_module_that_an_estimator_or_an_attack_imports():
    package = report._HOME
    files = {file.relative_to(package).as_posix() for file in package.rglob("*.py")} - {"__init__.py"}
    missing = set()
    for importer in (file for file in files if not file.startswith(report._NOT_AUDITED)):
        for node in ast.walk(ast.parse((package / importer).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dpforest"):
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                paths = {name.removeprefix("dpforest.").replace(".", "/") + ".py" for name in names}
                missing |= {(importer, path) for path in paths & files if path.startswith(report._NOT_AUDITED)}
    # Estimators import two modules that only a fit on a Dask DataFrame runs. No audit fits one. tests/models compares
    # such fits with a fit in memory, bit for bit.
    on_a_cluster = {"models/dask_frames.py", "models/boosting/rows_on_workers.py"}
    assert {path for _, path in missing} == on_a_cluster


@pytest.mark.slow
def test_one_row_of_the_table_and_its_page(tmp_path):
    """400 fits of RF-E give the verdict "holds". The bound of the attack exceeds ε with a probability below 1e-6."""
    row = audit("RF-E", "certified", "replace-one", 1.0, trials=400)
    assert row.verdict == "holds" and row.how == "enumerated" and 0.9 < row.computed <= 1 + 1e-9 and row.bound <= 1
    for faulty in (
        Row("a", "certified", "add-remove", 1.0, 1.1, "replayed", 0.0, "", ""),
        Row("a", "certified", "add-remove", 1.0, 1.0, "replayed", 1.01, "", ""),
        Row("a", "certified", "add-remove", 1.0, 1.0, "replayed", 0.0, "", "", ("a.py:1: something",)),
    ):
        assert faulty.verdict == "BROKEN"
    (tmp_path / "PRIVACY.md").write_text(f"before\n{report._BEGIN}\nFORMER\n{report._END}\nafter\n")
    infinite = Row("b", "as_published", "add-remove", 0.1, float("inf"), "proved", 2.0, "pair", "event")
    save(written([row, infinite], 400), tmp_path)
    page = (tmp_path / "PRIVACY.md").read_text()
    assert page.startswith("before\n") and page.endswith("after\n") and "FORMER" not in page
    assert "| b | as published | add-remove | ∞ / 2 | caught |" in page
    assert json.loads((tmp_path / "audit.json").read_text())["rows"][1]["computed"] == "infinity"


def test_the_page_shows_every_verdict():
    """The page shows a broken forest as broken, and rounds a bound down."""
    row = {"algorithm": "boosted", "computed": 1.0, "bound": 1.5999, "canary": "a leaf", "event": "x <= 0.12345678"}
    verdicts = {
        ("certified", "holds"): "holds",
        ("certified", "BROKEN"): "BROKEN",
        ("as_published", "caught"): "claim is false",
        ("as_published", "nothing found"): "nothing found",
    }
    table = as_table([{**row, "mode": mode, "verdict": verdict} for mode, verdict in verdicts])
    assert table["verdict"].tolist() == list(verdicts.values())
    assert set(table["attack proved"]) == {"≥ 1.59"} and set(table["best attack"]) == {"a leaf: x ≤ 0.123"}
