"""What is said to be reproduced is what was run, and what was not reproduced is said."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reproduce import multinomial
from reproduce.__main__ import PARTS
from reproduce.protocol import PATH
from reproduce.report import REPORT

HOME = Path(__file__).parents[1]
FOUND = json.loads((HOME / "reproduce" / "multinomial_results.json").read_text(encoding="utf-8"))


def test_the_report_is_made_of_the_results():
    assert (HOME / "reproduce" / "multinomial_results.md").read_text(encoding="utf-8") == multinomial.report(FOUND)


def test_every_complete_row_of_a_bundled_table_is_there():
    rows = {row["dataset"]: row for row in FOUND["results"] if row["stopping"] == multinomial.RULE}
    complete = {"hepatitis": 64.32, "wdbc": 95.78, "yeast": 61.03, "image_segmentation": 97.47, "wilt": 98.56}
    bundled = {file.name.removesuffix(".csv.gz") for file in (HOME / "data").glob("*.csv.gz")}
    assert {name: row["published"] for name, row in rows.items()} == {n: complete[n] for n in complete if n in bundled}


def test_a_row_that_is_not_reproduced_says_so():
    report, papers = multinomial.report(FOUND), (HOME / "docs" / "PAPERS.md").read_text(encoding="utf-8")
    missed = [row for row in FOUND["results"] if row["stopping"] == multinomial.RULE
              and abs(row["difference"]) > multinomial.TOLERANCE]  # fmt: skip
    assert [row["dataset"] for row in missed] == ["hepatitis"]
    for row in missed:
        assert f"{row['data']}: the published {row['published']:.2f} lies below" in report
        assert f"ours is {row['mean']:.1f} %, the paper's {row['published']:.1f} %" in papers


@pytest.mark.slow
def test_a_quick_run_goes_through_every_part_and_writes_nothing():
    """Two tables a part, all in a process of its own: what is kept stays as it is."""
    before = PATH.read_bytes(), REPORT.read_bytes()
    done = subprocess.run([sys.executable, "-m", "reproduce", "--quick"], cwd=HOME, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 10 * len(PARTS)
    assert (PATH.read_bytes(), REPORT.read_bytes()) == before
