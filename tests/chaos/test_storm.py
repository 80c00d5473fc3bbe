"""Nothing is lost, begun twice or leaked while Corral's processes die at random moments.

The counts are small here; `make soak` sets SOAK for the full ones.
"""

import itertools
import os
import random
import time
from pathlib import Path

from tests.chaos.storm import Storm, assert_invariants_hold
from tests.live import running_corral

FULL = os.environ.get("SOAK") == "1"
JOBS, KILLS = (200, 100) if FULL else (24, 10)


def test_work_survives_the_death_of_every_process(tmp_path: Path) -> None:
    seed = int(os.environ.get("STORM_SEED") or random.randrange(10**6))
    environment = {"CORRAL_SIMULATED_GPUS": "4xH100-80GB"}
    with running_corral(tmp_path, environment=environment, warm=not FULL) as corral:
        storm = Storm(corral, seed, many_files=150_000 if FULL else 5_000)
        storm.lay_strays()
        stopped = None
        numbers = iter(range(JOBS))
        for turn in range(KILLS):
            if turn % 10 == 5:
                storm.hold_the_write_lock(3)
            for number in itertools.islice(numbers, -(-JOBS // KILLS)):
                storm.submit(number)
            time.sleep(storm.chance.uniform(0.1, 1.5))
            storm.resume(stopped)
            stopped = storm.stop_a_supervisor() if turn % 5 == 2 else None
            storm.kill_something()
        storm.resume(stopped)
        states = storm.wait_until_over(900 if FULL else 150)
        print(f"killed {dict(storm.kills)}; {len(states)} over")
        faults = storm.kills["write lock held"] + storm.kills["supervisor stopped"]
        assert storm.kills.total() - faults == KILLS
        storm.discard_attacks(600 if FULL else 90)
        assert len(storm.kills) >= 3, "the storm must reach several kinds of processes"
        assert storm.began_twice() == []
        for workload_id, kind in storm.submitted.items():
            expected = {"fails": {"failed"}, "retried": {"failed"}}.get(kind, {"succeeded", "failed"})
            assert states[workload_id] in expected, (workload_id, kind)
        corral.stop()
        assert_invariants_hold(corral.home)
