"""When queued work is given another zone: a rule with hysteresis, without I/O.

Work moves only after it has waited for a while, only to a zone that would start it at once, never when it is
about to start where it is, and then not again for a long time. So a zone that is free for a moment attracts
what waits elsewhere, and two zones that take turns at being free do not toss work between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# How many times the wait must pass before work that was moved may move again.
REST_FACTOR = 10


@dataclass(frozen=True, slots=True)
class Outlook:
    """When a zone would start the work: None if nobody can tell, or never."""

    zone_id: str
    starts_at: datetime | None


@dataclass(frozen=True, slots=True)
class MoveRule:
    """`wait` is how long work stays in its zone before another one is considered."""

    wait: timedelta

    @property
    def rest(self) -> timedelta:
        return self.wait * REST_FACTOR

    def is_due(self, waiting_since: datetime, moved_at: datetime | None, now: datetime) -> bool:
        """Whether to ask other zones at all."""
        if now < waiting_since + self.wait:
            return False
        return moved_at is None or now >= moved_at + self.rest

    def target(self, here: Outlook, others: Sequence[Outlook], now: datetime) -> str | None:
        """The zone to move to: the first that would start the work now; None to stay."""
        if here.starts_at is not None and here.starts_at <= now + self.wait:
            return None
        return next((one.zone_id for one in others if starts_now(one, now)), None)


def starts_now(outlook: Outlook, now: datetime) -> bool:
    return outlook.starts_at is not None and outlook.starts_at <= now
