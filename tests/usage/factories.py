"""A machine whose clocks a test moves, and grants on it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from corral.usage.clock import Mark, Reading
from corral.usage.grants import Grant, HeldResource

ZONE = "z01k9x3v7qzt8m2c4w6d0aa"
MINUTE = 60 * 1_000_000
HOUR = 60 * MINUTE

GPU: HeldResource = ("gpu_milli", "H100-80GB", 2000)
CPU: HeldResource = ("cpu_milli", "", 4000)


@dataclass
class Machine:
    """Two clocks: one counts from the boot and cannot be set, the other can."""

    boot: int = 1
    boottime_us: int = 5 * MINUTE
    wall: datetime = field(default_factory=lambda: datetime(2026, 11, 15, 8, 50, tzinfo=UTC))

    def reading(self) -> Reading:
        return Reading(Mark(f"boot-{self.boot}", self.boottime_us), self.wall)

    def mark(self, ago_us: int = 0) -> Mark:
        return Mark(f"boot-{self.boot}", self.boottime_us - ago_us)

    def pass_time(self, microseconds: int) -> None:
        self.boottime_us += microseconds
        self.wall += timedelta(microseconds=microseconds)

    def set_clock(self, **by: float) -> None:
        self.wall += timedelta(**by)

    def reboot(self) -> None:
        self.boot += 1
        self.boottime_us = 30 * 1_000_000
        self.wall += timedelta(minutes=3)


def create_grant(number: int = 1, *resources: HeldResource, **given: Any) -> Grant:
    workload = given.pop("workload_id", f"w01k9x3v7qzt8m2c4w6{number:04d}")
    values: dict[str, Any] = {
        "allocation_id": f"{workload}-1-0",
        "workload_id": workload,
        "attempt": 1,
        "replica": 0,
        "user_id": "u01k9x3v7qzt8m2c4w6d0ef",
        "organisation_id": "o01k9x3v7qzt8m2c4w6d0eg",
        "queue_id": "q01k9x3v7qzt8m2c4w6d0eh",
        "zone_id": ZONE,
        "node": "this-machine",
        "resources": resources or (GPU, CPU),
        "kind": "training",
    }
    return Grant(**(values | given))
