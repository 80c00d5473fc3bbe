"""What gets out of a sandbox: public hosts through the proxy, and nothing else."""

import json

from tests.engines.local.cage import Cage
from tests.engines.local.street import MACHINE, MACHINE_PUBLIC, NEIGHBOUR, NEIGHBOUR_PUBLIC

# Programs inside find these; `ask` gives the status line and the words of an answer.
CLIENT = """
import http.client, json, os, socket, sys
def proxy():
    connection = socket.create_connection(("127.0.0.1", 3128), 15)
    connection.settimeout(15)
    return connection
def read(connection):
    text = b""
    try:
        while chunk := connection.recv(65536):
            text += chunk
    except ConnectionResetError:
        pass
    return text
def ask(first, more="", body=b""):
    with proxy() as connection:
        connection.sendall(f"{first}\\r\\n{more}\\r\\n".encode() + body)
        head, _, rest = read(connection).decode().partition("\\r\\n\\r\\n")
        return head.partition("\\r\\n")[0], rest
def tunnel(host, port=7):
    connection = proxy()
    connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode())
    answer = b""
    while not answer.endswith(b"\\r\\n\\r\\n"):
        answer += connection.recv(1)
    return connection, answer.decode().partition("\\r\\n")[0]
"""


def inside(cage: Cage, program: str, *allowed: str) -> list[str]:
    printed = cage.drive(
        """
        box.open_door(*allowed)
        print(json.dumps(box.run(box.python, "-I", "-c", program, environment=outbound.variables())))
        """,
        out_door=True,
        program=CLIENT + program,
        allowed=allowed,
    )
    code, output = json.loads(printed)
    assert code == 0, output
    return str(output).splitlines()


def test_a_public_host_is_reached_by_address_and_by_name(cage_on_street: Cage) -> None:
    seen = inside(
        cage_on_street,
        f"""
for host in ({NEIGHBOUR_PUBLIC!r}, "PUBLIC.example"):
    connection, status = tunnel(host)
    connection.sendall(b"hello " * 100_000)
    connection.shutdown(socket.SHUT_WR)
    print(status, read(connection) == b"HELLO " * 100_000)
""",
    )
    assert seen == ["HTTP/1.1 200 Connected True"] * 2


def test_of_several_addresses_only_those_that_may_be_reached_are_tried(cage_on_street: Cage) -> None:
    assert inside(cage_on_street, 'print(tunnel("both.example")[1])') == ["HTTP/1.1 200 Connected"]


def test_plain_http_is_passed_on_without_what_is_meant_for_the_proxy(cage_on_street: Cage) -> None:
    seen = inside(
        cage_on_street,
        """
print(*ask("POST http://public.example/a?b=c#d HTTP/1.1",
    "Host: other.example\\r\\nProxy-Authorization: secret\\r\\nConnection: keep-alive, X-Hop\\r\\n"
    "X-Hop: 1\\r\\nX-End: 2\\r\\nContent-Length: 4\\r\\n", b"body"), sep="\\n")
""",
    )
    assert seen[0].startswith("HTTP/1.1 200")
    assert seen[1] == "POST /a?b=c HTTP/1.1"
    assert set(seen[2:]) == {
        "Host: public.example",
        "X-End: 2",
        "Content-Length: 4",
        "Connection: close",
        "",
        "body",
    }


def test_programs_use_the_door_by_themselves(cage_on_street: Cage) -> None:
    seen = inside(
        cage_on_street,
        """
import urllib.request
print(urllib.request.urlopen("http://public.example/x", timeout=15).read().decode())
""",
    )
    assert seen[0] == "GET /x HTTP/1.1"


def test_what_is_not_public_is_refused_in_words(cage_on_street: Cage) -> None:
    hosts = {
        "127.0.0.1": "a loopback address",
        "localhost": "a loopback address",
        "127.1": "a loopback address",
        "2130706433": "a loopback address",
        "0x7f.0.0.1": "a loopback address",
        "0.0.0.0": "not an address of another machine",
        "[::1]": "a loopback address",
        "[::ffff:127.0.0.1]": "a loopback address",
        "[::ffff:7f00:1]": "a loopback address",
        "[64:ff9b::7f00:1]": "a loopback address",
        "[2002:7f00:1::]": "an address of a tunnel",
        "[fe80::1]": "a link-local address",
        "169.254.169.254": "a link-local address",
        "metadata.example": "a link-local address",
        "rebound.example": "a loopback address",
        "224.0.0.1": "a multicast address",
        "255.255.255.255": "a reserved address",
        "93.184.215.255": "an address of the machine itself",  # the broadcast address of its network
        MACHINE_PUBLIC: "an address of the machine itself",
        MACHINE: "a private address",
        NEIGHBOUR: "a private address",
        "mirror.lab": "a private address",
        "10.1.2.3": "a private address",
        "[fd00::1]": "a private address",
        "[100::1]": "not a public address",
    }
    program = f"""
for host in {list(hosts)}:
    print(json.dumps([*ask(f"CONNECT {{host}}:7 HTTP/1.1"), ask(f"GET http://{{host}}/ HTTP/1.1")[0]]))
"""
    for host, line in zip(hosts, inside(cage_on_street, program), strict=True):
        status, words, plain = json.loads(line)
        assert status == plain == "HTTP/1.1 403 Refused by Corral", (host, line)
        assert hosts[host] in words, (host, line)


def test_private_networks_and_names_can_be_allowed_but_never_the_machine_itself(cage_on_street: Cage) -> None:
    program = f"""
for host in ({NEIGHBOUR!r}, "mirror.lab", {MACHINE!r}, "127.0.0.1"):
    print(tunnel(host)[1])
"""
    connected, refused = "HTTP/1.1 200 Connected", "HTTP/1.1 403 Refused by Corral"
    everything = ("10.0.0.0/8", "127.0.0.0/8")
    assert inside(cage_on_street, program, *everything) == [connected, connected, refused, refused]
    assert inside(cage_on_street, program, ".lab") == [refused, connected, refused, refused]
    assert inside(cage_on_street, program, "mirror.lab") == [refused, connected, refused, refused]


def test_nothing_gets_out_beside_the_door(cage_on_street: Cage) -> None:
    seen = inside(
        cage_on_street,
        f"""
for attempt in (
    lambda: socket.create_connection(({NEIGHBOUR_PUBLIC!r}, 7), 5),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ({NEIGHBOUR_PUBLIC!r}, 53)),
    lambda: socket.getaddrinfo("public.example", 80),
    lambda: socket.create_connection((socket.gethostbyname("localhost"), 80), 5),
):
    try:
        print("reached", attempt())
    except OSError as error:
        print(error.strerror)
""",
    )
    unreachable = "Network is unreachable"
    assert seen[:2] == [unreachable, unreachable]
    assert seen[3] == "Connection refused"
    assert "reached" not in "".join(seen)


def test_without_the_door_nobody_listens(cage_on_street: Cage) -> None:
    ended = cage_on_street.run_python(CLIENT + "proxy()")
    assert "Connection refused" in ended.output


def test_what_cannot_be_reached_is_told_apart_from_what_is_refused(cage_on_street: Cage) -> None:
    seen = inside(
        cage_on_street,
        f"""
for host in ("no-such-host.example:443", "{NEIGHBOUR_PUBLIC}:9", "8.8.8.8:443"):
    print(*ask(f"CONNECT {{host}} HTTP/1.1"), end="")
""",
    )
    name, port, address = seen
    assert "502 Name not found" in name
    assert f"Corral: {NEIGHBOUR_PUBLIC} port 9 cannot be reached: Connection refused" in port
    assert "502 No connection" in address
    assert "Network is unreachable" in address


def test_what_is_not_a_request_to_a_proxy_is_refused(cage_on_street: Cage) -> None:
    lines = [
        "GET / HTTP/1.1",
        "GET https://public.example/ HTTP/1.1",
        "GET ftp://public.example/ HTTP/1.1",
        "CONNECT public.example HTTP/1.1",
        "CONNECT public.example:0 HTTP/1.1",
        "CONNECT public.example:99999 HTTP/1.1",
        "CONNECT public.example:7\\x00 HTTP/1.1",
        "CONNECT [::1:7 HTTP/1.1",
        "CONNECT [::1]7 HTTP/1.1",
        "CONNECT pub/lic.example:7 HTTP/1.1",
        "GET http://user@public.example/ HTTP/1.1",
        "CONNECT public.example:7 HTTP/2.0",
        "nonsense",
        "",
    ]
    program = "\n".join(f'print(ask("{line}")[0])' for line in lines)
    assert inside(cage_on_street, program) == ["HTTP/1.1 400 Bad Request"] * len(lines)


def test_a_head_without_end_is_refused(cage_on_street: Cage) -> None:
    seen = inside(cage_on_street, 'print(ask("GET http://public.example/ HTTP/1.1", "X: " + "y" * 20000)[0])')
    assert seen == ["HTTP/1.1 431 Request too long"]


def test_connections_are_bounded_and_places_come_free_again(cage_on_street: Cage) -> None:
    seen = inside(
        cage_on_street,
        """
held = [tunnel("public.example") for _ in range(256)]
print({status for _, status in held})
print(*ask("CONNECT public.example:7 HTTP/1.1"))
for connection, _ in held:
    connection.close()
while "200" not in (status := tunnel("public.example")[1]):
    pass
print(status)
""",
    )
    assert seen[0] == "{'HTTP/1.1 200 Connected'}"
    assert seen[1].startswith("HTTP/1.1 503 Too many connections Corral: this workload has 256 connections")
    assert seen[-1] == "HTTP/1.1 200 Connected"


def test_a_slow_name_or_host_does_not_hold_up_the_others(cage_on_street: Cage) -> None:
    printed = cage_on_street.drive(
        """
        from corral.engines.local.doors import proxy
        real = proxy.connect
        def connect(host, port, allowed):
            if host == "slow.example":
                time.sleep(600)
            return real(host, port, allowed)
        proxy.connect = connect
        box.open_door()
        print(box.run(box.python, "-I", "-c", program))
        """,
        out_door=True,
        program=CLIENT
        + """
waiting = proxy()
waiting.sendall(b"CONNECT slow.example:7 HTTP/1.1\\r\\n\\r\\n")
print(tunnel("public.example")[1])
""",
    )
    assert printed.strip() == "(0, 'HTTP/1.1 200 Connected\\n')"


def test_a_connection_that_asks_for_nothing_is_closed(cage_on_street: Cage) -> None:
    printed = cage_on_street.drive(
        """
        from corral.engines.local.doors import proxy
        proxy.HEAD_SECONDS = 0.1
        box.open_door()
        print(box.run(box.python, "-I", "-c", program))
        """,
        out_door=True,
        program=CLIENT + "print(read(proxy()))",
    )
    assert printed.strip() == "(0, \"b''\\n\")"


def test_the_proxy_runs_as_the_workloads_user_without_privileges(cage_on_street: Cage) -> None:
    printed = cage_on_street.drive(
        """
        door = box.open_door()
        # It serves when it has given everything up.
        box.run(box.python, "-I", "-c", program)
        for line in open(f"/proc/{door}/status"):
            if line.split(":")[0] in ("Uid", "CapEff", "CapPrm", "NoNewPrivs", "Seccomp"):
                print(line.strip())
        """,
        out_door=True,
        program=CLIENT + 'ask("nonsense")',
    )
    uid = cage_on_street.uid
    none = "0000000000000000"
    assert printed.splitlines() == [
        f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}",
        f"CapPrm:\t{none}",
        f"CapEff:\t{none}",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
    ]


def test_the_proxy_ends_with_the_engine(cage_on_street: Cage) -> None:
    printed = cage_on_street.drive(
        """
        ours, theirs = os.pipe()
        engine = os.fork()
        if engine == 0:
            door = box.open_door()
            box.run(box.python, "-I", "-c", program)
            os.write(theirs, str(door).encode())
            os._exit(0)
        os.waitpid(engine, 0)
        # Its parent is gone: whether it has ended is told by its listening socket, which nobody else has.
        box.attempt.door.close()
        limit = time.monotonic() + 10
        while (answer := box.run(box.python, "-I", "-c", program))[0] == 0 and time.monotonic() < limit:
            pass
        print(answer)
        """,
        out_door=True,
        program=CLIENT + 'ask("nonsense")',
    )
    assert "Connection refused" in printed
