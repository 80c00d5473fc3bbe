"""Scenes of `guest.py` with a disk of its own: limits that the kernel keeps, and the lack of them."""

import subprocess
from pathlib import Path

from corral.engines.local.engine import LocalEngine

DISK = Path("/run/disk")
DISK_MIB = 20
FILES = 2000
PERSON_MIB = 60
HOME_MIB = 1

# Each writes until it may not, says how far it came and what it was told, and fails.
TRY = """
import array, ctypes, errno, fcntl, json, os, socket, struct, sys, time
mib = 0
def say(error):
    print(json.dumps([mib, errno.errorcode[error.errno]]), flush=True)
    sys.exit(1)
def write(file, count):
    global mib
    for _ in range(count):
        done = 0
        while done < 2**20:
            done += os.write(file, bytes(2**20 - done))
        mib += 1
"""
WRITE = (
    TRY
    + """
try:
    write(os.open("data", os.O_WRONLY | os.O_CREAT), 200)
except OSError as error:
    say(error)
"""
)
# A file without a name, whose only descriptor is on its way through a socket: no process has it.
IN_FLIGHT = (
    TRY
    + """
left, right = socket.socketpair()
try:
    for number in range(50):
        file = os.open("data", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.unlink("data")
        write(file, 4)
        socket.send_fds(left, [b"x"], [file])
        os.close(file)
except OSError as error:
    say(error)
"""
)
MANY = (
    TRY
    + """
try:
    for mib in range(200_000):
        os.close(os.open(str(mib), os.O_WRONLY | os.O_CREAT))
except OSError as error:
    say(error)
"""
)
# Leaves the project, or lets new files leave it; and says who could read which project it is in.
LEAVE = """
import ctypes, errno, fcntl, json, os, struct
libc = ctypes.CDLL(None, use_errno=True)
told = {}
def attempt(name, act):
    try:
        act()
        told[name] = "done"
    except OSError as error:
        told[name] = errno.errorcode[error.errno]
here = os.open(".", os.O_RDONLY)
attributes = bytearray(28)
fcntl.ioctl(here, 0x801C581F, attributes)
flags, _, _, project, _ = struct.unpack("=5I8x", attributes)
told["enclosed"] = project >= 200_000_000 and bool(flags & 0x200)
attempt("project", lambda: fcntl.ioctl(here, 0x401C5820, struct.pack("=5I8x", flags, 0, 0, 7, 0)))
attempt("inherit", lambda: fcntl.ioctl(here, 0x401C5820, struct.pack("=5I8x", 0, 0, 0, project, 0)))
attempt("chattr", lambda: fcntl.ioctl(here, 0x40086602, struct.pack("l", 0)))
def file_setattr():
    wanted = ctypes.create_string_buffer(struct.pack("=QIIII", 0, 0, 0, 7, 0))
    if libc.syscall(469, -100, b".", wanted, ctypes.c_size_t(24), 0) < 0:
        raise OSError(ctypes.get_errno(), "")
attempt("file_setattr", file_setattr)
os.mkdir("below")
fcntl.ioctl(os.open("below", os.O_RDONLY), 0x801C581F, attributes)
told["below"] = struct.unpack("=5I8x", attributes)[3] == project
print(json.dumps(told))
"""


def disk_engine() -> LocalEngine:
    """One that hardly ever looks, so that whatever ends work at once is not its looking."""
    return LocalEngine(
        DISK / "data",
        Path("/run/corral"),
        node="guest",
        disk_look_seconds=600,
        workspace_files=FILES,
        person_mib=PERSON_MIB,
        person_files=100_000,
        home_mib=HOME_MIB,
    )


def projects_in_use() -> list[str]:
    """As the file system itself reports them; 0 is everything that has none."""
    command = ["xfs_quota", "-x", "-c", "report -p -N -b -i", str(DISK)]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted({line.split()[0] for line in report.splitlines() if line.strip()} - {"#0"})
