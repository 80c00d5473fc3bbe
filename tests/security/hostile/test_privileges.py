"""A workload asks for more than it has: capabilities, namespaces, setuid programs, parts of the kernel."""

import os
import shutil
import subprocess

import pytest

from tests.engines.local.cage import Cage
from tests.security.hostile.attempts import NUMBERS, outcomes, outcomes_outside, refused, succeeded

NAMESPACES = (
    NUMBERS
    + """
kinds = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
         "pid": 0x20000000, "net": 0x40000000, "time": 0x80}
def unshare(flags):
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "")
for name, flag in kinds.items():
    attempt(name, lambda: in_child(lambda: unshare(flag)))
    attempt(name + " with user", lambda: in_child(lambda: unshare(flag | kinds["user"])))
    attempt(name + " with high bits", lambda: in_child(lambda: unshare(flag | 1 << 40)))
def clone(flags):
    pid = call(CLONE, flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
attempt("clone", lambda: clone(kinds["user"]))
attempt("clone with pid", lambda: clone(kinds["user"] | kinds["pid"]))
arguments = struct.pack("8Q", kinds["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
def clone3():
    pid = call(CLONE3, ctypes.create_string_buffer(arguments), len(arguments))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
attempt("clone3", clone3)
attempt("setns", lambda: call(SETNS, os.open("/proc/self/ns/net", os.O_RDONLY), 0))
"""
)


def test_there_is_not_a_single_capability(cage: Cage) -> None:
    status = cage.run("cat", "/proc/self/status").output
    values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(values[name], 16) == 0
    assert values["NoNewPrivs"] == "1"
    assert values["Seccomp"] == "2"
    assert values["Uid"].split() == [str(cage.uid)] * 4


def test_the_first_process_inside_has_none_either(cage: Cage) -> None:
    status = cage.run("cat", "/proc/1/status").output
    assert status.count("0000000000000000") >= 4
    assert "CapEff:\t0000000000000000" in status
    assert "Seccomp:\t2" in status


def test_no_namespace_is_made_or_joined_inside(cage: Cage) -> None:
    found = refused(outcomes(cage, NAMESPACES))
    assert found.pop("clone3") == "ENOSYS"
    assert set(found.values()) <= {"EPERM", "EINVAL"}
    assert found["user"] == "EPERM"


def test_without_a_sandbox_an_ordinary_user_makes_them(cage: Cage) -> None:
    assert {"user", "net with user", "clone", "clone3"} <= succeeded(outcomes_outside(cage, NAMESPACES))


def test_setuid_programs_give_nothing(cage: Cage) -> None:
    if os.geteuid() != 0:
        pytest.skip("a setuid program is made as root")
    tools = cage.directory / "tools"
    tools.mkdir()
    program = tools / "who"
    shutil.copy("/usr/bin/id", program)
    program.chmod(0o4755)
    tools.chmod(0o755)
    asked = f"import os; os.execv({str(program)!r}, ['who', '-u'])"
    assert cage.outside(asked).output.split() == ["0"]
    inside = cage.drive(
        "print(box.run('/tools/who', '-u', binds=(bubblewrap.Bind(tools, '/tools'),)))", tools=str(tools)
    )
    assert inside.strip() == f"(0, '{cage.uid}\\n')"


def test_a_setuid_program_of_ones_own_gives_nothing(cage: Cage) -> None:
    made = "cp /usr/bin/id who && chmod 4755 who && ./who -u && ls /usr/bin/su /usr/bin/passwd; su -c id root"
    ended = cage.run("sh", "-c", made)
    assert ended.output.splitlines()[0] == str(cage.uid)
    assert "uid=0" not in ended.output
    assert ended.code != 0


KERNEL = (
    NUMBERS
    + """
attempt("add_key", lambda: call(ADD_KEY, b"user", b"corral", b"secret", 6, -4))
attempt("keyctl", lambda: call(KEYCTL, 0, -4, 1))
attempt("bpf", lambda: call(BPF, 0, 0, 0))
attempt("perf", lambda: call(PERF, ctypes.create_string_buffer(128), 0, -1, -1, 0))
attempt("io_uring", lambda: call(URING, 1, ctypes.create_string_buffer(120)))
attempt("userfaultfd", lambda: call(USERFAULTFD, 1))
attempt("open_by_handle_at", lambda: call(OPEN_BY_HANDLE, 3, ctypes.create_string_buffer(64), 0))
attempt("module", lambda: call(MODULE, 0, b"", 0))
attempt("kexec", lambda: call(KEXEC, 0, 0, 0, 0))
attempt("reboot", lambda: call(REBOOT, 0, 0, 0, 0))
attempt("fsopen", lambda: call(FSOPEN, b"tmpfs", 0))
attempt("open_tree", lambda: call(OPEN_TREE, -100, b"/", 1))
attempt("chroot", lambda: os.chroot("/tmp"))
attempt("hostname", lambda: socket.sethostname("mine"))
attempt("clock", lambda: time.clock_settime(time.CLOCK_REALTIME, 0))
"""
)


def test_interfaces_of_the_kernel_are_closed(cage: Cage) -> None:
    assert set(refused(outcomes(cage, KERNEL)).values()) == {"EPERM"}


def test_without_a_sandbox_the_keyring_of_a_user_is_open(cage: Cage) -> None:
    assert {"add_key", "keyctl"} <= succeeded(outcomes_outside(cage, KERNEL))


def test_calls_that_are_newer_than_the_filter_are_not_there(cage: Cage) -> None:
    program = """
for number in (467, 468, 469, 470, 500, 0x40000000, 0x40000000 + 272):
    attempt(str(number), lambda: call(number, 0, 0, 0, 0))
"""
    assert set(refused(outcomes(cage, program)).values()) == {"ENOSYS"}


def test_calls_of_another_architecture_end_the_process(cage: Cage) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("only this processor has a second set of calls")
    program = """
import ctypes, mmap
# getpid by the old way in: its number 20 is writev by the new one
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))
entry = ctypes.addressof(ctypes.c_char.from_buffer(code))
print("pid", ctypes.CFUNCTYPE(ctypes.c_int)(entry)())
"""
    ended = cage.run_python(program)
    assert "pid" not in ended.output
    assert ended.code in {128 + 31, 128 + 11}  # SIGSYS; SIGSEGV where the kernel is built without them


PROJECT = (
    NUMBERS
    + """
import tempfile
place = tempfile.mkdtemp(dir="/workspace" if os.path.isdir("/workspace") else None)
here = os.open(place, os.O_RDONLY)
os.rmdir(place)
GET, SET, GET_FLAGS, SET_FLAGS = 0x801C581F, 0x401C5820, 0x80086601, 0x40086602
attributes, flags = bytearray(28), bytearray(8)
fcntl.ioctl(here, GET, attributes)
fcntl.ioctl(here, GET_FLAGS, flags)
attempt("project", lambda: fcntl.ioctl(here, SET, attributes))
attempt("flags", lambda: fcntl.ioctl(here, SET_FLAGS, flags))
attempt("high bits", lambda: call(IOCTL, here, 1 << 32 | SET, ctypes.create_string_buffer(bytes(attributes))))
attempt("by name", lambda: call(469, -100, b".", ctypes.create_string_buffer(24), 24, 0))
"""
)


def test_the_project_of_a_file_cannot_be_changed(cage: Cage) -> None:
    """A disk limit of the file system holds for a project, which the owner of a file could change."""
    told = outcomes(cage, PROJECT)
    assert told.pop("by name") == ["refused", "ENOSYS"]
    assert all(result == ["refused", "EPERM"] for result in told.values())
    assert len(told) == 3
    outside = outcomes_outside(cage, PROJECT)
    assert succeeded(outside) >= {"project", "flags"}


TYPE = """
import errno, fcntl, sys, ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in (0x5412, 0x541C, 1 << 32 | 0x5412):
    result = libc.ioctl(0, ctypes.c_ulong(number), b"x")
    print(result, errno.errorcode.get(ctypes.get_errno()))
"""


def test_a_terminal_cannot_be_typed_into(cage: Cage) -> None:
    printed = cage.drive(
        """
        running = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        running.wait_for("ready")
        size = exec_session.TerminalSize(24, 80)
        print(box.run_visit(running, box.python, "-I", "-c", program, terminal=size)[1])
        """,
        program=TYPE,
    )
    assert printed.split() == ["-1", "EPERM"] * 3


def test_debugging_ones_own_processes_works(cage: Cage) -> None:
    """What is closed is chosen so that ordinary work goes on: threads, children, debuggers, shared memory."""
    program = """
import threading
thread = threading.Thread(target=lambda: results.update(thread=["done", ""]))
thread.start()
thread.join()
attempt("shared memory", lambda: os.open("/dev/shm/segment", os.O_RDWR | os.O_CREAT))
attempt("child", lambda: subprocess.run(["true"], check=True))
child = os.fork()
if child == 0:
    signal.pause()
def trace(request, pid):
    if libc.ptrace(request, pid, 0, 0):
        raise OSError(ctypes.get_errno(), "")
attempt("ptrace", lambda: trace(16, child))
os.kill(child, 9)
os.waitpid(child, 0)
attempt("bind", lambda: socket.create_server(("127.0.0.1", 0)).close())
attempt("fifo", lambda: os.mkfifo("/tmp/fifo"))
attempt("affinity", lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
"""
    found = outcomes(cage, program)
    assert succeeded(found) == set(found)


def test_the_filter_of_both_machines_lists_numbers_that_their_headers_have() -> None:
    """The numbers of this machine are those of its kernel; a wrong one would close something else."""
    from corral.engines.local.kernel import seccomp

    numbers = seccomp._NUMBERS[os.uname().machine]
    source = "".join(f"#ifdef SYS_{name}\n{name} SYS_{name}\n#endif\n" for name in numbers)
    expanded = subprocess.run(
        ["cc", "-E", "-P", "-include", "sys/syscall.h", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [
        line.split() for line in expanded.splitlines() if len(line.split()) == 2 and line.split()[1].isdigit()
    ]
    known = {name: int(number) for name, number in lines if name in numbers}
    assert len(known) > 40
    assert known == {name: numbers[name] for name in known}
