"""What a workload sees of this machine, as the arguments of bubblewrap.

`options` is a pure function of a `Sandbox` (what the workload may have) and a `Host` (what this machine
looks like, from `look_at_host`); `launch.start` carries it out:

    host = look_at_host()
    attempt = namespaces.open_attempt(Mode.ROOT, shm=f"{run}/shm", shm_mib=1024, out_door=True)
    replica = launch.start(host, sandbox, attempt, environment, stdio=(0, out, err), cgroups=(...,))
    replica.release()                      # until now the command has not begun
    os.waitpid(replica.pid, 0)             # its exit code is the command's; 128 + n after signal n
    os.kill(replica.main, signal.SIGTERM)  # the command itself; killing replica.pid empties the sandbox

Every module here uses the standard library only. The supervisor runs as `python -I -S`, so its entry file
appends the directory that holds `corral` to `sys.path`; the packages on the way hold words only.

The command begins in three steps: bubblewrap builds the sandbox, `setpriv` gives up what is left of root
(in `Mode.ROOT`), and a few lines of shell wait for `release`, take the environment and become the command.
The environment comes last because it is the user's: an `LD_PRELOAD` in it must not reach bubblewrap, which
runs outside, nor setpriv.
"""

import os.path
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shutil import which

WORKSPACE = "/workspace"
RELEASE_FD = 3  # a socket: the shell says that it is there, and is told to go on
ENVIRONMENT_FD = 4  # shell lines in memory
USER_NAME = "user"
HOME = f"/home/{USER_NAME}"

_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

# The workspace is entered here: it may be closed to everyone but its owner, bubblewrap's root included.
_BEGIN = (
    f"cd {WORKSPACE} || exit 125\n"
    f"printf r >&{RELEASE_FD} && read -r go <&{RELEASE_FD} || exit 125\n"
    f". /proc/self/fd/{ENVIRONMENT_FD} || exit 125\n"
    f'exec "$@" {RELEASE_FD}>&- {ENVIRONMENT_FD}<&-'
)

# The directories of a system that programs live in; links where they are links (/bin on most systems).
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

# All that is shown of /etc. No resolv.conf: there is no DNS inside. No pip.conf, gitconfig or the like:
# they may hold the administrator's credentials.
_ETC = (
    "/etc/alternatives",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/OpenCL",
    "/etc/os-release",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)

# How many processors and how much memory where; libraries of numerics ask for it.
_SYS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
# Where devices are plugged in; NCCL asks for it.
_SYS_OF_DEVICES = ("/sys/bus/pci", "/sys/class/pci_bus", "/sys/devices")


class Mode(StrEnum):
    """As root every Corral user has a uid of their own; as an ordinary user everything runs as that one."""

    ROOT = "root"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or directory of the host, at a place inside.

    Nobody but the engine may be able to exchange `source` or a directory above it: the path is followed as
    the engine's own user.
    """

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What one replica may have. Paths are absolute; `runtime` is an environment, which is read-only.

    `workspace` is the working directory, at /workspace; `home` at /home/user (without one, memory that goes
    with the sandbox). Both belong to `uid`. `devices` are paths such as /dev/nvidia0.
    """

    mode: Mode
    uid: int
    gid: int
    hostname: str
    command: tuple[str, ...]
    workspace: str
    shm: str
    home: str | None = None
    runtime: Bind | None = None
    binds: tuple[Bind, ...] = ()
    devices: tuple[str, ...] = ()
    tmp_mib: int = 1024


@dataclass(frozen=True, slots=True)
class Host:
    """What must be known of this machine: its programs, and which system directories are links to where."""

    bwrap: str
    setpriv: str
    links: tuple[tuple[str, str], ...]
    directories: tuple[str, ...]


class SandboxRefused(Exception):
    """A sandbox that cannot be, in words for whoever asked for it."""


def look_at_host() -> Host:
    """Finds bubblewrap and setpriv, which must be there, and the shape of the system's directories."""
    missing = [name for name in ("bwrap", "setpriv") if which(name) is None]
    if missing:
        package = {"bwrap": "bubblewrap", "setpriv": "util-linux"}[missing[0]]
        raise SandboxRefused(f"{missing[0]} is not installed: install the package {package}")
    present = [path for path in map(Path, _SYSTEM) if path.exists()]
    return Host(
        bwrap=which("bwrap") or "",
        setpriv=which("setpriv") or "",
        links=tuple((str(path), str(path.readlink())) for path in present if path.is_symlink()),
        directories=tuple(str(path) for path in present if not path.is_symlink()),
    )


def base_environment(sandbox: Sandbox) -> dict[str, str]:
    """What every command finds; the task's own variables go over it."""
    path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    names = {"HOME": HOME, "USER": USER_NAME, "LOGNAME": USER_NAME, "LANG": "C.UTF-8", "TMPDIR": "/tmp"}  # noqa: S108
    if sandbox.runtime is not None:
        prefix = sandbox.runtime.target
        return names | {"PATH": f"{prefix}/bin:{path}", "VIRTUAL_ENV": prefix}
    return names | {"PATH": path}


def environment_script(environment: Mapping[str, str]) -> bytes:
    """Shell lines that set the environment, whatever bytes the values hold."""
    lines = []
    for name, value in environment.items():
        if not _ENVIRONMENT_NAME.match(name):
            raise SandboxRefused(f"an environment variable cannot be called {name!r}")
        if "\0" in value:
            raise SandboxRefused(f"the environment variable {name} holds a zero byte")
        quoted = value.replace("'", "'\\''")
        lines.append(f"export {name}='{quoted}'\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


def files(sandbox: Sandbox) -> dict[str, bytes]:
    """The files of /etc that are made up."""
    people = f"{USER_NAME}:x:{sandbox.uid}:{sandbox.gid}:{USER_NAME}:{HOME}:/bin/sh\n"
    nobody = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    texts = {
        "/etc/passwd": f"root:x:0:0:root:/root:/usr/sbin/nologin\n{people}{nobody}",
        "/etc/group": f"root:x:0:\n{USER_NAME}:x:{sandbox.gid}:\nnogroup:x:65534:\n",
        "/etc/hosts": f"127.0.0.1 localhost {sandbox.hostname}\n::1 localhost\n",
        "/etc/hostname": f"{sandbox.hostname}\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    return {path: text.encode() for path, text in texts.items()}


def options(host: Host, sandbox: Sandbox, file_fds: Mapping[str, int], seccomp_fd: int) -> list[str]:
    """What bubblewrap is told. `file_fds` has an open file for every one of `files`; it closes them."""
    _check(sandbox)
    tree = _Tree()
    tree.system(host)
    tree.etc(file_fds)
    tree.memory(sandbox)
    tree.devices(sandbox)
    for bind in _own_binds(sandbox):
        tree.bind(bind)
    return [
        *_privileges(sandbox),
        *("--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--hostname", sandbox.hostname),
        *("--die-with-parent", "--new-session", "--clearenv", "--seccomp", str(seccomp_fd)),
        *tree.operations,
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"),
    ]


def steps(host: Host, sandbox: Sandbox) -> list[str]:
    """The command that bubblewrap is given: what leads to the sandbox's own, and that."""
    return [*_become_user(host, sandbox), "/bin/sh", "-c", _BEGIN, "sh", *sandbox.command]


def _check(sandbox: Sandbox) -> None:
    if not sandbox.command:
        raise SandboxRefused("there is no command to run")
    if sandbox.mode is Mode.ROOT and (sandbox.uid <= 0 or sandbox.gid <= 0):
        raise SandboxRefused("nothing runs as root inside: uid and gid must be those of a user")
    paths = [bind.target for bind in _own_binds(sandbox)] + list(sandbox.devices)
    for path in paths:
        if not path.startswith("/") or path != os.path.normpath(path):
            raise SandboxRefused(f"{path!r} is not an absolute path in its plain form")
    for device in sandbox.devices:
        if not device.startswith("/dev/"):
            raise SandboxRefused(f"{device!r} is not a device")


def _own_binds(sandbox: Sandbox) -> Iterable[Bind]:
    yield Bind(sandbox.workspace, WORKSPACE, writable=True)
    if sandbox.home is not None:
        yield Bind(sandbox.home, HOME, writable=True)
    if sandbox.runtime is not None:
        yield sandbox.runtime
    yield from sandbox.binds


def _privileges(sandbox: Sandbox) -> list[str]:
    """Run as root, bubblewrap keeps every capability unless told otherwise."""
    if sandbox.mode is Mode.USER:
        identity = ("--uid", str(sandbox.uid), "--gid", str(sandbox.gid))
        return ["--unshare-user", "--disable-userns", *identity]
    keep = (word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}"))
    return ["--cap-drop", "ALL", *keep]


def _become_user(host: Host, sandbox: Sandbox) -> list[str]:
    if sandbox.mode is Mode.USER:
        return []
    identity = (f"--reuid={sandbox.uid}", f"--regid={sandbox.gid}", "--clear-groups")
    capabilities = ("--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all")
    return [host.setpriv, *identity, *capabilities, "--no-new-privs", "--"]


class _Tree:
    """The mounts in order. Directories on the way are made first: bubblewrap's own would be 0700."""

    def __init__(self) -> None:
        self.operations: list[str] = []
        self._made: set[str] = set()
        self._bound: set[str] = set()

    def system(self, host: Host) -> None:
        self.bind(Bind("/usr", "/usr"))
        for directory in host.directories:
            self.bind(Bind(directory, directory))
        for path, target in host.links:
            self._add("--symlink", target, path)
        self._add("--proc", "/proc")
        for path in _SYS:
            self._try(path)

    def etc(self, file_fds: Mapping[str, int]) -> None:
        for path, fd in file_fds.items():
            self._parents(path)
            self._add("--perms", "0444", "--file", str(fd), path)
        for path in _ETC:
            self._try(path)

    def memory(self, sandbox: Sandbox) -> None:
        size = str(sandbox.tmp_mib << 20)
        self._add("--size", size, "--perms", "1777", "--tmpfs", "/tmp")  # noqa: S108
        self._made.add("/tmp")  # noqa: S108
        self._directory("/var")
        self._add("--symlink", "/tmp", "/var/tmp")  # noqa: S108
        if sandbox.home is None:
            self._parents(HOME)
            self._add("--size", size, "--perms", "1777", "--tmpfs", HOME)
            self._made.add(HOME)

    def devices(self, sandbox: Sandbox) -> None:
        self._add("--dev", "/dev")
        self._made.add("/dev")
        # The attempt's own, so that the replicas of a gang share it; mounted in the attempt's namespace.
        self._add("--bind", sandbox.shm, "/dev/shm")  # noqa: S108
        for path in sandbox.devices:
            self._parents(path)
            self._add("--dev-bind", path, path)
        if sandbox.devices:
            for path in _SYS_OF_DEVICES:
                self._try(path)

    def bind(self, bind: Bind) -> None:
        self._parents(bind.target)
        self._add("--bind" if bind.writable else "--ro-bind", bind.source, bind.target)
        self._bound.add(bind.target)

    def _try(self, path: str) -> None:
        self._parents(path)
        self._add("--ro-bind-try", path, path)

    def _parents(self, path: str) -> None:
        end = path.find("/", 1)
        while end > 0:
            self._directory(path[:end])
            end = path.find("/", end + 1)

    def _directory(self, path: str) -> None:
        is_bound = any(path == bound or path.startswith(f"{bound}/") for bound in self._bound)
        if path not in self._made and not is_bound:
            self._add("--perms", "0755", "--dir", path)
            self._made.add(path)

    def _add(self, *words: str) -> None:
        self.operations += words
