"""How runs and replicas are named. A run is one replica of one attempt.

The only place that writes and reads these names: engines, the ledger and the scheduler keep them as text.
"""

from typing import NamedTuple, Self

_LONGEST_NUMBER = 9


class RunId(NamedTuple):
    """`<workload>-<attempt>-<replica>`: how engines and the ledger name a run, for ever."""

    workload_id: str
    attempt: int
    replica: int

    def __str__(self) -> str:
        return f"{self.workload_id}-{self.attempt}-{self.replica}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for a name that Corral did not give."""
        workload_id, *numbers = text.split("-")
        if not workload_id or len(numbers) != 2:
            return None
        attempt, replica = map(_number, numbers)
        return None if attempt is None or replica is None else cls(workload_id, attempt, replica)


class ReplicaId(NamedTuple):
    """`<workload>-<number>`: how the scheduler names a replica, whatever its attempt."""

    workload_id: str
    number: int

    def __str__(self) -> str:
        return f"{self.workload_id}-{self.number}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` for a name that Corral did not give."""
        workload_id, _, last = text.rpartition("-")
        number = _number(last)
        if not workload_id or number is None:
            raise ValueError(f"{text!r} names no replica")
        return cls(workload_id, number)


def _number(text: str) -> int | None:
    """As `str` writes it: no sign, no leading zero, no other digits."""
    is_plain = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_plain and (text == "0" or text[0] != "0") else None
