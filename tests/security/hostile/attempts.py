"""What hostile programs are made of: each tries things by name, and says of each what came of it.

`outcomes` runs such a program inside a sandbox, and `outcomes_outside` the same one with the same uid and
no sandbox, which shows that it is a program that would succeed.
"""

import json

from tests.engines.local.cage import Cage

PRELUDE = """
import ctypes, errno, fcntl, json, os, signal, socket, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
results = {}
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(
        ctypes.c_long(word) if isinstance(word, int) else word for word in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def attempt(name, act):
    try:
        results[name] = ["done", str(act())]
    except OSError as error:
        results[name] = ["refused", errno.errorcode.get(error.errno, "?")]
def in_child(act):
    # For what would change the process that tries it.
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code > 0:
        raise OSError(code, os.strerror(code))
    return code
def read(path):
    with open(path) as file:
        return file.read(100)
"""
_TELL = "\nprint('\\n' + json.dumps(results))\n"

# Numbers of system calls that programs here make directly.
NUMBERS = """
x86 = os.uname().machine == "x86_64"
ADD_KEY, KEYCTL, CLONE, CLONE3 = (248, 250, 56, 435) if x86 else (217, 219, 220, 435)
BPF, PERF, URING, USERFAULTFD = (321, 298, 425, 323) if x86 else (280, 241, 425, 282)
OPEN_BY_HANDLE, MODULE, KEXEC, REBOOT = (304, 313, 246, 169) if x86 else (265, 273, 104, 142)
IOCTL, SETNS, FSOPEN, OPEN_TREE = (16, 308, 430, 428) if x86 else (29, 268, 430, 428)
"""

Outcomes = dict[str, list[str]]


def outcomes(cage: Cage, program: str, **more: object) -> Outcomes:
    return _read(cage.run_python(PRELUDE + program + _TELL, **more).output)


def outcomes_outside(cage: Cage, program: str) -> Outcomes:
    return _read(cage.outside(PRELUDE + program + _TELL).output)


def refused(found: Outcomes) -> dict[str, str]:
    """By which error each attempt failed; one that did not fail fails the test."""
    assert {name: how for name, how in found.items() if how[0] != "refused"} == {}
    return {name: how[1] for name, how in found.items()}


def succeeded(found: Outcomes) -> set[str]:
    return {name for name, how in found.items() if how[0] == "done"}


def _read(output: str) -> Outcomes:
    try:
        found = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise AssertionError(f"the program did not come to its end: {output}") from error
    assert isinstance(found, dict)
    return found
