"""The commands `dpforest release`, `predict` and `verify`: files, bookings, exit codes and sentences."""

from __future__ import annotations

import json
import os
import pty
import resource
import shutil
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from dpforest import ReleasedForest, load_dataset
from dpforest.__main__ import main
from dpforest.book import Book
from dpforest.commands.release_files import ENDINGS, ReleaseFiles

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
        (("--one-row-per-person", "--new-population", "--yes"), {}, "add --chosen-by-looking"),
        (FLAGS, {"epsilon": "-1"}, "epsilon"),
        (FLAGS, {"cap": "1e300"}, "at most 200 digits"),
        (YES, {"cap": "5"}, "add --new-population"),
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
    assert "Planned certificate. Do not share it" in shown and "you state that nobody chose the forest" in shown
    assert "Do not share: the table has 435 rows." in shown
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


# ---------------------------------------------------------------- ε is stated, and never spent for nothing


@pytest.mark.parametrize("delta", [{}, {"delta": "0"}])
def test_the_booster_without_delta_is_pure(folder, capsys, delta):
    assert release(*FLAGS, "--json", forest="booster", trees="3", depth="2", **delta) == 0
    result = json.loads(capsys.readouterr().out)
    forest = ReleasedForest.from_bytes(Path(result["files"]["forest"]).read_bytes())
    assert forest.certificate.delta == result["delta"] == result["total_delta"] == 0 and forest.ledger.kind == "pure"
    assert json.loads(Path(result["files"]["record"]).read_text())["delta"] == 0


def test_the_booster_with_delta_states_it(folder, capsys):
    options = {"forest": "booster", "trees": "3", "depth": "2", "delta": "1e-6", "delta-reason": "below 1/435"}
    assert release(*FLAGS, "--json", **options) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["epsilon"], result["delta"], result["total_delta"]) == (1, 1e-6, 1e-6)
    assert json.loads(Path(result["files"]["record"]).read_text())["delta"] == 1e-6


@pytest.mark.parametrize("stem", ["v[1]", "a**b", "*"])
def test_characters_of_patterns_in_a_name_replace_no_earlier_release(folder, stem):
    (folder / "votes.csv").rename(folder / f"{stem}.csv")
    words = ["release", f"{stem}.csv", "schema.json", *(w for n, v in OPTIONS.items() for w in (f"--{n}", v))]
    assert main([*words, *FLAGS]) == 0
    first = (folder / f"{stem}_release_1.json.gz").read_bytes()
    assert main([*words, *YES]) == 0
    assert (
        (folder / f"{stem}_release_1.json.gz").read_bytes()
        == first
        != (folder / f"{stem}_release_2.json.gz").read_bytes()
    )


def test_a_name_that_is_too_long_spends_nothing(folder, capsys):
    stem = "v" * 235
    (folder / "votes.csv").rename(folder / f"{stem}.csv")
    words = ["release", f"{stem}.csv", "schema.json", *(w for n, v in OPTIONS.items() for w in (f"--{n}", v))]
    assert main([*words, *FLAGS]) == 2
    assert "File name too long" in capsys.readouterr().err
    assert Book().populations() == [] and sorted(path.name[:4] for path in folder.iterdir()) == ["data", "sche", "vvvv"]


def test_a_file_that_cannot_be_written_is_not_booked_as_written(folder, capsys):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, before[1]))
    try:
        assert release(*FLAGS, "--json", depth="10", trees="200") == 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    error = json.loads(capsys.readouterr().out)
    assert error["spent"] is True and "File too large" in error["error"]
    assert f"ε = 1 is spent: it is booked on “{PEOPLE}”" in error["error"]
    (booking,) = Book().population(PEOPLE).bookings
    assert booking.sha256 is None and not list(folder.glob("*_release_*")) + list(folder.glob(".dpforest-*"))


def test_a_file_that_the_folder_does_not_take_goes_to_the_second_folder(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "votes_release_1.json.gz").write_bytes(b"earlier")
    with ReleaseFiles(first, "votes", second) as files:
        assert {path.name for path in first.iterdir()} == {f"votes_release_1{end}" for end in ENDINGS.values()}
        shutil.rmtree(first)
        files.write("forest", b"forest")
        files.write("record", b"record")
    names = {"votes_release_1.json.gz", "votes_release_2.json.gz", "votes_release_2_record.json"}
    assert {path.name for path in second.iterdir()} == names
    assert (second / "votes_release_1.json.gz").read_bytes() == b"earlier"
    assert files.written["forest"].read_bytes() == b"forest"


def test_the_record_states_whether_settings_were_chosen_by_looking(folder, capsys):
    assert release("--one-row-per-person", "--new-population", "--yes", "--chosen-by-looking", "--json") == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert json.loads(Path(files["record"]).read_text())["chosen_by_looking"] is True
    assert "ε does not cover what this choice reveals" in Path(files["page"]).read_text()
    assert ReleasedForest.from_bytes(Path(files["forest"]).read_bytes()).about["caution"]


def test_a_cap_of_known_people_is_refused(folder, capsys):
    assert release(*FLAGS) == 0
    assert release(*YES, cap="0.5") == 2
    assert "--cap is only for --new-population" in capsys.readouterr().err
    assert len(Book().population(PEOPLE).bookings) == 1


def test_verify_compares_the_size_of_the_trees_and_states_what_it_does_not_check(folder, capsys):
    assert release(*FLAGS, depth="4", trees="3") == 0
    content = json.loads((folder / "votes_release_1_record.json").read_text())
    for name, value in (("max_depth", 3), ("n_estimators", 4)):
        changed = {**content, "settings": {**content["settings"], name: value}}
        (folder / "changed.json").write_text(json.dumps(changed))
        capsys.readouterr()
        assert main(["verify", "votes_release_1.json.gz", "changed.json"]) == 1
        assert f"The settings of the record state {name} = {value}" in capsys.readouterr().out
    (folder / "changed.json").write_text(json.dumps({**content, "owner": "somebody else"}))
    assert main(["verify", "votes_release_1.json.gz", "changed.json"]) == 0
    assert "Owner, purpose, rows of one person, sums and other texts are not checked" in capsys.readouterr().out


# ---------------------------------------------------------------- files of predict


@pytest.fixture
def forest(folder) -> str:
    assert release(*FLAGS, depth="3", trees="3") == 0
    return "votes_release_1.json.gz"


def test_predict_replaces_none_of_its_inputs(folder, capsys, forest):
    os.link("votes.csv", "link.csv")
    for out in ("votes.csv", forest, "link.csv"):
        before = Path(out).read_bytes()
        assert main(["predict", forest, "votes.csv", "--force", "--out", out]) == 2
        assert "is a file that this command reads" in capsys.readouterr().err and Path(out).read_bytes() == before


@pytest.mark.parametrize(
    ("table", "out", "words"),
    [
        (".", "out.csv", "is a folder. Give the CSV file"),
        ("votes.csv", "data", "data is a folder. Name a file"),
        ("votes.csv", "no/out.csv", "There is no folder no."),
        ("votes.csv", "dangling.csv", "exists already"),
        ("nope.csv", "out.csv", "dpforest predict: nope.csv cannot be read (No such file or directory)"),
    ],
)
def test_predict_explains_a_path_that_it_cannot_use(folder, capsys, forest, table, out, words):
    os.symlink("nowhere", "dangling.csv")
    assert main(["predict", forest, table, "--out", out]) == 2
    assert words in capsys.readouterr().err


def test_one_row_is_predicted_as_in_the_whole_table(folder, capsys, forest):
    assert main(["predict", forest, "votes.csv"]) == 0
    whole = pd.read_csv("votes_predicted.csv")
    lines = (folder / "votes.csv").read_text().splitlines()
    for place, encoding in ((1, "utf-8"), (5, "utf-16")):
        (folder / "one.csv").write_bytes(f"{lines[0]}\n{lines[place]}".encode(encoding))
        assert main(["predict", forest, "one.csv", "--out", "one_out.csv", "--force"]) == 0
        (row,) = pd.read_csv("one_out.csv").iloc[:, :2].to_numpy().tolist()
        assert row == whole.iloc[place - 1, :2].tolist()
    (folder / "one.csv").write_text(lines[0])
    assert main(["predict", forest, "one.csv", "--out", "two_out.csv"]) == 2
    assert "no rows below its header" in capsys.readouterr().err


def test_released_files_may_be_read_by_others_and_predicted_rows_only_by_their_owner(folder, forest):
    before = os.umask(0o022)
    try:
        assert release(*YES) == 0
        assert main(["predict", forest, "votes.csv"]) == 0
    finally:
        os.umask(before)
    modes = {name: os.stat(name).st_mode & 0o777 for name in ("votes_release_2.json.gz", "votes_predicted.csv")}
    assert modes == {"votes_release_2.json.gz": 0o644, "votes_predicted.csv": 0o600}


# ---------------------------------------------------------------- streams and sentences


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_no_error(folder, monkeypatch, closed):
    monkeypatch.setattr(f"sys.{closed}", None)
    asked = ("--one-row-per-person", "--new-population")
    assert release(*asked) == 2 and Book().populations() == []
    assert release(*FLAGS, "--json") == 0


def test_a_result_that_nobody_reads_is_on_the_standard_error(folder, monkeypatch, capsys, forest):
    capsys.readouterr()
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main(["predict", forest, "votes.csv", "--json", "--out", "out.csv"]) == 0
        assert main(["verify", forest, "votes_release_1_record.json"]) == 0
    assert '"file": "out.csv"' in capsys.readouterr().err


def test_a_bound_that_is_no_float_and_a_null_in_a_path_get_a_sentence(folder, capsys):
    schema = json.loads((folder / "schema.json").read_text())
    feature = {"name": "age", "kind": "numeric", "low": 10**400, "high": 1, "source": "documented", "source_note": "x"}
    (folder / "schema.json").write_text(json.dumps({**schema, "features": [feature]}))
    assert release(*FLAGS) == 2
    assert "schema.json is no schema" in capsys.readouterr().err
    assert main(["verify", "votes.csv", "a\0b"]) == 2


def test_control_characters_of_a_name_do_not_reach_the_terminal(folder, capsys):
    (folder / "votes.csv").rename(folder / "e\x1b[31mvil.csv")
    words = [w for n, v in OPTIONS.items() for w in (f"--{n}", v)]
    assert main(["release", "e\x1b[31mvil.csv", "schema.json", *words, *FLAGS]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert json.loads((folder / "e\x1b[31mvil_release_1_record.json").read_text())["title"] == "e?[31mvil"


def test_other_mistakes_get_one_sentence(folder, capsys):
    for option, value, words in (("epsilon", "0,5", "'0,5' is not a number"), ("delta", "-1e-6", "--delta")):
        with pytest.raises(SystemExit) as stop:
            release(*FLAGS, **{option: value})
        message = capsys.readouterr().err
        assert stop.value.code == 2 and words in message and message.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["verify", "a", "b", "c"])
    assert "unrecognized arguments: c" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["verify", "--help"])
    assert "[record]" in capsys.readouterr().out
    assert (
        main(["release", "nope.csv", "schema.json", *(w for n, v in OPTIONS.items() for w in (f"--{n}", v)), *FLAGS])
        == 2
    )
    assert "dpforest release: nope.csv cannot be read" in capsys.readouterr().err
    (folder / "votes.csv").write_text((folder / "votes.csv").read_text().replace(",", ";"))
    assert release(*FLAGS) == 2
    assert "votes.csv: The file has no column" in capsys.readouterr().err
