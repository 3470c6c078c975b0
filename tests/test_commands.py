"""The commands `dpforest release`, `predict` and `verify`: files, bookings, exit codes and sentences."""

from __future__ import annotations

import json
import os
import pty
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from dpforest import ReleasedForest, load_dataset
from dpforest.__main__ import main
from dpforest.book import Book

PEOPLE = "members of parliament, 1984"
OPTIONS = {
    "forest": "majority-labels",
    "epsilon": "1",
    "population": PEOPLE,
    "purpose": "a test",
    "owner": "the office",
}
YES = ("--one-row-per-person", "--yes", "--chosen-without-looking")
FLAGS = (*YES, "--new-population")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return the present folder: it has a table, its schema, and the book."""
    data = load_dataset("congressional_voting")
    data.table.to_csv(tmp_path / "votes.csv", index=False)
    (tmp_path / "schema.json").write_text(json.dumps(data.domain.to_dict()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPFOREST_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def release(*flags: str, **options: str) -> int:
    pairs = [word for name, value in (OPTIONS | options).items() for word in (f"--{name}", value)]
    return main(["release", "votes.csv", "schema.json", *pairs, *flags])


def test_a_release_is_booked_written_verified_and_used(folder, capsys):
    assert release(*FLAGS, "--json", "--cap", "1.5") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["total_epsilon"] == "1" and set(result["files"]) == {"forest", "record", "page"}
    (booking,) = Book().population(PEOPLE).bookings
    assert booking.sha256 and booking.record and booking.cost.loss.epsilon(0) == Fraction(1)
    assert main(["verify", result["files"]["forest"], result["files"]["record"]]) == 0
    assert "are not checked: check a signature" in capsys.readouterr().out

    assert main(["predict", result["files"]["forest"], "votes.csv"]) == 0
    rows = pd.read_csv("votes_predicted.csv")
    forest = ReleasedForest.from_bytes(Path(result["files"]["forest"]).read_bytes())
    assert rows["predicted Class"].tolist() == list(forest.predict(load_dataset("congressional_voting").X))
    assert main(["predict", result["files"]["forest"], "votes.csv"]) == 2  # no file is replaced without --force
    assert "add --force" in capsys.readouterr().err

    assert release(*YES) == 2  # the cap
    assert "Your cap is 1.5" in capsys.readouterr().err
    assert release(*YES, epsilon="0.5") == 0
    assert Book().population(PEOPLE).total().epsilon == Fraction(3, 2)
    files = sorted(path.name for path in folder.glob("votes_release_*.json.gz"))
    assert files == ["votes_release_1.json.gz", "votes_release_2.json.gz"]
    assert main(["verify", files[1], result["files"]["record"]]) == 1
    assert "does not describe this file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "options", "words"),
    [
        (("--new-population", "--yes"), {}, "add --one-row-per-person"),
        (YES, {}, "add --new-population"),
        (("--one-row-per-person", "--new-population"), {}, "Add --yes"),
        (FLAGS, {"epsilon": "-1"}, "epsilon"),
        (FLAGS, {"delta": "1e-6"}, "Only the booster has a δ"),
        (FLAGS, {"forest": "booster", "delta": "1e-6"}, "reason"),
        (FLAGS, {"forest": "one-greedy-tree", "trees": "3"}, "no option --trees"),
        (FLAGS, {"depth": "99"}, "max_depth"),
        (FLAGS, {"out": "nowhere"}, "is no folder"),
        (FLAGS, {"owner": ""}, "owner"),
    ],
)
def test_a_mistake_gets_a_sentence_and_spends_nothing(folder, capsys, flags, options, words):
    assert release(*flags, **options) == 2
    message = capsys.readouterr().err
    assert words in message and "Traceback" not in message
    assert Book().populations() == [] and not list(folder.glob("votes_release_*"))


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("schema.json", b"{", "not valid JSON"),
        ("schema.json", b"[1]", "no schema"),
        ("schema.json", b'{"features": 3}', "no schema"),
        ("votes.csv", b"a,b\n1,2\n", "column"),
        ("votes.csv", b"", "votes.csv"),
    ],
)
def test_a_file_that_cannot_be_used_gets_a_sentence(folder, capsys, file, content, words):
    (folder / file).write_bytes(content)
    assert release(*FLAGS) == 2
    assert words in capsys.readouterr().err
    assert Book().populations() == []


@pytest.mark.parametrize(("answer", "code", "spent"), [("yes\n", 0, 1), ("no\n", 2, 0), ("\n", 2, 0)])
def test_a_release_asks_before_it_spends(folder, capsys, monkeypatch, answer, code, spent):
    writer, terminal = pty.openpty()
    os.write(writer, answer.encode())
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert release("--one-row-per-person", "--new-population") == code
    os.close(writer)
    shown = capsys.readouterr().err
    assert f"Spent on “{PEOPLE}” so far: nothing. After this release: ε = 1." in shown and "CERTIFIED" in shown
    assert sum(len(each.bookings) for each in Book().populations()) == spent


def test_rows_that_do_not_fit_are_not_predicted_and_the_exit_code_is_1(folder, capsys):
    data = load_dataset("congressional_voting")
    schema = data.domain.to_dict()
    schema["features"][0]["missing"] = "refuse"
    (folder / "schema.json").write_text(json.dumps(schema))
    assert release(*FLAGS) == 0
    rows = data.table.astype(object)
    first = data.domain.features[0].name
    rows.loc[3, first] = "maybe"
    n_missing = 1 + int(rows[first].isna().sum())
    assert n_missing > 1
    rows.to_csv("new.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "votes_release_1.json.gz", "new.csv", "--json", "--out", "out.csv"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["n_predicted"], result["n_not_predicted"]) == (len(rows) - n_missing, n_missing)
    assert pd.read_csv("out.csv").iloc[3, 0].startswith("not predicted: ")
    (folder / "new.csv").write_text("a,b\n1,2\n3,4\n")
    assert main(["predict", "votes_release_1.json.gz", "new.csv", "--force", "--out", "out.csv"]) == 2
    assert "none of the columns" in capsys.readouterr().err
    assert main(["predict", "new.csv", "new.csv"]) == 2
