"""What a sandbox and its doors cost, beside a plain process and a plain bubblewrap in the same run.

    uv run python -m benchmarks.sandbox [--rounds 50] [--user UID]

As root with `--user` it becomes that uid first and measures what an ordinary user has. CPU is that of this
process and of everything it started and waited for.
"""

import argparse
import ctypes
import encodings.idna  # noqa: F401 - sockets load it when they first meet a name, which may be too late
import os
import resource
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from corral.engines.local.doors import inbound, outbound, proxy
from corral.engines.local.sandbox import exec_session, launch, namespaces
from corral.engines.local.sandbox.bubblewrap import Host, Mode, Sandbox, base_environment, look_at_host

WORKLOAD_UID = 54322
RELAYED_BYTES = 512 << 20


class Bench:
    def __init__(self, rounds: int, directory: Path) -> None:
        self.rounds = rounds
        self.mode = Mode.ROOT if os.geteuid() == 0 else Mode.USER
        self.uid = WORKLOAD_UID if self.mode is Mode.ROOT else os.getuid()
        self.directory = directory
        for name in ("shm", "workspace"):
            (directory / name).mkdir()
        self.host: Host = look_at_host()
        self.attempt = self.open()
        self.silence = os.open("/dev/null", os.O_RDWR)

    def open(self) -> namespaces.Attempt:
        return namespaces.open_attempt(self.mode, str(self.directory / "shm"), 64, out_door=True)

    def sandbox(self, *command: str) -> Sandbox:
        workspace, shm = str(self.directory / "workspace"), str(self.directory / "shm")
        return Sandbox(self.mode, self.uid, self.uid, "bench", command, workspace, shm)

    def start(self, *command: str) -> launch.Replica:
        sandbox = self.sandbox(*command)
        stdio = (self.silence, self.silence, self.silence)
        return launch.start(self.host, sandbox, self.attempt, base_environment(sandbox), stdio=stdio)

    def run(self) -> None:
        replica = self.start("true")
        replica.release()
        os.waitpid(replica.pid, 0)
        replica.close()

    def visit(self, replica: launch.Replica) -> None:
        environment = base_environment(self.sandbox("true"))
        visit = exec_session.ExecRequest(self.uid, self.uid, ("true",), environment)
        stdio = (self.silence, self.silence, self.silence)
        session = exec_session.begin(replica.inside, self.attempt, visit, stdio).finish()
        os.waitpid(session.pid, 0)

    def measure(self, name: str, act: Callable[[], object]) -> None:
        act()
        times, before = [], _cpu_seconds()
        for _ in range(self.rounds):
            began = time.perf_counter()
            act()
            times.append(time.perf_counter() - began)
        cpu = (_cpu_seconds() - before) / self.rounds
        print(
            f"{name:44} {min(times) * 1000:7.1f} {statistics.median(times) * 1000:8.1f} {cpu * 1000:8.1f}",
            flush=True,
        )


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _measure_all(bench: Bench) -> None:
    print(f"as {bench.mode}: milliseconds, best and median of {bench.rounds}, and CPU")
    bench.measure("a plain process", lambda: subprocess.run(["/bin/true"], check=True))
    plain = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "/bin/true"]
    bench.measure("a plain bubblewrap", lambda: subprocess.run(plain, check=True))
    bench.measure("namespaces of an attempt", lambda: bench.open().close())
    bench.measure("a sandbox, from start to end of `true`", bench.run)
    replica = bench.start("sh", "-c", "while :; do sleep 1000; done")
    replica.release()
    bench.measure("a second command in it", lambda: bench.visit(replica))
    listener = _listen_inside(bench.attempt)
    bench.measure("dial", lambda: inbound.dial(bench.attempt, 8888).close())
    listener.close()
    os.kill(replica.pid, 9)
    os.waitpid(replica.pid, 0)
    bench.measure("the proxy, until it has answered", lambda: _ask_proxy(bench))
    _measure_relay()


def _listen_inside(attempt: namespaces.Attempt) -> socket.socket:
    """A listening socket in the attempt's network; what is accepted is closed."""
    ours, theirs = socket.socketpair()

    def listen() -> None:
        attempt.join("net")
        server = socket.create_server(("127.0.0.1", 8888), backlog=4096)
        socket.send_fds(theirs, [b"x"], [server.fileno()])

    pid = namespaces.fork_and_exit(listen)
    _, (fd,), _, _ = socket.recv_fds(ours, 1, 1)
    os.waitpid(pid, 0)
    return socket.socket(fileno=fd)


def _ask_proxy(bench: Bench) -> None:
    door = outbound.start(bench.attempt, bench.uid, bench.uid, allowed=())
    with inbound.dial(bench.attempt, namespaces.OUT_DOOR[1]) as asking:
        asking.sendall(b"CONNECT 127.0.0.1:80 HTTP/1.1\r\n\r\n")
        assert asking.recv(100).startswith(b"HTTP/1.1 403")
    os.kill(door, 9)
    os.waitpid(door, 0)


def _measure_relay() -> None:
    """How fast bytes pass through the proxy, between two sockets of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as far, socket.create_server(("127.0.0.1", 0)) as door:
        address = far.getsockname()
        serving = namespaces.fork_and_exit(
            lambda: proxy.Proxy(door, lambda *_: socket.create_connection(address)).serve()
        )
        with socket.create_connection(door.getsockname()) as near:
            near.sendall(b"CONNECT far.example:1 HTTP/1.1\r\n\r\n")
            near.recv(100)
            began = time.perf_counter()
            sender = threading.Thread(target=_pour, args=(near,))
            sender.start()
            connection, _ = far.accept()
            with connection:
                while connection.recv(1 << 20):
                    pass
            sender.join()
            seconds = time.perf_counter() - began
        os.kill(serving, 9)
        _, _, used = os.wait4(serving, 0)
    mib = RELAYED_BYTES >> 20
    cpu = used.ru_utime + used.ru_stime
    print(f"relaying: {mib / seconds:.0f} MiB/s, {cpu / mib * 1024:.2f} s of the proxy's CPU per GiB")


def _pour(near: socket.socket) -> None:
    block = bytes(1 << 20)
    for _ in range(RELAYED_BYTES >> 20):
        near.sendall(block)
    near.shutdown(socket.SHUT_WR)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    # Changing the uid makes a process undumpable, and that keeps it from its own /proc/self/uid_map.
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--user", type=int)
    chosen = parser.parse_args()
    if chosen.user is not None:
        _become(chosen.user)
    with tempfile.TemporaryDirectory(prefix="corral-bench-") as directory:
        _measure_all(Bench(chosen.rounds, Path(directory)))


if __name__ == "__main__":
    main()
