"""The addresses under which other devices in the same network reach this machine. It does not use Streamlit."""

from __future__ import annotations

import ipaddress
import socket
import struct
import sys
from contextlib import suppress
from typing import Final

# A UDP socket that "connects" to an address sends nothing; it only asks the routing table for the sender's address.
# The first address leads to the usual network. The others lead to private networks, whose traffic a VPN may not carry.
_DESTINATIONS: Final = ("8.8.8.8", "192.168.255.254", "10.255.255.254", "172.31.255.254")
_GET_ADDRESS: Final = {"linux": 0x8915, "darwin": 0xC0206921}  # the system call SIOCGIFADDR
# Networks of containers and virtual machines, which no phone can reach.
_VIRTUAL: Final = ("docker", "br-", "veth", "virbr", "vmnet")


def lan_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine in its networks. The address that phones most likely reach comes first.

    The list is empty if the machine is in no network. Nothing is sent.
    """
    candidates = [*(_sender_to(destination) for destination in _DESTINATIONS), *_of_interfaces()]
    return [address for address in dict.fromkeys(candidates) if _reaches_others(address)]


def _sender_to(destination: str) -> str:
    """Return the address from which this machine would send to a destination; empty if there is no route."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((destination, 9))
        return str(probe.getsockname()[0])
    return ""


def _of_interfaces() -> list[str]:
    """Return the address of each network interface.

    On Linux and macOS, interfaces of containers and virtual machines are left out.
    """
    call = _GET_ADDRESS.get(sys.platform)
    if call is None:
        with suppress(OSError):  # on Windows, this sends no request to the network
            return [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
        return []
    import fcntl  # Windows has no such module

    addresses = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            if not name.startswith(_VIRTUAL):
                with suppress(OSError):  # an interface without an IPv4 address
                    answer = fcntl.ioctl(probe.fileno(), call, struct.pack("256s", name.encode()[:15]))
                    addresses.append(socket.inet_ntoa(answer[20:24]))
    return addresses


def _reaches_others(address: str) -> bool:
    if not address:
        return False
    parsed = ipaddress.ip_address(address)
    return not (parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified or parsed.is_multicast)
