"""What a workload's state means for who waits for it."""

__all__ = ["WorkloadStates"]


class WorkloadStates:
    """Methods of `models.Workload`."""

    state: str

    @property
    def is_over(self) -> bool:
        return self.state in ("stopped", "succeeded", "failed", "deleted")
