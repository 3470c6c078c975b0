"""A link to a page as it stands: its controls and the name of a bundled table, nothing of anybody's file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode, urlsplit

import streamlit as st

from ui.shared import between_pages

NOT_COPIED: Final = ("room",)  # who joins a class is no setting of a page


def copy_link(*, of_upload: bool = False) -> None:
    """Behind a button: the address that opens this page with the same controls, in any browser.

    To be called after all controls of a page, so that the link holds them all.

    Parameters
    ----------
    of_upload : bool
        Whether somebody's own file is looked at. The link opens the page, which asks for the file.
    """
    between_pages.remember()
    with st.popover("Copy link"):
        said = " It does not carry your file or its columns." if of_upload else ""
        st.caption(f"Anyone who opens this link sees the same settings.{said}")
        # Several values of one name, too.
        settings = {name: st.query_params.get_all(name) for name in st.query_params if name not in NOT_COPIED}
        st.code(address(st.context.url or "", settings), language=None, wrap_lines=True)


def address(url: str, settings: Mapping[str, str | list[str]]) -> str:
    """Of a page with its settings.

    Examples
    --------
    >>> address("http://localhost:8501/Audit?old=1", {"rule": "smooth sensitivity", "pair": ["a", "b"]})
    'http://localhost:8501/Audit?rule=smooth+sensitivity&pair=a&pair=b'
    >>> address("http://localhost:8501", {})
    'http://localhost:8501/'
    """
    parts = urlsplit(url)
    return parts._replace(
        path=parts.path.rstrip("/") or "/", query=urlencode(settings, doseq=True), fragment=""
    ).geturl()
