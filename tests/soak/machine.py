"""A small machine with a kernel of its own: user-mode Linux on this machine's files, which it cannot change.

It has control groups of version 2 only, a clock that can be set, can be restarted, and can have a disk with
quotas.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pynvml

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 120
ORDINARY_UID = 54321
_NOT_NEEDED = shutil.ignore_patterns("__pycache__")

INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t hostfs none /mnt -o {shared}
mount -t cgroup2 none /sys/fs/cgroup
{mount}
cd {root} && PYTHONDONTWRITEBYTECODE=1 {command} 2>&1
echo o > /proc/sysrq-trigger
sleep 60
"""


# What root does for somebody who is to run work with limits, where no systemd does it.
HAND_OVER = (
    "echo '+cpu +memory +pids +io' > /sys/fs/cgroup/cgroup.subtree_control",
    "mkdir /sys/fs/cgroup/corral.service",
    f"chown -R {ORDINARY_UID} /sys/fs/cgroup/corral.service",
    "echo $$ > /sys/fs/cgroup/corral.service/cgroup.procs",
)


DISK_BYTES = 512 * 2**20
MOUNT_DISK = """
mkdir /run/dev /run/disk
mount -t devtmpfs dev /run/dev
mount -t xfs -o {options} /run/dev/ubda /run/disk
"""


def play(scene: str, shared: Path) -> dict[str, Any]:
    """Boots, plays a scene of `guest.py` as root and switches off, as a power cut does."""
    return _boot(scene, shared, ROOT, f"{shlex.quote(sys.executable)} -m tests.soak.guest {scene}")


def play_with_disk(scene: str, shared: Path, options: str) -> dict[str, Any]:
    """The same with a disk of its own at /run/disk: XFS, mounted with these options."""
    image = shared / "disk.xfs"
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run(["mkfs.xfs", "-q", image], check=True)
    command = f"{shlex.quote(sys.executable)} -m tests.soak.guest {scene}"
    return _boot(scene, shared, ROOT, command, MOUNT_DISK.format(options=options), f"ubd0={image}")


def play_as_user(scene: str, shared: Path) -> dict[str, Any]:
    """The same as an ordinary user, with the system's Python and with copies that everyone may read."""
    for package in ("core", "accelerators", "engines"):
        shutil.copytree(ROOT / "src" / "corral" / package, shared / "corral" / package, ignore=_NOT_NEEDED)
    shutil.copy(ROOT / "src" / "corral" / "__init__.py", shared / "corral")
    shutil.copytree(ROOT / "sdk" / "src" / "corral_sdk", shared / "corral_sdk", ignore=_NOT_NEEDED)
    shutil.copy(pynvml.__file__, shared)
    shutil.copytree(ROOT / "tests" / "soak", shared / "tests" / "soak", ignore=_NOT_NEEDED)
    become = f"setpriv --reuid {ORDINARY_UID} --regid {ORDINARY_UID} --clear-groups"
    command = f"HOME=/run {become} /usr/bin/python3 -m tests.soak.guest {scene}"
    made = f"mkdir /run/user && chown {ORDINARY_UID} /run/user"
    return _boot(scene, shared, Path("/mnt"), " && ".join((made, *HAND_OVER, command)))


def _boot(
    scene: str, shared: Path, root: Path, command: str, mount: str = "", *options: str
) -> dict[str, Any]:
    """`shared` is the machine's /mnt; `options` are the kernel's."""
    places = {"shared": shlex.quote(str(shared)), "root": shlex.quote(str(root))}
    init = shared / "init.sh"
    init.write_text(INIT.format(**places, command=command, mount=mount))
    init.chmod(0o755)
    done = subprocess.run(
        [
            *("linux.uml", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "mem=1G"),
            *(f"init={init}", "cgroup_no_v1=all", "con0=fd:0,fd:1", "con=null", "quiet"),
            *options,
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT_SECONDS,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(shared), "TMPDIR": "/dev/shm"},
    )
    for line in done.stdout.splitlines():
        if line.startswith("TOLD "):
            told: dict[str, Any] = json.loads(line[5:])
            return told
    raise AssertionError(f"{scene} told nothing:\n{done.stdout[-4000:]}{done.stderr[-1000:]}")
