"""The wheel holds the engine, the bundled tables and the app, and works away from the repository."""

import json
import os
import re
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dpforest import __version__
from dpforest.__main__ import main
from dpforest.tables.datasets import list_datasets

HOME = Path(__file__).parents[1]

ENGINE = """
import json, dpforest
from dpforest import load_dataset
from dpforest.tables.datasets import list_datasets
assert len(load_dataset("zoo").X) == 101
print(json.dumps([dpforest.__file__, dpforest.__version__, sorted(list_datasets())]))
"""

# Streamlit puts the folder of app.py on the path, as this program does.
APP = """
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
import dpforest
home = Path(dpforest.__file__).parent / "_app"
sys.path.insert(0, str(home))
for page in ("pages/3_Audit.py", "pages/5_Lesson.py", "pages/6_Theory.py", "pages/7_Papers.py"):
    shown = AppTest.from_file(str(home / "app.py"), default_timeout=100).switch_page(page).run()
    assert not shown.exception, (page, shown.exception[0].message)
    assert shown.markdown, page
print(sys.modules["ui"].__path__)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Return a folder with the files that an installation of the wheel would have."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=HOME, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def output_of(program: str, installed: Path, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed), "DPFOREST_DATA_DIR": "off"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, env=environment, check=True, text=True, stdout=subprocess.PIPE).stdout


def test_engine_and_tables_work_away_from_the_repository(installed, tmp_path):
    file, version, tables = json.loads(output_of(ENGINE, installed, tmp_path))
    assert Path(file).parent == installed / "dpforest"
    assert (version, tables) == (__version__, sorted(list_datasets()))


def test_the_changelog_describes_the_version():
    versions = re.findall(r"^## \[([0-9.]+)\] - \d{4}-\d\d-\d\d$", (HOME / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == __version__


@pytest.mark.slow
def test_pages_open_away_from_the_repository(installed, tmp_path):
    assert str(installed / "dpforest" / "_app" / "ui") in output_of(APP, installed, tmp_path)


@pytest.mark.slow
def test_the_app_ends_with_the_command_that_started_it():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "dpforest", "--server.headless", "true", "--server.port", port]
    with subprocess.Popen(command, cwd=HOME, text=True, stdout=subprocess.PIPE) as process:
        assert any(f":{port}" in line for line in process.stdout)
        process.terminate()
        # Streamlit writes to the same pipe, so this reading ends only after Streamlit has ended.
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_the_wheel_has_no_tests_and_no_measurements(installed):
    (wheel,) = installed.parent.glob("*.whl")
    files = [Path(name) for name in zipfile.ZipFile(wheel).namelist()]
    assert {path.parts[0].split("-")[0] for path in files} == {"dpforest"}
    assert {"dpforest/py.typed", "dpforest/plotting/board_report.html.j2"} <= {path.as_posix() for path in files}
    assert not {part for path in files for part in path.parts} & {"tests", "bench", "__pycache__"}
    assert "dpforest = dpforest.__main__:main" in next(installed.glob("*.dist-info/entry_points.txt")).read_text()


def test_the_command_has_exit_codes_and_a_sentence(capsys, tmp_path, monkeypatch):
    with pytest.raises(SystemExit) as end:
        main(["no such command"])
    assert end.value.code == 2
    assert main(["verify", str(tmp_path / "missing.json")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().out
    monkeypatch.setattr("dpforest.__main__.find_spec", lambda name: None)
    assert main(["--server.port", "1"]) == 2
    assert "pip install 'dpforest[app]'" in capsys.readouterr().err
