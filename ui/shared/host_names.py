"""The names that the server answers to: a name of somebody else's must not lead a browser to this machine.

The owner of a web site can let the site's name point to this machine (DNS rebinding). The browser of a visitor then
sends requests here and gives the answers to that site's page. Such a request has the site's name in its header `Host`.
An IP address is no name that somebody can let point elsewhere, so that every IP address is safe there.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from streamlit import config, net_util
from streamlit.web.server.server_util import get_url

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class HostNames:
    """Names, and whether every IP address is one as well.

    Parameters
    ----------
    names : tuple of str
        As in `server.allowedHosts`: a name, `*.example.com` for all names below that one, or `*` for all names.
    any_address : bool
        Whether the server answers to every IP address.
    """

    names: tuple[str, ...]
    any_address: bool = False

    @classmethod
    def of_config(cls) -> HostNames:
        """`server.allowedHosts` if there is such a list, as Streamlit applies it to websockets: else a safe default.

        A server for this machine only answers to the loopback names. One for a network answers to every IP address
        and to the names of this machine.
        """
        if listed := config.get_option("server.allowedHosts"):
            return cls(tuple(name.strip().lower().rstrip(".") for name in listed))
        if config.get_option("server.address") in LOOPBACK:
            return cls(LOOPBACK)
        machine = socket.gethostname().lower()
        names = ("localhost", machine, f"{machine.partition('.')[0]}.local")
        return cls(tuple(dict.fromkeys(names)), any_address=True)

    def include(self, host: str) -> bool:
        """Whether the server answers to a header `Host`; a port in it does not matter."""
        name = _name(host)
        if not name:
            return False
        return (self.any_address and _is_address(name)) or any(_fits(name, pattern) for pattern in self.names)

    def __str__(self) -> str:
        names = ", ".join(self.names) + (", and every IP address" if self.any_address else "")
        return (
            f"This server answers to: {names}. For other names start it with --server.allowedHosts NAME, once for each "
            "name; that list replaces this one."
        )


def addresses() -> str:
    """Where a browser finds the app: Streamlit would print that too, but asks another host for a public address."""
    listens = str(config.get_option("server.address") or "0.0.0.0")
    lines = [f"Local URL: {get_url('localhost')}"]
    if listens in ("0.0.0.0", "::"):
        lines.append(f"Network URL: {get_url(str(net_util.get_internal_ip()))}")
    elif listens not in LOOPBACK:
        lines = [f"Network URL: {get_url(listens)}"]
    return "\n".join(lines)


def _fits(name: str, pattern: str) -> bool:
    return pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))


def _name(host: str) -> str:
    """The name in a header `Host`, in lower case; empty where it is not one."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # refuses what is no number
    except ValueError:
        return ""
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return ""
    return (parts.hostname or "").rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
