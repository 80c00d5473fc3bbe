"""A network for tests: the engine's machine and a neighbour, joined by a cable, apart from everything else.

The machine has a file of names of its own. Nothing leaves this computer, and nothing on it is changed.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

MACHINE = "10.77.0.1"
NEIGHBOUR = "10.77.0.2"
MACHINE_PUBLIC = "93.184.215.1"
NEIGHBOUR_PUBLIC = "93.184.215.2"
_NAMES = f"""\
127.0.0.1 localhost
{NEIGHBOUR} mirror.lab
{NEIGHBOUR_PUBLIC} public.example
127.0.0.1 rebound.example
127.0.0.1 both.example
{NEIGHBOUR_PUBLIC} both.example
169.254.169.254 metadata.example
"""

_ECHO = """
import http.server, socket, socketserver, sys, threading

class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        everything = self.rfile.read()
        self.wfile.write(everything.upper())

class Mirror(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        length = int(self.headers.get("Content-Length", 0))
        text = f"{self.requestline}\\n{self.headers}{self.rfile.read(length).decode()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    do_POST = do_GET
    def log_message(self, *words):
        pass

class Echoes(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 500

echo = Echoes(("0.0.0.0", 7), Echo)
threading.Thread(target=echo.serve_forever, daemon=True).start()
mirror = http.server.ThreadingHTTPServer(("0.0.0.0", 80), Mirror)
print("up", flush=True)
mirror.serve_forever()
"""


@dataclass(frozen=True)
class Street:
    """Processes that live in each network, by which others find it."""

    machine: int
    neighbour: int

    def on_machine(self, command: list[str]) -> list[str]:
        return ["nsenter", "--net", "--mount", f"--target={self.machine}", "--wd=/", "--", *command]

    def at_neighbour(self, command: list[str]) -> list[str]:
        return ["nsenter", "--net", f"--target={self.neighbour}", "--", *command]


@contextmanager
def street() -> Iterator[Street]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="corral-street-"))
        names = Path(folder) / "hosts"
        names.write_text(_NAMES)
        names.chmod(0o644)
        # The files of the machine are needed as they are, but for its names.
        own_names = f"mount --bind {names} /etc/hosts && echo up && exec cat"
        machine = _keep(stack, ["unshare", "--net", "--mount", "sh", "-c", own_names])
        neighbour = _keep(stack, ["unshare", "--net", "sh", "-c", "echo up && exec cat"])
        there = Street(machine.pid, neighbour.pid)
        cable = f"ip link add eth0 type veth peer name eth0 netns {neighbour.pid}"
        _do(there.on_machine(cable.split()))
        for on, addresses in (
            (there.on_machine, (MACHINE, MACHINE_PUBLIC)),
            (there.at_neighbour, (NEIGHBOUR, NEIGHBOUR_PUBLIC)),
        ):
            for address in addresses:
                _do(on(f"ip address add {address}/24 dev eth0".split()))
            for link in ("lo", "eth0"):
                _do(on(f"ip link set {link} up".split()))
        _keep(stack, there.at_neighbour([sys.executable, "-I", "-c", _ECHO]))
        yield there


def _keep(stack: ExitStack, command: list[str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stack.enter_context(process)
    stack.callback(process.kill)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def _do(command: list[str]) -> None:
    subprocess.run(command, check=True)
