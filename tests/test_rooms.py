"""Packages import each other in one direction only, every cache is registered, and git hooks run the checks."""

import re
from pathlib import Path

from importlinter import cli

HOME = Path(__file__).parents[1]


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
    for document in [HOME / "README.md", *sorted((HOME / "docs").glob("*.md"))]:
        named = path.findall(document.read_text(encoding="utf-8"))
        assert [name for name in named if not (HOME / name).exists()] == [], document.name
