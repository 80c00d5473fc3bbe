"""What a queue has of resources about which nothing was set."""

from corral.core.queues import Quota
from corral.core.resources import NOTHING, Amount, Resource
from corral.queues.rules import whole_quota

POOL = Amount(8000, 64_000, 512_000)


def test_guarantee_of_gpus_brings_its_part_of_cpu_and_memory_along() -> None:
    whole = whole_quota({Resource.GPU_MILLI: Quota(2000, 4000, 3)}, POOL)
    assert whole == {
        Resource.GPU_MILLI: Quota(2000, 4000, 3),
        Resource.CPU_MILLI: Quota(16_000, -1, 3),
        Resource.MEMORY_MIB: Quota(128_000, -1, 3),
    }


def test_what_was_set_stays() -> None:
    given = {Resource.GPU_MILLI: Quota(2000), Resource.CPU_MILLI: Quota(1000, 2000)}
    assert whole_quota(given, POOL)[Resource.CPU_MILLI] == Quota(1000, 2000)


def test_all_gpus_bring_everything() -> None:
    assert whole_quota({Resource.GPU_MILLI: Quota(-1)}, POOL)[Resource.CPU_MILLI].guarantee == -1


def test_more_gpus_than_there_are_bring_no_more_than_there_is() -> None:
    assert whole_quota({Resource.GPU_MILLI: Quota(80_000)}, POOL)[Resource.CPU_MILLI].guarantee == 64_000


def test_without_gpus_nothing_is_guaranteed_and_surplus_is_shared() -> None:
    assert set(whole_quota({}, NOTHING).values()) == {Quota(0)}
