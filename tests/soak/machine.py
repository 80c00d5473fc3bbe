"""A small machine with a kernel of its own: user-mode Linux on this machine's files, which it cannot change.

It has control groups of version 2 only, a clock that can be set, and can be restarted.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 120

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
cd {root} && PYTHONDONTWRITEBYTECODE=1 {python} -m tests.soak.guest {scene} 2>&1
echo o > /proc/sysrq-trigger
sleep 60
"""


def play(scene: str, shared: Path) -> dict[str, Any]:
    """Boots, plays a scene of `guest.py` and switches off, as a power cut does. `shared` is its /mnt."""
    init = shared / "init.sh"
    init.write_text(
        INIT.format(
            shared=shlex.quote(str(shared)),
            root=shlex.quote(str(ROOT)),
            python=shlex.quote(sys.executable),
            scene=scene,
        )
    )
    init.chmod(0o755)
    done = subprocess.run(
        [
            *("linux.uml", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "mem=1G"),
            *(f"init={init}", "cgroup_no_v1=all", "con0=fd:0,fd:1", "con=null", "quiet"),
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
