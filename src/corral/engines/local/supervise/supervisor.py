"""One attempt under supervision, from its start to the records of its end. It outlives Corral.

Alive is who holds the lock: `fcntl.lockf`, which goes with the process and is not shared with children. So a
second supervisor of an attempt ends before it has done anything, and a free lock without a record means lost.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from corral.engines.local.kernel.cgroup_roots import cgroup_roots_from
from corral.engines.local.kernel.cgroups import Group, Limits
from corral.engines.local.records import durable_json, layout, tally
from corral.engines.local.records.spec import Spec, spec_from
from corral.engines.local.sandbox.bubblewrap import SandboxRefused
from corral.engines.local.sandbox.exec_session import TerminalSize
from corral.engines.local.sandbox.namespaces import NamespaceFailed
from corral.engines.local.supervise import readiness, runtime_sealer
from corral.engines.local.supervise.control_socket import Control, Refused, Reply
from corral.engines.local.supervise.disk_watch import DiskWatch
from corral.engines.local.supervise.event_loop import Clock, Loop, boot_time
from corral.engines.local.supervise.inbound_sessions import InboundSessions
from corral.engines.local.supervise.outbound_door import OutboundDoor
from corral.engines.local.supervise.replica import SupervisedReplica
from corral.engines.local.supervise.replica_builder import Builder

TIME_LIMIT_GRACE_SECONDS = 10
SHUTDOWN_GRACE_SECONDS = 20
MOST_COMMANDS_BYTES = 1024 * 1024
_LOOK_SECONDS = 2
_REMOVE_TRIES = 40
_REMOVE_PAUSE_SECONDS = 0.005


class NotStarted(Exception):
    """Nothing was started, in words for whoever asked."""


def supervise(directory: Path, secrets: Sequence[Mapping[str, str]], ready: socket.socket) -> None:
    """The life of a supervisor. `ready` is told that it lives, or why not, and closed."""
    with ready:
        try:
            lock = take_lock(directory)
            content = durable_json.read(directory, layout.SPEC)
            if content is None:
                raise NotStarted("there is no intent to start anything")
            supervisor = Supervisor(directory, spec_from(content))
            supervisor.prepare()
        except (OSError, ValueError, NotStarted) as error:
            ready.sendall(json.dumps({"error": str(error)}).encode())
            return
        ready.sendall(json.dumps({"pid": os.getpid()}).encode())
    supervisor.launch(secrets)
    supervisor.run()
    os.close(lock)


def take_lock(directory: Path) -> int:
    """The lock of an attempt; it is ours until this process ends. Nobody may open that file again."""
    descriptor = os.open(directory / layout.LOCK, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The intent may have been withdrawn between opening and locking.
        if (directory / layout.LOCK).stat().st_ino != os.fstat(descriptor).st_ino:
            raise NotStarted("the intent was withdrawn")
    except (OSError, NotStarted):
        os.close(descriptor)
        raise
    return descriptor


def _number(command: dict[str, object], name: str) -> int:
    value = command[name]
    if not isinstance(value, int) or value < 0:
        raise TypeError(f"{name} is a whole number")
    return value


class Supervisor:
    def __init__(self, directory: Path, spec: Spec) -> None:
        self.spec = spec
        self._directory = directory
        self._sockets = Path(spec.sockets)
        self._loop = Loop()
        self._clock = Clock()
        self._bases = cgroup_roots_from(spec.groups)
        self._sessions = InboundSessions(self._loop, spec)
        self._door = OutboundDoor(self._loop, spec, Group(self._bases, layout.door_group_name(spec.attempt)))
        self._builder = Builder(spec, self._door)
        self._disk: DiskWatch | None = None
        self._journal = -1
        self._control: Control
        self.replicas: list[SupervisedReplica] = []

    def prepare(self) -> None:
        """Everything that can fail for reasons of this machine, before anything has started."""
        begun: dict[str, object] = {
            "boot_id": self._clock.boot_id,
            "pid": os.getpid(),
            "at": self._clock.instant(),
        }
        if not durable_json.write_once(self._directory, layout.BEGUN, begun):
            raise NotStarted("this attempt was begun before")
        commands = self._directory / layout.COMMANDS
        self._journal = os.open(commands, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._door.relayed = tally.make(self._directory)
        self._sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        for index, replica in enumerate(self.spec.replicas):
            sockets = self._sockets / str(index)
            sockets.mkdir(exist_ok=True)
            sockets.chmod(0o755)  # whatever the umask: another uid finds its socket there
            group = Group(self._bases, layout.group_name(self.spec.attempt, index))
            group.create(Limits(replica.cpu_milli, replica.memory_mib, replica.processes))
            self.replicas.append(
                SupervisedReplica(self._loop, self._clock, self._directory, sockets, self.spec, index, group)
            )
        if self.spec.builds is not None:
            # Installers show that there is an error on the way out, and not what it says.
            self._door.on_refusal = self.replicas[0].tell_unreached
        self._control = Control(self._loop, self._sockets / layout.CONTROL_SOCKET, self._state)
        self._control.handlers = {
            "signal": self._signal,
            "kill": self._kill,
            "dial": self._dial,
            "execute": self._execute,
        }
        self._listen_to_shutdown()

    def launch(self, secrets: Sequence[Mapping[str, str]]) -> None:
        """Builds every replica, then lets all begin; if one cannot be built, none begins."""
        try:
            self._sessions.shared = self._builder.open_shared()
            for replica, secret in zip(self.replicas, secrets, strict=True):
                self._build(replica, secret)
        except (OSError, SandboxRefused, NamespaceFailed) as error:
            for replica in self.replicas:
                replica.refuse(str(error))
            return
        for replica in self.replicas:
            if not replica.told_to_go:
                replica.release()
        for replica in self.replicas:
            readiness.watch(self._loop, replica, self._sessions.shared, self._control.tell)
        self._disk = DiskWatch(self._loop, self.spec, self.replicas, self._directory)
        self._disk.start()
        if self.spec.time_limit_seconds is not None:
            self._loop.after(self.spec.time_limit_seconds, self._time_is_over)
        self._loop.after(_LOOK_SECONDS, self._end_without_directory)
        self._control.tell()

    def run(self) -> None:
        while not all(replica.ended for replica in self.replicas):
            self._loop.turn()
        self._control.close()
        self._door.close()
        self._remove_groups()
        shutil.rmtree(self._sockets, ignore_errors=True)

    def _build(self, replica: SupervisedReplica, secrets: Mapping[str, str]) -> None:
        entrances = replica.group.entrances
        process = self._builder.build(replica.index, secrets, replica.output_descriptor, entrances)
        replica.built(process, lambda: self._ended(replica))
        replica.group.limit_cpu(replica.spec.cpu_milli)

    def _ended(self, replica: SupervisedReplica) -> None:
        def write_down() -> None:
            self._door.hear()
            replica.reap()
            self._control.tell()

        def sealed(problem: str | None) -> None:
            replica.unsealed = problem
            write_down()

        def keep() -> None:
            if self.spec.sealed is not None and replica.has_succeeded():
                runtime_sealer.start(self._loop, self.spec, self._directory, replica.group, sealed)
            else:
                write_down()

        if self._disk is not None and all(other.ended for other in self.replicas if other is not replica):
            self._disk.look_at_the_end(keep)
        else:
            keep()

    def _state(self) -> dict[str, object]:
        return {
            "replicas": [
                {
                    "phase": replica.phase,
                    "since": replica.since,
                    "started": replica.started,
                    "ready_since": replica.ready_since,
                }
                for replica in self.replicas
            ]
        }

    # Commands. They are written down before they are carried out; each may come again.

    def _signal(self, command: dict[str, object], reply: Reply) -> None:
        grace = _number(command, "grace_seconds")
        chosen = [replica for replica in self._chosen(command) if not replica.told_to_go]
        self._tell_to_go(chosen, grace)
        reply({"ok": True}, [])

    def _kill(self, command: dict[str, object], reply: Reply) -> None:
        chosen = self._chosen(command)
        self._write_down({"do": "kill", "replicas": [replica.index for replica in chosen]})
        for replica in chosen:
            if not replica.told_to_go:
                replica.leave()
            replica.kill()
        self._control.tell()
        reply({"ok": True}, [])

    def _dial(self, command: dict[str, object], reply: Reply) -> None:
        self._check_open()
        self._sessions.dial(self._one(command), _number(command, "port"), reply)

    def _execute(self, command: dict[str, object], reply: Reply) -> None:
        words, size = command["command"], command.get("terminal")
        if not isinstance(words, list) or not words:
            raise TypeError("command is a list of words")
        self._check_open()
        replica = self._one(command)
        terminal = None
        environment = self._builder.environment(replica.index)
        if isinstance(size, dict):
            terminal = TerminalSize(_number(size, "rows"), _number(size, "columns"))
            environment = {"TERM": "xterm-256color", **environment}
        self._sessions.execute(replica, tuple(map(str, words)), environment, terminal, reply)

    def _check_open(self) -> None:
        """What a build makes is used by other work: nothing but its own command has a hand in it."""
        if self.spec.builds is not None:
            raise Refused("this is the build of a runtime, and nobody enters it: its output says how it goes")

    def _one(self, command: dict[str, object]) -> SupervisedReplica:
        return self.replicas[_number(command, "replica")]

    def _chosen(self, command: dict[str, object]) -> list[SupervisedReplica]:
        indices = command["replicas"]
        if not isinstance(indices, list):
            raise TypeError("replicas is a list of numbers")
        return [self.replicas[index] for index in indices if not self.replicas[index].ended]

    def _tell_to_go(self, replicas: list[SupervisedReplica], grace_seconds: int) -> None:
        if not replicas:
            return
        indices = [replica.index for replica in replicas]
        self._write_down({"do": "signal", "replicas": indices, "grace_seconds": grace_seconds})
        for replica in replicas:
            replica.leave()
        self._control.tell()

        def end_grace() -> None:
            for replica in replicas:
                if not replica.ended:
                    replica.grace_over = True
                    replica.kill()

        self._loop.after(grace_seconds, end_grace)

    def _write_down(self, entry: dict[str, object]) -> None:
        line = json.dumps({"version": durable_json.VERSION, "at": self._clock.instant(), **entry})
        with contextlib.suppress(OSError):  # a full disk does not keep work from being told to go
            if os.fstat(self._journal).st_size < MOST_COMMANDS_BYTES:
                os.write(self._journal, line.encode() + b"\n")
                os.fsync(self._journal)

    def _time_is_over(self) -> None:
        late = [replica for replica in self.replicas if not replica.ended and not replica.told_to_go]
        for replica in late:
            replica.timed_out = True
            replica.ask_to_end()

        def end() -> None:
            for replica in late:
                replica.kill()

        self._loop.after(TIME_LIMIT_GRACE_SECONDS, end)

    def _end_without_directory(self) -> None:
        """A Corral that starts later knows of nothing whose directory was removed, and would run it twice."""
        try:
            (self._directory / layout.LOCK).stat()
        except FileNotFoundError:
            # Only moved elsewhere, it still has names for its files.
            removed = os.fstat(self._journal).st_nlink == 0
            for replica in self.replicas:
                if removed and not replica.ended:
                    replica.kill()
        except OSError:
            pass  # a disk that does not answer is not one without the directory
        self._loop.after(_LOOK_SECONDS, self._end_without_directory)

    def _listen_to_shutdown(self) -> None:
        """The machine goes down: everything is told to go. Other signals are not for us."""
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: None)

        def shut_down() -> None:
            with contextlib.suppress(BlockingIOError):
                os.read(reading, 64)
            going = [replica for replica in self.replicas if not replica.ended and not replica.told_to_go]
            self._tell_to_go(going, SHUTDOWN_GRACE_SECONDS)

        self._loop.watch(reading, shut_down)

    def _remove_groups(self) -> None:
        """The kernel needs a moment after the last process; what stays is removed with the attempt."""
        until = boot_time() + _REMOVE_TRIES * _REMOVE_PAUSE_SECONDS
        left = [self._door.group, *(replica.group for replica in self.replicas)]
        while left and boot_time() < until:
            left = [group for group in left if not group.remove()]
            if left:
                time.sleep(_REMOVE_PAUSE_SECONDS)
