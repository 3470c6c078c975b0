"""The host names for which the server answers requests, as a protection against DNS rebinding.

In DNS rebinding, the owner of a web site makes the site's name point to this machine. A visitor's browser then sends
requests to this machine and gives the answers to the site's page. Such a request has the site's name in its header
`Host`, so the server refuses names that it does not know. Nobody can make an IP address lead to another machine, so an
IP address in this header is safe.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import streamlit as st

from ui.server.streamlit_patches.internals import app_url, network_address

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class HostNames:
    """Names that the server answers to, and whether it answers to every IP address.

    Parameters
    ----------
    names : tuple of str
        Names in the form of `server.allowedHosts`: a name, `*.example.com` for all names below `example.com`, or `*`
        for all names.
    any_address : bool
        Whether the server answers to every IP address.
    """

    names: tuple[str, ...]
    any_address: bool = False

    @classmethod
    def of_config(cls) -> HostNames:
        """Return the names in Streamlit's option `server.allowedHosts`, or a safe default if the option is not set.

        Streamlit itself applies the option only to websockets. By default, a server that listens only on a loopback
        address answers to the loopback names. A server that listens to a network answers to every IP address and to the
        names of its machine.
        """
        if listed := st.get_option("server.allowedHosts"):
            return cls(tuple(name.strip().lower().rstrip(".") for name in listed))
        if st.get_option("server.address") in LOOPBACK:
            return cls(LOOPBACK)
        return cls.of_network()

    @classmethod
    def of_network(cls) -> HostNames:
        """Return the names of this machine in a network, and every IP address."""
        host_name = socket.gethostname().lower()
        names = ("localhost", host_name, f"{host_name.partition('.')[0]}.local")
        return cls(tuple(dict.fromkeys(names)), any_address=True)

    def include(self, host: str) -> bool:
        """Return whether the server answers requests whose header `Host` is `host`. The port in `host` is ignored."""
        name = _name(host)
        if not name:
            return False
        return (self.any_address and _is_address(name)) or any(_fits(name, pattern) for pattern in self.names)

    def __str__(self) -> str:
        names = ", ".join(self.names) + (", and every IP address" if self.any_address else "")
        return (
            f"This server answers to: {names}. To use other names, start it with --server.allowedHosts NAME, once for "
            "each name. That list replaces this one."
        )


def addresses() -> str:
    """Return the URLs of the app, as text to print at startup.

    Streamlit could print them, but it would ask another host for the public address of this machine.
    """
    server_address = str(st.get_option("server.address") or "0.0.0.0")
    lines = [f"Local URL: {app_url('localhost')}"]
    if server_address in ("0.0.0.0", "::"):
        lines.append(f"Network URL: {app_url(network_address())}")
    elif server_address not in LOOPBACK:
        lines = [f"Network URL: {app_url(server_address)}"]
    return "\n".join(lines)


def _fits(name: str, pattern: str) -> bool:
    """Return whether a name fits a pattern in `HostNames.names`."""
    return pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))


def _name(host: str) -> str:
    """Return the name in a header `Host` in lower case, without the port. It is empty if the header is not valid."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises ValueError if the port is not a number
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
