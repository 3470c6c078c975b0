"""Options of Streamlit are read without its lock: with many sessions every element of a page waited for it.

Whoever gets that lock next has it before it has Python's own, so that all others wait for two locks; thirty sessions
spent a third of their time so. A value is looked up in a dict, which needs no lock.
"""

from __future__ import annotations

from typing import Any

from streamlit import config


def read_without_lock() -> None:
    """From now on, in this process; what is not there yet is asked for as before."""
    with_lock = config.get_option

    def get_option(key: str) -> Any:
        option = (config._config_options or {}).get(key)
        return with_lock(key) if option is None else option.value

    config.get_option = get_option
