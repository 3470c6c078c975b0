"""Imports run one way, caches are registered, hooks and CI run the checks, and files of the repository agree."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from importlinter import cli

HOME = Path(__file__).parents[1]
DOCUMENTS = [HOME / "README.md", *sorted((HOME / "docs").glob("*.md")), *sorted((HOME / ".github").glob("*.md"))]
FORMS = sorted(set((HOME / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) - {HOME / ".github/ISSUE_TEMPLATE/config.yml"})


def test_packages_import_in_one_direction(monkeypatch):
    monkeypatch.chdir(HOME)
    assert cli.lint_imports(str(HOME / "pyproject.toml")) == cli.EXIT_STATUS_SUCCESS


def test_every_cache_of_the_app_is_registered_for_clearing():
    makers = re.compile(r"cache_(data|resource)\b")
    files = [HOME / "app.py", *(HOME / "pages").glob("*.py"), *(HOME / "ui").rglob("*.py")]
    files_with_caches = {f.relative_to(HOME).as_posix() for f in files if makers.search(f.read_text(encoding="utf-8"))}
    assert files_with_caches == {"ui/shared/cache.py"}


def test_commit_hooks_run_the_same_checks_as_the_check_script():
    hooks = re.findall(r"entry: (.+)", (HOME / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    _, checks = (HOME / "scripts" / "check").read_text(encoding="utf-8").split("\nelse\n")
    assert hooks == re.findall(r"^ *(\.venv/.+)$", checks, re.MULTILINE) != []


def test_every_path_that_the_documents_name_exists():
    path = re.compile(r"`((?:[\w.-]+/)+|[\w./-]*[\w-]\.(?:py|md|txt|toml|json|yaml|csv|png))`")
    for document in DOCUMENTS:
        named = path.findall(document.read_text(encoding="utf-8"))
        assert [name for name in named if not (HOME / name).exists()] == [], document.name


def test_every_link_of_the_files_for_github_leads_to_a_file_and_a_heading():
    for document in sorted((HOME / ".github").glob("*.md")):
        for name, heading in re.findall(r"\]\((?!https?:)([^)#]+)#?([^)]*)\)", document.read_text(encoding="utf-8")):
            target = (document.parent / name).read_text(encoding="utf-8")
            anchors = {line.lower().replace(" ", "-") for line in re.findall(r"^#+ ([\w -]+)$", target, re.MULTILINE)}
            assert not heading or heading in anchors, (document.name, name, heading)


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_issue_forms_have_what_github_requires(form):
    """GitHub does not offer a form in which one of these is missing or repeated, and shows no message."""
    content = loaded(form)
    assert set(content) == {"name", "description", "labels", "body"} and content["name"] and content["description"]
    questions = [part for part in content["body"] if part["type"] != "markdown"]
    assert questions and all(part["attributes"]["label"] for part in questions)
    assert len({part["id"] for part in questions}) == len(questions)
    assert all(part["attributes"]["value"] for part in content["body"] if part["type"] == "markdown")


def test_the_workflow_runs_what_must_pass_and_may_only_read():
    workflow = loaded(HOME / ".github" / "workflows" / "ci.yml")
    steps = workflow["jobs"]["ci"]["steps"]
    assert any(step.get("run", "").endswith(".ci/run") for step in steps)
    assert workflow["permissions"] == {"contents": "read"}
    pinned = [re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step]
    assert pinned and all(pinned)


def test_the_version_and_the_tools_have_one_source_each():
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]  # hatchling reads it from dpforest/__init__.py
    assert not {"version", "date-released"} & set(loaded(HOME / "CITATION.cff"))
    pins = re.findall(r"^([\w-]+)==", (HOME / "requirements-dev.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(pins) == sorted(project["dependency-groups"]["dev"])
