"""Documents of the repository as pages of the site: each has one source, which a page includes.

This module needs no Sphinx, so that tests can check links without it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

SITE: Final = Path(__file__).resolve().parent
HOME: Final = SITE.parents[1]
INCLUDE: Final = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
IMAGE: Final = re.compile(r"(!\[[^\]]+\])\((?!https?:)([^)\s]+)\)")
LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def pages() -> list[Path]:
    """Return all pages of the site that are written by hand, in the order of their names."""
    return [path for path in sorted(SITE.rglob("*.md")) if "_build" not in path.parts]


def page_of_document() -> dict[Path, Path]:
    """Return the page that includes each document of the repository."""
    included = {}
    for page in pages():
        for name in INCLUDE.findall(page.read_text(encoding="utf-8")):
            included[(page.parent / name).resolve()] = page
    return included


def with_documents(text: str, page: Path) -> str:
    """Replace each include by the text of its document, whose links then lead to pages of the site.

    Parameters
    ----------
    text : str
        Source of the page.
    page : Path
        File of the page.

    Returns
    -------
    str
        Source without includes. A link to a file of the repository that is no page becomes the path of this file.
    """
    site_pages = page_of_document()

    def document(include: re.Match[str]) -> str:
        path = (page.parent / include[1]).resolve()

        def link(match: re.Match[str]) -> str:
            target = (path.parent / match[2]).resolve()
            target = site_pages.get(target, target)
            if target.suffix == ".md" and target.is_relative_to(SITE):
                return f"[{match[1]}]({os.path.relpath(target, page.parent)}{match[3] or ''})"
            return f"{match[1]} (`{target.relative_to(HOME).as_posix()}`)"

        def image(match: re.Match[str]) -> str:
            return f"{match[1]}({os.path.relpath((path.parent / match[2]).resolve(), page.parent)})"

        return IMAGE.sub(image, LINK.sub(link, path.read_text(encoding="utf-8")))

    return INCLUDE.sub(document, text)
