"""Connections to ports that a workload listens on."""

from tests.engines.local.cage import Cage

SERVE = """
import socket, sys
server = socket.create_server((sys.argv[1], 8888), family=getattr(socket, sys.argv[2]))
print("up", flush=True)
for turn in range(int(sys.argv[3])):
    connection, _ = server.accept()
    connection.sendall(connection.recv(100).upper())
    connection.close()
"""


def dialled(cage: Cage, address: str, family: str) -> str:
    return cage.drive(
        """
        running = box.start(box.python, "-I", "-c", program, address, family, "3").release()
        running.wait_for("up")
        for turn in range(3):
            with inbound.dial(box.attempt, 8888) as connection:
                connection.sendall(b"hello %d" % turn)
                print(connection.recv(100))
        print(running.end())
        """,
        program=SERVE,
        address=address,
        family=family,
    )


def test_a_port_inside_is_reached_from_outside(cage: Cage) -> None:
    assert dialled(cage, "127.0.0.1", "AF_INET").split("\n")[:3] == [f"b'HELLO {n}'" for n in range(3)]


def test_a_server_that_listens_on_ipv6_alone_is_reached(cage: Cage) -> None:
    assert dialled(cage, "::1", "AF_INET6").split("\n")[:3] == [f"b'HELLO {n}'" for n in range(3)]


def test_a_port_on_which_nothing_listens_is_named(cage: Cage) -> None:
    printed = cage.drive("""
        try:
            inbound.dial(box.attempt, 8889)
        except inbound.DialRefused as refused:
            print(refused)
    """)
    assert printed == "nothing listens on port 8889 inside\n"


def test_the_door_leads_inside_and_not_to_the_hosts_loopback(cage: Cage) -> None:
    printed = cage.drive("""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            try:
                inbound.dial(box.attempt, port)
            except inbound.DialRefused as refused:
                print(refused, port)
    """)
    assert printed.startswith("nothing listens")


def test_the_answer_can_be_given_by_the_child_itself(cage: Cage) -> None:
    printed = cage.drive("""
        def answer(connected, reason):
            os.write(theirs, f"{connected} {reason}".encode())
        ours, theirs = os.pipe()
        print(exit_code(inbound.fork_dial(box.attempt, 8889, answer)), os.read(ours, 100).decode())
    """)
    assert printed == "0 None nothing listens on port 8889 inside\n"
