"""A workload looks for the host's ports, its neighbours, and ways out beside the door."""

import os
import socket

from tests.engines.local.cage import Cage
from tests.engines.local.street import NEIGHBOUR_PUBLIC
from tests.security.hostile.attempts import outcomes, outcomes_outside, refused, succeeded


def test_ports_of_the_host_are_not_reached(cage: Cage) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as ipv4,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as ipv6,
    ):
        program = f"""
attempt("loopback", lambda: socket.create_connection(("127.0.0.1", {ipv4.getsockname()[1]}), 5))
attempt("loopback by name", lambda: socket.create_connection(("localhost", {ipv4.getsockname()[1]}), 5))
attempt("loopback of IPv6", lambda: socket.create_connection(("::1", {ipv6.getsockname()[1]}), 5))
"""
        assert set(refused(outcomes(cage, program)).values()) == {"ECONNREFUSED"}
        assert len(succeeded(outcomes_outside(cage, program))) == 3


def test_sockets_of_the_host_without_a_path_are_not_reached(cage: Cage) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0corral-hostile-{os.getpid()}")
        server.listen()
        connect = f'socket.socket(socket.AF_UNIX).connect("\\0corral-hostile-{os.getpid()}")'
        program = f"attempt('abstract', lambda: {connect})"
        assert refused(outcomes(cage, program)) == {"abstract": "ECONNREFUSED"}
        assert succeeded(outcomes_outside(cage, program)) == {"abstract"}


def test_neighbours_are_not_reached_beside_the_door(cage_on_street: Cage) -> None:
    program = f"""
attempt("tcp", lambda: socket.create_connection(({NEIGHBOUR_PUBLIC!r}, 7), 5))
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt("udp", lambda: datagrams.sendto(b"x", ({NEIGHBOUR_PUBLIC!r}, 53)))
"""
    assert set(refused(outcomes(cage_on_street, program)).values()) == {"ENETUNREACH"}
    assert succeeded(outcomes_outside(cage_on_street, program)) == {"tcp", "udp"}


def test_raw_and_strange_sockets_are_refused(cage: Cage) -> None:
    program = """
attempt("packet", lambda: socket.socket(17, socket.SOCK_RAW, 0x300))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("raw of IPv6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))
families = {"vsock": 40, "crypto": 38, "bluetooth": 31, "can": 29, "tipc": 30, "xdp": 44, "qrtr": 42}
SOCKET = 41 if os.uname().machine == "x86_64" else 198
for name, family in families.items():
    attempt(name, lambda: socket.socket(family, socket.SOCK_STREAM))
    attempt(name + " with high bits", lambda: call(SOCKET, family | 1 << 32, 1, 0))
"""
    found = refused(outcomes(cage, program))
    assert {found[name] for name in ("raw", "raw of IPv6")} == {"EPERM"}
    assert set(found.values()) == {"EPERM", "EAFNOSUPPORT"}


def test_the_network_cannot_be_changed(cage: Cage) -> None:
    changes = ("link add dummy0 type dummy", "address add 10.0.0.1/8 dev lo", "link set lo down")
    script = "".join(f"ip {change}; " for change in (*changes, "route add default dev lo"))
    ended = cage.run("sh", "-c", script)
    assert ended.output.count("Operation not permitted") == 4


def test_two_attempts_have_two_networks_although_the_user_is_the_same(cage: Cage) -> None:
    printed = cage.drive("""
        other = box.beside()
        there = "('127.0.0.1', 5000)"
        serve = f"import socket; s = socket.create_server({there}); print('up', flush=True); s.accept()"
        running = other.start(box.python, "-I", "-c", serve).release()
        running.wait_for("up")
        print(box.run_python(f"import socket; socket.create_connection({there}, 5)"))
    """)
    assert "Connection refused" in printed


def test_shared_memory_of_the_host_is_not_found(cage: Cage) -> None:
    program = f"""
def segment(key, size, flags):
    number = libc.shmget(key, size, flags)
    if number < 0:
        raise OSError(ctypes.get_errno(), "")
    return number
attempt("segment", lambda: segment({0x436F7200 + os.getpid() % 200}, 0, 0))
"""
    make = program.replace("0, 0))", "4096, 0o1666))")
    number = outcomes_outside(cage, make)["segment"][1]
    try:
        assert refused(outcomes(cage, program)) == {"segment": "ENOENT"}
        assert succeeded(outcomes_outside(cage, program)) == {"segment"}
    finally:
        outcomes_outside(cage, f"libc.shmctl({number}, 0, 0)")
