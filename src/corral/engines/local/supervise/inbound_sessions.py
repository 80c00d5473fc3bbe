"""The supervisor's side of the doors in: connections to ports, and second commands in a running sandbox.

Neither is waited for: the child that does the work answers when it has. An open session has a channel to
whoever asked for it: its exit code goes there, and when that side hangs up the session is ended.
"""

import contextlib
import json
import os
import signal
import socket
from collections.abc import Mapping

from corral.engines.local.doors import inbound
from corral.engines.local.records.spec import Spec
from corral.engines.local.sandbox import exec_session, unsandboxed
from corral.engines.local.sandbox.launch import Replica
from corral.engines.local.sandbox.namespaces import Attempt
from corral.engines.local.supervise.control_socket import Refused, Reply
from corral.engines.local.supervise.event_loop import Loop
from corral.engines.local.supervise.replica import SupervisedReplica
from corral.engines.local.supervise.verdict import SIGNAL_BASE

MOST_DIALS = 64
MOST_SESSIONS = 32


class InboundSessions:
    """`shared` are the namespaces of the attempt; None without a sandbox."""

    def __init__(self, loop: Loop, spec: Spec) -> None:
        self.shared: Attempt | None = None
        self._loop = loop
        self._spec = spec
        self._dials = 0
        self._sessions = 0

    def dial(self, replica: SupervisedReplica, port: int, reply: Reply) -> None:
        if replica.process is None or replica.ended:
            raise Refused("the run has not begun or has ended")
        if self.shared is None:
            reply({"ok": True}, [_connect_plainly(port)])
            return
        if self._dials >= MOST_DIALS:
            raise Refused(f"{MOST_DIALS} connections are being opened already")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

        def answer(connected: socket.socket | None, reason: str) -> None:
            descriptors = [] if connected is None else [connected.fileno()]
            socket.send_fds(theirs, [reason.encode() or b"connected"], descriptors)

        with theirs:
            child = inbound.fork_dial(self.shared, port, answer)
        self._dials += 1

        def finish() -> None:
            self._loop.unwatch(ours.fileno())
            with ours:
                message, descriptors, _, _ = socket.recv_fds(ours, 4096, 1, socket.MSG_CMSG_CLOEXEC)
            os.waitpid(child, 0)
            self._dials -= 1
            problem = message.decode() or "the door could not be opened"
            reply({"ok": True} if descriptors else {"error": problem}, list(descriptors))

        self._loop.watch(ours.fileno(), finish)

    def execute(
        self,
        replica: SupervisedReplica,
        command: tuple[str, ...],
        environment: Mapping[str, str],
        terminal: exec_session.TerminalSize | None,
        reply: Reply,
    ) -> None:
        if replica.process is None or replica.phase not in ("running", "leaving"):
            raise Refused("the run has not begun or has ended")
        if self._sessions >= MOST_SESSIONS:
            raise Refused(f"{MOST_SESSIONS} sessions are open in this run already")
        if not isinstance(replica.process, Replica) or self.shared is None:
            self._execute_plainly(replica, command, environment, reply)
            return
        request = exec_session.ExecRequest(
            self._spec.uid, self._spec.gid, command, environment, terminal, replica.group.entrances
        )
        pipes = _Pipes() if terminal is None else None
        entering = exec_session.begin(
            replica.process.inside, self.shared, request, None if pipes is None else pipes.inner
        )
        if pipes is not None:
            pipes.close_inner()
        self._sessions += 1

        def finish() -> None:
            self._loop.unwatch(entering.channel.fileno())
            try:
                session = entering.finish()
            except exec_session.ExecRefused as refused:
                self._sessions -= 1
                if pipes is not None:
                    pipes.close_outer()
                reply({"error": str(refused)}, [])
                return
            outer = list(pipes.outer) if pipes is not None else [_present(session.terminal)]
            self._keep(session.pid, outer, reply)

        self._loop.watch(entering.channel.fileno(), finish)

    def _execute_plainly(
        self,
        replica: SupervisedReplica,
        command: tuple[str, ...],
        environment: Mapping[str, str],
        reply: Reply,
    ) -> None:
        """Without a sandbox a session is one more process. It has no terminal."""
        pipes = _Pipes()
        process = unsandboxed.start(
            command, self._spec.workspace, environment, stdio=pipes.inner, cgroups=replica.group.entrances
        )
        pipes.close_inner()
        process.release()
        self._sessions += 1
        self._keep(process.pid, list(pipes.outer), reply)

    def _keep(self, pid: int, outer: list[int], reply: Reply) -> None:
        """Hands the streams over and waits for the end of either side."""
        ours, theirs = socket.socketpair()
        ended = os.pidfd_open(pid)

        def hang_up() -> None:
            self._loop.unwatch(ours.fileno())
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

        def end() -> None:
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            self._loop.unwatch(ours.fileno())
            with contextlib.suppress(OSError):
                ours.send(json.dumps({"exit_code": SIGNAL_BASE - code if code < 0 else code}).encode())
            ours.close()
            self._sessions -= 1

        self._loop.watch(ours.fileno(), hang_up)
        self._loop.watch_once(ended, end)
        reply({"ok": True}, [theirs.detach(), *outer])


class _Pipes:
    """Three pipes: `inner` are the ends of the command, `outer` those of whoever talks to it."""

    def __init__(self) -> None:
        read_in, write_in = os.pipe()
        read_out, write_out = os.pipe()
        read_error, write_error = os.pipe()
        self.inner = (read_in, write_out, write_error)
        self.outer = (write_in, read_out, read_error)

    def close_inner(self) -> None:
        for descriptor in self.inner:
            os.close(descriptor)

    def close_outer(self) -> None:
        for descriptor in self.outer:
            os.close(descriptor)


def _connect_plainly(port: int) -> int:
    try:
        return socket.create_connection(("127.0.0.1", port), inbound.CONNECT_SECONDS).detach()
    except OSError as error:
        raise Refused(f"nothing listens on port {port}: {error.strerror}") from error


def _present(terminal: int | None) -> int:
    assert terminal is not None
    return terminal
