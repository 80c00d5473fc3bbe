"""A data directory that fills up while work runs: `python -m tests.chaos.full_disk DIRECTORY SEED`.

The directory is a small tmpfs in a mount namespace of this process's own. While it is full nothing can be
written down; work goes on. Afterwards all of it is over, and nothing was lost.
"""

import errno
import sys
import time
import urllib.error
from pathlib import Path

from tests.chaos.storm import OVER, Storm, assert_invariants_hold
from tests.live import running_corral

BEFORE, DURING, AFTER = 6, 4, 4
FULL_SECONDS = 6.0


def main(directory: Path, seed: int) -> None:
    gpus = {"CORRAL_SIMULATED_GPUS": "4xH100-80GB"}
    with running_corral(directory, environment=gpus, warm=False) as corral:
        storm = Storm(corral, seed)
        numbers = iter(range(BEFORE + DURING + AFTER))
        for _ in range(BEFORE):
            storm.submit(next(numbers))
        filler = fill(directory / "filler")
        refused = sum(not submits(storm, next(numbers)) for _ in range(DURING))
        time.sleep(FULL_SECONDS)
        filler.unlink()
        for _ in range(AFTER):
            storm.submit(next(numbers))
        states = storm.wait_until_over(150)
        assert set(states.values()) <= OVER
        assert storm.began_twice() == []
        corral.stop()
        assert_invariants_hold(corral.home)
        print(f"{len(states)} over; {refused} of {DURING} refused while the disk was full")


def submits(storm: Storm, number: int) -> bool:
    """Whether it was taken; a refusal must be an answer, not a hang."""
    resources = {"cpu_milli": 50, "memory_mib": 64}
    document = {"name": f"during-{number}", "command": ["true"], "resources": resources}
    try:
        storm.submitted[storm._call("POST", "/training", document, None)["id"]] = "short"
    except (OSError, urllib.error.URLError, AssertionError):
        return False
    return True


def fill(place: Path) -> Path:
    """Takes all the space there is."""
    with place.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    return place


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
