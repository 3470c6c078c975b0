"""Tests of the reproductions: each result of the papers was measured, or is listed as left out with a reason."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpforest import MajorityLabelForestClassifier, load_dataset
from reproduce import __main__ as program
from reproduce import multinomial, nested, nock_henecka, nock_henecka_runs
from reproduce.__main__ import PARTS, merged
from reproduce.cells import Cell, Kept, Part, measured
from reproduce.fletcher_islam_leaves import counts_of_trees
from reproduce.fletcher_islam_occupied import mean_leaves
from reproduce.fletcher_islam_sensitivity import mean_sensitivity
from reproduce.left_out import LEFT_OUT
from reproduce.paired import paired_tests
from reproduce.protocol import COMPATIBLE, CONTRADICTS, EQUAL, PATH, Record, compared, nested_folds, read
from reproduce.report import REPORT

HOME = Path(__file__).parents[1]
MULTINOMIAL_RESULTS = json.loads((HOME / "reproduce" / "multinomial_results.json").read_text(encoding="utf-8"))


def test_the_report_is_made_of_the_results():
    assert (HOME / "reproduce" / "multinomial_results.md").read_text(encoding="utf-8") == multinomial.report(
        MULTINOMIAL_RESULTS
    )


def test_every_complete_row_of_a_bundled_table_has_a_result():
    rows = {row["dataset"]: row for row in MULTINOMIAL_RESULTS["results"] if row["stopping"] == multinomial.RULE}
    complete = {"hepatitis": 64.32, "wdbc": 95.78, "yeast": 61.03, "image_segmentation": 97.47, "wilt": 98.56}
    bundled = {file.name.removesuffix(".csv.gz") for file in (HOME / "data").glob("*.csv.gz")}
    assert {name: row["published"] for name, row in rows.items()} == {n: complete[n] for n in complete if n in bundled}


def test_a_row_that_is_not_reproduced_has_a_reason():
    report, papers = multinomial.report(MULTINOMIAL_RESULTS), (HOME / "docs" / "PAPERS.md").read_text(encoding="utf-8")
    missed = [
        row
        for row in MULTINOMIAL_RESULTS["results"]
        if row["stopping"] == multinomial.RULE and abs(row["difference"]) > multinomial.TOLERANCE
    ]
    assert [row["dataset"] for row in missed] == ["hepatitis"]
    for row in missed:
        assert f"{row['data']}: the published {row['published']:.2f} is below" in report
        assert f"ours is {row['mean']:.1f} %, the paper's {row['published']:.1f} %" in papers


def record(setting: str, ours: float = 1.0, item: str = "table 1") -> Record:
    return Record("A paper", item, setting, 1.0, ours, None, 0.0, EQUAL, "")


class Stopped(Exception):
    """Error that stands for an interrupted run."""


@pytest.fixture
def work(monkeypatch, tmp_path):
    """Replace the parts by two parts of three cells, which record each run. `stop_at` interrupts a cell."""
    seen = SimpleNamespace(done=[], stop_at=None, results=tmp_path / "results.json", kept=tmp_path / "unfinished")

    def cell(part: str, i: int) -> Cell:
        def run():
            if seen.stop_at == (part, i):
                raise Stopped
            seen.done.append((part, i))
            return [record(f"cell {i}", i / 3, f"table of {part}")]

        return Cell(f"cell {i}", run)

    def part(name: str) -> Part:
        return Part(lambda *, quick, folder: [cell(name, i) for i in range(3)])

    monkeypatch.setattr(program, "PARTS", {"a": part("a"), "b": part("b")})
    for name, path in (("PATH", seen.results), ("REPORT", tmp_path / "report.md"), ("UNFINISHED", seen.kept)):
        monkeypatch.setattr(program, name, path)
    return seen


def test_a_stopped_run_loses_only_its_unfinished_cell(work, capsys):
    program.run(["a", "b"])
    whole = work.results.read_text()
    work.results.unlink()
    work.done.clear()
    work.stop_at = "b", 1
    with pytest.raises(Stopped):
        program.run(["a", "b"])
    assert [record.item for record in read(work.results)] == ["table of a"] * 3  # finished parts are written
    work.stop_at = None
    program.run(["a", "b"])
    assert work.done == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]
    assert work.results.read_text() == whole and not list(work.kept.iterdir())
    printed = capsys.readouterr().out
    assert re.search(r"4 of 6, +\d+ s  b, cell 0: done before", printed) and re.search(
        r"5 of 6, +\d+ s  b, cell 1\n", printed
    )
    program.run(["a", "b"])  # no part is unfinished, so all cells run again
    assert len(work.done) == 12


def test_fresh_ignores_stored_cells_and_quick_stores_none(work):
    work.stop_at = "a", 2
    for quick in (True, False):
        with pytest.raises(Stopped):
            program.run(["a"], quick=quick)
        assert work.kept.exists() != quick and not work.results.exists()
    work.done.clear()
    work.stop_at = None
    program.run(["a"], quick=True)
    assert len(work.done) == 3 and not work.results.exists()
    program.run(["a"], fresh=True)
    assert len(work.done) == 6 and work.results.exists()


def test_stored_cells_need_the_same_code_and_complete_lines(tmp_path):
    first, second = (Cell(name, lambda: pd.DataFrame({"x": [0.1, np.inf]})) for name in ("first", "second"))
    path = tmp_path / "here" / "part.jsonl"
    kept, rows = Kept(path, "1"), measured(first)
    kept.add(first, rows)
    kept.add(second, rows)
    path.write_text(path.read_text()[:-5])  # as if the run had stopped while writing
    kept = Kept(path, "1")
    assert kept.get(first) == rows == [{"x": 0.1}, {"x": np.inf}] and kept.get(second) is None
    kept.add(second, rows)
    assert Kept(path, "1").get(second) == rows
    assert Kept(path, "2").get(first) is None and Kept(path, "2").get(second) is None
    kept.forget()
    assert not path.exists()


def test_records_of_unavailable_tables_stay():
    before = [record("here", 1), record("elsewhere", 2), record("here", 3, "table 2")]
    new_records = [record("here", 5), record("new", 6)]
    assert [r.ours for r in merged(before, new_records, keep=True)] == [5, 2, 3, 6]
    assert [r.ours for r in merged(before, new_records, keep=False)] == [3, 5, 6]
    cells = {cell.name: cell.work for cell in PARTS["fletcher_islam"].cells(quick=False, folder=None)}
    assert cells["WallSensor"] is None and cells["Mushroom, theirs"] is not None


def test_a_part_over_all_tables_keeps_its_records_while_one_table_is_missing(work, monkeypatch, capsys):
    cells = [Cell("here", lambda: pd.DataFrame({"x": [1]})), Cell("elsewhere", None)]
    monkeypatch.setitem(program.PARTS, "a", Part(lambda *, quick, folder: cells, lambda rows: [record("all")]))
    program.run(["a"])
    assert not work.results.exists() and "elsewhere are missing: its records do not change" in capsys.readouterr().out


@pytest.mark.parametrize("quick", [True, False])
def test_every_part_lists_its_cells_without_running_them(quick):
    for name, part in PARTS.items():
        names = [cell.name for cell in part.cells(quick=quick, folder=None)]
        assert names and len(set(names)) == len(names), name


def test_inner_folds_divide_the_training_rows():
    data = load_dataset("zoo")
    for _, train, test, inner in nested_folds(data, 1, 4, 3):
        assert len(inner) == 3 and not set(train) & set(test)
        for fit, look in inner:
            assert sorted([*fit, *look]) == sorted(train)
        assert sorted(np.concatenate([look for _, look in inner])) == sorted(train)


def test_the_smallest_of_the_best_settings_on_the_inner_folds_is_chosen(monkeypatch):
    """Inner folds choose the best settings, and in a tie the smallest ones.

    In this test, depths 3 and 5 are equally accurate on inner folds. Depth 1 is the best on test rows, so the test
    detects a choice that looks at test rows.
    """
    data, sizes = load_dataset("zoo"), []

    def run_task(forest, domain, split, task, epsilons, cells, seed, promises, n_rows):
        sizes.append(len(split.y_train) + len(split.y_test))
        outer = sizes[-1] == len(data.y)
        rows = [(e, d, t, (d == 1) if outer else 0.5 + 0.25 * (d > 1)) for e in [*epsilons, np.inf] for d, t in cells]
        return pd.DataFrame(rows, columns=["epsilon", "depth", "trees", "accuracy"])

    monkeypatch.setattr(nested, "run_task", run_task)
    grid = {"epsilons": [1.0], "depths": (5, 3, 1), "trees": (9, 2), "n_folds": 4, "n_inner": 3}
    scores = nested.chosen(MajorityLabelForestClassifier(), data, **grid)
    assert scores[["depth", "trees"]].drop_duplicates().values.tolist() == [[3, 2]] and len(scores) == 8
    assert (scores.inner == 75).all() and (scores.accuracy == 0).all()
    assert len(sizes) == 16 and sizes.count(len(data.y)) == 4
    each = nested.chosen(MajorityLabelForestClassifier(), data, **grid, n_looked=1, of_each=("epsilon", "depth"))
    assert sorted(each.depth.unique()) == [1, 3, 5] and (each.trees == 2).all() and len(sizes) == 16 + 8


def test_smooth_sensitivity_is_the_mean_over_leaves_with_rows():
    leaves, y = np.array([[7, 1], [7, 2], [7, 2], [9, 2]]), np.array([0, 0, 1, 1])
    # Each of the two trees has a leaf with two rows of one class and one of the other, and a leaf with a single row.
    leads = [1, 1, 1, 1]
    assert mean_sensitivity(leaves, y, None, 0.5) == pytest.approx(np.exp(-0.5 * np.array(leads)).mean())
    # The first tree has a leaf with a single row. The second tree has a leaf with a tie, and one with a single row.
    only = mean_sensitivity(leaves, y, np.array([1, 0, 0, 0]), 0.5)
    assert only == pytest.approx(np.mean([np.exp(-0.5), 1, np.exp(-0.5)]))


def test_means_are_equal_compatible_or_contradict():
    ours = np.array([68.0, 70.0, 72.0, 74.0])  # mean 71, standard error 1.29
    verdicts = [compared("P", "i", "s", printed, ours, None, "why") for printed in (72.9, 76.6, 77.0)]
    assert [record.verdict for record in verdicts] == [EQUAL, COMPATIBLE, CONTRADICTS]
    assert [record.reason for record in verdicts] == ["", "", "why"]
    assert {record.spread for record in verdicts} == {round(2 * 2.582 * np.sqrt(1 / 4 + 1), 2)}
    assert compared("P", "i", "s", 75.0, ours, None, "why", n_theirs=100).verdict == CONTRADICTS


def test_a_paired_test_shows_a_shift_that_no_cell_shows():
    low = [
        replace(record(str(i), ours), published=80.0, sd=1.0, group="100 trees")
        for i, ours in enumerate((75, 76, 77, 76))
    ]
    same = [
        replace(record(str(i), ours), published=80.0, sd=1.0, group="1 tree") for i, ours in enumerate((79, 81, 82, 78))
    ]
    few = [replace(record(str(i), ours), published=80.0, sd=1.0, group="10 trees") for i, ours in enumerate((75, 76))]
    exact = [replace(cell, group="formula", sd=0.0) for cell in low]
    shifted, equal = paired_tests([*low, *same, *few, *exact])
    assert (shifted.group, shifted.n, shifted.mean) == ("100 trees", 4, -4.0) and shifted.p < 0.01
    assert (equal.group, equal.mean, equal.p) == ("1 tree", 0.0, 1.0)
    assert "−4.0 points on average over 4 cells" in shifted.words


def test_the_expected_number_of_leaves_is_that_of_random_trees():
    """The closed form equals the mean over random trees, within 4.9 standard errors (chance of failure 1e-6)."""
    sizes, depth, rng = (2, 3, 5), 3, np.random.default_rng(0)

    def leaves(left: int, free: tuple[int, ...]) -> int:
        if left == 0:
            return 1
        at = rng.integers(2 + len(free))  # two numeric attributes
        if at < 2:
            return sum(leaves(left - 1, free) for _ in range(2))
        return sum(leaves(left - 1, free[: at - 2] + free[at - 1 :]) for _ in range(free[at - 2]))

    counts = np.array([leaves(depth, sizes) for _ in range(4_000)])
    error = counts.std() / np.sqrt(len(counts))
    assert abs(counts.mean() - mean_leaves(depth, 2, sizes)) < 4.9 * error


def test_counts_of_trees_divide_the_rows():
    leaves, y = np.array([[3, 1], [3, 1], [4, 2], [4, 1]]), np.array([0, 1, 0, 1])
    first, second = counts_of_trees(leaves, y, 2)
    assert first.tolist() == [[1, 0], [1, 0]] and second.tolist() == [[0, 2]]


def test_nock_and_heneckas_tables_cover_all_sets_and_sizes():
    """Records cover all data sets and sizes. Here, twenty trees beat the random forests, and two trees lose.

    One of the two data sets has public bounds.
    """
    rows = [
        {"forest": name, "epsilon": epsilon, "depth": depth, "trees": trees, "repeat": fold, "fold": fold,
         "accuracy": 60.0 + level + 0.1 * fold + (5 if name == "α = 1" else 0), "table": table, "mode": mode}
        for table, mode in (("sonar", "as_published"), ("ionosphere", "as_published"), ("sonar", "certified"))
        for name, trees, level in [*((rule, t, t) for rule in nock_henecka.BEST for t in (2, 20)),
                                   ("RF-L", 21, 10), ("RF-E", 21, 10)]
        for epsilon in (*nock_henecka.EPSILONS, np.inf) for depth in nock_henecka.DEPTHS for fold in range(3)
    ]  # fmt: skip
    by_setting = {(record.item, record.setting): record for record in nock_henecka.records(rows)}
    best = by_setting[nock_henecka.TABLE_1, "α = 1, ε = 1"]
    assert (best.ours, best.certified, best.published) == (100, 100, pytest.approx(100 * 9 / 19, abs=0.01))
    of_twenty = by_setting[nock_henecka.TABLE_4, "calibrated, 20 trees (“more than 80 %”)"]
    of_two = by_setting[nock_henecka.TABLE_4, "calibrated, 2 trees (“a majority”)"]
    assert (of_twenty.ours, of_twenty.verdict, of_two.ours) == (100, COMPATIBLE, 0)
    assert of_two.verdict == CONTRADICTS and of_two.reason
    runs = [record for record in nock_henecka_runs.records(rows) if record.line == "α = 1, without privacy"]
    assert [record.ours for record in runs if record.at in (10, 15, 35)] == [0, 50, 100]


PROMISED = {
    "Bojarski et al. 2014": ["table 1", "figure 1", "figure 2"],
    "Fletcher and Islam 2017": [*(f"table {i}" for i in (2, 3, 4, 6)), *(f"figure {i}" for i in range(4, 15))],
    "Nock and Henecka 2020": ["table 1", "table 3", "table 4", "figure 2"],
    "Bai et al. 2020": ["table 1", "table 3", "figure 4", "figure 7"],
}


@pytest.mark.parametrize("paper", PROMISED)
def test_every_table_and_figure_is_measured_or_listed_as_left_out(paper):
    items = {record.item for record in read() if record.paper == paper}
    for item in PROMISED[paper]:
        assert any(re.search(rf"\b{item}[ab]?\b", measured_item) for measured_item in items), item
    left_out_text = REPORT.read_text(encoding="utf-8").split("## What is not run, and why")[1]
    assert all(f"{paper}, {item}: {why}." in left_out_text for item, why in LEFT_OUT[paper].items())


@pytest.mark.slow
def test_a_quick_run_goes_through_every_part_and_writes_nothing():
    """A quick run, in a separate process and with two tables, covers every part and writes no file."""
    before = PATH.read_bytes(), REPORT.read_bytes()
    done = subprocess.run([sys.executable, "-m", "reproduce", "--quick"], cwd=HOME, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 10 * len(PARTS)
    assert all(re.search(rf" of \d+, +\d+ s  {name}, ", done.stdout) for name in PARTS)
    assert (PATH.read_bytes(), REPORT.read_bytes()) == before
