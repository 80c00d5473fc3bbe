"""Whether sandboxes can be started here, found by starting one, and in words what to do when they cannot.

`trial` runs as a program of its own: it forks, which a server with threads must not do.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_LIMIT_SECONDS = 30
_SYS_ADMIN = 21
_CONTAINER_REMEDY = (
    "Run Corral on the machine itself, or start the container with --cap-add SYS_ADMIN "
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined."
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why no sandbox can be started, and what to do."""

    found: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What decides whether a process may make namespaces. Settings of the kernel are None where absent."""

    is_root: bool
    may_administer: bool
    is_filtered: bool
    in_container: bool
    user_namespaces: int | None
    unprivileged: int | None
    restricted: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Where the trial ended: at files, programs, namespaces, sandbox or inside."""

    step: str
    said: str


def ask() -> Problem | None:
    """Starts a sandbox; None when it worked and is as it should be."""
    trial = Path(__file__).with_name("trial.py")
    try:
        done = subprocess.run(  # noqa: S603 - our own file
            [sys.executable, "-I", "-S", str(trial)],
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Problem("a sandbox was started and did not end", "See the kernel log: dmesg.")
    if done.returncode:
        return Problem(f"no sandbox could be tried: {_last_line(done.stderr)}", "Report this as a fault.")
    result = json.loads(done.stdout)
    if "step" not in result:
        return None
    return explain(Failure(result["step"], result["said"]), look_at_rights())


def look_at_rights() -> Facts:
    status = dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line
    )
    return Facts(
        is_root=os.geteuid() == 0,
        may_administer=bool(int(status["CapEff"], 16) >> _SYS_ADMIN & 1),
        is_filtered=status.get("Seccomp", "0").strip() != "0",
        in_container=any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))),
        user_namespaces=_setting("user/max_user_namespaces"),
        unprivileged=_setting("kernel/unprivileged_userns_clone"),
        restricted=_setting("kernel/apparmor_restrict_unprivileged_userns"),
    )


def explain(failure: Failure, facts: Facts) -> Problem:
    """The likeliest cause first; what the program said stays part of the answer."""
    message = _last_line(failure.said)
    if failure.step == "files":
        remedy = "Use Linux 5.6 or newer; in a container, a seccomp profile that allows openat2."
        return Problem(f"users' files cannot be opened safely: {message}", remedy)
    if failure.step == "programs":
        missing = "bubblewrap" if "bwrap" in message else "util-linux"
        return Problem(message.partition(":")[0], f"apt install {missing}")
    if "nknown option" in message:
        return Problem(f"bubblewrap is too old ({message})", "Install bubblewrap 0.8 or newer.")
    if failure.step == "inside":
        return Problem(f"the sandbox is not as tight as it must be: {message}", "Report this as a fault.")
    cause = _forbidden_to_root(facts) if facts.is_root else _forbidden_to_user(facts)
    if cause is None and "mount proc" in message:
        cause = Problem("a container hides parts of /proc, so that none can be mounted", _CONTAINER_REMEDY)
    if cause is None and facts.in_container:
        cause = Problem("the container that Corral runs in forbids namespaces", _CONTAINER_REMEDY)
    if cause is None:
        cause = Problem("namespaces cannot be made", "See the kernel log: dmesg.")
    return Problem(f"{cause.found} ({message})", cause.remedy)


def _forbidden_to_root(facts: Facts) -> Problem | None:
    if not facts.may_administer:
        found = "root has no CAP_SYS_ADMIN, as in a container without privileges"
        return Problem(found, _CONTAINER_REMEDY)
    if facts.is_filtered:
        return Problem("a seccomp profile, as of a container, forbids namespaces", _CONTAINER_REMEDY)
    return None


def _forbidden_to_user(facts: Facts) -> Problem | None:
    or_root = "or run Corral as root"
    if facts.user_namespaces == 0:
        remedy = f"sysctl -w user.max_user_namespaces=10000, {or_root}."
        return Problem("user namespaces are switched off", remedy)
    if facts.unprivileged == 0:
        remedy = f"sysctl -w kernel.unprivileged_userns_clone=1, {or_root}."
        return Problem("only root may make user namespaces", remedy)
    if facts.is_filtered:
        return Problem("a seccomp profile, as of a container, forbids namespaces", _CONTAINER_REMEDY)
    if facts.restricted == 1:
        remedy = f"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, {or_root}."
        return Problem("AppArmor lets only root make user namespaces that are good for anything", remedy)
    return None


def _setting(name: str) -> int | None:
    try:
        return int(Path("/proc/sys", name).read_text())
    except FileNotFoundError:
        return None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "nothing was said"
