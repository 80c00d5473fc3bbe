"""Which addresses a workload may reach through the door out.

Public ones; private ones that an administrator allows, by network or by name. Never: loopback, link-local
(where clouds answer with credentials), multicast, the host's own addresses, and addresses that carry such a
one inside. The host's own are found by asking the kernel where it would send a packet, which also knows
addresses that were added a moment ago.
"""

import errno
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

_Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network

_NEVER: tuple[tuple[str, str], ...] = (
    ("127.0.0.0/8", "a loopback address"),
    ("::1/128", "a loopback address"),
    ("0.0.0.0/8", "not an address of another machine"),
    ("::/128", "not an address of another machine"),
    ("169.254.0.0/16", "a link-local address"),
    ("fe80::/10", "a link-local address"),
    ("224.0.0.0/4", "a multicast address"),
    ("ff00::/8", "a multicast address"),
    ("240.0.0.0/4", "a reserved address"),
    # Where clouds answer their machines outside of the link-local range.
    ("100.100.100.200/32", "a metadata address"),
    ("168.63.129.16/32", "a metadata address"),
    ("192.0.0.192/32", "a metadata address"),
    ("fd00:ec2::254/128", "a metadata address"),
    # Ways of writing an IPv4 address that are not in use between machines.
    ("::/96", "an IPv4 address in disguise"),
    ("64:ff9b:1::/48", "an IPv4 address in disguise"),
    ("2001::/32", "an address of a tunnel"),
    ("2002::/16", "an address of a tunnel"),
)

_PRIVATE = (
    "10.0.0.0/8",
    "100.64.0.0/10",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "2001:db8::/32",
    "fc00::/7",
)

_NEVER_NETWORKS = tuple((ip_network(network), words) for network, words in _NEVER)
_PRIVATE_NETWORKS = tuple(ip_network(network) for network in _PRIVATE)
_PUBLIC_IPV6 = ip_network("2000::/3")
_TRANSLATED = ip_network("64:ff9b::/96")  # how an IPv6-only network reaches IPv4

_ASK_ROUTE, _ROUTE, _ERROR, _REQUEST = 26, 24, 2, 1
_DESTINATION = 1
_UNICAST = 1


@dataclass(frozen=True, slots=True)
class Allowed:
    """Private networks, and names whose private addresses may be reached; `.lab` stands for all below lab."""

    networks: tuple[_Network, ...] = ()
    names: tuple[str, ...] = ()


def read_allowed(entries: Sequence[str]) -> Allowed:
    """Reads a setting: networks such as 10.1.0.0/16 or fd12::/64, names such as mirror.lab or .lab."""
    networks: list[_Network] = []
    names: list[str] = []
    for entry in entries:
        if "/" in entry or ":" in entry or entry.replace(".", "").isdigit():
            networks.append(ip_network(entry))
        else:
            names.append(entry.lower())
    return Allowed(tuple(networks), tuple(names))


def refusal(address: str, name: str, allowed: Allowed) -> str | None:
    """Why this address, to which this name leads, is not connected to; None when it may be."""
    there = _plain(ip_address(address.partition("%")[0]))
    for network, words in _NEVER_NETWORKS:
        if there in network:
            return f"it is {words}"
    if any(there in network for network in _PRIVATE_NETWORKS):
        if not _is_allowed(there, name, allowed):
            return "it is a private address, and the administrator has not allowed it"
    elif isinstance(there, IPv6Address) and there not in _PUBLIC_IPV6:
        return "it is not a public address"
    if not leads_elsewhere(there):
        return "it is an address of the machine itself"
    return None


def leads_elsewhere(address: _Address) -> bool:
    """Whether the kernel would send a packet to another machine, or knows no way to it at all."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    packed = address.packed
    attribute = struct.pack("HH", 4 + len(packed), _DESTINATION) + packed
    route = struct.pack("8BI", family, 8 * len(packed), 0, 0, 0, 0, 0, 0, 0)
    header = struct.pack("IHHII", 16 + len(route) + len(attribute), _ASK_ROUTE, _REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.send(header + route + attribute)
        answer = kernel.recv(8192)
    (kind,) = struct.unpack_from("H", answer, 4)
    if kind == _ROUTE:
        return answer[16 + 7] == _UNICAST
    (number,) = struct.unpack_from("i", answer, 16)
    if kind == _ERROR and -number in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        return True
    raise OSError(-number, f"the kernel does not say where {address} is")


def _plain(address: _Address) -> _Address:
    """The IPv4 address that an IPv6 one carries, where it does."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _TRANSLATED:
            return IPv4Address(address.packed[-4:])
    return address


def _is_allowed(address: _Address, name: str, allowed: Allowed) -> bool:
    if any(address in network for network in allowed.networks):
        return True
    plain = name.lower().rstrip(".")
    return any(
        plain.endswith(pattern) if pattern.startswith(".") else plain == pattern for pattern in allowed.names
    )
