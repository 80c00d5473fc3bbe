"""The door out: programs inside reach public hosts through a proxy, and nothing else.

    door = door_out.start(attempt, uid, gid, allowed=("10.1.0.0/16", "mirror.lab"), cgroups=(...,))
    environment |= door_out.variables()
    ...
    os.waitpid(door, 0)                    # after killing it; it also ends with this process

The attempt's namespaces are made with the listening socket in them; this starts the process that serves it,
outside. It reads what hostile programs write, so it runs as the workload's user, without privileges and under
the same filter of system calls. No raw TCP or UDP and no DNS get out.
"""

import contextlib
import itertools
import os
import signal
from collections.abc import Sequence
from mmap import mmap

from corral.engines.local.kernel import seccomp, syscalls
from corral.engines.local.records import tally
from corral.engines.local.sandbox.bubblewrap import Mode
from corral.engines.local.sandbox.launch import (
    HIGHEST_DESCRIPTOR,
    enter_cgroups,
    limit_resources,
    reset_signals,
)
from corral.engines.local.sandbox.namespaces import OUT_DOOR, Attempt, fork_and_exit

MOST_REFUSALS = 20
MOST_REFUSAL_BYTES = 500


def variables() -> dict[str, str]:
    """The environment that makes programs use the door."""
    address = f"http://{OUT_DOOR[0]}:{OUT_DOOR[1]}"
    local = "localhost,127.0.0.1,::1"
    upper = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "NO_PROXY": local}
    return upper | {name.lower(): value for name, value in upper.items()}


def start(
    attempt: Attempt,
    uid: int,
    gid: int,
    *,
    allowed: Sequence[str],
    cgroups: Sequence[str] = (),
    relayed: mmap | None = None,
    refusals: int | None = None,
) -> int:
    """Serves the attempt's door in a child, whose pid it returns.

    `allowed` are private networks and names that may be reached; see `address_policy.read_allowed`. What
    passes is counted in `relayed`, see `tally`. Why a host was not reached is written to `refusals`,
    a line each.
    """
    parent = os.getpid()
    return fork_and_exit(lambda: _serve(attempt, uid, gid, allowed, cgroups, relayed, refusals, parent))


def _serve(
    attempt: Attempt,
    uid: int,
    gid: int,
    allowed: Sequence[str],
    cgroups: Sequence[str],
    relayed: mmap | None,
    refusals: int | None,
    parent: int,
) -> None:
    # Here, so that supervisors stay small; and before privileges go, because the files may be root's.
    from corral.engines.local.doors import address_policy, proxy

    assert attempt.door is not None
    enter_cgroups(cgroups)
    os.setsid()
    reset_signals()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the supervisor's own handler would stay: nothing follows
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    limit_resources()
    listener = attempt.door.dup()
    _close_all_but(listener.fileno(), *(() if refusals is None else (refusals,)))
    if attempt.mode is Mode.ROOT:
        syscalls.empty_bounding_set()
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    syscalls.hide_from_others()
    syscalls.drop_capabilities()
    syscalls.filter_calls(seccomp.program(os.uname().machine))
    # After the change of user, which takes it back.
    syscalls.die_with_parent(parent)
    reach = address_policy.read_allowed(allowed)
    counted = None if relayed is None else tally.RelayedBytes(relayed)
    told_no = None if refusals is None else _Refusals(refusals).write
    proxy.Proxy(listener, lambda host, port: proxy.connect(host, port, reach), counted, told_no).serve()


class _Refusals:
    """Each once, and not too many; who does not read them misses them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._written: set[str] = set()

    def write(self, words: str) -> None:
        if words not in self._written and len(self._written) < MOST_REFUSALS:
            self._written.add(words)
            with contextlib.suppress(BlockingIOError):
                os.write(self._descriptor, words.encode()[:MOST_REFUSAL_BYTES] + b"\n")


def _close_all_but(*kept: int) -> None:
    silence = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        if number not in kept:
            os.dup2(silence, number)
    for before, after in itertools.pairwise((2, *sorted(kept), HIGHEST_DESCRIPTOR)):
        os.closerange(before + 1, after)
