"""How long samples and the records of work are kept."""

from typing import Self

from pydantic import model_validator

from corral.server.settings.values import Group, WholeNumber, conflict, setting


class Kept(Group):
    samples_raw_hours: WholeNumber = setting(
        24,
        "Single samples of nodes, devices and workloads are kept for this many hours.",
        "a whole number from 2 to 168",
        ge=2,
        le=168,
    )
    samples_minute_days: WholeNumber = setting(
        14,
        "Samples rolled up to minutes are kept for this many days.",
        "a whole number from 1 to 365, longer than samples_raw_hours",
        ge=1,
        le=365,
    )
    samples_hour_days: WholeNumber = setting(
        180,
        "Samples rolled up to hours are kept for this many days.",
        "a whole number from 2 to 3650, not less than samples_minute_days",
        ge=2,
        le=3650,
    )
    samples_day_days: WholeNumber = setting(
        1095,
        "Samples rolled up to days are kept for this many days.",
        "a whole number from 2 to 36500, not less than samples_hour_days",
        ge=2,
        le=36500,
    )
    samples_workload_days: WholeNumber = setting(
        30,
        "Samples of a workload are kept for this many days after the last one.",
        "a whole number from 1 to 3650",
        ge=1,
        le=3650,
    )
    ended_work_days: WholeNumber = setting(
        365,
        "Work that ended is deleted with its output and files after this many days; 0 keeps it until a "
        "person deletes it.",
        "a whole number from 0 to 36500",
        ge=0,
        le=36500,
    )
    deleted_work_days: WholeNumber = setting(
        30,
        "Records of deleted work are kept for this many days after its files are gone. The usage ledger "
        "and the audit log keep theirs.",
        "a whole number from 1 to 3650",
        ge=1,
        le=3650,
    )

    history_days: WholeNumber = setting(
        0,
        "Shares of queues, changes of the cluster and arrivals are kept for this many days; 0 keeps them as "
        "long as the usage ledger, which is never deleted.",
        "a whole number from 0 to 36500",
        ge=0,
        le=36500,
    )

    @model_validator(mode="after")
    def _coarser_is_longer(self) -> Self:
        if self.samples_minute_days * 24 <= self.samples_raw_hours:
            raise conflict("samples_minute_days", f"it is not longer than {self.samples_raw_hours} hours")
        if self.samples_hour_days < self.samples_minute_days:
            raise conflict("samples_hour_days", f"it is less than {self.samples_minute_days}")
        if self.samples_day_days < self.samples_hour_days:
            raise conflict("samples_day_days", f"it is less than {self.samples_hour_days}")
        return self
