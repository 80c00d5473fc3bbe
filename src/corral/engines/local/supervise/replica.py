"""One replica under supervision: its process, its output, what it says, how it ends."""

import contextlib
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

from corral.engines.local.files import quotas, user_files
from corral.engines.local.kernel.cgroups import Group
from corral.engines.local.records import durable_json, layout, tally
from corral.engines.local.records.segments import SegmentWriter
from corral.engines.local.records.spec import NO_SANDBOX, ReplicaSpec, Spec
from corral.engines.local.sandbox.launch import Replica
from corral.engines.local.sandbox.unsandboxed import UnsandboxedReplica
from corral.engines.local.supervise.event_loop import Clock, Loop, boot_time
from corral.engines.local.supervise.verdict import MEANS_NOT_FOUND, Facts, explain, judge, split_status
from corral.engines.local.supervise.workload_socket import WorkloadSocket

_READ_BYTES = 65536
_READS_AT_A_TIME = 16
_RUN_OTHERS = frozenset({"ash", "bash", "dash", "env", "ksh", "nice", "sh", "timeout", "xargs", "zsh"})
# Reading costs CPU outside of the work's own limit; who writes faster than this waits.
FLOOD_BYTES = 8 * 1024 * 1024
FLOOD_SECONDS = 0.1


class SupervisedReplica:
    """Phases are those of `interface.RunPhase`."""

    def __init__(
        self, loop: Loop, clock: Clock, directory: Path, sockets: Path, spec: Spec, index: int, group: Group
    ) -> None:
        self.spec: ReplicaSpec = spec.replicas[index]
        self.index = index
        self.group = group
        self.phase = "starting"
        self.since = clock.instant()
        self.started: int | None = None
        self.ready_since: int | None = None
        self.on_output: Callable[[bytes], None] | None = None
        self.told_to_go = False
        self.grace_over = False
        self.timed_out = False
        self.over_bound: str | None = None
        self.unsealed: str | None = None
        self._unreached: str | None = None
        self.workload_socket = WorkloadSocket(
            loop, clock, sockets / layout.WORKLOAD_SOCKET, directory / layout.said_name(index)
        )
        self._attempt = spec
        self._loop = loop
        self._clock = clock
        self._directory = directory
        self._output = SegmentWriter(directory / layout.output_name(index))
        self._pipe, self._write_end = os.pipe()
        os.set_blocking(self._pipe, False)
        self._window_began = 0.0
        self._read_in_window = 0
        self._process: Replica | UnsandboxedReplica | None = None
        self._main: int | None = None
        durable_json.reserve(directory, layout.exit_name(index))

    @property
    def output_descriptor(self) -> int:
        return self._write_end

    @property
    def process(self) -> Replica | UnsandboxedReplica | None:
        return self._process

    @property
    def ended(self) -> bool:
        return self.phase == "ended"

    def built(self, process: Replica | UnsandboxedReplica, on_end: Callable[[], None]) -> None:
        """The process is there and waits to be released."""
        self._process = process
        os.close(self._write_end)
        self._loop.watch(self._pipe, self._drain)
        self._main = os.pidfd_open(process.main)
        self._loop.watch_once(os.pidfd_open(process.pid), on_end)

    def release(self) -> None:
        assert self._process is not None
        self._enter("running")
        self.started = self.since
        if self.spec.readiness is None:
            self.ready_since = self.since
        self._process.release()

    def note_ready(self, ready: bool) -> bool:
        """Whether that is news."""
        if self.phase != "running" or ready == (self.ready_since is not None):
            return False
        self.ready_since = self._clock.instant() if ready else None
        return True

    def leave(self) -> None:
        """Tells it to go; it is its first process that is told, as it knows what to save."""
        self.told_to_go = True
        if self.phase != "ended":
            self._enter("leaving")
        self.ask_to_end()

    def ask_to_end(self) -> None:
        if self._main is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._main, signal.SIGTERM)

    def kill(self) -> None:
        """Ends everything inside."""
        if self.ended or self._process is None:
            return
        if isinstance(self._process, UnsandboxedReplica):
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        self.group.kill()

    def tell_unreached(self, because: str) -> None:
        """Its way out says why it did not reach a host: so does its output, and its end if it fails."""
        words = durable_json.bounded(because)
        self._unreached = self._unreached or words
        self._output.write(f"Corral: {words}\n".encode())

    def has_succeeded(self) -> bool:
        """Of a process that has ended and was not reaped yet."""
        assert self._process is not None
        found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        return found is not None and (found.si_code, found.si_status) == (os.CLD_EXITED, 0)

    def reap(self) -> None:
        """The process has ended: what is left is read, and what happened is written down, once."""
        assert self._process is not None
        _, status, use = os.wait4(self._process.pid, 0)
        if isinstance(self._process, UnsandboxedReplica):
            self._process.kill()
        self.group.kill()
        self._drain_rest()
        self.workload_socket.drain()
        code, number = split_status(status)
        facts = self._facts(exit_code=code, signal=number)
        self._end(facts, self._counters(use))

    def refuse(self, because: str) -> None:
        """It never began."""
        self.kill()
        if self._process is not None:
            os.wait4(self._process.pid, 0)
        else:
            os.close(self._write_end)
        last_line = self._drain_rest().decode("utf-8", "replace").strip().rpartition("\n")[2]
        self._end(self._facts(refused=f"{because} ({last_line})" if last_line else because), {})

    def _facts(
        self, *, exit_code: int | None = None, signal: int | None = None, refused: str | None = None
    ) -> Facts:
        killed = exit_code != 0 and self.group.out_of_memory_kills() > 0
        return Facts(
            exit_code=exit_code,
            signal=signal,
            told_to_go=self.told_to_go,
            grace_over=self.grace_over,
            said_done=self.workload_socket.done,
            out_of_memory=killed,
            timed_out=self.timed_out,
            memory_mib=self.spec.memory_mib,
            disk_mib=self.spec.disk_mib,
            time_limit_seconds=self._attempt.time_limit_seconds or 0,
            command=self.spec.command[0],
            missing=missing_file(self.spec.command, exit_code, self._attempt.workspace),
            refused=refused,
            unsealed=self.unsealed,
            over_bound=self.over_bound,
            unreached=self._unreached,
            at_bound=None if exit_code == 0 else quotas.reached(self._attempt.workspace, self._attempt.uid),
        )

    def _end(self, facts: Facts, counters: dict[str, int]) -> None:
        ending, detail = judge(facts)
        self._enter("ended")
        record = {
            "run": self.spec.run,
            "ending": ending,
            "detail": durable_json.bounded(detail),
            "explanation": durable_json.bounded(explain(facts)),
            "exit_code": facts.exit_code,
            "signal": facts.signal,
            "out_of_memory": facts.out_of_memory,
            "timed_out": facts.timed_out,
            "said_done": facts.said_done,
            "started": self.started,
            "ended": self.since,
            "ended_mark": self._clock.mark_of(self.since),
            "usage": counters,
            "output_bytes": self._output.offset,
            "output_dropped": self._output.dropped,
        }
        durable_json.fill_reserved(self._directory, layout.exit_name(self.index), record)
        self._close()

    def _counters(self, use: resource.struct_rusage) -> dict[str, int]:
        counters = self.group.counters()
        # Without a group only a plain process can be asked: what a sandbox used is not told to us.
        if "cpu_microseconds" not in counters and isinstance(self._process, UnsandboxedReplica):
            counters["cpu_microseconds"] = round((use.ru_utime + use.ru_stime) * 1_000_000)
        if self.index == 0 and self._attempt.mode != NO_SANDBOX:
            counters |= tally.counters(self._directory)
        return counters | {"memory_bytes": 0, "processes": 0}

    def _close(self) -> None:
        self.workload_socket.close()
        self._output.close()
        if self._main is not None:
            os.close(self._main)
            self._main = None
        if self._process is not None:
            self._process.close()

    def _enter(self, phase: str) -> None:
        self.phase = phase
        self.since = self._clock.instant()
        self.ready_since = None

    def _drain(self) -> None:
        now = boot_time()
        if now - self._window_began > FLOOD_SECONDS:
            self._window_began, self._read_in_window = now, 0
        for _ in range(_READS_AT_A_TIME):
            if self._read_in_window >= FLOOD_BYTES:
                self._loop.unwatch(self._pipe)
                self._loop.after(FLOOD_SECONDS, self._drain_again)
                return
            try:
                data = os.read(self._pipe, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._loop.unwatch(self._pipe)
                return
            self._read_in_window += len(data)
            self._output.write(data)
            if self.on_output is not None:
                self.on_output(data)

    def _drain_again(self) -> None:
        if not self.ended:
            self._loop.watch(self._pipe, self._drain)

    def _drain_rest(self) -> bytes:
        """Reads what is left to read; returns the last piece of it."""
        last = b""
        self._loop.unwatch(self._pipe)
        with contextlib.suppress(BlockingIOError):
            # Without a sandbox something may have got away and write for ever.
            for _ in range(FLOOD_BYTES // _READ_BYTES):
                data = os.read(self._pipe, _READ_BYTES)
                if not data:
                    break
                self._output.write(data)
                last = data
        os.close(self._pipe)
        return last


def missing_file(command: tuple[str, ...], exit_code: int | None, workspace: str) -> str | None:
    """The file that a failed command names and that is not there: the program, or the script it was given.

    It is looked for in the workspace alone: behind a link there may be anything of this machine.
    """
    if exit_code == MEANS_NOT_FOUND:
        # What runs other programs says the same of those.
        return None if Path(command[0]).name in _RUN_OTHERS else command[0]
    if not exit_code or "python" not in Path(command[0]).name:
        return None
    script = next((word for word in command[1:] if not word.startswith("-")), None)
    options = command[1 : command.index(script)] if script is not None else ()
    if script is None or script.startswith("/") or ".." in script or {"-m", "-c"} & set(options):
        return None
    try:
        with user_files.opened_directory(workspace) as directory:
            return script if user_files.status(directory, script) is None else None
    except OSError:
        return None
