"""What an ending means, in words: a pure function of what was seen."""

import signal
from dataclasses import dataclass

from corral.engines.local.files.disk_count import Count

_MIB = 2**20

MEANS_NOT_EXECUTABLE = 126
MEANS_NOT_FOUND = 127
SIGNAL_BASE = 128


@dataclass(frozen=True, slots=True)
class Facts:
    """What the supervisor saw of the end of a replica. `missing` is a file that its command names in vain.

    `refused` says why it never began, `unsealed` why the environment that it built cannot be kept;
    `over_bound` says what it had on disk when that was found to be too much, `at_bound` which limit of the
    kernel's left no room on disk when it ended, `unreached` why it did not reach a host.
    """

    exit_code: int | None = None
    signal: int | None = None
    told_to_go: bool = False
    grace_over: bool = False
    said_done: bool = False
    out_of_memory: bool = False
    timed_out: bool = False
    memory_mib: int = 0
    disk_mib: int = 0
    time_limit_seconds: int = 0
    command: str = ""
    missing: str | None = None
    refused: str | None = None
    unsealed: str | None = None
    over_bound: str | None = None
    at_bound: str | None = None
    unreached: str | None = None


def split_status(status: int) -> tuple[int | None, int | None]:
    """(exit code, signal) of a wait status; code 128 + n is signal n, as shells and bubblewrap say it."""
    if status >= 0 and (status & 0x7F) == 0:
        code = status >> 8
        number = code - SIGNAL_BASE
        if number in signal.valid_signals():
            return None, number
        return code, None
    return None, status & 0x7F


def judge(facts: Facts) -> tuple[str, str]:
    """(ending, detail). After the notice every end is a suspension, unless the work said that it is done."""
    if facts.refused is not None:
        return "refused", facts.refused
    if facts.over_bound is not None:
        return "failed", facts.over_bound
    if facts.timed_out:
        return "failed", f"reached its time limit of {in_words(facts.time_limit_seconds)}"
    if facts.unsealed is not None and not facts.told_to_go:
        return "failed", _unsealed(facts)
    if facts.said_done and not facts.exit_code and facts.unsealed is None:
        return "succeeded", ""
    if facts.told_to_go:
        return "suspended", _leaving(facts)
    if facts.exit_code == 0:
        return "succeeded", ""
    return "failed", _failure(facts)


def explain(facts: Facts) -> str:
    """What exit code, signal, memory and time limit do not say of a failure; empty if they say it all."""
    if facts.over_bound is not None:
        return facts.over_bound
    if facts.timed_out:
        return ""
    if facts.unsealed is not None:
        return _unsealed(facts)
    if facts.exit_code == 0:
        return ""
    return "; ".join(part for part in (_command(facts), _because(facts)) if part is not None)


def over_workspace(count: Count, most_mib: int, most_files: int) -> str | None:
    """What is too much in a workspace; None if nothing is."""
    mib, unnamed = count.bytes // _MIB, count.unnamed_bytes // _MIB
    if mib > most_mib:
        part = f" ({unnamed} MiB of it deleted and still open)" if unnamed else ""
        return f"wrote {mib} MiB{part}, its disk limit is {most_mib} MiB"
    if most_files and count.files > most_files:
        return f"made {count.files} files and directories, its limit is {most_files}"
    return None


def unseen_in_flight(count: Count, uncounted_mib: int, most_mib: int) -> str | None:
    """Of work that keeps files open where nobody can look at them, while the disk fills up."""
    if uncounted_mib <= most_mib:
        return None  # whatever they hold, it is not much
    return (
        f"{count.unseen} open files wait in its sockets, where they cannot be counted, and the disk has lost "
        f"{uncounted_mib} MiB that nobody knows of; its disk limit is {most_mib} MiB"
    )


def over_home(count: Count, most_mib: int, most_files: int) -> str | None:
    subject = "the home of its owner holds"
    if count.bytes // _MIB > most_mib:
        return f"{subject} {count.bytes // _MIB} MiB, its limit is {most_mib} MiB: remove files there"
    if most_files and count.files > most_files:
        return f"{subject} {count.files} files and directories, its limit is {most_files}: remove some there"
    return None


def over_person(count: Count, most_mib: int, most_files: int) -> str | None:
    """The same of all workspaces of one person together; 0 sets no bound."""
    subject, remedy = "the workspaces of its owner hold", "delete work that is over"
    if most_mib and count.bytes // _MIB > most_mib:
        return f"{subject} {count.bytes // _MIB} MiB together, the limit is {most_mib} MiB: {remedy}"
    if most_files and count.files > most_files:
        return f"{subject} {count.files} files together, the limit is {most_files}: {remedy}"
    return None


def in_words(seconds: int) -> str:
    """1 h 30 min, 45 s."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"


def _leaving(facts: Facts) -> str:
    if facts.grace_over:
        return "was told to go and did not in its grace"
    if facts.exit_code:
        return f"left when it was told to, with {_failure(facts)}"
    return "left when it was told to"


def _unsealed(facts: Facts) -> str:
    return f"the runtime cannot be kept: {facts.unsealed}"


def _failure(facts: Facts) -> str:
    because = _because(facts)
    return _end(facts) if because is None else f"{_end(facts)}; {because}"


def _because(facts: Facts) -> str | None:
    return None if facts.out_of_memory else facts.at_bound or facts.unreached


def _end(facts: Facts) -> str:
    if facts.out_of_memory:
        return f"out of memory at its limit of {facts.memory_mib} MiB"
    if facts.signal is not None:
        return f"ended by signal {facts.signal} ({_name(facts.signal)})"
    return _command(facts) or f"exit code {facts.exit_code}"


def _command(facts: Facts) -> str | None:
    """What is wrong with the command itself, as far as its exit code tells."""
    if facts.out_of_memory or facts.signal is not None:
        return None
    if facts.missing is not None:
        return f"cannot find file {facts.missing}"
    return f"cannot execute {facts.command}" if facts.exit_code == MEANS_NOT_EXECUTABLE else None


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "real-time"
