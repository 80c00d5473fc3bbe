"""The few system calls that Python 3.11 has no function for."""

import ctypes
import errno
import os
from pathlib import Path

NEW_NAMESPACES = {
    "mnt": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}

_LIBRARY = ctypes.CDLL(None, use_errno=True)

_SLAVE_RECURSIVELY = 0x00080000 | 0x4000
_NO_DEVICES = 0x4 | 0x2  # nor setuid

_SET_PARENT_DEATH_SIGNAL = 1
_SET_DUMPABLE = 4
_SET_SECCOMP = 22
_DROP_FROM_BOUNDING_SET = 24
_SET_NO_NEW_PRIVILEGES = 38
_AMBIENT = 47
_AMBIENT_CLEAR_ALL = 4

# These numbers are the same on every machine.
_OPENAT2_NUMBER = 437
_PIDFD_OPEN_NUMBER = 434
_PIDFD_GETFD_NUMBER = 438
_QUOTACTL_FD_NUMBER = 443
_NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 0x02, 0x04, 0x08
_OPEN_TRIES = 1000

_CAPABILITY_VERSION = 0x20080522
_CLONE_NUMBERS = {"x86_64": 56, "aarch64": 220}
_KCMP_NUMBERS = {"x86_64": 312, "aarch64": 272}
_KCMP_FILES = 2
_PIDFD_THREAD = os.O_EXCL
_CLONE_PARENT = 0x00008000
_SIGCHLD = 17


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def unshare(*kinds: str) -> None:
    flags = 0
    for kind in kinds:
        flags |= NEW_NAMESPACES[kind]
    _succeed(_LIBRARY.unshare(flags), f"unshare {' '.join(kinds)}")


def join(fd: int, kind: str) -> None:
    """Joins a namespace; a pid namespace is joined by children only."""
    _succeed(_LIBRARY.setns(fd, NEW_NAMESPACES[kind]), f"join the {kind} namespace")


def keep_mounts_to_ourselves() -> None:
    """Mounts made from now on are not seen outside of this mount namespace."""
    _succeed(_LIBRARY.mount(None, b"/", None, _SLAVE_RECURSIVELY, None), "make mounts private")


def mount_memory(path: str, size_mib: int) -> None:
    options = f"mode=1777,size={size_mib}m".encode()
    target = os.fsencode(path)
    _succeed(_LIBRARY.mount(b"tmpfs", target, b"tmpfs", _NO_DEVICES, options), f"mount a tmpfs at {path}")


def die_with_parent(parent: int) -> None:
    """This process is killed when `parent`, which forked it, ends; also when it has ended already."""
    _prctl("set the parent's death signal", _SET_PARENT_DEATH_SIGNAL, 9)
    if os.getppid() != parent:
        os.kill(os.getpid(), 9)


def hide_from_others() -> None:
    """Nobody with the same uid looks into this process: its memory, its open files, its program."""
    _prctl("become undumpable", _SET_DUMPABLE, 0)


def empty_bounding_set() -> None:
    """No program that is started from now on gains a capability; needs CAP_SETPCAP."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        _prctl("empty the bounding set", _DROP_FROM_BOUNDING_SET, capability)


def drop_capabilities() -> None:
    """No capability is left, and setuid programs give none."""
    _prctl("set no_new_privs", _SET_NO_NEW_PRIVILEGES, 1)
    _prctl("clear ambient capabilities", _AMBIENT, _AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _succeed(_LIBRARY.capset(header, (ctypes.c_uint32 * 6)()), "drop capabilities")


def filter_calls(program: bytes) -> None:
    """Puts a seccomp filter over this process and what it starts; no_new_privs must be set."""
    instructions = ctypes.create_string_buffer(program, len(program))
    pointer = ctypes.cast(instructions, ctypes.c_void_p)
    whole = _FilterProgram(len(program) // 8, pointer)
    _prctl("set the filter of system calls", _SET_SECCOMP, 2, ctypes.byref(whole))


def fork_beside() -> int:
    """Forks a child of this process's parent, in the pid namespace joined last. The child must exec soon."""
    number = _CLONE_NUMBERS[os.uname().machine]
    return _succeed(_LIBRARY.syscall(number, _CLONE_PARENT | _SIGCHLD, 0, 0, 0, 0), "fork")


def open_beneath(directory: int, path: str, flags: int, mode: int = 0) -> int:
    """Opens what is at `path` below an open directory. No link is followed and no `..` leads above it.

    OSError as `os.open` raises it: ELOOP where a component is a link, EXDEV where the path leads out.
    """
    how = _OpenHow(flags | os.O_CLOEXEC, mode, _BENEATH | _NO_LINKS | _NO_MAGIC_LINKS)
    name, size = os.fsencode(path), ctypes.sizeof(how)
    if b"\0" in name:
        raise OSError(errno.EINVAL, "a path has no zero byte", path)
    for _ in range(_OPEN_TRIES):
        opened = _LIBRARY.syscall(_OPENAT2_NUMBER, directory, name, ctypes.byref(how), size)
        if opened >= 0:
            return int(opened)
        number = ctypes.get_errno()
        # EAGAIN: something was renamed meanwhile, and the kernel cannot say whether `..` stayed inside.
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    if number == errno.ENOSYS:
        raise OSError(number, "the kernel has no openat2: Corral needs Linux 5.6 or newer", path)
    raise OSError(number, os.strerror(number), path)


def compare_descriptors(one: int, other: int) -> int:
    """0 if two threads share their descriptors; else which of the tables comes first, in an order of its own.

    Threads that cannot be compared are taken as apart.
    """
    order = _LIBRARY.syscall(_KCMP_NUMBERS[os.uname().machine], one, other, _KCMP_FILES, 0, 0)
    return {0: 0, 1: -1, 2: 1}.get(order, one - other)


def copy_descriptor(thread: int, number: int) -> int:
    """A descriptor of ours for what a thread has open; only who might trace it gets one.

    Of a thread that is not the first of its process, Linux 6.9 or newer hands out what it has.
    """
    for flags in (_PIDFD_THREAD, 0):
        process = _LIBRARY.syscall(_PIDFD_OPEN_NUMBER, thread, flags)
        if process >= 0:
            break
    _succeed(process, f"open thread {thread}")
    try:
        return _succeed(_LIBRARY.syscall(_PIDFD_GETFD_NUMBER, process, number, 0), "copy a descriptor")
    finally:
        os.close(process)


def control_quota(descriptor: int, command: int, kind: int, identity: int, content: bytearray) -> None:
    """`quotactl` for the file system of a descriptor; `content` is what the command reads or fills."""
    buffer = (ctypes.c_char * len(content)).from_buffer(content)
    whole = ctypes.c_uint(command << 8 | kind)
    _succeed(_LIBRARY.syscall(_QUOTACTL_FD_NUMBER, descriptor, whole, identity, buffer), "ask for quotas")


def sync_file_system(descriptor: int) -> None:
    """What was written to the file system of this descriptor survives a power cut from now on."""
    _succeed(_LIBRARY.syncfs(descriptor), "write out a file system")


def _prctl(what: str, option: int, *values: object) -> None:
    arguments = [value if not isinstance(value, int) else ctypes.c_ulong(value) for value in values]
    while len(arguments) < 4:
        arguments.append(ctypes.c_ulong(0))
    _succeed(_LIBRARY.prctl(option, *arguments), what)


def _succeed(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot {what}: {os.strerror(number)}")
    return result
