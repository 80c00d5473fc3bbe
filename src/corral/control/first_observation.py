"""Whether a zone has been seen whole by the one who reconciles it now. Before that, nothing is planned."""

from sqlalchemy import delete, insert, select

from corral.control.tables import observation
from corral.store.database import Transaction
from corral.store.leadership import leadership
from corral.zones import journal
from corral.zones.zones import RECONCILE


def note_observed(transaction: Transaction, zone_id: str, epoch: int) -> None:
    """The holder of this epoch has recorded all that is there; planning waited for it."""
    transaction.run(delete(observation).where(observation.c.zone_id == zone_id))
    transaction.run(insert(observation).values(zone_id=zone_id, epoch=epoch, at=transaction.now))
    transaction.hint(journal.topic(zone_id))


def was_observed(transaction: Transaction, zone_id: str) -> bool:
    epoch = transaction.scalar(
        select(leadership.c.epoch).where(leadership.c.name == f"{RECONCILE}/{zone_id}")
    )
    recorded_epoch = transaction.scalar(select(observation.c.epoch).where(observation.c.zone_id == zone_id))
    return epoch is not None and epoch == recorded_epoch
