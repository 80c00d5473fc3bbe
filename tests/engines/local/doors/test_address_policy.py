"""Which addresses may be reached; those of this machine are asked of its kernel."""

import subprocess
from ipaddress import ip_address

import pytest

from corral.engines.local.doors.address_policy import Allowed, leads_elsewhere, read_allowed, refusal

NOTHING = Allowed()


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_public_addresses_may_be_reached(address: str) -> None:
    assert refusal(address, "a.example", NOTHING) is None


@pytest.mark.parametrize(
    "address",
    [
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "169.254.169.254",
        "fe80::1%2",
        "::7f00:1",
        "2001:0:1::",
    ],
)
def test_some_addresses_stay_refused_whatever_is_allowed(address: str) -> None:
    everything = read_allowed(["0.0.0.0/0", "::/0", "a.example"])
    assert refusal(address, "a.example", everything) is not None


def test_a_name_is_allowed_whatever_its_case_and_a_longer_one_is_not() -> None:
    allowed = read_allowed(["Mirror.Lab", ".intern.lab"])
    assert refusal("10.9.8.7", "mirror.LAB.", allowed) is None
    assert refusal("10.9.8.7", "a.b.intern.lab", allowed) is None
    for name in ("evil-mirror.lab", "mirror.lab.example", "intern.lab", "evilintern.lab"):
        assert refusal("10.9.8.7", name, allowed) is not None


@pytest.mark.parametrize("entry", ["10.0.0.1/8", "10.0.0.0/99", "300.1.2.3", "::zz/12"])
def test_a_network_that_is_none_is_refused_when_it_is_read(entry: str) -> None:
    with pytest.raises(ValueError, match=entry.partition("/")[0]):
        read_allowed([entry])


def test_every_address_of_this_machine_is_known_as_its_own() -> None:
    listed = subprocess.run(["ip", "-o", "address"], capture_output=True, text=True, check=True).stdout
    own = [line.split()[3].partition("/")[0] for line in listed.splitlines()]
    assert "127.0.0.1" in own
    assert [address for address in own if leads_elsewhere(ip_address(address))] == []
    assert leads_elsewhere(ip_address("8.8.8.8"))
