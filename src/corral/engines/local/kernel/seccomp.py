"""The system calls that no workload makes, as a filter for the kernel.

A workload holds no capability; this filter closes what needs none: new namespaces (inside one, it would be
root), the keyring that uids share, kernel interfaces that often had faults, typing into a terminal
(TIOCSTI), changing the project of a file, and socket families that leave the network namespace (vsock) or
speak raw protocols. A call that is newer than this list is answered like on an older kernel.

`program(machine)` is the filter as bytes, the form that `bwrap --seccomp` and `prctl` take. The numbers of
both machines stand in `_NUMBERS`; calls that one of them lacks have no number there.
"""

import errno
import struct
from functools import cache

_LOAD = 0x20  # a 32-bit word of the call's description
_IF_EQUAL = 0x15
_IF_AT_LEAST = 0x35
_IF_ANY_BIT = 0x45
_RETURN = 0x06

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_FAIL_WITH = 0x00050000

_NUMBER_AT = 0
_ARCHITECTURE_AT = 4
_ARGUMENTS_AT = 16

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_FIRST_UNKNOWN = 467  # both machines count alike from 424 on; x32 calls are above it as well

_UNIFIED = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
}

_NUMBERS = {
    "x86_64": _UNIFIED
    | {
        "ioctl": 16,
        "socket": 41,
        "socketpair": 53,
        "clone": 56,
        "syslog": 103,
        "uselib": 134,
        "ustat": 136,
        "sysfs": 139,
        "vhangup": 153,
        "modify_ldt": 154,
        "pivot_root": 155,
        "_sysctl": 156,
        "chroot": 161,
        "acct": 163,
        "settimeofday": 164,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "swapoff": 168,
        "reboot": 169,
        "sethostname": 170,
        "setdomainname": 171,
        "iopl": 172,
        "ioperm": 173,
        "create_module": 174,
        "init_module": 175,
        "delete_module": 176,
        "get_kernel_syms": 177,
        "query_module": 178,
        "quotactl": 179,
        "nfsservctl": 180,
        "lookup_dcookie": 212,
        "clock_settime": 227,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "perf_event_open": 298,
        "fanotify_init": 300,
        "open_by_handle_at": 304,
        "setns": 308,
        "finit_module": 313,
        "kexec_file_load": 320,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": _UNIFIED
    | {
        "lookup_dcookie": 18,
        "ioctl": 29,
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "nfsservctl": 42,
        "chroot": 51,
        "vhangup": 58,
        "quotactl": 60,
        "acct": 89,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "delete_module": 106,
        "clock_settime": 112,
        "syslog": 116,
        "reboot": 142,
        "sethostname": 161,
        "setdomainname": 162,
        "settimeofday": 170,
        "socket": 198,
        "socketpair": 199,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "clone": 220,
        "swapon": 224,
        "swapoff": 225,
        "perf_event_open": 241,
        "fanotify_init": 262,
        "open_by_handle_at": 265,
        "setns": 268,
        "finit_module": 273,
        "bpf": 280,
        "userfaultfd": 282,
        "kexec_file_load": 294,
    },
}

# These are looked at more closely; everything else in the tables is refused with EPERM.
_BY_ARGUMENT = frozenset({"clone", "clone3", "unshare", "ioctl", "socket", "socketpair"})

# Namespaces of every kind. The lowest bits of clone's flags are a signal, so the time namespace, which has
# one of them, can only be asked for by unshare and clone3.
_NEW_NAMESPACE = 0x7E020000
_NEW_TIME_NAMESPACE = 0x80

_TYPE_INTO_TERMINAL = 0x5412  # TIOCSTI
_PASTE_INTO_CONSOLE = 0x541C  # TIOCLINUX

# The owner of a file may change its project, or that what is made in a directory belongs to its project, and
# so leave its disk limit (`quotas`). `file_setattr`, which can do the same, is newer than this list.
_SET_FLAGS = 0x40086602  # FS_IOC_SETFLAGS: chattr
_SET_FLAGS_32 = 0x40046602
_SET_PROJECT = 0x401C5820  # FS_IOC_FSSETXATTR

_REFUSED_IOCTLS = (_TYPE_INTO_TERMINAL, _PASTE_INTO_CONSOLE, _SET_FLAGS, _SET_FLAGS_32, _SET_PROJECT)

_FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink (getifaddrs)

_Instruction = tuple[int, int, int, int]


@cache
def program(machine: str) -> bytes:
    """The filter for a machine as `os.uname().machine` names it."""
    if machine not in _NUMBERS:
        raise ValueError(f"there is no filter of system calls for {machine}, only for x86_64 and aarch64")
    numbers = _NUMBERS[machine]
    instructions: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        # The 32-bit calls of the same processor have other numbers: none of them is let through.
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 0, 1, _FIRST_UNKNOWN),
        _fail(errno.ENOSYS),
    ]
    for name in sorted(numbers.keys() - _BY_ARGUMENT):
        instructions += _for_call(numbers[name], [_fail(errno.EPERM)])
    # Its flags are in memory, where a filter cannot look. C libraries fall back to clone.
    instructions += _for_call(numbers["clone3"], [_fail(errno.ENOSYS)])
    instructions += _for_call(numbers["clone"], _refuse_bits(_NEW_NAMESPACE))
    instructions += _for_call(numbers["unshare"], _refuse_bits(_NEW_NAMESPACE | _NEW_TIME_NAMESPACE))
    instructions += _for_call(numbers["ioctl"], _refuse_values(1, _REFUSED_IOCTLS))
    for name in ("socket", "socketpair"):
        instructions += _for_call(numbers[name], _only_values(0, _FAMILIES, errno.EAFNOSUPPORT))
    instructions.append(_allow())
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


def _for_call(number: int, body: list[_Instruction]) -> list[_Instruction]:
    return [(_IF_EQUAL, 0, len(body), number), *body]


def _refuse_bits(bits: int) -> list[_Instruction]:
    return [_load_argument(0), (_IF_ANY_BIT, 0, 1, bits), _fail(errno.EPERM), _allow()]


def _refuse_values(argument: int, values: tuple[int, ...]) -> list[_Instruction]:
    checks = [step for value in values for step in ((_IF_EQUAL, 0, 1, value), _fail(errno.EPERM))]
    return [_load_argument(argument), *checks, _allow()]


def _only_values(argument: int, values: tuple[int, ...], number: int) -> list[_Instruction]:
    checks = [step for value in values for step in ((_IF_EQUAL, 0, 1, value), _allow())]
    return [_load_argument(argument), *checks, _fail(number)]


def _load_argument(index: int) -> _Instruction:
    # The kernel reads these arguments as 32 bits; comparing the upper half too would let 1 << 32 | x through.
    return _LOAD, 0, 0, _ARGUMENTS_AT + 8 * index


def _fail(number: int) -> _Instruction:
    return _RETURN, 0, 0, _FAIL_WITH | number


def _allow() -> _Instruction:
    return _RETURN, 0, 0, _ALLOW
