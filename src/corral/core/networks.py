"""What can be said of an address without asking the network."""

import ipaddress


def is_loopback(name: str) -> bool:
    """Whether an address or host name is that of this machine alone."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
