"""What happens when the data directory is full, and when it no longer is."""

import os
import random
import subprocess
import sys
from pathlib import Path

SIZE_MIB = 96


def test_nothing_is_lost_when_the_data_directory_fills_up(tmp_path: Path) -> None:
    seed = os.environ.get("STORM_SEED") or str(random.randrange(10**6))
    mount = f'mount -t tmpfs -o size={SIZE_MIB}m,mode=0755 tmpfs "$0" && exec "$@"'
    script = [sys.executable, "-m", "tests.chaos.full_disk", str(tmp_path), seed]
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, str(tmp_path), *script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
